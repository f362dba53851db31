"""Sets of lengths: ascending intervals that neither meet nor touch. What length keywords and negations say together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

#: (least, most) each, both included; only the last has no most.
Lengths: TypeAlias = tuple[tuple[int, int | None], ...]

EVERY_LENGTH: Lengths = ((0, None),)


def either(sets: Iterable[Lengths]) -> Lengths:
    """The lengths that are in one of the sets.

    >>> either([((0, 3),), ((4, 5), (9, None))])
    ((0, 5), (9, None))
    """
    merged: list[tuple[int, int | None]] = []
    for low, high in sorted((interval for one in sets for interval in one), key=lambda interval: interval[0]):
        if merged:
            first, last = merged[-1]
            if last is None:
                break
            if low <= last + 1:
                merged[-1] = (first, None if high is None else max(last, high))
                continue
        merged.append((low, high))
    return tuple(merged)


def both(one: Lengths, other: Lengths) -> Lengths:
    """The lengths that are in both sets.

    >>> both(((1, 100),), ((0, 0), (50, None)))
    ((50, 100),)
    """
    met: list[tuple[int, int | None]] = []
    for low, high in one:
        for least, most in other:
            first = max(low, least)
            last = most if high is None else high if most is None else min(high, most)
            if last is None or first <= last:
                met.append((first, last))
    return tuple(sorted(met, key=lambda interval: interval[0]))
