"""ONNX Runtime GenAI: its loop of `get_logits`, `set_logits` and `generate_next_token`, with a grammar.

    vocabulary = vocabulary_of("path/of/the/model")
    generator = og.Generator(model, params)
    generator.append_tokens(prompt_ids)
    for tokens in generate(generator, [GrammarMatcher(grammar, vocabulary)]):
        ...

Contract: onnxruntime-genai 0.18. Logits are (rows, 1, width) in float32, a copy that is handed back whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from grammar_decode import (
    GenerationError,
    GrammarMatcher,
    Vocabulary,
    VocabularyError,
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    fill_next_token_bitmasks,
)


def vocabulary_of(folder: str | os.PathLike[str]) -> Vocabulary:
    """The vocabulary of a model folder: `tokenizer.json`, with the width and the end tokens of `genai_config.json`."""
    try:
        config = json.loads(Path(folder, "genai_config.json").read_text(encoding="utf-8"))["model"]
        ends, size = config["eos_token_id"], int(config["vocab_size"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise VocabularyError(f"{os.fspath(folder)} is not a model folder of ONNX Runtime GenAI: {error!r}.") from error
    stops = ends if isinstance(ends, list) else [ends]
    table = Vocabulary.from_tokenizer_json(Path(folder, "tokenizer.json"), stop_token_ids=stops)
    return Vocabulary(table.token_bytes[:size], stop_token_ids=stops, size=size)


def generate(generator: Any, matchers: Sequence[GrammarMatcher | None]) -> Iterator[list[int]]:
    """Draw tokens until every row has ended; yield those of one step, one for each row.

    ``generator``: an ``og.Generator`` behind its prompt. ``matchers``: one for each row of its batch, None for a row
    that is not constrained; a row whose matcher has terminated is left to the generator's padding. It ends, too, when
    the generator is done, at ``max_length``: give the matchers ``max_tokens=max_length - prompt_length``, and every
    document is finished by then. Raises GenerationError if a token
    comes that was masked (another constraint is at work, such as ``set_guidance``).
    """
    bitmask = None
    while not generator.is_done():
        rows = [row for row, matcher in enumerate(matchers) if matcher is not None and not matcher.is_terminated()]
        if rows:
            logits = generator.get_logits()
            live = [matcher for matcher in matchers if matcher is not None and not matcher.is_terminated()]
            if bitmask is None:
                bitmask = allocate_token_bitmask(len(matchers), live[0].vocabulary.size)
            fill_next_token_bitmasks(live, bitmask, rows)
            apply_token_bitmask_inplace(logits.reshape(len(matchers), -1), bitmask, indices=rows)
            generator.set_logits(logits)
        generator.generate_next_token()
        tokens = [int(token_id) for token_id in generator.get_next_tokens()]
        for row, matcher in enumerate(matchers):
            if matcher is not None and not matcher.is_terminated() and not matcher.accept_token(tokens[row]):
                raise GenerationError(f"token {tokens[row]} of row {row} was masked, and was drawn all the same")
        yield tokens
        if matchers and all(matcher is not None and matcher.is_terminated() for matcher in matchers):
            return
