"""Writing the grammar of a request: text, markers, tool calls and JSON in one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from grammar_decode.chat.formats import Reasoning, ToolFormat
from grammar_decode.chat.markers import MarkerTokens
from grammar_decode.chat.request import Request, Tool
from grammar_decode.chat.text import text_without
from grammar_decode.errors import SchemaError, SchemaTooComplex, UnsatisfiableSchema
from grammar_decode.grammar import Grammar, compile_json_schema
from grammar_decode.ir.build import Builder
from grammar_decode.ir.encode import encode
from grammar_decode.ir.nodes import Chain, Choice, Elements, Members, NodeId, Pick, Terminal
from grammar_decode.ir.nodes import Grammar as GrammarIr
from grammar_decode.json_schema.options import JsonOptions
from grammar_decode.json_schema.report import Entry, Report
from grammar_decode.limits import Limits
from grammar_decode.regex.charset import ALL, utf8

_WHITESPACE = 1 << 0x20 | 1 << 0x09 | 1 << 0x0A | 1 << 0x0D


class Writer:
    """The grammar of one request. A `node` here is an id in the builder; a run of white space is a terminal."""

    def __init__(
        self,
        request: Request,
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

    def _call(self, tool: Tool) -> NodeId:
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
            transitions, accepting = text_without(marker, ends=ends)
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
