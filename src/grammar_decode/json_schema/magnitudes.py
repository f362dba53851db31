"""The texts of the plain decimal numerals (no sign, no exponent) whose value lies in a range, as a regular expression.

A range is cut at the decimal digits of its bounds. While the text read so far equals a bound's digits it is *tight*;
with the first digit that differs it is *free* between the bounds. So an expression has one level per digit of a bound,
and each level holds a class of free digits and one tight digit: size linear in the digits; no value is ever listed.

Whole parts have no leading zeros. A *grid* k keeps to multiples of 10**-k: at most k significant digits after the
point, any number of zeros after them, and for k < 0 at least -k zeros before the point.
"""

from __future__ import annotations

from decimal import Decimal

from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import RegexId
from grammar_decode.json_schema.decimals import ceil_grid, floor_grid, shift, texts

#: Digits before the point, so that every accepted text is below 10**308, a finite double.
MOST_DIGITS = 308


class Magnitudes:
    """Makes the expressions in one builder (a copy of that of ``like``). Not shared between threads."""

    def __init__(self, builder: Builder, like: Magnitudes | None = None) -> None:
        self.builder = builder
        self._ranges: dict[tuple[int, int], RegexId] = like._ranges.copy() if like else {}
        self._digits: dict[int, RegexId] = like._digits.copy() if like else {}
        self._tails: dict[int | None, RegexId] = like._tails.copy() if like else {}
        self.digit = self._range(0, 9)
        self.zeros = builder.repeat(self._range(0, 0), 0, None)
        self.point = builder.literal(b".")
        #: Nothing, or a point and zeros: what may follow the whole part of an integer.
        self.zero_fraction = builder.optional(builder.concat(self.point, builder.repeat(self._range(0, 0), 1, None)))
        #: Digits that are not all zero.
        self.nonzero_tail = builder.concat(self.zeros, self._range(1, 9), builder.repeat(self.digit, 0, None))

    def plain(
        self,
        low: Decimal,
        low_inclusive: bool,
        high: Decimal | None,
        high_inclusive: bool,
        *,
        grid: int | None = None,
        point: bool = True,
        most_digits: int = MOST_DIGITS,
    ) -> RegexId:
        """Numerals from ``low`` (>= 0) to ``high`` (None: no bound) on the grid.

        At most ``most_digits`` stand before the point. ``point`` False leaves out the spellings with a point (the grid
        is then 0 or less).
        """
        if grid is not None:
            first = ceil_grid(low, grid)
            if not low_inclusive and shift(Decimal(first), -grid) == low:
                first += 1
            last = None
            if high is not None:
                last = floor_grid(high, grid)
                if not high_inclusive and shift(Decimal(last), -grid) == high:
                    last -= 1
                if first > last:
                    return self.builder.empty
            if grid <= 0:
                return self._integers(first, last, -grid, point, most_digits)
            low, low_inclusive = shift(Decimal(first), -grid), True
            high, high_inclusive = (None if last is None else shift(Decimal(last), -grid)), True
            if last is not None and (last + 1) % 10**grid == 0:
                # Up to 79.99 is below 80, which has no tight fraction.
                high, high_inclusive = shift(Decimal(last + 1), -grid), False
        elif high is not None and (low > high or (low == high and not (low_inclusive and high_inclusive))):
            return self.builder.empty
        low_whole, low_tail = texts(low)
        if len(low_whole) > most_digits:
            return self.builder.empty
        low_end = self._end_from(low_tail, low_inclusive, grid)
        free = self._end_from("", True, grid)
        if high is not None:
            high_whole, high_tail = texts(high)
            if len(high_whole) <= most_digits:
                if low_whole == high_whole:
                    end = self._end_between(low_tail, low_inclusive, high_tail, high_inclusive, grid)
                    return self.builder.concat(self.builder.literal(low_whole.encode()), end)
                high_end = self._end_to(high_tail, high_inclusive, grid)
                return self._wholes(low_whole, high_whole, low_end, free, high_end, most_digits)
        return self._wholes(low_whole, None, low_end, free, free, most_digits)

    def off_grid(self, grid: int, most_digits: int = MOST_DIGITS) -> RegexId:
        """Numerals that are no multiple of 10**-grid."""
        b = self.builder
        fraction = b.concat(self.point, b.repeat(self.digit, max(grid, 0), max(grid, 0)), self.nonzero_tail)
        fractional = b.concat(self._wholes("0", None, b.epsilon, b.epsilon, b.epsilon, most_digits), fraction)
        if grid >= 0 or -grid >= most_digits:
            return fractional
        # A last nonzero digit with fewer than -grid zeros after it; longer numerals keep within most_digits.
        before = b.concat(self._range(1, 9), b.repeat(self.digit, 0, most_digits + grid - 1))
        zeros = b.repeat(self._range(0, 0), 0, -grid - 1)
        return b.alternate(fractional, b.concat(b.optional(before), self._range(1, 9), zeros, self.zero_fraction))

    # ---- before the point ----

    def _integers(self, first: int, last: int | None, zeros: int, point: bool, most_digits: int) -> RegexId:
        """The integers first .. last, each times 10**zeros."""
        b = self.builder
        end = self.zero_fraction if point else b.epsilon
        most = most_digits - zeros
        body = b.empty
        start = first if zeros == 0 else max(first, 1)
        if (last is None or last >= start) and len(str(start)) <= most:
            until = None if last is None or len(str(last)) > most else str(last)
            body = b.concat(
                self._wholes(str(start), until, b.epsilon, b.epsilon, b.epsilon, most),
                b.repeat(self._range(0, 0), zeros, zeros),
            )
        if zeros and first <= 0:
            body = b.alternate(body, b.literal(b"0"))
        return b.concat(body, end)

    def _wholes(
        self, low: str, high: str | None, low_end: RegexId, free: RegexId, high_end: RegexId, most_digits: int
    ) -> RegexId:
        """Whole parts low .. high, each followed by the end that belongs to it: equal to low, between, equal to high.

        With low == high the two ends are the same.
        """
        b = self.builder
        if low_end == free and (high is None or high_end == free) and free != b.epsilon:
            return b.concat(self._wholes(low, high, b.epsilon, b.epsilon, b.epsilon, most_digits), free)
        if low == high:
            return b.concat(b.literal(low.encode()), low_end)
        if high is not None and len(low) == len(high):
            return self._between(low, high, low_end, free, high_end)
        parts: list[RegexId] = []
        between: list[RegexId] = []
        if low == "0":
            if low_end == free:
                between.append(self._range(0, 0))
            else:
                parts.append(b.concat(self._range(0, 0), low_end))
            low, low_end = "1", free
        shortest = len(low)
        if low_end != free or low.strip("0") != "1":
            parts.append(self._at_least(low, low_end, free))
            shortest += 1
        longest = most_digits
        if high is not None:
            longest = len(high)
            if high_end != free or high.strip("9"):
                parts.append(self._at_most(high, high_end, free, lowest=1))
                longest -= 1
        if shortest <= longest:
            between.append(b.concat(self._range(1, 9), b.repeat(self.digit, shortest - 1, longest - 1)))
        return b.alternate(*parts, b.concat(b.alternate(*between), free))

    def _at_least(self, text: str, tight: RegexId, free: RegexId) -> RegexId:
        """Digit strings as long as ``text`` and not below it, then ``tight`` where equal and ``free`` where above."""
        for i in range(len(text) - 1, -1, -1):
            left = len(text) - 1 - i
            rest = self._any_digits(left, free)
            if tight == rest and text[i] == "0":
                tight = self._any_digits(left + 1, free)
            else:
                tight = self._digit_step(int(text[i]), tight, int(text[i]) + 1, 9, rest)
        return tight

    def _at_most(self, text: str, tight: RegexId, free: RegexId, lowest: int = 0) -> RegexId:
        """Digit strings as long as ``text`` and not above it; the first digit is ``lowest`` at least."""
        for i in range(len(text) - 1, -1, -1):
            left = len(text) - 1 - i
            first = 0 if i else lowest
            rest = self._any_digits(left, free)
            if tight == rest and text[i] == "9" and first == 0:
                tight = self._any_digits(left + 1, free)
            else:
                tight = self._digit_step(int(text[i]), tight, first, int(text[i]) - 1, rest)
        return tight

    def _between(self, low: str, high: str, low_end: RegexId, free: RegexId, high_end: RegexId) -> RegexId:
        """Digit strings from ``low`` to ``high``, which are as long as each other and differ."""
        b = self.builder
        i = next(i for i in range(len(low)) if low[i] != high[i])
        rest = self._any_digits(len(low) - 1 - i, free)
        below = self._at_least(low[i + 1 :], low_end, free)
        above = self._at_most(high[i + 1 :], high_end, free)
        return b.concat(b.literal(low[:i].encode()), self._fork(int(low[i]), below, int(high[i]), above, rest))

    def _any_digits(self, count: int, then: RegexId) -> RegexId:
        digits = self._digits.get(count)
        if digits is None:
            digits = self._digits[count] = self.builder.repeat(self.digit, count, count)
        return self.builder.concat(digits, then)

    def _digit_step(self, digit: int, tight: RegexId, first: int, last: int, rest: RegexId) -> RegexId:
        """``digit`` then ``tight``, or a digit first .. last then ``rest``."""
        b = self.builder
        if tight == rest:
            return b.concat(self._range(min(first, digit), max(last, digit)), rest)
        equal = b.concat(self._range(digit, digit), tight)
        return equal if first > last else b.alternate(equal, b.concat(self._range(first, last), rest))

    def _fork(self, low: int, below: RegexId, high: int, above: RegexId, rest: RegexId) -> RegexId:
        """low then below, a digit strictly between them then rest, high then above (low < high)."""
        b = self.builder
        first, last = low + 1, high - 1
        parts: list[RegexId] = []
        if below == rest:
            first = low
        else:
            parts.append(b.concat(self._range(low, low), below))
        if above == rest:
            last = high
        else:
            parts.append(b.concat(self._range(high, high), above))
        return b.alternate(*parts, b.concat(self._range(first, last), rest))

    # ---- from the point on ----

    def _tail(self, room: int | None) -> RegexId:
        """Any digits, possibly none; all but the first ``room`` are zeros."""
        tail = self._tails.get(room)
        if tail is None:
            digits = self.builder.repeat(self.digit, 0, room)
            tail = self._tails[room] = digits if room is None else self.builder.concat(digits, self.zeros)
        return tail

    def _end_from(self, bound: str, inclusive: bool, room: int | None) -> RegexId:
        """Fractions (nothing, or a point and digits) that are not below 0.bound, or above it."""
        b = self.builder
        if bound or not inclusive:
            return b.concat(self.point, self._tail_from(bound, 0, inclusive, room))
        if room is None:
            digits = b.repeat(self.digit, 1, None)
        else:
            digits = b.concat(b.repeat(self.digit, 1, room), self.zeros)
        return b.optional(b.concat(self.point, digits))

    def _end_to(self, bound: str, inclusive: bool, room: int | None) -> RegexId:
        """Fractions that are not above 0.bound, or below it."""
        if not bound:
            return self.zero_fraction if inclusive else self.builder.empty
        return self.builder.optional(self.builder.concat(self.point, self._tail_to(bound, 0, inclusive, room)))

    def _end_between(self, low: str, low_inclusive: bool, high: str, high_inclusive: bool, room: int | None) -> RegexId:
        """Fractions between 0.low and 0.high; the range is not empty."""
        b = self.builder
        if low == high:
            if not low:
                return self.zero_fraction
            return b.concat(self.point, b.literal(low.encode()), self.zeros)
        padded = low.ljust(len(high), "0")
        i = next(i for i in range(len(high)) if padded[i] != high[i])
        rest = self._tail(None if room is None else room - i - 1)
        below = self._tail_from(low, i + 1, low_inclusive, room)
        above = self._tail_to(high, i + 1, high_inclusive, room)
        if i + 1 < len(high):
            above = b.optional(above)
        text = self._fork(int(padded[i]), below, int(high[i]), above, rest)
        # The text may end where only zeros of low remain: it is then equal to low.
        for j in range(i, -1, -1):
            if j < i:
                text = b.concat(b.literal(padded[j].encode()), text)
            if low_inclusive and j >= max(len(low), 1):
                text = b.optional(text)
        text = b.concat(self.point, text)
        return b.optional(text) if low_inclusive and not low else text

    def _tail_from(self, bound: str, start: int, inclusive: bool, room: int | None) -> RegexId:
        """Digits after the first ``start``, the text being ``bound`` so far, that keep it from falling below."""
        reached = max(start, len(bound))
        text = self._tail(None if room is None else room - reached) if inclusive else self.nonzero_tail
        for i in range(len(bound) - 1, start - 1, -1):
            rest = self._tail(None if room is None else room - i - 1)
            text = self._digit_step(int(bound[i]), text, int(bound[i]) + 1, 9, rest)
        return text

    def _tail_to(self, bound: str, start: int, inclusive: bool, room: int | None) -> RegexId:
        """Digits after the first ``start``, the text being ``bound`` so far, that keep it from rising above.

        At least one digit, unless ``bound`` is used up.
        """
        text = self.zeros if inclusive else self.builder.empty
        for i in range(len(bound) - 1, start - 1, -1):
            if i < len(bound) - 1:
                text = self.builder.optional(text)
            rest = self._tail(None if room is None else room - i - 1)
            text = self._digit_step(int(bound[i]), text, 0, int(bound[i]) - 1, rest)
        return text

    def _range(self, first: int, last: int) -> RegexId:
        """One digit first .. last; nothing where they cross."""
        known = self._ranges.get((first, last))
        if known is None:
            known = self.builder.empty if first > last else self.builder.byte_range(48 + first, 48 + last)
            self._ranges[first, last] = known
        return known
