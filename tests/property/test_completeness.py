"""A grammar accepts every valid instance whose text obeys the options, and no invalid one, says `jsonschema`."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections import Counter
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument

import grammar_decode as gd
from amounts import examples
from schema_judge import for_python, judge
from schemas import CURATED, Curated
from schemas_random import METASCHEMA, NAMES, json_values, likely_values, random_schemas
from vocabularies import SYNTHETIC
from walks import as_vocabulary, tokens_of, written

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of jsonschema, by hypothesis-jsonschema
    from hypothesis_jsonschema import from_schema

THOROUGH = settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
BRIEF = settings(THOROUGH, max_examples=examples(25))

ANY_SPELLING = gd.JsonOptions(key_order="any", whitespace="any", escapes="any", numbers="any")
#: What is no multiple of a number is not spelled with every exponent (see ``json_schema/numbers.py``).
EXPONENT = re.compile("[0-9][eE]")
NEGATES = re.compile("'(not|oneOf|if)'")
seeds = st.integers(0, 2**32 - 1)
text_characters = st.characters(exclude_categories=("Cs",))


def accepts(grammar: gd.Grammar, text: str, rng: random.Random | None = None) -> bool:
    """Whether the text is a document; with ``rng``, as tokens rather than as bytes."""
    vocabulary = SYNTHETIC[0]
    matcher = gd.GrammarMatcher(grammar, as_vocabulary(vocabulary))
    data = text.encode()
    if rng is None:
        accepted = matcher.accept_bytes(data)
    else:
        accepted = matcher.accept_tokens(tokens_of(data, vocabulary, rng))
    return accepted and matcher.accept_token(vocabulary.stop_token_ids[0])


def python_text(value: Any) -> str:
    """What Python's serialiser writes, characters as they are and floats with exponents."""
    return json.dumps(value, ensure_ascii=False)


def escaped_text(value: Any) -> str:
    """Every character as an escape, but in keys, which have one spelling."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{python_text(name)}:{escaped_text(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(escaped_text, value)) + "]"
    if isinstance(value, str):
        units = value.encode("utf-16-be", "surrogatepass").hex()
        return '"' + "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)) + '"'
    return written(value)


def is_text(text: str) -> bool:
    """Whether it can be written: no lone surrogate (raw or escaped), at most 308 digits before the point."""
    lone = r"\\ud[89ab]..(?!\\ud[c-f])|(?<!\\ud[89ab]..)\\ud[c-f]"
    return not re.search(rf"[\ud800-\udfff]|[0-9]{{309}}|{lone}", text)


@st.composite
def instances(draw: st.DrawFn, schema: Any) -> Any:
    """What hypothesis-jsonschema makes of the schema, nearly all valid, and small values that mostly are not."""
    if draw(st.integers(0, 3)) == 0:
        return draw(json_values())
    try:
        return draw(from_schema(for_python(schema)))
    except InvalidArgument:  # what it makes of some contradictory bounds
        reject()


@pytest.mark.parametrize("curated", CURATED, ids=str)
def test_curated_instances_are_accepted_in_every_form_and_the_invalid_ones_in_none(curated: Curated) -> None:
    rng = random.Random(curated.name)
    is_valid = judge(curated.schema)
    forms = {
        "flexible": lambda value: written(value, rng),
        "any": lambda value: written(value, rng).replace("\t", " \r\n " * 20),
        "compact": written,
        "spaced": lambda value: written(value, None, ", ", ": "),
    }
    for key_order in ("schema", "any"):
        for whitespace, write in forms.items():
            options = gd.JsonOptions(key_order=key_order, whitespace=whitespace)  # type: ignore[arg-type]
            grammar = gd.compile_json_schema(curated.schema, options)
            for value in curated.valid:
                text = write(value)
                assert is_valid(text)
                assert accepts(grammar, text, rng), f"{text!r} is refused under {options}"
            for value in curated.invalid:
                text = write(value)
                assert not is_valid(text)
                assert not accepts(grammar, text, rng), f"{text!r} is accepted under {options}"


@pytest.mark.parametrize("curated", [c for c in CURATED if "$defs" not in str(c.schema)], ids=str)
def test_instances_of_curated_schemas_are_accepted(curated: Curated) -> None:
    grammar = gd.compile_json_schema(curated.schema, gd.JsonOptions(key_order="any"))
    is_valid = judge(curated.schema)

    @BRIEF
    @given(instances(curated.schema), seeds)
    def check(value: Any, seed: int) -> None:
        rng = random.Random(seed)
        for text in (written(value), written(value, rng)):
            assume(is_text(text))
            assert accepts(grammar, text, rng) == is_valid(text), f"{text!r} is valid: {is_valid(text)}"

    check()


def check_instances(
    schemas: st.SearchStrategy[Any],
    options: gd.JsonOptions,
    write: Any,
    *,
    by_package: bool = False,
    num_examples: int = examples(150),
) -> None:
    """The grammar and the validator agree on instances of drawn schemas; many are valid, and many are not."""
    tally: Counter[bool] = Counter()

    @settings(THOROUGH, max_examples=num_examples)
    @given(schemas, st.data(), seeds)
    def check(schema: Any, data: st.DataObject, seed: int) -> None:
        rng = random.Random(seed)
        grammar = None
        try:
            grammar = gd.compile_json_schema(schema, options)
        except gd.UnsatisfiableSchema:
            pass
        except gd.SchemaTooComplex:
            return
        is_valid = judge(schema)
        values = instances(schema) if by_package else likely_values(schema, schema)
        for _ in range(4):
            text = write(data.draw(values))
            if not is_text(text) or (EXPONENT.search(text) and NEGATES.search(str(schema))):
                continue
            valid = is_valid(text)
            accepted = grammar is not None and accepts(grammar, text, rng)
            assert accepted == valid, f"{text!r} is {'' if valid else 'in'}valid for {schema}"
            tally[valid] += 1

    check()
    assert tally.total() > num_examples // 2, tally
    assert min(tally[True], tally[False]) >= num_examples // 15, tally  # where it tries many, it tries both


def test_instances_of_random_schemas_are_accepted_just_if_they_are_valid() -> None:
    check_instances(random_schemas(), gd.JsonOptions(key_order="any"), written)


def test_instances_of_random_schemas_of_draft_7_are_accepted_just_if_they_are_valid() -> None:
    check_instances(random_schemas(draft7=True), gd.JsonOptions(key_order="any"), written)


def test_instances_by_hypothesis_jsonschema_are_accepted_just_if_they_are_valid() -> None:
    check_instances(
        from_schema(METASCHEMA), gd.JsonOptions(key_order="any"), written, by_package=True, num_examples=examples(60)
    )


def test_what_python_writes_is_accepted_in_any_spelling() -> None:
    check_instances(random_schemas(draft7=True, refs=False), ANY_SPELLING, python_text)


def test_strings_of_escapes_are_accepted_in_any_spelling() -> None:
    check_instances(random_schemas(draft7=True, refs=False), ANY_SPELLING, escaped_text)


# ---- the order of the schema ----------------------------------------------------------------------------------------


@st.composite
def ordered_schemas(draw: st.DrawFn, depth: int = 2) -> Any:
    """Objects with declared, optional and additional members: schemas whose order is plain to see."""
    scalars = ({"type": "integer"}, {"type": "string"}, {"type": "null"}, {}, {"enum": ["a", 1]})
    if not depth:
        return draw(st.sampled_from(scalars))
    inner = ordered_schemas(depth - 1)
    if draw(st.integers(0, 4)) == 0:
        return {"type": "array", "items": draw(inner)}
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=4))
    schema = {"type": "object", "properties": {name: draw(inner) for name in names}}
    schema["required"] = draw(st.lists(st.sampled_from(names), unique=True))
    additional = draw(st.sampled_from((None, False, {"type": "integer"})))
    return schema if additional is None else {**schema, "additionalProperties": additional}


def in_order(schema: Any, value: Any) -> Any:
    """The value with declared names in the order of ``properties``, all others behind them."""
    if isinstance(value, list) and "items" in schema:
        return [in_order(schema["items"], item) for item in value]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    declared = schema["properties"]
    names = [name for name in declared if name in value] + [name for name in value if name not in declared]
    return {name: in_order(declared.get(name, {}), value[name]) for name in names}


@pytest.mark.parametrize("whitespace", ["flexible", "compact", "spaced"])
def test_instances_in_the_order_of_the_schema_are_accepted(
    whitespace: Literal["flexible", "compact", "spaced"],
) -> None:
    options = gd.JsonOptions(key_order="schema", whitespace=whitespace)
    separators = (", ", ": ") if whitespace == "spaced" else (",", ":")
    num_valid = 0

    @settings(THOROUGH, max_examples=examples(60))
    @given(ordered_schemas(), st.data(), seeds)
    def check(schema: Any, data: st.DataObject, seed: int) -> None:
        nonlocal num_valid
        rng = random.Random(seed)
        grammar = gd.compile_json_schema(schema, options)
        for values in (instances(schema), likely_values(schema, schema), likely_values(schema, schema)):
            value = in_order(schema, data.draw(values))
            text = written(value, rng if whitespace == "flexible" else None, *separators)
            if is_text(text):
                assert accepts(grammar, text, rng) == judge(schema)(text), f"{text!r} for {schema}"
                num_valid += judge(schema)(text)

    check()
    assert num_valid >= examples(60) // 3


def test_a_declared_name_out_of_its_order_is_refused() -> None:
    schema = {"properties": {"b": {}, "a": {}}}
    in_any_order, in_schema_order = (
        gd.compile_json_schema(schema, gd.JsonOptions(key_order=order)) for order in ("any", "schema")
    )
    assert accepts(in_any_order, '{"a":1,"b":1}')
    assert not accepts(in_schema_order, '{"a":1,"b":1}')


# ---- strings --------------------------------------------------------------------------------------------------------


@THOROUGH
@given(st.text(text_characters), st.integers(0, 4), st.integers(0, 4), seeds)
def test_lengths_agree_for_every_string(text: str, low: int, more: int, seed: int) -> None:
    rng = random.Random(seed)
    schema = {"type": "string", "minLength": low, "maxLength": low + more}
    valid = low <= len(text) <= low + more
    for escapes in ("relaxed", "canonical", "any"):
        grammar = gd.compile_json_schema(schema, gd.JsonOptions(escapes=escapes))
        assert accepts(grammar, python_text(text), rng) == valid
        escaped = json.dumps(text)
        if escapes == "any" or (escapes == "relaxed" and valid):
            assert accepts(grammar, escaped, rng) == valid
