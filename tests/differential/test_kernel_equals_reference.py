"""The kernel's masks equal the reference's, bit for bit, on every prefix that is tried."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

import strategies
from amounts import examples
from grammar_decode.errors import SchemaTooComplex, VocabularyError
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder
from grammar_decode.ir.encode import encode
from grammar_decode.reference import ReferenceMatcher, is_empty
from vocabularies import SYNTHETIC, TestVocabulary, gpt2, shared_tokenizer

if TYPE_CHECKING:
    from grammar_decode import _core
else:
    _core = pytest.importorskip("grammar_decode._core", reason="the native kernel is not built")

THOROUGH = settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
BRIEF = settings(THOROUGH, max_examples=examples(50))


class Pair:
    """The two matchers of one grammar and vocabulary, asked the same things."""

    def __init__(self, grammar: ir.Grammar, vocabulary: TestVocabulary) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.prefix: list[bytes] = []  # the text of every step
        self.reference = ReferenceMatcher(
            grammar, vocabulary.token_bytes, vocabulary.stop_token_ids, vocabulary.size
        )  # fmt: skip
        native_grammar = _core.Grammar(encode(grammar))
        native_vocabulary = _core.Vocabulary(
            list(vocabulary.token_bytes), list(vocabulary.stop_token_ids), vocabulary.size
        )
        self.kernel = _core.Matcher(native_grammar, native_vocabulary, list(vocabulary.stop_token_ids))

    def kernel_mask(self, kernel: Any = None) -> np.ndarray[Any, np.dtype[np.int32]]:
        """The kernel's mask, in the second row of an array that was all ones before."""
        rows = np.full((3, (self.vocabulary.size + 31) // 32), -1, dtype=np.int32)
        (kernel or self.kernel).fill_next_token_bitmask(rows, 1)
        assert (rows[[0, 2]] == -1).all(), "the kernel wrote to another row"
        return rows[1]

    def allowed(self) -> list[int]:
        """The allowed tokens, once both agree."""
        ours = self.reference.bitmask()
        theirs = self.kernel_mask()
        if not np.array_equal(ours, theirs):
            pytest.fail(self._mismatch(_ids(ours), _ids(theirs)))
        assert self.kernel.is_accepting() == self.reference.is_accepting(), self.where()
        assert self.kernel.is_terminated() == self.reference.is_terminated(), self.where()
        return sorted(_ids(ours))

    def accept(self, token_id: int) -> bool:
        """Let both take the token; they must agree on whether it may come."""
        ours = self.reference.accept_token(token_id)
        theirs = self.kernel.accept_token(token_id)
        assert ours == theirs, f"{self.where()}\naccept_token({token_id}): reference {ours}, kernel {theirs}"
        if ours:
            self.prefix.append(b"" if self.reference.is_terminated() else self.text(token_id))
        return ours

    def accept_bytes(self, text: bytes) -> None:
        """Let both read the text, which must be legal."""
        assert self.reference.accept_bytes(text), f"{self.where()}\nbytes {text!r}: refused by the reference"
        assert self.kernel.accept_bytes(text), f"{self.where()}\nbytes {text!r}: refused by the kernel"
        self.prefix.append(text)

    def rollback(self, count: int) -> None:
        self.reference.rollback(count)
        self.kernel.rollback(count)
        del self.prefix[len(self.prefix) - count :]

    def text(self, token_id: int) -> bytes:
        token_bytes = self.vocabulary.token_bytes
        return (token_bytes[token_id] or b"") if token_id < len(token_bytes) else b""

    def where(self) -> str:
        return f"{describe(self.grammar)}\nvocabulary: {self.vocabulary.name}\nprefix: {b''.join(self.prefix)!r}"

    def _mismatch(self, ours: set[int], theirs: set[int]) -> str:
        lines = [self.where()]
        lines += [
            f"token {token_id} {self.text(token_id)!r}: reference {token_id in ours}, kernel {token_id in theirs}"
            for token_id in sorted(ours ^ theirs)[:20]
        ]
        lines.append(f"{len(ours - theirs)} tokens only in the reference, {len(theirs - ours)} only in the kernel")
        return "\n".join(lines)


def _ids(mask: np.ndarray[Any, np.dtype[np.int32]]) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist())


def describe(grammar: ir.Grammar) -> str:
    """The tables, a line each."""
    lines = [f"root: {grammar.root}, {grammar.spacing}"]
    lines += [f"regex {i}: {_regex_text(regex)}" for i, regex in enumerate(grammar.regexes)]
    lines += [f"node {i}: {node}" for i, node in enumerate(grammar.nodes)]
    return "\n".join(lines)


def _regex_text(regex: ir.Regex) -> str:
    if not isinstance(regex, ir.ByteClass):
        return str(regex)
    members = bytes(b for b in range(256) if regex.mask >> b & 1)
    return (
        f"ByteClass({members!r})" if len(members) < 128 else f"ByteClass(not {bytes(set(range(256)) - {*members})!r})"
    )


def make_pair(grammar: ir.Grammar, vocabulary: TestVocabulary) -> Pair:
    """A pair, or no example if no document can be spelled; the kernel must agree on that."""
    native = _core.Grammar(encode(grammar))
    assert native.is_empty() == is_empty(grammar), describe(grammar)
    try:
        return Pair(grammar, vocabulary)
    except VocabularyError:
        pass  # assume() raises, and a chained error would hide that
    native_vocabulary = _core.Vocabulary(
        list(vocabulary.token_bytes), list(vocabulary.stop_token_ids), vocabulary.size
    )  # fmt: skip
    try:
        _core.Matcher(native, native_vocabulary, list(vocabulary.stop_token_ids))
    except ValueError:
        assume(False)
    pytest.fail(f"{describe(grammar)}\nempty for {vocabulary.name} says the reference; the kernel has a matcher for it")


def choose(pair: Pair, allowed: list[int], rng: random.Random) -> int:
    """Any allowed token, but mostly not blank and not a stop token: those end a walk early."""
    busy = [t for t in allowed if t not in pair.vocabulary.stop_token_ids and pair.text(t).strip()]
    return rng.choice(busy if busy and rng.random() < 0.9 else allowed)


def walk(pair: Pair, rng: random.Random, steps: int) -> None:
    for _ in range(steps):
        allowed = pair.allowed()
        assert allowed, f"{pair.where()}\nthe mask is empty"
        if pair.reference.is_terminated():
            assert not pair.accept(allowed[0])
            break
        assert pair.accept(choose(pair, allowed, rng))


def unless_refused(test: Callable[..., None]) -> Callable[..., None]:
    """Leaves out examples with distinct items that the kernel refuses: wild nodes have wild numbers of values."""

    @functools.wraps(test)
    def checked(grammar: ir.Grammar, *args: Any, **more: Any) -> None:
        refused = False
        try:
            test(grammar, *args, **more)
        except SchemaTooComplex:
            if not any(isinstance(node, ir.Elements) and node.unique for node in grammar.nodes):
                raise
            refused = True
        assume(not refused)

    return checked


random_vocabularies = st.sampled_from(SYNTHETIC)
randoms = st.randoms(use_true_random=False)


@THOROUGH
@given(strategies.grammars(), random_vocabularies, randoms)
@unless_refused
def test_masks_are_equal_along_random_walks(
    grammar: ir.Grammar, vocabulary: TestVocabulary, rng: random.Random
) -> None:
    walk(make_pair(grammar, vocabulary), rng, 16)


@THOROUGH
@given(strategies.grammars(wild=True), random_vocabularies, randoms)
@unless_refused
def test_masks_are_equal_where_terminals_hold_json_punctuation(
    grammar: ir.Grammar, vocabulary: TestVocabulary, rng: random.Random
) -> None:
    walk(make_pair(grammar, vocabulary), rng, 10)


@THOROUGH
@given(strategies.chains(), random_vocabularies, randoms)
@unless_refused
def test_masks_are_equal_along_random_walks_through_chains(
    grammar: ir.Grammar, vocabulary: TestVocabulary, rng: random.Random
) -> None:
    walk(make_pair(grammar, vocabulary), rng, 12)


@BRIEF
@given(strategies.grammars(wild=True), random_vocabularies, randoms)
@unless_refused
def test_both_accept_exactly_the_tokens_of_the_mask_and_never_reach_an_empty_one(
    grammar: ir.Grammar, vocabulary: TestVocabulary, rng: random.Random
) -> None:
    pair = make_pair(grammar, vocabulary)
    for _ in range(4):
        if pair.reference.is_terminated():
            break
        allowed = pair.allowed()
        for token_id in range(vocabulary.size):
            if pair.accept(token_id):
                assert token_id in allowed, pair.where()
                assert pair.kernel_mask().any(), f"{pair.where()}\nthe mask after an allowed token is empty"
                pair.rollback(1)
            else:
                assert token_id not in allowed, pair.where()
        assert pair.accept(choose(pair, allowed, rng))


@BRIEF
@given(strategies.grammars(), random_vocabularies, randoms)
@unless_refused
def test_rollback_restores_every_mask(grammar: ir.Grammar, vocabulary: TestVocabulary, rng: random.Random) -> None:
    pair = make_pair(grammar, vocabulary)
    masks = [pair.kernel_mask()]
    for _ in range(20):
        if len(masks) > 1 and rng.random() < 0.3:
            count = rng.randrange(1, len(masks))
            pair.rollback(count)
            del masks[len(masks) - count :]
        elif not pair.reference.is_terminated():
            assert pair.accept(choose(pair, pair.allowed(), rng))
            masks.append(pair.kernel_mask())
        assert np.array_equal(pair.kernel_mask(), masks[-1]), pair.where()
        pair.allowed()
    pair.kernel.reset()
    assert np.array_equal(pair.kernel_mask(), masks[0]), pair.where()


@BRIEF
@given(strategies.grammars(), random_vocabularies, randoms)
@unless_refused
def test_a_fork_goes_its_own_way(grammar: ir.Grammar, vocabulary: TestVocabulary, rng: random.Random) -> None:
    pair = make_pair(grammar, vocabulary)
    walk(pair, rng, 4)
    mask = pair.kernel_mask()
    fork = pair.kernel._copy_state()
    walk(pair, rng, 4)
    assert np.array_equal(pair.kernel_mask(fork), mask), pair.where()
    assert fork.is_terminated() or fork.accept_token(rng.choice(sorted(_ids(mask))))
    pair.allowed()


@BRIEF
@given(strategies.grammars(), random_vocabularies, randoms)
@unless_refused
def test_validate_counts_the_tokens_that_the_reference_accepts(
    grammar: ir.Grammar, vocabulary: TestVocabulary, rng: random.Random
) -> None:
    pair = make_pair(grammar, vocabulary)
    walk(pair, rng, 3)
    tokens: list[int] = []
    while len(tokens) < 5 and not pair.reference.is_terminated():
        tokens.append(choose(pair, sorted(pair.reference.allowed_tokens()), rng))
        assert pair.reference.accept_token(tokens[-1])
    for tail in ([], [rng.randrange(vocabulary.size)], [vocabulary.size - 1]):
        expected = len(tokens)
        for token_id in tail:
            if pair.reference.accept_token(token_id):
                expected += 1
                pair.reference.rollback(1)
        assert pair.kernel.validate_tokens(tokens + tail) == expected, pair.where()
    pair.reference.rollback(len(tokens))
    pair.allowed()


@BRIEF
@given(strategies.grammars(wild=True), random_vocabularies, st.lists(st.sampled_from(b'{}[]":, ab1q\\n'), max_size=12))
@unless_refused
def test_both_accept_the_same_bytes(grammar: ir.Grammar, vocabulary: TestVocabulary, text: list[int]) -> None:
    pair = make_pair(grammar, vocabulary)
    for byte in text:
        step = bytes((byte,))
        assert pair.kernel.accept_bytes(step) == pair.reference.accept_bytes(step), f"{pair.where()}\nbyte {step!r}"
    assert set(pair.kernel.allowed_bytes()) == pair.reference.allowed_bytes()
    pair.allowed()


def test_a_used_key_of_a_finite_pattern_is_not_typed_again() -> None:
    b = Builder(ir.Spacing(0))
    one = (ir.Pick((), b.add(ir.Terminal(b.literal(b"1")))),)
    patterns = (b.literals((b"ab", b"cd")), b.literals((b"name", b"names")))
    pair = Pair(b.grammar(b.add(ir.Members((), (), patterns, (one, one)))), SYNTHETIC[0])
    for text in (b'{"ab":1,"', b"c", b'd":1,"names":1,"name'):
        pair.accept_bytes(text)
        pair.allowed()


def test_a_key_that_would_leave_too_few_keys_for_the_count_is_not_typed() -> None:
    b = Builder(ir.Spacing(0))
    one = (ir.Pick((), b.add(ir.Terminal(b.literal(b"1")))),)
    node = ir.Members((b"a", b"b"), (0, 1), (b.literals((b"ba", b"bb")),), (one, one, one), min_count=3)
    pair = Pair(b.grammar(b.add(node)), SYNTHETIC[0])
    for text in (b'{"', b'b":1,"ba":1', b',"b'):
        pair.accept_bytes(text)
        pair.allowed()


# ---- real vocabularies ----------------------------------------------------------------------------------------------


def record_grammar() -> ir.Grammar:
    """What schemas are made of: ordered and required names, free strings with lengths, numbers, enums, nesting."""
    b = Builder(ir.Spacing(32))
    digits = b.byte_range(0x30, 0x39)
    natural = b.alternate(b.literal(b"0"), b.concat(b.byte_range(0x31, 0x39), b.repeat(digits, 0, 5)))
    number = b.add(ir.Terminal(b.concat(b.optional(b.literal(b"-")), natural)))
    characters = b.repeat(strategies.string_characters(b), 0, 40)
    text = b.add(ir.Terminal(strategies.quoted(b, characters)))
    kind = b.add(ir.Terminal(b.literals((b'"user"', b'"admin"', b"null"))))
    record = b.reserve()
    tags = b.add(ir.Elements(0, ((ir.Pick((), text),),), 0, 3))
    children = b.add(ir.Elements(0, ((ir.Pick((), record),),)))
    names = {b"name": text, b"age": number, b"kind": kind, b"tags": tags, b"children": children}
    classes = tuple((ir.Pick((), node),) for node in (*names.values(), text))
    other = b.intersect(b.repeat(strategies.string_characters(b), 0, None), b.complement(b.literals((b"", b"x"))))
    b.define(record, ir.Members(tuple(names), (0, 1, 2, 3, 4), (other,), classes, required=(0, 1), max_count=6))
    return b.grammar(record)


DOCUMENTS = (
    b'{"name": "A\xc3\xa9 \xf0\x9f\x98\x80", "age": 12, "children": [{"name":"","age":0}], "other": "x"} ',
    b'{\n  "name": "\\"quoted\\" and quite a long text",\n  "age": -7,\n  "kind": "admin", "tags": ["a", "b,"]}',
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "llama3_1", "qwen3", "gemma3", "deepseek_v3"])
def test_masks_are_equal_on_real_vocabularies(name: str) -> None:
    vocabulary = gpt2() if name == "gpt2" else shared_tokenizer(name)
    rng = random.Random(name)
    for document in DOCUMENTS:
        pair = Pair(record_grammar(), vocabulary)
        at = 0
        while at < len(document):
            fitting = [t for t in pair.allowed() if pair.text(t) and document.startswith(pair.text(t), at)]
            assert fitting, f"{document[:at]!r} has no next token"
            token_id = max(fitting, key=lambda t: len(pair.text(t))) if rng.random() < 0.7 else rng.choice(fitting)
            assert pair.accept(token_id)
            at += len(pair.text(token_id))
        assert pair.kernel.is_accepting()
        pair.allowed()


@pytest.mark.slow
@settings(BRIEF, max_examples=8)
@given(strategies.grammars(), randoms)
@unless_refused
def test_masks_are_equal_along_random_walks_on_gpt2(grammar: ir.Grammar, rng: random.Random) -> None:
    pair = make_pair(grammar, gpt2())
    note(describe(grammar))
    walk(pair, rng, 8)
