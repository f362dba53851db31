"""Exact decimal arithmetic for the bounds and divisors of a schema.

The operators of :class:`decimal.Decimal`, the unary minus too, round to the precision of a context; nothing here does.
Constructors, comparison and ``copy_*`` are exact, everything else goes through integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from math import gcd

ZERO = Decimal(0)
#: The largest finite double; JSON numbers above it are read as infinity by most parsers.
MAX_DOUBLE = Decimal("1.7976931348623157e308")
MIN_DOUBLE = MAX_DOUBLE.copy_negate()


def exact(value: int | float | Decimal) -> Decimal:
    """The number that a JSON text spells; a float is the decimal of its shortest spelling (0.1 is 1/10).

    Floats that are not finite (``1e400`` read by Python) give an infinite Decimal.
    """
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def is_finite(value: int | float | Decimal) -> bool:
    """Whether the value is a number at all. An int always is, also one that is too large for a float."""
    return isinstance(value, int) or math.isfinite(value)


def _scaled(value: Decimal) -> tuple[int, int]:
    """(n, s) with value = n * 10**s."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "not a finite number"
    coefficient = int(Decimal((0, digits, 0)))
    return (-coefficient if sign else coefficient), exponent


def shift(value: Decimal, places: int) -> Decimal:
    """value * 10**places."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "not a finite number"
    return Decimal((sign, digits, exponent + places))


def texts(value: Decimal) -> tuple[str, str]:
    """The digits of |value| before the point ("0" at least) and after it (without trailing zeros)."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "not a finite number"
    text = "".join(map(str, digits))
    if exponent >= 0:
        return (text + "0" * exponent).lstrip("0") or "0", ""
    text = text.rjust(1 - exponent, "0")
    return text[:exponent].lstrip("0") or "0", text[exponent:].rstrip("0")


def magnitude_order(value: Decimal) -> int:
    """e with 10**e <= |value| < 10**(e + 1), for a value other than zero."""
    return value.adjusted()


def floor_grid(value: Decimal, places: int) -> int:
    """The largest n with n * 10**-places <= value."""
    n, s = _scaled(value)
    s += places
    result: int = n * 10**s if s >= 0 else n // 10**-s
    return result


def ceil_grid(value: Decimal, places: int) -> int:
    """The smallest n with n * 10**-places >= value."""
    return -floor_grid(value.copy_negate(), places)


def divisor(value: Decimal) -> tuple[int, int]:
    """(m, k) with value = m * 10**-k and m no multiple of 10; the value is above zero."""
    n, s = _scaled(value)
    assert n > 0, "a divisor is above zero"
    while n % 10 == 0:
        n //= 10
        s += 1
    return n, -s


def is_multiple(value: Decimal, d: Decimal) -> bool:
    """Whether value is a multiple of d, which is not zero."""
    (n, s), (m, t) = _scaled(value), _scaled(d)
    places = min(s, t)
    rest: int = n * 10 ** (s - places) % (m * 10 ** (t - places))
    return rest == 0


def remaining_divisor(d: Decimal, step: Decimal) -> Decimal:
    """The smallest number that divides the same multiples of the step as d does; all above zero.

    It has the powers of primes of which d has more than the step.

    >>> remaining_divisor(Decimal(12), Decimal(6))
    Decimal('4')
    """
    (n, s), (m, t) = _scaled(d), _scaled(step)
    places = min(s, t)
    n *= 10 ** (s - places)
    common = n
    more = n // gcd(n, m * 10 ** (t - places))
    while (shared := gcd(common, more)) > 1:
        common //= shared
    return shift(Decimal(n // common), places)


def least_common_multiple(values: Iterable[Decimal]) -> Decimal:
    """The smallest number above zero that is a multiple of every value; at least one value, all above zero."""
    scaled = [_scaled(v) for v in values]
    lowest = min(s for _, s in scaled)
    result = 1
    for n, s in scaled:
        n *= 10 ** (s - lowest)
        result = result // gcd(result, n) * n
    return shift(Decimal(result), lowest)
