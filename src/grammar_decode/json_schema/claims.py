"""Claims: what a schema says about one value, in pieces whose negations are claims again (DESIGN 3).

A *literal* is a schema with a sign: ``2 * number + 1`` says that a value satisfies schema ``number`` of the document,
``2 * number`` that it does not. Schema 0 is ``true``, hence :data:`NEVER` and :data:`ALWAYS`. A *conjunction* is a
frozenset of literals, all of which hold.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple, TypeAlias

Literal: TypeAlias = int
NEVER: Literal = 0
ALWAYS: Literal = 1
Conjunction: TypeAlias = frozenset[Literal]
NO_LITERALS: Conjunction = frozenset()

# ---- JSON types, as bits --------------------------------------------------------------------------------------------

NULL, BOOLEAN, NUMBER, STRING, ARRAY, OBJECT = 1, 2, 4, 8, 16, 32
TYPES = (NULL, BOOLEAN, NUMBER, STRING, ARRAY, OBJECT)
EVERY_TYPE = 63

# ---- keys: which members of an object a claim speaks of -------------------------------------------------------------


class Matching(NamedTuple):
    """The keys that a pattern matches."""

    pattern: str


class Others(NamedTuple):
    """The keys that are none of the names and match none of the patterns."""

    names: frozenset[str]
    patterns: tuple[str, ...]


class Spelled(NamedTuple):
    """The keys that, as strings, satisfy the literal."""

    literal: Literal


Keys: TypeAlias = str | Matching | Others | Spelled

# ---- objects --------------------------------------------------------------------------------------------------------


class Member(NamedTuple):
    """The value of every member with such a key satisfies the literal."""

    keys: Keys
    literal: Literal


class Some(NamedTuple):
    """At least ``times`` members with such keys have values that satisfy the literal."""

    keys: Keys
    literal: Literal
    times: int


class Most(NamedTuple):
    """At most ``times`` members with such keys have values that do not satisfy the literal."""

    keys: Keys
    literal: Literal
    times: int


class Has(NamedTuple):
    """The object has a member of that name."""

    name: str


class Lacks(NamedTuple):
    """The object has no member of that name."""

    name: str


class Order(NamedTuple):
    """Says nothing of the value: the names, where they occur, are written in this order."""

    names: tuple[str, ...]


# ---- arrays ---------------------------------------------------------------------------------------------------------


class Item(NamedTuple):
    """The item at the place, if there is one, satisfies the literal."""

    place: int
    literal: Literal


class Rest(NamedTuple):
    """Every item from the start on satisfies the literal."""

    start: int
    literal: Literal


class SomeItem(NamedTuple):
    """At least ``times`` items from the start on satisfy the literal."""

    start: int
    literal: Literal
    times: int


class MostItem(NamedTuple):
    """At most ``times`` items from the start on do not satisfy the literal."""

    start: int
    literal: Literal
    times: int


class Unique(NamedTuple):
    """No two items are equal; or, where not ``positive``, two are."""

    positive: bool


# ---- objects and arrays ---------------------------------------------------------------------------------------------


class CountMin(NamedTuple):
    """At least ``times`` members or items."""

    times: int


class CountMax(NamedTuple):
    """At most ``times`` members or items."""

    times: int


# ---- scalars --------------------------------------------------------------------------------------------------------


class Truth(NamedTuple):
    """The boolean is this one."""

    value: bool


class Bound(NamedTuple):
    """The number is above (``upper`` False) or below the value, or equal to it where ``inclusive``."""

    value: Decimal
    upper: bool
    inclusive: bool


class Integral(NamedTuple):
    """The number is an integer in value; or, where not ``positive``, is not."""

    positive: bool


class Multiple(NamedTuple):
    """The number is an integer multiple of the divisor; or is not."""

    divisor: Decimal
    positive: bool


class OneNumber(NamedTuple):
    """The number is one of the values, as the schema wrote them; or none of them."""

    values: tuple[int | float | Decimal, ...]
    positive: bool


class Length(NamedTuple):
    """The string has ``minimum`` to ``maximum`` code points."""

    minimum: int
    maximum: int | None


class Pattern(NamedTuple):
    """The pattern matches somewhere in the string; or does not."""

    pattern: str
    positive: bool


class Text(NamedTuple):
    """The string is one of the values; or none of them."""

    values: tuple[str, ...]
    positive: bool


class Format(NamedTuple):
    """The string has the format; or has not."""

    name: str
    positive: bool


ObjectClaim: TypeAlias = Member | Some | Most | Has | Lacks | CountMin | CountMax | Order
ArrayClaim: TypeAlias = Item | Rest | SomeItem | MostItem | CountMin | CountMax | Unique
NumberClaim: TypeAlias = Bound | Integral | Multiple | OneNumber
StringClaim: TypeAlias = Length | Pattern | Text | Format
Claim: TypeAlias = ObjectClaim | ArrayClaim | NumberClaim | StringClaim | Truth
