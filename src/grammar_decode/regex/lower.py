r"""Patterns to the IR: the regular expression of all string contents in which a pattern matches.

The contents are spelled by the caller: ``spell`` maps a set of characters to the regex of how one of them is written.
Spelled characters must form a prefix code, and every language made here is closed under respelling, so that
intersection and complement of spelled languages mean those of the strings.

Assertions look at the whole string, not only at the match, so a node is lowered *with what follows it*: ``lower(node,
K)`` is the language "a match of node, then K". An assertion about the rest is then an intersection:

    $ K = K if K holds the empty string        (?=r) K = (r ALL*) and K        (?!r) K = not (r ALL*) and K

What precedes is a *context*: the start of the string, or the part of a partition of ALL that the last character
lies in. K is a tuple with one language for each context; ``^``, ``\b`` and one-character lookbehinds pick among them.
Other lookbehinds are lowered from right to left: the mirrored tree, with concatenation mirrored too.

An assertion inside a loop has no finite K. Loops of one guarded character, ``((?!foo).)*``, are solved in closed form,
short loops are unrolled, and the rest goes through an explicit automaton (``automaton.py``), exact as well. What
passes the bounds there is refused. Plain parts (``plain.py``) never pay for any of this.
"""

from __future__ import annotations

from typing import TypeAlias

from grammar_decode.errors import PatternError
from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import RegexId
from grammar_decode.limits import Limits
from grammar_decode.regex.automaton import TooManyStates, automaton_language
from grammar_decode.regex.charset import ALL, NONE, WORD, Charset
from grammar_decode.regex.parse import (
    Alternation,
    Ast,
    Begin,
    Boundary,
    Chars,
    End,
    Look,
    Repeat,
    Sequence,
    parse,
)
from grammar_decode.regex.plain import PlainParts, Spell
from grammar_decode.regex.trees import Facts, assertions_in, contexts_of, mirror, single_behind

#: One language for each context.
Languages: TypeAlias = tuple[RegexId, ...]

#: Loops with an assertion inside are unrolled up to this many rounds.
MAX_UNROLLED = 16
#: Assertions inside assertions and alternatives of them: keeps the recursion shallow.
MAX_ASSERTION_DEPTH = 60
#: Height of a tree that goes through the automaton, for the same reason.
MAX_HEIGHT = 150
#: Nodes lowered, counting the rounds of unrolled loops.
MAX_LOWERED = 4_000


def search_language(builder: Builder, pattern: str, spell: Spell, *, max_depth: int = Limits().max_depth) -> RegexId:
    r"""The spelled strings in which ``pattern`` matches somewhere (JSON Schema's reading of a pattern).

    A pattern that matches everywhere gives exactly ``spell(ALL)*``. Raises PatternError; see :func:`parse`, plus
    ``unsupported`` where an assertion inside a loop needs too large an automaton.

    >>> search_language(builder, "^[a-z]+$", lambda cs: utf8(builder, cs))  # the node of [a-z]{1,}
    """
    return _language(builder, pattern, spell, max_depth, search=True)


def full_match_language(
    builder: Builder, pattern: str, spell: Spell, *, max_depth: int = Limits().max_depth
) -> RegexId:
    """The spelled strings that ``pattern`` matches as a whole; else like :func:`search_language`."""
    return _language(builder, pattern, spell, max_depth, search=False)


def _language(builder: Builder, pattern: str, spell: Spell, max_depth: int, *, search: bool) -> RegexId:
    tree = parse(pattern, max_depth)
    facts = Facts(tree)
    if facts.pure[id(tree)]:
        return _Lowering(builder, spell, facts, ()).whole(tree, search)
    if facts.assertion_depth > MAX_ASSERTION_DEPTH:
        raise PatternError("assertions nested too deeply", pattern=pattern, offset=0, unsupported=True)
    try:
        return _Lowering(builder, spell, facts, assertions_in(tree)).whole(tree, search)
    except _NoClosedForm:
        pass
    mirrored = mirror(tree)
    try:
        facts = Facts(mirrored)
        return _Lowering(builder, spell, facts, assertions_in(mirrored), mirrored=True).whole(mirrored, search)
    except _NoClosedForm:
        pass
    if facts.height > MAX_HEIGHT:
        raise PatternError(
            "an assertion inside a repetition, with groups nested too deeply",
            pattern=pattern,
            offset=0,
            unsupported=True,
        )
    try:
        return automaton_language(builder, tree, spell, search=search)
    except TooManyStates as error:
        raise PatternError(str(error), pattern=pattern, offset=0, unsupported=True) from None


class _NoClosedForm(Exception):
    """An assertion stands where this way of lowering has no exact answer."""


class _Lowering:
    """One pattern, one direction. ``mirrored``: the tree is mirrored, and so is every concatenation.

    Context 0 is the start of the string and context i + 1 the characters ``contexts[i]``. Without assertions that look
    back there is the one context 0.
    """

    def __init__(
        self, builder: Builder, spell: Spell, facts: Facts, assertions: tuple[Ast, ...], *, mirrored: bool = False
    ) -> None:
        self.builder = builder
        self.facts = facts
        self.mirrored = mirrored
        parts = PlainParts(builder, spell, mirrored=mirrored)
        self.plain = parts.regex  # of a pure node
        self.chars = parts.chars
        self.contexts = contexts_of(assertions)
        self.count = len(self.contexts) + 1
        self.lowered = 0
        self.kept: list[Ast] = []  # nodes made here, alive as long as the facts about them
        self.all = builder.repeat(spell(ALL), 0, None)
        # Of the languages made here: whether they hold the empty string, and a set with all first characters.
        self.holds_empty: dict[RegexId, bool] = {builder.empty: False, builder.epsilon: True, self.all: True}
        self.firsts: dict[RegexId, Charset] = {builder.empty: NONE, builder.epsilon: NONE, self.all: ALL}

    def whole(self, tree: Ast, search: bool) -> RegexId:
        if not search:
            return self.lower(tree, (self.builder.epsilon,) * self.count)[0]
        anchored = self.anchored(tree)
        if anchored is not None:
            return anchored
        here = self.lower(self.without_nullable_start(tree), (self.all,) * self.count)
        if len(set(here)) == 1:
            return self.cat(self.all, here[0])
        # At the start, or after some character of each context.
        ways = [here[0]]
        for language in dict.fromkeys(here[1:]):
            last = NONE.union(*[cs for cs, k in zip(self.contexts, here[1:], strict=True) if k == language])
            ways.append(self.cat(self.all, self.cat(self.chars(last), language)))
        return self.union(ways)

    def anchored(self, tree: Ast) -> RegexId | None:
        """The common case straight away: a pure body with ``^`` before it, ``$`` after it, or both; else None."""
        parts: tuple[Ast, ...] = tree.parts if isinstance(tree, Sequence) else (tree,)
        begin = bool(parts) and isinstance(parts[0], Begin)
        end = len(parts) > begin and isinstance(parts[-1], End)
        middle = parts[begin : len(parts) - end]
        if not all(self.facts.pure[id(part)] for part in middle):
            return None
        body = self.sequence(list(middle))
        if not begin:
            body = self.without_nullable_start(body)
        if not end:
            body = self.without_nullable_end(body)
        regex = self.plain(body)
        regex = regex if end else self.cat(regex, self.all)
        return regex if begin else self.cat(self.all, regex)

    # -- combinators that keep facts --

    def cat(self, first: RegexId, then: RegexId) -> RegexId:
        if first == self.all == then:
            return first
        return self.builder.concat(then, first) if self.mirrored else self.builder.concat(first, then)

    def note(self, language: RegexId, empty: bool, firsts: Charset) -> RegexId:
        if language in self.firsts:
            firsts = firsts.intersection(self.firsts[language])
        self.holds_empty[language] = empty
        self.firsts[language] = firsts
        return language

    def then(self, node: Ast, regex: RegexId, language: RegexId) -> RegexId:
        """The language "a match of the pure node (whose regex is given), then ``language``"."""
        result = self.cat(regex, language)
        if result == self.all:
            return result
        nullable = self.facts.nullable[id(node)]
        firsts = self.facts.starts(node)
        if nullable:
            firsts = firsts.union(self.firsts[language])
        return self.note(result, nullable and self.holds_empty[language], firsts)

    def union(self, parts: list[RegexId]) -> RegexId:
        if self.all in parts:
            return self.all  # every language here is a subset of it
        result = self.builder.alternate(*parts)
        if result in self.firsts or not all(p in self.firsts for p in parts):
            return result
        return self.note(result, any(self.holds_empty[p] for p in parts), NONE.union(*[self.firsts[p] for p in parts]))

    def both(self, one: RegexId, other: RegexId) -> RegexId:
        if one == self.all or one == other:
            return other
        if other == self.all:
            return one
        firsts = self.firsts[one].intersection(self.firsts[other])
        empty = self.holds_empty[one] and self.holds_empty[other]
        if not firsts:
            return self.builder.epsilon if empty else self.builder.empty
        return self.note(self.builder.intersect(one, other), empty, firsts)

    def without(self, language: RegexId, excluded: RegexId) -> RegexId:
        if excluded == self.builder.empty or language == self.builder.empty:
            return language
        if excluded == self.all or excluded == language:
            return self.builder.empty
        result = self.builder.intersect(language, self.builder.complement(excluded))
        empty = self.holds_empty[language] and not self.holds_empty[excluded]
        return self.note(result, empty, self.firsts[language])

    def restrict_first(self, language: RegexId, cs: Charset, *, or_empty: bool) -> RegexId:
        """The strings of the language that start with a character of the set (or are empty)."""
        first, holds_empty = self.firsts[language], self.holds_empty[language]
        if first.is_subset(cs) and (or_empty or not holds_empty):
            return language
        if first.is_disjoint(cs):
            return self.builder.epsilon if holds_empty and or_empty else self.builder.empty
        allowed = self.note(self.cat(self.chars(cs), self.all), False, cs)
        if or_empty:
            allowed = self.union([allowed, self.builder.epsilon])
        return self.both(allowed, language)

    # -- simplification at a free end: r{m,n} ALL* = r{m} ALL*, and r ALL* = ALL* where r is nullable --

    def without_nullable_start(self, tree: Ast) -> Ast:
        """What is left to find when anything may precede."""
        parts: list[Ast] = list(tree.parts) if isinstance(tree, Sequence) else [tree]
        start = 0
        while start < len(parts) and self.facts.pure[id(parts[start])] and self.facts.nullable[id(parts[start])]:
            start += 1
        parts = parts[start:]
        if parts:
            parts[0] = self.shortest_counts(parts[0])
        return self.sequence(parts)

    def without_nullable_end(self, tree: Ast) -> Ast:
        """What is left to find when anything may follow; the tree is pure."""
        parts: list[Ast] = list(tree.parts) if isinstance(tree, Sequence) else [tree]
        while parts and self.facts.nullable[id(parts[-1])]:
            parts.pop()
        if parts:
            parts[-1] = self.shortest_counts(parts[-1])
        return self.sequence(parts)

    def shortest_counts(self, node: Ast) -> Ast:
        if not isinstance(node, Repeat) or node.maximum == node.minimum or not self.facts.pure[id(node)]:
            return node
        if node.minimum == 1:
            return node.part
        return self.new(Repeat(node.part, node.minimum, node.minimum))

    def sequence(self, parts: list[Ast]) -> Ast:
        return parts[0] if len(parts) == 1 else self.new(Sequence(tuple(parts)))

    def new(self, node: Ast) -> Ast:
        self.kept.append(node)
        self.facts.add(node)
        return node

    # -- the node, then K --

    def lower(self, node: Ast, k: Languages) -> Languages:
        """The languages "a match of node, then k", one for each context before the node."""
        self.lowered += 1
        if self.lowered > MAX_LOWERED:
            raise _NoClosedForm
        if self.facts.pure[id(node)]:
            return self.lower_pure(node, k)
        if isinstance(node, Sequence):
            return self.lower_sequence(node, k)
        if isinstance(node, Alternation):
            return self.lower_alternation(node, k)
        if isinstance(node, Repeat):
            return self.lower_repeat(node, k)
        if isinstance(node, Begin):
            return (k[0],) + (self.builder.empty,) * (self.count - 1)
        if isinstance(node, End):
            return tuple(self.builder.epsilon if self.holds_empty[x] else self.builder.empty for x in k)
        if isinstance(node, Boundary):
            return self.lower_boundary(node, k)
        assert isinstance(node, Look)
        return self.lower_behind(node, k) if node.behind else self.lower_ahead(node, k)

    def lower_pure(self, node: Ast, k: Languages) -> Languages:
        if k == (self.all,) * self.count:
            node = self.without_nullable_end(node)
        if len(set(k)) == 1:
            return (self.then(node, self.plain(node), k[0]),) * self.count
        # The last character of the match decides which K goes on.
        ways = []
        for language in dict.fromkeys(k[1:]):
            last = NONE.union(*[cs for cs, x in zip(self.contexts, k[1:], strict=True) if x == language])
            regex = self.ending(node, last)
            result = self.cat(regex, language)
            ways.append(self.note(result, False, self.facts.starts(node) if result != self.builder.empty else NONE))
        after = self.union(ways)
        if not self.facts.nullable[id(node)]:
            return (after,) * self.count
        return tuple(self.union([after, x]) for x in k)

    def ending(self, node: Ast, last: Charset) -> RegexId:
        """The non-empty matches of a pure node whose last character is in the set."""
        nullable = self.facts.nullable[id(node)]
        ends = self.facts.ends(node)
        if ends.is_disjoint(last):
            return self.builder.empty
        if isinstance(node, Chars):
            return self.chars(node.charset.intersection(last))
        if ends.is_subset(last) and not nullable:
            return self.plain(node)
        if isinstance(node, Repeat) and isinstance(node.part, Chars):
            return self.ending_run(node.part, node.minimum, node.maximum, last)
        if isinstance(node, Sequence) and not self.facts.nullable[id(node.parts[-1])]:
            head = self.sequence(list(node.parts[:-1]))
            return self.cat(self.plain(head), self.ending(node.parts[-1], last))
        return self.builder.intersect(self.plain(node), self.cat(self.all, self.chars(last)))

    def ending_run(self, chars: Chars, minimum: int, maximum: int | None, last: Charset) -> RegexId:
        before = self.builder.repeat(self.plain(chars), max(minimum - 1, 0), None if maximum is None else maximum - 1)
        return self.cat(before, self.chars(chars.charset.intersection(last)))

    def lower_sequence(self, node: Sequence, k: Languages) -> Languages:
        run: list[Ast] = []  # pure parts not yet lowered, last first
        for part in reversed(node.parts):
            if self.facts.pure[id(part)]:
                run.append(part)
                continue
            if run:
                k = self.lower_pure(self.sequence(run[::-1]), k)
                run = []
            k = self.lower(part, k)
        return self.lower_pure(self.sequence(run[::-1]), k) if run else k

    def lower_alternation(self, node: Alternation, k: Languages) -> Languages:
        pure = [part for part in node.parts if self.facts.pure[id(part)]]
        results = [self.lower(part, k) for part in node.parts if not self.facts.pure[id(part)]]
        if len(pure) > 1:
            results.append(self.lower_pure(self.new(Alternation(tuple(pure))), k))
        elif pure:
            results.append(self.lower_pure(pure[0], k))
        return tuple(self.union([r[i] for r in results]) for i in range(self.count))

    def lower_boundary(self, node: Boundary, k: Languages) -> Languages:
        out = []
        for i, language in enumerate(k):
            after_word = i > 0 and self.contexts[i - 1].is_subset(WORD)
            if after_word == node.negated:
                out.append(self.restrict_first(language, WORD, or_empty=False))
            else:
                out.append(self.restrict_first(language, WORD.complement(), or_empty=True))
        return tuple(out)

    def lower_behind(self, node: Look, k: Languages) -> Languages:
        single = single_behind(node.part)
        if single is None:
            raise _NoClosedForm
        cs, start = single
        holds = [start, *[part.is_subset(cs) for part in self.contexts]]
        return tuple(x if holds[i] != node.negated else self.builder.empty for i, x in enumerate(k))

    def lower_ahead(self, node: Look, k: Languages) -> Languages:
        seen = self.lower(node.part, (self.all,) * self.count)
        if node.negated:
            return tuple(self.without(x, s) for x, s in zip(k, seen, strict=True))
        return tuple(self.both(s, x) for x, s in zip(k, seen, strict=True))

    # -- loops with assertions inside --

    def lower_repeat(self, node: Repeat, k: Languages) -> Languages:
        minimum, maximum = node.minimum, node.maximum
        everything = (self.all,) * self.count
        if k == everything:
            maximum = minimum  # what follows a shorter loop may be anything
        else:
            guarded = self.lower_guarded_run(node, k)
            if guarded is not None:
                return guarded
        if maximum is None or maximum > MAX_UNROLLED:
            raise _NoClosedForm
        result = k
        for round_ in range(maximum, 0, -1):
            again = self.lower(node.part, result)
            result = again if round_ <= minimum else tuple(self.union([a, x]) for a, x in zip(again, k, strict=True))
        return result

    def lower_guarded_run(self, node: Repeat, k: Languages) -> Languages | None:
        """``(?:(?!r)c)*`` for a single character c, where no string of k starts with a c; None if it isn't that.

        The run is then all of the leading c, so its guards hold everywhere unless some position of it fails:
        ``c* K`` without ``c* (c ALL* and not guard)``.
        """
        parts = node.part.parts if isinstance(node.part, Sequence) else ()
        if len(parts) < 2 or not isinstance(parts[-1], Chars):
            return None
        guards = [part for part in parts[:-1] if isinstance(part, Look) and not part.behind]
        step = parts[-1]
        if len(guards) != len(parts) - 1 or not all(self.firsts[x].is_disjoint(step.charset) for x in k):
            return None
        anything = (self.all,) * self.count
        here = self.note(self.cat(self.plain(step), self.all), False, step.charset)
        failures = []
        for guard in guards:
            seen = self.lower(guard.part, anything)
            if len(set(seen)) > 1:
                return None
            failures.append(self.both(seen[0], here) if guard.negated else self.without(here, seen[0]))
        run = self.new(Repeat(step, 0, None))
        fails = self.union(failures)
        if fails != self.builder.empty:
            fails = self.then(run, self.plain(run), fails)
        plain_run = self.new(Repeat(step, node.minimum, node.maximum))
        return tuple(self.without(x, fails) for x in self.lower_pure(plain_run, k))
