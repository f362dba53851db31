"""Reading a request: what of it says what may be written in reply, checked, each mistake with its place."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from grammar_decode.errors import SchemaError

_NAME = frozenset(string.ascii_letters + string.digits + "_-.:/")


class Tool(NamedTuple):
    name: str
    schema: Any  # of the arguments
    where: str  # the place of the schema in the request


@dataclass
class Request:
    """The parts of a request that say what may be written, checked."""

    answer: tuple[Any, str] | None  # the schema of the answer and where it stands; None: any text
    tools: list[Tool] = field(default_factory=list)
    may_answer: bool = True
    most_calls: int | None = None


def read_request(request: Mapping[str, Any]) -> Request:
    result = Request(_answer(request.get("response_format")))
    tools = _tools(request.get("tools"))
    choice = request.get("tool_choice")
    choice = ("auto" if tools else "none") if choice is None else choice
    if not isinstance(request.get("parallel_tool_calls", True), (bool, type(None))):
        raise SchemaError("expected true or false", location="#/parallel_tool_calls")
    if request.get("parallel_tool_calls") is False:
        result.most_calls = 1
    if isinstance(choice, Mapping) and choice.get("type") == "allowed_tools":
        tools, choice = _allowed(choice, tools)
    if isinstance(choice, Mapping):
        if choice.get("type", "function") != "function":
            raise SchemaError(f"a choice of type {choice['type']!r} is not supported", location="#/tool_choice/type")
        name = _field(_field(choice, "function", Mapping, "#/tool_choice"), "name", str, "#/tool_choice/function")
        result.tools = _named([name], tools, ["#/tool_choice/function/name"])
        result.may_answer, result.most_calls = False, 1
    elif choice in ("auto", "required"):
        if not tools:
            raise SchemaError(f"there are no tools to choose from, but the choice is {choice!r}", location="#/tools")
        result.tools, result.may_answer = tools, choice == "auto"
    elif choice != "none":
        raise SchemaError(
            f'expected "none", "auto", "required" or a function, not {choice!r:.80}', location="#/tool_choice"
        )
    return result


def _answer(response_format: Any) -> tuple[Any, str] | None:
    if response_format is None:
        return None
    where = "#/response_format"
    kind = _field(response_format, "type", str, where)
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}, where
    if kind == "json_schema":
        described = _field(response_format, "json_schema", Mapping, where)
        if described.get("schema") is None:
            raise SchemaError("there is no schema", location=f"{where}/json_schema/schema")
        return described["schema"], f"{where}/json_schema/schema"
    raise SchemaError(
        f"the type {kind!r} is not supported", location=f"{where}/type", hint="Use text, json_object or json_schema."
    )


def _tools(tools: Any) -> list[Tool]:
    if tools is None:
        return []
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        raise SchemaError("expected an array", location="#/tools")
    result: dict[str, Tool] = {}
    for index, tool in enumerate(tools):
        where = f"#/tools/{index}"
        kind = _field(tool, "type", str, where)
        if kind != "function":
            raise SchemaError(f"a tool of type {kind!r} is not supported; functions are", location=f"{where}/type")
        function = _field(tool, "function", Mapping, where)
        name = _field(function, "name", str, f"{where}/function")
        if not name or not _NAME.issuperset(name):
            raise SchemaError(f"{name!r:.80} is not the name of a function", location=f"{where}/function/name")
        if name in result:
            raise SchemaError(f"two functions have the name {name!r}", location=f"{where}/function/name")
        parameters = function.get("parameters")
        if parameters is None:
            parameters = {"type": "object", "additionalProperties": False}
        result[name] = Tool(name, parameters, f"{where}/function/parameters")
    return list(result.values())


def _allowed(choice: Mapping[str, Any], tools: list[Tool]) -> tuple[list[Tool], str]:
    where = "#/tool_choice/allowed_tools"
    allowed = _field(choice, "allowed_tools", Mapping, "#/tool_choice")
    mode = allowed.get("mode", "auto")
    if mode not in ("auto", "required"):
        raise SchemaError(f'expected "auto" or "required", not {mode!r:.80}', location=f"{where}/mode")
    names, places = [], []
    for index, tool in enumerate(_field(allowed, "tools", Sequence, where)):
        function = _field(tool, "function", Mapping, f"{where}/tools/{index}")
        names.append(_field(function, "name", str, f"{where}/tools/{index}/function"))
        places.append(f"{where}/tools/{index}/function/name")
    return _named(names, tools, places), mode


def _named(names: list[str], tools: list[Tool], places: list[str]) -> list[Tool]:
    known = {tool.name: tool for tool in tools}
    for name, place in zip(names, places, strict=True):
        if name not in known:
            raise SchemaError(f"there is no tool with the name {name!r}", location=place)
    return [known[name] for name in dict.fromkeys(names)]


def _field(value: Any, name: str, expected: type, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise SchemaError("expected an object", location=where)
    words = "a string" if expected is str else "an object" if expected is Mapping else "an array"
    if name not in value:
        raise SchemaError(f"{name!r} is missing: expected {words}", location=where)
    if not isinstance(value[name], expected) or (expected is Sequence and isinstance(value[name], str)):
        raise SchemaError(f"expected {words}", location=f"{where}/{name}")
    return value[name]
