"""What was compiled, by the content of what it was compiled from: bounded, for requests that repeat a schema."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Hashable
from decimal import Decimal
from itertools import islice
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

from grammar_decode.locks import give_lock


class Sized(Protocol):
    """A value that knows how much memory it holds on to."""

    def memory_bytes(self) -> int:
        """So many bytes, now."""


V = TypeVar("V", bound=Sized)

#: Values grow after they were added, while they are used, so the memory of those used last is looked at now and then.
MEASURED_EVERY = 16
MEASURED_AT_ONCE = 32


class Cache(Generic[V]):
    """At most ``max_entries`` values that hold at most ``max_bytes`` in all; those not used for longest go first.

    Thread-safe. ``hits`` and ``misses`` count what :meth:`get` was asked for.
    """

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self._lock: Lock
        self.max_entries = max_entries
        self.max_bytes = max_bytes
        self.hits = self.misses = 0
        self._added = 0
        self._entries: OrderedDict[Hashable, V] = OrderedDict()
        self._sizes: dict[Hashable, int] = {}  # of entries, as far as they were measured
        self._known_bytes = 0
        give_lock(self)

    def get(self, key: Hashable) -> V | None:
        """The value that was added under an equal key, or None."""
        with self._lock:
            value = self._entries.get(key)
            if value is None:
                self.misses += 1
            else:
                self.hits += 1
                self._entries.move_to_end(key)
            return value

    def add(self, key: Hashable, value: V) -> None:
        """Keep the value, and let others go as the bounds demand."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            self._added += 1
            if self._added % MEASURED_EVERY == 0:
                self._measure()
            while self._entries and (len(self._entries) > self.max_entries or self._known_bytes > self.max_bytes):
                oldest, _ = self._entries.popitem(last=False)
                self._known_bytes -= self._sizes.pop(oldest, 0)

    def _measure(self) -> None:
        for key, entry in islice(reversed(self._entries.items()), MEASURED_AT_ONCE):
            size = entry.memory_bytes()
            self._known_bytes += size - self._sizes.get(key, 0)
            self._sizes[key] = size

    def memory_bytes(self) -> int:
        """So many bytes all values hold on to, now."""
        with self._lock:
            return sum(entry.memory_bytes() for entry in self._entries.values())

    def clear(self) -> None:
        """Forget all values, and the counts."""
        with self._lock:
            self._entries.clear()
            self._sizes.clear()
            self._known_bytes = 0
            self.hits = self.misses = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} entries, {self.hits} hits, {self.misses} misses>"


class _NotJson(Exception):
    """A value holds something that JSON has not."""


class _Pickler(pickle.Pickler):
    """Refuses whatever would run code of the caller."""

    def reducer_override(self, value: Any) -> Any:
        if type(value) is Decimal or value is Decimal:
            return NotImplemented
        raise _NotJson


def content_of(value: Any) -> bytes | None:
    """Bytes that are equal only for equal values of JSON, types and the order of keys included; None for other values.

    Two equal values may have different bytes where their parts are shared in different ways. Linear in the size of the
    value in memory, about two microseconds for a usual schema.
    """
    out = io.BytesIO()
    try:
        _Pickler(out, pickle.HIGHEST_PROTOCOL).dump(value)
    except (_NotJson, RecursionError, pickle.PicklingError):
        return None
    return out.getvalue()


def value_of(content: bytes) -> Any:
    """The inverse of :func:`content_of`, for its own results."""
    return pickle.loads(content)
