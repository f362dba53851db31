"""Python types as schemas: pydantic models, dataclasses, TypedDicts and type hints, through pydantic's JSON Schema.

Pydantic is optional, and imported only for such an argument. A text that the grammar admits is one that the schema
admits; what a model checks in Python code (validators) no schema says, so validate the result with the model.
"""

from __future__ import annotations

import sys
import typing
from typing import Any

from grammar_decode.errors import SchemaError

_INSTALL = "pip install pydantic"


def is_type(value: Any) -> bool:
    """Whether the value is a type, a type hint, or a `pydantic.TypeAdapter`, rather than a schema."""
    if isinstance(value, type) or typing.get_origin(value) is not None:
        return True
    return type(value).__name__ == "TypeAliasType" or _is_adapter(value)


def schema_of(hint: Any) -> dict[str, Any]:
    """The JSON Schema of the texts that pydantic reads as the type, field names by alias.

    Raises SchemaError where there is none, and where pydantic is not installed.
    """
    try:
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
    except ImportError:
        raise SchemaError(f"a type as a schema ({_named(hint)}) needs pydantic", hint=_INSTALL) from None
    try:
        adapter = hint if _is_adapter(hint) else TypeAdapter(hint)
        schema: dict[str, Any] = adapter.json_schema(mode="validation")
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise SchemaError(f"pydantic has no JSON Schema for {_named(hint)}: {error.message}") from error
    return schema


def _is_adapter(value: Any) -> bool:
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(value, pydantic.TypeAdapter)


def _named(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) else repr(hint)
