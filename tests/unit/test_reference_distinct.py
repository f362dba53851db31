"""Arrays of distinct items in the reference matcher: by hand, and by the definition on small languages."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import strategies
from amounts import examples
from grammar_decode.errors import VocabularyError
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder
from grammar_decode.reference import Automaton, ReferenceMatcher, accepts, is_empty
from grammar_decode.reference.regex import Regexes
from grammar_decode.reference.scalars import MOST_VALUES, Number, Scalars, TooManyValues, value_of
from sketches import JSON_BYTES, TIGHT, Sketch, allowed_bytes, language
from vocabularies import SYNTHETIC, TestVocabulary

THOROUGH = settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))


def one(node: ir.NodeId) -> tuple[ir.Pick, ...]:
    return (ir.Pick((), node),)


def array(b: Sketch, *classes: tuple[ir.Pick, ...], **fields: Any) -> ir.NodeId:
    """An array of distinct items: its positions, and the class of all later items."""
    return b.add(ir.Elements(len(classes) - 1, classes, unique=True, **fields))


# ---- by hand --------------------------------------------------------------------------------------------------------


def test_no_item_comes_twice_and_no_comma_comes_when_the_values_have_run_out() -> None:
    two = {b"[]", b"[1]", b'["a"]', b'[1,"a"]', b'["a",1]'}
    assert language(Sketch(TIGHT).array(b"1", b'"a"', unique=True), JSON_BYTES) == two
    booleans = Sketch(TIGHT).array(b"true", b"false", unique=True)
    assert allowed_bytes(booleans, b"[true") == set(b",]")
    assert allowed_bytes(booleans, b"[true,") == set(b"f")
    assert allowed_bytes(booleans, b"[true,false") == set(b"]")


def test_numbers_are_equal_by_value() -> None:
    b = Sketch(TIGHT)
    texts = [b"1", b"1.0", b"10e-1", b"1E+00", b"0.1e1", b"100e-02"]
    assert language(b.array(*texts, unique=True, min_count=1), b"[],1.0e-E+2") == {b"[%s]" % text for text in texts}
    assert is_empty(b.array(*texts, unique=True, min_count=2))
    assert is_empty(b.array(b"0", b"-0", b"0.00", b"-0e7", unique=True, min_count=2))
    assert not is_empty(b.array(b"1", b"-1", unique=True, min_count=2))


def test_strings_are_equal_by_their_characters_and_never_equal_a_number() -> None:
    b = Sketch(TIGHT)
    assert is_empty(b.array(rb'"a/"', rb'"\u0061/"', rb'"a\/"', rb'"\u0061\u002F"', unique=True, min_count=2))
    assert is_empty(b.array('"😀"'.encode(), rb'"\ud83d\ude00"', rb'"\uD83D\uDE00"', unique=True, min_count=2))
    assert not is_empty(b.array(b'"1"', b"1", unique=True, min_count=2))
    assert not is_empty(b.array(rb'"\ud83d"', rb'"\ude00"', rb'"\ud83d\ude00"', unique=True, min_count=3))


def test_any_other_text_is_its_own_value() -> None:
    b = Sketch(TIGHT)
    texts = (b"true", b"null", b"01", b"1x", b'"a', b'"\xff"', b'"\\x"', b'"\n"', b'"a" ', b"1.", b"+1")
    assert not is_empty(b.array(*texts, unique=True, min_count=len(texts)))


def test_a_position_leaves_to_a_later_one_what_that_needs() -> None:
    b = Sketch(TIGHT)
    grammar = b.grammar(array(b, b.pick(b"a", b"b"), b.pick(b"a"), (), min_count=2))
    assert language(grammar, JSON_BYTES) == {b"[b,a]"}
    longer = b.grammar(array(b, b.pick(b"1", b"10"), b.pick(b"1"), (), min_count=2))
    assert allowed_bytes(longer, b"[1") == set(b"0")


def test_a_count_that_the_values_can_not_reach_is_empty_and_so_is_what_needs_it() -> None:
    b = Sketch(TIGHT)
    booleans = array(b, b.pick(b"true", b"false"), min_count=3)
    assert is_empty(b.grammar(booleans))
    assert is_empty(b.grammar(b.add(ir.Members((b"a",), (0,), (), (one(booleans),), required=(0,)))))
    optional = b.grammar(b.add(ir.Members((b"a",), (0,), (), (one(booleans),))))
    assert language(optional, JSON_BYTES) == {b"{}"}
    assert language(b.grammar(b.add(ir.Elements(0, (one(booleans),)))), JSON_BYTES) == {b"[]"}


def test_values_that_the_alphabet_can_not_spell_do_not_count() -> None:
    grammar = Sketch(TIGHT).array(b'"q"', b'"a"', unique=True, min_count=2)
    assert not is_empty(grammar)
    singles = [bytes((byte,)) for byte in b'[]",a']
    with pytest.raises(VocabularyError):
        ReferenceMatcher(grammar, [*singles, b'"q"'], [])
    longer = Sketch(TIGHT).array(b'"q"', b'"a"', unique=True)
    matcher = ReferenceMatcher(longer, [*singles, b'"q"', b'["q"', b',"q"'], [])
    assert matcher.allowed_tokens() == {0, 6}
    assert matcher.accept_bytes(b'["a"')
    assert matcher.allowed_tokens() == {1}  # a comma would wait for "q", which no single bytes spell
    matcher.reset()
    assert matcher.accept_token(6)
    assert matcher.allowed_tokens() == {1, 3}


def test_objects_are_equal_whatever_the_order_of_their_members() -> None:
    b = Sketch(TIGHT)
    grammar = b.grammar(array(b, one(b.add(ir.Members((b"a", b"b"), (None, None), (), (b.pick(b"1", b"1.0"),) * 2)))))
    assert accepts(grammar, b'[{"a":1,"b":1},{"a":1},{"b":1},{}]')
    assert not accepts(grammar, b'[{"a":1,"b":1},{"b":1.0,"a":1}]')
    assert allowed_bytes(grammar, b'[{"a":1,"b":1},{"b":1.0') == set(b"}")  # the other member would be that of before


def test_keys_are_compared_as_written() -> None:
    b = Sketch(TIGHT)
    keys = b.literals([b"a", b"\\u0061"])
    grammar = b.grammar(array(b, one(b.add(ir.Members((), (), (keys,), (b.pick(b"1"),))))))
    assert accepts(grammar, b'[{"a":1},{"\\u0061":1}]')
    assert not accepts(grammar, b'[{"a":1},{"a":1}]')


def test_a_key_is_not_begun_that_only_leads_to_an_object_that_is_used() -> None:
    b = Sketch(TIGHT)
    record = b.add(ir.Members((b"aa", b"ab"), (0, 1), (), (b.pick(b"1"), b.pick(b"1", b"10")), (), 1, 1))
    grammar = b.grammar(array(b, one(record)))
    assert allowed_bytes(grammar, b'[{"aa":1},{"a') == set(b"b")
    assert allowed_bytes(grammar, b'[{"ab":1},{"ab":1') == set(b"0")
    assert allowed_bytes(grammar, b'[{"ab":1},{"ab":10},{"aa":1}') == set(b"]")


def test_arrays_of_distinct_arrays_of_distinct_items() -> None:
    b = Sketch(TIGHT)
    pairs = array(b, b.pick(b"1", b"a"), min_count=1)
    grammar = b.grammar(array(b, one(pairs), min_count=4))
    four = (b"[1]", b"[a]", b"[1,a]", b"[a,1]")
    assert language(grammar, JSON_BYTES) == {b"[" + b",".join(o) + b"]" for o in itertools.permutations(four)}
    assert is_empty(b.grammar(array(b, one(pairs), min_count=5)))


def test_items_that_repeat_are_told_apart_by_how_many_there_are() -> None:
    b = Sketch(TIGHT)
    row = b.add(ir.Elements(0, (b.pick(b"1"),), max_count=2))
    grammar = b.grammar(array(b, one(row), min_count=3))
    rows = (b"[]", b"[1]", b"[1,1]")
    assert language(grammar, JSON_BYTES) == {b"[" + b",".join(o) + b"]" for o in itertools.permutations(rows)}
    endless = b.grammar(array(b, one(b.add(ir.Elements(0, (b.pick(b"1"),)))), min_count=40))
    assert not is_empty(endless)


def test_recursion() -> None:
    b = Sketch(TIGHT)
    sets = b.reserve()
    b.define(sets, ir.Elements(0, (one(sets),), unique=True))
    grammar = b.grammar(sets)
    for text in (b"[]", b"[[]]", b"[[],[[]]]", b"[[[]],[[],[[]]]]"):
        assert accepts(grammar, text)
    for text in (b"[[],[]]", b"[[[]],[[]]]", b"[[],[[[],[]]]]"):
        assert not accepts(grammar, text)
    assert not is_empty(b.grammar(array(b, one(sets), min_count=30)))
    never = b.reserve()
    b.define(never, ir.Elements(0, (one(never),), 1, unique=True))
    assert is_empty(b.grammar(never))


def test_claims_and_distinct_items_go_together() -> None:
    b = Sketch(TIGHT)
    both = (ir.Pick((), b.value(b"1", b"a")), ir.Pick((0,), b.value(b"1")))
    some = {n: array(b, both, claims=(ir.Some((0,), n),), formula=0) for n in (1, 2)}
    assert language(b.grammar(some[1]), JSON_BYTES) == {b"[1]", b"[1,a]", b"[a,1]"}
    assert is_empty(b.grammar(some[2]))


def test_endless_values_never_run_out() -> None:
    b = Sketch(TIGHT)
    characters = b.repeat(strategies.string_characters(b), 0, None)
    digits = b.repeat(b.byte_range(0x30, 0x39), 1, None)
    for regex in (strategies.quoted(b, characters), b.concat(b.literal(b"0."), digits, b.literal(b"1"))):
        assert not is_empty(b.grammar(array(b, one(b.add(ir.Terminal(regex))), min_count=60)))
    # ... of texts, not of values: 1, 1.0, 1.00 and so on.
    zeros = b.concat(b.literal(b"1"), b.optional(b.concat(b.literal(b"."), b.repeat(b.literal(b"0"), 1, None))))
    assert is_empty(b.grammar(array(b, one(b.add(ir.Terminal(zeros))), min_count=2)))
    scaled = b.concat(zeros, b.literals((b"e0", b"E-00", b"e+1")))
    assert is_empty(b.grammar(array(b, one(b.add(ir.Terminal(scaled))), min_count=3)))
    assert not is_empty(b.grammar(array(b, one(b.add(ir.Terminal(scaled))), min_count=2)))


def test_more_distinct_items_than_the_reference_can_tell_are_refused() -> None:
    b = Sketch(TIGHT)
    digits = b.repeat(b.byte_range(0x30, 0x39), 3, 3)
    with pytest.raises(TooManyValues):
        is_empty(b.grammar(array(b, one(b.add(ir.Terminal(digits))), min_count=MOST_VALUES)))


# ---- values of scalars ----------------------------------------------------------------------------------------------

SPELLINGS = [
    (b"0", b"-0.00e5"),
    (b"1", b"10e-1"),
    (b"-1.50", b"-0.15E+01"),
    (b"1200", b"0.0012e6"),
    (b'"a/\\"\xc3\xa9"', b'"\\u0061\\/\\u0022\\u00E9"'),
]


@pytest.mark.parametrize(("left", "right"), SPELLINGS)
def test_equal_values_are_equal(left: bytes, right: bytes) -> None:
    assert value_of(left) == value_of(right)
    assert isinstance(value_of(left), (str, Number))


numerals = st.from_regex(r"-?(0|[1-9][0-9]{0,2})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)


@THOROUGH
@given(numerals, numerals)
def test_numerals_have_equal_values_exactly_if_their_decimals_are_equal(left: str, right: str) -> None:
    assert (value_of(left.encode()) == value_of(right.encode())) == (Decimal(left) == Decimal(right))


@THOROUGH
@given(st.data())
def test_the_values_of_a_finite_expression_are_those_of_its_texts(data: st.DataObject) -> None:
    parts = st.lists(st.sampled_from(b'"\\u0061a/10.e-\xc3\xa9'), max_size=4).map(bytes)
    choices = st.lists(parts, min_size=1, max_size=6)
    texts = [x + y + z for x, y, z in itertools.product(*(data.draw(choices) for _ in range(3)))]
    more = [b'"' + text + b'"' for text in texts]
    alphabet = bytes(set(range(256)) - set(data.draw(st.sampled_from([b"", b"a", b"\\", b"e"]))))
    regexes = Regexes(alphabet)
    known = [text for text in texts + more if set(text) <= set(alphabet)]
    expr = regexes.from_table((ir.LiteralSet(tuple(sorted(set(texts + more)))),))[0]
    begun = data.draw(st.sampled_from([b"", *known]))[: data.draw(st.integers(0, 4))]
    rest = expr
    for byte in begun:
        rest = regexes.derivative(rest, byte)
    found = Scalars(regexes).completions(begun, rest)
    expected = {value_of(text) for text in known if text.startswith(begun)}
    assert found == expected or (found is None and len(expected) > MOST_VALUES // 4)


# ---- by the definition ----------------------------------------------------------------------------------------------


class Finite(Sketch):
    """A builder that knows the documents of its nodes."""

    def __init__(self) -> None:
        super().__init__(TIGHT)
        self.texts: dict[ir.NodeId, list[bytes]] = {}


SCALARS = (b"1", b"1.0", b"10e-1", b"-0", b"0", b"2", b'"a"', b'"\\u0061"', b'"1"', b"true", b"null")
MOST_DOCUMENTS = 250


def plain(value: Any) -> Any:
    """A JSON value with an equality of its own: 1 is not true, and members have no order."""
    if isinstance(value, dict):
        return frozenset((key, plain(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(map(plain, value))
    return (isinstance(value, bool), value)


def is_distinct(items: tuple[bytes, ...]) -> bool:
    return len({plain(json.loads(item, parse_float=Decimal, parse_int=Decimal)) for item in items}) == len(items)


@st.composite
def finite_nodes(draw: st.DrawFn, b: Finite, depth: int) -> ir.NodeId:
    """A node without recursion; its documents are known to the builder, by the definition in ``ir.nodes``."""
    kind = draw(st.sampled_from(["scalar", "choice", "object", "array", "array"] if depth else ["scalar"]))
    inner = finite_nodes(b, depth - 1)
    if kind == "scalar":
        own = draw(st.lists(st.sampled_from(SCALARS), min_size=1, max_size=4))
        node = b.value(*own)
    elif kind == "choice":
        nodes = draw(st.lists(inner, min_size=1, max_size=2))
        own = [text for n in nodes for text in b.texts[n]]
        node = b.add(ir.Choice(tuple(nodes)))
    elif kind == "object":
        own, node = draw(finite_objects(b, [draw(inner), draw(inner)]))
    else:
        own, node = draw(finite_arrays(b, [draw(inner) for _ in range(draw(st.integers(1, 3)))]))
    b.texts[node] = sorted(set(own))
    assume(len(b.texts[node]) <= MOST_DOCUMENTS)
    return node


@st.composite
def finite_objects(
    draw: st.DrawFn, b: Finite, nodes: list[ir.NodeId]
) -> tuple[list[bytes], ir.NodeId]:  # fmt: skip
    required = draw(st.sampled_from([(), (0,), (0, 1)]))
    ordered = draw(st.booleans())
    names = draw(st.sampled_from([(b"a", b"b"), (b"", b"a")]))
    members = [[b'"%s":%s' % (name, text) for text in b.texts[n]] for name, n in zip(names, nodes, strict=True)]
    own = []
    for count in range(3):
        for order in itertools.permutations((0, 1), count):
            if set(required) <= set(order) and (not ordered or order == tuple(sorted(order))):
                own += [b"{" + b",".join(pairs) + b"}" for pairs in itertools.product(*(members[i] for i in order))]
    ranks = (0, 1) if ordered else (None, None)
    return own, b.add(ir.Members(names, ranks, (), tuple(map(one, nodes)), required))


@st.composite
def finite_arrays(
    draw: st.DrawFn, b: Finite, nodes: list[ir.NodeId]
) -> tuple[list[bytes], ir.NodeId]:  # fmt: skip
    prefix = len(nodes) - 1
    low, high = draw(st.sampled_from([(0, 2), (1, 2), (2, 2), (2, 3), (3, 3)]))
    unique = draw(st.sampled_from([True, True, False]))
    own = []
    for count in range(low, high + 1):
        choices = [b.texts[nodes[min(i, prefix)]] for i in range(count)]
        assume(all(len(choice) <= 12 for choice in choices) or count < 3)
        rows = (items for items in itertools.product(*choices) if not unique or is_distinct(items))
        own += [b"[" + b",".join(items) + b"]" for items in rows]
    return own, b.add(ir.Elements(prefix, tuple(map(one, nodes)), low, high, unique=unique))


@settings(THOROUGH, max_examples=examples(60))
@given(st.data())
def test_the_language_is_that_of_the_definition(data: st.DataObject) -> None:
    b = Finite()
    inner = [data.draw(finite_nodes(b, 2)) for _ in range(data.draw(st.integers(1, 2)))]
    own, root = data.draw(finite_arrays(b, inner))
    assume(0 < len(set(own)) <= MOST_DOCUMENTS)
    for missing in (b"", data.draw(st.sampled_from([b"0", b"2", b".", b"b", b"u", b'"']))):
        alphabet = bytes({*b'{}[]":,ab12.0e-\\u6', *b"truenull"} - {*missing})
        known = {text for text in own if set(text) <= set(alphabet)}
        assert language(b.grammar(root), alphabet, 200) == known


@settings(THOROUGH, max_examples=examples(60))
@given(st.data())
def test_an_array_with_claims_and_distinct_items_holds_both(data: st.DataObject) -> None:
    """The claims alone are tested by their definition; among their arrays, those of distinct items are kept."""
    b = Builder(TIGHT)
    prefix = data.draw(st.integers(0, 2))
    found = data.draw(strategies.conditions(prefix + 1, 0))
    values = st.lists(st.sampled_from((b"1", b"2", b"1.0", b"null")), unique=True, min_size=1)
    by_claim = [data.draw(values) for _ in found.claims]
    picks = []
    for sets in found.sets:
        base = data.draw(values)
        texts = [(claims, [text for text in base if all(text in by_claim[c] for c in claims)]) for claims in sets]
        picks.append(tuple(ir.Pick(claims, b.add(ir.Terminal(b.literals(own)))) for claims, own in texts))
    low, high = data.draw(st.sampled_from([(0, 3), (1, 4), (2, 2), (3, 4)]))
    fields = (prefix, tuple(picks), low, high, found.claims, found.formula)
    every = b.grammar(b.add(ir.Elements(*fields)))
    distinct = b.grammar(b.add(ir.Elements(*fields, unique=True)))
    kept = {
        text
        for text in language(every, b"[],12.0nul")
        if is_distinct(tuple(text[1:-1].split(b",")) if text != b"[]" else ())
    }
    assert language(distinct, b"[],12.0nul") == kept


# ---- along walks ----------------------------------------------------------------------------------------------------


LIKELY = list(b'{}[]":,ab10\\tn.')


def repeated(value: Any) -> Iterator[list[Any]]:
    """The arrays in a value that hold equal items."""
    if isinstance(value, list):
        if len(set(map(plain, value))) < len(value):
            yield value
        for item in value:
            yield from repeated(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from repeated(item)


@pytest.mark.slow  # a drawn object of many members can take the reference minutes
@settings(THOROUGH, max_examples=examples(60))
@given(strategies.grammars(unique=True), st.sampled_from(SYNTHETIC), st.randoms(use_true_random=False))
def test_random_walks_never_get_stuck_and_no_array_has_equal_items(
    grammar: ir.Grammar, vocabulary: TestVocabulary, rng: random.Random
) -> None:
    alphabet = [t[0] for t in vocabulary.token_bytes if t is not None and len(t) == 1]
    automaton = Automaton(grammar, alphabet)
    configuration = automaton.initial()
    assume(configuration)
    text = b""
    for _ in range(50):
        if automaton.is_accepting(configuration):
            assert list(repeated(json.loads(text, parse_float=Decimal, parse_int=Decimal))) == []
        likely = rng.sample(LIKELY, len(LIKELY))
        order = [*likely, *rng.sample(alphabet, len(alphabet))] if rng.random() < 0.9 else alphabet
        steps = ((byte, after) for byte in order if (after := automaton.step(configuration, byte)))
        byte, configuration = next(steps, (None, configuration))
        if byte is None:
            assert automaton.is_accepting(configuration), f"{text!r} is a dead end"
            break
        text += bytes((byte,))
