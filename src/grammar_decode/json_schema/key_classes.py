"""The keys of objects in classes: all keys of a class are the same to every claim of a formula.

Each name that a claim speaks of is a class, and so are the other keys for which the same patterns hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grammar_decode.errors import SchemaTooComplex
from grammar_decode.ir import nodes as ir
from grammar_decode.ir.build import Builder
from grammar_decode.json_schema.claims import (
    STRING,
    Has,
    Keys,
    Lacks,
    Matching,
    Member,
    Most,
    Order,
    Others,
    Some,
    Spelled,
)
from grammar_decode.json_schema.combine import Combiner
from grammar_decode.json_schema.formula import Formula, Formulas
from grammar_decode.json_schema.patterns import apart, strings_of
from grammar_decode.json_schema.strings import Strings, is_text
from grammar_decode.regex.charset import ALL

#: Classes of keys that are told apart by patterns.
MOST_PATTERN_CLASSES = 256

_Predicate = Matching | Spelled


@dataclass(slots=True)
class KeyClass:
    """One class of keys: a name, or the unnamed keys for which exactly the predicates in ``true`` hold."""

    index: int
    name: str | None
    true: frozenset[_Predicate] = frozenset()
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class _KeyPredicate:
    """The language of the keys; the keys, or those left out, where they are few; whether all are in."""

    body: ir.RegexId
    only: tuple[str, ...] | None
    all_but: tuple[str, ...] | None
    everything: bool


class KeyPredicates:
    """What is said of keys in one compilation."""

    def __init__(self, builder: Builder, formulas: Formulas, combiner: Combiner, strings: Strings) -> None:
        self.builder = builder
        self.formulas = formulas
        self.combiner = combiner
        self.strings = strings
        #: The language of all keys.
        self.every_key = builder.repeat(strings.keys.charset(ALL), 0, None)
        self._predicates: dict[_Predicate, _KeyPredicate] = {}

    def __getitem__(self, keys: _Predicate) -> _KeyPredicate:
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


class KeyClasses:
    """The classes that the claims of an object formula tell apart; ``ordered``: names have the ranks of their order."""

    def __init__(self, predicates: KeyPredicates, claims: Iterable[Formula], location: str, *, ordered: bool) -> None:
        self.predicates = predicates
        self.location = location
        self.names: dict[str, KeyClass] = {}
        self.unnamed: list[KeyClass] = []
        self._of: dict[Keys, tuple[int, ...]] = {}
        self._tell_apart(claims, ordered)
        self.all = [*self.names.values(), *self.unnamed]

    def of(self, keys: Keys) -> tuple[int, ...]:
        """The classes of the keys."""
        known = self._of.get(keys)
        if known is None:
            if isinstance(keys, str):
                cls = self.names.get(keys)
                known = () if cls is None else (cls.index,)
            else:
                known = tuple([c.index for c in self.all if self._speaks_of(keys, c)])
            self._of[keys] = known
        return known

    def regex(self, cls: KeyClass) -> ir.RegexId:
        """The language of the keys of an unnamed class; names need not be left out, the IR sees to that."""
        predicates = self.predicates
        builder = predicates.builder
        inside, outside = [], []
        for other in {p: None for c in self.unnamed for p in c.true}:
            known = predicates[other]
            if other in cls.true:
                if known.all_but is None and not known.everything:
                    inside.append(known.body)
            elif not any(_apart(other, mine) for mine in cls.true):
                outside.append(builder.complement(known.body))
        if not inside:
            inside.append(predicates.every_key)
        return builder.intersect(*inside, *outside)

    def _tell_apart(self, claims: Iterable[Formula], ordered: bool) -> None:
        declared: dict[str, None] = {}
        names: dict[str, None] = {}
        predicates: dict[_Predicate, None] = {}
        records = self.predicates.formulas.records
        for claim in claims:
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
        constant, varying = self._constant_and_varying(predicates, names)
        for name in {**declared, **names}:
            if is_text(name):
                self.names[name] = KeyClass(len(self.names), name)
        for true in self._partition(varying):
            self.unnamed.append(KeyClass(len(self.names) + len(self.unnamed), None, true | constant))
        if ordered:
            for rank, name in enumerate(declared):
                if name in self.names:
                    self.names[name].rank = rank

    def _constant_and_varying(
        self, predicates: Iterable[_Predicate], names: dict[str, None]
    ) -> tuple[frozenset[_Predicate], list[_Predicate]]:
        """The predicates that hold for every unnamed key, and those that tell some apart; few keys become names."""
        constant: set[_Predicate] = set()
        varying: list[_Predicate] = []
        for keys in predicates:
            known = self.predicates[keys]
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
            grown = [true | {new} for true in found if not any(_apart(new, old) for old in true)]
            found += grown
            if len(found) > MOST_PATTERN_CLASSES:
                raise SchemaTooComplex(
                    f"patterns of keys overlap in more than {MOST_PATTERN_CLASSES} ways",
                    limit="max_picks",
                    location=self.location,
                )
        return found

    def _speaks_of(self, keys: Keys, cls: KeyClass) -> bool:
        if cls.name is not None:
            return self.predicates.combiner.speaks_of(keys, cls.name)
        if isinstance(keys, str):
            return False
        if isinstance(keys, Others):
            return not any(Matching(pattern) in cls.true for pattern in keys.patterns)
        return keys in cls.true


def _apart(one: _Predicate, other: _Predicate) -> bool:
    return isinstance(one, Matching) and isinstance(other, Matching) and apart(one.pattern, other.pattern)
