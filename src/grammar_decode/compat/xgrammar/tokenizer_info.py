"""`TokenizerInfo`: a vocabulary by XGrammar's name."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from enum import Enum
from typing import Any

from grammar_decode import Vocabulary
from grammar_decode.compat.xgrammar.exception import DeserializeFormatError, InvalidJSONError
from grammar_decode.vocabulary.byte_rules import END_NAMES, byte_level_bytes, metaspace_bytes

_PIECES_LOOKED_AT = 1000


class VocabType(Enum):
    """How the pieces of a vocabulary stand for bytes."""

    RAW = 0
    BYTE_FALLBACK = 1
    BYTE_LEVEL = 2


class TokenizerInfo:
    """A vocabulary, with the model's padded size. Immutable."""

    def __init__(
        self,
        encoded_vocab: Sequence[bytes] | Sequence[str],
        vocab_type: VocabType = VocabType.RAW,
        *,
        vocab_size: int | None = None,
        stop_token_ids: Sequence[int] | int | None = None,
        add_prefix_space: bool = False,
    ) -> None:
        """Without ``stop_token_ids``, pieces with a well-known name (``</s>``, ``<|im_end|>``) end a text."""
        size = len(encoded_vocab) if vocab_size is None else vocab_size
        pieces: list[str | bytes] = [*encoded_vocab][:size]
        tokens = [_decoded(piece, vocab_type) for piece in pieces]
        if stop_token_ids is None:
            ends = {name.encode() for name in END_NAMES}
            stop_token_ids = [i for i, piece in enumerate(pieces) if _as_bytes(piece) in ends]
        stops = [stop_token_ids] if isinstance(stop_token_ids, int) else list(stop_token_ids)
        self._set(Vocabulary(tokens, stop_token_ids=stops, size=size), vocab_type, add_prefix_space)

    def _set(self, vocabulary: Vocabulary, vocab_type: VocabType, add_prefix_space: bool) -> None:
        self.vocabulary = vocabulary
        self.vocab_type = vocab_type
        self.add_prefix_space = add_prefix_space

    @classmethod
    def from_huggingface(
        cls, tokenizer: Any, *, vocab_size: int | None = None, stop_token_ids: Sequence[int] | int | None = None
    ) -> TokenizerInfo:
        """From a tokenizer of transformers, or any other that ``Vocabulary.from_tokenizer`` reads."""
        table = Vocabulary.from_tokenizer(tokenizer)
        size = table.size if vocab_size is None else vocab_size
        if stop_token_ids is None:
            stop_token_ids = [i for i in table.stop_token_ids if i < size]
        stops = [stop_token_ids] if isinstance(stop_token_ids, int) else list(stop_token_ids)
        vocabulary = Vocabulary(table.token_bytes[:size], stop_token_ids=stops, size=size)
        return cls._of(vocabulary, _type_of(tokenizer, vocabulary), _adds_prefix_space(tokenizer))

    @classmethod
    def _of(cls, vocabulary: Vocabulary, vocab_type: VocabType, add_prefix_space: bool) -> TokenizerInfo:
        info = object.__new__(cls)
        info._set(vocabulary, vocab_type, add_prefix_space)
        return info

    @property
    def vocab_size(self) -> int:
        return self.vocabulary.size

    @property
    def decoded_vocab(self) -> list[bytes]:
        """The bytes of each id; none for special tokens and padding."""
        tokens = [token or b"" for token in self.vocabulary.token_bytes]
        return tokens + [b""] * (self.vocab_size - len(tokens))

    @property
    def stop_token_ids(self) -> list[int]:
        return list(self.vocabulary.stop_token_ids)

    @property
    def special_token_ids(self) -> list[int]:
        """The ids that are no text, stop tokens left out."""
        stops = set(self.vocabulary.stop_token_ids)
        return [i for i, token in enumerate(self.decoded_vocab) if not token and i not in stops]

    @property
    def prepend_space_in_tokenization(self) -> bool:
        """The old name of ``add_prefix_space``."""
        return self.add_prefix_space

    def dump_metadata(self) -> str:
        """All but the pieces, as JSON; XGrammar's own :meth:`from_vocab_and_metadata` reads it too."""
        metadata = {
            "vocab_type": self.vocab_type.value,
            "vocab_size": self.vocab_size,
            "add_prefix_space": self.add_prefix_space,
            "stop_token_ids": self.stop_token_ids,
        }
        return json.dumps(metadata, separators=(",", ":"))

    @classmethod
    def from_vocab_and_metadata(cls, encoded_vocab: Sequence[bytes | str], metadata: str) -> TokenizerInfo:
        """From the pieces and what :meth:`dump_metadata` gave."""
        given = read_json(metadata)
        try:
            vocab_type, add_prefix_space = VocabType(given["vocab_type"]), bool(given["add_prefix_space"])
            vocab_size, stop_token_ids = given["vocab_size"], given["stop_token_ids"]
        except (KeyError, TypeError, ValueError) as error:
            raise DeserializeFormatError(f"This is no metadata of a tokenizer: {error!r}.") from error
        pieces: Any = encoded_vocab
        return cls(
            pieces,
            vocab_type,
            vocab_size=vocab_size,
            stop_token_ids=stop_token_ids,
            add_prefix_space=add_prefix_space,
        )

    def serialize_json(self) -> str:
        """The metadata and the bytes of all tokens, as JSON of this package's own."""
        tokens = [base64.b64encode(token).decode() for token in self.decoded_vocab]
        return json.dumps({"grammar_decode_tokenizer": json.loads(self.dump_metadata()), "tokens": tokens})

    @classmethod
    def deserialize_json(cls, json_string: str) -> TokenizerInfo:
        """The inverse of :meth:`serialize_json`; XGrammar's own format can't be read. Raises SerializationError."""
        given = read_json(json_string)
        try:
            metadata, tokens = given["grammar_decode_tokenizer"], list(map(base64.b64decode, given["tokens"]))
            vocabulary = Vocabulary(tokens, stop_token_ids=metadata["stop_token_ids"], size=metadata["vocab_size"])
            return cls._of(vocabulary, VocabType(metadata["vocab_type"]), bool(metadata["add_prefix_space"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DeserializeFormatError(
                f"This was not written by TokenizerInfo.serialize_json of grammar_decode.compat.xgrammar: {error!r}."
            ) from error


def _decoded(piece: str | bytes, vocab_type: VocabType) -> bytes | None:
    if vocab_type == VocabType.RAW:
        return _as_bytes(piece) or None
    text = piece.decode() if isinstance(piece, bytes) else piece
    return (byte_level_bytes(text) if vocab_type == VocabType.BYTE_LEVEL else metaspace_bytes(text)) or None


def _as_bytes(piece: str | bytes) -> bytes:
    return piece.encode() if isinstance(piece, str) else piece


def _type_of(tokenizer: Any, vocabulary: Vocabulary) -> VocabType:
    """The type by which most of some pieces have the bytes that the tokenizer means by them."""
    get_vocab = getattr(tokenizer, "get_vocab", None)
    if get_vocab is None:
        return VocabType.RAW
    known = vocabulary.token_bytes
    pieces = [(piece, known[i]) for piece, i in get_vocab().items() if i < len(known) and known[i] is not None]
    pieces = pieces[:: len(pieces) // _PIECES_LOOKED_AT + 1]
    kinds = (VocabType.BYTE_LEVEL, VocabType.BYTE_FALLBACK, VocabType.RAW)
    return max(kinds, key=lambda kind: sum(_decoded(piece, kind) == token for piece, token in pieces))


def _adds_prefix_space(tokenizer: Any) -> bool:
    if not hasattr(tokenizer, "convert_ids_to_tokens"):
        return False
    pieces = tokenizer.convert_ids_to_tokens(tokenizer.encode("a", add_special_tokens=False))
    return bool(pieces) and pieces[0].startswith(("\u2581", "\u0120"))


def read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidJSONError(f"This is no JSON: {error}.") from error
