"""Divisibility as automata over the digits of a numeral.

A divisor is m * 10**-k with m no multiple of 10, and m = p**a * c with p 2 or 5, and c prime to 10.

* c: the digits, read as one integer without the point, are a multiple of c (10 is invertible modulo c, so neither the
  point nor an exponent matters). The automaton of remainders, one for each prime power of c.
* p**a: only the last digits of value * 10**k matter. The automaton of remainders modulo p**a has few states that differ
  (Alexeev, "Minimal DFA for testing divisibility", 2004); it is built from these.

The automata of one divisor run side by side in an intersection, so what counts is the product of their states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeAlias

from grammar_decode.errors import GrammarDecodeError
from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import RegexId

#: States of all automata of a divisor together. A search for a multiple may meet them all, at each number of digits:
#: with 15,000 the first mask takes 0.3 s.
MOST_STATES = 16_000

Rows: TypeAlias = tuple[dict[int, int], ...]  # for each state, byte mask -> target

_POINT = 1 << ord(".")
_DIGITS = tuple(1 << (48 + digit) for digit in range(10))


class NumberTooComplex(GrammarDecodeError):
    """A divisor whose automaton is too large; ``limit`` is the field of ``Limits`` that it would pass."""

    limit = "max_regex"


def split(m: int) -> tuple[int, int, list[int]]:
    """(p, a, powers): m = p**a * product of powers, p is 2 or 5, each power is one of a prime other than 2 and 5.

    What trial division by the primes up to a hundred leaves counts as one power. ``m`` is no multiple of 10.
    """
    p = 5 if m % 5 == 0 else 2
    a = 0
    while m % p == 0:
        m //= p
        a += 1
    powers: list[int] = []
    for prime in range(3, 100, 2):
        power = 1
        while m % prime == 0:
            m //= prime
            power *= prime
        if power > 1:
            powers.append(power)
    if m > 1:
        powers.append(m)
    return p, a, powers


def num_states(p: int, a: int, powers: list[int], k: int = 0) -> int:
    """How many states a numeral goes through modulo p**a * 10**-k and the powers, or MOST_STATES + 1 if it is more."""
    states = 1
    if a > 40:
        return MOST_STATES + 1
    if a:
        units = max(k, 0)
        behind_point = sum(min((10 // p) ** i, p ** (a - i)) for i in range(min(units, a) + 1))
        states = max(_before_point(p, a, units)[1], behind_point)
    for power in powers:
        states *= power
    return min(states, MOST_STATES + 1)


def same_digits(builder: Builder, c: int) -> RegexId:
    """Strings of digits and points whose digits are a multiple of ``c``, which is prime to 10.

    Not only numerals: to be intersected with them.
    """
    return builder.automaton(_remainders(c), (0,))


def power_digits(builder: Builder, p: int, a: int, k: int) -> RegexId:
    """Strings of digits, with or without a point, that are a multiple of p**a * 10**-k if they are one of 10**-k.

    Not only numerals: to be intersected with those that are a multiple of 10**-k.
    """
    rows, accepting = _suffixes(p, a, max(k, 0))
    if k >= 0:
        return builder.automaton(rows, accepting)
    # subtle: the zeros stand before the point, so the digits before them have none.
    digits = builder.automaton([{m: target for m, target in row.items() if m != _POINT} for row in rows], accepting)
    zero = builder.byte_class(_DIGITS[0])
    tail = builder.optional(builder.concat(builder.byte_class(_POINT), builder.repeat(zero, 0, None)))
    return builder.alternate(builder.concat(digits, builder.repeat(zero, -k, -k), tail), builder.concat(zero, tail))


def remainder_digits(builder: Builder, c: int, accepted: Callable[[int], bool]) -> RegexId:
    """Digits of an integer whose remainder modulo ``c`` is accepted, with or without a fraction of zeros.

    Not only numerals: to be intersected with them. One automaton for any conditions on multiples.
    """
    final = [*map(accepted, range(c)), True]  # the last: behind the point
    if not any(final[:c]):
        return builder.empty
    targets = [*range(c), *range(9)] if c >= 9 else [r % c for r in range(c + 9)]
    rows: list[Iterable[tuple[int, int]]] = []
    for r in range(c):
        first = 10 * r % c
        digits = zip(_DIGITS, targets[first : first + 10], strict=True)
        rows.append((*digits, (_POINT, c)) if final[r] else digits)
    rows.append(((_DIGITS[0], c),))
    return builder.whole_automaton(rows, final)


@lru_cache(maxsize=64)
def _remainders(c: int) -> Rows:
    """State r: the digits so far are r modulo c."""
    rows = []
    for r in range(c):
        targets = {r: _POINT}
        for digit, mask in enumerate(_DIGITS):
            target = (10 * r + digit) % c
            targets[target] = targets.get(target, 0) | mask
        rows.append({mask: target for target, mask in targets.items()})
    return tuple(rows)


def _before_point(p: int, a: int, units: int) -> tuple[int, int]:
    """(deepest, number of states before the point): see :func:`_suffixes`."""
    q = 10 // p
    costs = {i: sum(q**j for j in range(units, i)) + p ** max(a - i, 0) for i in range(units, max(a, units) + 1)}
    deepest = min(costs, key=costs.__getitem__)
    return deepest, costs[deepest]


@lru_cache(maxsize=64)
def _suffixes(p: int, a: int, units: int) -> tuple[Rows, tuple[int, ...]]:
    """The rows, and the accepting states, for multiples of p**a * 10**-units.

    Let r be the digits so far. With i digits to come, what they have to be is t = -r * 10**i modulo p**a, and there are
    such digits if t < 10**i. After the point i is known. Before it, i may be ``units`` or more, and (the least i that
    has such digits, t) says all about the future: r modulo p**(a - i). Where no i below ``deepest`` has such digits,
    r modulo p**(a - deepest) does.
    """
    modulus = p**a
    deepest, _ = _before_point(p, a, units)

    def key(r: int, left: int | None) -> tuple[int, int, int] | None:
        for i in range(units, deepest) if left is None else (left,):
            t = -r * 10**i % modulus
            if t < 10**i:
                return left is not None, i, t
        return (0, deepest, r % p ** max(a - deepest, 0)) if left is None else None

    numbers = {key(0, None): 0}
    states: list[tuple[int, int | None]] = [(0, None)]
    rows: list[dict[int, int]] = []
    accepting = []

    def number(r: int, left: int | None) -> int | None:
        found = key(r, left)
        if found is None:
            return None
        if found not in numbers:
            numbers[found] = len(states)
            states.append((r, left))
        return numbers[found]

    for r, left in states:  # grows while it is walked
        if r * 10 ** (units if left is None else left) % modulus == 0:
            accepting.append(len(rows))
        targets: dict[int, int] = {}
        for digit, mask in enumerate(_DIGITS):
            if left == 0:
                target = len(rows) if digit == 0 else None
            else:
                target = number((10 * r + digit) % modulus, None if left is None else left - 1)
            if target is not None:
                targets[target] = targets.get(target, 0) | mask
        if left is None:
            after_point = number(r, units)
            if after_point is not None:
                targets[after_point] = targets.get(after_point, 0) | _POINT
        rows.append({mask: target for target, mask in targets.items()})
    return tuple(rows), tuple(accepting)
