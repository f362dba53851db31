"""`grammar-decode mask`: which tokens of a vocabulary may come next after a prefix?"""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from grammar_decode.cli.common import (
    EscapesOption,
    FormatsOption,
    JsonOption,
    KeyOrderOption,
    NumbersOption,
    OpenapiOption,
    SchemaArgument,
    WhitespaceOption,
    compiled,
    excerpt,
    fail,
    feed,
    guarded,
    json_options,
    print_json,
    progress,
    read_schema,
    stdout,
)

if TYPE_CHECKING:
    from grammar_decode import Vocabulary


_MAX_RANK = 10_000_000


@guarded
def mask_command(
    schema: SchemaArgument,
    vocab: Annotated[
        Path, typer.Option(metavar="FILE", help="The vocabulary: a tokenizer.json, .gguf or .tiktoken file.")
    ],
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="What has been written so far.")] = "",
    sample: Annotated[int, typer.Option(min=0, help="How many of the legal tokens to show, spread over all ids.")] = 20,
    key_order: KeyOrderOption = "any",
    whitespace: WhitespaceOption = "flexible",
    escapes: EscapesOption = "relaxed",
    numbers: NumbersOption = "canonical",
    formats: FormatsOption = "assert",
    openapi: OpenapiOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show how many tokens of a vocabulary are legal after a prefix, and some of them."""
    from grammar_decode import GrammarMatcher, allocate_token_bitmask

    options = json_options(
        key_order=key_order, whitespace=whitespace, escapes=escapes, numbers=numbers, formats=formats, openapi=openapi
    )
    grammar = compiled(read_schema(schema), options)
    vocabulary = _read_vocabulary(vocab)
    matcher = GrammarMatcher(grammar, vocabulary)
    written = prefix.encode()
    offset = feed(matcher, written)
    if offset < len(written):
        _, _, around, caret = excerpt(written, offset)
        fail(
            f"the prefix leaves the language at byte {offset:,}:\n  {around}\n  {caret}\n"
            f"expected here: {matcher.describe_expected()}"
        )
    bitmask = allocate_token_bitmask(1, vocabulary.size)
    started = perf_counter()
    matcher.fill_next_token_bitmask(bitmask, 0)
    seconds = perf_counter() - started
    bits = np.unpackbits(bitmask[0].astype("<i4").view(np.uint8), bitorder="little")[: vocabulary.size]
    legal = [int(token_id) for token_id in np.flatnonzero(bits)]
    stop = [token_id for token_id in legal if token_id in vocabulary.stop_token_ids]
    shown = _spread([token_id for token_id in legal if token_id not in stop], sample)
    if as_json:
        print_json(
            {
                "vocabulary_size": vocabulary.size,
                "num_legal": len(legal),
                "stop_token_ids": stop,
                "sample": [_as_json(token_id, vocabulary.token_bytes[token_id]) for token_id in shown],
                "mask_seconds": seconds,
            }
        )
        return
    count = f"{len(legal):,} of {vocabulary.size:,} tokens are legal next"
    ending = ", the stop token among them: the document may end here" if stop else ""
    stdout.print(
        Text.assemble((count, "bold"), ending, f" ({seconds * 1e6:,.0f} µs for this first mask)"), soft_wrap=True
    )
    if shown:
        table = Table("id", "token", box=None, pad_edge=False, header_style="bold")
        for token_id in shown:
            table.add_row(str(token_id), Text(_spelled(vocabulary.token_bytes[token_id] or b"")))
        stdout.print(table)


def _read_vocabulary(path: Path) -> Vocabulary:
    from grammar_decode import Vocabulary
    from grammar_decode.models.smollm2 import cache_folder

    if not path.is_file():
        fail(f"{path}: no such file")
    readers: dict[str, Callable[[Path], Vocabulary]] = {
        ".json": lambda path: Vocabulary.from_tokenizer_json(path, cache_folder=cache_folder() / "vocabularies"),
        ".gguf": Vocabulary.from_gguf,
        ".tiktoken": _read_tiktoken,
    }
    reader = readers.get(path.suffix)
    if reader is None:
        fail(f"{path}: a vocabulary is read from a tokenizer.json, .gguf or .tiktoken file")
    with progress() as report:
        report("Reading the vocabulary", None)
        return reader(path)


def _read_tiktoken(path: Path) -> Vocabulary:
    """A rank file, `base64 rank` lines. It names no special tokens: the id after the last rank stands for the stop."""
    from grammar_decode import Vocabulary

    tokens: list[bytes | None] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            word, rank = line.split()
            token, token_id = base64.b64decode(word, validate=True), int(rank)
        except ValueError:
            fail(f"{path}: line {number} is not a base64 word and a rank")
        if not 0 <= token_id < _MAX_RANK:
            fail(f"{path}: line {number} has the rank {token_id}, which can't be")
        tokens.extend([None] * (token_id + 1 - len(tokens)))
        tokens[token_id] = token
    return Vocabulary([*tokens, None], stop_token_ids=[len(tokens)])


def _spread(ids: list[int], count: int) -> list[int]:
    """`count` of `ids`, at even distances, the first among them."""
    if len(ids) <= count:
        return ids
    return [ids[number * len(ids) // count] for number in range(count)]


def _spelled(token: bytes) -> str:
    """A token in quotes: as text if it is UTF-8, else as bytes."""
    try:
        return repr(token.decode())
    except UnicodeDecodeError:
        return repr(token)


def _as_json(token_id: int, token: bytes | None) -> dict[str, Any]:
    token = token or b""
    try:
        return {"id": token_id, "text": token.decode()}
    except UnicodeDecodeError:
        return {"id": token_id, "bytes": token.hex()}
