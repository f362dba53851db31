"""The reference matcher against languages worked out by hand, and against the meaning of claims on whole documents."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import strategies
from amounts import examples
from grammar_decode.errors import MatcherError, VocabularyError
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder
from grammar_decode.reference import Automaton, ReferenceMatcher, accepts, is_empty
from sketches import JSON_BYTES, TIGHT, Sketch, allowed_bytes, language
from vocabularies import ALL_SINGLE_BYTES, SOME_BYTES_MISSING, SYNTHETIC, TestVocabulary

FAST = settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))

# ---- languages by hand ----------------------------------------------------------------------------------------------


def test_ranked_names_come_in_order_and_may_be_skipped() -> None:
    grammar = Sketch(TIGHT).object([b"a", b"b"], ranks=(0, 1))
    assert language(grammar, JSON_BYTES) == {b"{}", b'{"a":1}', b'{"b":1}', b'{"a":1,"b":1}'}


def test_ranks_are_not_the_order_of_the_table() -> None:
    grammar = Sketch(TIGHT).object([b"a", b"b"], ranks=(1, 0), required=(0, 1))
    assert language(grammar, JSON_BYTES) == {b'{"b":1,"a":1}'}


def test_a_required_name_is_never_skipped() -> None:
    grammar = Sketch(TIGHT).object([b"a", b"b"], ranks=(0, 1), required=(0,))
    assert language(grammar, JSON_BYTES) == {b'{"a":1}', b'{"a":1,"b":1}'}


def test_unranked_names_come_in_any_order_and_once() -> None:
    grammar = Sketch(TIGHT).object([b"a", b"b"])
    two = {b'{"a":1,"b":1}', b'{"b":1,"a":1}'}
    assert language(grammar, JSON_BYTES) == {b"{}", b'{"a":1}', b'{"b":1}'} | two


def test_unranked_names_and_pattern_keys_come_after_ranked_ones() -> None:
    b = Sketch(TIGHT)
    grammar = b.object([b"a"], [b.literals([b"b"])], ranks=(0,))
    assert language(grammar, JSON_BYTES) == {b"{}", b'{"a":1}', b'{"b":1}', b'{"a":1,"b":1}'}


def test_no_pattern_key_appears_twice_and_an_exhausted_pattern_is_off_the_ballot() -> None:
    b = Sketch(TIGHT)
    grammar = b.object([], [b.literals([b"a", b"b"])])
    two = {b'{"a":1,"b":1}', b'{"b":1,"a":1}'}
    assert language(grammar, JSON_BYTES) == {b"{}", b'{"a":1}', b'{"b":1}'} | two


def test_a_key_that_equals_a_name_is_never_a_pattern_key_even_if_the_name_can_not_appear() -> None:
    b = Sketch(TIGHT)
    pattern = b.literals([b"a", b"b"])
    grammar = b.object([b"a"], [pattern], values=((), b.pick(b"1")))
    assert language(grammar, JSON_BYTES) == {b"{}", b'{"b":1}'}


def test_a_required_name_that_can_not_appear_makes_the_object_empty() -> None:
    assert is_empty(Sketch(TIGHT).object([b"a"], values=((),), required=(0,)))


def test_more_members_than_there_are_keys_is_empty() -> None:
    b = Sketch(TIGHT)
    assert is_empty(b.object([b"a"], [b.literals([b"a", b"b"])], min_count=3))
    assert not is_empty(b.object([b"a"], [b.literals([b"a", b"b"])], min_count=2))


def test_an_optional_name_is_off_the_ballot_when_the_rest_of_the_count_belongs_to_required_ones() -> None:
    grammar = Sketch(TIGHT).object([b"a", b"b", b"1"], ranks=(0, 1, 2), required=(1, 2), max_count=2)
    assert language(grammar, JSON_BYTES) == {b'{"b":1,"1":1}'}


def test_a_claimed_count_is_reached_with_members_that_no_claim_speaks_of() -> None:
    grammar = Sketch(TIGHT).object([b"a", b"b"], ranks=(0, 1), claims=(ir.CountMin(2),), formula=0)
    assert language(grammar, JSON_BYTES) == {b'{"a":1,"b":1}'}


def test_min_count_keeps_the_object_open() -> None:
    grammar = Sketch(TIGHT).object([b"a", b"b"], ranks=(0, 1), min_count=2)
    assert language(grammar, JSON_BYTES) == {b'{"a":1,"b":1}'}


def test_array_counts() -> None:
    assert language(Sketch(TIGHT).array(b"1", min_count=1, max_count=3), JSON_BYTES) == {b"[1]", b"[1,1]", b"[1,1,1]"}
    assert is_empty(Sketch(TIGHT).array(b"1", min_count=2, max_count=1))


def test_a_position_that_can_not_be_filled_ends_the_array() -> None:
    b = Sketch(TIGHT)
    grammar = b.grammar(b.add(ir.Elements(2, (b.pick(b"1"), (), b.pick(b"1")))))
    assert language(grammar, JSON_BYTES) == {b"[]", b"[1]"}


def test_recursion_that_never_ends_is_empty() -> None:
    b = Sketch(TIGHT)
    node = b.reserve()
    b.define(node, ir.Members((b"a",), (0,), (), ((ir.Pick((), node),),), required=(0,)))
    assert is_empty(b.grammar(node))


def test_recursion_stops_where_it_may() -> None:
    b = Sketch(TIGHT)
    node = b.reserve()
    b.define(node, ir.Elements(0, ((ir.Pick((), node),),)))
    grammar = b.grammar(node)
    assert accepts(grammar, b"[" * 50 + b"]" * 50)
    assert accepts(grammar, b"[[],[[]]]")
    assert not accepts(grammar, b"[[],]")


def test_a_choice_that_contains_itself_adds_nothing() -> None:
    b = Sketch(TIGHT)
    node = b.reserve()
    b.define(node, ir.Choice((node, b.value(b"1"))))
    assert language(b.grammar(node), JSON_BYTES) == {b"1"}
    other = b.reserve()
    b.define(other, ir.Choice((other,)))
    assert is_empty(b.grammar(other))


def test_a_number_may_go_on_or_end() -> None:
    b = Sketch(TIGHT)
    digits = b.repeat(b.byte_range(0x30, 0x39), 1, 3)
    grammar = b.grammar(b.add(ir.Elements(0, ((ir.Pick((), b.add(ir.Terminal(digits))),),), max_count=2)))
    for text in (b"[1]", b"[12,3]", b"[123]"):
        assert accepts(grammar, text)
    assert not accepts(grammar, b"[1234]")


# ---- whitespace and separators --------------------------------------------------------------------------------------


def test_each_run_of_whitespace_has_its_own_budget() -> None:
    grammar = Sketch(ir.Spacing(2)).object([b"a"])
    assert accepts(grammar, b'  {  "a"  :  1  }  ')
    places = [b"%s{}", b"{%s}", b'{%s"a":1}', b'{"a"%s:1}', b'{"a":%s1}', b'{"a":1%s}', b"{}%s"]
    for place in places:
        assert accepts(grammar, place % b"\t\n")
        assert not accepts(grammar, place % b" \r ")


def test_whitespace_may_be_unbounded_or_forbidden() -> None:
    assert accepts(Sketch(ir.Spacing(None)).array(b"1"), b" " * 999 + b"[" + b"\n" * 999 + b"]")
    assert not accepts(Sketch(TIGHT).array(b"1"), b"[ ]")


def test_separators_are_literal_text() -> None:
    b = Sketch(ir.Spacing(0, b", ", b": "))
    grammar = b.object([b"a", b"b"])
    assert accepts(grammar, b'{"a": 1, "b": 1}')
    assert not accepts(grammar, b'{"a": 1,"b": 1}')
    assert not accepts(grammar, b'{"a":1}')
    assert accepts(b.array(b"1"), b"[1, 1]")
    assert not accepts(b.array(b"1"), b"[1,  1]")


def test_whitespace_goes_around_the_literal_text_of_a_separator() -> None:
    grammar = Sketch(ir.Spacing(1, b", ", b": ")).array(b"1")
    assert accepts(grammar, b"[1 ,  1]")
    assert not accepts(grammar, b"[1 ,   1]")


# ---- liveness -------------------------------------------------------------------------------------------------------


def test_a_key_prefix_is_typed_only_towards_a_key_that_may_come() -> None:
    grammar = Sketch(TIGHT).object([b"ab", b"ba"], ranks=(0, 1))
    assert allowed_bytes(grammar, b'{"') == set(b"ab")
    assert allowed_bytes(grammar, b'{"ab":1,"') == set(b"b")
    assert allowed_bytes(grammar, b'{"ba":1') == set(b"}")


def test_a_key_that_the_alphabet_can_not_spell_is_not_begun() -> None:
    grammar = Sketch(TIGHT).object([b"aq", b"bb"])
    assert allowed_bytes(grammar, b'{"', missing=b"q") == set(b"b")


def test_a_name_that_the_alphabet_can_not_spell_never_appears_not_even_in_a_longer_token() -> None:
    b = Sketch(TIGHT)
    grammar = b.object([b"q", b"a"], [b.literals([b"q", b"qb", b"b"])])
    singles = [bytes((byte,)) for byte in b'{}",:1ab']
    matcher = ReferenceMatcher(grammar, [*singles, b'{"q":1', b'{"a":1', b'{"qb":1'], [])
    assert matcher.allowed_tokens() == {0, 9, 10}


def test_a_pattern_key_may_extend_a_used_one() -> None:
    b = Sketch(TIGHT)
    grammar = b.object([], [b.literals([b"a", b"ab"])])
    assert allowed_bytes(grammar, b'{"a":1,"a') == set(b"b")
    assert allowed_bytes(grammar, b'{"ab":1,"a') == set(b'"')
    assert allowed_bytes(grammar, b'{"ab":1,"a":1') == set(b"}")


def test_a_quote_in_the_text_of_a_name_does_not_end_the_key() -> None:
    grammar = Sketch(TIGHT).object([b'a\\"', b"a\\"])
    assert allowed_bytes(grammar, b'{"a\\') == set(b'"')
    assert allowed_bytes(grammar, b'{"a\\"') == set(b'":')


def test_a_value_with_a_missing_byte_is_not_begun() -> None:
    grammar = Sketch(TIGHT).array(b'"q"', b"1")
    assert allowed_bytes(grammar, b"[") == set(b']1"')
    assert allowed_bytes(grammar, b"[", missing=b"q") == set(b"]1")


def test_a_grammar_that_the_vocabulary_can_not_spell_is_refused() -> None:
    grammar = Sketch(TIGHT).object([b"a"], required=(0,))
    singles = [bytes((b,)) for b in range(256) if b != ord("a")]
    with pytest.raises(VocabularyError):
        ReferenceMatcher(grammar, [*singles, b"a", b'{"a":1}'], [len(singles)])  # the only "a" is a stop token
    assert ReferenceMatcher(grammar, [*singles, b"a", b'{"a":1}'], []).allowed_tokens()


def test_an_exhausted_pattern_is_not_begun_even_in_a_longer_token() -> None:
    b = Sketch(TIGHT)
    grammar = b.object([b"b"], [b.literals([b"a", b"q"])])
    singles = [bytes((byte,)) for byte in b'{}",:1ab']
    matcher = ReferenceMatcher(grammar, [*singles, b'q"'], [])
    assert matcher.accept_bytes(b'{"')
    assert matcher.allowed_tokens() == {6, 7, 8}
    assert matcher.accept_bytes(b'a":1,"')
    assert matcher.allowed_tokens() == {7}


def test_a_pattern_key_that_only_a_longer_token_spells_uses_up_none_of_the_others() -> None:
    b = Sketch(TIGHT)
    grammar = b.object([], [b.literals([b"a", b"b", b"q"])], min_count=2)
    singles = [bytes((byte,)) for byte in b'{}",:1ab']
    matcher = ReferenceMatcher(grammar, [*singles, b'"q":1'], [])
    assert matcher.accept_bytes(b'{"a":1,')
    assert matcher.allowed_tokens() == {2, 8}
    assert matcher.accept_token(8)
    assert matcher.allowed_tokens() == {1, 3}
    assert matcher.accept_bytes(b',"b":1')
    assert matcher.allowed_tokens() == {1}


def test_a_longer_token_may_hold_a_byte_that_is_no_token() -> None:
    b = Sketch(TIGHT)
    grammar = b.array(b'"q"', b'""')
    singles = [bytes((byte,)) for byte in b'[]",']
    matcher = ReferenceMatcher(grammar, [*singles, b'"q"', b'q"', b"q"], [])
    assert ord("q") in matcher.alphabet
    matcher = ReferenceMatcher(b.array(b'"1"', b'"q1"'), [*singles, b"1", b'"q1"', b'q1"'], [])
    assert matcher.accept_bytes(b'["')
    assert matcher.allowed_tokens() == {4, 6}


# ---- claims: the reference against the meaning of a claim on a whole document ---------------------------------------


def satisfies(claim: ir.Claim, entries: list[tuple[int, bytes]], holds: Callable[[bytes], bool]) -> bool:
    """What a claim says of a container with these (class, value) entries; ``holds``: whether a value satisfies it."""
    if isinstance(claim, ir.Has):
        return any(cls == claim.cls for cls, _ in entries)
    if isinstance(claim, ir.Lacks):
        return all(cls != claim.cls for cls, _ in entries)
    if isinstance(claim, ir.CountMin):
        return len(entries) >= claim.count
    if isinstance(claim, ir.CountMax):
        return len(entries) <= claim.count
    good = sum(cls in claim.classes and holds(value) for cls, value in entries)
    bad = sum(cls in claim.classes and not holds(value) for cls, value in entries)
    if isinstance(claim, ir.Member):
        return bad == 0
    return good >= claim.count if isinstance(claim, ir.Some) else bad <= claim.count


def holds_for(formula: ir.Formula, truth: list[bool]) -> bool:
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, int):
        return truth[formula]
    return (all if isinstance(formula, ir.And) else any)(holds_for(part, truth) for part in formula.parts)


Values = list[bytes]
VALUES: Values = [b"1", b"2"]


@st.composite
def claimed_values(
    draw: st.DrawFn, b: Builder, found: strategies.Conditions
) -> tuple[list[Values], list[Values], tuple[tuple[ir.Pick, ...], ...]]:
    """The values of every class, the values that satisfy each claim, and the picks that say so."""
    some = st.lists(st.sampled_from(VALUES), unique=True)
    by_class = [draw(st.just(VALUES) | some) for _ in found.sets]
    by_claim = [draw(some) for _ in found.claims]
    picks = []
    for base, sets in zip(by_class, found.sets, strict=True):
        of_class = []
        for claims in sets:
            texts = [v for v in base if all(v in by_claim[c] for c in claims)]
            if texts or draw(st.booleans()):  # an empty pick may be there, or not
                of_class.append(ir.Pick(claims, b.add(ir.Terminal(b.literals(texts)))))
        picks.append(tuple(of_class))
    return by_class, by_claim, tuple(picks)


def is_valid(found: strategies.Conditions, by_claim: list[Values], entries: list[tuple[int, bytes]]) -> bool:
    truth = [satisfies(claim, entries, good.__contains__) for claim, good in zip(found.claims, by_claim, strict=True)]
    return holds_for(found.formula, truth)


@settings(FAST, max_examples=examples(150))
@given(st.data())
def test_arrays_hold_exactly_what_their_claims_say(data: st.DataObject) -> None:
    b = Builder(TIGHT)
    prefix = data.draw(st.integers(0, 2))
    found = data.draw(strategies.conditions(prefix + 1, 0))
    by_class, by_claim, picks = data.draw(claimed_values(b, found))
    low, high = data.draw(st.sampled_from([(0, 3), (1, 4), (2, 2), (3, 4)]))
    grammar = b.grammar(b.add(ir.Elements(prefix, picks, low, high, found.claims, found.formula)))

    def documents() -> Iterator[bytes]:
        for count in range(low, high + 1):
            for items in itertools.product(VALUES, repeat=count):
                entries = [(min(i, prefix), value) for i, value in enumerate(items)]
                if all(v in by_class[cls] for cls, v in entries) and is_valid(found, by_claim, entries):
                    yield b"[" + b",".join(items) + b"]"

    for missing in (b"", b"2", b","):
        alphabet = bytes(c for c in b"[],12" if c not in missing)
        assert language(grammar, alphabet) == {d for d in documents() if set(d) <= set(alphabet)}


KEYS = [b"a", b"b", b"c", b"d"]


@settings(FAST, max_examples=examples(80))
@given(st.data())
def test_objects_hold_exactly_what_their_claims_say(data: st.DataObject) -> None:
    b = Builder(TIGHT)
    num_names = data.draw(st.integers(0, 3))
    names = KEYS[:num_names]
    pattern_keys = [names[:1] + KEYS[num_names:4]] if data.draw(st.booleans()) else []  # overlaps a name, on purpose
    flat = list(itertools.chain(*pattern_keys))
    num_ranked = data.draw(st.integers(0, num_names))
    ranks = data.draw(st.permutations([*range(num_ranked), *([None] * (num_names - num_ranked))]))
    found = data.draw(strategies.conditions(num_names + len(pattern_keys), num_names))
    by_class, by_claim, picks = data.draw(claimed_values(b, found))
    required = sorted(data.draw(st.sets(st.integers(0, num_names - 1), max_size=1))) if num_names else []
    low, high = data.draw(st.sampled_from([(0, None), (0, 2), (1, 3), (2, 2), (3, None)]))
    patterns = tuple(b.literals(keys) for keys in pattern_keys)
    node = ir.Members(
        tuple(names), tuple(ranks), patterns, picks, tuple(required), low, high, found.claims, found.formula
    )
    grammar = b.grammar(b.add(node))

    def class_of(key: bytes) -> int | None:
        return names.index(key) if key in names else num_names if key in flat else None

    def in_order(classes: list[int]) -> bool:
        places = [len(names) if cls >= num_names or ranks[cls] is None else ranks[cls] for cls in classes]
        return places == sorted(places)

    def documents() -> Iterator[bytes]:
        keys = [key for key in KEYS if class_of(key) is not None]
        for count in range(low, min(len(keys), len(keys) if high is None else high) + 1):
            for order in itertools.permutations(keys, count):
                classes = [cls for key in order if (cls := class_of(key)) is not None]
                if not in_order(classes) or not set(required) <= set(classes):
                    continue
                for values in itertools.product(*(by_class[cls] for cls in classes)):
                    if is_valid(found, by_claim, list(zip(classes, values, strict=True))):
                        yield b"{" + b",".join(b'"%s":%s' % kv for kv in zip(order, values, strict=True)) + b"}"

    for missing in (b"", b"b", b"c1", b","):
        alphabet = bytes(c for c in b'{}":,abcd12' if c not in missing)
        assert language(grammar, alphabet) == {d for d in documents() if set(d) <= set(alphabet)}


# ---- the matcher ----------------------------------------------------------------------------------------------------


def mask_bits(mask: np.ndarray[Any, np.dtype[np.int32]]) -> set[int]:
    return {i for i in range(32 * len(mask)) if int(mask[i // 32]) >> (i % 32) & 1}


@settings(FAST, max_examples=examples(20))
@given(strategies.grammars(wild=True), st.sampled_from(SYNTHETIC), st.randoms(use_true_random=False))
def test_every_allowed_token_is_accepted_and_the_mask_after_it_is_not_empty(
    grammar: ir.Grammar, vocabulary: TestVocabulary, rng: random.Random
) -> None:
    try:
        matcher = ReferenceMatcher(grammar, vocabulary.token_bytes, vocabulary.stop_token_ids, vocabulary.size)
    except VocabularyError:
        assume(False)
    for _ in range(4):
        if matcher.is_terminated():
            break
        allowed = matcher.allowed_tokens()
        assert allowed
        assert mask_bits(matcher.bitmask()) == allowed
        assert matcher.bitmask().shape == ((vocabulary.size + 31) // 32,)
        for token_id in range(vocabulary.size):
            accepted = matcher.accept_token(token_id)
            assert accepted == (token_id in allowed)
            if accepted:
                assert matcher.is_accepting() or not matcher.alphabet.isdisjoint(matcher.allowed_bytes())
                matcher.rollback(1)
        assert matcher.accept_token(rng.choice(sorted(allowed)))


@FAST
@given(strategies.grammars(), st.randoms(use_true_random=False))
def test_what_is_accepted_is_json_without_duplicate_keys(grammar: ir.Grammar, rng: random.Random) -> None:
    automaton = Automaton(grammar)
    configuration = automaton.initial()
    text = b""
    for _ in range(60):
        options = [(b, after) for b in b'{}[]":,ab1 tru\\nqme' if (after := automaton.step(configuration, b))]
        if not options:
            break
        byte, configuration = rng.choice(options)
        text += bytes((byte,))
        if automaton.is_accepting(configuration):
            json.loads(text, object_pairs_hook=_refuse_duplicates)


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def one_to_three() -> ReferenceMatcher:
    tokens = [b"[", b"]", b",", b"1", b"1]", b"[1", b",1,1]", None, b"", b"</s>", b"[STOP]", b",1"]
    grammar = Sketch(TIGHT).array(b"1", min_count=1, max_count=3)
    return ReferenceMatcher(grammar, tokens, [9, 10], size=40)


def test_tokens_cross_boundaries_and_count() -> None:
    matcher = one_to_three()
    assert matcher.allowed_tokens() == {0, 5}
    assert matcher.accept_token(5)
    assert matcher.allowed_tokens() == {1, 2, 6, 11}
    assert matcher.accept_token(11)
    assert matcher.allowed_tokens() == {1, 2, 11}
    assert not matcher.accept_token(6)
    assert matcher.accept_token(2)
    assert matcher.allowed_tokens() == {3, 4}


def test_stop_tokens_are_allowed_iff_the_document_is_complete_and_stay_so() -> None:
    matcher = one_to_three()
    assert not matcher.accept_token(9)
    assert matcher.accept_bytes(b"[1]")
    assert matcher.allowed_tokens() == {9, 10}
    assert matcher.accept_token(10)
    assert matcher.is_terminated()
    assert matcher.allowed_tokens() == {9, 10}
    assert matcher.allowed_bytes() == set()
    assert not matcher.accept_bytes(b" ")
    assert not matcher.accept_token(9)
    matcher.rollback(1)
    assert not matcher.is_terminated()


def test_a_refused_step_changes_nothing() -> None:
    matcher = one_to_three()
    before = matcher.configuration
    assert not matcher.accept_bytes(b"[1,1,1,1")
    assert not matcher.accept_token(1)
    assert matcher.configuration == before
    with pytest.raises(MatcherError):
        matcher.rollback(1)


def test_rollback_and_reset_restore_the_mask() -> None:
    matcher = one_to_three()
    masks = []
    for token_id in (5, 2, 4):
        masks.append(matcher.allowed_tokens())
        assert matcher.accept_token(token_id)
    for mask in reversed(masks):
        matcher.rollback(1)
        assert matcher.allowed_tokens() == mask
    assert matcher.accept_token(0)
    matcher.reset()
    assert matcher.allowed_tokens() == masks[0]


@pytest.mark.parametrize("token_id", [-1, 40])
def test_a_token_id_out_of_range_is_an_error(token_id: int) -> None:
    with pytest.raises(MatcherError):
        one_to_three().accept_token(token_id)


def test_ids_without_text_are_never_allowed() -> None:
    matcher = one_to_three()
    for token_id in (7, 8, 12, 39):
        assert not matcher.accept_token(token_id)


def test_the_alphabets_of_the_synthetic_vocabularies_differ() -> None:
    b = Sketch(TIGHT)
    grammar = b.array(b"1")

    def alphabet(v: TestVocabulary) -> frozenset[int]:
        return ReferenceMatcher(grammar, v.token_bytes, v.stop_token_ids, v.size).alphabet

    assert len(alphabet(ALL_SINGLE_BYTES)) == 256
    assert ord("q") not in alphabet(SOME_BYTES_MISSING)
