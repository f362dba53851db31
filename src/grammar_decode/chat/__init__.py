"""Requests in the form of OpenAI's chat completions: ``response_format``, ``tools`` and ``tool_choice``, as a grammar.

    grammar = compile_chat_request({"tools": tools, "tool_choice": "required"}, ToolFormat.hermes())

What a model writes around JSON differs from model to model: a tool call may stand between ``<tool_call>`` and
``</tool_call>``, the answer behind ``</think>``. These markers are text, or single tokens (:class:`MarkerTokens`). All
of it is one grammar, so masks are exact everywhere: a token that holds the end of a marker and the beginning of the
JSON is allowed if that JSON is, and no step is without a mask.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from grammar_decode.cache import content_of
from grammar_decode.chat.formats import Reasoning, ToolFormat
from grammar_decode.chat.markers import MarkerTokens
from grammar_decode.chat.request import read_request
from grammar_decode.chat.writer import Writer
from grammar_decode.grammar import Grammar, GrammarCache, grammar_cache
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.limits import Limits

__all__ = ["MarkerTokens", "Reasoning", "ToolFormat", "compile_chat_request"]


def compile_chat_request(
    request: Mapping[str, Any],
    tool_format: ToolFormat | None = None,
    *,
    reasoning: Reasoning | None = None,
    markers: MarkerTokens | None = None,
    options: JsonOptions | None = None,
    limits: Limits | None = None,
    cache: GrammarCache | None = grammar_cache,
) -> Grammar | None:
    """The grammar of what may be written in reply to a request, or None where that is any text at all.

    Of ``request``, the body of a chat completion, four fields count; all others are left alone.

    ``response_format``: ``text``, ``json_object`` (an object), or ``json_schema``, which is enforced whether or not it
    says ``strict``. ``tools``: functions, whose ``parameters`` are the schema of the arguments (none: no arguments).
    ``tool_choice``: ``"none"``; ``"required"``, calls and no other text; a named function, one call of it; ``"auto"``
    (the default with tools), the answer as ``response_format`` has it, or calls, with free text before them where the
    answer is text; ``allowed_tools`` chooses among them. ``parallel_tool_calls``: False allows one call only.

    ``tool_format``: how calls are written (by default :meth:`ToolFormat.hermes`). Raises SchemaError and its kinds with
    the place in the request, and TypeError for another argument of a wrong type.

    >>> grammar = compile_chat_request({"response_format": {"type": "json_object"}})
    """
    if not isinstance(request, Mapping):
        raise TypeError(f"the request must be a mapping, not {type(request).__name__}")
    for name, value, expected in (
        ("tool_format", tool_format, ToolFormat),
        ("reasoning", reasoning, Reasoning),
        ("markers", markers, MarkerTokens),
        ("options", options, JsonOptions),
        ("limits", limits, Limits),
        ("cache", cache, GrammarCache),
    ):
        if value is not None and not isinstance(value, expected):
            given = f"{value!r:.60} ({type(value).__name__})"
            raise TypeError(f"{name} must be a {expected.__name__} or None, not {given}")
    tool_format = tool_format or ToolFormat.hermes()
    options, limits = options or JsonOptions(), limits or Limits()
    key: Hashable | None = None
    if cache is not None:
        parts = [request.get(name) for name in ("response_format", "tools", "tool_choice", "parallel_tool_calls")]
        content = content_of(parts)
        key = None if content is None else ("chat", content, tool_format, reasoning, markers, options, limits)
        if key is not None and (known := cache.get(key)) is not None:
            return known
    read = read_request(request)
    if read.answer is None and not read.tools and reasoning is None:
        return None
    grammar = Writer(read, tool_format, reasoning, markers, options, limits).grammar()
    if cache is not None and key is not None:
        cache.add(key, grammar)
    return grammar
