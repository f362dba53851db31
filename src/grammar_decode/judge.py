"""The independent judge of a finished document: the `jsonschema` package, where it is installed.

It shares no code with the compiler, so its verdict on what a model wrote under a mask means something. Numbers are
compared as the decimals that were written: in binary floating point, 0.3 would not be a multiple of 0.1.
"""

from __future__ import annotations

import decimal
import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

#: The longest number, in digits before its point, that is turned into an exact integer.
_MAX_INTEGER_DIGITS = 400
#: Remainders of the longest numbers are exact.
_CONTEXT = decimal.Context(prec=3_000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def judge_of(
    schema: Any, resources: Mapping[str, Any] | None = None, *, openapi: bool = False
) -> Callable[[str], bool | None] | None:
    """Return a function that says whether a JSON text is valid under `schema`.

    None without `jsonschema`, and for a schema that it reads otherwise than we do: with keywords of OpenAPI, wrong by
    its dialect (which we understand nevertheless), or with a pattern that means something else to Python. The function
    returns None where the package can't judge. `schema` is JSON text or a parsed schema; `resources` are further
    schemas by URI, as for `compile_json_schema`. Text that is not JSON is not valid. `format` is not asserted.
    """
    try:
        from jsonschema.validators import validator_for
        from referencing import Registry, Resource
        from referencing.jsonschema import DRAFT202012
    except ImportError:
        return None
    text = schema if isinstance(schema, str) else json.dumps(schema)
    exact = json.loads(text, parse_float=_exact)
    if openapi or any(map(_has_doubtful_pattern, (exact, *(resources or {}).values()))):
        return None
    registry: Any = Registry().with_resources(
        (uri, Resource.from_contents(contents, default_specification=DRAFT202012))
        for uri, contents in (resources or {}).items()
    )
    try:
        checked = validator_for(exact)
        checked.check_schema(exact)
    except Exception:  # SchemaError, and whatever else the package meets in a schema that is wrong by its own rules
        return None
    validator = checked(exact, registry=registry)

    def judge(document: str) -> bool | None:
        try:
            value = json.loads(document, parse_float=_exact, parse_constant=_refuse)
        except ValueError:
            return False
        with decimal.localcontext(_CONTEXT):
            try:
                return bool(validator.is_valid(value))
            except Exception:  # a reference that it does not find, a pattern that Python has not, a stack that ends
                return None

    return judge


#: What Python's `re` refuses, or reads otherwise than ECMA-262: escapes, `{,n}`, named groups, empty classes.
_DOUBTFUL = re.compile(r"\\[AzZpPceGQEabuNU<k]|\{,|\(\?[<P]|\[\^?\]|\[[^\]]*(?:\[|--|&&|\|\||~~)")


def _has_doubtful_pattern(schema: Any) -> bool:
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            by_pattern = value.get("patternProperties")  # in a constant, anything
            patterns = [value.get("pattern"), *(by_pattern if isinstance(by_pattern, dict) else ())]
            if any(isinstance(pattern, str) and _DOUBTFUL.search(pattern) for pattern in patterns):
                return True
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return False


def _exact(text: str) -> Decimal | int:
    """The number as written; 1.0 becomes the integer that it is, as every draft since 6 says."""
    number = Decimal(text)
    if not number:
        return 0
    if number.adjusted() < _MAX_INTEGER_DIGITS and number == number.to_integral_value():
        return int(number)
    return number


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
