"""Reads the vocabulary of a tokenizer object of another package. None of these packages is imported here.

An object is recognised by the module that its class, or a base of it, comes from; then its own methods are asked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from grammar_decode.errors import VocabularyError
from grammar_decode.vocabulary.byte_rules import END_NAMES, TokenTable, metaspace_bytes
from grammar_decode.vocabulary.gguf import read_gguf
from grammar_decode.vocabulary.tokenizer_json import load_tokenizer_json, read_tokenizer_json


def read_tokenizer(tokenizer: Any, *, added_tokens_as_text: bool = False) -> TokenTable:
    """The bytes of every id, and the stop tokens that the tokenizer knows of."""
    packages = {cls.__module__.partition(".")[0] for cls in type(tokenizer).__mro__}
    for package, read in _READERS.items():
        if package in packages:
            return read(tokenizer, added_tokens_as_text)
    if isinstance(tokenizer, str):
        raise VocabularyError(
            f"The tokenizer is the text {tokenizer!r:.60}, but must be an object: AutoTokenizer.from_pretrained(...), "
            "or so. A file is read by from_tokenizer_json or from_gguf."
        )
    raise VocabularyError(
        f"Tokenizers of type {type(tokenizer).__module__}.{type(tokenizer).__qualname__} are not known. "
        "Pass one of transformers, tokenizers, tiktoken, mistral_common, sentencepiece or llama_cpp, "
        "or the bytes of each token: Vocabulary(token_bytes, stop_token_ids=...)."
    )


def _read_transformers(tokenizer: Any, added_tokens_as_text: bool) -> TokenTable:
    stops = _id_list(getattr(tokenizer, "eos_token_id", None))
    if (backend := getattr(tokenizer, "backend_tokenizer", None)) is not None:
        table = _read_tokenizers(backend, added_tokens_as_text)
    elif (model := getattr(tokenizer, "sp_model", None)) is not None:
        table = _read_sentencepiece(model, added_tokens_as_text)
    elif (inner := getattr(tokenizer, "tokenizer", None)) is not None:  # a processor, or MistralCommonBackend
        table = read_tokenizer(inner, added_tokens_as_text=added_tokens_as_text)
    else:
        raise VocabularyError(
            f"{type(tokenizer).__name__} is a slow tokenizer, which does not tell the bytes of its tokens. "
            "Load the fast one: AutoTokenizer.from_pretrained(..., use_fast=True)."
        )
    return TokenTable(table.token_bytes, stops or table.stop_token_ids)


def _read_tokenizers(tokenizer: Any, added_tokens_as_text: bool) -> TokenTable:
    return read_tokenizer_json(load_tokenizer_json(tokenizer.to_str()), added_tokens_as_text=added_tokens_as_text)


def _read_tiktoken(encoding: Any, added_tokens_as_text: bool) -> TokenTable:
    del added_tokens_as_text  # every added token of tiktoken is special
    special = {name: encoding.encode_single_token(name) for name in encoding.special_tokens_set}
    token_bytes: list[bytes | None] = [None] * encoding.n_vocab
    for token_id in set(range(encoding.n_vocab)) - set(special.values()):
        try:
            token_bytes[token_id] = encoding.decode_single_token_bytes(token_id)
        except KeyError:  # a gap between the ranks and the special tokens
            continue
    return TokenTable(token_bytes, sorted(token_id for name, token_id in special.items() if name in END_NAMES))


def _read_mistral_common(tokenizer: Any, added_tokens_as_text: bool) -> TokenTable:
    if (instruct := getattr(tokenizer, "instruct_tokenizer", None)) is not None:
        tokenizer = instruct.tokenizer
    if not hasattr(tokenizer, "id_to_byte_piece"):  # its wrapper of sentencepiece
        return _read_sentencepiece(tokenizer._model, added_tokens_as_text)
    token_bytes = [
        None if tokenizer.is_special(token_id) else tokenizer.id_to_byte_piece(token_id)
        for token_id in range(tokenizer.n_words)
    ]
    return TokenTable(token_bytes, [tokenizer.eos_id])


def _read_sentencepiece(model: Any, added_tokens_as_text: bool) -> TokenTable:
    del added_tokens_as_text  # sentencepiece does not tell user-defined pieces from others
    token_bytes: list[bytes | None] = []
    for token_id in range(model.vocab_size()):
        if model.is_control(token_id) or model.is_unknown(token_id) or model.is_unused(token_id):
            token_bytes.append(None)
        else:
            token_bytes.append(metaspace_bytes(model.id_to_piece(token_id), byte_fallback=model.is_byte(token_id)))
    return TokenTable(token_bytes, _id_list(model.eos_id()))


def _read_llama_cpp(llama: Any, added_tokens_as_text: bool) -> TokenTable:
    """From the file that the model was loaded from; llama.cpp itself says which tokens end a generation."""
    table = read_gguf(llama.model_path, added_tokens_as_text=added_tokens_as_text)
    is_end = getattr(sys.modules["llama_cpp"], "llama_vocab_is_eog", None)
    vocab = getattr(getattr(llama, "_model", None), "vocab", None)
    if is_end is None or vocab is None:
        return table
    return TokenTable(table.token_bytes, [i for i in range(len(table.token_bytes)) if is_end(vocab, i)])


def _id_list(value: Any) -> list[int]:
    """Zero, one or several ids, as the tokenizers give them (None or a negative number: none)."""
    if value is None:
        return []
    values = value if isinstance(value, (list, tuple)) else [value]
    return sorted({int(token_id) for token_id in values if token_id >= 0})


# transformers comes first: its classes may derive from, or wrap, the others.
_READERS: dict[str, Callable[[Any, bool], TokenTable]] = {
    "transformers": _read_transformers,
    "tokenizers": _read_tokenizers,
    "tiktoken": _read_tiktoken,
    "mistral_common": _read_mistral_common,
    "sentencepiece": _read_sentencepiece,
    "llama_cpp": _read_llama_cpp,
}
