"""XGrammar's options of a JSON Schema, as ours."""

from __future__ import annotations

from typing import Any

from grammar_decode import Grammar, GrammarCache, JsonOptions, compile_json_schema, grammar_cache
from grammar_decode.compat.xgrammar.refusal import refuse


def compile_schema(schema: Any, *, cache: GrammarCache | None = grammar_cache, **options: Any) -> Grammar:
    """Ours of a dict, a text, or a pydantic model. ``strict_mode`` changes nothing: a schema means what it says."""
    ours = _json_options(**options)
    if hasattr(schema, "model_json_schema"):
        schema = schema.model_json_schema()
    return compile_json_schema(schema, ours, cache=cache)


def _json_options(
    *,
    any_whitespace: bool = True,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    max_whitespace_cnt: int | None = None,
    any_order: bool = False,
    strict_mode: bool = True,
    **unknown: Any,
) -> JsonOptions:
    del strict_mode
    if unknown:
        refuse(f"the option {next(iter(unknown))!r}")
    if indent is not None:
        refuse("indentation")
    if max_whitespace_cnt is not None and max_whitespace_cnt < 32 and any_whitespace:
        refuse("another limit of whitespace than 32 bytes")
    if any_whitespace:
        return JsonOptions(whitespace="flexible", key_order="any" if any_order else "schema")
    given = (", ", ": ") if separators is None else tuple(separators)
    if given == (", ", ": "):
        return JsonOptions(whitespace="spaced", key_order="any" if any_order else "schema")
    if given == (",", ":"):
        return JsonOptions(whitespace="compact", key_order="any" if any_order else "schema")
    return refuse(f"the separators {given!r}")
