"""`explain` and `where`: each rule, each kind of place, and the words."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import grammar_decode as gd

BYTES: list[bytes | None] = [bytes([byte]) for byte in range(256)]
STOP, SPECIAL, LONG, PADDING = 256, 257, 258, 259
VOCAB = gd.Vocabulary([*BYTES, None, None, b'{"name": "bo'], stop_token_ids=[STOP], size=262)
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        "age": {"type": "integer", "minimum": 0, "maximum": 9999},
        "kind": {"enum": ["a", "b", 3]},
        "flags": {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True},
        "more": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}, {"$ref": "#/$defs/q"}]},
    },
    "required": ["name"],
    "additionalProperties": False,
    "$defs": {"q": {"type": "object", "properties": {"k": {"type": "number"}}, "required": ["k"]}},
}


def standing(schema: Any, text: bytes, **options: Any) -> gd.GrammarMatcher:
    grammar = schema if isinstance(schema, gd.Grammar) else gd.compile_json_schema(schema)
    matcher = gd.GrammarMatcher(grammar, VOCAB, **options)
    assert matcher.accept_bytes(text)
    return matcher


# ---- rules ----------------------------------------------------------------------------------------------------------


def test_a_token_that_is_allowed() -> None:
    answer = standing(PERSON, b"").explain(LONG)
    assert (answer.allowed, answer.rule, answer.offset) == (True, None, None)
    assert (answer.token_id, answer.data) == (LONG, b'{"name": "bo')
    assert str(answer) == 'token 258 ("{"name": "bo") is allowed at the root'


@pytest.mark.parametrize(
    ("text", "token", "rule", "offset", "pointer", "locations", "expected", "reason"),
    [
        (b"", b"[", "grammar", 0, "", ("#",), "an object", ""),
        (b"", STOP, "stop token", None, "", ("#",), "an object", "it ends the text, which is not complete"),
        (b"{", SPECIAL, "special token", None, "", ("#",), None, "it is a special token, without text"),
        (b"{", PADDING, "id without text", None, "", ("#",), None, "no token of the vocabulary has this id"),
        (
            b'{"name": "ab"',
            b', "name": "c"',
            "duplicate key",
            3,
            "",
            ("#",),
            'one of the properties "age", "flags", "kind", "more"',
            'the property "name" is there already',
        ),
        (
            b'{"name": "ab"',
            b', "na',
            "duplicate key",
            3,
            "",
            ("#",),
            'one of the properties "age", "flags", "kind", "more"',
            'the property "name" is there already',
        ),
        (
            b'{"name": "ab"',
            b', "nb',
            "grammar",
            3,
            "",
            ("#",),
            'one of the properties "age", "flags", "kind", "more"',
            "",
        ),
        (
            b'{"flags": [true',
            b", true",
            "duplicate item",
            2,
            "/flags/1",
            ("#/properties/flags/items",),
            "false",
            "the items must be distinct",
        ),
        (
            b'{"flags": [true, false',
            b", ",
            "duplicate item",
            0,
            "/flags",
            ("#/properties/flags",),
            '"]"; the items must be distinct',
            "the items must be distinct",
        ),
        (b'{"flags": [true', b", 1", "grammar", 2, "/flags/1", ("#/properties/flags/items",), "false", ""),
    ],
)
def test_each_rule(
    text: bytes,
    token: int | bytes,
    rule: str,
    offset: int | None,
    pointer: str,
    locations: tuple[str, ...],
    expected: str | None,
    reason: str,
) -> None:
    answer = standing(PERSON, text).explain(token)
    assert not answer.allowed
    assert (answer.rule, answer.offset, answer.pointer) == (rule, offset, pointer)
    assert answer.schema_locations == locations
    assert answer.reason == reason
    assert expected in (None, answer.expected)


def test_a_key_of_a_pattern_that_is_there_already() -> None:
    answer = standing({"type": "object", "patternProperties": {"^x": {"type": "integer"}}}, b'{"xa":1,"b":2').explain(
        b',"xa":'
    )
    assert (answer.rule, answer.offset) == ("duplicate key", 4)
    assert answer.reason == 'the property "xa" is there already'


def test_a_token_that_the_budget_takes() -> None:
    grammar = gd.compile_json_schema(PERSON)
    matcher = gd.GrammarMatcher(grammar, VOCAB, max_tokens=14)
    assert matcher.accept_tokens(list(b'{"name":"ab'))
    answer = matcher.explain(ord("c"))
    assert (answer.allowed, answer.rule, answer.offset) == (False, "token budget", 1)
    assert answer.reason == "3 tokens left, and behind it the document still needs 2 tokens and the stop token"
    assert str(answer) == f'token 99 ("c") is not allowed at /name: {answer.reason}'
    assert matcher.explain(b"c").allowed  # as accept_bytes: text counts no token
    assert gd.GrammarMatcher(grammar, VOCAB, max_tokens=14, count_stop_token=False).explain(ord("{")).allowed


def test_a_token_that_the_closing_budget_takes() -> None:
    matcher = gd.GrammarMatcher(gd.compile_json_schema(PERSON), VOCAB, max_tokens=40, closing_budget=30)
    assert matcher.accept_tokens(list(b'{"name":"ab"'))
    answer = matcher.explain(ord(","))
    assert answer.rule == "token budget"
    assert "within the closing budget" in answer.reason


def test_a_limit_of_work_is_an_answer_and_no_error() -> None:
    schema = {"$ref": "#/$defs/l", "$defs": {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}}}}
    grammar = gd.compile_json_schema(schema, limits=gd.Limits(max_document_depth=5))
    answer = standing(grammar, b"[[[").explain(b"[" * 20)
    assert (answer.allowed, answer.rule) == (False, "limit")
    assert "objects and arrays" in answer.reason
    assert answer.reason in str(answer)


def test_after_the_end() -> None:
    matcher = standing(PERSON, b'{"name":"a"}')
    assert matcher.explain(STOP).allowed
    assert matcher.accept_token(STOP)
    assert matcher.explain(STOP).allowed  # as the mask says
    for token in (ord("a"), b"a", b""):
        answer = matcher.explain(token)
        assert (answer.allowed, answer.rule, answer.offset) == (False, "grammar", 0)
        assert answer.expected == "nothing: the sequence has ended"
    assert matcher.where().is_complete


@pytest.mark.parametrize("token", [-1, 262, 1 << 70])
def test_an_id_outside_of_the_vocabulary(token: int) -> None:
    with pytest.raises(gd.MatcherError, match="out of range"):
        standing(PERSON, b"").explain(token)


def test_what_is_neither_an_id_nor_bytes() -> None:
    with pytest.raises(TypeError):
        standing(PERSON, b"").explain("x")  # type: ignore[arg-type]


def test_other_stop_tokens_of_one_sequence() -> None:
    matcher = gd.GrammarMatcher(gd.compile_json_schema(PERSON), VOCAB, stop_token_ids=[SPECIAL])
    assert matcher.explain(SPECIAL).rule == "stop token"
    assert matcher.explain(STOP).rule == "special token"


def test_the_state_is_unchanged() -> None:
    matcher = standing(PERSON, b'{"name": "a', max_tokens=50)
    before = (matcher.text, matcher.num_steps, matcher.tokens_left, matcher.where())
    for token in (*range(262), b'b", "age": 3', b"\xff"):
        matcher.explain(token)
    assert (matcher.text, matcher.num_steps, matcher.tokens_left, matcher.where()) == before


def test_answers_are_plain_data() -> None:
    matcher = standing(PERSON, b'{"name": "a')
    for answer in (matcher.explain(b"1"), matcher.where()):
        assert pickle.loads(pickle.dumps(answer)) == answer


# ---- places and words -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pointer", "locations", "expected"),
    [
        (b"{", "", "#", 'one of the properties "age", "flags", "kind", "more", "name"; required: "name"'),
        (b'{"a', "", "#", 'the property "age"'),
        (b'{"age"', "/age", "#/properties/age", '":"'),
        (
            b'{"age":',
            "/age",
            "#/properties/age",
            "a number; the number must be at least 0 and at most 9999 and an integer",
        ),
        (
            b'{"name":"x","age":1',
            "/age",
            "#/properties/age",
            (
                'a digit, at most 3 more; or "," and one of the properties "flags", "kind", "more"; or "}"; '
                "the number must be at least 0 and at most 9999 and an integer"
            ),
        ),
        (
            b'{"name":"ab',
            "/name",
            "#/properties/name",
            (
                "one of the characters a-z, at most 3 more; or the closing quote; "
                "the string must match ^[a-z]+$ and have at most 5 characters"
            ),
        ),
        (b'{"kind":', "/kind", "#/properties/kind", 'one of "a", "b", 3'),
        (b'{"kind":"', "/kind", "#/properties/kind", 'one of "a", "b"'),
        (b'{"flags":[', "/flags", "#/properties/flags", 'true or false or "]"'),
        (b'{"flags":[t', "/flags/0", "#/properties/flags/items", "the rest of true"),
        (b'{"more":{', "/more", "#/$defs/q", 'the property "k", or another property; required: "k"'),
        (b'{"more":{"k":1', "/more/k", "#/$defs/q/properties/k", None),
        (b'{"more":"', "/more", "#/properties/more/anyOf/0", None),
        (b'{"name":"a"} ', "", "#", "the end of the document"),
    ],
)
def test_each_kind_of_place(text: bytes, pointer: str, locations: str, expected: str | None) -> None:
    matcher = standing(PERSON, text)
    place = matcher.where()
    assert (place.pointer, place.schema_locations) == (pointer, (locations,))
    assert expected in (None, place.expected)
    assert matcher.describe_expected() == place.expected


def test_where_says_how_far_the_end_is() -> None:
    matcher = standing(PERSON, b'{"name": "a', max_tokens=30)
    place = matcher.where()
    assert (place.is_complete, place.distance_tokens, place.distance_bytes, place.tokens_left) == (False, 2, 2, 30)
    assert str(place).startswith("open at /name (schema #/properties/name): expected one of the characters a-z")
    assert str(place).endswith("; 2 tokens (2 bytes) from the end; 30 tokens left")
    assert (
        str(standing(PERSON, b'{"name":"a"}').where())
        == "complete at the root (schema #): expected the end of the document"
    )


ONE_OF = {
    "oneOf": [
        {"properties": {"k": {"const": "A"}, "v": {"type": "integer"}}, "required": ["k", "v"], "type": "object"},
        {
            "properties": {"k": {"const": "B"}, "v": {"minLength": 3, "type": "string"}},
            "required": ["k"],
            "type": "object",
        },
    ]
}

RECURSIVE = {"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"t": {"$ref": "#/$defs/t"}}, "type": "object"}}}


@pytest.mark.parametrize(
    ("schema", "text", "locations", "expected"),
    [
        (ONE_OF, b'{"k":', {"#/oneOf/0/properties/k", "#/oneOf/1/properties/k"}, 'one of "A", "B"'),
        (ONE_OF, b'{"k":"B","v":', {"#/oneOf/1/properties/v"}, "a string; the string must have at least 3 characters"),
        (ONE_OF, b'{"v":1,"k":', {"#/oneOf/0/properties/k"}, '"A"'),
        (
            {"type": "array", "minItems": 2, "items": {"type": "null"}},
            b"[null",
            {"#"},
            '","; at least 2 items must be there',
        ),
        ({"type": "array", "maxItems": 1, "items": {}}, b"[[]", {"#"}, '"]"; at most 1 item may be there'),
        ({"prefixItems": [{"type": "null"}, {"const": 5}], "type": "array"}, b"[null,", {"#/prefixItems/1"}, "5"),
        ({"format": "date", "type": "string"}, b'"2', {"#"}, None),
        (
            {"allOf": [{"type": "string"}, {"maxLength": 4}, {"pattern": "^a"}]},
            b'"a',
            {"#/allOf/0", "#/allOf/1", "#/allOf/2"},
            None,
        ),
        (
            {"patternProperties": {"^n": {"multipleOf": 5, "type": "integer"}}, "type": "object"},
            b'{"nx":',
            {"#/patternProperties/^n"},
            None,
        ),
        ({"additionalProperties": {"type": "null"}, "type": "object"}, b'{"x":', {"#/additionalProperties"}, "null"),
        (True, b"", {"#"}, "a value"),
        ({"type": "integer"}, b"-", {"#"}, None),
        ({"type": "string"}, b'"\\', {"#"}, r'the rest of an escape (" / \ b f n r t u)'),
        ({"type": "string"}, b'"\xc3', {"#"}, "the rest of a character"),
        (RECURSIVE, b'{"t":{"t":{', {"#/$defs/t"}, None),
    ],
)
def test_schemas_of_each_kind(schema: Any, text: bytes, locations: set[str], expected: str | None) -> None:
    place = standing(schema, text).where()
    assert set(place.schema_locations) == locations or schema is True
    assert expected in (None, place.expected)


def test_a_schema_that_is_changed_afterwards() -> None:
    for cache in (None, gd.GrammarCache()):
        schema = {"type": "string", "maxLength": 3}
        grammar = gd.compile_json_schema(schema, cache=cache)
        schema["maxLength"] = 9
        assert "at most 3 characters" in standing(grammar, b'"').where().expected


def test_a_grammar_that_was_stored_tells_as_much() -> None:
    for schema, text in ((PERSON, b'{"name":"ab'), (PERSON, b'{"flags":[tr'), ({"items": {"maxLength": 3}}, b'["a')):
        grammar = gd.compile_json_schema(schema)
        stored = gd.Grammar.from_bytes(grammar.to_bytes())
        assert standing(stored, text).where() == standing(grammar, text).where()
        assert gd.Grammar.from_bytes(stored.to_bytes()) == grammar


def test_a_grammar_that_was_stored_without_its_schema_still_finds_words() -> None:
    def stored(schema: Any) -> gd.Grammar:  # too large to be stored, and shared in memory
        shared: Any = {"description": "x" * 1000}
        for _ in range(12):
            shared = {"anyOf": [shared, shared]}
        return gd.Grammar.from_bytes(gd.compile_json_schema({**schema, "definitions": {"unused": shared}}).to_bytes())

    grammar = stored(PERSON)
    place = standing(grammar, b'{"name":"ab').where()
    assert (place.pointer, place.schema_locations) == ("/name", ("#",))  # of the object that it is in
    assert place.expected == "one of the characters a-z, at most 3 more; or the closing quote"
    assert standing(grammar, b'{"flags":[true').explain(b",true").rule == "duplicate item"
    colors = stored({"items": {"enum": ["red", "green"]}, "type": "array"})
    assert standing(colors, b'["').where().expected == 'one of "green", "red"'


def test_texts_that_are_not_json() -> None:
    choice = gd.compile_choice(["positive", "negative", "neutral"])
    assert standing(choice, b"").where().expected == 'one of "negative", "neutral", "positive"'
    place = standing(choice, b"ne").where()
    assert (place.pointer, place.expected) == (None, 'one of "negative", "neutral"')
    place = standing(gd.compile_regex("[A-Z]{2}-[0-9]+"), b"AB-1").where()
    assert (place.pointer, place.expected) == (None, "one of the characters 0-9 or the end of the document")


def test_json_behind_other_text() -> None:
    parameters = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 4}},
        "additionalProperties": False,
    }
    tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
    grammar = gd.compile_chat_request({"tools": tools, "tool_choice": "auto"}, gd.ToolFormat.hermes())
    assert standing(grammar, b'Is {"a": 1} json? ').where().pointer is None
    call = b'Is {"a": 1} json? <tool_call>{"name": "weather", "arguments": {"city": "ab'
    place = standing(grammar, call).where()
    assert (place.pointer, place.expected) == ("/arguments/city", "a character, at most 2 more; or the closing quote")
    assert standing(grammar, call + b'"').explain(b', "city').rule == "grammar"
    assert standing(grammar, b"<tool_call>").explain(b"x").expected == '"{"'
