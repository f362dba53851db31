"""What one schema object says, as expressions: formulas, and other schemas that look at the same value.

An *expression* is a formula whose leaves may also be other schemas that look at the same value (`allOf`, `$ref` ...).
Each part of a reading says for which JSON types it holds, because a keyword speaks of values of its own type only.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from grammar_decode.json_schema.claims import EVERY_TYPE, Literal
from grammar_decode.json_schema.formula import Formula


class Apply(NamedTuple):
    """The same value satisfies the literal."""

    literal: Literal


class AllOf(NamedTuple):
    """All of the parts."""

    parts: tuple[Expression, ...]


class AnyOf(NamedTuple):
    """At least one of the parts."""

    parts: tuple[Expression, ...]


class OneOf(NamedTuple):
    """Exactly one of the literals. ``ties``: what else holds of an object that satisfies it, one for each literal."""

    literals: tuple[Literal, ...]
    ties: tuple[Formula, ...] = ()


class Conditional(NamedTuple):
    """``then`` where the condition holds, else ``otherwise``."""

    condition: Literal
    then: Literal
    otherwise: Literal


class Unevaluated(NamedTuple):
    """The keys or items that the schema object of this number does not evaluate satisfy the literal."""

    number: int
    literal: Literal


# A formula is an int, see `formula.py`.
Expression: TypeAlias = Formula | Apply | AllOf | AnyOf | OneOf | Conditional | Unevaluated


class Reading:
    """What one schema object says: the types it admits, and what holds for values of which types.

    ``parts`` are in the order in which keys are written: document order, what always holds before alternatives.
    ``applies`` tells whether one of them is more than a formula. ``alias`` is the literal that a reading which is
    complete only repeats, as a lone ``$ref`` does.
    """

    __slots__ = ("alias", "alternatives", "applies", "parts", "types")

    def __init__(self) -> None:
        self.types = EVERY_TYPE
        self.parts: list[tuple[int, Expression]] = []
        self.alternatives: list[tuple[int, Expression]] = []  # until the schema object is read
        self.applies = False
        self.alias: Literal | None = None

    def of_type(self, json_type: int) -> list[Expression]:
        """What holds for values of the type."""
        return [part for types, part in self.parts if types & json_type]

    def finish(self) -> None:
        """All keywords are read."""
        if self.alternatives:
            self.parts += self.alternatives
        if self.applies and len(self.parts) == 1 and self.types == EVERY_TYPE:
            types, part = self.parts[0]
            if types == EVERY_TYPE and isinstance(part, Apply):
                self.alias = part.literal

    def apply(self, types: int, expression: Expression) -> None:
        """Add what is said through other schemas."""
        several = isinstance(expression, (AnyOf, OneOf, Conditional, Unevaluated))
        (self.alternatives if several else self.parts).append((types, expression))
        self.applies = True
