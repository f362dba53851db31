"""An object formula becomes a `Members` node: key classes, what always holds folded in, the rest as claims."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from grammar_decode.errors import SchemaTooComplex
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder
from grammar_decode.json_schema.claims import (
    ALWAYS,
    NEVER,
    NO_LITERALS,
    STRING,
    Conjunction,
    CountMax,
    CountMin,
    Has,
    Keys,
    Lacks,
    Literal,
    Matching,
    Member,
    Most,
    Order,
    Others,
    Some,
    Spelled,
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
from grammar_decode.json_schema.patterns import apart, strings_of
from grammar_decode.json_schema.spelling import canonical_bytes
from grammar_decode.json_schema.strings import Strings, is_text
from grammar_decode.limits import Limits
from grammar_decode.regex.charset import ALL

#: Classes of keys that are told apart by patterns.
MOST_PATTERN_CLASSES = 256
#: Ways to read one name above which the alternatives are divided by what it may be.
MOST_WAYS = 32
#: Discriminators inside the branches of a discriminator.
MOST_DIVISIONS = 4
#: Claims and connectives up to which dividing may make a formula larger.
MOST_DIVIDED = 1_000

_Predicate = Matching | Spelled
_NO_CLASSES: frozenset[int] = frozenset()
_FACTS = frozenset((Member, Has, Lacks, CountMin, CountMax))


@dataclass(slots=True)
class _KeyClass:
    """One class of keys: a name, or the unnamed keys for which exactly the predicates in ``true`` hold."""

    index: int
    name: str | None
    true: frozenset[_Predicate] = frozenset()
    rank: int | None = None


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
        strings: Strings,
        limits: Limits,
        *,
        ordered: bool,
    ) -> None:
        self.builder = builder
        self.formulas = formulas
        self.combiner = combiner
        self.equal = equal
        self.strings = strings
        self.limits = limits
        self.ordered = ordered
        self.only_pick = OnlyPicks()
        #: The language of all keys.
        self.every_key = builder.repeat(strings.keys.charset(ALL), 0, None)
        self._predicates: dict[_Predicate, _KeyPredicate] = {}

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
            patterns = (self.every_key,)
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

    def predicate(self, keys: _Predicate) -> _KeyPredicate:
        """What a pattern or a propertyNames schema says of keys, worked out once."""
        known = self._predicates.get(keys)
        if known is None:
            known = self._predicates[keys] = self._worked_out(keys)
        return known

    def _worked_out(self, keys: _Predicate) -> _KeyPredicate:
        strings = self.strings
        everything = self.every_key
        if isinstance(keys, Matching):
            body = strings.pattern_body(keys.pattern, strings.keys)
            return _KeyPredicate(body, strings_of(keys.pattern), None, body == everything)
        formula = self.combiner.formula(STRING, keys.literal)
        negation = self.formulas.negate(formula)
        body = strings.body(formula, key=True)
        return _KeyPredicate(body, strings.finite(formula), strings.finite(negation), body == everything)


@dataclass(frozen=True, slots=True)
class _KeyPredicate:
    """The language of the keys; the keys, or those left out, where they are few; whether all are in."""

    body: ir.RegexId
    only: tuple[str, ...] | None
    all_but: tuple[str, ...] | None
    everything: bool


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
        self.names: dict[str, _KeyClass] = {}
        self.unnamed: list[_KeyClass] = []
        self.classes: list[_KeyClass] = []
        self._members: dict[Keys, tuple[int, ...]] = {}
        self._spoken: dict[Formula, frozenset[int] | None] = {}
        self._make_classes()

    # ---- classes ----

    def _make_classes(self) -> None:
        declared: dict[str, None] = {}
        names: dict[str, None] = {}
        predicates: dict[_Predicate, None] = {}
        records = self.formulas.records
        for claim in self.parts if self.plain else self._all_claims():
            record = records[claim]
            if isinstance(record, (Member, Some, Most)):
                keys = record.keys
                if isinstance(keys, str):
                    names[keys] = None
                elif isinstance(keys, Others):
                    names.update(dict.fromkeys(sorted(keys.names)))
                    predicates.update(dict.fromkeys(Matching(p) for p in keys.patterns))
                else:
                    predicates[keys] = None
            elif isinstance(record, (Has, Lacks)):
                names[record.name] = None
            elif isinstance(record, Order):
                declared.update(dict.fromkeys(record.names))
        constant, varying = self._told_apart(predicates, names)
        for name in {**declared, **names}:
            if is_text(name):
                self.names[name] = _KeyClass(len(self.names), name)
        for true in self._partition(varying):
            self.unnamed.append(_KeyClass(len(self.names) + len(self.unnamed), None, true | constant))
        self.classes = [*self.names.values(), *self.unnamed]
        if self.owner.ordered:
            for rank, name in enumerate(declared):
                if name in self.names:
                    self.names[name].rank = rank

    def _all_claims(self) -> Iterator[Formula]:
        for part in self.parts:
            yield from self.formulas.claims_of(part)

    def _told_apart(
        self, predicates: Iterable[_Predicate], names: dict[str, None]
    ) -> tuple[frozenset[_Predicate], list[_Predicate]]:
        """The predicates that hold for every unnamed key, and those that tell some apart; few keys become names."""
        constant: set[_Predicate] = set()
        varying: list[_Predicate] = []
        for keys in predicates:
            known = self.owner.predicate(keys)
            if known.only is not None:
                names.update(dict.fromkeys(known.only))
            elif known.everything:
                constant.add(keys)
            elif known.all_but is not None:
                names.update(dict.fromkeys(known.all_but))
                constant.add(keys)
            else:
                varying.append(keys)
        return frozenset(constant), varying

    def _partition(self, predicates: list[_Predicate]) -> list[frozenset[_Predicate]]:
        """The combinations of predicates that a key may satisfy; those that are plainly impossible left out."""
        found: list[frozenset[_Predicate]] = [frozenset()]
        for new in predicates:
            grown = [true | {new} for true in found if not any(self._apart(new, old) for old in true)]
            found += grown
            if len(found) > MOST_PATTERN_CLASSES:
                raise SchemaTooComplex(
                    f"patterns of keys overlap in more than {MOST_PATTERN_CLASSES} ways",
                    limit="max_picks",
                    location=self.location,
                )
        return found

    def _apart(self, one: _Predicate, other: _Predicate) -> bool:
        return isinstance(one, Matching) and isinstance(other, Matching) and apart(one.pattern, other.pattern)

    def _speaks_of(self, keys: Keys, cls: _KeyClass) -> bool:
        if cls.name is not None:
            return self.combiner.speaks_of(keys, cls.name)
        if isinstance(keys, str):
            return False
        if isinstance(keys, Others):
            return not any(Matching(pattern) in cls.true for pattern in keys.patterns)
        return keys in cls.true

    def _classes_of(self, keys: Keys) -> tuple[int, ...]:
        """The classes of the keys."""
        known = self._members.get(keys)
        if known is None:
            if isinstance(keys, str):
                cls = self.names.get(keys)
                known = () if cls is None else (cls.index,)
            else:
                known = tuple([c.index for c in self.classes if self._speaks_of(keys, c)])
            self._members[keys] = known
        return known

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
            classes = frozenset(self._classes_of(record.keys))
        elif isinstance(record, (Has, Lacks)):
            classes = frozenset(self._classes_of(record.name))
        elif not isinstance(record, Order):
            classes = None
        self._spoken[formula] = classes
        return classes

    def add(self, claim: Formula, facts: _Facts) -> bool:
        record = self.formulas.records[claim]
        if isinstance(record, Member):
            literal = record.literal
            for cls in self._classes_of(record.keys):
                if cls in facts.dead:
                    continue
                before = facts.base.get(cls)
                facts.base[cls] = base = frozenset((literal,)) if before is None else before | {literal}
                if literal == NEVER or (before is not None and len(base) > 1 and self.nothing(base)):
                    facts.dead.add(cls)
                    if cls in facts.required:
                        return False
        elif isinstance(record, (Has, Lacks)):
            named = self.names.get(record.name)
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
            return TRUE if all(map(self._implied(record, facts), self._classes_of(record.keys))) else claim
        if isinstance(record, (Has, Lacks)):
            named = self.names.get(record.name)
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
            return TRUE if all(map(self._implied(record, facts), self._classes_of(record.keys))) else claim
        named = self.names.get(record.keys)
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
        classes = [cls for cls in self._classes_of(record.keys) if cls not in facts.dead]
        able = [c for c in classes if not self.nothing(facts.base.get(c, NO_LITERALS) | {record.literal})]
        named = all(cls < len(self.names) for cls in able)
        if (named and len(able) < record.times) or (facts.high is not None and record.times > facts.high):
            return FALSE
        if record.literal != ALWAYS and not all(map(self._implied(record, facts), able)):
            return claim
        # What counts is only that the keys are there.
        if sum(cls in facts.required for cls in able) >= record.times:
            return TRUE
        if len(able) + len(facts.dead) == len(self.classes):
            return self.formulas.count_min(record.times)
        if named and record.times == 1:
            return self.formulas.disjunction([self.formulas.claim(Has(self.classes[c].name or "")) for c in able])
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
                if self.names[name].index not in facts.required:
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
        base = facts.base.get(self.names[name].index, NO_LITERALS)
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
        names = [cls for cls in self.names.values() if unnamed or cls.index not in facts.dead]
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

    def _merged(self, facts: _Facts, rest: Formula) -> list[tuple[list[_KeyClass], ir.RegexId]]:
        """Classes of unnamed keys that are treated alike become one; with its language."""
        spoken = [r.keys for r in map(self.formulas.records.__getitem__, self.formulas.claims_of(rest)) if _has_keys(r)]
        groups: dict[tuple[Conjunction, tuple[bool, ...]], list[_KeyClass]] = {}
        for cls in self.unnamed:
            if cls.index not in facts.dead:
                said = tuple(cls.index in self._classes_of(keys) for keys in spoken)
                groups.setdefault((facts.base.get(cls.index, NO_LITERALS), said), []).append(cls)
        alternate = self.owner.builder.alternate
        return [(group, alternate(*[self._regex(cls) for cls in group])) for group in groups.values()]

    def _regex(self, cls: _KeyClass) -> ir.RegexId:
        """The language of the keys of an unnamed class; names need not be left out, the IR sees to that."""
        builder, predicate = self.owner.builder, self.owner.predicate
        inside, outside = [], []
        for other in {p: None for c in self.unnamed for p in c.true}:
            known = predicate(other)
            if other in cls.true:
                if known.all_but is None and not known.everything:
                    inside.append(known.body)
            elif not any(self._apart(other, mine) for mine in cls.true):
                outside.append(builder.complement(known.body))
        if not inside:
            inside.append(self.owner.every_key)
        return builder.intersect(*inside, *outside)

    def _translated(self, claim: Formula, facts: _Facts, ids: dict[int, int]) -> IrClaim:
        record = self.formulas.records[claim]
        if isinstance(record, (Has, Lacks)):
            cls = ids[self.names[record.name].index]
            return IrClaim(ir.Has(cls) if isinstance(record, Has) else ir.Lacks(cls), None)
        if isinstance(record, (CountMin, CountMax)):
            count = record.times
            return IrClaim(ir.CountMin(count) if isinstance(record, CountMin) else ir.CountMax(count), None)
        assert isinstance(record, (Member, Some, Most)), record
        classes = [cls for cls in self._classes_of(record.keys) if cls not in facts.dead]
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
