"""One test for each fault that constrained decoders are known for, by the name of the fault."""

from __future__ import annotations

import json
from typing import Any

import pytest

import grammar_decode as gd
from vocabularies import ALL_SINGLE_BYTES
from walks import as_vocabulary, ids_of, mask_of

VOCABULARY = as_vocabulary(ALL_SINGLE_BYTES)
STOP = ALL_SINGLE_BYTES.stop_token_ids[0]


def start(schema: Any, prefix: bytes = b"", **options: Any) -> gd.GrammarMatcher:
    """A matcher behind ``prefix``."""
    matcher = gd.GrammarMatcher(gd.compile_json_schema(schema, gd.JsonOptions(**options)), VOCABULARY)
    assert not prefix or matcher.accept_bytes(prefix)
    return matcher


def accepts(schema: Any, text: bytes, **options: Any) -> bool:
    """Whether the text is a whole document."""
    matcher = start(schema, **options)
    return matcher.accept_bytes(text) and matcher.accept_token(STOP)


def permits(matcher: gd.GrammarMatcher, text: bytes) -> bool:
    """Whether the token with this text is on the mask, which must be what ``accept_token`` says."""
    token_id = ALL_SINGLE_BYTES.token_bytes.index(text)
    permitted = token_id in ids_of(mask_of(matcher))
    assert permitted == matcher.fork().accept_token(token_id)
    return permitted


@pytest.mark.parametrize(
    ("schema", "prefix", "token"),
    [
        ({"propertyNames": {"maxLength": 7}}, b'{"command":1,"', b"command"),
        ({"properties": {"command": False}, "propertyNames": {"maxLength": 7}}, b"{", b'"command'),
        ({"not": {"required": ["command"]}, "propertyNames": {"pattern": "^[a-z]{1,7}$"}}, b'{"', b"command"),
        ({"patternProperties": {"^(x.*|command)$": {}}, "additionalProperties": False}, b'{"command":1,"', b"command"),
        ({"propertyNames": {"maxLength": 3}}, b'{"aaa":1,"a', b"aa"),
    ],
)
def test_a_token_that_uses_up_a_pattern_is_none_where_only_a_taken_key_is_left(
    schema: Any, prefix: bytes, token: bytes
) -> None:
    grammar = gd.compile_json_schema({"type": "object", **schema})
    for extra in ([token], [token, token + b'"', token + b'":1']):
        vocabulary = gd.Vocabulary([*(bytes([b]) for b in range(256)), *extra, None], stop_token_ids=[256 + len(extra)])
        matcher = gd.GrammarMatcher(grammar, vocabulary)
        assert matcher.accept_bytes(prefix)
        allowed = set(ids_of(mask_of(matcher)))
        for token_id in range(256 + len(extra)):
            assert (token_id in allowed) == matcher.fork().accept_token(token_id), token_id
        assert not allowed & set(range(256, 256 + len(extra)))


# ---- objects --------------------------------------------------------------------------------------------------------

REQUIRED = {"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "c"]}


@pytest.mark.parametrize("key_order", ["schema", "any"])
@pytest.mark.parametrize("prefix", [b"{", b'{"a":1', b'{"a":1,"b":2', b'{ "a" : {} '])
def test_an_object_is_not_closed_while_required_keys_are_missing(prefix: bytes, key_order: str) -> None:
    matcher = start(REQUIRED, prefix, key_order=key_order)
    assert not permits(matcher, b"}")
    assert not permits(matcher, b"}}")
    assert matcher.accept_bytes(b'"a":1,"c":1' if prefix == b"{" else b',"c":1')
    assert permits(matcher, b"}")


def test_a_token_does_not_close_an_object_within_it_while_required_keys_are_missing() -> None:
    matcher = start(
        {"properties": {"x": {"type": "object", "required": ["a"]}}, "type": "object", "required": ["x"]}, b'{"x":{'
    )
    assert permits(matcher, b'"a"')
    matcher.accept_bytes(b'"b":1')
    assert not permits(matcher, b"}}")
    matcher.accept_bytes(b',"a":1')
    assert permits(matcher, b"}}")


NO_SECOND = [
    ("a_named_key", {"properties": {"a": {}, "b": {}}}, b'{"a":1,"b":1,"a', b'"'),
    ("an_additional_key", {}, b'{"x":1,"a":1,"x', b'"'),
    ("a_key_of_one_token", {}, b'{"a":1,"b":2,', b'"a"'),
    ("a_key_and_its_value_in_one_token", {}, b'{"a":1,"b":2,', b'"a":1,"a"'),
    ("the_empty_key", {}, b'{"":1,', b'""'),
    ("a_key_of_a_pattern", {"patternProperties": {"^x": {}}, "additionalProperties": False}, b'{"x":1,"x', b'"'),
    ("a_key_of_several_bytes", {}, '{"é":1,"'.encode() + b"\xc3", b'\xa9"'),
    ("an_escaped_key", {}, b'{"\\n":1,"\\n', b'"'),
]


@pytest.mark.parametrize(("schema", "prefix", "token"), [c[1:] for c in NO_SECOND], ids=[c[0] for c in NO_SECOND])
@pytest.mark.parametrize("key_order", ["schema", "any"])
def test_no_key_occurs_twice(schema: Any, prefix: bytes, token: bytes, key_order: str) -> None:
    matcher = start({"type": "object", **schema}, prefix, key_order=key_order)
    if token in ALL_SINGLE_BYTES.token_bytes:
        assert not permits(matcher, token)
    assert not matcher.accept_bytes(token)


def test_no_key_occurs_twice_within_one_token() -> None:
    tokens = [*(bytes((byte,)) for byte in range(256)), b'"a":1,"a"', b'"a":1,"b"', b'{"a":1,"a":1}', b'{"a":1,"b":1}']
    vocabulary = gd.Vocabulary([*tokens, None], stop_token_ids=[len(tokens)])
    matcher = gd.GrammarMatcher(gd.compile_json_schema({"type": "object"}), vocabulary)
    allowed = ids_of(mask_of(matcher))
    assert tokens.index(b'{"a":1,"b":1}') in allowed
    assert tokens.index(b'{"a":1,"a":1}') not in allowed
    assert matcher.accept_bytes(b"{")
    allowed = ids_of(mask_of(matcher))
    assert tokens.index(b'"a":1,"b"') in allowed
    assert tokens.index(b'"a":1,"a"') not in allowed


def test_an_escape_does_not_hide_a_second_key() -> None:
    for escapes in ("relaxed", "canonical", "any"):
        assert not accepts({}, rb'{"a":1,"\u0061":2}', escapes=escapes)


def test_the_same_key_may_occur_at_another_depth() -> None:
    assert accepts({}, b'{"a":{"a":[{"a":1},{"a":1}]},"b":{"a":1}}')


def test_a_used_key_of_a_finite_pattern_is_not_typed_again() -> None:
    schema = {"patternProperties": {"^(ab|cd)$": {}}, "additionalProperties": False, "type": "object"}
    matcher = start(schema, b'{"ab":1,"')
    assert not permits(matcher, b"a")
    assert permits(matcher, b"c")
    assert matcher.accept_bytes(b'cd":1')
    assert not permits(matcher, b",")
    assert permits(matcher, b"}")


# ---- arrays ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema", [{"type": "array"}, {"items": {"type": "integer"}}, {"prefixItems": [{}, False]}, {}]
)
def test_no_trailing_comma_in_an_array(schema: Any) -> None:
    for text in (b"[1,]", b"[,]", b"[,1]", b"[1 , ]"):
        assert not accepts(schema, text)
    matcher = start(schema, b"[1")
    assert not matcher.accept_bytes(b",]")
    if matcher.accept_bytes(b","):
        assert not permits(matcher, b"]")


def test_no_trailing_comma_in_an_object() -> None:
    assert not accepts({}, b'{"a":1,}')
    assert not permits(start({}, b'{"a":1,'), b"}")


# ---- numbers --------------------------------------------------------------------------------------------------------

INTEGERS = [{"type": "integer"}, {"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 5, "maximum": 10**9}]


@pytest.mark.parametrize("schema", [*INTEGERS, {"type": "number"}, {"multipleOf": 0.5, "type": "number"}, {}])
@pytest.mark.parametrize("numbers", ["canonical", "any"])
def test_no_leading_zeros(schema: Any, numbers: str) -> None:
    for text in (b"00000000106", b"0106", b"-0106", b"00", b"00.5"):
        assert not accepts(schema, text, numbers=numbers)
    assert accepts(schema, b"106", numbers=numbers)
    matcher = start(schema)
    if matcher.accept_bytes(b"0"):
        assert not permits(matcher, b"0")
        assert not permits(matcher, b"1")
        assert not permits(matcher, b"12")


@pytest.mark.parametrize("schema", INTEGERS)
def test_no_exponent_and_no_fraction_in_a_canonical_integer(schema: Any) -> None:
    for text in (b"1e2", b"1E2", b"10.0", b"9e0", b"100e-1", b"6."):
        assert not accepts(schema, text)
    matcher = start(schema, b"9")
    for token in (b"e1", b"E+", b"e-1", b".5", b".", b"e", b"E"):
        assert not permits(matcher, token)


@pytest.mark.parametrize("schema", [{}, {"type": "number"}, {"type": "integer"}, {"minimum": 0}, {"multipleOf": 0.5}])
@pytest.mark.parametrize("numbers", ["canonical", "any"])
def test_no_number_that_is_infinite_as_a_double(schema: Any, numbers: str) -> None:
    for text in (b"9e999999", b"-9e999999", b"9e309", b"1e400", b"1" + b"0" * 309, b"0.9e310", b"Infinity", b"NaN"):
        assert not accepts(schema, text, numbers=numbers)


# ---- strings --------------------------------------------------------------------------------------------------------

STRINGS = [{}, {"type": "string"}, {"type": "string", "minLength": 1, "maxLength": 9}, {"pattern": "^.*$"}]
NOT_UTF8 = {
    "overlong_slash": b"\xc0\xaf",
    "overlong_nul": b"\xc0\x80",
    "overlong_of_three": b"\xe0\x80\xaf",
    "overlong_of_four": b"\xf0\x80\x80\xaf",
    "surrogate": b"\xed\xa0\x80",
    "surrogate_pair": b"\xed\xa0\xbd\xed\xb8\x80",
    "beyond_unicode": b"\xf4\x90\x80\x80",
    "five_bytes": b"\xf8\x88\x80\x80\x80",
    "lone_continuation": b"\x80",
    "cut_short": b"\xe2\x82",
    "no_utf8_at_all": b"\xff\xfe",
}


@pytest.mark.parametrize("data", NOT_UTF8.values(), ids=NOT_UTF8)
@pytest.mark.parametrize("schema", STRINGS, ids=str)
def test_no_invalid_utf8_in_a_string(schema: Any, data: bytes) -> None:
    assert not accepts(schema, b'"' + data + b'"')
    assert not accepts(schema, b'"a' + data + b'b"')


@pytest.mark.parametrize("data", NOT_UTF8.values(), ids=NOT_UTF8)
def test_no_invalid_utf8_in_a_key(data: bytes) -> None:
    assert not accepts({}, b'{"' + data + b'":1}')


def test_a_character_split_over_tokens_is_read_and_its_rest_is_not_left_out() -> None:
    matcher = start({"type": "string"}, b'"')
    assert permits(matcher, b"a\xc3")
    assert matcher.accept_bytes(b"\xf0\x9f")
    assert permits(matcher, b"\x98\x80")
    assert not permits(matcher, b'"')
    assert not permits(matcher, b"\xa9b")  # the second byte of another character, then a letter


@pytest.mark.parametrize("escapes", ["relaxed", "any", "canonical"])
@pytest.mark.parametrize("schema", [*STRINGS, {"not": {"const": "a"}}], ids=str)
def test_no_lone_surrogate(schema: Any, escapes: str) -> None:
    lone = (rb"\ud800", rb"\udc00", rb"\uD83D", rb"\ude00\ud83d", rb"\ud83d\ud83d", rb"\ud83da", rb"\ud83d\n")
    for text in lone:
        assert not accepts(schema, b'"' + text + b'"', escapes=escapes)
        assert not accepts(schema, b'"b' + text + b'c"', escapes=escapes)
        assert not accepts({}, b'{"' + text + b'":1}', escapes=escapes)


@pytest.mark.parametrize("schema", STRINGS[:3], ids=str)
def test_a_surrogate_pair_is_a_character(schema: Any) -> None:
    assert accepts(schema, rb'"\ud83d\ude00"')
    assert accepts(schema, rb'"\uD83D\uDE00a"')
    matcher = start(schema, rb'"\ud83d')
    assert not permits(matcher, b'"')
    assert not permits(matcher, b"a")
    assert permits(matcher, b"\\")


@pytest.mark.parametrize("schema", STRINGS, ids=str)
def test_no_raw_control_character_in_a_string(schema: Any) -> None:
    for byte in (0x00, 0x01, 0x08, 0x09, 0x0A, 0x0D, 0x1F):
        assert not accepts(schema, b'"' + bytes((byte,)) + b'"')
        assert not accepts({}, b'{"' + bytes((byte,)) + b'":1}')
    assert accepts(schema, b'"\x7f"')
    matcher = start(schema, b'"a')
    for token in (b"\n", b"\t\t", b"\n\n", b"\r\n", b"\x00\x01"):
        assert not permits(matcher, token)


@pytest.mark.parametrize(
    "schema", [{}, {"type": "string"}, {"type": "string", "minLength": 1, "maxLength": 1}], ids=str
)
def test_nul_is_a_character_by_its_escape(schema: Any) -> None:
    assert accepts(schema, rb'"\u0000"')
    assert not accepts(schema, b'"\x00"')
    assert accepts({"const": "\0"}, rb'"\u0000"')
    assert accepts({"enum": ["a\0b", 1]}, rb'"a\u0000b"')
    assert not accepts({"enum": ["a\0b", 1]}, b'"a"')


@pytest.mark.parametrize("escaped", [False, True])
def test_lengths_count_code_points_not_bytes_nor_utf16_units(escaped: bool) -> None:
    two = {"type": "string", "minLength": 2, "maxLength": 2}
    for text, valid in (("é", False), ("éé", True), ("😀", False), ("😀😀", True), ("日本", True), ("😀😀😀", False)):
        units = text.encode("utf-16-be").hex()
        escapes = "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
        assert accepts(two, f'"{escapes if escaped else text}"'.encode()) is valid


def test_lengths_of_patterns_and_keys_count_code_points() -> None:
    assert accepts({"pattern": "^.{2}$", "type": "string"}, '"😀é"'.encode())
    assert not accepts({"pattern": "^.{4}$", "type": "string"}, '"😀é"'.encode())
    assert accepts({"propertyNames": {"maxLength": 1}}, '{"😀":1}'.encode())
    assert not accepts({"propertyNames": {"minLength": 2}}, '{"😀":1}'.encode())


def test_an_array_that_needs_every_value_is_no_search() -> None:
    # Listing ways to finish tried the orders of the first sixteen values; counting is enough.
    numbers = list(range(40))
    schema = {"type": "array", "items": {"enum": numbers}, "uniqueItems": True, "minItems": len(numbers)}
    matcher = start(schema)
    for byte in json.dumps(numbers[::-1], separators=(",", ":")).encode():
        assert byte in matcher.allowed_bytes()
        mask_of(matcher)
        assert matcher.accept_bytes(bytes((byte,)))
    assert matcher.is_accepting()
