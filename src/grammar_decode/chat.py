"""Requests in the form of OpenAI's chat completions: ``response_format``, ``tools`` and ``tool_choice``, as a grammar.

    grammar = compile_chat_request({"tools": tools, "tool_choice": "required"}, ToolFormat.hermes())

What a model writes around JSON differs from model to model: a tool call may stand between ``<tool_call>`` and
``</tool_call>``, the answer behind ``</think>``. These markers are text, or single tokens (:class:`MarkerTokens`). All
of it is one grammar, so masks are exact everywhere: a token that holds the end of a marker and the beginning of the
JSON is allowed if that JSON is, and no step is without a mask.
"""

from __future__ import annotations

import json
import string
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from grammar_decode.cache import content_of
from grammar_decode.errors import (
    GrammarDecodeError,
    SchemaError,
    SchemaTooComplex,
    UnsatisfiableSchema,
    VocabularyError,
)
from grammar_decode.grammar import Grammar, GrammarCache, compile_json_schema, grammar_cache
from grammar_decode.ir.build import Builder
from grammar_decode.ir.encode import encode
from grammar_decode.ir.nodes import Chain, Choice, Elements, Members, NodeId, Pick, Terminal
from grammar_decode.ir.nodes import Grammar as GrammarIr
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.json_schema.report import Entry, Report
from grammar_decode.limits import Limits
from grammar_decode.regex.charset import ALL, utf8
from grammar_decode.vocabulary import Vocabulary

#: Bytes that are in no UTF-8 text: each stands for a marker token.
_CODES = (*range(0xFF, 0xF4, -1), 0xC0, 0xC1)
_WHITESPACE = 1 << 0x20 | 1 << 0x09 | 1 << 0x0A | 1 << 0x0D
_NAME = frozenset(string.ascii_letters + string.digits + "_-.:/")


@dataclass(frozen=True)
class MarkerTokens:
    """Markers that are tokens of their own: ``MarkerTokens({"</think>": 151668})``, at most 13.

    Such a marker is that token and nothing else; the same letters in other tokens are plain text. Give the same object
    to :func:`compile_chat_request` and, by :meth:`applied_to`, to the vocabulary.
    """

    ids: Mapping[str, int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", dict(sorted(self.ids.items())))
        if len(self.ids) > len(_CODES):
            raise VocabularyError(f"{len(self.ids)} marker tokens are too many; {len(_CODES)} are possible")
        if len(set(self.ids.values())) != len(self.ids):
            raise VocabularyError(f"two markers are the same token: {self.ids}")

    def __hash__(self) -> int:
        return hash(tuple(self.ids.items()))

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, markers: Iterable[str]) -> MarkerTokens:
        """Those of ``markers`` that are single added tokens of a tokenizer of transformers or tokenizers.

        The others stay text. What is text in the vocabulary already (``added_tokens_as_text``) need not be here.
        """
        if hasattr(tokenizer, "get_added_tokens_decoder"):
            added = {str(token.content): token_id for token_id, token in tokenizer.get_added_tokens_decoder().items()}
        else:
            added = tokenizer.get_added_vocab()
        return cls({marker: added[marker] for marker in markers if marker in added})

    @property
    def codes(self) -> dict[str, bytes]:
        """The byte that stands for each marker, in the grammar and in the vocabulary."""
        return {marker: bytes((code,)) for marker, code in zip(self.ids, _CODES, strict=False)}

    def applied_to(self, vocabulary: Vocabulary) -> Vocabulary:
        """The vocabulary in which these tokens can be written, where a grammar has the marker, and only there.

        Raises VocabularyError for an id outside of it, or a stop token.
        """
        codes = self.codes
        special = frozenset(code[0] for code in codes.values())
        tokens = [None if token is None or special.intersection(token) else token for token in vocabulary.token_bytes]
        for marker, token_id in self.ids.items():
            if not 0 <= token_id < len(tokens):
                raise VocabularyError(f"the marker {marker!r} can't be token {token_id}: there are {len(tokens)}")
            if token_id in vocabulary.stop_token_ids:
                raise VocabularyError(f"the marker {marker!r} can't be token {token_id}, which ends the text")
            tokens[token_id] = codes[marker]
        return Vocabulary(tokens, stop_token_ids=vocabulary.stop_token_ids, size=vocabulary.size)


@dataclass(frozen=True)
class ToolFormat:
    """How a model writes tool calls: ``begin``, a JSON object with the name and the arguments, ``end``.

    White space may stand behind ``begin``, before ``end`` and between calls, as the text options allow it in JSON.
    """

    #: The text (or the name of a marker token) before a call. Without one, an answer that begins with ``{`` is a call.
    begin: str = ""
    end: str = ""
    #: Between two calls, where each has its own ``begin`` and ``end``.
    separator: str = ""
    #: One ``begin`` and ``end`` around a JSON array of calls, instead of one around each.
    array: bool = False
    name_key: str = "name"
    arguments_key: str = "arguments"

    @classmethod
    def hermes(cls) -> ToolFormat:
        """``<tool_call>{"name": …, "arguments": …}</tool_call>``: Hermes, Qwen 2.5 and 3, and many others."""
        return cls("<tool_call>", "</tool_call>")

    @classmethod
    def llama3(cls) -> ToolFormat:
        """``{"name": …, "parameters": …}``, several with ``;`` in between: Llama 3.1 and 3.2."""
        return cls(separator=";", arguments_key="parameters")

    @classmethod
    def mistral(cls) -> ToolFormat:
        """``[TOOL_CALLS][{"name": …, "arguments": …}, …]``: Mistral v2, v3. The marker is a control token there."""
        return cls("[TOOL_CALLS]", array=True)


@dataclass(frozen=True)
class Reasoning:
    """Free text up to and with the first ``end``, then what the request asks for.

    ``begin``: what the model writes first, where the prompt does not end with it already.
    """

    end: str = "</think>"
    begin: str = ""

    def __post_init__(self) -> None:
        if not self.end:
            raise GrammarDecodeError("Reasoning needs an end marker")


class _Tool(NamedTuple):
    name: str
    schema: Any  # of the arguments
    where: str  # the place of the schema in the request


@dataclass
class _Request:
    """The parts of a request that say what may be written, checked."""

    answer: tuple[Any, str] | None  # the schema of the answer and where it stands; None: any text
    tools: list[_Tool] = field(default_factory=list)
    may_answer: bool = True
    most_calls: int | None = None


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
    the place in the request.

    >>> grammar = compile_chat_request({"response_format": {"type": "json_object"}})
    """
    if not isinstance(request, Mapping):
        raise TypeError(f"the request must be a mapping, not {type(request).__name__}")
    tool_format = tool_format or ToolFormat.hermes()
    options, limits = options or JsonOptions(), limits or Limits()
    key: Hashable | None = None
    if cache is not None:
        parts = [request.get(name) for name in ("response_format", "tools", "tool_choice", "parallel_tool_calls")]
        content = content_of(parts)
        key = None if content is None else ("chat", content, tool_format, reasoning, markers, options, limits)
        if key is not None and (known := cache.get(key)) is not None:
            return known
    read = _read(request)
    if read.answer is None and not read.tools and reasoning is None:
        return None
    grammar = _Writer(read, tool_format, reasoning, markers, options, limits).grammar()
    if cache is not None and key is not None:
        cache.add(key, grammar)
    return grammar


# ---- reading the request --------------------------------------------------------------------------------------------


def _read(request: Mapping[str, Any]) -> _Request:
    result = _Request(_answer(request.get("response_format")))
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


def _tools(tools: Any) -> list[_Tool]:
    if tools is None:
        return []
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        raise SchemaError("expected an array", location="#/tools")
    result: dict[str, _Tool] = {}
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
        result[name] = _Tool(name, parameters, f"{where}/function/parameters")
    return list(result.values())


def _allowed(choice: Mapping[str, Any], tools: list[_Tool]) -> tuple[list[_Tool], str]:
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


def _named(names: list[str], tools: list[_Tool], places: list[str]) -> list[_Tool]:
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


# ---- writing the grammar --------------------------------------------------------------------------------------------


class _Writer:
    """The grammar of one request. A `node` here is an id in the builder; a run of white space is a terminal."""

    def __init__(
        self,
        request: _Request,
        tool_format: ToolFormat,
        reasoning: Reasoning | None,
        markers: MarkerTokens | None,
        options: JsonOptions,
        limits: Limits,
    ) -> None:
        self.request = request
        self.format = tool_format
        self.reasoning = reasoning
        self.codes = {} if markers is None else markers.codes
        self.options = options
        self.limits = limits
        self.builder = Builder(options.spacing)
        self.entries: list[Entry] = []

    def grammar(self) -> Grammar:
        content = self._content()
        if self.reasoning is not None:
            thoughts = self._text(self._marker(self.reasoning.end), ends=True)
            parts = [self._literal(self.reasoning.begin)] if self.reasoning.begin else []
            content = self._chain(*parts, thoughts, content)
        root = self.builder.add(Chain((content,)))
        grammar_ir = self.builder.grammar(root)
        return Grammar(encode(grammar_ir), Report(self.entries), grammar_ir.origins, self.limits)

    def _content(self) -> NodeId:
        request = self.request
        if not request.tools:
            return self._text() if request.answer is None else self._spaced(self._json(*request.answer))
        calls = self._calls()
        if not request.may_answer:
            return self._spaced(calls)
        if request.answer is not None:
            return self._spaced(self._choice(self._json(*request.answer), calls))
        begin = self._marker(self.format.begin)
        if not begin:
            return self._choice(self._text(not_first=ord("{")), self._spaced(calls))
        # The text before the first call ends with its marker, so that there is one way to read it.
        first = self._chain(self._text(begin, ends=True), self._calls(is_begun=True), self._blank())
        return self._choice(self._text(begin), first)

    # ---- calls ----

    def _calls(self, *, is_begun: bool = False) -> NodeId:
        """One or more calls, with their markers; ``is_begun``: behind the first marker."""
        call = self._choice(*map(self._call, self.request.tools))
        one_only = self.request.most_calls == 1
        if self.format.array:
            calls = Elements(0, ((Pick((), call),),), 1, 1 if one_only else None)
            return self._framed(self.builder.add(calls), is_begun=is_begun)
        first = self._framed(call, is_begun=is_begun)
        if one_only:
            return first
        later = self.builder.reserve()  # nothing, or one more call and so on
        separator = [self._literal(self.format.separator), self._blank()] if self.format.separator else []
        more = self._chain(self._blank(), *separator, self._framed(call), later)
        self.builder.define(later, Choice((self.builder.add(Terminal(self.builder.epsilon)), more)))
        return self._chain(first, later)

    def _call(self, tool: _Tool) -> NodeId:
        arguments = self._json(tool.schema, tool.where, only_object=True)
        spelled = self.builder.add(Terminal(self.builder.literal(json.dumps(tool.name).encode())))
        names = self.format.name_key, self.format.arguments_key
        keys = tuple(json.dumps(key, ensure_ascii=False)[1:-1].encode() for key in names)
        values = ((Pick((), spelled),), (Pick((), arguments),))
        return self.builder.add(Members(keys, (0, 1), (), values, (0, 1), 2, 2), tool.where.rpartition("/")[0])

    def _framed(self, node: NodeId, *, is_begun: bool = False) -> NodeId:
        begin = [self._literal(self.format.begin)] if self.format.begin and not is_begun else []
        blank = self._blank() if self.format.begin else None
        end = [self._blank(), self._literal(self.format.end)] if self.format.end else []
        return self._chain(*begin, blank, node, *end)

    # ---- JSON ----

    def _json(self, schema: Any, where: str, *, only_object: bool = False) -> NodeId:
        if not isinstance(schema, (dict, bool)):
            raise SchemaError(f"expected a schema, not {type(schema).__name__}", location=where)
        try:
            compiled = compile_json_schema(schema, self.options, limits=self.limits)
            grammar_ir = self._only_objects(compiled.ir) if only_object else compiled.ir
        except SchemaTooComplex as error:
            location = _moved(error.location, where)
            raise SchemaTooComplex(error.message, limit=error.limit, location=location, hint=error.hint) from None
        except SchemaError as error:
            raise type(error)(error.message, location=_moved(error.location, where), hint=error.hint) from None
        self.entries += [replace(entry, location=_moved(entry.location, where)) for entry in compiled.report]
        return self.builder.include(grammar_ir, where)

    def _only_objects(self, grammar_ir: GrammarIr) -> GrammarIr:
        """The grammar without the texts that are no objects."""
        nodes = grammar_ir.nodes
        if isinstance(nodes[grammar_ir.root], Members):
            return grammar_ir
        reached = [grammar_ir.root]
        for node_id in reached:  # grows while it is walked
            node = nodes[node_id]
            if isinstance(node, Choice):
                reached += [child for child in dict.fromkeys(node.nodes) if child not in reached]
        objects = Choice(tuple(node_id for node_id in reached if isinstance(nodes[node_id], Members)))
        result = replace(
            grammar_ir, nodes=(*nodes, objects), root=len(nodes), origins=(*grammar_ir.origins, "")
        )  # fmt: skip
        if Grammar(encode(result), Report(()), result.origins, self.limits)._core_grammar.is_empty():
            raise UnsatisfiableSchema("the arguments are an object, and no object matches the schema", location="#")
        return result

    # ---- text ----

    def _marker(self, text: str) -> bytes:
        """The bytes of a marker: its text, or the byte of its token."""
        return self.codes.get(text) or text.encode()

    def _literal(self, text: str) -> NodeId:
        return self.builder.add(Terminal(self.builder.literal(self._marker(text))))

    def _text(self, marker: bytes = b"", *, ends: bool = False, not_first: int | None = None) -> NodeId:
        """Any text without ``marker``; with ``ends``, up to the first marker and with it."""
        builder = self.builder
        if marker:
            transitions, accepting = _text_without(marker, ends=ends)
            text = builder.automaton(transitions, accepting)
        else:
            text = builder.repeat(utf8(builder, ALL), 0, None)
        if not_first is not None:
            blank = builder.repeat(builder.byte_class(_WHITESPACE), 0, None)
            such = builder.concat(blank, builder.byte_class(1 << not_first), builder.any_bytes)
            text = builder.intersect(text, builder.complement(such))
        return builder.add(Terminal(text))

    def _blank(self) -> NodeId | None:
        """White space, as much as JSON may have, or nothing; None where there may be none."""
        most = self.options.spacing.max_whitespace
        if most == 0:
            return None
        return self.builder.add(Terminal(self.builder.repeat(self.builder.byte_class(_WHITESPACE), 0, most)))

    def _spaced(self, node: NodeId) -> NodeId:
        return self._chain(self._blank(), node, self._blank())

    def _chain(self, *parts: NodeId | None) -> NodeId:
        there = tuple(part for part in parts if part is not None)
        return there[0] if len(there) == 1 else self.builder.add(Chain(there))

    def _choice(self, *nodes: NodeId) -> NodeId:
        return nodes[0] if len(nodes) == 1 else self.builder.add(Choice(tuple(nodes)))


def _moved(location: str | None, where: str) -> str:
    """A place in a schema as one in the request."""
    if location is None:
        return where
    return where + location[1:] if location.startswith("#") else location


#: How UTF-8 goes on: by state, the ranges of the next byte and the states behind them. 0 is between two characters.
_UTF8: tuple[tuple[tuple[int, int, int], ...], ...] = (
    (
        (0x00, 0x7F, 0),
        (0xC2, 0xDF, 1),
        (0xE0, 0xE0, 4),
        (0xE1, 0xEC, 2),
        (0xED, 0xED, 5),
        (0xEE, 0xEF, 2),
        (0xF0, 0xF0, 6),
        (0xF1, 0xF3, 3),
        (0xF4, 0xF4, 7),
    ),
    ((0x80, 0xBF, 0),),
    ((0x80, 0xBF, 1),),
    ((0x80, 0xBF, 2),),
    ((0xA0, 0xBF, 1),),
    ((0x80, 0x9F, 1),),
    ((0x90, 0xBF, 2),),
    ((0x80, 0x8F, 2),),
)


@lru_cache(maxsize=64)
def _text_without(marker: bytes, *, ends: bool) -> tuple[list[dict[int, int]], list[int]]:
    """An automaton of UTF-8 text in which ``marker`` does not occur, or (``ends``) occurs at the end and only there.

    A state is (bytes of the marker that stand at the end, state of UTF-8), numbered as they are found.
    """
    borders = [0] * (len(marker) + 1)  # Knuth, Morris, Pratt: where to go on when the next byte does not fit
    for at in range(1, len(marker)):
        length = borders[at]
        while length and marker[length] != marker[at]:
            length = borders[length]
        borders[at + 1] = length + 1 if marker[length] == marker[at] else 0
    is_code = marker[0] in _CODES
    numbers = {(0, 0): 0}
    rows: list[dict[int, int]] = []
    order = [(0, 0)]
    final: tuple[int, int] = (len(marker), 0)
    for matched, state in order:  # grows while it is walked
        row: dict[tuple[int, int], int] = {}
        if matched == len(marker):
            rows.append({})
            continue
        nexts = {byte: after for first, last, after in _UTF8[state] for byte in range(first, last + 1)}
        if is_code and state == 0:
            nexts[marker[0]] = 0
        for byte, after in nexts.items():
            length = matched
            while length and marker[length] != byte:
                length = borders[length]
            length += marker[length] == byte
            if length < len(marker) or ends:
                row[length, after] = row.get((length, after), 0) | 1 << byte
        for target in row:
            if target not in numbers:
                numbers[target] = len(order)
                order.append(target)
        rows.append({mask: numbers[target] for target, mask in row.items()})
    if ends:
        return rows, [numbers[final]]
    return rows, [number for (_, state), number in numbers.items() if state == 0]
