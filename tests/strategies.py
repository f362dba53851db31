"""Hypothesis strategies: small random IR grammars that use every kind of node, claim and regular expression.

They keep the contract of ``ir.nodes``: the picks of a class are the projections of the formula on it, a larger claim
set means a smaller language, patterns are disjoint, and no terminal matches the empty string or one that begins blank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder

SPACINGS = (
    ir.Spacing(0),
    ir.Spacing(1),
    ir.Spacing(2),
    ir.Spacing(32),
    ir.Spacing(None),
    ir.Spacing(0, b", ", b": "),
    ir.Spacing(1, b", ", b": "),
    ir.Spacing(33, b",\n  ", b" :"[1:]),
)

# Keys as they stand between the quotes. The synthetic vocabulary with missing bytes can't spell the ones with a q.
NAMES = (
    b"a",
    b"b",
    b"ab",
    b"aa",
    b"",
    b"q",
    b"aqb",
    b"name",
    b'\\"',
    b'a\\"b',
    b"\\\\",
    "é".encode(),
    "日".encode(),
    b"id",
)

# ---- regular expressions --------------------------------------------------------------------------------------------

WILD_BYTES = b'ab1q,:"]}[{ \\\xc3\xa9'


def byte_masks(choices: bytes = WILD_BYTES) -> st.SearchStrategy[int]:
    """A few of the given bytes, or (rarely) all but these."""
    some = st.sets(st.sampled_from(list(choices)), min_size=1, max_size=4).map(lambda s: sum(1 << b for b in s))
    return st.one_of(some, some, some, some.map(lambda mask: ((1 << 256) - 1) ^ mask))


@st.composite
def automata(draw: st.DrawFn, b: Builder, choices: bytes = WILD_BYTES) -> ir.RegexId:
    """A deterministic automaton of up to five states; some may be dead or not reached."""
    num_states = draw(st.integers(1, 5))
    rows: list[dict[int, int]] = []
    for _ in range(num_states):
        targets = draw(st.dictionaries(st.sampled_from(list(choices)), st.integers(0, num_states - 1), max_size=4))
        merged: dict[int, int] = {}
        for byte, target in targets.items():
            merged[target] = merged.get(target, 0) | 1 << byte
        rows.append({mask: target for target, mask in merged.items()})
    return b.automaton(rows, draw(st.sets(st.integers(0, num_states - 1), min_size=1)))


@st.composite
def regexes(draw: st.DrawFn, b: Builder, depth: int = 3, choices: bytes = WILD_BYTES) -> ir.RegexId:
    """Any regular expression, of at most ``depth`` nested operators."""
    kinds = ["class", "literals", "automaton"]
    if depth:
        kinds += ["concat", "concat", "alternate", "repeat", "repeat", "intersect", "complement"]
    kind = draw(st.sampled_from(kinds))
    if kind == "automaton":
        return draw(automata(b, choices))
    inner = regexes(b, depth - 1, choices)
    if kind == "class":
        return b.byte_class(draw(byte_masks(choices)))
    if kind == "literals":
        text = st.lists(st.sampled_from(list(choices)), max_size=3).map(bytes)
        return b.literals(draw(st.lists(text, min_size=1, max_size=4)))
    if kind == "repeat":
        minimum = draw(st.integers(0, 3))
        return b.repeat(draw(inner), minimum, draw(st.none() | st.integers(minimum, minimum + 4)))
    if kind == "complement":
        return b.complement(draw(inner))
    parts = [draw(inner) for _ in range(draw(st.integers(2, 3)))]
    return {"concat": b.concat, "alternate": b.alternate, "intersect": b.intersect}[kind](*parts)


def as_value(b: Builder, regex: ir.RegexId) -> ir.RegexId:
    """``regex`` without the strings that no terminal matches: the empty one, and those that begin with whitespace."""
    not_blank = ((1 << 256) - 1) ^ sum(1 << c for c in b" \t\n\r")
    return b.intersect(regex, b.concat(b.byte_class(not_blank), b.any_bytes))


def string_characters(b: Builder) -> ir.RegexId:
    """One character inside a JSON string, well-formed UTF-8, with two of the escapes."""
    continuation = b.byte_range(0x80, 0xBF)
    plain = b.byte_class(sum(1 << c for c in range(0x20, 0x80) if c not in b'"\\'))
    return b.alternate(
        plain,
        b.literals((b"\\n", b'\\"', b"\\\\")),
        b.concat(b.byte_range(0xC2, 0xDF), continuation),
        b.concat(b.literal(b"\xe0"), b.byte_range(0xA0, 0xBF), continuation),
        b.concat(b.byte_range(0xE1, 0xEC), continuation, continuation),
        b.concat(b.literal(b"\xed"), b.byte_range(0x80, 0x9F), continuation),
        b.concat(b.literal(b"\xf0"), b.byte_range(0x90, 0xBF), continuation, continuation),
        b.concat(b.byte_range(0xF1, 0xF3), continuation, continuation, continuation),
        b.concat(b.literal(b"\xf4"), b.byte_range(0x80, 0x8F), continuation, continuation),
    )


def quoted(b: Builder, inner: ir.RegexId) -> ir.RegexId:
    """A JSON string."""
    return b.concat(b.literal(b'"'), inner, b.literal(b'"'))


SCALARS = (b"1", b"2", b"10", b"true", b"null", b'"a"', b'"b"', b'"qa"', '"é"'.encode(), b"1.5", b"-1", b'""')
# Some of these are the same value: items that must be distinct run out sooner than their texts.
SPELLINGS = (
    b"1",
    b"1.0",
    b"10e-1",
    b"0",
    b"-0",
    b"0.00e7",
    b'"a"',
    b'"\\u0061"',
    b'"\\/"',
    b'"/"',
    b'"qa"',
    b"true",
    b"null",
)


@st.composite
def scalar_regexes(draw: st.DrawFn, b: Builder) -> ir.RegexId:
    """What the terminals of real grammars look like: numerals, strings with lengths and patterns, enums."""
    kind = draw(st.sampled_from(["enum", "enum", "integer", "decimal", "string", "lengths", "pattern"]))
    digits = b.byte_range(0x30, 0x39)
    if kind == "enum":
        return b.literals(draw(st.lists(st.sampled_from(SCALARS), min_size=1, max_size=5)))
    if kind == "integer":
        more = b.repeat(digits, 0, draw(st.sampled_from([None, 2, 17])))
        return b.concat(
            b.optional(b.literal(b"-")), b.alternate(b.literal(b"0"), b.concat(b.byte_range(0x31, 0x39), more))
        )
    if kind == "decimal":
        return b.concat(digits, b.optional(b.concat(b.literal(b"."), b.repeat(digits, 1, draw(st.integers(1, 4))))))
    if kind == "string":
        return quoted(b, b.repeat(string_characters(b), 0, None))
    if kind == "lengths":
        minimum = draw(st.integers(0, 6))
        return quoted(b, b.repeat(string_characters(b), minimum, minimum + draw(st.sampled_from([0, 1, 30]))))
    body = draw(regexes(b, 2, b"ab1q"))
    return quoted(b, b.intersect(body, b.repeat(string_characters(b), 0, None)))


@st.composite
def terminals(draw: st.DrawFn, b: Builder, wild: bool) -> ir.NodeId:
    """A terminal; a ``wild`` one may hold any bytes at all, JSON punctuation too."""
    if wild and draw(st.integers(0, 2)) == 0:
        return b.add(ir.Terminal(as_value(b, draw(regexes(b)))))
    return b.add(ir.Terminal(draw(scalar_regexes(b))))


# ---- claims and formulas --------------------------------------------------------------------------------------------


def projection(formula: ir.Formula, claims: Sequence[ir.Claim], cls: ir.ClassId) -> set[frozenset[ir.ClaimId]]:
    """The claim sets that the table of ``ir.nodes`` projects the formula to."""
    if isinstance(formula, bool):
        return {frozenset()} if formula else set()
    if isinstance(formula, int):
        claim = claims[formula]
        if isinstance(claim, (ir.Member, ir.Some, ir.Most)) and cls in claim.classes:
            itself = frozenset((formula,))
            return {itself} if isinstance(claim, ir.Member) else {frozenset(), itself}
        return {frozenset()}
    parts = [projection(part, claims, cls) for part in formula.parts]
    if isinstance(formula, ir.Or):
        return set().union(*parts)
    sets: set[frozenset[ir.ClaimId]] = {frozenset()}
    for part in parts:
        sets = {a | c for a in sets for c in part}
    return sets


@st.composite
def claim_lists(draw: st.DrawFn, num_classes: int, num_names: int) -> tuple[ir.Claim, ...]:
    """A few claims about these classes; ``num_names`` 0 means an array."""
    classes = st.sets(st.integers(0, num_classes - 1), min_size=1).map(lambda s: tuple(sorted(s)))
    kinds: list[st.SearchStrategy[ir.Claim]] = [
        st.builds(ir.Member, classes),
        st.builds(ir.Member, classes),
        st.builds(ir.Some, classes, st.integers(1, 2)),
        st.builds(ir.Most, classes, st.integers(0, 2)),
        st.builds(ir.CountMin, st.integers(1, 3)),
        st.builds(ir.CountMax, st.integers(0, 3)),
    ]
    if num_names:
        kinds += [st.builds(ir.Has, st.integers(0, num_names - 1)), st.builds(ir.Lacks, st.integers(0, num_names - 1))]
    return tuple(draw(st.lists(st.one_of(kinds), min_size=2, max_size=5)))


@st.composite
def formulas(draw: st.DrawFn, num_claims: int, depth: int = 2) -> ir.Formula:
    """An and/or formula over the claims; each may occur more than once."""
    kind = draw(st.sampled_from(["claim", "and", "or", "or"] if depth else ["claim"]))
    if kind == "claim":
        return draw(st.integers(0, num_claims - 1))
    parts = tuple(draw(formulas(num_claims, depth - 1)) for _ in range(draw(st.integers(2, 3))))
    return ir.And(parts) if kind == "and" else ir.Or(parts)


@dataclass(frozen=True)
class Conditions:
    """The claims of a container, its formula, and the claim sets of each class."""

    claims: tuple[ir.Claim, ...]
    formula: ir.Formula
    sets: tuple[tuple[tuple[ir.ClaimId, ...], ...], ...]


@st.composite
def conditions(draw: st.DrawFn, num_classes: int, num_names: int) -> Conditions:
    """Half of the containers have no claims, as in real schemas."""
    if not num_classes or draw(st.booleans()):
        return Conditions((), True, (((),),) * num_classes)
    claims = draw(claim_lists(num_classes, num_names))
    formula = draw(formulas(len(claims)))
    sets = tuple(
        tuple(sorted(tuple(sorted(s)) for s in projection(formula, claims, cls))) for cls in range(num_classes)
    )
    return Conditions(claims, formula, sets)


# ---- containers -----------------------------------------------------------------------------------------------------


@st.composite
def picks(
    draw: st.DrawFn, b: Builder, sets: tuple[tuple[ir.ClaimId, ...], ...], claim_regexes: list[ir.RegexId],
    nodes: Sequence[ir.NodeId], wild: bool,
) -> tuple[ir.Pick, ...]:  # fmt: skip
    """The picks of one class: the more claims, the smaller the language; some of the languages are empty."""
    if draw(st.integers(0, 19)) == 13:
        return ()
    base = draw(scalar_regexes(b))
    # Claims that exclude each other on this class: a front end makes no pick that holds both.
    conflict = draw(st.sets(st.integers(0, 4), min_size=2, max_size=3))
    result = []
    for claims in sets:
        if conflict <= set(claims):
            continue
        node = b.add(ir.Terminal(b.intersect(base, *(claim_regexes[c] for c in claims))))
        if not claims and draw(st.booleans()):
            node = b.add(ir.Choice((node, draw(st.sampled_from(nodes)))))
        elif sets == ((),) and draw(st.booleans()):
            node = draw(st.sampled_from(nodes) | terminals(b, wild))
        result.append(ir.Pick(claims, node))
    return tuple(result)


@st.composite
def claim_regex_lists(draw: st.DrawFn, b: Builder, count: int) -> list[ir.RegexId]:
    """For each claim, the values that satisfy it."""
    result = []
    for _ in range(count):
        some = b.literals(draw(st.lists(st.sampled_from(SCALARS), min_size=1, max_size=6)))
        result.append(draw(st.sampled_from([some, b.complement(some)])))
    return result


@st.composite
def values(
    draw: st.DrawFn, b: Builder, found: Conditions, nodes: Sequence[ir.NodeId], wild: bool
) -> tuple[tuple[ir.Pick, ...], ...]:
    """The picks of every class of a container."""
    claim_regexes = draw(claim_regex_lists(b, len(found.claims)))
    return tuple(draw(picks(b, sets, claim_regexes, nodes, wild)) for sets in found.sets)


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int | None]:
    """Bounds of the number of entries; mostly none, rarely contradictory."""
    minimum = draw(st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3]))
    return minimum, draw(st.sampled_from([None, None, None, minimum, minimum + 1, minimum + 3, 2]))


def pattern_choices(b: Builder) -> list[ir.RegexId]:
    """Key patterns that are disjoint from each other: finite and infinite ones, and "every other key"."""
    ab = b.byte_class(1 << ord("a") | 1 << ord("b"))
    named = [
        b.concat(b.literal(b"a"), b.repeat(ab, 0, None)),
        b.concat(b.literal(b"b"), b.repeat(ab, 0, 1)),
        b.literals((b"q", b"qa", b"1", b"10")),
        b.literals((b"name", b"names", b'n\\"', "é".encode())),
    ]
    other = b.intersect(b.repeat(string_characters(b), 0, None), *(b.complement(pattern) for pattern in named))
    return [*named, other]


@st.composite
def members(draw: st.DrawFn, b: Builder, nodes: Sequence[ir.NodeId], wild: bool) -> ir.Members:
    """An object."""
    names = tuple(draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4)))
    patterns = tuple(draw(st.lists(st.sampled_from(pattern_choices(b)), unique=True, max_size=2)))
    num_ranked = draw(st.sampled_from([0, len(names), draw(st.integers(0, len(names)))]))
    ranks: list[int | None] = [*range(num_ranked), *([None] * (len(names) - num_ranked))]
    found = draw(conditions(len(names) + len(patterns), len(names)))
    required = draw(st.sets(st.integers(0, len(names) - 1), max_size=2)) if names else set()
    minimum, maximum = draw(counts())
    return ir.Members(
        names=names,
        ranks=tuple(draw(st.permutations(ranks))),
        patterns=patterns,
        values=draw(values(b, found, nodes, wild)),
        required=tuple(sorted(required)),
        min_count=minimum,
        max_count=maximum,
        claims=found.claims,
        formula=found.formula,
    )


@st.composite
def elements(
    draw: st.DrawFn, b: Builder, nodes: Sequence[ir.NodeId], wild: bool, unique: bool = False
) -> ir.Elements:  # fmt: skip
    """An array; ``unique``: always of distinct items."""
    prefix = draw(st.integers(0, 2))
    found = draw(conditions(prefix + 1, 0))
    minimum, maximum = draw(counts())
    distinct = unique or draw(st.booleans())
    classes = draw(values(b, found, nodes, wild))
    if distinct and not found.claims and draw(st.booleans()):
        classes = tuple((ir.Pick((), draw(few_values(b, nodes, unique))),) if picks else () for picks in classes)
    return ir.Elements(prefix, classes, minimum, maximum, found.claims, found.formula, distinct)


@st.composite
def few_values(draw: st.DrawFn, b: Builder, nodes: Sequence[ir.NodeId], unique: bool) -> ir.NodeId:
    """Items that run out soon: a few scalars, some of the same value, or small objects and arrays of them."""
    scalar = b.add(ir.Terminal(b.literals(draw(st.lists(st.sampled_from(SPELLINGS), min_size=1, max_size=4)))))
    kind = draw(st.sampled_from(["scalar", "scalar", "object", "array", "choice", "number"]))
    if kind == "object":
        some = b.add(ir.Terminal(b.literals((b"1", b"1.0"))))
        return b.add(ir.Members((b"a", b"ab"), (None, None), (), ((ir.Pick((), scalar),), (ir.Pick((), some),)), (0,)))
    if kind == "array":
        return b.add(ir.Elements(0, ((ir.Pick((), scalar),),), 0, 2, unique=unique or draw(st.booleans())))
    if kind == "choice":
        return b.add(ir.Choice((scalar, draw(st.sampled_from(nodes)))))
    if kind == "number":  # one value with and without a fraction of zeros, and others next to it
        zeros = b.concat(b.literal(b"."), b.repeat(b.literal(b"0"), 1, None))
        return b.add(
            ir.Terminal(b.concat(b.literals((b"1", b"10")), b.optional(zeros), b.literals((b"", b"e0", b"e-1"))))
        )
    return scalar


@st.composite
def grammars(draw: st.DrawFn, wild: bool = False, unique: bool = False) -> ir.Grammar:
    """A grammar of up to four containers and choices that refer to each other; it may be empty.

    ``unique``: the root is an array of distinct items, and so are all other arrays.
    """
    b = Builder(draw(st.sampled_from(SPACINGS)))
    nodes = [b.reserve(f"#/{i}") for i in range(draw(st.integers(1, 4)))]
    for node_id in nodes:
        kinds = ["members", "members", "elements"] + ["elements", "choice"] * (node_id > 0)
        kind = "elements" if unique and not node_id else draw(st.sampled_from(kinds))
        if kind == "members":
            b.define(node_id, draw(members(b, nodes, wild)))
        elif kind == "elements":
            b.define(node_id, draw(elements(b, nodes, wild, unique)))
        else:
            options = draw(st.lists(st.sampled_from(nodes) | terminals(b, wild), max_size=3))
            b.define(node_id, ir.Choice(tuple(options)))
    return b.grammar(nodes[0])


# ---- chains ---------------------------------------------------------------------------------------------------------


def texts_around(b: Builder) -> list[ir.RegexId]:
    """What may stand around JSON: markers, runs that may be empty, and free text up to the first marker."""
    blank = b.byte_class(1 << ord(" ") | 1 << ord("\n"))
    letter = b.byte_class(1 << ord("a") | 1 << ord("b") | 1 << ord('"'))
    free = b.repeat(b.byte_class((1 << 128) - 1), 0, None)
    marked = b.concat(free, b.literal(b'":'), free)
    return [
        b.literal(b'":'),
        b.literals((b"[[", b"a", b"tr")),
        b.repeat(blank, 0, 2),
        b.repeat(blank, 0, None),
        b.repeat(letter, 0, None),
        b.epsilon,
        b.concat(b.intersect(free, b.complement(marked)), b.literal(b'":')),
        b.intersect(free, b.complement(marked)),
    ]


@st.composite
def chains(draw: st.DrawFn) -> ir.Grammar:
    """A grammar of chains around up to two JSON grammars; a chain may end with itself, or be one of a choice."""
    b = Builder(draw(st.sampled_from(SPACINGS)))
    inner = [b.include(replace(draw(grammars()), spacing=b.spacing)) for _ in range(draw(st.integers(1, 2)))]
    around = [b.add(ir.Terminal(regex)) for regex in texts_around(b)]
    own: list[ir.NodeId] = []
    for _ in range(draw(st.integers(1, 3))):
        parts = st.sampled_from([*inner, *inner, *around, *own, *own])
        node = b.reserve()
        chosen = draw(st.lists(parts, min_size=1, max_size=4))
        kind = draw(st.sampled_from(["chain", "chain", "chain", "choice", "repeated"]))
        if kind == "choice":
            b.define(node, ir.Choice(tuple(chosen)))
        elif kind == "repeated":  # a JSON text before it, so that it does not begin with itself
            again = b.add(ir.Choice((around[5], node)))
            b.define(node, ir.Chain((draw(st.sampled_from(inner)), *chosen, again)))
        else:
            b.define(node, ir.Chain(tuple(chosen)))
        own.append(node)
    return b.grammar(b.add(ir.Chain((own[-1],))))
