"""Divisibility as regular expressions over the digits of a numeral.

A divisor is m * 10**-k with m no multiple of 10, and m = 2**a * c or 5**a * c with c prime to 10.

* c: the digits, read as one integer without the point, are a multiple of c (10 is invertible modulo c, so neither the
  point nor an exponent matters). A remainder automaton of c states, turned into an expression by eliminating states.
  The expression shares its parts, so its nodes grow with c**3 and not exponentially; but an engine that takes
  derivatives meets up to 2**(c - 1) of them. c is taken apart into prime powers, whose expressions are intersected.
* 2**a, 5**a: only the last a digits of value * 10**k matter. Read from the right, digit by digit, with the remainder
  that the digits before must have.
"""

from __future__ import annotations

from grammar_decode.errors import GrammarDecodeError
from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import RegexId
from grammar_decode.json_schema.magnitudes import MOST_DIGITS, Magnitudes

#: The largest prime power (prime to 10) whose remainder automaton is turned into an expression: 1,200 nodes, and at
#: most 2**12 derivatives, built as they are met.
MOST_REMAINDERS = 13
#: Remainders that the digits from the right may ask for, over all positions: 2**10 and 5**9 are within it.
MOST_SUFFIXES = 600


class NumberTooComplex(GrammarDecodeError):
    """A divisor whose automaton is too large; ``limit`` is the field of ``Limits`` that it would pass."""

    limit = "max_regex"


def split(m: int) -> tuple[int, int, list[int]]:
    """(p, a, powers): m = p**a * product of powers, p is 2 or 5, each power is one of a prime other than 2 and 5.

    What trial division by the primes up to MOST_REMAINDERS leaves counts as one power. ``m`` is no multiple of 10.
    """
    p = 5 if m % 5 == 0 else 2
    a = 0
    while m % p == 0:
        m //= p
        a += 1
    powers: list[int] = []
    prime = 3
    while prime <= MOST_REMAINDERS and m > 1:
        power = 1
        while m % prime == 0:
            m //= prime
            power *= prime
        if power > 1:
            powers.append(power)
        prime += 2
    if m > 1:
        powers.append(m)
    return p, a, powers


class Multiples:
    """Makes the expressions in one builder, and keeps them. Not shared between threads."""

    def __init__(self, builder: Builder, magnitudes: Magnitudes) -> None:
        self.builder = builder
        self.magnitudes = magnitudes
        self._by_remainder: dict[int, RegexId] = {}

    def same_digits(self, c: int) -> RegexId:
        """Strings of digits and points whose digits are a multiple of ``c``, which is prime to 10.

        Not only numerals: to be intersected with them. Raises NumberTooComplex above MOST_REMAINDERS.
        """
        known = self._by_remainder.get(c)
        if known is None:
            if c > MOST_REMAINDERS:
                raise NumberTooComplex(f"multiples of {c} need {c} states; at most {MOST_REMAINDERS} are built")
            known = self._by_remainder[c] = self._eliminate(c)
        return known

    def _eliminate(self, c: int) -> RegexId:
        """The loop at remainder 0 after every other remainder is eliminated, the cheapest first."""
        b = self.builder
        edges: list[dict[int, RegexId]] = []
        for r in range(c):
            masks: dict[int, int] = {r: 1 << ord(".")}
            for digit in range(10):
                target = (10 * r + digit) % c
                masks[target] = masks.get(target, 0) | 1 << (48 + digit)
            edges.append({target: b.byte_class(mask) for target, mask in masks.items()})
        sources: list[set[int]] = [{s for s in range(c) if t in edges[s]} for t in range(c)]
        left = set(range(1, c))
        while left:
            state = min(left, key=lambda s: (len(edges[s]) * len(sources[s]), s))
            left.remove(state)
            out = edges[state]
            loop = out.pop(state, None)
            around = b.epsilon if loop is None else b.repeat(loop, 0, None)
            sources[state].discard(state)
            for source in sorted(sources[state]):
                into = b.concat(edges[source].pop(state), around)
                for target, then in out.items():
                    path = b.concat(into, then)
                    direct = edges[source].get(target)
                    edges[source][target] = path if direct is None else b.alternate(direct, path)
                    sources[target].add(source)
            for target in out:
                sources[target].discard(state)
        return b.repeat(edges[0][0], 0, None)

    def fits(self, p: int, a: int, powers: list[int]) -> bool:
        """Whether p**a times the powers (see :func:`split`) has automata that are built."""
        return self.fits_suffixes(p, a) and all(c <= MOST_REMAINDERS for c in powers)

    def fits_suffixes(self, p: int, a: int) -> bool:
        """Whether :meth:`of_power` takes p**a."""
        q = 10 // p
        return a <= 40 and sum(min(q**i, p ** (a - i)) for i in range(a)) <= MOST_SUFFIXES

    def of_power(self, p: int, a: int, k: int, point: bool, most_digits: int = MOST_DIGITS) -> RegexId:
        """Plain numerals (no sign, no exponent) that are a multiple of p**a * 10**-k, p being 2 or 5, a >= 1.

        ``point`` False leaves out the spellings with a point (k is then 0 or less).
        """
        if not self.fits_suffixes(p, a):
            raise NumberTooComplex(f"multiples of {p}**{a} need more than {MOST_SUFFIXES} states")
        return _Suffixes(self.builder, self.magnitudes, p, a, k, most_digits).language(point)


class _Suffixes:
    """Multiples of p**a * 10**-k. Position i is the digit of weight 10**(i - k)."""

    def __init__(self, builder: Builder, magnitudes: Magnitudes, p: int, a: int, k: int, most_digits: int) -> None:
        self.builder = builder
        self.magnitudes = magnitudes
        self.p = p
        self.a = a
        self.zeros = max(-k, 0)
        self.units = max(k, 0)
        self.most_digits = most_digits
        self._known: dict[tuple[int, int], RegexId] = {}

    def language(self, point: bool) -> RegexId:
        b = self.builder
        if self.units == 0:
            digits = b.concat(self.prefix(0, 0), b.literal(b"0" * self.zeros))
            if self.zeros:
                digits = b.alternate(digits, b.literal(b"0"))
            return b.concat(digits, self.magnitudes.zero_fraction) if point else digits
        # A fraction may stop at any position; the digits left out are zeros. After the last position only zeros follow.
        parts = [self.prefix(i, 0) for i in range(1, self.units + 1)]
        return b.alternate(b.concat(self.prefix(0, 0), self.magnitudes.zeros), *parts)

    def prefix(self, i: int, r: int) -> RegexId:
        """Texts that end with the digit at position i, whose digits as an integer are r modulo p**(a - i)."""
        known = self._known.get((i, r))
        if known is None:
            known = self._known[i, r] = self._prefix(i, r)
        return known

    def _prefix(self, i: int, r: int) -> RegexId:
        b = self.builder
        digit = self.magnitudes.digit
        if i >= self.a:
            if i >= self.units:
                longest = self.most_digits - self.zeros - (i - self.units)
                if longest < 1:
                    return b.empty
                nonzero = b.concat(b.byte_range(49, 57), b.repeat(digit, 0, longest - 1))
                return b.alternate(nonzero, b.literal(b"0")) if self._lone_zero(i) else nonzero
            count = self.units - i
            return b.concat(self.prefix(self.units, 0), self.magnitudes.point, b.repeat(digit, count, count))
        modulus = self.p ** (self.a - i)
        rest_modulus = modulus // self.p
        inverse = pow(10 // self.p, -1, rest_modulus) if rest_modulus > 1 else 0
        alone = 0
        digits: dict[int, int] = {}  # remainder that the text before must have -> class of this digit
        for d in range(10):
            if (r - d) % self.p:
                continue
            before = (r - d) // self.p * inverse % rest_modulus
            digits[before] = digits.get(before, 0) | 1 << (48 + d)
            if i >= self.units and (r - d) % modulus == 0 and (d or self._lone_zero(i)):
                alone |= 1 << (48 + d)
        mark = self.magnitudes.point if i + 1 == self.units else b.epsilon
        parts = [b.concat(self.prefix(i + 1, before), mark, b.byte_class(mask)) for before, mask in digits.items()]
        if alone:
            parts.append(b.byte_class(alone))
        return b.alternate(*parts)

    def _lone_zero(self, i: int) -> bool:
        """Whether a text may consist of a single 0 at position i: the whole part 0."""
        return i == self.units and self.zeros == 0
