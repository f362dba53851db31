"""Requests with tools, response formats and reasoning: what may be written in reply; what is wrong with a request."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import grammar_decode as gd
from amounts import examples
from grammar_decode.reference import ReferenceMatcher
from vocabularies import ALL_SINGLE_BYTES, TestVocabulary
from vocabularies_gpt2 import shared_vocabulary, smollm2_vocabulary
from walks import mask_of, random_walk, text_of

BYTES = gd.Vocabulary([*(bytes((b,)) for b in range(256)), None], stop_token_ids=[256])
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}, "days": {"$ref": "#/$defs/days"}},
    "required": ["city"],
    "additionalProperties": False,
    "$defs": {"days": {"type": "integer", "minimum": 1, "maximum": 14}},
}
ADD = {"type": "object", "properties": {"terms": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}}}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": WEATHER, "strict": True}},
    {"type": "function", "function": {"name": "add", "parameters": {**ADD, "required": ["terms"]}}},
    {"type": "function", "function": {"name": "now", "description": "The time."}},
]
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": False}
ANSWER = {"type": "json_schema", "json_schema": {"name": "point", "strict": True, "schema": POINT}}

ROME = '{"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}'
NOW = '{"name":"now","arguments":{}}'


def hermes(*calls: str) -> str:
    return "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in calls)


def accepts(grammar: gd.Grammar | None, text: str | bytes) -> bool:
    assert grammar is not None
    matcher = gd.GrammarMatcher(grammar, BYTES)
    return matcher.accept_bytes(text if isinstance(text, bytes) else text.encode()) and matcher.is_accepting()


Case = tuple[dict[str, Any], gd.ToolFormat, list[str], list[str]]
NAMED = {"type": "function", "function": {"name": "now"}}
SUBSET = {"mode": "required", "tools": [{"type": "function", "function": {"name": "now"}}]}
LLAMA_ROME = ROME.replace("arguments", "parameters")
CASES: dict[str, Case] = {
    "required": (
        {"tool_choice": "required"},
        gd.ToolFormat.hermes(),
        [
            hermes(ROME),
            hermes(NOW),
            hermes(ROME, NOW, ROME),
            f"<tool_call>{NOW}</tool_call><tool_call>{NOW}</tool_call>",
        ],
        ["", "Hello", ROME, f"Hello {hermes(ROME)}", hermes(ROME) + "Hello", hermes(ROME.replace("3", "30"))],
    ),
    "required, arguments": (
        {"tool_choice": "required"},
        gd.ToolFormat.hermes(),
        [hermes('{"name":"add","arguments":{"terms":[1,2]}}')],
        [
            hermes(NOW.replace("{}", '{"city":"Rome"}')),
            hermes('{"name":"add","arguments":{"terms":[1,1]}}'),
            hermes('{"name":"get_weather","arguments":{}}'),
            hermes('{"name":"other","arguments":{}}'),
            hermes('{"arguments":{},"name":"now"}'),
            hermes('{"name":"now"}'),
        ],
    ),
    "one call only": (
        {"tool_choice": "required", "parallel_tool_calls": False},
        gd.ToolFormat.hermes(),
        [hermes(ROME)],
        [hermes(ROME, NOW)],
    ),
    "a named function": (
        {"tool_choice": NAMED},
        gd.ToolFormat.hermes(),
        [hermes(NOW)],
        [hermes(ROME), hermes(NOW, NOW), "Hello"],
    ),
    "allowed tools": (
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": SUBSET}},
        gd.ToolFormat.hermes(),
        [hermes(NOW), hermes(NOW, NOW)],
        [hermes(ROME), hermes(NOW, ROME), "Hello"],
    ),
    "auto": (
        {},
        gd.ToolFormat.hermes(),
        [
            "",
            " Hello <tool_cal",
            "<b>é</b>",
            hermes(ROME),
            f"I look it up. {hermes(ROME, NOW)}",
            f"<tool_{hermes(NOW)}",
        ],
        [
            "<tool_call>",
            f"Hello{hermes('1')}",
            hermes(ROME) + "and",
            f"<tool_call>{hermes(ROME)}",
            b"\xff".decode("latin")[:0] + "<tool_call>x",
        ],
    ),
    "auto with an answer in JSON": (
        {"tool_choice": "auto", "response_format": ANSWER},
        gd.ToolFormat.hermes(),
        ['{"x": 1}', ' {"x":1}\n', hermes(ROME)],
        ["Hello", "", f"Hello {hermes(ROME)}", '{"x":1}' + hermes(ROME)],
    ),
    "Llama 3, required": (
        {"tool_choice": "required"},
        gd.ToolFormat.llama3(),
        [LLAMA_ROME, f"{LLAMA_ROME}; {LLAMA_ROME}"],
        [ROME, f"{LLAMA_ROME} {LLAMA_ROME}", f"{LLAMA_ROME};", "Hello"],
    ),
    "Llama 3, auto": (
        {},
        gd.ToolFormat.llama3(),
        ["Hello {", "", LLAMA_ROME, f"\n{LLAMA_ROME};{LLAMA_ROME}"],
        ["{", ' {"x": 1}', f"Hello {LLAMA_ROME}"[6:-1]],
    ),
    "Mistral": (
        {"tool_choice": "required"},
        gd.ToolFormat.mistral(),
        [f"[TOOL_CALLS][{ROME}]", f"[TOOL_CALLS] [{ROME}, {NOW}]"],
        ["[TOOL_CALLS][]", ROME, f"[{ROME}]", f"[TOOL_CALLS]{ROME}"],
    ),
    "Mistral, one call only": (
        {"tool_choice": "required", "parallel_tool_calls": False},
        gd.ToolFormat.mistral(),
        [f"[TOOL_CALLS][{NOW}]"],
        [f"[TOOL_CALLS][{NOW},{NOW}]"],
    ),
    "none": ({"tool_choice": "none", "response_format": ANSWER}, gd.ToolFormat.hermes(), ['{"x":1}'], [hermes(ROME)]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_may_be_written(name: str) -> None:
    fields, tool_format, right, wrong = CASES[name]
    grammar = gd.compile_chat_request({"model": "m", "messages": [], "tools": TOOLS, **fields}, tool_format)
    for text in right:
        assert accepts(grammar, text), text
    for text in wrong:
        assert not accepts(grammar, text), text


def test_response_formats_without_tools() -> None:
    any_object = gd.compile_chat_request({"response_format": {"type": "json_object"}})
    assert accepts(any_object, ' {"a": [1]} ')
    assert not accepts(any_object, "[1]")
    point = gd.compile_chat_request({"response_format": ANSWER})
    assert accepts(point, '{"x": 1}\n')
    assert not accepts(point, '{"x": "1"}')


@pytest.mark.parametrize(
    "request_", [{}, {"response_format": {"type": "text"}}, {"tools": TOOLS, "tool_choice": "none"}]
)
def test_where_any_text_may_be_written_there_is_no_grammar(request_: dict[str, Any]) -> None:
    assert gd.compile_chat_request(request_) is None


@pytest.mark.parametrize("whitespace", ["compact", "flexible", "spaced", "any"])
def test_blanks_around_markers_are_those_of_the_options(whitespace: Any) -> None:
    options = gd.JsonOptions(whitespace=whitespace)
    grammar = gd.compile_chat_request({"tools": TOOLS, "tool_choice": NAMED}, options=options)
    call = '{"name": "now", "arguments": {}}' if whitespace == "spaced" else NOW
    assert accepts(grammar, f"<tool_call>{call}</tool_call>")
    assert accepts(grammar, f"<tool_call>\n{call} </tool_call>\n") == (whitespace in ("flexible", "any"))
    assert accepts(grammar, f"<tool_call>{' ' * 33}{call}</tool_call>") == (whitespace == "any")


# ---- reasoning ------------------------------------------------------------------------------------------------------


def test_reasoning_ends_at_the_first_marker_and_the_answer_follows() -> None:
    grammar = gd.compile_chat_request({"response_format": ANSWER}, reasoning=gd.Reasoning())
    for text in (
        '</think>{"x":1}',
        'I think {"x": "no"} </thin </think>\n\n{"x": 1}\n',
        '<</think>{"x":1}',
        'é€😀</think>{"x":1}',
    ):
        assert accepts(grammar, text), text
    for text in ("", "</think>", '{"x":1}', '</think></think>{"x":1}', '</think>{"x":"no"}', "I think"):
        assert not accepts(grammar, text), text
    assert not accepts(grammar, b'\xe2\x82</think>{"x":1}')


def test_reasoning_before_tool_calls_and_before_text() -> None:
    reasoning = gd.Reasoning(begin="<think>")
    calls = gd.compile_chat_request({"tools": TOOLS, "tool_choice": "required"}, reasoning=reasoning)
    assert accepts(calls, f"<think>Hm. <tool_call> would do.</think>\n{hermes(ROME)}")
    assert not accepts(calls, f"Hm.</think>\n{hermes(ROME)}")
    auto = gd.compile_chat_request({"tools": TOOLS}, reasoning=reasoning)
    assert accepts(auto, f"<think></think>It is {hermes(ROME)}")
    assert accepts(auto, "<think></think>Hello </think>")
    free = gd.compile_chat_request({}, reasoning=reasoning)
    assert accepts(free, "<think>Hm.</think>")
    assert not accepts(free, "<think>Hm.")


@pytest.mark.parametrize("marker", ["aab", "abab", "</think>", "aaa", "é", "\u00e9\u20ac\u00e9", "\n"])
def test_a_marker_is_found_wherever_it_first_stands(marker: str) -> None:
    grammar = gd.compile_chat_request({"response_format": ANSWER}, reasoning=gd.Reasoning(marker))
    rng = random.Random(marker)
    letters = sorted({*marker, "a", "b", "\u00e8"})
    for _ in range(200):
        thoughts = "".join(rng.choices(letters, k=rng.randrange(12)))
        text = f'{thoughts}{marker}{{"x":1}}'
        # The first marker may stand before the one that was put there, or across its beginning.
        rest = text[text.index(marker) + len(marker) :].lstrip(" \n")
        assert accepts(grammar, text) == (rest == '{"x":1}'), text


# ---- tokens ---------------------------------------------------------------------------------------------------------

#: Tokens that hold the end of one part and the beginning of the next, right and wrong ones.
ACROSS = [
    b'>{"', b'>{"x":', b">[", b'k>\n{"name": "', b'k>{"x": 1', b"</think>", b"</think>{", b"</think>\n\n{", b"call>{",
    b"}\n</", b"}}</tool_call>", b'</tool_call>\n<tool_call>\n{"name', b"ok <tool_", b"</think><tool_call>",
    b"x</think>x", b"\xc3", b"\xa9</think>{", b"</think>\xc3",
]  # fmt: skip


def with_tokens(*more: bytes) -> gd.Vocabulary:
    tokens = [*(bytes((b,)) for b in range(256)), *ALL_SINGLE_BYTES.token_bytes[2:60], *more, None]
    return gd.Vocabulary(tokens, stop_token_ids=[len(tokens) - 1])


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"response_format": ANSWER}, "\xe9 so</thi</think>\n" + '{"x": 1}'),
        ({"tools": TOOLS, "tool_choice": "required"}, "Hm</think>" + hermes(ROME, NOW)),
        ({"tools": TOOLS}, "Hm</think>I look. " + hermes(NOW) + "\n"),
    ],
)
def test_tokens_across_a_boundary_are_allowed_exactly_where_they_fit(fields: dict[str, Any], text: str) -> None:
    grammar = gd.compile_chat_request(fields, reasoning=gd.Reasoning())
    assert grammar is not None
    vocabulary = with_tokens(*ACROSS)
    matcher = gd.GrammarMatcher(grammar, vocabulary)
    reference = ReferenceMatcher(grammar.ir, vocabulary.token_bytes, vocabulary.stop_token_ids, vocabulary.size)
    crossed = 0
    for byte in text.encode():
        mask = mask_of(matcher)
        assert np.array_equal(mask, reference.bitmask())
        for token_id, token in enumerate(vocabulary.token_bytes):
            allowed = bool(int(mask[token_id // 32]) >> (token_id % 32) & 1)
            if token is not None:
                assert allowed == (matcher.count_accepted_bytes(token) == len(token)), token
                crossed += allowed and token in ACROSS
        assert matcher.accept_bytes(bytes((byte,)))
        assert reference.accept_bytes(bytes((byte,)))
    assert matcher.is_accepting()
    assert crossed > 50


def test_marker_tokens_are_the_only_way_to_write_their_markers() -> None:
    begin, end, think = 300, 301, 302
    tokens = [*(bytes((b,)) for b in range(256)), *[None] * 47, b"<tool_call>", b"\xffx"]
    plain = gd.Vocabulary(tokens, stop_token_ids=[256])
    markers = gd.MarkerTokens({"<tool_call>": begin, "</tool_call>": end, "</think>": think})
    vocabulary = markers.applied_to(plain)
    assert vocabulary.size == plain.size
    request = {"tools": TOOLS}
    grammar = gd.compile_chat_request(request, reasoning=gd.Reasoning(), markers=markers)
    assert grammar is not None
    matcher = gd.GrammarMatcher(grammar, vocabulary)

    def write(*parts: str | int) -> bool:
        matcher.reset()
        ids = [i for part in parts for i in ([part] if isinstance(part, int) else part.encode())]
        return matcher.accept_tokens(ids) and matcher.is_accepting()

    assert write("Is </think> <tool_call> text?", think, "Yes: <tool_call>", begin, NOW, end, "\n", begin, ROME, end)
    assert write("Hm", think, "Hello")
    assert not write("Hm", think, "Hello", think)
    assert not write("Hm</think>")
    assert not write("Hm", begin)
    assert not write("Hm", think, begin, NOW, "</tool_call>")
    assert not write("Hm", think, begin, '{"name":"get_weather","arguments":{"city":"', end, '"}}', end)
    matcher.reset()
    for byte in range(0xF5, 0x100):
        assert not matcher.accept_token(byte)
    assert gd.compile_chat_request(request, markers=markers) is gd.compile_chat_request(request, markers=markers)


def test_marker_tokens_that_can_not_be() -> None:
    vocabulary = gd.Vocabulary([b"a", b"b", None], stop_token_ids=[2])
    with pytest.raises(gd.VocabularyError, match="there are 3"):
        gd.MarkerTokens({"<m>": 3}).applied_to(vocabulary)
    with pytest.raises(gd.VocabularyError, match="ends the text"):
        gd.MarkerTokens({"<m>": 2}).applied_to(vocabulary)
    with pytest.raises(gd.VocabularyError, match="same token"):
        gd.MarkerTokens({"<m>": 1, "<n>": 1})
    with pytest.raises(gd.VocabularyError, match="too many"):
        gd.MarkerTokens({f"<{i}>": i for i in range(14)})


def test_marker_tokens_of_a_tokenizer() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.add_tokens(["<tool_call>"])
    tokenizer.add_special_tokens(["</think>"])
    markers = gd.MarkerTokens.from_tokenizer(tokenizer, ["</think>", "<tool_call>"])
    assert markers == gd.MarkerTokens({"<tool_call>": 0, "</think>": 1})


class AddedTokens:
    """What from_tokenizer reads of a tokenizer of transformers."""

    def get_added_vocab(self) -> dict[str, int]:
        return {"<tool_call>": 7}


def test_markers_that_a_tokenizer_has_not_are_named_and_not_dropped() -> None:
    with pytest.raises(gd.VocabularyError, match=r"no added token '</thnk>', '<x>'; it has '<tool_call>'"):
        gd.MarkerTokens.from_tokenizer(AddedTokens(), ["<tool_call>", "</thnk>", "<x>"])
    assert gd.MarkerTokens.from_tokenizer(AddedTokens(), ["<tool_call>"]).ids == {"<tool_call>": 7}


# ---- walks ----------------------------------------------------------------------------------------------------------


def check_calls(text: str) -> int:
    """The calls in a reply of the Hermes form; each is valid for its tool. Returns how many there are."""
    validators = {
        tool["function"]["name"]: Draft202012Validator(tool["function"].get("parameters", {"maxProperties": 0}))
        for tool in TOOLS
    }  # type: ignore[index, attr-defined]
    calls = re.findall(r"<tool_call>(.*?)</tool_call>\s*", text, re.DOTALL)
    for call in calls:
        parsed = json.loads(call)
        assert list(parsed) == ["name", "arguments"]
        validators[parsed["name"]].validate(parsed["arguments"])
    return len(calls)


@pytest.mark.parametrize(
    "fields", [{"tool_choice": "required"}, {"tool_choice": NAMED}, {"parallel_tool_calls": False}, {}]
)
@pytest.mark.parametrize("kind", ["bytes", "smollm2"])
def test_random_replies_hold_valid_calls(kind: str, fields: dict[str, Any]) -> None:
    plain = with_tokens(*ACROSS) if kind == "bytes" else smollm2_vocabulary()
    vocabulary = TestVocabulary(kind, plain.token_bytes, plain.stop_token_ids, plain.size)
    grammar = gd.compile_chat_request({"tools": TOOLS, **fields}, options=gd.JsonOptions(key_order="schema"))
    assert grammar is not None
    num_ended = 0
    for seed in range(examples(40)):
        matcher = gd.GrammarMatcher(grammar, plain)
        begun = b"" if "tool_choice" in fields else b"So: <tool_call>"
        assert matcher.accept_bytes(begun)
        tokens = random_walk(matcher, vocabulary, seed, free=20, most=120)
        if tokens is None:
            continue
        num_ended += 1
        num_calls = check_calls((begun + text_of(vocabulary, tokens)).decode())
        assert num_calls == 1 if fields.get("tool_choice") == NAMED or "parallel_tool_calls" in fields else num_calls
    assert num_ended > examples(40) // 2


def test_a_real_vocabulary_with_its_own_marker_tokens() -> None:
    plain = shared_vocabulary("qwen3")
    markers = gd.MarkerTokens({"<tool_call>": 151657, "</tool_call>": 151658, "</think>": 151668})
    vocabulary = markers.applied_to(plain)
    grammar = gd.compile_chat_request({"tools": TOOLS}, reasoning=gd.Reasoning(), markers=markers)
    assert grammar is not None
    matcher = gd.GrammarMatcher(grammar, vocabulary)
    assert matcher.accept_bytes("Let me look \u2014 it up".encode())
    assert matcher.accept_token(151668)
    assert not matcher.accept_token(151658)
    assert matcher.accept_token(151657)
    assert matcher.accept_bytes(b"\n" + ROME.encode() + b"\n")
    assert matcher.accept_token(151658)
    assert matcher.is_accepting()


# ---- what is wrong with a request -----------------------------------------------------------------------------------


def tool(**function: Any) -> dict[str, Any]:
    return {"tools": [TOOLS[2], {"type": "function", "function": function}]}


BAD_TYPE = {"type": "object", "properties": {"a/b": {"type": "strin"}}}
WRONG: list[tuple[dict[str, Any], type[gd.SchemaError], str]] = [
    ({"response_format": "json"}, gd.SchemaError, "#/response_format: expected an object"),
    ({"response_format": {}}, gd.SchemaError, "#/response_format: 'type' is missing"),
    ({"response_format": {"type": "xml"}}, gd.SchemaError, "#/response_format/type: "),
    ({"response_format": {"type": "json_schema"}}, gd.SchemaError, "#/response_format: 'json_schema' is missing"),
    (
        {"response_format": {"type": "json_schema", "json_schema": {}}},
        gd.SchemaError,
        "#/response_format/json_schema/schema: ",
    ),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"schema": BAD_TYPE}}},
        gd.SchemaError,
        "#/response_format/json_schema/schema/properties/a~1b/type: ",
    ),
    ({"tools": {}}, gd.SchemaError, "#/tools: expected an array"),
    ({"tools": [{"type": "retrieval"}]}, gd.SchemaError, "#/tools/0/type: "),
    ({"tools": [{"type": "function"}]}, gd.SchemaError, "#/tools/0: 'function' is missing"),
    (tool(), gd.SchemaError, "#/tools/1/function: 'name' is missing"),
    (tool(name="a b"), gd.SchemaError, "#/tools/1/function/name: "),
    (tool(name="now"), gd.SchemaError, "#/tools/1/function/name: two functions"),
    (tool(name="f", parameters=[]), gd.SchemaError, "#/tools/1/function/parameters: "),
    (tool(name="f", parameters=BAD_TYPE), gd.SchemaError, "#/tools/1/function/parameters/properties/a~1b/type: "),
    (tool(name="f", parameters={"type": "string"}), gd.UnsatisfiableSchema, "#/tools/1/function/parameters: "),
    (
        tool(name="f", parameters={"required": ["a"], "maxProperties": 0}),
        gd.UnsatisfiableSchema,
        "#/tools/1/function/parameters: ",
    ),
    (
        tool(name="f", parameters={"not": {"properties": {"a": {"uniqueItems": True}}}}),
        gd.UnsupportedSchema,
        "#/tools/1/function/parameters/not/properties/a/uniqueItems: ",
    ),
    ({"tool_choice": "auto"}, gd.SchemaError, "#/tools: "),
    ({"tools": TOOLS, "tool_choice": "any"}, gd.SchemaError, "#/tool_choice: "),
    ({"tools": TOOLS, "tool_choice": {"type": "custom"}}, gd.SchemaError, "#/tool_choice/type: "),
    ({"tools": TOOLS, "tool_choice": {"type": "function"}}, gd.SchemaError, "#/tool_choice: 'function' is missing"),
    (
        {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "f"}}},
        gd.SchemaError,
        "#/tool_choice/function/name: there is no tool",
    ),
    (
        {"tools": TOOLS, "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "all", "tools": []}}},
        gd.SchemaError,
        "#/tool_choice/allowed_tools/mode: ",
    ),
    (
        {
            "tools": TOOLS,
            "tool_choice": {"type": "allowed_tools", "allowed_tools": {"tools": [{"function": {"name": "f"}}]}},
        },
        gd.SchemaError,
        "#/tool_choice/allowed_tools/tools/0/function/name: ",
    ),
    ({"tools": TOOLS, "parallel_tool_calls": 1}, gd.SchemaError, "#/parallel_tool_calls: "),
]


@pytest.mark.parametrize(("request_", "kind", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_what_is_wrong_is_named_with_its_place(request_: dict[str, Any], kind: type, message: str) -> None:
    with pytest.raises(gd.SchemaError) as caught:
        gd.compile_chat_request(request_)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(message)


def test_arguments_are_an_object_also_where_the_schema_says_less() -> None:
    request = {
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"anyOf": [POINT, {"type": "null"}]}}}],
        "tool_choice": "required",
    }
    grammar = gd.compile_chat_request(request)
    assert accepts(grammar, hermes('{"name": "f", "arguments": {"x": 1}}'))
    assert not accepts(grammar, hermes('{"name": "f", "arguments": null}'))


def test_a_grammar_of_a_request_is_kept_written_and_reported() -> None:
    request = {"tools": TOOLS, "tool_choice": "required"}
    grammar = gd.compile_chat_request(request)
    assert grammar is not None
    assert gd.compile_chat_request({**request, "messages": ["..."]}) is grammar
    assert gd.compile_chat_request(request, gd.ToolFormat.llama3()) is not grammar
    assert gd.compile_chat_request(request, cache=None) == grammar
    assert gd.Grammar.from_bytes(grammar.to_bytes()) == grammar
    locations = {entry.location for entry in grammar.report}
    assert "#/tools/0/function/parameters/properties/city" in locations
    matcher = gd.GrammarMatcher(grammar, BYTES)
    assert matcher.accept_bytes(b'<tool_call>{"name": "get_weather", "arguments": {')
    assert matcher.describe_expected() == 'one of the properties "city", "days"'


def test_formats_are_plain_data() -> None:
    other = dataclasses.replace(gd.ToolFormat.hermes(), begin="<function_call>", end="</function_call>")
    grammar = gd.compile_chat_request({"tools": TOOLS, "tool_choice": "required"}, other)
    assert accepts(grammar, f"<function_call>{NOW}</function_call>")
    with pytest.raises(gd.GrammarDecodeError, match="end marker"):
        gd.Reasoning("")
    with pytest.raises(TypeError, match="mapping"):
        gd.compile_chat_request([])  # type: ignore[arg-type]


WRONG_ARGUMENTS: list[tuple[Any, type[Exception], str]] = [
    (lambda: gd.ToolFormat(begin=3), TypeError, "ToolFormat.begin must be a str, not 3"),
    (lambda: gd.ToolFormat(array="yes"), TypeError, "ToolFormat.array must be a bool"),
    (lambda: gd.ToolFormat(name_key="x", arguments_key="x"), gd.GrammarDecodeError, "two keys"),
    (lambda: gd.ToolFormat(end="\ud800"), gd.GrammarDecodeError, "has no UTF-8"),
    (lambda: gd.Reasoning(None), TypeError, "Reasoning.end must be a str"),
    (lambda: gd.Reasoning(begin=b"<think>"), TypeError, "Reasoning.begin must be a str"),
    (lambda: gd.MarkerTokens(["</think>"]), TypeError, "needs a mapping"),
    (lambda: gd.MarkerTokens({"</think>": "5"}), gd.VocabularyError, "must be a token id, not '5'"),
    (lambda: gd.MarkerTokens({5: "</think>"}), gd.VocabularyError, "must be text"),
    (lambda: gd.MarkerTokens({}).applied_to(None), TypeError, "applied to a Vocabulary"),
    (lambda: gd.MarkerTokens.from_tokenizer(object(), ["a"]), gd.VocabularyError, "not a object. Pass the ids"),
    (lambda: gd.MarkerTokens.from_tokenizer(AddedTokens(), "<a>"), TypeError, "pass a list"),
    (lambda: gd.MarkerTokens.from_tokenizer(AddedTokens(), None), TypeError, "list of texts"),
    (lambda: gd.MarkerTokens.from_tokenizer(AddedTokens(), [1]), TypeError, "must be a text"),
    (
        lambda: gd.compile_chat_request({}, "hermes"),
        TypeError,
        "must be a ToolFormat or None, not 'hermes'",
    ),
    (lambda: gd.compile_chat_request({}, reasoning="</think>"), TypeError, "reasoning must be a Reasoning"),
    (lambda: gd.compile_chat_request({}, markers={"</think>": 5}), TypeError, "markers must be a MarkerTokens"),
    (lambda: gd.compile_chat_request({}, options={}), TypeError, "options must be a JsonOptions"),
    (lambda: gd.compile_chat_request({}, limits=3), TypeError, "limits must be a Limits"),
    (lambda: gd.compile_chat_request({}, cache=True), TypeError, "cache must be a GrammarCache"),
]


@pytest.mark.parametrize(("call", "kind", "message"), WRONG_ARGUMENTS, ids=[each[2] for each in WRONG_ARGUMENTS])
def test_arguments_of_a_wrong_type_are_named(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        call()
    assert type(caught.value) is kind
