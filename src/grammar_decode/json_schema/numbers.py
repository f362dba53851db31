"""The regular languages of JSON numerals (RFC 8259 section 6): ranges, multipleOf, constants, exactly.

A value is what the text spells in decimal, not the double it is read as. Every language is on the sound side: a text
that is accepted spells a value of the set. What is left out for the sake of finiteness or regularity:

In both modes
    * At most 308 digits before the point (so every text is a finite double), and MOST_VISITED // s digits in multiples
      of a number, or of one of several, whose automaton has s > 1,038 states; exponents of at most three significant
      digits. A bound at or beyond the largest finite double, 1.7976931348623157e308, bounds nothing.
    * Negative zero is a spelling of zero.

``canonical``: what a serialiser writes
    * Integers are plain digits. Numbers are digits with or without a fraction of any length.
    * Exponents only for a number without bounds and without multipleOf: a nonzero digit, a fraction or not, an
      exponent with up to two leading zeros; or a zero with an exponent.
    * A constant is its plain spelling, and where the schema wrote a float, what Python and JavaScript write too.

``any``: every spelling, except
    * A number with no bound, or bounded by 0 alone: with an exponent 1 .. 100, at most 208 digits before the point.
    * Otherwise, exponents -WINDOW .. WINDOW: at most 308 digits before the point, less the exponent if positive.
    * Other exponents: one digit before the point, which is not zero unless the value is.
    * multipleOf m * 10**-k, and integers (m = 1, k = 0), with another exponent: as many fraction digits as keep the
      value a multiple of 10**-k (of 10**(a - k) where m has a factor 2**a or 5**a); above FULL_DIGITS as many as there;
      below -FULL_DIGITS only zero. With a > MOST_SHIFTED_POWER: no exponent at all.
    * Divisors too large for an automaton, over a range that holds few multiples: no exponent.
    * ``not_multiple_of`` and ``non_integers``: exponents of the window (and non-integers below it).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from math import lcm, prod
from typing import Literal

from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import Automaton, LiteralSet, Regex, RegexId
from grammar_decode.json_schema.decimals import (
    MAX_DOUBLE,
    MIN_DOUBLE,
    ZERO,
    ceil_grid,
    divisor,
    exact,
    floor_grid,
    is_multiple,
    least_common_multiple,
    magnitude_order,
    remaining_divisor,
    shift,
    texts,
)
from grammar_decode.json_schema.magnitudes import MOST_DIGITS, Magnitudes
from grammar_decode.json_schema.multiples import (
    MOST_STATES,
    NumberTooComplex,
    num_states,
    power_digits,
    remainder_digits,
    same_digits,
    split,
)

__all__ = ["NumberConstraint", "NumberTooComplex", "Numerals", "exact"]

Mode = Literal["canonical", "any"]

#: Exponents for which mode "any" takes every mantissa, one alternative each.
WINDOW = 6
#: Exponents up to here have their own number of fraction digits in multiples; a double has 17 digits.
FULL_DIGITS = 25
#: Exponents go down to -LOWEST_EXPONENT.
LOWEST_EXPONENT = 999
#: Ranges with no more multiples than this are a set of literals rather than an automaton.
FEW_MULTIPLES = 1_000
#: ... and with no more than this where there is no automaton.
MOST_MULTIPLES = 20_000
#: Mode "any" spells multiples of 2**a and 5**a with exponents up to this a.
MOST_SHIFTED_POWER = 4
#: Languages of up to so many nodes, literals and states are kept in the process.
MOST_KEPT = 200
#: Mode "any" tells so many positions of point and exponent apart for each state of an automaton of digits.
SPELLINGS = 32
#: States times digits before the point: multiples with many states have fewer digits than 308, at least 20.
MOST_VISITED = 320_000
#: Of the automaton of several constraints together: it takes a tenth of a second to build.
MOST_REMAINDERS = 30_000
#: States of the automata of several constraints side by side, with which a search gets along: 150 million were
#: searched in milliseconds, 577 million were too many near a limit of tokens.
MOST_APART = 300_000_000


@dataclass(frozen=True, slots=True)
class NumberConstraint:
    """A conjunction of claims on a number: bounds (None: none), whether it is an integer, what it is a multiple of.

    ``excluded`` are the numbers that it is no multiple of. All divisors are above zero.
    """

    integer: bool = False
    low: Decimal | None = None
    low_inclusive: bool = True
    high: Decimal | None = None
    high_inclusive: bool = True
    multiples: tuple[Decimal, ...] = ()
    excluded: tuple[Decimal, ...] = ()

    def meet(self, other: NumberConstraint) -> NumberConstraint:
        """Both at once."""
        low, low_inclusive = self.low, self.low_inclusive
        if other.low is not None and (low is None or (other.low, not other.low_inclusive) > (low, not low_inclusive)):
            low, low_inclusive = other.low, other.low_inclusive
        high, high_inclusive = self.high, self.high_inclusive
        if other.high is not None and (high is None or (other.high, other.high_inclusive) < (high, high_inclusive)):
            high, high_inclusive = other.high, other.high_inclusive
        multiples = tuple(sorted(set(self.multiples + other.multiples)))
        excluded = tuple(sorted(set(self.excluded + other.excluded)))
        is_integer = self.integer or other.integer
        return NumberConstraint(is_integer, low, low_inclusive, high, high_inclusive, multiples, excluded)

    def step(self) -> Decimal | None:
        """The number whose multiples are allowed, integers being the multiples of 1; None: every number."""
        steps = (*self.multiples, Decimal(1)) if self.integer else self.multiples
        return least_common_multiple(steps) if steps else None

    def is_empty(self) -> bool:
        """Whether it is plain that no finite double satisfies it: exact, but for what ``excluded`` leaves of a range.

        A value of 309 digits may have no text (see the module).
        """
        if (self.low is not None and self.low > MAX_DOUBLE) or (self.high is not None and self.high < MIN_DOUBLE):
            return True
        if self.excluded:
            step = self.step()
            if step is not None and any(is_multiple(step, d) for d in self.excluded):
                return True
        if self.low is None or self.high is None:
            return False
        if self.low > self.high or (self.low == self.high and not (self.low_inclusive and self.high_inclusive)):
            return True
        step = self.step()
        return step is not None and not self.factors(step)

    def still_excluded(self, step: Decimal) -> tuple[Decimal, ...]:
        """What is left of ``excluded`` for multiples of the step: the smallest divisors, none a multiple of another."""
        left: list[Decimal] = []
        for d in sorted(remaining_divisor(d, step) for d in self.excluded):
            if not any(is_multiple(d, smaller) for smaller in left):
                left.append(d)
        return tuple(left)

    def factors(self, step: Decimal) -> range:
        """The integers n with n * step in the range, which is cut to 308 digits on a side."""
        m, k = divisor(step)
        edge = shift(Decimal(1), MOST_DIGITS)
        low, low_inclusive = edge.copy_negate(), False
        if self.low is not None and self.low > low:
            low, low_inclusive = self.low, self.low_inclusive
        high, high_inclusive = edge, False
        if self.high is not None and self.high < high:
            high, high_inclusive = self.high, self.high_inclusive
        if low >= edge or high <= edge.copy_negate():
            return range(0)
        first = -(-ceil_grid(low, k) // m)
        if not low_inclusive and shift(Decimal(first * m), -k) == low:
            first += 1
        last = floor_grid(high, k) // m
        if not high_inclusive and shift(Decimal(last * m), -k) == high:
            last -= 1
        return range(first, last + 1)

    def nearest(self, count: int = 1_000) -> NumberConstraint:
        """Narrowed to the ``count`` multiples nearest to zero: what may be allowed where the divisor is too complex."""
        step = self.step()
        assert step is not None, "only multiples can be counted"
        factors = self.factors(step)
        zero = min(max(0, factors.start), factors.stop)
        m, k = divisor(step)
        first, last = max(factors.start, zero - count // 2), min(factors.stop, zero + count // 2) - 1
        return self.meet(NumberConstraint(low=shift(Decimal(first * m), -k), high=shift(Decimal(last * m), -k)))

    def finite(self) -> NumberConstraint:
        """Without bounds that lie beyond every finite double."""
        result = self
        if self.low is not None and self.low <= MIN_DOUBLE:
            result = replace(result, low=None, low_inclusive=True)
        if self.high is not None and self.high >= MAX_DOUBLE:
            result = replace(result, high=None, high_inclusive=True)
        return result


@dataclass(frozen=True, slots=True)
class _Range:
    """Magnitudes: low >= 0, high None for no bound."""

    low: Decimal
    low_inclusive: bool
    high: Decimal | None
    high_inclusive: bool

    def shifted(self, places: int) -> _Range:
        high = None if self.high is None else shift(self.high, places)
        return _Range(shift(self.low, places), self.low_inclusive, high, self.high_inclusive)


class Numerals:
    """The languages, in one builder and one mode, each made once. Not shared between threads.

    >>> numerals = Numerals(Builder(), "canonical")
    >>> numerals.integer_interval(0, 255)  # an id of -0, 0, 1, ... 255
    """

    def __init__(self, builder: Builder, mode: Mode, like: Numerals | None = None) -> None:
        self.builder = builder
        self.canonical = mode == "canonical"
        self.magnitudes: Magnitudes = Magnitudes(builder, like.magnitudes if like else None)
        self._minus = builder.literal(b"-")
        self._languages: dict[NumberConstraint, RegexId] = like._languages.copy() if like else {}
        self._exponents: dict[tuple[int, int], RegexId] = like._exponents.copy() if like else {}

    def copied(self, builder: Builder) -> Numerals:
        """The same for a copy of the builder."""
        return Numerals(builder, "canonical" if self.canonical else "any", self)

    # ---- what the lowering asks for ----

    @property
    def numbers(self) -> RegexId:
        """Every number."""
        return self.language(NumberConstraint())

    @property
    def integers(self) -> RegexId:
        """Every integer."""
        return self.language(NumberConstraint(integer=True))

    @property
    def non_integers(self) -> RegexId:
        """Every number whose value is not an integer."""
        return self._off_grid(0)

    def interval(
        self, low: Decimal | int | None, low_inclusive: bool, high: Decimal | int | None, high_inclusive: bool
    ) -> RegexId:
        """The numbers between the bounds; None is no bound."""
        low = None if low is None else Decimal(low)
        high = None if high is None else Decimal(high)
        return self.language(NumberConstraint(False, low, low_inclusive, high, high_inclusive))

    def integer_interval(self, low: int | None, high: int | None) -> RegexId:
        """The integers between the bounds, both included; None is no bound."""
        low_decimal = None if low is None else Decimal(low)
        high_decimal = None if high is None else Decimal(high)
        return self.language(NumberConstraint(True, low_decimal, True, high_decimal, True))

    def multiple_of(self, d: Decimal) -> RegexId:
        """The numbers that are a multiple of ``d`` > 0. Raises NumberTooComplex."""
        return self.language(NumberConstraint(multiples=(d,)))

    def not_multiple_of(self, d: Decimal) -> RegexId:
        """The numbers that are no multiple of ``d`` > 0. Raises NumberTooComplex."""
        m, k = divisor(d)
        if m == 1:
            return self._off_grid(k)
        multiples = self.multiple_of(d)
        domain = self._signed(self.magnitudes.plain(ZERO, True, None, True))
        _, power, _ = split(m)
        if not self.canonical and power <= MOST_SHIFTED_POWER:
            mantissa = self.magnitudes.plain(ZERO, True, None, True, most_digits=MOST_DIGITS - WINDOW)
            window = self.builder.concat(mantissa, self._exponent(-WINDOW, WINDOW))
            domain = self.builder.alternate(domain, self._signed(window))
        return self.builder.intersect(domain, self.builder.complement(multiples))

    def value(self, v: int | float | Decimal) -> RegexId:
        """The spellings of the value (enum, const); empty for one that is not a finite double."""
        decimal = exact(v)
        if not decimal.is_finite() or not MIN_DOUBLE <= decimal <= MAX_DOUBLE:
            return self.builder.empty
        spellings = {_plain_text(decimal)}
        if self.canonical:
            if isinstance(v, float):
                spellings.update((repr(v), repr(v).replace("e-0", "e-")))
            return self.builder.literals(text.encode() for text in spellings)
        digits = self.builder.literals(text.encode() for text in spellings)  # 309 of them are in no interval
        return self.builder.alternate(digits, self.interval(decimal, True, decimal, True))

    def language(self, constraint: NumberConstraint) -> RegexId:
        """The numbers that satisfy the constraint. Raises NumberTooComplex for a divisor without a small automaton."""
        known = self._languages.get(constraint)
        if known is None:
            nodes = _nodes(self.canonical, constraint)
            known = self._language(constraint.finite()) if nodes is None else self.builder.put(nodes)
            self._languages[constraint] = known
        return known

    def union(self, constraints: Sequence[NumberConstraint], most_apart: int = MOST_APART) -> RegexId | None:
        """The numbers that satisfy one of the constraints, if these differ only in what integers they are multiples of.

        One automaton of remainders: apart, the automata of all constraints run side by side at every digit. With at
        most ``most_apart`` states in all that is cheaper.
        """
        steps = [constraint.step() for constraint in constraints]
        domain = replace(constraints[0], multiples=(), excluded=())
        if not self.canonical or any(replace(c, multiples=(), excluded=()) != domain for c in constraints):
            return None
        conditions: list[tuple[int, tuple[int, ...]]] = []
        for constraint, step in zip(constraints, steps, strict=True):
            if step is None or any(d != d.to_integral_value() for d in (step, *constraint.excluded)):
                return None
            factors = constraint.factors(step)
            if factors.stop - factors.start <= FEW_MULTIPLES:
                return None
            conditions.append((int(step), tuple(int(d) for d in constraint.excluded)))
        modulus = lcm(*(d for step, excluded in conditions for d in (step, *excluded)))
        apart = prod(lcm(step, *excluded) for step, excluded in conditions)
        if modulus > MOST_REMAINDERS or apart <= most_apart:
            return None
        if modulus * MOST_DIGITS > MOST_VISITED:
            edge = shift(Decimal(1), max(MOST_VISITED // modulus, MOST_VISITED // MOST_STATES))
            domain = domain.meet(NumberConstraint(False, edge.copy_negate(), False, edge, False))
            if domain.is_empty():
                return None

        def accepted(r: int) -> bool:
            return any(r % step == 0 and all(r % d for d in excluded) for step, excluded in conditions)

        numerals = self._both_signs(domain, 0, not domain.integer)
        return self.builder.intersect(numerals, self._signed(remainder_digits(self.builder, modulus, accepted)))

    # ---- one constraint ----

    def _language(self, constraint: NumberConstraint) -> RegexId:
        if constraint.is_empty():
            return self.builder.empty
        step = constraint.step()
        if step is None:
            numbers = self._both_signs(constraint, None, True)
            return self.builder.intersect(numbers, *map(self.not_multiple_of, constraint.excluded))
        excluded = constraint.still_excluded(step)
        point = not (constraint.integer and self.canonical)
        m, k = divisor(step)
        if m == 1 and not excluded:
            return self._both_signs(constraint, k, point)
        modulus, places = divisor(least_common_multiple((step, *excluded)))
        states = num_states(*split(modulus), places) * (1 if self.canonical else SPELLINGS)
        factors = constraint.factors(step)
        # len() of a range fails above the size of a machine word.
        count = factors.stop - factors.start
        if count <= (MOST_MULTIPLES if states > MOST_STATES else FEW_MULTIPLES if self.canonical else 0):
            values = (shift(Decimal(n * m), -k) for n in factors)
            return self._literals([v for v in values if not any(is_multiple(v, d) for d in excluded)], point)
        if states > MOST_STATES:
            raise NumberTooComplex(f"multiples of {_plain_text(step)} need more than {MOST_STATES} states")
        if states * MOST_DIGITS > MOST_VISITED:
            digits = MOST_VISITED // states
            edge = shift(Decimal(1), digits)
            constraint = constraint.meet(NumberConstraint(False, edge.copy_negate(), False, edge, False))
            if constraint.is_empty():
                raise NumberTooComplex(
                    f"multiples of {_plain_text(step)} have at most {digits} digits, of {states} states"
                )
        parts = [self._both_signs(constraint, k, point), *self._divisible(m, k)]
        return self.builder.intersect(*parts, *(self._not_divisible(d, step) for d in excluded))

    def _literals(self, values: Iterable[Decimal], point: bool) -> RegexId:
        """Plain spellings of the values."""
        b = self.builder
        whole: list[bytes] = []
        fractional: list[bytes] = []
        for text in map(_plain_text, values):
            (fractional if "." in text else whole).append(text.encode())
            if text == "0":
                whole.append(b"-0")
        wholes = b.literals(whole)
        if point:
            wholes = b.concat(wholes, self.magnitudes.zero_fraction)
        return b.alternate(wholes, b.concat(b.literals(fractional), self.magnitudes.zeros))

    def _divisible(self, m: int, k: int) -> list[RegexId]:
        """Languages whose intersection holds the multiples of m * 10**-k, and other texts that are none of 10**-k."""
        p, a, powers = split(m)
        parts = [self._digits_multiple(c) for c in powers]
        return [*parts, self._power(p, a, k)] if a else parts

    def _not_divisible(self, d: Decimal, step: Decimal) -> RegexId:
        """Among the multiples of the step, the numbers that are no multiple of d."""
        m, k = divisor(d)
        if not self.canonical or m == 1 or not is_multiple(step, shift(Decimal(1), -k)):
            return self.not_multiple_of(d)
        return self.builder.complement(self.builder.intersect(*self._divisible(m, k)))

    def _digits_multiple(self, c: int) -> RegexId:
        """Any sign and exponent around digits that are a multiple of c."""
        b = self.builder
        parts = [b.optional(self._minus), same_digits(b, c)]
        if not self.canonical:
            exponent = b.concat(b.literals((b"e", b"E")), b.optional(b.literals((b"+", b"-"))), self._some_digits)
            parts.append(b.optional(exponent))
        return b.concat(*parts)

    def _power(self, p: int, a: int, k: int) -> RegexId:
        """The multiples of p**a * 10**-k, among other texts that are no multiple of 10**-k."""
        b = self.builder
        plain = power_digits(b, p, a, k)
        if self.canonical:
            return self._signed(plain)
        parts = [plain]
        if a <= MOST_SHIFTED_POWER:
            # With the exponent e the mantissa is a multiple of p**a * 10**(-k - e), and of 10**(-k - e) already.
            parts += [b.concat(power_digits(b, p, a, k + e), self._exponent(e, e)) for e in range(-WINDOW, WINDOW + 1)]
            # 10**(a - k) divides them all.
            parts.append(self._far(_Range(ZERO, True, None, True), k - a))
        return self._signed(b.alternate(*parts))

    def _off_grid(self, k: int) -> RegexId:
        """Numbers that are no multiple of 10**-k."""
        b = self.builder
        parts = [self.magnitudes.off_grid(k)]
        if not self.canonical:
            for e in range(-WINDOW, WINDOW + 1):
                most = MOST_DIGITS - max(e, 0)
                parts.append(b.concat(self.magnitudes.off_grid(k + e, most), self._exponent(e, e)))
        if k <= 0:
            # With one nonzero digit before the point and an exponent below zero the value is between 0 and 1.
            mantissa = self._mantissa(Decimal(1), True, None, True, None)
            last = -1 if self.canonical else -WINDOW - 1
            parts.append(b.concat(mantissa, self._exponent(-LOWEST_EXPONENT, last)))
        return self._signed(b.alternate(*parts))

    # ---- signs and exponents ----

    def _signed(self, magnitudes: RegexId) -> RegexId:
        return self.builder.concat(self.builder.optional(self._minus), magnitudes)

    def _both_signs(self, constraint: NumberConstraint, grid: int | None, point: bool) -> RegexId:
        """The multiples of 10**-grid in the range."""
        low, high = constraint.low, constraint.high
        bounded = low is not None or high is not None
        positive = negative = None
        if high is None or high > 0 or (high == 0 and constraint.high_inclusive):
            low_bound = (low, constraint.low_inclusive) if low is not None and low >= 0 else (ZERO, True)
            positive = _Range(*low_bound, high, constraint.high_inclusive)
        if low is None or low < 0 or (low == 0 and constraint.low_inclusive):
            low_bound = (high.copy_abs(), constraint.high_inclusive) if high is not None and high <= 0 else (ZERO, True)
            negative = _Range(*low_bound, None if low is None else low.copy_abs(), constraint.low_inclusive)
        if positive == negative and positive is not None:
            return self._signed(self._spelled(positive, grid, point, bounded))
        parts: list[RegexId] = []
        if positive is not None:
            parts.append(self._spelled(positive, grid, point, bounded))
        if negative is not None:
            parts.append(self.builder.concat(self._minus, self._spelled(negative, grid, point, bounded)))
        return self.builder.alternate(*parts)

    def _spelled(self, r: _Range, grid: int | None, point: bool, bounded: bool) -> RegexId:
        """Every allowed spelling of the magnitudes of the range on the grid."""
        plain = self._plain(r, grid, point, MOST_DIGITS)
        if self.canonical:
            if bounded or grid is not None:
                return plain
            return self.builder.alternate(plain, self._exponential(r, None, -1))
        return self.builder.alternate(plain, *self._window(r, grid), self._far(r, grid))

    def _plain(self, r: _Range, grid: int | None, point: bool, most_digits: int) -> RegexId:
        return self.magnitudes.plain(
            r.low, r.low_inclusive, r.high, r.high_inclusive, grid=grid, point=point, most_digits=most_digits
        )

    def _window(self, r: _Range, grid: int | None) -> list[RegexId]:
        """Spellings with any mantissa, and an exponent of the window at least."""
        b = self.builder
        if grid is None and r.low == 0 and r.high is None:
            # Scaling keeps the range. The digits and the exponent share the 308 places.
            spans = ((-LOWEST_EXPONENT, 0), (1, 100))
            return [b.concat(self._plain(r, None, True, MOST_DIGITS - e), self._exponent(d, e)) for d, e in spans]
        parts: list[RegexId] = []
        for e in range(-WINDOW, WINDOW + 1):
            mantissa = self._plain(r.shifted(-e), None if grid is None else grid + e, True, MOST_DIGITS - max(e, 0))
            parts.append(b.concat(mantissa, self._exponent(e, e)))
        return parts

    def _far(self, r: _Range, grid: int | None) -> RegexId:
        """Spellings with an exponent outside the window, one digit before the point."""
        return self._exponential(r, grid, WINDOW)

    def _exponential(self, r: _Range, grid: int | None, window: int) -> RegexId:
        """Spellings with an exponent outside -window .. window, and one digit before the point: zero for zero only."""
        b = self.builder
        parts: list[RegexId] = []
        if r.low == 0 and r.low_inclusive:
            zero = self._plain(_Range(ZERO, True, ZERO, True), None, True, MOST_DIGITS)
            parts.append(b.concat(zero, self._exponent(-LOWEST_EXPONENT, LOWEST_EXPONENT)))
        high, high_inclusive = MAX_DOUBLE, True
        if r.high is not None and r.high <= MAX_DOUBLE:
            high, high_inclusive = r.high, r.high_inclusive
        if high == 0 or r.low > high:
            return b.alternate(*parts)
        # The lowest and the highest exponent, where the mantissa is bounded.
        first = -LOWEST_EXPONENT - 1 if r.low == 0 else magnitude_order(r.low)
        last = magnitude_order(high)
        low = Decimal(1) if r.low == 0 else shift(r.low, -first)
        high = shift(high, -last)
        for start, stop, digits in self._exponent_spans(grid, window):
            if start <= first == last <= stop:
                mantissa = self._mantissa(low, r.low_inclusive, high, high_inclusive, digits)
                parts.append(b.concat(mantissa, self._exponent(first, first)))
                continue
            if start <= first <= stop:
                mantissa = self._mantissa(low, r.low_inclusive, None, True, digits)
                parts.append(b.concat(mantissa, self._exponent(first, first)))
            if start <= last <= stop:
                mantissa = self._mantissa(Decimal(1), True, high, high_inclusive, digits)
                parts.append(b.concat(mantissa, self._exponent(last, last)))
            start, stop = max(start, first + 1), min(stop, last - 1)
            if start <= stop:
                mantissa = self._mantissa(Decimal(1), True, None, True, digits)
                parts.append(b.concat(mantissa, self._exponent(start, stop)))
        return b.alternate(*parts)

    def _exponent_spans(self, grid: int | None, window: int) -> list[tuple[int, int, int | None]]:
        """(first, last, fraction digits) of the exponents outside -window .. window; -1 leaves none out."""
        if grid is None:
            if window < 0:
                return [(-LOWEST_EXPONENT, MOST_DIGITS, None)]
            return [(-LOWEST_EXPONENT, -window - 1, None), (window + 1, MOST_DIGITS, None)]
        common = max(-grid, FULL_DIGITS)
        apart = (e for e in range(max(-grid, -FULL_DIGITS), FULL_DIGITS) if abs(e) > window)
        return [*((e, e, grid + e) for e in apart), (common, MOST_DIGITS, grid + common)]

    def _mantissa(
        self, low: Decimal, low_inclusive: bool, high: Decimal | None, high_inclusive: bool, digits: int | None
    ) -> RegexId:
        """1 <= low .. high (None: below 10), with at most so many fraction digits."""
        return self.magnitudes.plain(low, low_inclusive, high, high_inclusive, grid=digits, most_digits=1)

    def _exponent(self, first: int, last: int) -> RegexId:
        """``e`` and the exponents first .. last."""
        known = self._exponents.get((first, last))
        if known is not None:
            return known
        b = self.builder
        zeros = b.repeat(b.literal(b"0"), 0, 2 if self.canonical else None)
        parts: list[RegexId] = []
        if last >= 0:
            parts.append(b.concat(b.optional(b.literal(b"+")), zeros, self._exponent_digits(max(first, 0), last)))
        if first <= 0:
            parts.append(b.concat(self._minus, zeros, self._exponent_digits(max(-last, 0), -first)))
        result = self._exponents[first, last] = b.concat(b.literals((b"e", b"E")), b.alternate(*parts))
        return result

    def _exponent_digits(self, first: int, last: int) -> RegexId:
        return self.magnitudes.plain(Decimal(first), True, Decimal(last), True, grid=0, point=False)

    @property
    def _some_digits(self) -> RegexId:
        return self.builder.repeat(self.magnitudes.digit, 1, None)


@lru_cache(maxsize=1024)
def _nodes(canonical: bool, constraint: NumberConstraint) -> tuple[Regex, ...] | None:
    """The nodes of the language, for Builder.put; None where they are too many to keep.

    The arithmetic on the digits of bounds is done once in a process and not once for each grammar.
    """
    numerals = Numerals(Builder(), "canonical" if canonical else "any")
    nodes = numerals.builder.take(numerals._language(constraint.finite()))
    large = any(isinstance(node, (Automaton, LiteralSet)) and len(_rows(node)) > MOST_KEPT for node in nodes)
    return None if large or len(nodes) > MOST_KEPT else nodes


def _rows(node: Automaton | LiteralSet) -> tuple[object, ...]:
    return node.transitions if isinstance(node, Automaton) else node.literals


def _plain_text(value: Decimal) -> str:
    """The shortest spelling without an exponent; zero has no sign."""
    whole, fraction = texts(value)
    sign = "-" if value < 0 else ""
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"
