"""Formulas over strings: is a string in, which strings are in, and the language of what stands between the quotes.

A string is *free* where at most its length is bounded; free strings and decided ones may be spelled by different
rules (`JsonOptions.escapes`).
"""

from __future__ import annotations

from functools import reduce

from grammar_decode.errors import PatternError, SchemaError, UnsupportedSchema
from grammar_decode.ir.nodes import RegexId
from grammar_decode.json_schema.claims import Format, Length, Pattern, Text
from grammar_decode.json_schema.formats import format_body, has_format, length_of
from grammar_decode.json_schema.formula import FALSE, TRUE, And, Formula, Formulas, Or
from grammar_decode.json_schema.lengths import EVERY_LENGTH, Lengths, both, either
from grammar_decode.json_schema.matching import matches
from grammar_decode.json_schema.patterns import length_range, with_length
from grammar_decode.json_schema.read import Reader
from grammar_decode.json_schema.seed import Seed
from grammar_decode.json_schema.spelling import Spelling, canonical_bytes
from grammar_decode.regex.charset import ALL
from grammar_decode.regex.lower import search_language
from grammar_decode.regex.parse import Alternation, Ast, Chars, Repeat, Sequence


class Strings:
    """The string formulas of one compilation."""

    def __init__(self, seed: Seed, formulas: Formulas, reader: Reader) -> None:
        self.builder = seed.builder
        self.formulas = formulas
        self.reader = reader
        self.free = seed.free
        self.exact = seed.exact
        self.keys = seed.keys
        self._bodies: dict[tuple[Formula, bool], RegexId] = {}
        self._patterns: dict[tuple[str, bool], RegexId] = {}
        self._formats: dict[tuple[str, str], RegexId] = {}
        self._finite: dict[Formula, tuple[str, ...] | None] = {}

    # ---- strings one by one ----

    def accepts(self, formula: Formula, text: str) -> bool:
        """Whether a string satisfies the formula."""
        return self.formulas.holds(formula, lambda claim: self._claim_accepts(claim, text))

    def _claim_accepts(self, claim: Formula, text: str) -> bool:
        record = self.formulas.records[claim]
        if isinstance(record, Text):
            return (text in record.values) == record.positive
        if isinstance(record, Length):
            return record.minimum <= len(text) and (record.maximum is None or len(text) <= record.maximum)
        if isinstance(record, Pattern):
            return self.pattern_matches(record.pattern, text) == record.positive
        assert isinstance(record, Format)
        return has_format(record.name, text) == record.positive

    def pattern_matches(self, pattern: str, text: str) -> bool:
        """Whether a pattern of the schema matches somewhere in the text."""
        try:
            return matches(pattern, text)
        except PatternError as error:
            raise self.pattern_refusal(pattern, error) from error

    def finite(self, formula: Formula) -> tuple[str, ...] | None:
        """The strings of a formula that is known to have few of them; None for any other."""
        if formula in self._finite:
            return self._finite[formula]
        self._finite[formula] = result = self._few(formula)
        return result

    def _few(self, formula: Formula) -> tuple[str, ...] | None:
        formulas = self.formulas
        record = formulas.records[formula]
        if formula == FALSE:
            return ()
        if isinstance(record, Text):
            return record.values if record.positive else None
        if isinstance(record, Or):
            found: dict[str, None] = {}
            for branch in record.parts:
                texts = self.finite(branch)
                if texts is None:
                    return None
                found.update(dict.fromkeys(texts))
            return tuple(found)
        if isinstance(record, And):
            known = [texts for texts in map(self.finite, record.parts) if texts is not None]
            if known:
                return tuple(text for text in min(known, key=len) if self.accepts(formula, text))
        return None

    def is_empty(self, formula: Formula) -> bool:
        """Whether it is plain to see that no string satisfies the formula."""
        if formula <= TRUE:
            return formula == FALSE
        texts = self.finite(formula)
        if texts is not None:
            return not texts
        if isinstance(self.formulas.records[formula], Or):
            return all(self.is_empty(branch) for branch in self.formulas.branches(formula))
        return not self._possible_lengths(formula)

    def _possible_lengths(self, formula: Formula) -> Lengths:
        """What lengths, patterns and formats leave; some of them may still have no string."""
        lengths = EVERY_LENGTH
        for part in self.formulas.conjuncts(formula):
            record = self.formulas.records[part]
            if isinstance(record, Pattern):
                said: Lengths | None = (self._pattern_length(record.pattern),) if record.positive else None
            elif isinstance(record, Format):
                said = (length_of(record.name),) if record.positive else None
            else:
                said = self._lengths(part)
            if said is not None:
                lengths = both(lengths, said)
        return lengths

    def _lengths(self, formula: Formula) -> Lengths | None:
        """The lengths that a formula admits which speaks of nothing else; None for any other."""
        record = self.formulas.records[formula]
        if isinstance(record, Length):
            return ((record.minimum, record.maximum),)
        if not isinstance(record, (And, Or)):
            return None
        said = [self._lengths(part) for part in record.parts]
        if None in said:
            return None
        sets = [lengths for lengths in said if lengths is not None]
        return either(sets) if isinstance(record, Or) else reduce(both, sets)

    def _pattern_length(self, pattern: str) -> tuple[int, int | None]:
        try:
            return length_range(pattern)
        except PatternError as error:
            raise self.pattern_refusal(pattern, error) from error

    # ---- the language ----

    def body(self, formula: Formula, *, key: bool = False) -> RegexId:
        """What may stand between the quotes; as a key (one spelling a string) where asked."""
        known = self._bodies.get((formula, key))
        if known is None:
            known = self._bodies[formula, key] = self._body(formula, key)
        return known

    def _body(self, formula: Formula, key: bool) -> RegexId:
        exact = self.keys if key else self.exact
        if formula == FALSE:
            return self.builder.empty
        texts = self.finite(formula)
        if texts is not None:
            return exact.texts([text for text in texts if is_text(text)])
        if isinstance(self.formulas.records[formula], Or) and self._lengths(formula) is None:
            return self.builder.alternate(*[self.body(branch, key=key) for branch in self.formulas.branches(formula)])
        lengths = EVERY_LENGTH
        patterns: list[Pattern] = []
        formats: list[tuple[int, int | None]] = []
        others: list[RegexId] = []
        decided = shaped = False
        for part in self.formulas.conjuncts(formula):
            record = self.formulas.records[part]
            said = self._lengths(part)
            if said is not None:
                lengths = both(lengths, said)
            elif isinstance(record, Pattern) and record.positive:
                patterns.append(record)
            elif isinstance(record, Pattern):
                others.append(self.builder.complement(self.pattern_body(record.pattern, exact)))
                decided = True
            elif isinstance(record, Text):
                others.append(self.builder.complement(exact.texts([t for t in record.values if is_text(t)])))
                decided = True
            elif isinstance(record, Or):
                others.append(self.body(part, key=key))
            else:
                assert isinstance(record, Format)
                others.append(self.format_body(record, exact))
                decided = True
                if record.positive:
                    shaped = True
                    formats.append(length_of(record.name))
        if not lengths:
            return self.builder.empty
        if len(lengths) > 1:
            characters = (exact if decided or patterns or key else self.free).charset(ALL)
            others.append(self.builder.alternate(*[self.builder.repeat(characters, *interval) for interval in lengths]))
            lengths = EVERY_LENGTH
        low, high = lengths[0]
        for least, most in formats:  # a length that the format has anyway is not counted
            low = 0 if low <= least else low
            high = None if high is not None and most is not None and most <= high else high
        if not patterns:
            if (decided and not shaped) or not others or low or high is not None:
                spelling = exact if decided or key else self.free
                others.append(self.builder.repeat(spelling.charset(ALL), low, high))
            return self.builder.intersect(*others)
        return self.builder.intersect(self._pattern_of_length(patterns, low, high, exact), *others)

    def _pattern_of_length(self, patterns: list[Pattern], low: int, high: int | None, exact: Spelling) -> RegexId:
        """The strings that all patterns match, of that many code points."""
        counted = low > 0 or high is not None
        parts: list[RegexId] = []
        for record in patterns:
            least, most = self._pattern_length(record.pattern)
            if counted and least >= low and (high is None or (most is not None and most <= high)):
                counted = False  # the pattern says as much
                low, high = 0, None
            if counted:
                inside = with_length(record.pattern, low, high)
                if inside is not None:
                    parts.append(self.builder.concat(*[self._plain(part, exact) for part in inside]))
                    counted = False
                    continue
            parts.append(self.pattern_body(record.pattern, exact))
        if counted:
            parts.append(self.builder.repeat(exact.charset(ALL), low, high))
        return self.builder.intersect(*parts)

    def _plain(self, node: Ast, spelling: Spelling) -> RegexId:
        """The language of a tree without assertions."""
        if isinstance(node, Chars):
            return spelling.charset(node.charset)
        if isinstance(node, Sequence):
            return self.builder.concat(*[self._plain(part, spelling) for part in node.parts])
        if isinstance(node, Alternation):
            return self.builder.alternate(*[self._plain(part, spelling) for part in node.parts])
        assert isinstance(node, Repeat)
        return self.builder.repeat(self._plain(node.part, spelling), node.minimum, node.maximum)

    def pattern_body(self, pattern: str, spelling: Spelling) -> RegexId:
        """The spelled strings in which a pattern of the schema matches."""
        key = (pattern, spelling is self.exact)
        known = self._patterns.get(key)
        if known is None:
            try:
                known = self._patterns[key] = search_language(
                    self.builder, pattern, spelling.charset, max_depth=self.reader.limits.max_depth
                )
            except PatternError as error:
                raise self.pattern_refusal(pattern, error) from error
        return known

    def format_body(self, record: Format, spelling: Spelling) -> RegexId:
        """The spelled strings that have the format, or what is not spelled like one of them."""
        key = (record.name, spelling.mode)
        known = self._formats.get(key)
        if known is None:
            known = self._formats[key] = format_body(self.builder, spelling.mode, record.name)
        return known if record.positive else self.builder.complement(known)

    def quoted(self, body: RegexId) -> RegexId:
        """A string with its quotes."""
        quote = self.builder.byte_class(1 << 0x22)
        return self.builder.concat(quote, body, quote)

    # ---- refusals ----

    def pattern_refusal(self, pattern: str, error: PatternError) -> SchemaError:
        """The error for a pattern that is wrong or not supported, with the place where the schema has it."""
        formulas = self.formulas
        origin = self.reader.origins.get(formulas.claim(Pattern(pattern, True)))
        if origin is not None:
            location = origin[0].at(origin[1])
        else:
            schema, keyword = self.reader.pattern_origins[pattern]
            location = schema.at(keyword, pattern)
        kind = UnsupportedSchema if error.unsupported else SchemaError
        return kind(str(error), location=location)


def is_text(text: str) -> bool:
    """Whether a string can stand in a JSON text: it has no lone surrogate."""
    try:
        canonical_bytes(text)
    except ValueError:
        return False
    return True
