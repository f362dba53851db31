"""Each rule of JSON Schema, as a schema with texts that are in its language and texts that are not."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from grammar_decode.errors import UnsatisfiableSchema
from grammar_decode.json_schema import JsonOptions, compile_schema
from grammar_decode.reference import accepts, is_empty

DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"
DRAFT2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT2020 = "https://json-schema.org/draft/2020-12/schema"


class Case(NamedTuple):
    rule: str
    schema: Any
    accepted: list[str]
    rejected: list[str]


ANY_ORDER = JsonOptions(key_order="any")
IN_ORDER = JsonOptions(key_order="schema")
SCHEMA_ORDER = JsonOptions(key_order="schema")

CASES = [
    # types
    Case(
        "no_keyword_admits_every_value", {}, ["null", "true", "-1.5e3", '"\\u00e9"', "[1,[]]", '{"a":{}}'], ["", "nul"]
    ),
    Case("true_admits_every_value", True, ["0", "[]"], []),
    Case("type_admits_its_type", {"type": "string"}, ['""', '"a"'], ["1", "null", "[]"]),
    Case("type_may_be_a_list", {"type": ["null", "integer"]}, ["null", "3"], ["3.5", '"3"']),
    Case("integer_has_no_leading_zeros", {"type": "integer"}, ["0", "-7", "10"], ["00000000106", "1e2", "1.5"]),
    Case("number_admits_fractions", {"type": "number"}, ["1", "1.5", "-0.25", "1e10"], ["01", "+1", ".5", "9e999999"]),
    Case("keyword_speaks_of_its_own_type_only", {"minLength": 2}, ['"ab"', "1", "[]", "{}"], ['"a"']),
    # constants
    Case("enum_of_scalars", {"enum": ["a", 1, None, True]}, ['"a"', "1", "null", "true"], ['"b"', "2", "false"]),
    Case("const_of_an_array", {"const": [1, [2]]}, ["[1,[2]]"], ["[1]", "[1,[2],3]", "[1,[3]]"]),
    Case(
        "const_of_an_object", {"const": {"a": 1, "b": {"c": 2}}}, ['{"a":1,"b":{"c":2}}'], ['{"a":1}', '{"a":1,"b":{}}']
    ),
    Case("enum_of_objects", {"enum": [{"a": 1}, {"a": 2, "b": 3}]}, ['{"a":1}', '{"a":2,"b":3}'], ['{"a":2}', "{}"]),
    Case("enum_meets_type", {"enum": ["a", 1, 2.5], "type": "integer"}, ["1"], ['"a"', "2.5"]),
    Case("enum_meets_pattern", {"enum": ["ab", "cd"], "pattern": "^a"}, ['"ab"'], ['"cd"']),
    Case("enum_meets_object_keywords", {"enum": [{"a": 1}, {"b": 1}], "required": ["b"]}, ['{"b":1}'], ['{"a":1}']),
    Case("true_is_not_one", {"enum": [1]}, ["1"], ["true"]),
    Case("one_point_zero_is_one", {"const": 1.0}, ["1", "1.0"], ["1.5"]),
    Case(
        "empty_strings_and_escapes", {"enum": ["", 'a"b', "é\n"]}, ['""', '"a\\"b"', '"é\\n"'], ['"a"', '"\\u00e9\\n"']
    ),
    # strings
    Case(
        "length_counts_code_points",
        {"type": "string", "minLength": 2, "maxLength": 3},
        ['"ab"', '"😀😀"', '"\\ud83d\\ude00a"'],
        ['"a"', '"abcd"', '"😀"'],
    ),
    Case("pattern_is_not_anchored", {"type": "string", "pattern": "b+"}, ['"abc"', '"b"'], ['"ac"', '""']),
    Case(
        "pattern_with_length_inside",
        {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
        ['"abc"'],
        ['"abcd"', '""'],
    ),
    Case(
        "pattern_with_length_outside",
        {"type": "string", "pattern": "^(ab|c)*$", "minLength": 3, "maxLength": 4},
        ['"abc"', '"abab"', '"ccc"'],
        ['"ab"', '"ababc"'],
    ),
    Case(
        "patterns_all_hold",
        {"allOf": [{"pattern": "a"}, {"pattern": "b"}], "type": "string"},
        ['"ab"', '"ba"'],
        ['"a"'],
    ),
    Case("not_pattern", {"type": "string", "not": {"pattern": "^a"}}, ['"b"', '""'], ['"a"', '"ab"']),
    Case(
        "not_length", {"type": "string", "not": {"minLength": 2, "maxLength": 3}}, ['"a"', '"abcd"'], ['"ab"', '"abc"']
    ),
    Case(
        "not_enum", {"type": "string", "not": {"enum": ["a", "b"]}}, ['"c"', '"ab"', '""'], ['"a"', '"b"', '"\\u0061"']
    ),
    # numbers
    Case("range", {"type": "integer", "minimum": 3, "exclusiveMaximum": 10}, ["3", "9"], ["2", "10"]),
    Case("boolean_exclusive_of_draft_4", {"minimum": 3, "exclusiveMinimum": True, "type": "integer"}, ["4"], ["3"]),
    Case(
        "multiple_of_decimal",
        {"type": "number", "multipleOf": 0.01, "minimum": 0, "maximum": 1},
        ["0.25", "1"],
        ["0.255"],
    ),
    Case("not_integer", {"type": "number", "not": {"type": "integer"}}, ["1.5"], ["1", "-3", "2.0"]),
    Case("not_range", {"type": "integer", "not": {"minimum": 0, "maximum": 9}}, ["-1", "10"], ["0", "9"]),
    Case(
        "ranges_of_alternatives",
        {"type": "integer", "anyOf": [{"maximum": 0}, {"minimum": 9}]},
        ["-4", "0", "9"],
        ["1", "8"],
    ),
    Case(
        "constants_and_ranges_of_alternatives",
        {"multipleOf": 0.5, "anyOf": [{"enum": [1.5, 1.7]}, {"type": "integer"}]},
        ["1.5", "2"],
        ["1.7", "2.5"],
    ),
    # objects
    Case(
        "properties_constrain_if_present",
        {"properties": {"a": {"type": "null"}}},
        ["{}", '{"a":null}', '{"b":1}', "7"],
        ['{"a":1}'],
    ),
    Case("required", {"type": "object", "required": ["a"]}, ['{"a":1}', '{"b":1,"a":[]}'], ["{}", '{"b":1}']),
    Case("no_key_twice", {"type": "object"}, ['{"a":1,"b":1}'], ['{"a":1,"a":1}', '{"a":1,"\\u0061":1}']),
    Case(
        "declared_keys_in_their_order",
        {"properties": {"b": {}, "a": {}}},
        ['{"b":1,"a":1}', '{"a":1}', '{"a":1,"c":1}'],
        ['{"a":1,"b":1}', '{"c":1,"a":1}'],
    ),
    Case(
        "keys_of_all_of_come_where_it_stands",
        {"allOf": [{"properties": {"x": {}}}], "properties": {"y": {}}},
        ['{"x":1,"y":1}'],
        ['{"y":1,"x":1}'],
    ),
    Case(
        "what_always_holds_comes_before_alternatives",
        {"anyOf": [{"properties": {"x": {}}}, {"properties": {"y": {}, "z": {}}}], "properties": {"a": {}}},
        ['{"a":1,"x":1}', '{"a":1,"y":1,"z":1}'],
        ['{"x":1,"a":1}', '{"z":1,"y":1}'],
    ),
    Case("additional_false", {"properties": {"a": {}}, "additionalProperties": False}, ["{}", '{"a":1}'], ['{"b":1}']),
    Case(
        "additional_schema",
        {"properties": {"a": {}}, "additionalProperties": {"type": "null"}},
        ['{"a":1,"b":null}'],
        ['{"b":1}'],
    ),
    Case(
        "pattern_properties",
        {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False},
        ['{"x-a":1,"x-b":2}'],
        ['{"x-a":"s"}', '{"y":1}'],
    ),
    Case(
        "pattern_properties_hold_for_declared_names",
        {"properties": {"ab": {"minimum": 3}}, "patternProperties": {"^a": {"type": "integer"}}},
        ['{"ab":3}', '{"ac":0}'],
        ['{"ab":2}', '{"ab":3.5}', '{"ac":"s"}'],
    ),
    Case(
        "overlapping_patterns",
        {"patternProperties": {"a": {"type": "integer"}, "b": {"minimum": 5}}},
        ['{"a":1,"b":7,"ab":6,"c":null}'],
        ['{"ab":4}', '{"a":"s"}', '{"b":2}'],
    ),
    Case(
        "finite_pattern_is_a_set_of_names",
        {"patternProperties": {"^(p|q)$": {"type": "null"}}, "additionalProperties": False},
        ['{"q":null,"p":null}'],
        ['{"q":1}'],
    ),
    Case(
        "property_names_pattern",
        {"propertyNames": {"pattern": "^[a-z]+$"}},
        ['{"ab":1}'],
        ['{"A":1}', '{"a":1,"b2":1}'],
    ),
    Case(
        "property_names_enum", {"type": "object", "propertyNames": {"enum": ["a", "b"]}}, ['{"b":1,"a":1}'], ['{"c":1}']
    ),
    Case("property_names_length", {"type": "object", "propertyNames": {"maxLength": 2}}, ['{"ab":1}'], ['{"abc":1}']),
    Case(
        "not_property_names",
        {"type": "object", "not": {"propertyNames": {"pattern": "^a"}}},
        ['{"b":1}', '{"a":1,"b":1}'],
        ["{}", '{"a":1}'],
    ),
    Case(
        "min_and_max_properties",
        {"type": "object", "minProperties": 1, "maxProperties": 2},
        ['{"a":1}'],
        ["{}", '{"a":1,"b":1,"c":1}'],
    ),
    Case("dependent_required", {"dependentRequired": {"a": ["b"]}}, ["{}", '{"b":1}', '{"a":1,"b":1}'], ['{"a":1}']),
    Case(
        "dependencies_of_draft_7",
        {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
        ['{"b":1}', '{"a":1,"b":1}', '{"c":1,"d":1}'],
        ['{"a":1}', '{"c":1}'],
    ),
    Case(
        "dependent_schemas",
        {"dependentSchemas": {"a": {"properties": {"b": {"type": "null"}}}}},
        ['{"b":1}', '{"b":null,"a":1}'],
        ['{"b":1,"a":1}'],
    ),
    Case("not_required", {"type": "object", "not": {"required": ["a", "b"]}}, ["{}", '{"a":1}'], ['{"a":1,"b":1}']),
    # arrays
    Case("items", {"items": {"type": "integer"}}, ["[]", "[1,2]", "3"], ['["a"]', "[1,]"]),
    Case("min_and_max_items", {"type": "array", "minItems": 1, "maxItems": 3}, ["[1]", "[1,2,3]"], ["[]", "[1,2,3,4]"]),
    Case(
        "prefix_items",
        {"prefixItems": [{"type": "integer"}], "items": {"type": "null"}},
        ["[1,null,null]", "[]"],
        ["[null]", "[1,2]"],
    ),
    Case(
        "array_form_items",
        {"items": [{"type": "integer"}, {}], "additionalItems": False},
        ["[1]", "[1,null]"],
        ['["a"]', "[1,2,3]"],
    ),
    Case("empty_tuple_ends_the_array", {"type": "array", "prefixItems": [{}, False]}, ["[]", "[1]"], ["[1,2]"]),
    Case("contains", {"type": "array", "contains": {"type": "null"}}, ["[1,null]", "[null]"], ["[]", "[1]"]),
    Case(
        "contains_counts",
        {"type": "array", "contains": {"type": "null"}, "minContains": 2, "maxContains": 3},
        ["[null,1,null]"],
        ["[null]", "[null,null,null,null]"],
    ),
    Case("min_contains_zero", {"type": "array", "contains": {"type": "null"}, "minContains": 0}, ["[]", "[1]"], []),
    Case("not_items", {"type": "array", "not": {"items": {"type": "integer"}}}, ['["a"]', "[1,null]"], ["[]", "[1]"]),
    Case(
        "not_item", {"type": "array", "not": {"prefixItems": [{}, {"type": "integer"}]}}, ['[1,"a"]'], ["[1]", "[1,2]"]
    ),
    Case("unique_items_of_one", {"type": "array", "uniqueItems": True, "maxItems": 1}, ["[]", "[1]"], ["[1,2]"]),
    Case(
        "dynamic_references_within_the_metaschema_of_2019-09",
        {
            "$schema": "https://json-schema.org/draft/2019-09/schema",
            "$ref": "https://json-schema.org/draft/2019-09/schema",
        },
        ['{"$defs":{"a":{"type":["null","string"]}}}'],
        ['{"$defs":{"a":{"type":1}}}', '{"items":{"type":["null","null"]}}'],
    ),
    Case(
        "dynamic_references_within_the_metaschema_of_2020-12",
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$ref": "https://json-schema.org/draft/2020-12/schema",
        },
        ['{"$defs":{"a":{"type":["null","string"]}}}'],
        ['{"$defs":{"a":{"type":1}}}', '{"items":{"type":["null","null"]}}'],
    ),
    Case(
        "unique_items",
        {"type": "array", "uniqueItems": True},
        ["[]", '[1,"1",true,null]', "[[1],[1,1],[]]", '[{"a":1},{"a":2},{"b":1},{}]', "[0,false]", '[1,[1],{"a":1}]'],
        ["[1,2,1]", "[1,1.0]", "[0,-0]", '["a","\\u0061"]', "[[1],[1.0]]", "[{},{}]", "[null,null]"],
    ),
    Case(
        "unique_objects_have_no_order",
        {
            "type": "array",
            "uniqueItems": True,
            "items": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        ['[{"a":1,"b":2},{"b":1,"a":2}]'],
        ['[{"a":1,"b":2},{"b":2,"a":1}]'],
    ),
    Case("unique_says_nothing_of_the_items_of_items", {"uniqueItems": True}, ["[[1,1],[1]]", '{"a":[1,1]}', "1"], []),
    Case("unique_items_false", {"type": "array", "uniqueItems": False}, ["[1,1]"], []),
    Case(
        "unique_enum", {"uniqueItems": True, "items": {"enum": [1, "a"]}}, ['["a",1]', "[1]"], ["[1,1]", '["a",1,"a"]']
    ),
    Case(
        "unique_prefix_items",
        {"type": "array", "uniqueItems": True, "prefixItems": [{"enum": ["a", "b"]}, {"const": "a"}], "minItems": 2},
        ['["b","a"]', '["b","a",1]'],
        ['["a","a"]', '["a"]', '["b","a","b"]'],
    ),
    Case(
        "unique_contains",
        {"type": "array", "uniqueItems": True, "contains": {"type": "boolean"}, "minContains": 2},
        ["[true,1,false]", "[false,true]"],
        ["[true,true]", "[true]"],
    ),
    Case(
        "unique_in_one_alternative",
        {"type": "array", "anyOf": [{"uniqueItems": True}, {"maxItems": 2}]},
        ["[1,1]", "[1,2,3]", "[]"],
        ["[1,1,2]"],
    ),
    Case(
        "unique_in_two_alternatives",
        {
            "type": "array",
            "anyOf": [
                {"uniqueItems": True, "items": {"type": "integer"}},
                {"uniqueItems": True, "items": {"type": "string"}},
                {"minItems": 3},
            ],
        },
        ["[1,2]", '["a","b"]', "[1,1,null]", "[null,null,null]"],
        ["[1,1]", '["a",1]', '["a","a"]', "[null]"],
    ),
    Case(
        "unique_if_then",
        {"type": "array", "if": {"contains": {"const": "set"}}, "then": {"uniqueItems": True}},
        ["[1,1]", '[1,"set",2]', '["set"]'],
        ['[1,"set",1]', '["set","set"]'],
    ),
    Case(
        "unique_in_one_of",
        {
            "oneOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 1},
                {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 1},
            ]
        },
        ['"a"', '["a","b"]', "[1,2]"],
        ["[]", '["a","a"]', '["a",1]', "[1,1]"],
    ),
    Case("unique_meets_enum_of_arrays", {"enum": [[1, 1], [1, 2]], "uniqueItems": True}, ["[1,2]"], ["[1,1]"]),
    # combinations
    Case("any_of", {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 5}]}, ["null", "5"], ["4", '"a"']),
    Case(
        "all_of_meets_siblings", {"type": "integer", "allOf": [{"minimum": 3}, {"maximum": 5}]}, ["3", "5"], ["2", "6"]
    ),
    Case("one_of_disjoint_types", {"oneOf": [{"type": "null"}, {"type": "boolean"}]}, ["null", "true"], ["1"]),
    Case(
        "one_of_overlap_is_excluded",
        {"oneOf": [{"type": "integer", "minimum": 2}, {"type": "integer", "maximum": 5}]},
        ["1", "6"],
        ["2", "5"],
    ),
    Case(
        "one_of_required",
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"},
        ['{"a":1}', '{"b":1}'],
        ["{}", '{"a":1,"b":1}'],
    ),
    Case(
        "one_of_three",
        {"oneOf": [{"minimum": 1}, {"minimum": 2}, {"minimum": 3}], "type": "integer"},
        ["1"],
        ["0", "2", "3"],
    ),
    Case("not_one_of", {"type": "integer", "not": {"oneOf": [{"minimum": 2}, {"maximum": 5}]}}, ["2", "5"], ["1", "6"]),
    Case("double_negation", {"not": {"not": {"type": "integer"}}}, ["1"], ['"a"']),
    Case(
        "if_then_else",
        {"if": {"type": "integer"}, "then": {"minimum": 5}, "else": {"type": "null"}},
        ["5", "null"],
        ["4", '"a"'],
    ),
    Case("then_without_if_says_nothing", {"then": {"type": "null"}}, ["1"], []),
    Case(
        "if_on_a_member",
        {"type": "object", "if": {"properties": {"k": {"const": "a"}}, "required": ["k"]}, "then": {"required": ["x"]}},
        ['{"k":"a","x":1}', '{"k":"b"}', "{}"],
        ['{"k":"a"}'],
    ),
    Case(
        "tagged_union",
        {
            "oneOf": [
                {"properties": {"k": {"const": "a"}, "v": {"type": "integer"}}, "required": ["k", "v"]},
                {"properties": {"k": {"const": "b"}, "v": {"type": "string"}}, "required": ["k", "v"]},
            ],
            "type": "object",
        },
        ['{"k":"a","v":1}', '{"k":"b","v":"s"}'],
        ['{"k":"a","v":"s"}', '{"k":"c","v":1}', '{"k":"a"}'],
    ),
    Case(
        "alternatives_with_contrary_orders",
        {
            "anyOf": [
                {"properties": {"a": {"type": "null"}, "b": {}}, "required": ["a", "b"], "additionalProperties": False},
                {
                    "properties": {"b": {}, "a": {"type": "integer"}},
                    "required": ["a", "b"],
                    "additionalProperties": False,
                },
            ]
        },
        ['{"a":null,"b":1}', '{"b":1,"a":1}'],
        ['{"b":1,"a":null}', '{"a":1,"b":1}'],
    ),
    # references
    Case("ref_to_definitions", {"$ref": "#/definitions/n", "definitions": {"n": {"type": "null"}}}, ["null"], ["1"]),
    Case("ref_with_escapes", {"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"type": "null"}}}, ["null"], ["1"]),
    Case(
        "ref_siblings_hold_in_2020",
        {"$schema": DRAFT2020, "$ref": "#/$defs/i", "minimum": 5, "$defs": {"i": {"type": "integer"}}},
        ["5"],
        ["4", "5.5"],
    ),
    Case(
        "ref_hides_siblings_in_draft_7",
        {"$schema": DRAFT7, "$ref": "#/definitions/i", "minimum": 5, "definitions": {"i": {"type": "integer"}}},
        ["4"],
        ["4.5"],
    ),
    Case(
        "recursion",
        {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False},
        ['{"next":{"next":{}}}'],
        ['{"next":1}', '{"x":1}'],
    ),
    Case("anchor", {"$ref": "#here", "$defs": {"x": {"$anchor": "here", "type": "null"}}}, ["null"], ["1"]),
    Case(
        "embedded_resource",
        {
            "$id": "http://a.example/root",
            "$ref": "item",
            "$defs": {"x": {"$id": "item", "$ref": "#/$defs/y", "$defs": {"y": {"type": "null"}}}},
        },
        ["null"],
        ["1"],
    ),
    Case("const_is_no_keyword_in_draft_4", {"$schema": DRAFT4, "const": 1}, ["2"], []),
    Case(
        "min_contains_is_no_keyword_in_draft_7",
        {"$schema": DRAFT7, "contains": {"type": "null"}, "minContains": 2, "type": "array"},
        ["[null]"],
        ["[]"],
    ),
    Case("prefix_items_is_no_keyword_in_2019", {"$schema": DRAFT2019, "prefixItems": [False]}, ["[1]"], []),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_rule(case: Case) -> None:
    grammar, _ = compile_schema(case.schema, SCHEMA_ORDER)
    assert [text for text in case.accepted if not accepts(grammar, text.encode())] == []
    assert [text for text in case.rejected if accepts(grammar, text.encode())] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_double_negation_accepts_the_same(case: Case) -> None:
    schema = case.schema if isinstance(case.schema, dict) else {}
    if "$ref" in schema or "$schema" in schema or "$ref" in str(schema):
        pytest.skip("the references would have to be rewritten")
    grammar, _ = compile_schema({"not": {"not": case.schema}}, ANY_ORDER)
    assert [text for text in case.accepted if not accepts(grammar, text.encode())] == []


def test_any_key_order_admits_every_order() -> None:
    grammar, _ = compile_schema({"properties": {"a": {}, "b": {}}, "required": ["a"]})  # the default
    assert all(accepts(grammar, t) for t in (b'{"a":1,"b":1}', b'{"b":1,"a":1}', b'{"c":1,"b":1,"a":1}'))


PLAIN_CONTRADICTIONS = [
    False,
    {"enum": []},
    {"type": "string", "enum": [1, 2]},
    {"allOf": [{"type": "string"}, {"type": "integer"}]},
    {"not": {}},
]


@pytest.mark.parametrize("schema", PLAIN_CONTRADICTIONS, ids=str)
def test_plain_contradiction_is_unsatisfiable(schema: Any) -> None:
    with pytest.raises(UnsatisfiableSchema, match="unsatisfiable") as caught:
        compile_schema(schema)
    assert caught.value.location == "#"


EMPTY = [
    {"const": "a", "minLength": 2},
    {"type": "integer", "minimum": 3, "maximum": 2},
    {"type": "object", "required": ["a"], "properties": {"a": False}},
    {"type": "array", "minItems": 2, "items": [{}, False]},
    {"type": "string", "pattern": "^a", "allOf": [{"pattern": "^b"}]},
    {"type": "array", "items": {"type": "boolean"}, "minItems": 3, "uniqueItems": True},
    {"type": "array", "contains": {"const": 1}, "minContains": 2, "uniqueItems": True},
    {"const": [1, 1.0], "uniqueItems": True},
]


@pytest.mark.parametrize("schema", EMPTY, ids=str)
def test_what_nothing_satisfies_is_an_error_or_an_empty_grammar(schema: Any) -> None:
    try:
        grammar, _ = compile_schema(schema)
    except UnsatisfiableSchema:
        return
    assert is_empty(grammar)


def test_a_schema_too_large_to_compare_is_not_taken_for_an_empty_one() -> None:
    large = {"properties": {f"p{i}": {"enum": [f"a{i}", f"b{i}", f"c{i}"]} for i in range(200)}}
    grammar, _ = compile_schema({"anyOf": [{"properties": {"x": large}, "required": ["x"]}, {"required": ["y"]}]})
    assert accepts(grammar, b'{"x":{"p7":"a7"}}')
    assert not accepts(grammar, b'{"x":{"p7":"z"}}')


def test_types_are_found_through_any_number_of_schemas_that_look_at_the_same_value() -> None:
    chain: dict[str, Any] = {"r0": {"type": ["string", "object"]}}
    for i in range(1, 60):
        inner = {"$ref": f"#/$defs/r{i - 1}"}
        ways: list[Any] = [{"allOf": [inner]}, {"anyOf": [inner, False]}, {"oneOf": [inner, {"type": "null"}]}]
        chain[f"r{i}"] = [*ways, {"if": {"type": "null"}, "then": True, "else": inner}][i % 4]
    alternatives = [
        {"type": "object", "required": ["a"], "properties": {"a": {"$ref": f"#/$defs/r{i}"}}} for i in (3, 59)
    ]
    grammar, _ = compile_schema({"anyOf": alternatives, "$defs": chain})
    assert all(accepts(grammar, text) for text in (b'{"a":""}', b'{"a":{}}', b'{"a":null}'))
    assert not any(accepts(grammar, text) for text in (b'{"a":1}', b'{"a":[]}', b'{"a":true}', b'""', b"{}"))


def test_a_schema_that_applies_itself_to_a_member_has_its_types() -> None:
    branch = {"type": "object", "required": ["l"], "properties": {"l": {"$ref": "#"}}}
    grammar, _ = compile_schema({"oneOf": [branch, {"not": {"type": ["object", "array"]}}]})
    assert all(accepts(grammar, text) for text in (b"1", b'{"l":1}', b'{"l":{"l":null}}'))
    assert not any(accepts(grammar, text) for text in (b"[]", b'{"l":[]}', b'{"l":{"l":{}}}'))
