"""Every cap on the work that a schema can cause: name, unit, default, reason.

Passing a limit raises :class:`~grammar_decode.errors.SchemaTooComplex`; a limit never changes the language.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The defaults take every schema of the public benchmarks; raise one where your schemas are trusted."""

    #: Schemas inside each other that speak of one value, and nested groups of a pattern: keeps recursion off the stack.
    max_depth: int = 200
    #: Schemas (and parts of a constant) that stand inside each other at all: the time to name a place grows with it.
    max_nesting: int = 1_500
    #: Value nodes of one grammar: bounds memory and the time of the emptiness fixpoint.
    max_nodes: int = 200_000
    #: Claim sets that one key or item class may have (`anyOf` branches that meet on one property).
    max_picks: int = 512
    #: Claims and connectives of the formula of one object or array.
    max_formula: int = 4_096
    #: Nodes of one regular expression after lowering.
    max_regex: int = 200_000
    #: Lazily built automaton states of one grammar and vocabulary.
    max_states: int = 500_000
