"""Byte rules of the readers, on small made-up tokenizers: one rule a test."""

from __future__ import annotations

import contextlib
import gzip
import json
import struct
import sys
import types

import pytest

from grammar_decode.errors import VocabularyError
from grammar_decode.vocabulary import Vocabulary
from grammar_decode.vocabulary.byte_rules import BYTE_LEVEL_ALPHABET
from grammar_decode.vocabulary.gguf import read_gguf_metadata

BYTE_LEVEL = {"type": "ByteLevel"}
BYTE_FALLBACK = {
    "type": "Sequence",
    "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}],
}


def tokenizer_json(pieces, *, decoder, added=(), **model):
    vocab = pieces if isinstance(pieces, dict) else {piece: i for i, piece in enumerate(pieces)}
    added = [{"id": i, "content": content, "special": special} for i, content, special in added]
    return {"model": {"type": "BPE", "vocab": vocab, **model}, "decoder": decoder, "added_tokens": added}


def read(*args, **kwargs):
    return Vocabulary.from_tokenizer_json(tokenizer_json(*args, **kwargs), stop_token_ids=[99], size=100).token_bytes


def test_the_byte_level_alphabet_covers_each_byte_once():
    assert sorted(BYTE_LEVEL_ALPHABET.values()) == list(range(256))
    assert BYTE_LEVEL_ALPHABET["Ġ"] == 0x20
    assert BYTE_LEVEL_ALPHABET["Ċ"] == 0x0A


def test_byte_level_pieces_map_character_by_character():
    assert read(["Ġa", "Ã", "©Ċ"], decoder=BYTE_LEVEL) == (b" a", b"\xc3", b"\xa9\n")


def test_a_byte_level_piece_outside_the_alphabet_is_literal():
    assert read(["Ġ→"], decoder=BYTE_LEVEL) == ("Ġ→".encode(),)


def test_byte_level_in_the_pre_tokenizer_counts():
    spec = tokenizer_json(["Ġa"], decoder=None)
    spec["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "Split"}, BYTE_LEVEL]}
    assert Vocabulary.from_tokenizer_json(spec, stop_token_ids=[1], size=2).token_bytes == (b" a",)


def test_byte_fallback_pieces_are_bytes_and_metaspace_is_a_space():
    pieces = ["\u2581a", "<0x0A>", "<0xff>", "<0x0A>b", "<0xGG>", "A", "<0x41>"]
    want = (b" a", b"\n", b"\xff", b"<0x0A>b", b"<0xGG>", b"A", b"A")
    assert read(pieces, decoder=BYTE_FALLBACK) == want
    assert read(pieces, decoder=None, byte_fallback=True) == want


def test_metaspace_without_byte_fallback_leaves_byte_names_alone():
    assert read(["\u2581a", "<0x0A>"], decoder={"type": "Metaspace"}) == (b" a", b"<0x0A>")


def test_unigram_vocabularies_are_lists():
    spec = tokenizer_json([], decoder={"type": "Metaspace"})
    spec["model"] = {"type": "Unigram", "vocab": [["\u2581a", -1.5], ["b", -2.0]]}
    assert Vocabulary.from_tokenizer_json(spec, stop_token_ids=[2], size=3).token_bytes == (b" a", b"b")


def test_special_tokens_are_never_text():
    spec = tokenizer_json(["a", "<s>"], decoder=BYTE_LEVEL, added=[(1, "<s>", True)])
    for as_text in (False, True):
        vocabulary = Vocabulary.from_tokenizer_json(spec, stop_token_ids=[2], size=3, added_tokens_as_text=as_text)
        assert vocabulary.token_bytes == (b"a", None)


def test_added_tokens_that_are_not_special_are_forbidden_unless_asked_for():
    added = [(1, "<think>", False), (2, "[PAD151646]", False)]
    spec = tokenizer_json(["a"], decoder=BYTE_LEVEL, added=added)
    assert Vocabulary.from_tokenizer_json(spec, stop_token_ids=[3], size=4).token_bytes == (b"a", None, None)
    vocabulary = Vocabulary.from_tokenizer_json(spec, stop_token_ids=[3], size=4, added_tokens_as_text=True)
    assert vocabulary.token_bytes == (b"a", b"<think>", None)


def test_added_white_space_is_text_by_the_rule_of_the_file():
    added = [(1, "\u2581\u2581", False), (2, "\n\n", False), (3, "<0x09>", False)]
    assert read(["a"], decoder=BYTE_FALLBACK, added=added) == (b"a", b"  ", b"\n\n", None)


def test_an_added_token_is_literal_in_a_byte_level_file():
    spec = tokenizer_json(["a"], decoder=BYTE_LEVEL, added=[(1, "Ġé", False)])
    vocabulary = Vocabulary.from_tokenizer_json(spec, stop_token_ids=[2], size=3, added_tokens_as_text=True)
    assert vocabulary.token_bytes[1] == "Ġé".encode()


def test_special_tokens_with_a_well_known_name_are_the_stop_tokens():
    added = [(1, "<|im_end|>", True), (2, "</s>", False), (3, "<|endoftext|>", True), (4, "<|im_start|>", True)]
    assert Vocabulary.from_tokenizer_json(tokenizer_json(["a"], decoder=BYTE_LEVEL, added=added)).stop_token_ids == (
        1,
        3,
    )


def test_ids_between_the_known_ones_have_no_bytes():
    assert read({"a": 0, "b": 3}, decoder=BYTE_LEVEL) == (b"a", None, None, b"b")


def test_a_tokenizer_json_may_be_a_path_text_or_zipped(tmp_path):
    spec = tokenizer_json(["a"], decoder=BYTE_LEVEL, added=[(1, "<eos>", True)])
    text = json.dumps(spec)
    plain, zipped = tmp_path / "tokenizer.json", tmp_path / "tokenizer.json.gz"
    plain.write_text(text)
    zipped.write_bytes(gzip.compress(text.encode()))
    hashes = {Vocabulary.from_tokenizer_json(s).content_hash for s in (spec, text, text.encode(), plain, str(zipped))}
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("/nowhere/tokenizer.json", "can't be read"),
        ("{", "not JSON"),
        (b"[1]", "holds an object"),
        ({}, "not a tokenizer.json"),
        ({"model": {"vocab": 3}}, "no known byte rule"),
        ({"model": {"vocab": 3}, "decoder": BYTE_LEVEL}, "not a tokenizer.json"),
        ({"model": {"vocab": {}}, "decoder": BYTE_LEVEL}, "is empty"),
        ({"model": {"vocab": {"a": -1}}, "decoder": BYTE_LEVEL}, "damaged"),
        ({"model": {"vocab": {"a": 10**12}}, "decoder": BYTE_LEVEL}, "damaged"),
        ({"model": {"type": "WordPiece", "vocab": {"a": 0}}}, "WordPiece"),
        ({"model": {"vocab": {"a": 0}}, "decoder": {"type": "CTC"}}, "no known byte rule .*CTC"),
        ({"model": {"vocab": {"a": 0}}, "decoder": BYTE_LEVEL}, "no stop token"),
    ],
)
def test_a_bad_tokenizer_json_is_refused(source, message):
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_tokenizer_json(source)


def test_an_unknown_tokenizer_is_refused_by_name():
    with pytest.raises(VocabularyError, match=r"builtins\.dict are not known"):
        Vocabulary.from_tokenizer({})


def gguf_string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf_file(path, *, model="gpt2", tokens=(), types=None, version=3, **ids):
    def pair(key, kind, value):
        return gguf_string(key) + struct.pack("<I", kind) + value

    def array(kind, length, items):
        return struct.pack("<IQ", kind, length) + items

    pairs = [
        pair("general.name", 8, gguf_string("test")),
        pair("general.weight", 12, struct.pack("<d", 1.5)),
        pair("tokenizer.ggml.model", 8, gguf_string(model)),
        pair("tokenizer.ggml.tokens", 9, array(8, len(tokens), b"".join(map(gguf_string, tokens)))),
        pair("tokenizer.ggml.merges", 9, array(8, 1, gguf_string("a b"))),
    ]
    if types is not None:
        pairs.append(pair("tokenizer.ggml.token_type", 9, array(5, len(types), struct.pack(f"<{len(types)}i", *types))))
    pairs += [pair(f"tokenizer.ggml.{name}", 4, struct.pack("<I", value)) for name, value in ids.items()]
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", version, 0, len(pairs)) + b"".join(pairs) + b"tensors")
    return path


def gguf_pair(name, kind, value):
    return gguf_string(f"tokenizer.ggml.{name}") + struct.pack("<I", kind) + value


@pytest.mark.parametrize("kind", [4, 6, 7, 8, 12, "strings", "floats", "ints", "arrays"])
@pytest.mark.parametrize("name", ["model", "tokens", "token_type", "eos_token_id"])
def test_gguf_values_of_the_wrong_type_are_refused_or_mean_nothing(tmp_path, name, kind):
    values = {4: b"\1\0\0\0", 6: struct.pack("<f", 1.0), 7: b"\1", 8: gguf_string("a"), 12: struct.pack("<d", 1.0)}
    arrays = {
        "strings": struct.pack("<IQ", 8, 1) + gguf_string("a"),
        "floats": struct.pack("<IQf", 6, 1, 1.0),
        "ints": struct.pack("<IQi", 5, 1, 1),
        "arrays": struct.pack("<IQ", 9, 1) + struct.pack("<IQi", 5, 1, 1),
    }
    right = {
        "model": gguf_pair("model", 8, gguf_string("gpt2")),
        "tokens": gguf_pair("tokens", 9, struct.pack("<IQ", 8, 1) + gguf_string("a")),
    }
    right[name] = gguf_pair(name, 9 if kind in arrays else kind, arrays.get(kind) or values[kind])
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(right)) + b"".join(right.values()))
    with contextlib.suppress(VocabularyError):
        assert Vocabulary.from_gguf(path).size == 1


def test_gguf_byte_level_types_decide(tmp_path):
    tokens = ["Ġa", "<s>", "<think>", "[PAD151646]", "\n\n", "b", "é→", "unk"]
    path = gguf_file(tmp_path / "m.gguf", tokens=tokens, types=[1, 3, 4, 4, 4, 5, 1, 2], eos_token_id=1)
    vocabulary = Vocabulary.from_gguf(path)
    assert vocabulary.token_bytes == (b" a", None, None, None, b"\n\n", None, "é→".encode(), None)
    assert vocabulary.stop_token_ids == (1,)
    as_text = Vocabulary.from_gguf(path, added_tokens_as_text=True).token_bytes
    assert as_text[2:4] == (b"<think>", None)


def test_gguf_sentencepiece_bytes_come_from_the_type(tmp_path):
    tokens = ["\u2581a", "<0x0A>", "<0x0A>", "</s>"]
    path = gguf_file(tmp_path / "m.gguf", model="llama", tokens=tokens, types=[1, 6, 1, 3])
    vocabulary = Vocabulary.from_gguf(path)
    assert vocabulary.token_bytes == (b" a", b"\n", b"<0x0A>", None)
    assert vocabulary.stop_token_ids == (3,)


def test_gguf_ends_of_generation_go_by_name_even_for_ordinary_text(tmp_path):
    # llama.cpp stops at Qwen2's ordinary piece `</s>`, so it must not be text
    tokens = ["a", "</s>", "<|im_end|>", "<|file_sep|>", "<|im_start|>", "x"]
    path = gguf_file(tmp_path / "m.gguf", tokens=tokens, types=[1, 1, 3, 3, 3, 3], eot_token_id=5, eom_token_id=77)
    vocabulary = Vocabulary.from_gguf(path)
    assert vocabulary.stop_token_ids == (1, 2, 3, 5)
    assert vocabulary.token_bytes[1] is None


def test_gguf_of_gemma_4_has_the_old_end_as_text(tmp_path):
    tokens = ["a", "<eos>", "<|tool_response>", "<turn|>", "</s>"]
    path = gguf_file(tmp_path / "m.gguf", model="gemma4", tokens=tokens, types=[1, 3, 4, 3, 1])
    vocabulary = Vocabulary.from_gguf(path)
    assert vocabulary.stop_token_ids == (1, 2, 3)
    assert vocabulary.token_bytes[4] == b"</s>"


def test_gguf_of_gpt_oss_does_not_end_at_the_end_of_a_message(tmp_path):
    tokens = ["a", "<|end|>", "<|return|>", "<|call|>"]
    path = gguf_file(tmp_path / "m.gguf", tokens=tokens, types=[1, 3, 3, 3])
    assert Vocabulary.from_gguf(path).stop_token_ids == (2, 3)


@pytest.mark.parametrize("model", ["bert", "t5", "none"])
def test_gguf_vocabularies_that_lose_bytes_are_refused(tmp_path, model):
    with pytest.raises(VocabularyError, match=f"kind '{model}'"):
        Vocabulary.from_gguf(gguf_file(tmp_path / "m.gguf", model=model, tokens=["a"]))


def test_damaged_gguf_files_are_refused(tmp_path):
    whole = gguf_file(tmp_path / "m.gguf", tokens=["a", "b"], types=[1, 3], eos_token_id=1).read_bytes()
    path = tmp_path / "cut.gguf"
    for length in range(len(whole) - len(b"tensors")):
        path.write_bytes(whole[:length])
        with pytest.raises(VocabularyError):
            read_gguf_metadata(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"version": 1}, "version 1"),
        ({"tokens": []}, "no vocabulary"),
        ({"tokens": ["a"], "types": [1, 1]}, "damaged"),
        ({"tokens": ["a"]}, "no stop token"),
    ],
)
def test_gguf_files_that_can_not_work_are_refused(tmp_path, options, message):
    with pytest.raises(VocabularyError, match=message):
        Vocabulary.from_gguf(gguf_file(tmp_path / "m.gguf", **options))


def test_a_llama_says_itself_where_a_generation_ends(tmp_path, monkeypatch):
    path = gguf_file(tmp_path / "m.gguf", tokens=["a", "b", "c"], types=[1, 3, 3])
    library = types.ModuleType("llama_cpp")
    library.llama_vocab_is_eog = lambda vocab, token_id: (vocab, token_id) == ("vocab", 2)
    monkeypatch.setitem(sys.modules, "llama_cpp", library)
    llama = type("Llama", (), {"__module__": "llama_cpp.llama"})()
    llama.model_path = str(path)
    llama._model = types.SimpleNamespace(vocab="vocab")
    assert Vocabulary.from_tokenizer(llama).stop_token_ids == (2,)
