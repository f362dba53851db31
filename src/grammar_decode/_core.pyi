"""The native kernel, as the type checker sees it. Python's own classes document what is behind each name.

Names and parameters are compared with the extension itself by tests/unit/test_core_stub.py; the types are written by
hand, because they say more than what nanobind knows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

def apply_token_bitmask_inplace_f32(
    logits: Any,  # float32, with DLPack or as its capsule
    bitmask: npt.NDArray[np.int32],
    rows: npt.NDArray[np.int64] | None,
    num_bits: int,
    loops: int = 0,
) -> None:
    """Set logits[r, i] to -inf where bit i of bitmask[r] is 0, and for every i >= num_bits.

    ``loops``, for tests: the fastest (0), by bits (1), AVX2 (2), AVX-512 (3).
    """

def has_mask_loops(loops: int) -> bool:
    """Whether this processor has them."""

def apply_token_bitmask_inplace_16(
    logits: Any,  # of 16 bits, with DLPack or as its capsule
    bitmask: npt.NDArray[np.int32],
    rows: npt.NDArray[np.int64] | None,
    num_bits: int,
    bfloat16: bool,
    loops: int = 0,
) -> None:
    """The same on float16 or bfloat16, or on their bit patterns as uint16."""

class Vocabulary:
    """A vocabulary, indexed as a prefix trie. Immutable; shared between threads."""

    def __init__(self, token_bytes: Sequence[bytes | None], stop_token_ids: list[int], size: int) -> None: ...
    @property
    def size(self) -> int: ...
    def has_longer_token(self, text: bytes) -> bool:
        """Whether a token begins with the text and goes on."""

    def fewest_tokens(self, text: bytes) -> list[int] | None:
        """The fewest tokens that spell the text; None if none do."""

    def memory_bytes(self) -> int: ...
    def table_memory_bytes(self) -> int: ...
    def set_table_limit(self, bytes: int) -> None: ...  # noqa: A002
    def clear_tables(self) -> None: ...

class Grammar:
    """A grammar read from its byte format, and its engines. Thread-safe."""

    def __init__(
        self,
        data: bytes,
        max_states: int = ...,
        max_picks: int = ...,
        max_search: int = ...,
        max_threads: int = ...,
        max_document_depth: int = ...,
        max_memory_bytes: int = ...,
        max_compile_seconds: float = ...,
        max_mask_seconds: float = ...,
    ) -> None: ...
    def is_empty(self, seconds: float = ...) -> bool:
        """Whether no document is in the language. `seconds`: what is left of the time to compile."""

    def memory_bytes(self) -> int:
        """Bytes of what was made for masks so far, for all vocabularies."""

class Everyday:
    """Everyday schemas to the byte format of the IR, for one set of options."""

    def __init__(
        self,
        beginning: object,
        spacing: bytes,
        spacing_blob: bytes,
        seeds: dict[str, int],
        texts_are_literal: bool,
        types: dict[str, int],
        formats: dict[str, int],
        scalar: object,
        max_nodes: int,
        max_nesting: int,
        max_alternatives: int,
        max_enum: int,
    ) -> None: ...

class EverydayDocument:
    """One document, of which all or some schemas are everyday ones. Not thread-safe."""

    def __init__(
        self,
        options: Everyday,
        schema: object,
        keywords: dict[str, int],
        id_keyword: str,
        hides_siblings: bool,
    ) -> None: ...
    def compile(self) -> bytes | None: ...
    def part(self, schema: object, depth: int) -> int: ...
    def appended(self, first_regex: int, first_node: int) -> tuple[int, bytes, bytes, int, bytes, bytes]: ...
    def schemas_of_nodes(self, first: bool) -> list[object]: ...

class Matcher:
    """The place of one sequence in its grammar."""

    def __init__(
        self,
        grammar: Grammar,
        vocabulary: Vocabulary,
        stop_token_ids: list[int] = [],
        max_tokens: int | None = None,
        counts_stop: bool = True,
        closing_budget: int = 0,
    ) -> None: ...
    # A numpy array or a torch tensor, so not to be written as either.
    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> None: ...
    def accept_token(self, token_id: int) -> bool: ...
    def accept_tokens(self, token_ids: list[int]) -> bool: ...
    def validate_tokens(self, token_ids: list[int]) -> int: ...
    def fill_draft_bitmasks(
        self, token_ids: list[int], parents: list[int], bitmask: Any, index: int = 0
    ) -> list[bool]: ...
    def accept_bytes(self, data: bytes, num_tokens: int = 0) -> bool: ...
    def count_accepted_bytes(self, data: bytes) -> int:
        """How many of the bytes would be accepted; the state is unchanged."""
    def rollback(self, num_steps: int = 1) -> None: ...
    def reset(self) -> None: ...
    def _copy_state(self) -> Matcher: ...
    def _copy_unlimited(self) -> Matcher: ...
    def longest_run(self, bytes: bytes, max_length: int) -> int:  # noqa: A002
        """The length of the longest run of these bytes that may come next, at most `max_length`."""
    def is_accepting(self) -> bool: ...
    def is_terminated(self) -> bool: ...
    @property
    def num_steps(self) -> int: ...
    def distance(self) -> int | None: ...
    def byte_distance(self) -> int | None: ...
    def shortest_completion(self, max_bytes: int) -> bytes: ...
    def forced_bytes(self, max_bytes: int) -> bytes: ...
    def text(self) -> bytes: ...
    @property
    def tokens_left(self) -> int | None: ...
    @property
    def stop_token_ids(self) -> list[int]: ...
    @property
    def counts_stop_token(self) -> bool: ...
    @property
    def closing_budget(self) -> int: ...
    def allowed_bytes(self) -> bytes: ...
    def expectations(self) -> list[tuple[str, int | None, list[bytes], bool, bool]]:
        """For each thread: kind of place, node, names that may come, whether others may, whether it can close."""
    def set_memo_limit(self, bytes: int) -> None: ...  # noqa: A002
    def engine_memory_bytes(self) -> int: ...

def fill_next_token_bitmasks(matchers: list[Matcher], bitmask: Any, rows: list[int], max_threads: int) -> None:
    """Write the mask of matchers[i] to row rows[i], for all of them, without the GIL."""
