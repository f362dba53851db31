"""Grammars of plain texts, not of JSON: a regular expression, or one of some choices.

The same machinery as for a scalar of a JSON document, without quotes and without whitespace around it.
"""

from __future__ import annotations

from collections.abc import Iterable

from grammar_decode.errors import PatternError, SchemaTooComplex, UnsatisfiableSchema
from grammar_decode.grammar import Grammar
from grammar_decode.ir.build import Builder
from grammar_decode.ir.encode import encode
from grammar_decode.ir.nodes import RegexId, Spacing, Terminal
from grammar_decode.json_schema.report import Report
from grammar_decode.limits import Limits, Work
from grammar_decode.regex import full_match_language
from grammar_decode.regex.charset import utf8

_NO_SPACING = Spacing(0, b",", b":")


def compile_regex(pattern: str, *, limits: Limits | None = None) -> Grammar:
    """The grammar of the texts that an ECMA-262 pattern matches as a whole, without the empty text.

    Raises :class:`PatternError`, also where only the empty text matches; its ``unsupported`` tells what ECMA-262 has
    and this package has not (backreferences). Raises :class:`SchemaTooComplex` past ``limits``.

    >>> grammar = compile_regex("[A-Z]{2}-[0-9]+")
    """
    if not isinstance(pattern, str):
        raise TypeError(f"the pattern must be a string, not {type(pattern).__name__}")
    limits = limits or Limits()
    builder = Builder(_NO_SPACING)
    work = Work(limits)
    builder.watch = work
    if len(pattern) > limits.max_pattern:
        raise SchemaTooComplex(
            f"the pattern has {len(pattern)} characters; at most {limits.max_pattern} are supported",
            limit="max_pattern",
            needed=len(pattern),
        )
    language = full_match_language(builder, pattern, lambda cs: utf8(builder, cs), max_depth=limits.max_depth)
    grammar = _grammar(builder, language, limits)
    if grammar._core_grammar.is_empty(work.seconds_left()):
        raise PatternError("no text matches, the empty one left out", pattern=pattern, offset=0)
    return grammar


def compile_choice(choices: Iterable[str], *, limits: Limits | None = None) -> Grammar:
    """The grammar of the given texts, each as it stands. The empty text can't be one of them.

    Raises :class:`UnsatisfiableSchema` if there are none.

    >>> grammar = compile_choice(["positive", "negative"])
    """
    texts = [choices] if isinstance(choices, str) else list(choices)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"a choice must be a string, not {type(text).__name__}")
    if not texts or "" in texts:
        raise UnsatisfiableSchema("there are no choices" if not texts else "a choice is empty, and no token is")
    builder = Builder(_NO_SPACING)
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise UnsatisfiableSchema(f"a choice is not text: {error}") from None
    return _grammar(builder, builder.literals(encoded), limits or Limits())


def _grammar(builder: Builder, language: RegexId, limits: Limits) -> Grammar:
    not_empty = builder.repeat(builder.byte_class((1 << 256) - 1), 1, None)
    root = builder.add(Terminal(builder.intersect(language, not_empty)))
    grammar_ir = builder.grammar(root)
    return Grammar(encode(grammar_ir), Report(()), grammar_ir.origins, limits)
