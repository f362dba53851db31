"""The validator that judges instances in tests: `jsonschema`, with exact decimals.

Patterns of tests stay within what ECMA-262 and Python's ``re`` read alike, but for ``$``, which is translated.
"""

from __future__ import annotations

import decimal
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from jsonschema.validators import validator_for

#: Enough digits for the remainder of every number that a grammar writes.
_CONTEXT = decimal.Context(prec=3_000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def _exact(text: str) -> Decimal | int:
    number = Decimal(text)
    is_integer = not number or (number.adjusted() < 400 and number == number.to_integral_value())
    return int(number) if is_integer else number


_ENDS = re.compile(r"\\.|\[(?:\\.|[^]\\])*]|\$", re.DOTALL)  # an escape, a class of characters, or the end


def pattern_for_python(pattern: str) -> str:
    r"""The pattern with ``$`` as ``\Z``: for Python, ``$`` also stands before a final newline."""
    return _ENDS.sub(lambda found: r"\Z" if found[0] == "$" else found[0], pattern)


def for_python(schema: Any) -> Any:
    """The schema with its patterns as Python reads them."""
    if isinstance(schema, list):
        return [for_python(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {}
    for keyword, value in schema.items():
        if keyword == "pattern" and isinstance(value, str):
            value = pattern_for_python(value)
        elif keyword == "patternProperties" and isinstance(value, dict):
            value = {pattern_for_python(pattern): for_python(each) for pattern, each in value.items()}
        elif keyword not in ("enum", "const"):
            value = for_python(value)
        changed[keyword] = value
    return changed


def no_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For ``json.loads(object_pairs_hook=...)``."""
    assert len({name for name, _ in pairs}) == len(pairs), f"a key occurs twice: {[name for name, _ in pairs]}"
    return dict(pairs)


def judge(schema: Any) -> Callable[[str], bool]:
    """Whether a JSON text is valid, says `jsonschema`, by the dialect of ``$schema`` and with exact decimals.

    Asserts that the text is JSON without a repeated key.
    """
    exact = json.loads(json.dumps(for_python(schema)), parse_float=_exact)
    validator = validator_for(exact)(exact)

    def is_valid(text: str) -> bool:
        with decimal.localcontext(_CONTEXT):
            value = json.loads(text, parse_float=_exact, object_pairs_hook=no_repeated_names)
            return bool(validator.is_valid(value))

    return is_valid
