"""XGrammar's names: the calls of its clients; and one whole client, vLLM's backend for it, with the import swapped."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import grammar_decode as gd
import grammar_decode.compat.xgrammar as xgr
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary, ids_of, mask_of

VOCAB = as_vocabulary(ALL_SINGLE_BYTES)
EOS = VOCAB.stop_token_ids[0]
SCHEMA = {"type": "array", "items": {"enum": [1, 12, 123]}, "maxItems": 2}
INFO = xgr.TokenizerInfo(
    [token or b"" for token in VOCAB.token_bytes], stop_token_ids=list(VOCAB.stop_token_ids), vocab_size=VOCAB.size
)


def ids(text: bytes) -> list[int]:
    return [VOCAB.token_bytes.index(bytes([byte])) for byte in text]


def compiled(schema: Any = SCHEMA, **options: Any) -> xgr.CompiledGrammar:
    return xgr.GrammarCompiler(INFO, max_threads=8).compile_json_schema(json.dumps(schema), **options)


def new_bitmask(rows: int = 1) -> Any:
    return np.full(xgr.get_bitmask_shape(rows, INFO.vocab_size), -1, dtype=np.int32)


def test_a_vocabulary_of_each_type() -> None:
    assert INFO.vocab_size == VOCAB.size
    assert INFO.stop_token_ids == list(VOCAB.stop_token_ids)
    assert len(INFO.decoded_vocab) == VOCAB.size
    fallback = xgr.TokenizerInfo(["<s>", "</s>", "<0x0A>", "\u2581a"], xgr.VocabType.BYTE_FALLBACK)
    assert fallback.decoded_vocab == [b"<s>", b"", b"\n", b" a"]
    assert fallback.stop_token_ids == [1]
    level = xgr.TokenizerInfo(["\u0120a", "\u010a", "<|im_end|>"], xgr.VocabType.BYTE_LEVEL, vocab_size=5)
    assert level.decoded_vocab == [b" a", b"\n", b"", b"", b""]
    assert level.stop_token_ids == [2]
    assert level.special_token_ids == [3, 4]
    narrower = xgr.TokenizerInfo(["a", "b", "</s>"], vocab_size=2, stop_token_ids=1)
    assert narrower.decoded_vocab == [b"a", b""]


def test_from_huggingface_cuts_or_pads() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("t", pat_str=".", mergeable_ranks=ranks, special_tokens={"<|im_end|>": 256})
    assert xgr.TokenizerInfo.from_huggingface(encoding, vocab_size=300).vocab_size == 300
    assert xgr.TokenizerInfo.from_huggingface(encoding).stop_token_ids == [256]
    assert xgr.TokenizerInfo.from_huggingface(encoding, vocab_size=200, stop_token_ids=0).stop_token_ids == [0]


def test_a_sequence_step_by_step() -> None:
    matcher = xgr.GrammarMatcher(compiled(any_whitespace=False), override_stop_tokens=EOS)
    expected = gd.GrammarMatcher(
        gd.compile_json_schema(SCHEMA, gd.JsonOptions(whitespace="spaced", key_order="schema")),
        VOCAB,
        stop_token_ids=[EOS],
    )
    bitmask = new_bitmask(2)
    for token_id in [*ids(b"[12, 1]"), EOS]:
        assert matcher.fill_next_token_bitmask(bitmask, 1)
        assert (bitmask[1] == mask_of(expected)).all()
        assert not matcher.accept_token(ids(b"x")[0])  # refused, and nothing changes
        assert matcher.is_completed() == expected.is_accepting()
        assert matcher.accept_token(token_id)
        assert expected.accept_token(token_id)
    assert matcher.is_terminated()
    assert not matcher.accept_token(EOS)
    with pytest.raises(RuntimeError):
        matcher.fill_next_token_bitmask(bitmask)
    matcher.rollback(2)  # across the stop token
    assert not matcher.is_completed()
    with pytest.raises(gd.MatcherError):
        matcher.rollback(50)
    assert not matcher.accept_token(VOCAB.size)
    assert not matcher.accept_token(-1)
    twin = matcher.fork()
    assert twin.accept_string("]")
    assert twin.is_completed()
    assert not matcher.is_completed()
    matcher.reset()
    assert matcher.accept_string(b"[]")
    matcher.rollback()
    assert matcher.accept_token(ids(b"[")[0])


def test_terminate_without_stop_token() -> None:
    matcher = xgr.GrammarMatcher(compiled(), terminate_without_stop_token=True)
    assert matcher.accept_string("[1]")
    assert matcher.is_terminated()
    assert not matcher.accept_token(EOS)


def test_the_compiler_remembers() -> None:
    compiler = xgr.GrammarCompiler(INFO)
    first, again = compiler.compile_json_schema(SCHEMA), compiler.compile_json_schema(SCHEMA)
    assert first.grammar._grammar is again.grammar._grammar
    assert compiler.compile_json_schema(SCHEMA, any_order=True).grammar._grammar is not first.grammar._grammar
    assert compiler.get_cache_size_bytes() > 0
    assert first.memory_size_bytes > 0
    compiler.clear_cache()
    assert compiler.get_cache_size_bytes() == 0
    forgetful = xgr.GrammarCompiler(INFO, cache_enabled=False)
    forgetful.compile_json_schema(SCHEMA)
    assert forgetful.get_cache_size_bytes() == 0


def test_kinds_and_serialisation() -> None:
    compiler = xgr.GrammarCompiler(INFO)
    for grammar, text in (
        (compiler.compile_builtin_json_grammar(), '{"a": [1, null]}'),
        (compiler.compile_regex("[0-9]{3}"), "123"),
        (compiler.compile_grammar(xgr.Grammar.from_regex("ab+")), "abbb"),
        (compiler.compile_grammar(xgr.Grammar.builtin_json_grammar()), "[]"),
        (xgr.CompiledGrammar.deserialize_json(compiled().serialize_json(), INFO), "[12,1]"),
    ):
        matcher = xgr.GrammarMatcher(grammar)
        assert matcher.accept_string(text)
        assert matcher.is_completed()
    with pytest.raises(gd.SerializationError):
        xgr.Grammar.deserialize_json("{}")


def test_what_cant_be_mapped_raises() -> None:
    compiler = xgr.GrammarCompiler(INFO)
    matcher = xgr.GrammarMatcher(compiled())
    for call in (
        lambda: compiler.compile_grammar("root ::= x"),
        lambda: compiler.compile_lark("start: x"),
        lambda: compiler.compile_structural_tag({}),
        lambda: xgr.StructuralTag(format={"type": "const_string", "value": "a"}),
        lambda: xgr.StructuralTag.from_json("{}"),
        lambda: xgr.StructuralTagItem(begin="<a>", schema={}, end="</a>"),
        lambda: xgr.Grammar.from_structural_tag({}),
        lambda: xgr.set_max_recursion_depth(5),
        lambda: compiled(indent=2),
        lambda: compiled(any_whitespace=False, separators=(";", "=")),
        lambda: compiled(max_whitespace_cnt=2),
        lambda: xgr.Grammar.from_ebnf("root ::= x"),
        xgr.Grammar.union,
        lambda: xgr.Grammar.from_json_schema({}, something_new=1),
        lambda: xgr.GrammarMatcher(compiled(), default_temperature=1.0),
        matcher.get_captures,
    ):
        with pytest.raises(NotImplementedError, match="not supported"):
            call()
    with pytest.raises(AttributeError, match="get_model_structural_tag"):
        xgr.get_model_structural_tag  # noqa: B018
    with pytest.raises(gd.UnsupportedSchema):
        compiled({"type": "array", "items": {"type": "array"}, "not": {"uniqueItems": True}})


def accepts(grammar: xgr.CompiledGrammar, value: Any) -> bool:
    matcher = xgr.GrammarMatcher(grammar)
    return matcher.accept_string(json.dumps(value)) and matcher.is_completed()


def test_strict_mode_forbids_nothing_that_the_schema_allows() -> None:
    schema = {"type": "object", "properties": {"a": {}}}
    for strict_mode in (True, False):
        assert accepts(compiled(schema, strict_mode=strict_mode), {"a": 1, "b": 2})
    assert not accepts(compiled({**schema, "additionalProperties": False}, strict_mode=False), {"b": 2})


def test_the_names_are_those_of_xgrammar() -> None:
    star = "from grammar_decode.compat.xgrammar import *; import sys; print('torch' in sys.modules, TokenizerInfo)"
    done = subprocess.run([sys.executable, "-c", star], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False <class")
    theirs = pytest.importorskip("xgrammar")
    assert set(dir(xgr)) <= set(dir(theirs))


def test_metadata_and_serialised_tokenizers_come_back() -> None:
    level = xgr.TokenizerInfo(["\u0120a", "\u010a", "<|im_end|>"], xgr.VocabType.BYTE_LEVEL, vocab_size=5)
    again = xgr.TokenizerInfo.from_vocab_and_metadata(["\u0120a", "\u010a", "<|im_end|>"], level.dump_metadata())
    stored = xgr.TokenizerInfo.deserialize_json(level.serialize_json())
    for info in (again, stored):
        assert (info.decoded_vocab, info.vocab_size, info.stop_token_ids) == ([b" a", b"\n", b"", b"", b""], 5, [2])
        assert info.vocab_type == xgr.VocabType.BYTE_LEVEL
        assert info.dump_metadata() == level.dump_metadata()
    for text, error in (
        ("{", xgr.InvalidJSONError),
        ("{}", xgr.DeserializeFormatError),
        ("[]", xgr.DeserializeFormatError),
    ):
        with pytest.raises(error):
            xgr.TokenizerInfo.deserialize_json(text)
        with pytest.raises(error):
            xgr.TokenizerInfo.from_vocab_and_metadata([b"a"], text)
        with pytest.raises(error):
            xgr.Grammar.deserialize_json(text)
    with pytest.raises(xgr.DeserializeFormatError, match="compiled for the tokenizer"):
        xgr.CompiledGrammar.deserialize_json(compiled().serialize_json(), level)


def test_jump_forward_is_the_text_that_has_to_come() -> None:
    matcher = xgr.GrammarMatcher(compiled({"const": "\u00e9t\u00e9"}, any_whitespace=False))
    assert matcher.accept_string('"')
    assert matcher.find_jump_forward_string() == '\u00e9t\u00e9"'
    assert all(map(matcher.accept_token, matcher.find_jump_forward_tokens()))
    assert matcher.is_completed()
    assert matcher.find_jump_forward_string() == ""


def test_the_processor_for_transformers_takes_compiled_grammars() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from grammar_decode.compat.xgrammar.contrib.hf import LogitsProcessor

    scores = xgr.hf.LogitsProcessor(compiled())(torch.zeros((2, 3), dtype=torch.long), torch.zeros((2, VOCAB.size)))
    allowed = ids_of(mask_of(xgr.GrammarMatcher(compiled())._matcher))
    assert [torch.isfinite(row).nonzero().flatten().tolist() for row in scores] == [allowed, allowed]
    with pytest.raises(TypeError, match="needs a CompiledGrammar"):
        LogitsProcessor("{}")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is empty"):
        LogitsProcessor([])


def test_batches() -> None:
    matchers = [xgr.GrammarMatcher(compiled()) for _ in range(3)]
    assert xgr.BatchGrammarMatcher.batch_accept_string(matchers, ["[", "[1", b"x"]) == [True, True, False]
    bitmask = new_bitmask(4)
    xgr.BatchGrammarMatcher().batch_fill_next_token_bitmask(matchers, bitmask, [3, 1, 0])
    for row, matcher in zip((3, 1, 0), matchers, strict=True):
        assert (bitmask[row] == mask_of(matcher._matcher)).all()
    assert xgr.BatchGrammarMatcher.batch_accept_token(matchers[:2], [*ids(b"]]")]) == [True, True]
    xgr.BatchGrammarMatcher.batch_rollback(matchers[:2], [2, 1])
    assert not matchers[0].is_completed()
    assert xgr.BatchGrammarMatcher.batch_accept_token(matchers[:2], [ids(b"[")[0], EOS]) == [True, False]


@pytest.mark.parametrize("seed", range(8))
def test_a_tree_of_drafts(seed: int) -> None:
    rng = random.Random(seed)
    matcher = xgr.GrammarMatcher(compiled())
    assert matcher.accept_string("[")
    size = 12
    parents = [-1, *(rng.randrange(node) for node in range(1, size))]
    drafts = [0, *rng.choices([*ids(b"12],x"), VOCAB.token_bytes.index(b"12"), EOS, VOCAB.size + 3], k=size - 1)]
    child, sibling = np.full(size, -1), np.full(size, -1)
    for node in reversed(range(1, size)):
        sibling[node], child[parents[node]] = child[parents[node]], node
    bitmask = new_bitmask(size)
    assert matcher.traverse_draft_tree(child, sibling, np.array(drafts), bitmask)
    for node in range(size):
        path: list[int] = []
        at = node
        while at:
            path.insert(0, drafts[at])
            at = parents[at]
        behind = matcher.fork()
        if all(map(behind.accept_token, path)) and not behind.is_terminated():
            assert (bitmask[node] == mask_of(behind._matcher)).all()
        else:
            assert (bitmask[node] == -1).all()


def test_logits_and_tensors() -> None:
    torch = pytest.importorskip("torch")
    bitmask = xgr.allocate_token_bitmask(2, INFO.vocab_size)
    assert bitmask.dtype == xgr.bitmask_dtype == torch.int32
    matcher = xgr.GrammarMatcher(compiled())
    matcher.fill_next_token_bitmask(bitmask, 1)
    logits = torch.zeros((2, INFO.vocab_size + 40))
    xgr.apply_token_bitmask_inplace(logits, bitmask, indices=[1], backend="cpu")
    assert torch.isfinite(logits[1]).nonzero().flatten().tolist() == ids_of(mask_of(matcher._matcher))
    assert (logits[0] == 0).all()
    xgr.reset_token_bitmask(bitmask)
    assert (bitmask == -1).all()


@pytest.mark.filterwarnings("default")
def test_a_whole_client_with_the_import_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM's own backend for XGrammar, compiling, validating and in its loop of speculative decoding."""
    backend_xgrammar = pytest.importorskip("vllm.v1.structured_output.backend_xgrammar")
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions

    monkeypatch.setattr(backend_xgrammar, "xgr", xgr)
    monkeypatch.setattr(xgr.TokenizerInfo, "from_huggingface", lambda _tokenizer, **_options: INFO)
    config = SimpleNamespace(
        structured_outputs_config=SimpleNamespace(disable_any_whitespace=False),
        model_config=SimpleNamespace(hf_config=SimpleNamespace(model_type="llama")),
        speculative_config=SimpleNamespace(num_speculative_tokens=3),
    )
    backend = backend_xgrammar.XgrammarBackend(config, tokenizer=object(), vocab_size=VOCAB.size)
    grammar = backend.compile_grammar(StructuredOutputOptions.JSON, json.dumps(SCHEMA), stop_token_ids={EOS})
    bitmask = backend.allocate_token_bitmask(5)
    assert grammar.accept_tokens("r", ids(b"[1"))
    drafts = grammar.validate_tokens([*ids(b",1]"), EOS, EOS])
    assert drafts == [*ids(b",1]"), EOS]
    for row, draft in enumerate(drafts):
        grammar.fill_bitmask(bitmask, row)
        assert grammar.accept_tokens("r", [draft])
    assert grammar.is_terminated()
    grammar.rollback(len(drafts))
    assert not grammar.is_terminated()
    assert grammar.accept_tokens("r", drafts)
    assert grammar.is_terminated()

    def validate(**wanted: Any) -> None:
        params = SamplingParams(structured_outputs=StructuredOutputsParams(**wanted))
        backend_xgrammar.validate_xgrammar_grammar(params)

    validate(json=SCHEMA)
    validate(regex="[a-z]+")
    for wanted in ({"json": {"type": "foo"}}, {"regex": r"(a)\1"}, {"choice": ["a", "b"]}):
        with pytest.raises(VLLMValidationError):
            validate(**wanted)
    backend.destroy()
