"""The reference matcher: the IR run with plain sets. It is the oracle of the kernel, readable and slow.

Reading order: `regex` (derivatives), `formula` (claims), `containers` (objects and arrays), `frames`, `scalars` and
`values` (what a value can still become: for arrays of distinct items), `emptiness`, `automaton` (threads and steps),
`matcher` (tokens). It depends on `ir` alone.
"""

from grammar_decode.reference.automaton import Automaton
from grammar_decode.reference.matcher import ReferenceMatcher, accepts, is_empty

__all__ = ["Automaton", "ReferenceMatcher", "accepts", "is_empty"]
