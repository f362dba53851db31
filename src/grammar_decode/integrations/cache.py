"""Compiled grammars shared between the requests of a server, by the text of the request: no parsing for a known one."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from grammar_decode import Grammar, GrammarCache


def server_cache() -> GrammarCache:
    """Room for the grammars of a server: at most 1,024, with at most 512 MB of states and masks."""
    return GrammarCache(max_grammars=1024, max_bytes=512 << 20)


def cached(cache: GrammarCache, key: Hashable, compile_grammar: Callable[[], Grammar]) -> Grammar:
    """The grammar of ``key``, made now if it is not there. Raises what ``compile_grammar`` raises.

    Two threads may make the same grammar at the same time; both are right, and the later one stays.
    """
    grammar = cache.get(key)
    if grammar is None:
        grammar = compile_grammar()
        cache.add(key, grammar)
    return grammar
