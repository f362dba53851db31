"""Formulas over claims: projection, rewriting, end value. The table in ``ir.nodes`` is what is implemented here.

A leaf carries its claim as it stands now (its counts and classes change as entries are read) with the claim's index,
which is what picks name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from grammar_decode.ir import nodes as ir


@dataclass(frozen=True, slots=True)
class Leaf:
    """Claim number ``index``, in its present form."""

    index: ir.ClaimId
    claim: ir.Claim


@dataclass(frozen=True, slots=True)
class Both:
    """All of at least two parts, none of them a bool or a Both."""

    parts: frozenset[Formula]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of at least two parts, none of them a bool or an Either."""

    parts: frozenset[Formula]


Formula: TypeAlias = bool | Leaf | Both | Either
ClaimSet: TypeAlias = frozenset[ir.ClaimId]

NO_CLAIMS: ClaimSet = frozenset()


def both(parts: Iterable[Formula]) -> Formula:
    """The conjunction."""
    flat: set[Formula] = set()
    for part in parts:
        flat.update(part.parts if isinstance(part, Both) else (part,))
    flat.discard(True)
    if False in flat:
        return False
    if len(flat) <= 1:
        return flat.pop() if flat else True
    return Both(frozenset(flat))


def either(parts: Iterable[Formula]) -> Formula:
    """The disjunction."""
    flat: set[Formula] = set()
    for part in parts:
        flat.update(part.parts if isinstance(part, Either) else (part,))
    flat.discard(False)
    if True in flat:
        return True
    if len(flat) <= 1:
        return flat.pop() if flat else False
    return Either(frozenset(flat))


def from_ir(formula: ir.Formula, claims: tuple[ir.Claim, ...]) -> Formula:
    """The formula of a container, with the claims put in."""
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, int):
        return Leaf(formula, claims[formula])
    parts = [from_ir(part, claims) for part in formula.parts]
    return both(parts) if isinstance(formula, ir.And) else either(parts)


def leaves(formula: Formula) -> Iterator[Leaf]:
    """Every leaf."""
    if isinstance(formula, Leaf):
        yield formula
    elif not isinstance(formula, bool):
        for part in formula.parts:
            yield from leaves(part)


def _replace_leaves(formula: Formula, new: Callable[[Leaf], Formula]) -> Formula:
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, Leaf):
        return new(formula)
    parts = [_replace_leaves(part, new) for part in formula.parts]
    return both(parts) if isinstance(formula, Both) else either(parts)


def project(formula: Formula, cls: ir.ClassId) -> frozenset[ClaimSet]:
    """The claim sets that an entry of class ``cls`` may rely on."""
    if isinstance(formula, bool):
        return frozenset((NO_CLAIMS,)) if formula else frozenset()
    if isinstance(formula, Leaf):
        return _project_leaf(formula, cls)
    projections = [project(part, cls) for part in formula.parts]
    if isinstance(formula, Either):
        return frozenset().union(*projections)
    result = frozenset((NO_CLAIMS,))
    for projection in projections:
        result = frozenset(a | b for a in result for b in projection)
    return result


def _project_leaf(leaf: Leaf, cls: ir.ClassId) -> frozenset[ClaimSet]:
    itself = frozenset((leaf.index,))
    if isinstance(leaf.claim, ir.Member) and cls in leaf.claim.classes:
        return frozenset((itself,))
    if isinstance(leaf.claim, (ir.Some, ir.Most)) and cls in leaf.claim.classes:
        return frozenset((NO_CLAIMS, itself))
    return frozenset((NO_CLAIMS,))


def after_entry(formula: Formula, cls: ir.ClassId, picked: ClaimSet) -> Formula:
    """The formula for the rest of the container, once an entry of ``cls`` was read with ``picked``."""
    return _replace_leaves(formula, lambda leaf: _leaf_after_entry(leaf, cls, leaf.index in picked))


def _leaf_after_entry(leaf: Leaf, cls: ir.ClassId, picked: bool) -> Formula:
    claim = leaf.claim
    if isinstance(claim, ir.Has):
        return True if claim.cls == cls else leaf
    if isinstance(claim, ir.Lacks):
        return False if claim.cls == cls else leaf
    if isinstance(claim, ir.CountMin):
        return Leaf(leaf.index, ir.CountMin(claim.count - 1)) if claim.count > 1 else True
    if isinstance(claim, ir.CountMax):
        return Leaf(leaf.index, ir.CountMax(claim.count - 1)) if claim.count > 0 else False
    if cls not in claim.classes:
        return leaf
    if isinstance(claim, ir.Member):
        return leaf if picked else False
    if isinstance(claim, ir.Some):
        if not picked:
            return leaf
        return Leaf(leaf.index, replace(claim, count=claim.count - 1)) if claim.count > 1 else True
    if picked:
        return leaf
    return Leaf(leaf.index, replace(claim, count=claim.count - 1)) if claim.count > 0 else False


def without_classes(formula: Formula, gone: frozenset[ir.ClassId]) -> Formula:
    """The same formula, when no entry of the classes ``gone`` can come any more."""
    if not gone:
        return formula
    return _replace_leaves(formula, lambda leaf: _leaf_without_classes(leaf, gone))


def _leaf_without_classes(leaf: Leaf, gone: frozenset[ir.ClassId]) -> Formula:
    claim = leaf.claim
    if isinstance(claim, ir.Has):
        return False if claim.cls in gone else leaf
    if isinstance(claim, ir.Lacks):
        return True if claim.cls in gone else leaf
    if isinstance(claim, (ir.CountMin, ir.CountMax)) or gone.isdisjoint(claim.classes):
        return leaf
    classes = tuple(c for c in claim.classes if c not in gone)
    return Leaf(leaf.index, replace(claim, classes=classes)) if classes else _end_value(claim)


def _end_value(claim: ir.Claim) -> bool:
    return isinstance(claim, (ir.Member, ir.Most, ir.Lacks, ir.CountMax))


def at_end(formula: Formula) -> bool:
    """Whether the container may close now, as far as the formula goes."""
    return _replace_leaves(formula, lambda leaf: _end_value(leaf.claim)) is True


def speaks_of(formula: Formula, cls: ir.ClassId) -> bool:
    """Whether some claim tells entries of this class from others."""
    return any(_speaks_of(leaf.claim, cls) for leaf in leaves(formula))


def _speaks_of(claim: ir.Claim, cls: ir.ClassId) -> bool:
    if isinstance(claim, (ir.Has, ir.Lacks)):
        return claim.cls == cls
    return not isinstance(claim, (ir.CountMin, ir.CountMax)) and cls in claim.classes


def wants_entries(formula: Formula) -> bool:
    """Whether some claim asks for a number of entries, of whatever class."""
    return any(isinstance(leaf.claim, ir.CountMin) for leaf in leaves(formula))
