"""How the text of a vocabulary entry stands for bytes, and which entries are text at all.

Three spellings are in use:

- *byte level* (GPT-2 and most BPE): each byte is one printable character of a fixed alphabet of 256;
- *metaspace* (sentencepiece): the text itself, with U+2581 for the space, and with byte fallback ``<0xNN>`` for a byte;
- *raw* (tiktoken, tekken): the bytes themselves; nothing to do.

A token is not always valid UTF-8 by itself, so nothing here ever decodes bytes to text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

METASPACE = "\u2581"
_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_PADDING_PIECE = re.compile(r"\[PAD[0-9]*\]")

#: Special tokens that end a text or a turn. Used only where a tokenizer does not say itself what ends a text.
END_NAMES = frozenset(
    {
        "<eos>",
        "</s>",
        "<EOT>",
        "_<EOT>",
        "[EOT]",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|im_end|>",
        "<|end|>",
        "<|return|>",
        "<|call|>",
        "<|flush|>",
        "<|calls|>",
        "<end_of_turn>",
        "<turn|>",
        "<|endoftext|>",
        "<|end_of_text|>",
        "<end_of_utterance>",
        "<｜end▁of▁sentence｜>",
    }
)


@dataclass(frozen=True)
class TokenTable:
    """What a reader found: bytes by id (None: no text), the stop tokens, and the number of ids."""

    token_bytes: list[bytes | None]
    stop_token_ids: list[int]

    @property
    def size(self) -> int:
        return max(len(self.token_bytes), 1 + max(self.stop_token_ids, default=-1))


def _byte_level_alphabet() -> dict[str, int]:
    """GPT-2's alphabet: printable bytes stand for themselves, the other 68 are U+0100, U+0101, ... in order."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


BYTE_LEVEL_ALPHABET = _byte_level_alphabet()


def byte_level_bytes(piece: str) -> bytes:
    """The bytes of a byte-level piece; a piece with a character outside the alphabet is literal UTF-8."""
    try:
        return bytes([BYTE_LEVEL_ALPHABET[character] for character in piece])
    except KeyError:
        return piece.encode()


def metaspace_bytes(piece: str, *, byte_fallback: bool = True) -> bytes:
    """The bytes of a sentencepiece piece: ``<0xNN>`` is a byte, U+2581 is a space, the rest is UTF-8."""
    if byte_fallback and (match := _BYTE_PIECE.fullmatch(piece)):
        return bytes([int(match[1], 16)])
    return piece.replace(METASPACE, " ").encode()


def added_token_is_text(content: str, *, added_tokens_as_text: bool) -> bool:
    """Whether an added token that is not flagged as special may stand for its text.

    ``<think>`` and ``<tool_call>`` are not flagged, but mean something to the model, so by default only runs of
    white space are text (Gemma keeps its indentation there). Padding names (``[PAD151646]``) never are.
    """
    if content.replace(METASPACE, " ").isspace():
        return True
    return added_tokens_as_text and not _PADDING_PIECE.fullmatch(content)
