"""`Vocabulary`: what the grammar needs to know of a tokenizer.

The bytes of each token, which tokens end a text, and how wide the model's logits are. Nothing else: no merges, no
normalisation; a mask is about bytes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import operator
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from grammar_decode import _core
from grammar_decode.errors import SerializationError, VocabularyError
from grammar_decode.locks import give_lock
from grammar_decode.vocabulary import saved
from grammar_decode.vocabulary.byte_rules import TokenTable
from grammar_decode.vocabulary.gguf import read_gguf
from grammar_decode.vocabulary.tokenizer_json import bytes_of, load_tokenizer_json, read_tokenizer_json
from grammar_decode.vocabulary.tokenizers import read_tokenizer

_MAX_SIZE = 2**31 - 1  # token ids are int32 everywhere
_MAX_TOKEN_BYTES = 2**16 - 1  # a depth of the kernel's trie


_MAX_OTHERS = 4  # sets of stop tokens with text that are indexed at the same time


class Vocabulary:
    """The tokens of a model, by id. Immutable, so any number of threads may share one; build it once per
    model, which takes about a tenth of a second. Two with the same content are equal.

    ``token_bytes[id]`` is what the token stands for; None, or no bytes, means that the token is not text (special,
    unused), and such a token is never allowed. Several ids may have the same bytes. ``stop_token_ids`` end the text:
    they are allowed exactly where the document is complete, and their bytes are never text.
    ``size`` is the width of the model's logits where that is more than ``len(token_bytes)``: the ids in between are
    padding, and never allowed. Raises :class:`VocabularyError`.

        >>> vocab = Vocabulary([b"{", b"}", b'"', None], stop_token_ids=[3])
        >>> vocab.size, vocab.num_tokens
        (4, 3)
    """

    def __init__(
        self, token_bytes: Sequence[bytes | None], *, stop_token_ids: Iterable[int], size: int | None = None
    ) -> None:
        table = _checked_tokens(token_bytes)
        self._size = _checked_size(size, len(table))
        self._stop_token_ids = _checked_stop_tokens(stop_token_ids, self._size)
        for token_id in self._stop_token_ids:
            if token_id < len(table):
                table[token_id] = None
        self._token_bytes = tuple(table)
        self._num_tokens = len(table) - table.count(None)
        if self._num_tokens == 0:
            raise VocabularyError(
                f"None of the {len(table)} tokens has bytes, so nothing could be written with this vocabulary. "
                "Pass the bytes of each token that is text; None is for special tokens."
            )
        self._content_hash: str | None = None
        # The kernel's index of the tokens: here, and not at the first matcher, so that no request waits for it.
        self._core_vocabulary = _core.Vocabulary(table, list(self._stop_token_ids), self._size)
        self._others: dict[frozenset[int], _core.Vocabulary] = {}  # see _core_vocabulary_for
        self._lock: threading.Lock
        give_lock(self)

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: Any,
        *,
        stop_token_ids: Iterable[int] | None = None,
        size: int | None = None,
        added_tokens_as_text: bool = False,
    ) -> Vocabulary:
        """From transformers, tokenizers, tiktoken, mistral_common, sentencepiece, or a ``llama_cpp.Llama``.

        ``stop_token_ids``: by default what the tokenizer says (``eos_token_id``; llama.cpp's end-of-generation list);
        where it says nothing, its special tokens with a well-known name (``<|im_end|>``, ``<|eot_id|>``, ...). The
        generation config of a model may name more: pass them then.
        ``size``: the model's ``config.vocab_size``, if larger.
        ``added_tokens_as_text``: added tokens that are not flagged special (``<think>``) are forbidden unless this is
        set; white space is always text. Cost: tens of milliseconds to a second.
        """
        return cls._from_table(
            read_tokenizer(tokenizer, added_tokens_as_text=added_tokens_as_text), stop_token_ids, size
        )

    @classmethod
    def from_tokenizer_json(
        cls,
        source: str | bytes | os.PathLike[str] | Mapping[str, Any],
        *,
        stop_token_ids: Iterable[int] | None = None,
        size: int | None = None,
        added_tokens_as_text: bool = False,
        cache_folder: str | os.PathLike[str] | None = None,
    ) -> Vocabulary:
        """From a ``tokenizer.json``: its path (``.gz`` as well), its text, or the parsed object.

        The file does not say which token ends a text, so by default its special tokens with a well-known name do.
        Needs no other package. ``cache_folder``: keep what was read there, by content, for the next process, which then
        takes a third of the time or less; processes may share it, and damaged files are read anew.
        """
        if cache_folder is None or isinstance(source, Mapping):
            table = read_tokenizer_json(load_tokenizer_json(source), added_tokens_as_text=added_tokens_as_text)
            return cls._from_table(table, stop_token_ids, size)
        data = bytes_of(source)
        stops: Any = list(stop_token_ids) if isinstance(stop_token_ids, Iterable) else stop_token_ids
        path = saved.path_of(cache_folder, data, stops, size, added_tokens_as_text)
        with contextlib.suppress(OSError, SerializationError):  # nothing is there, or nothing that can be used
            return cls.from_bytes(path.read_bytes())
        vocabulary = cls.from_tokenizer_json(
            data, stop_token_ids=stops, size=size, added_tokens_as_text=added_tokens_as_text
        )
        saved.store(path, vocabulary.to_bytes())
        return vocabulary

    @classmethod
    def from_gguf(
        cls,
        path: str | os.PathLike[str],
        *,
        stop_token_ids: Iterable[int] | None = None,
        size: int | None = None,
        added_tokens_as_text: bool = False,
    ) -> Vocabulary:
        """From a GGUF file. Needs no other package, and reads only the header.

        By default every token that llama.cpp counts as end of generation is a stop token.
        """
        return cls._from_table(read_gguf(path, added_tokens_as_text=added_tokens_as_text), stop_token_ids, size)

    @classmethod
    def _from_table(cls, table: TokenTable, stop_token_ids: Iterable[int] | None, size: int | None) -> Vocabulary:
        stops = table.stop_token_ids if stop_token_ids is None else stop_token_ids
        return cls(table.token_bytes, stop_token_ids=stops, size=table.size if size is None else size)

    @property
    def size(self) -> int:
        """The width of the logits, and of a bitmask: ids run from 0 to size - 1."""
        return self._size

    @property
    def token_bytes(self) -> tuple[bytes | None, ...]:
        """The bytes by token id, None for ids that are not text; ids past the end have none either."""
        return self._token_bytes

    @property
    def stop_token_ids(self) -> tuple[int, ...]:
        """The tokens that end a text, in order, without duplicates; at least one."""
        return self._stop_token_ids

    @property
    def num_tokens(self) -> int:
        """How many ids are text."""
        return self._num_tokens

    @functools.cached_property
    def longest_token(self) -> int:
        """How many bytes the longest token has."""
        return max(len(token) for token in self._token_bytes if token is not None)

    @functools.cached_property
    def needed_width(self) -> int:
        """How many logits a model must give so that every text and every stop token can be drawn."""
        last = next((i for i in reversed(range(len(self._token_bytes))) if self._token_bytes[i] is not None), 0)
        return 1 + max(last, self._stop_token_ids[-1])

    @property
    def content_hash(self) -> str:
        """SHA-256 (hex) of all of the above: equal for two vocabularies exactly if they are interchangeable."""
        if self._content_hash is None:
            digest = hashlib.sha256(b"grammar-decode vocabulary 1\0")
            digest.update(saved.packed(self._token_bytes, self._stop_token_ids, self._size))
            self._content_hash = digest.hexdigest()
        return self._content_hash

    def to_bytes(self) -> bytes:
        """All of the above, with the version of the format and a checksum."""
        return saved.to_bytes(self._token_bytes, self._stop_token_ids, self._size)

    @classmethod
    def from_bytes(cls, data: bytes) -> Vocabulary:
        """The inverse of :meth:`to_bytes`. Raises :class:`SerializationError` on damaged data or another version."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"a vocabulary is read from bytes, not {type(data).__name__}")
        token_bytes, stop_token_ids, size = saved.from_bytes(bytes(data))
        try:
            return cls(token_bytes, stop_token_ids=stop_token_ids, size=size)
        except VocabularyError as error:
            raise SerializationError(f"The vocabulary contradicts itself: {error}") from error

    def _core_vocabulary_for(self, stop_token_ids: Sequence[int]) -> _core.Vocabulary:
        """The index for sequences that end with other stop tokens than the vocabulary's own.

        A stop token is never text, so where one of them has text, the tokens that can finish a document are fewer, and
        the index is another one (the last few are kept).
        """
        text = [i for i in stop_token_ids if 0 <= i < len(self._token_bytes) and self._token_bytes[i]]
        if not text:
            return self._core_vocabulary
        key = frozenset(text)
        with self._lock:
            if key not in self._others:
                tokens = list(self._token_bytes)
                for token_id in key:
                    tokens[token_id] = None
                if len(self._others) == _MAX_OTHERS:
                    self._others.pop(next(iter(self._others)))
                self._others[key] = _core.Vocabulary(tokens, list(self._stop_token_ids), self._size)
            return self._others[key]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self is other or self._content() == other._content()

    def __hash__(self) -> int:
        return hash((self._size, self._stop_token_ids, self._num_tokens))

    def _content(self) -> tuple[Any, ...]:
        return self._size, self._stop_token_ids, self._token_bytes

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._token_bytes, self._stop_token_ids, self._size)

    def __repr__(self) -> str:
        return f"<Vocabulary of {self._num_tokens} tokens, size {self._size}, stop tokens {list(self._stop_token_ids)}>"


def _rebuild(token_bytes: Sequence[bytes | None], stop_token_ids: Sequence[int], size: int) -> Vocabulary:
    return Vocabulary(token_bytes, stop_token_ids=stop_token_ids, size=size)


def _checked_tokens(token_bytes: Any) -> list[bytes | None]:
    if isinstance(token_bytes, (str, bytes, Mapping)):
        raise VocabularyError(
            f"token_bytes is a {type(token_bytes).__name__}, but must be a list: the bytes of token 0, of token 1, ..."
        )
    try:
        table = list(token_bytes)
    except TypeError:
        raise VocabularyError(
            f"token_bytes is {token_bytes!r:.60}, but must be a list: the bytes of token 0, of token 1, ..."
        ) from None
    if not table:
        raise VocabularyError("The vocabulary is empty. Pass the bytes of each token, in the order of the ids.")
    if not set(map(type, table)) <= {bytes, type(None)}:
        for token_id, token in enumerate(table):
            if token is not None and not isinstance(token, bytes):
                hint = " Encode text to the bytes that the tokenizer means by it." if isinstance(token, str) else ""
                raise VocabularyError(
                    f"Token {token_id} is a {type(token).__name__} ({token!r:.60}), but must be bytes, or None if it "
                    f"is not text.{hint}"
                )
    if max(map(len, filter(None, table)), default=0) > _MAX_TOKEN_BYTES:
        too_long = next(i for i, token in enumerate(table) if token and len(token) > _MAX_TOKEN_BYTES)
        raise VocabularyError(
            f"Token {too_long} has {len(table[too_long])} bytes; at most {_MAX_TOKEN_BYTES} are supported. "
            "Pass None for it: it will never be allowed."
        )
    return [token or None for token in table]


def _checked_size(size: int | None, num_ids: int) -> int:
    if size is None:
        return num_ids
    try:
        size = operator.index(size)
    except TypeError:
        raise VocabularyError(f"size is {size!r}, but must be a whole number: the width of the logits.") from None
    if not num_ids <= size <= _MAX_SIZE:
        raise VocabularyError(
            f"size is {size}, but the vocabulary has {num_ids} ids. "
            "Pass the width of the model's logits, or leave size out to take the number of ids."
        )
    return size


def _checked_stop_tokens(stop_token_ids: Any, size: int) -> tuple[int, ...]:
    if isinstance(stop_token_ids, int):
        raise VocabularyError(f"stop_token_ids is the number {stop_token_ids}; pass a list: [{stop_token_ids}].")
    stops = set()
    if not isinstance(stop_token_ids, Iterable):
        raise VocabularyError(f"stop_token_ids is {stop_token_ids!r:.60}, but must be a list of token ids.")
    for token_id in stop_token_ids:
        try:
            stops.add(operator.index(token_id))
        except TypeError:
            raise VocabularyError(
                f"The stop token {token_id!r} is a {type(token_id).__name__}, but must be a token id."
            ) from None
    if not stops:
        raise VocabularyError(
            "There is no stop token, so a finished document could not end. Pass stop_token_ids=[...]: "
            "the end-of-text ids of the model (eos_token_id in its generation config)."
        )
    if outside := [token_id for token_id in sorted(stops) if not 0 <= token_id < size]:
        raise VocabularyError(
            f"The stop token {outside[0]} is out of range: ids run from 0 to {size - 1}. "
            "If the model's logits are wider than the tokenizer, pass their width as size."
        )
    return tuple(sorted(stops))
