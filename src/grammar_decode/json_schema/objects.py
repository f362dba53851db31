"""An object formula becomes a `Members` node: key classes, what always holds folded in, the rest as claims."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeGuard

from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder
from grammar_decode.json_schema.claims import (
    ALWAYS,
    NEVER,
    NO_LITERALS,
    Conjunction,
    CountMax,
    CountMin,
    Has,
    Lacks,
    Literal,
    Member,
    Most,
    Order,
    Others,
    Some,
)
from grammar_decode.json_schema.combine import Combiner
from grammar_decode.json_schema.containers import (
    MOST_STEPS,
    Conditions,
    Impossible,
    IrClaim,
    NodeOf,
    OnlyPicks,
    Simplifier,
)
from grammar_decode.json_schema.equal_schemas import EqualSchemas
from grammar_decode.json_schema.formula import FALSE, TRUE, And, Formula, Formulas, Or, Record
from grammar_decode.json_schema.key_classes import KeyClass, KeyClasses, KeyPredicates
from grammar_decode.json_schema.spelling import canonical_bytes
from grammar_decode.json_schema.strings import is_text
from grammar_decode.limits import Limits

#: Ways to read one name above which the alternatives are divided by what it may be.
MOST_WAYS = 32
#: Discriminators inside the branches of a discriminator.
MOST_DIVISIONS = 4
#: Claims and connectives up to which dividing may make a formula larger.
MOST_DIVIDED = 1_000

_NO_CLASSES: frozenset[int] = frozenset()
_FACTS = frozenset((Member, Has, Lacks, CountMin, CountMax))


@dataclass(slots=True)
class _Facts:
    """What holds around a part of a formula. Classes and names by their index.

    ``base`` is what the values of a class satisfy, where that is anything; members of ``dead`` classes can't be there.
    """

    base: dict[int, Conjunction] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    required: set[int] = field(default_factory=set)
    low: int = 0
    high: int | None = None


class Objects:
    """Lowers the object formulas of one compilation."""

    def __init__(
        self,
        builder: Builder,
        formulas: Formulas,
        combiner: Combiner,
        equal: EqualSchemas,
        predicates: KeyPredicates,
        limits: Limits,
        *,
        ordered: bool,
    ) -> None:
        self.builder = builder
        self.formulas = formulas
        self.combiner = combiner
        self.equal = equal
        self.predicates = predicates
        self.limits = limits
        self.ordered = ordered
        self.only_pick = OnlyPicks()

    def lower(self, formula: Formula, location: str, node: NodeOf) -> ir.Members | None:
        """The node of the objects that satisfy the formula, written in one order; None if there are none."""
        plain = self._plain(formula, node)
        if plain is not None:
            return plain
        try:
            return _ObjectLowering(self, formula, location).members(node)
        except Impossible:
            return None

    def _plain(self, formula: Formula, node: NodeOf) -> ir.Members | None:
        """The same for the everyday object, in a fraction of the time; None for any other.

        It says at most one thing of the value of each name, which names are required, and one thing of all other keys.
        """
        records = self.formulas.records
        declared: dict[str, None] = {}
        names: dict[str, None] = {}
        said: dict[str, Literal] = {}
        required: dict[str, None] = {}
        others: Member | None = None
        for part in self.formulas.conjuncts(formula):
            record = records[part]
            if isinstance(record, Member):
                keys = record.keys
                if isinstance(keys, str):
                    if keys in said or record.literal == NEVER:
                        return None
                    said[keys] = record.literal
                    names[keys] = None
                elif isinstance(keys, Others) and not keys.patterns and others is None:
                    others = record
                    names.update(dict.fromkeys(sorted(keys.names)))
                else:
                    return None
            elif isinstance(record, Has):
                names[record.name] = required[record.name] = None
            elif isinstance(record, Order):
                declared.update(dict.fromkeys(record.names))
            else:
                return None
        classes = {**declared, **names}
        if others is not None and isinstance(others.keys, Others) and len(others.keys.names) < len(classes):
            return None  # it speaks of names as well
        if not all(name.isascii() or is_text(name) for name in classes):
            return None
        pick, free = self.only_pick, NO_LITERALS
        values = [pick(node(frozenset((said[name],)) if name in said else free)) for name in classes]
        patterns: tuple[ir.RegexId, ...] = ()
        if others is None or others.literal != NEVER:
            patterns = (self.predicates.every_key,)
            values.append(pick(node(free if others is None else frozenset((others.literal,)))))
        ids = {name: i for i, name in enumerate(classes)}
        unranked = (None,) * len(classes)
        return ir.Members(
            names=tuple(map(canonical_bytes, classes)),
            ranks=(*range(len(declared)), *unranked[len(declared) :]) if self.ordered else unranked,
            patterns=patterns,
            values=tuple(values),
            required=tuple(sorted(ids[name] for name in required)),
        )


class _ObjectLowering(Simplifier[_Facts]):
    """One object formula on its way to a node."""

    def __init__(self, owner: Objects, formula: Formula, location: str) -> None:
        super().__init__(owner.formulas)
        self.owner = owner
        self.combiner = owner.combiner
        self.nothing = owner.combiner.contradictions.nothing
        self.location = location
        records = self.formulas.records
        self.plain = not any(isinstance(records[part], Or) for part in self.formulas.conjuncts(formula))
        if not self.plain:
            formula = owner.equal.canonical_formula(formula)
        self.parts = self.formulas.conjuncts(formula)
        claims = self.parts if self.plain else [c for part in self.parts for c in self.formulas.claims_of(part)]
        self.keys = KeyClasses(owner.predicates, claims, location, ordered=owner.ordered)
        self._spoken: dict[Formula, frozenset[int] | None] = {}

    # ---- facts ----

    def is_fact(self, claim: Formula) -> bool:
        return type(self.formulas.records[claim]) in _FACTS

    def copied(self, facts: _Facts) -> _Facts:
        return _Facts(dict(facts.base), set(facts.dead), set(facts.required), facts.low, facts.high)

    def said_around(self, formula: Formula, facts: _Facts) -> Hashable:
        spoken_of = self._spoken_of(formula)
        if spoken_of is None or facts.high is not None:
            return None
        return tuple(map(facts.base.get, spoken_of)), spoken_of & facts.dead, spoken_of & facts.required

    def _spoken_of(self, formula: Formula) -> frozenset[int] | None:
        """The classes that a formula speaks of; None where it counts as well."""
        if formula in self._spoken:
            return self._spoken[formula]
        record = self.formulas.records[formula]
        classes: frozenset[int] | None = _NO_CLASSES
        if isinstance(record, (And, Or)):
            inside = [self._spoken_of(part) for part in record.parts]
            classes = _NO_CLASSES.union(*[part for part in inside if part is not None]) if None not in inside else None
        elif isinstance(record, (Member, Most)):
            classes = frozenset(self.keys.of(record.keys))
        elif isinstance(record, (Has, Lacks)):
            classes = frozenset(self.keys.of(record.name))
        elif not isinstance(record, Order):
            classes = None
        self._spoken[formula] = classes
        return classes

    def add(self, claim: Formula, facts: _Facts) -> bool:
        record = self.formulas.records[claim]
        if isinstance(record, Member):
            literal = record.literal
            for cls in self.keys.of(record.keys):
                if cls in facts.dead:
                    continue
                before = facts.base.get(cls)
                facts.base[cls] = base = frozenset((literal,)) if before is None else before | {literal}
                if literal == NEVER or (before is not None and len(base) > 1 and self.nothing(base)):
                    facts.dead.add(cls)
                    if cls in facts.required:
                        return False
        elif isinstance(record, (Has, Lacks)):
            named = self.keys.names.get(record.name)
            if isinstance(record, Has):
                if named is None or named.index in facts.dead:
                    return False
                facts.required.add(named.index)
            elif named is not None:
                if named.index in facts.required:
                    return False
                facts.dead.add(named.index)
        elif isinstance(record, CountMin):
            facts.low = max(facts.low, record.times)
        else:
            assert isinstance(record, CountMax), record
            facts.high = record.times if facts.high is None else min(facts.high, record.times)
        return facts.high is None or max(facts.low, len(facts.required)) <= facts.high

    def settled(self, claim: Formula, facts: _Facts) -> Formula:
        record = self.formulas.records[claim]
        if isinstance(record, Member):
            return self._settled_member(claim, record, facts)
        if isinstance(record, Some):
            return self._settled_some(claim, record, facts)
        if isinstance(record, Most):
            return TRUE if all(map(self._implied(record, facts), self.keys.of(record.keys))) else claim
        if isinstance(record, (Has, Lacks)):
            named = self.keys.names.get(record.name)
            absent = named is None or named.index in facts.dead
            if absent or (named is not None and named.index in facts.required):
                return TRUE if isinstance(record, Has) != absent else FALSE
            return claim
        least = max(facts.low, len(facts.required))
        if isinstance(record, CountMin):
            if record.times <= least:
                return TRUE
            return FALSE if facts.high is not None and record.times > facts.high else claim
        if isinstance(record, CountMax):
            if record.times < least:
                return FALSE
            return TRUE if facts.high is not None and record.times >= facts.high else claim
        assert isinstance(record, Order), record
        return TRUE

    def _implied(self, claim: Member | Some | Most, facts: _Facts) -> Callable[[int], bool]:
        """Whether the values of a class satisfy the literal of the claim anyway, or can't be there."""

        def implied(cls: int) -> bool:
            base = facts.base.get(cls, NO_LITERALS)
            if cls in facts.dead or claim.literal in base:
                return True
            return bool(base) and not self.plain and self.nothing(base | {claim.literal ^ 1})

        return implied

    def _settled_member(self, claim: Formula, record: Member, facts: _Facts) -> Formula:
        if not isinstance(record.keys, str):
            return TRUE if all(map(self._implied(record, facts), self.keys.of(record.keys))) else claim
        named = self.keys.names.get(record.keys)
        if named is None or named.index in facts.dead:
            return TRUE
        base = facts.base.get(named.index)
        if base is not None:
            nothing, literal = self.nothing, record.literal
            if literal in base or (not self.plain and nothing(base | {literal ^ 1})):
                return TRUE
            decided = literal == NEVER or nothing(base | {literal})
        else:
            decided = record.literal == NEVER
        if decided:
            return FALSE if named.index in facts.required else self.formulas.claim(Lacks(record.keys))
        return claim

    def _settled_some(self, claim: Formula, record: Some, facts: _Facts) -> Formula:
        classes = [cls for cls in self.keys.of(record.keys) if cls not in facts.dead]
        able = [c for c in classes if not self.nothing(facts.base.get(c, NO_LITERALS) | {record.literal})]
        named = all(cls < len(self.keys.names) for cls in able)
        if (named and len(able) < record.times) or (facts.high is not None and record.times > facts.high):
            return FALSE
        if record.literal != ALWAYS and not all(map(self._implied(record, facts), able)):
            return claim
        # What counts is only that the keys are there.
        if sum(cls in facts.required for cls in able) >= record.times:
            return TRUE
        if len(able) + len(facts.dead) == len(self.keys.all):
            return self.formulas.count_min(record.times)
        if named and record.times == 1:
            return self.formulas.disjunction([self.formulas.claim(Has(self.keys.all[c].name or "")) for c in able])
        return claim

    # ---- discriminators ----

    def _divided(self, formula: Formula, facts: _Facts, depth: int) -> Formula:
        """The formula as an or over what a discriminator may be, where its alternatives would multiply otherwise.

        Forty conditions `if kind is k_i then` are forty clauses that all speak of `kind`: as they stand, reading `kind`
        has 2^40 outcomes, nearly all impossible. They tell 41 values of it apart, and for each one come to little.
        """
        choices = [p for p in self.formulas.conjuncts(formula) if isinstance(self.formulas.records[p], Or)]
        if depth == 0 or len(choices) < 2 or self._steps > MOST_STEPS:
            return formula
        for name, literals in self._discriminators(choices):
            kinds = self._kinds(name, literals, facts)
            if kinds is not None:
                member = self.formulas.member
                ways = [[member(name, literal) for literal in kind] for kind in kinds]
                if self.keys.names[name].index not in facts.required:
                    ways.append([self.formulas.claim(Lacks(name))])
                divided = self.formulas.disjunction([self._one_way([*way, formula], facts, depth) for way in ways])
                if self.formulas.size(divided) <= max(2 * self.formulas.size(formula), MOST_DIVIDED):
                    return divided
        return formula

    def _one_way(self, parts: list[Formula], facts: _Facts, depth: int) -> Formula:
        inner = self.copied(facts)
        try:
            taken, rest = self.fold(parts, inner)
        except Impossible:
            return FALSE
        return self.formulas.conjunction([*taken, self._divided(rest, inner, depth - 1)])

    def _discriminators(self, choices: list[Formula]) -> list[tuple[str, list[Literal]]]:
        """The names whose alternatives multiply, worst first, and the literals (unsigned) that speak of each."""
        literals: dict[str, dict[Literal, None]] = {}
        products: dict[str, int] = {}
        for choice in choices:
            here: dict[str, set[Formula]] = {}
            for claim in self.formulas.claims_of(choice):
                record = self.formulas.records[claim]
                if isinstance(record, Member) and isinstance(record.keys, str):
                    here.setdefault(record.keys, set()).add(claim)
                    literals.setdefault(record.keys, {})[record.literal | 1] = None
            for name, claims in here.items():
                products[name] = products.get(name, 1) * (len(claims) + 1)
        ways = {name: min(product, 3 ** len(literals[name])) for name, product in products.items()}
        worst = sorted((name for name in ways if ways[name] > MOST_WAYS), key=lambda name: -ways[name])
        return [(name, list(literals[name])) for name in worst]

    def _kinds(self, name: str, literals: list[Literal], facts: _Facts) -> list[list[Literal]] | None:
        """The values of a name as the literals tell them apart; None if they do not exclude each other."""
        nothing = self.nothing
        base = facts.base.get(self.keys.names[name].index, NO_LITERALS)
        kinds = [base]
        for literal in literals:
            divided = []
            for kind in kinds:
                without = kind | {literal ^ 1}
                if nothing(kind | {literal}) or nothing(without):
                    divided.append(kind)  # it is decided there already
                    continue
                # One literal that implies all that was said says it all.
                implies = all(nothing(base | {literal, told ^ 1}) for told in kind - base)
                divided += [base | {literal} if implies else kind | {literal}, without]
            kinds = divided
            if len(kinds) > 2 * len(literals) + 2:
                return None
        return [sorted(kind - base) for kind in kinds]

    # ---- the node ----

    def members(self, node: NodeOf) -> ir.Members:
        """The finished node. Raises Impossible."""
        facts = _Facts()
        _, rest = self.fold(self.parts, facts)
        if rest != TRUE:
            _, rest = self.fold([self._divided(rest, facts, MOST_DIVISIONS)], facts)
            rest = self.cleaned(rest, facts)
        unnamed = self._merged(facts, rest)
        names = [cls for cls in self.keys.names.values() if unnamed or cls.index not in facts.dead]
        groups = [[cls] for cls in names] + [group for group, _ in unnamed]
        ids = {cls.index: i for i, group in enumerate(groups) for cls in group}
        values: list[tuple[ir.Pick, ...]] = []
        claims: tuple[ir.Claim, ...] = ()
        formula: ir.Formula = True
        conditions = None
        if rest != TRUE:
            conditions = self._conditions(rest, facts, ids)
            claims = tuple(known.claim for known in conditions.claims)
            formula = conditions.formula
        for i, group in enumerate(groups):
            index = group[0].index
            base = facts.base.get(index, NO_LITERALS)
            if index in facts.dead:
                values.append(())
            elif conditions is not None:
                values.append(conditions.picks(i, base, node))
            else:
                values.append(self.owner.only_pick(node(base)))
        high = facts.high
        if high is not None and not unnamed and high >= len(names):
            high = None
        return ir.Members(
            names=tuple(canonical_bytes(cls.name or "") for cls in names),
            ranks=_dense(cls.rank for cls in names),
            patterns=tuple(regex for _, regex in unnamed),
            values=tuple(values),
            required=tuple(sorted(ids[index] for index in facts.required)),
            min_count=facts.low if facts.low > len(facts.required) else 0,
            max_count=high,
            claims=claims,
            formula=formula,
        )

    def _conditions(self, rest: Formula, facts: _Facts, ids: dict[int, int]) -> Conditions:
        def translated(claim: Formula) -> IrClaim:
            return self._translated(claim, facts, ids)

        nothing, limits = self.nothing, self.owner.limits
        return Conditions(self.formulas, rest, translated, nothing, limits, self.location)

    def _merged(self, facts: _Facts, rest: Formula) -> list[tuple[list[KeyClass], ir.RegexId]]:
        """Classes of unnamed keys that are treated alike become one; with its language."""
        spoken = [r.keys for r in map(self.formulas.records.__getitem__, self.formulas.claims_of(rest)) if _has_keys(r)]
        groups: dict[tuple[Conjunction, tuple[bool, ...]], list[KeyClass]] = {}
        for cls in self.keys.unnamed:
            if cls.index not in facts.dead:
                said = tuple(cls.index in self.keys.of(keys) for keys in spoken)
                groups.setdefault((facts.base.get(cls.index, NO_LITERALS), said), []).append(cls)
        alternate = self.owner.builder.alternate
        return [(group, alternate(*[self.keys.regex(cls) for cls in group])) for group in groups.values()]

    def _translated(self, claim: Formula, facts: _Facts, ids: dict[int, int]) -> IrClaim:
        record = self.formulas.records[claim]
        if isinstance(record, (Has, Lacks)):
            cls = ids[self.keys.names[record.name].index]
            return IrClaim(ir.Has(cls) if isinstance(record, Has) else ir.Lacks(cls), None)
        if isinstance(record, (CountMin, CountMax)):
            count = record.times
            return IrClaim(ir.CountMin(count) if isinstance(record, CountMin) else ir.CountMax(count), None)
        assert isinstance(record, (Member, Some, Most)), record
        classes = [cls for cls in self.keys.of(record.keys) if cls not in facts.dead]
        if not isinstance(record, Some):
            classes = [cls for cls in classes if record.literal not in facts.base.get(cls, NO_LITERALS)]
        here = tuple(sorted({ids[cls] for cls in classes}))
        if isinstance(record, Member):
            return IrClaim(ir.Member(here), record.literal)
        if isinstance(record, Some):
            return IrClaim(ir.Some(here, record.times), record.literal)
        return IrClaim(ir.Most(here, record.times), record.literal)


def _has_keys(record: Record) -> TypeGuard[Member | Some | Most]:
    return isinstance(record, (Member, Some, Most))


def _dense(ranks: Iterable[int | None]) -> tuple[int | None, ...]:
    """The ranks with the gaps closed."""
    given = list(ranks)
    order = {rank: i for i, rank in enumerate(sorted(rank for rank in given if rank is not None))}
    return tuple(None if rank is None else order[rank] for rank in given)
