"""Why a token may come or not, and where a matcher stands, in words: `GrammarMatcher.explain` and `where`.

The kernel decides; what is here only asks it, on copies of the matcher, and finds words. What is allowed is what the
mask allows.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from grammar_decode import _core
from grammar_decode.errors import GrammarDecodeError, MatcherError, SchemaTooComplex
from grammar_decode.expected import MAX_RUN, Expectation, View, describe, value_kind
from grammar_decode.grammar import Grammar
from grammar_decode.ir import nodes as ir
from grammar_decode.places import Places, Said
from grammar_decode.scan import Place, scan, text_of
from grammar_decode.vocabulary import Vocabulary

Rule = Literal[
    "grammar",
    "duplicate key",
    "duplicate item",
    "limit",
    "token budget",
    "special token",
    "stop token",
    "id without text",
]

_MAX_STARTS = 1000
_QUOTE = ir.ByteClass(1 << 0x22)
_OPENING = re.compile(rb"[{\[]")


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether a token may come next, and if not, why: see :meth:`GrammarMatcher.explain`. Its ``str`` is a sentence."""

    #: What the mask says.
    allowed: bool
    #: Which rule took it; None where it is allowed. "limit" is one of :class:`Limits`, "stop token": the document is
    #: not complete, "id without text": the model's logits are wider than the vocabulary.
    rule: Rule | None
    #: The token, or None where bytes were asked about.
    token_id: int | None
    #: Its text; None for a token that is not text.
    data: bytes | None
    #: How many of its bytes could come, so the first that could not; None where it is allowed, not text, or not known.
    offset: int | None
    #: What could come there instead, in words of the schema.
    expected: str
    #: The JSON pointer (RFC 6901) of the place; "" is the whole document, None stands for text that is not JSON.
    pointer: str | None
    #: Where the schemas stand that speak of it.
    schema_locations: tuple[str, ...]
    #: What the rule has against it, where ``expected`` does not say it; else empty.
    reason: str = ""

    def __str__(self) -> str:
        who = _shown(self.data) if self.token_id is None else f"token {self.token_id}"
        if self.token_id is not None and self.data is not None:
            who += f" ({_shown(self.data)})"
        place = _place_words(self.pointer)
        if self.allowed:
            return f"{who} is allowed{place}"
        parts = [self.reason] if self.reason and self.reason not in self.expected else []
        if self.data is not None and self.offset is not None and 0 < self.offset < len(self.data):
            parts.append(f"its byte {self.offset} ({_shown(self.data[self.offset : self.offset + 1])}) is refused")
        if self.rule in ("token budget", "special token", "id without text", "limit"):
            return f"{who} is not allowed{place}: {'; '.join(parts)}"
        parts.append(f"expected {self.expected}")
        schema = f" (schema {', '.join(self.schema_locations)})" if self.schema_locations else ""
        return f"{who} is not allowed{place}: {'; '.join(parts)}{schema}"


@dataclass(frozen=True, slots=True)
class Position:
    """Where a matcher stands: see :meth:`GrammarMatcher.where`. Its ``str`` is a sentence."""

    #: The JSON pointer (RFC 6901) of the value that the text is in or before; None in text that is not JSON.
    pointer: str | None
    #: Where the schemas stand that speak of it.
    schema_locations: tuple[str, ...]
    #: What may come next, in words of the schema.
    expected: str
    #: Whether the document is complete, so that it may end.
    is_complete: bool
    #: As :meth:`GrammarMatcher.completion_distance` and :meth:`GrammarMatcher.completion_bytes`.
    distance_tokens: int | None
    distance_bytes: int | None
    #: Of ``max_tokens``; None without a limit.
    tokens_left: int | None

    def __str__(self) -> str:
        state = "complete" if self.is_complete else "open"
        schema = f" (schema {', '.join(self.schema_locations)})" if self.schema_locations else ""
        rest = ""
        if not self.is_complete and self.distance_tokens is not None and self.distance_bytes is not None:
            rest = f"; {_counted(self.distance_tokens, 'token')} ({_counted(self.distance_bytes, 'byte')}) from the end"
        left = f"; {_counted(self.tokens_left, 'token')} left" if self.tokens_left is not None else ""
        return f"{state}{_place_words(self.pointer)}{schema}: expected {self.expected}{rest}{left}"


def explain(matcher: _core.Matcher, grammar: Grammar, vocabulary: Vocabulary, token: Any) -> Explanation:
    """Raises MatcherError for an id outside of the vocabulary, TypeError for what is neither an id nor bytes."""
    if isinstance(token, (bytes, bytearray)):
        return _explain_text(matcher, grammar, vocabulary, None, bytes(token))
    token_id = operator.index(token)
    if not 0 <= token_id < vocabulary.size:
        raise MatcherError(f"token {token_id} is out of range: the vocabulary has {vocabulary.size} ids")
    if token_id in matcher.stop_token_ids:
        here = where(matcher, grammar, with_distance=False)
        answer = Explanation(True, None, token_id, None, None, here.expected, here.pointer, here.schema_locations)
        if here.is_complete:
            return answer
        return replace(answer, allowed=False, rule="stop token", reason="it ends the text, which is not complete")
    table = vocabulary.token_bytes
    data = table[token_id] if token_id < len(table) else None
    if data is not None:
        return _explain_text(matcher, grammar, vocabulary, token_id, data)
    here = where(matcher, grammar, with_distance=False)
    rule: Rule = "special token" if token_id < len(table) else "id without text"
    reason = (
        "it is a special token, without text" if token_id < len(table) else "no token of the vocabulary has this id"
    )
    place = (here.expected, here.pointer, here.schema_locations)
    return Explanation(False, rule, token_id, None, None, *place, reason)


def where(matcher: _core.Matcher, grammar: Grammar, *, with_distance: bool = True) -> Position:
    """The place at which the matcher stands; ``with_distance``: also how far from the end it is."""
    pointer, locations, expected = _look(matcher, grammar)
    tokens = count = None
    if with_distance:
        try:
            tokens, count = matcher.distance(), matcher.byte_distance()
        except SchemaTooComplex:  # the search was given up: not known, as where there is none
            tokens = count = None
    return Position(pointer, locations, expected, matcher.is_accepting(), tokens, count, matcher.tokens_left)


def _explain_text(
    matcher: _core.Matcher, grammar: Grammar, vocabulary: Vocabulary, token_id: int | None, data: bytes
) -> Explanation:
    free = matcher._copy_unlimited()
    try:
        offset = free.count_accepted_bytes(data)
        probe = matcher._copy_state()
        allowed = probe.accept_bytes(data) if token_id is None else probe.accept_token(token_id)
    except SchemaTooComplex as error:
        return Explanation(False, "limit", token_id, data, None, "", None, (), error.message)
    if allowed or (offset == len(data) and not matcher.is_terminated()):
        here = where(matcher, grammar, with_distance=False)
        answer = Explanation(True, None, token_id, data, None, here.expected, here.pointer, here.schema_locations)
        if allowed:
            return answer
        reason = _budget(matcher, free, data, token_id is not None)
        return replace(answer, allowed=False, rule="token budget", offset=offset, reason=reason)
    written = matcher.text()
    free.accept_bytes(data[:offset])
    pointer, locations, expected = _look(free, grammar)
    rule: Rule = "grammar"
    reason = ""
    if not matcher.is_terminated():
        key = _repeated_key(written + data[:offset], data[offset:], _start(free, grammar, written + data[:offset]))
        if key is not None:
            rule, reason = "duplicate key", f'the property "{key}" is there already'
        elif _is_repeated_item(grammar, vocabulary, written, data, offset):
            rule, reason = "duplicate item", "the items must be distinct"
    return Explanation(False, rule, token_id, data, offset, expected, pointer, locations, reason)


def _budget(matcher: _core.Matcher, free: _core.Matcher, data: bytes, is_token: bool) -> str:
    left = matcher.tokens_left or 0
    behind = free._copy_state()
    behind.accept_bytes(data)
    try:
        distance = behind.distance()
    except SchemaTooComplex:
        distance = None
    needed = "more than that" if distance is None else _counted(distance, "token")
    ending = " and the stop token" if matcher.counts_stop_token else ""
    closing = matcher.closing_budget
    if closing and left <= closing and distance is not None and distance + is_token + bool(ending) <= left:
        return f"{_counted(left, 'token')} left, within the closing budget, and behind it the end would be farther away"
    return f"{_counted(left, 'token')} left, and behind it the document still needs {needed}{ending}"


def _look(matcher: _core.Matcher, grammar: Grammar) -> tuple[str | None, tuple[str, ...], str]:
    """JSON pointer, schema locations, and what is expected."""
    if matcher.is_terminated():
        return "", (), "nothing: the sequence has ended"
    text = matcher.text()
    expectations = matcher.expectations()
    try:
        next_bytes = matcher.allowed_bytes()
    except SchemaTooComplex:
        next_bytes = b""
    start = _start(matcher, grammar, text)
    place = None if start is None else scan(text, start)
    said, first_item = _said(grammar, text, place, value_kind(next_bytes))
    if place is not None and not said.locations:
        said.locations = _origins(grammar, expectations)

    def longest_run(alphabet: bytes) -> int:
        try:
            return matcher.longest_run(alphabet, MAX_RUN)
        except SchemaTooComplex:
            return MAX_RUN

    literals = _literals(grammar, place, expectations) if grammar._source() is None else None
    view = View(expectations, next_bytes, text, place, said, first_item, literals, longest_run)
    return None if place is None else place.pointer, said.locations, describe(view)


def _said(grammar: Grammar, text: bytes, place: Place | None, kind: str | None) -> tuple[Said, Said]:
    """What the schema says of the value at a place, and of the first item of an array there."""
    source = grammar._source()
    if source is None or place is None:
        return Said(), Said()
    try:
        places = Places(*source)
        said = places.at(text, place, kind=kind)
        return said, places.at(text, place, inside=True, kind=kind) if place.state == "first item" else Said()
    except (GrammarDecodeError, RecursionError):  # a schema that the walk can't follow; the grammar has its own words
        return Said(), Said()


def _origins(grammar: Grammar, expectations: Sequence[Expectation]) -> tuple[str, ...]:
    """The schema locations of the containers that the threads are in."""
    origins = grammar.origins
    found = (origins[node] for _, node, *_ in expectations if node is not None and node < len(origins))
    return tuple(dict.fromkeys(origin for origin in found if origin))


# ---- grammars that are not made of one schema ----


def _start(matcher: _core.Matcher, grammar: Grammar, text: bytes) -> int | None:
    """Where the JSON that the text ends in begins; None where it ends in text around JSON."""
    if grammar._source() is not None:
        return 0
    nodes = grammar.ir.nodes
    if not isinstance(nodes[grammar.ir.root], ir.Chain):
        return 0
    if not any(
        node is not None and isinstance(nodes[node], (ir.Members, ir.Elements)) and kind not in ("document", "part")
        for kind, node, *_ in matcher.expectations()
    ):
        return None
    for number, found in enumerate(_OPENING.finditer(text)):
        place = scan(text, found.start())
        if number == _MAX_STARTS:
            break
        if place is not None and place.opened and _opens(matcher, text[: found.end()]):
            return found.start()
    return None


def _opens(matcher: _core.Matcher, text: bytes) -> bool:
    """Whether the grammar reads the last byte of the text as the beginning of a container."""
    fresh = matcher._copy_unlimited()
    fresh.reset()
    fresh.accept_bytes(text)
    return any(kind in ("first_key", "first_item") for kind, *_ in fresh.expectations())


def _literals(grammar: Grammar, place: Place | None, expectations: Sequence[Expectation]) -> list[str] | None:
    """The texts of the value at the place, where it is one of some."""
    nodes, regexes = grammar.ir.nodes, grammar.ir.regexes
    found: list[int] = []
    for kind, node, *_ in expectations:
        if kind in ("document", "scalar") and node is None:
            found.append(grammar.ir.root)
        elif node is not None and kind in ("scalar", "next_item", "first_item"):
            found += _entries(nodes[node], place)
        elif node is not None and kind in ("member_value", "part"):
            found.append(node)
    texts: dict[bytes, None] = {}
    for node in (inner for one in found for inner in _without_choices(nodes, one)):
        literals = _listed(nodes, regexes, node)
        if literals is None:
            return None
        texts |= dict.fromkeys(literals)
    return [text.decode("utf-8", "replace") for text in texts] or None


def _entries(node: ir.Node, place: Place | None) -> list[int]:
    """What the entry under way of a container may be."""
    if place is None or not place.opened:
        return []
    top = place.opened[-1]
    if isinstance(node, ir.Elements):
        cls = min(top.index, node.prefix)
    elif isinstance(node, ir.Members) and top.key is not None:
        name = top.key.encode("utf-8", "surrogatepass")
        cls = node.names.index(name) if name in node.names else -1
    else:
        cls = -1
    return [pick.node for pick in node.values[cls]] if cls >= 0 and isinstance(node, (ir.Elements, ir.Members)) else []


def _without_choices(nodes: tuple[ir.Node, ...], node: int) -> list[int]:
    """The nodes that a node may be read as."""
    found: dict[int, None] = {}
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        found[one] = None
        value = nodes[one]
        if isinstance(value, ir.Choice):
            waiting += reversed(value.nodes)
    return [one for one in found if not isinstance(nodes[one], ir.Choice)]


def _listed(nodes: tuple[ir.Node, ...], regexes: tuple[ir.Regex, ...], node: int) -> list[bytes] | None:
    """The texts of a node that is a list of them."""
    value = nodes[node]
    if not isinstance(value, ir.Terminal):
        return None
    found: list[bytes] = []
    waiting = [value.regex]
    while waiting:
        regex = regexes[waiting.pop()]
        if isinstance(regex, ir.Intersection):
            parts = (regexes[part] for part in regex.parts)
            regex = next((part for part in parts if isinstance(part, ir.LiteralSet)), regex)
        if isinstance(regex, ir.Alternation):
            waiting += reversed(regex.parts)
        elif isinstance(regex, ir.LiteralSet):
            found += regex.literals
        elif isinstance(regex, ir.Concatenation) and len(regex.parts) == 3:  # a string and its quotes
            before, inside, behind = (regexes[part] for part in regex.parts)
            if not before == behind == _QUOTE or not isinstance(inside, ir.LiteralSet):
                return None
            found += (b'"' + literal + b'"' for literal in inside.literals)
        else:
            return None
    return found


# ---- rules that look at what was written ----


def _repeated_key(text: bytes, rest: bytes, start: int | None) -> str | None:
    """The key that is there already and that ``rest``, refused behind ``text``, would have written once more."""
    place = None if start is None else scan(text, start)
    if place is None or place.state != "in key":
        return None
    whole = re.match(rb'(?:[^"\\]|\\.)*', text[place.start + 1 :] + rest, re.DOTALL)
    raw = b"" if whole is None else whole.group()
    key, used = text_of(raw), place.opened[-1].spans
    is_closed = len(raw) < len(text) - place.start - 1 + len(rest)
    if key in used:
        return key
    return next((name for name in used if key and name.startswith(key)), None) if not is_closed else None


def _is_repeated_item(grammar: Grammar, vocabulary: Vocabulary, text: bytes, data: bytes, offset: int) -> bool:
    """Whether more of the data could come if items need not be distinct."""
    plain = grammar._without_distinctness()
    if plain is None:
        return False
    try:
        twin = _core.Matcher(plain, vocabulary._core_vocabulary)
        return twin.accept_bytes(text) and twin.count_accepted_bytes(data) > offset
    except SchemaTooComplex:
        return False


# ---- words ----


def _place_words(pointer: str | None) -> str:
    return "" if pointer is None else f" at {pointer}" if pointer else " at the root"


def _shown(data: bytes | None) -> str:
    if data is None:
        return ""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return repr(data)
    return '"' + "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text) + '"'


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
