"""The reference matcher: the IR run with plain sets. It is the oracle of the kernel, readable and slow.

Reading order: `regex` (derivatives), `formula` (claims), `containers` (objects and arrays), `emptiness`, `automaton`
(threads and steps), `matcher` (tokens). It depends on `ir` alone.
"""

from grammar_decode.reference.automaton import Automaton
from grammar_decode.reference.matcher import ReferenceMatcher, accepts, is_empty

__all__ = ["Automaton", "ReferenceMatcher", "accepts", "is_empty"]
