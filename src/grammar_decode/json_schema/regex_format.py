r"""The format `regex`: a regular part of ECMA-262, section 22.2.1 (Patterns), with the u flag as JSON Schema asks.

Patterns nest, count groups and compare numbers, so they are no regular language. What is here is inside it: groups
nested to a bounded depth; one named group at most, at the top; no backreferences; ranges in classes and counts whose
order is seen at once. Every string of the language is a pattern, with the u flag and with Annex B. It is kept small, as
deciding whether two schemas are disjoint may visit all of its states. The tree is a graph: equal parts are one object.
"""

from __future__ import annotations

from grammar_decode.regex.charset import Charset
from grammar_decode.regex.parse import Alternation, Ast, Chars, Repeat, Sequence, parse

#: Groups inside groups; lookarounds hold none.
MAX_DEPTH = 4

# SyntaxCharacter and what may stand for itself.
_SYNTAX = r"^$\.*+?()[]{}|"
_HEX = "[0-9A-Fa-f]"
_PROPERTY = "(?:L[ul]?|Nd?|P|S|Zs?|(?:Script|sc)=(?:Latin|Greek|Cyrillic|Han))"
# CharacterClassEscape and CharacterEscape. \0 is left out: no digit may follow it.
_ESCAPE = (
    rf"\\(?:[dDsSwWtnvfr^$\\.*+?()[\]{{}}|/]|c[A-Za-z]|x{_HEX}{{2}}|u{_HEX}{{4}}"
    rf"|u\{{(?:{_HEX}{{1,5}}|10{_HEX}{{4}})\}}|[pP]\{{{_PROPERTY}\}})"
)
# Quantifier. {2,10}: the second count has more digits, or both have one.
_COUNTS = "|".join(
    (
        *("[0-9]{1,4},?", "0,[0-9]{1,4}", "[1-9],[1-9][0-9]{1,3}", "[1-9][0-9],[1-9][0-9]{2,3}"),
        *(f"{low},[{low}-9]" for low in range(1, 10)),
    )
)
_QUANTIFIER = rf"(?:[*+?]|\{{(?:{_COUNTS})\}})\??"


def _class() -> Ast:
    """CharacterClass: single characters, escapes, ranges, a hyphen first or last.

    A range begins with the first of its kind or ends with the last: 0-5, 3-9, a-f, g-z.
    """
    ranges = parse("0-[0-9]|1-[1-9]|[0-9]-9|A-[A-Z]|[A-Z]-Z|a-[a-z]|[a-z]-z|[ !]-~")
    single = Chars(Charset.from_chars(r"\]-[").complement())
    member = Alternation((single, parse(_ESCAPE), parse(r"\\[b-]"), ranges))
    # subtle: a hyphen behind a member may begin a range, so it is only the first or the last of the class.
    return _sequence("[", parse(r"\^?-?"), Repeat(member, 0, None), parse("-?"), "]")


def _sequence(*parts: Ast | str) -> Ast:
    return Sequence(tuple(Chars(Charset.from_chars(part)) if isinstance(part, str) else part for part in parts))


def pattern_tree() -> Ast:
    """The syntax tree of the patterns themselves."""
    plain: list[Ast] = [Chars(Charset.from_chars(_SYNTAX).complement()), Chars(Charset.from_chars(".")), parse(_ESCAPE)]
    plain.append(_class())
    quantified = Repeat(parse(_QUANTIFIER), 0, 1)
    assertion = parse(r"[$^]|\\[bB]")
    bar: Ast = Chars(Charset.from_chars("|"))

    def disjunction(*atoms: Ast, others: tuple[Ast, ...] = ()) -> Ast:
        """Alternatives may be empty, so bars stand anywhere between terms."""
        term = _sequence(Alternation((*plain, *atoms)), quantified)
        return Repeat(Alternation((term, assertion, bar, *others)), 0, None)

    def group(opening: str, body: Ast) -> Ast:
        return Sequence((parse(opening), body, Chars(Charset.from_chars(")"))))

    level = disjunction()
    look = group(r"\(\?<?[=!]", level)
    below = level
    for _ in range(MAX_DEPTH):
        level, below = disjunction(group(r"\((?:\?:)?", level), others=(look,)), level
    named = group(r"\(\?<[A-Za-z_$][A-Za-z0-9_$]*>", below)
    return _sequence(level, Repeat(_sequence(named, quantified, level), 0, 1))
