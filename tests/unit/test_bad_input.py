"""Bad input at every door: an error of its own class that says what to change, and nothing is corrupted by it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grammar_decode as gd

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
STOP = 256
VOCAB = gd.Vocabulary([*(bytes([byte]) for byte in range(256)), None], stop_token_ids=[STOP])


@pytest.fixture
def matcher() -> gd.GrammarMatcher:
    matcher = gd.GrammarMatcher(gd.compile_json_schema(SCHEMA), VOCAB)
    assert matcher.accept_bytes(b'{"a":')
    return matcher


def mask_of(matcher: gd.GrammarMatcher) -> list[int]:
    bitmask = gd.allocate_token_bitmask(1, VOCAB.size)
    matcher.fill_next_token_bitmask(bitmask)
    return bitmask.tolist()


# ---- schemas --------------------------------------------------------------------------------------------------------

SCHEMAS: list[tuple[str, Any, type[gd.SchemaError], str | None, str]] = [
    ("not JSON", '{"type": ', gd.SchemaError, None, "not JSON"),
    ("empty text", "", gd.SchemaError, None, "not JSON"),
    ("not UTF-8", b'{"\xff": 1}', gd.SchemaError, None, "not JSON"),
    ("JSON with trailing text", "{} {}", gd.SchemaError, None, "not JSON"),
    ("a number", 3, gd.SchemaError, "#", "must be an object or a boolean"),
    ("null", None, gd.SchemaError, "#", "must be an object or a boolean"),
    ("an array", [{}], gd.SchemaError, "#", "must be an object or a boolean"),
    ("a string in JSON", '"string"', gd.SchemaError, "#", "must be an object or a boolean"),
    ("an unknown type", {"type": "int"}, gd.SchemaError, "#/type", "'integer'"),
    ("properties is an array", {"properties": ["a"]}, gd.SchemaError, "#/properties", "must be an object"),
    ("a subschema is a number", {"items": {"not": 3}}, gd.SchemaError, "#/items/not", "must be an object or a boolean"),
    ("required is a string", {"required": "a"}, gd.SchemaError, "#/required", "array of strings"),
    ("a negative length", {"minLength": -1}, gd.SchemaError, "#/minLength", "non-negative integer"),
    ("a bound that is a string", {"minimum": "1"}, gd.SchemaError, "#/minimum", "must be a number"),
    ("a bound that is not finite", {"minimum": float("nan")}, gd.SchemaError, "#/minimum", "must be a number"),
    ("a divisor of 0", {"multipleOf": 0}, gd.SchemaError, "#/multipleOf", "above 0"),
    ("an open group", {"pattern": "(a"}, gd.SchemaError, "#/pattern", "offset 0"),
    ("a key that is a number", {"const": {"a": {1: 2}}}, gd.SchemaError, "#/const/a", "key 1 is not a string"),
    ("a value that is not JSON", {"const": {"a": {1, 2}}}, gd.SchemaError, None, "not a JSON value"),
    ("a pointer to nothing", {"$ref": "#/$defs/a"}, gd.SchemaError, "#/$ref", "nothing at #/$defs"),
    ("an unknown anchor", {"$ref": "#a"}, gd.SchemaError, "#/$ref", "no such anchor"),
    ("another document", {"items": {"$ref": "http://a/b"}}, gd.SchemaError, "#/items/$ref", "resources={uri: schema}"),
    ("a loop of references", {"$ref": "#"}, gd.SchemaError, "#", "refers to itself"),
    ("false", False, gd.UnsatisfiableSchema, "#", "unsatisfiable"),
    ("contradictory types", {"allOf": [{"type": "null"}, {"type": "string"}]}, gd.UnsatisfiableSchema, "#", "unsatis"),
    ("an empty enum", {"enum": []}, gd.UnsatisfiableSchema, "#", "unsatisfiable"),
    (
        "a required member that can't be",
        {"type": "object", "properties": {"a": False}, "required": ["a"]},
        gd.UnsatisfiableSchema,
        "#",
        "unsatisfiable",
    ),
    ("endless nesting", {"type": "array", "items": {"$ref": "#"}, "minItems": 1}, gd.UnsatisfiableSchema, "#", "unsat"),
    ("a back-reference", {"pattern": r"(a)\1"}, gd.UnsupportedSchema, "#/pattern", "offset 3"),
    ("a huge minimum", {"type": "array", "minItems": 10**30}, gd.UnsupportedSchema, None, "1e+30"),
]


@pytest.mark.parametrize(("schema", "error", "location", "text"), [c[1:] for c in SCHEMAS], ids=[c[0] for c in SCHEMAS])
def test_bad_schema(schema: Any, error: type[gd.SchemaError], location: str | None, text: str) -> None:
    with pytest.raises(gd.SchemaError) as caught:
        gd.compile_json_schema(schema)
    assert type(caught.value) is error
    assert location is None or caught.value.location == location
    assert text in str(caught.value)


def test_a_limit_names_itself() -> None:
    deep: Any = {"type": "integer"}
    for _ in range(30):
        deep = {"type": "array", "items": deep}
    with pytest.raises(gd.SchemaTooComplex) as caught:
        gd.compile_json_schema(deep, limits=gd.Limits(max_nodes=20))
    assert caught.value.limit == "max_nodes"
    assert "20" in str(caught.value)


def test_a_maximum_beyond_every_document_bounds_nothing() -> None:
    grammar = gd.compile_json_schema({"maxItems": 2**53, "maxLength": 10**30, "maxProperties": 2**32 - 1})
    for text in (b'"a"', b"[1]", b'{"a":1}'):
        assert gd.GrammarMatcher(grammar, VOCAB).accept_bytes(text)


def test_resources_are_checked_where_they_are_used() -> None:
    with pytest.raises(gd.SchemaError, match="must be an object or a boolean") as caught:
        gd.compile_json_schema({"$ref": "http://a/b"}, resources={"http://a/b": 3})
    assert caught.value.location == "http://a/b#"


def test_a_wrong_text_option_names_the_right_ones() -> None:
    with pytest.raises(gd.GrammarDecodeError, match=r"whitespace='none'.*'compact'"):
        gd.JsonOptions(whitespace="none")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="options must be a JsonOptions"):
        gd.compile_json_schema({}, "compact")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="limits must be a Limits"):
        gd.compile_json_schema({}, limits=3)  # type: ignore[arg-type]


# ---- vocabularies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("token_bytes", "stop_token_ids", "size", "text"),
    [
        ([], [0], None, "The vocabulary is empty"),
        ([None, b""], [0], None, "None of the 2 tokens has bytes"),
        (["a"], [0], None, "must be bytes"),
        (b"ab", [0], None, "must be a list"),
        ([b"a"], [], None, "no stop token"),
        ([b"a"], [1], None, "out of range"),
        ([b"a"], 0, None, r"pass a list: \[0\]"),
        ([b"a", b"b"], [1], 1, "size is 1"),
        ([b"a", None], [1], 2.5, "whole number"),
    ],
)
def test_bad_vocabulary(token_bytes: Any, stop_token_ids: Any, size: Any, text: str) -> None:
    with pytest.raises(gd.VocabularyError, match=text):
        gd.Vocabulary(token_bytes, stop_token_ids=stop_token_ids, size=size)


def test_a_file_that_is_no_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{")
    for read in (gd.Vocabulary.from_tokenizer_json, gd.Vocabulary.from_gguf):
        with pytest.raises(gd.VocabularyError):
            read(path)
        with pytest.raises(gd.VocabularyError, match="can't be read"):
            read(tmp_path / "missing")


def test_a_vocabulary_that_can_write_no_document() -> None:
    words = gd.Vocabulary([b"yes", b"no", None], stop_token_ids=[2])
    with pytest.raises(gd.UnsatisfiableSchema, match="unsatisfiable with this vocabulary"):
        gd.GrammarMatcher(gd.compile_json_schema(SCHEMA), words)


def test_matcher_of_something_else() -> None:
    with pytest.raises(TypeError, match="not dict and Vocabulary"):
        gd.GrammarMatcher(SCHEMA, VOCAB)  # type: ignore[arg-type]


def test_stop_token_of_a_matcher_out_of_range() -> None:
    with pytest.raises(gd.MatcherError, match="999 is out of range"):
        gd.GrammarMatcher(gd.compile_json_schema({}), VOCAB, stop_token_ids=[999])


# ---- tokens ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token_id", [-1, VOCAB.size, 2**31, 2**40])
def test_token_out_of_range_leaves_the_matcher_as_it_was(matcher: gd.GrammarMatcher, token_id: int) -> None:
    before = mask_of(matcher), matcher.num_steps
    calls: list[Callable[[], Any]] = [
        lambda: matcher.accept_token(token_id),
        lambda: matcher.accept_tokens([ord("1"), token_id]),
        lambda: matcher.validate_tokens([ord("1"), token_id]),
    ]
    for call in calls:
        with pytest.raises(gd.MatcherError, match=f"{token_id} is out of range"):
            call()
        assert (mask_of(matcher), matcher.num_steps) == before


@pytest.mark.parametrize("token_id", ["1", 1.5, None, b"1"])
def test_token_of_the_wrong_type_leaves_the_matcher_as_it_was(matcher: gd.GrammarMatcher, token_id: Any) -> None:
    before = mask_of(matcher), matcher.num_steps
    with pytest.raises(TypeError):
        matcher.accept_token(token_id)
    with pytest.raises(TypeError):
        matcher.accept_tokens([ord("1"), token_id])
    assert (mask_of(matcher), matcher.num_steps) == before


def test_rollback_too_far_leaves_the_matcher_as_it_was(matcher: gd.GrammarMatcher) -> None:
    before = mask_of(matcher), matcher.num_steps
    for num_steps in (2, -1, 2**40):
        with pytest.raises(gd.MatcherError, match=f"can't roll back {num_steps} steps"):
            matcher.rollback(num_steps)
        assert (mask_of(matcher), matcher.num_steps) == before


def test_a_token_that_is_not_allowed_is_not_an_error(matcher: gd.GrammarMatcher) -> None:
    before = mask_of(matcher), matcher.num_steps
    assert not matcher.accept_token(ord("x"))
    assert not matcher.accept_token(STOP)
    assert not matcher.accept_bytes(b"12}x")
    assert (mask_of(matcher), matcher.num_steps) == before


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"max_tokens": "9"}, TypeError, "max_tokens must be a whole number, not '9'"),
        ({"max_tokens": 9.0}, TypeError, "max_tokens must be a whole number, not 9.0"),
        ({"max_tokens": -1}, gd.MatcherError, "must not be negative"),
        ({"max_tokens": 90, "closing_budget": "5"}, TypeError, "closing_budget must be a whole number"),
        ({"closing_budget": 5}, gd.MatcherError, "of max_tokens: pass that, too"),
        ({"count_stop_token": "no"}, TypeError, "count_stop_token must be True or False"),
        ({"stop_token_ids": 3}, TypeError, "stop_token_ids must be a list of token ids, not 3"),
        ({"stop_token_ids": ["</s>"]}, TypeError, "stop_token_ids must be a list of token ids"),
    ],
)
def test_what_a_matcher_is_not_made_with(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        gd.GrammarMatcher(gd.compile_json_schema(SCHEMA), VOCAB, **options)


def test_batches_are_of_matchers(matcher: gd.GrammarMatcher) -> None:
    bitmask = gd.allocate_token_bitmask(2, VOCAB.size)
    with pytest.raises(TypeError, match="a GrammarMatcher is expected, not int"):
        gd.fill_next_token_bitmasks([matcher, 1], bitmask)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="a GrammarMatcher is expected, not list"):
        gd.fill_draft_bitmasks([matcher], [1], bitmask)  # type: ignore[arg-type]
    assert (bitmask == -1).all()


# ---- bitmasks -------------------------------------------------------------------------------------------------------


def read_only(bitmask: Any) -> Any:
    bitmask.flags.writeable = False
    return bitmask


WORDS = -(-VOCAB.size // 32)

BITMASKS: list[tuple[str, Callable[[], Any], str]] = [
    ("too few words", lambda: np.full((2, WORDS - 1), 5, np.int32), f"this vocabulary needs {WORDS}"),
    ("too many words", lambda: np.full((2, WORDS + 1), 5, np.int32), f"this vocabulary needs {WORDS}"),
    ("one dimension", lambda: np.full(WORDS, 5, np.int32), "has 1 dimensions"),
    ("three dimensions", lambda: np.full((1, 1, WORDS), 5, np.int32), "has 3 dimensions"),
    ("int64", lambda: np.full((2, WORDS), 5, np.int64), "must have type int32"),
    ("float32", lambda: np.full((2, WORDS), 5, np.float32), "must have type int32"),
    ("bool", lambda: np.full((2, VOCAB.size), True), "must have type int32"),
    ("columns far apart", lambda: np.full((2, 2 * WORDS), 5, np.int32)[:, ::2], "must be contiguous"),
    ("no rows", lambda: np.full((0, WORDS), 5, np.int32), "0 rows|contiguous"),
    (
        "rows in one place",
        lambda: np.lib.stride_tricks.as_strided(np.full(WORDS, 5, np.int32), (2, WORDS), (0, 4)),
        "share",
    ),
    ("read-only", lambda: read_only(np.full((2, WORDS), 5, np.int32)), "read-only"),
    ("a list", lambda: [[5] * WORDS], "numpy array or a torch tensor"),
    ("None", lambda: None, "numpy array or a torch tensor"),
]


@pytest.mark.parametrize(("make", "text"), [c[1:] for c in BITMASKS], ids=[c[0] for c in BITMASKS])
def test_bad_bitmask_is_left_as_it_was(matcher: gd.GrammarMatcher, make: Callable[[], Any], text: str) -> None:
    bitmask, untouched = make(), make()
    before = mask_of(matcher)
    with pytest.raises(gd.BitmaskError, match=text):
        matcher.fill_next_token_bitmask(bitmask)
    assert np.array_equal(np.asarray(bitmask), np.asarray(untouched))
    assert mask_of(matcher) == before


@pytest.mark.parametrize("index", [2, -1, 2**40])
def test_row_out_of_range_leaves_the_bitmask_as_it_was(matcher: gd.GrammarMatcher, index: int) -> None:
    bitmask = np.full((2, WORDS), 5, np.int32)
    with pytest.raises(gd.BitmaskError, match=f"row {index} is out of range"):
        matcher.fill_next_token_bitmask(bitmask, index)
    assert (bitmask == 5).all()


def test_only_the_named_row_is_written(matcher: gd.GrammarMatcher) -> None:
    bitmask = np.full((3, WORDS), 5, np.int32)
    matcher.fill_next_token_bitmask(bitmask, 1)
    assert (bitmask[[0, 2]] == 5).all()
    assert bitmask[1].tolist() == mask_of(matcher)[0]


def test_bitmask_on_another_device(matcher: gd.GrammarMatcher) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(gd.BitmaskError):
        matcher.fill_next_token_bitmask(torch.zeros((1, WORDS), dtype=torch.int32, device="meta"))


def test_a_torch_bitmask_without_memory_is_refused(matcher: gd.GrammarMatcher) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from torch._subclasses.fake_tensor import FakeTensorMode

    gone = torch.zeros((1, WORDS), dtype=torch.int32)
    gone.untyped_storage().resize_(0)
    with FakeTensorMode():
        fake = torch.zeros((1, WORDS), dtype=torch.int32)
    for bitmask in (gone, fake, torch._efficientzerotensor(1, WORDS, dtype=torch.int32)):
        with pytest.raises(gd.BitmaskError, match="memory"):
            matcher.fill_next_token_bitmask(bitmask)
        with pytest.raises(gd.BitmaskError, match="memory"):
            gd.fill_next_token_bitmasks([matcher], bitmask)
        with pytest.raises(gd.BitmaskError):
            gd.apply_token_bitmask_inplace(torch.zeros(1, VOCAB.size), bitmask)


def test_a_torch_bitmask_is_filled_in_place(matcher: gd.GrammarMatcher) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    bitmask = torch.full((2, WORDS), 5, dtype=torch.int32)
    matcher.fill_next_token_bitmask(bitmask, 1)
    assert bitmask.tolist() == [[5] * WORDS, mask_of(matcher)[0]]


# ---- serialised grammars --------------------------------------------------------------------------------------------


def test_bytes_that_are_no_grammar() -> None:
    data = gd.compile_json_schema(SCHEMA).to_bytes()
    flipped = bytes([*data[:200], data[200] ^ 1, *data[201:]])
    newer = bytes([*data[:4], data[4] + 1, *data[5:]])
    for damaged, text in [
        (b"", "not a grammar"),
        (b"PK" + data, "not a grammar"),
        (data[:-1], "truncated"),
        (data + b"\0", "appended"),
        (flipped, "damaged"),
        (newer, "format"),
    ]:
        with pytest.raises(gd.SerializationError, match=text):
            gd.Grammar.from_bytes(damaged)


# ---- the tree -------------------------------------------------------------------------------------------------------


def test_every_error_is_a_value_error_of_this_package() -> None:
    errors = [getattr(gd, name) for name in gd.__all__]
    errors = [error for error in errors if isinstance(error, type) and issubclass(error, Exception)]
    assert len(errors) == 12
    assert all(issubclass(error, gd.GrammarDecodeError) for error in errors)
    assert issubclass(gd.GrammarDecodeError, ValueError)


def test_an_unsatisfiable_schema_is_told_with_the_place_that_nothing_fits() -> None:
    age = {"type": "integer", "minimum": 10, "maximum": 5}
    user = {"type": "object", "properties": {"age": age}, "required": ["age"]}
    with pytest.raises(gd.UnsatisfiableSchema, match="no value satisfies #/properties/user/properties/age"):
        gd.compile_json_schema({"type": "object", "properties": {"user": user}, "required": ["user"]})
