"""An object formula becomes a `Members` node: key classes, what always holds folded in, the rest as claims."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from grammar_decode.errors import SchemaTooComplex, UnsupportedSchema
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder
from grammar_decode.json_schema.claims import (
    NEVER,
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
    Unevaluated,
)
from grammar_decode.json_schema.combine import Combiner
from grammar_decode.json_schema.containers import Conditions, IrClaim
from grammar_decode.json_schema.formula import FALSE, TRUE, Formula, Formulas, Or
from grammar_decode.json_schema.patterns import apart, strings_of
from grammar_decode.json_schema.spelling import canonical_bytes
from grammar_decode.json_schema.strings import Strings, is_text
from grammar_decode.limits import Limits
from grammar_decode.regex.charset import ALL

_PLAIN_NAME = re.compile(r"[ !#-\[\]-~]*")
#: Classes of keys that are told apart by patterns.
MOST_PATTERN_CLASSES = 256

_Predicate = Matching | Spelled


@dataclass(slots=True)
class _KeyClass:
    """One class of keys: a name, or the unnamed keys for which exactly the predicates in ``true`` hold.

    ``base`` is what the value of such a member always satisfies.
    """

    name: str | None
    true: frozenset[_Predicate] = frozenset()
    base: dict[Literal, None] = field(default_factory=dict)
    dead: bool = False  # no member of this class can be there
    rank: int | None = None


class _Impossible(Exception):
    """No object satisfies the formula."""


class Objects:
    """Lowers the object formulas of one compilation. ``node`` gives the node of a value, or None for an empty one."""

    def __init__(
        self,
        builder: Builder,
        formulas: Formulas,
        combiner: Combiner,
        strings: Strings,
        node: Callable[[Conjunction], ir.NodeId | None],
        limits: Limits,
        *,
        ordered: bool,
    ) -> None:
        self.builder = builder
        self.formulas = formulas
        self.combiner = combiner
        self.strings = strings
        self.node = node
        self.limits = limits
        self.ordered = ordered
        self._predicates: dict[_Predicate, _KeyPredicate] = {}

    def lower(self, formula: Formula, location: str) -> ir.Members | None:
        """The node of the objects that satisfy the formula, written in one order; None if there are none."""
        try:
            return _ObjectLowering(self, formula, location).members()
        except _Impossible:
            return None

    def predicate(self, keys: _Predicate) -> _KeyPredicate:
        """What a pattern or a propertyNames schema says of keys, worked out once."""
        known = self._predicates.get(keys)
        if known is None:
            known = self._predicates[keys] = self._worked_out(keys)
        return known

    def _worked_out(self, keys: _Predicate) -> _KeyPredicate:
        builder, strings = self.builder, self.strings
        everything = builder.repeat(strings.keys.charset(ALL), 0, None)
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


class _ObjectLowering:
    """One object formula on its way to a node."""

    def __init__(self, owner: Objects, formula: Formula, location: str) -> None:
        self.owner = owner
        self.formulas = owner.formulas
        self.combiner = owner.combiner
        self.location = location
        self.low = 0
        self.high: int | None = None
        self.required: dict[str, None] = {}
        self.declared: dict[str, None] = {}
        self.named: dict[str, dict[Literal, None]] = {}
        self.general: list[Member] = []
        self.rest: list[Formula] = []
        records = self.formulas.records
        if any(isinstance(records[part], Or) for part in self.formulas.conjuncts(formula)):
            formula = self.combiner.canonical_formula(formula)
        if formula == FALSE:
            raise _Impossible
        for part in self.formulas.conjuncts(formula):
            self._fold(part)
        self.names: dict[str, _KeyClass] = {}
        self.unnamed: list[_KeyClass] = []

    # ---- what always holds ----

    def _fold(self, part: Formula) -> None:
        """Take a conjunct in: as a fact if it is one claim, else to the rest."""
        record = self.formulas.records[part]
        if isinstance(record, Member):
            keys = record.keys
            if isinstance(keys, str):
                self.named.setdefault(keys, {})[record.literal] = None
            else:
                self.general.append(record)
        elif isinstance(record, Has):
            self.required[record.name] = None
        elif isinstance(record, Lacks):
            self.named.setdefault(record.name, {})[NEVER] = None
        elif isinstance(record, Order):
            for name in record.names:
                self.declared[name] = None
        elif isinstance(record, CountMin):
            self.low = max(self.low, record.times)
        elif isinstance(record, CountMax):
            self.high = record.times if self.high is None else min(self.high, record.times)
        elif isinstance(record, Unevaluated):
            schema, keyword = self.combiner.reader.origins[part]
            raise UnsupportedSchema(f"{keyword!r} is not enforced yet", location=schema.at(keyword))
        else:
            self.rest.append(part)

    # ---- classes ----

    def _mentioned(self) -> Iterator[Keys]:
        """Every key or set of keys that a claim speaks of."""
        yield from self.declared
        yield from self.named
        yield from self.required
        for member in self.general:
            yield member.keys
        for part in self.rest:
            for claim in self.formulas.claims_of(part):
                record = self.formulas.records[claim]
                if isinstance(record, (Member, Some, Most)):
                    yield record.keys
                elif isinstance(record, (Has, Lacks)):
                    yield record.name
                elif isinstance(record, Order):
                    for name in record.names:
                        self.declared[name] = None
                elif isinstance(record, Unevaluated):
                    self._fold(claim)

    def _classes(self) -> None:
        names: dict[str, None] = {}
        predicates: dict[_Predicate, None] = {}
        mentioned = list(self._mentioned())
        names.update(dict.fromkeys(self.declared))
        for keys in mentioned:
            if isinstance(keys, str):
                names[keys] = None
            elif isinstance(keys, Others):
                names.update(dict.fromkeys(sorted(keys.names - names.keys())))
                predicates.update(dict.fromkeys(Matching(p) for p in keys.patterns))
            else:
                predicates[keys] = None
        constant: set[_Predicate] = set()  # hold for every unnamed key
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
        for name in names:
            if is_text(name):
                self.names[name] = _KeyClass(name)
        self.unnamed = [_KeyClass(None, true | constant) for true in self._partition(varying)]
        if self.owner.ordered:
            for rank, name in enumerate(self.declared):
                if name in self.names:
                    self.names[name].rank = rank

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

    def _classes_of(self, keys: Keys) -> list[_KeyClass]:
        """The classes of the keys that can still appear."""
        if isinstance(keys, str):
            cls = self.names.get(keys)
            return [cls] if cls is not None and not cls.dead else []
        return [cls for cls in self._all_classes() if not cls.dead and self._speaks_of(keys, cls)]

    def _all_classes(self) -> Iterator[_KeyClass]:
        yield from self.names.values()
        yield from self.unnamed

    # ---- settling ----

    def _set_bases(self) -> None:
        for name, literals in self.named.items():
            if name in self.names:
                self.names[name].base.update(literals)
        for member in self.general:
            for cls in self._all_classes():
                if self._speaks_of(member.keys, cls):
                    cls.base[member.literal] = None
        for cls in self._all_classes():
            self._check_dead(cls)
        for name in self.required:
            if name not in self.names or self.names[name].dead:
                raise _Impossible

    def _check_dead(self, cls: _KeyClass) -> None:
        base = cls.base
        if NEVER in base or (len(base) > 1 and self.combiner.nothing(frozenset(base))):
            cls.dead = True
            if cls.name is not None and cls.name in self.required:
                raise _Impossible

    def _settle(self) -> Formula:
        """Simplify the rest by what always holds, which may grow by it; until nothing changes."""
        formulas = self.formulas
        rest = formulas.conjunction(self.rest)
        while True:
            self._check_counts()
            settled = formulas.rewrite(rest, self._settled)
            facts = [part for part in formulas.conjuncts(settled) if self._is_fact(part)]
            if settled == FALSE:
                raise _Impossible
            if not facts and settled == rest:
                return rest
            for part in facts:
                self._take(part)
            rest = formulas.conjunction(part for part in formulas.conjuncts(settled) if part not in facts)

    def _is_fact(self, part: Formula) -> bool:
        return isinstance(self.formulas.records[part], (Member, Has, Lacks, CountMin, CountMax))

    def _take(self, part: Formula) -> None:
        record = self.formulas.records[part]
        if isinstance(record, Member):
            for cls in self._classes_of(record.keys):
                cls.base[record.literal] = None
                self._check_dead(cls)
        elif isinstance(record, Has):
            self.required[record.name] = None
            if record.name not in self.names or self.names[record.name].dead:
                raise _Impossible
        elif isinstance(record, Lacks):
            if record.name in self.names:
                cls = self.names[record.name]
                cls.base[NEVER] = None
                self._check_dead(cls)
        else:
            self._fold(part)

    def _check_counts(self) -> None:
        if self.high is not None and max(self.low, len(self.required)) > self.high:
            raise _Impossible

    def _settled(self, claim: Formula) -> Formula:
        """The claim, or what it comes to under what always holds."""
        record = self.formulas.records[claim]
        if isinstance(record, Member):
            return self._settled_member(claim, record)
        if isinstance(record, Some):
            return self._settled_some(claim, record)
        if isinstance(record, Most):
            open_classes = [c for c in self._classes_of(record.keys) if record.literal not in c.base]
            return claim if open_classes else TRUE
        if isinstance(record, (Has, Lacks)):
            absent = record.name not in self.names or self.names[record.name].dead
            if record.name in self.required or absent:
                return TRUE if isinstance(record, Has) != absent else FALSE
            return claim
        least = max(self.low, len(self.required))
        if isinstance(record, CountMin):
            if record.times <= least:
                return TRUE
            return FALSE if self.high is not None and record.times > self.high else claim
        if isinstance(record, CountMax):
            if record.times < least:
                return FALSE
            return TRUE if self.high is not None and record.times >= self.high else claim
        assert isinstance(record, Order), record
        return TRUE

    def _settled_member(self, claim: Formula, record: Member) -> Formula:
        open_classes = [c for c in self._classes_of(record.keys) if record.literal not in c.base]
        if not open_classes:
            return TRUE
        if isinstance(record.keys, str) and self.combiner.nothing(frozenset((*open_classes[0].base, record.literal))):
            if record.keys in self.required:
                return FALSE
            return self.formulas.claim(Lacks(record.keys))
        return claim

    def _settled_some(self, claim: Formula, record: Some) -> Formula:
        able = [
            c for c in self._classes_of(record.keys) if not self.combiner.nothing(frozenset((*c.base, record.literal)))
        ]
        if not able or (all(c.name is not None for c in able) and len(able) < record.times):
            return FALSE
        return FALSE if self.high is not None and record.times > self.high else claim

    # ---- the node ----

    def members(self) -> ir.Members:
        """The finished node. Raises _Impossible."""
        self._classes()
        self._set_bases()
        rest = self._settle() if self.rest else TRUE
        self._check_counts()
        unnamed = self._merged([cls for cls in self.unnamed if not cls.dead], rest)
        names = list(self.names.values()) if unnamed else [cls for cls in self.names.values() if not cls.dead]
        classes = names + [cls for group, _ in unnamed for cls in group[:1]]
        values: list[tuple[ir.Pick, ...]] = []
        claims: tuple[ir.Claim, ...] = ()
        formula: ir.Formula = True
        node = self.owner.node
        if rest == TRUE:
            for cls in classes:
                value = None if cls.dead else node(frozenset(cls.base))
                values.append(() if value is None else (ir.Pick((), value),))
        else:
            index = {id(cls): i for i, cls in enumerate(names)}
            for i, (group, _) in enumerate(unnamed, len(names)):
                index.update({id(cls): i for cls in group})
            conditions = Conditions(
                self.formulas,
                rest,
                lambda claim: self._translated(claim, index),
                self.combiner.nothing,
                self.owner.limits,
                self.location,
            )
            for i, cls in enumerate(classes):
                values.append(() if cls.dead else conditions.picks(i, frozenset(cls.base), node))
            claims = tuple(known.claim for known in conditions.claims)
            formula = conditions.formula
        required = tuple(sorted(i for i, cls in enumerate(names) if cls.name in self.required))
        high = self.high
        if high is not None and not unnamed and high >= len(names):
            high = None
        return ir.Members(
            names=tuple(_key_bytes(cls.name or "") for cls in names),
            ranks=_dense(cls.rank for cls in names),
            patterns=tuple(regex for _, regex in unnamed),
            values=tuple(values),
            required=required,
            min_count=self.low if self.low > len(required) else 0,
            max_count=high,
            claims=claims,
            formula=formula,
        )

    def _merged(self, unnamed: list[_KeyClass], rest: Formula) -> list[tuple[list[_KeyClass], ir.RegexId]]:
        """Classes of unnamed keys that are treated alike become one."""
        claims = [] if rest == TRUE else list(dict.fromkeys(self.formulas.claims_of(rest)))
        groups: dict[tuple[Conjunction, tuple[bool, ...]], list[_KeyClass]] = {}
        for cls in unnamed:
            said = tuple(self._claim_speaks_of(claim, cls) for claim in claims)
            groups.setdefault((frozenset(cls.base), said), []).append(cls)
        alternate = self.owner.builder.alternate
        return [(group, alternate(*[self._regex(cls) for cls in group])) for group in groups.values()]

    def _claim_speaks_of(self, claim: Formula, cls: _KeyClass) -> bool:
        record = self.formulas.records[claim]
        return isinstance(record, (Member, Some, Most)) and self._speaks_of(record.keys, cls)

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
            inside.append(builder.repeat(self.owner.strings.keys.charset(ALL), 0, None))
        return builder.intersect(*inside, *outside)

    def _translated(self, claim: Formula, index: dict[int, int]) -> IrClaim:
        record = self.formulas.records[claim]
        if isinstance(record, (Has, Lacks)):
            cls = index[id(self.names[record.name])]
            return IrClaim(ir.Has(cls) if isinstance(record, Has) else ir.Lacks(cls), None)
        if isinstance(record, (CountMin, CountMax)):
            count = record.times
            return IrClaim(ir.CountMin(count) if isinstance(record, CountMin) else ir.CountMax(count), None)
        assert isinstance(record, (Member, Some, Most)), record
        classes = self._classes_of(record.keys)
        if not isinstance(record, Some):
            classes = [cls for cls in classes if record.literal not in cls.base]
        ids = tuple(sorted({index[id(cls)] for cls in classes}))
        if isinstance(record, Member):
            return IrClaim(ir.Member(ids), record.literal)
        if isinstance(record, Some):
            return IrClaim(ir.Some(ids, record.times), record.literal)
        return IrClaim(ir.Most(ids, record.times), record.literal)


def _dense(ranks: Iterable[int | None]) -> tuple[int | None, ...]:
    """The ranks with the gaps closed."""
    given = list(ranks)
    order = {rank: i for i, rank in enumerate(sorted(rank for rank in given if rank is not None))}
    return tuple(None if rank is None else order[rank] for rank in given)


def _key_bytes(name: str) -> bytes:
    if _PLAIN_NAME.fullmatch(name):
        return name.encode("ascii")
    return canonical_bytes(name)
