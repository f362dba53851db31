"""Does anything match all of these? The kernel's search goes to a match, and few states are told apart on the way.

Nothing here is timed: a search in another order, or states that say the same twice, would pass the limit on states.
"""

from __future__ import annotations

from typing import Any

import pytest

import grammar_decode as gd

BYTES = gd.Vocabulary([*(bytes((b,)) for b in range(256)), None], stop_token_ids=[256])
WORDS = ("customer", "maker", "operator", "admin", "designer")

#: name, schema, what is written byte by byte, whether it is valid then, states that are enough.
SEARCHES: list[tuple[str, Any, str, bool, int]] = [
    (
        "several_divisors_are_met_one_after_another",
        {
            "type": "integer",
            "anyOf": [{"multipleOf": 33}, {"multipleOf": 12}, {"multipleOf": 77}],
            "allOf": [
                {"multipleOf": 13},
                {"not": {"multipleOf": 8}},
                {"anyOf": [{"not": {"multipleOf": 11}}, {"multipleOf": 13}]},
            ],
        },
        "4004",
        True,
        8_000,
    ),
    (
        "long_patterns_are_met_one_after_another",
        {
            "type": "string",
            "allOf": [
                {"pattern": "^([a-z][0-9])+$"},
                {"pattern": "((c1d3g3).{4,8}){6}"},
                {"pattern": "(t|8){10}..$"},
                {"anyOf": [{"not": {"pattern": "^([a-z][0-9])+$"}}, {"not": {"pattern": "^..((c1d3g3).{4,8}){6}"}}]},
            ],
        },
        '"' + "c1d3g3a1b2" * 6 + "t8" * 5 + 'a1"',
        True,
        40_000,
    ),
    (
        "alternatives_of_negations_are_few_states",
        {
            "type": "string",
            "maxLength": 90,
            "pattern": "[aA][12].*[zZ]",
            "anyOf": [
                {"not": {"anyOf": [{"not": {"allOf": [{"pattern": p} for p in ps]}} for ps in alternatives]}}
                for alternatives in (
                    (("^.{16}$", "ab1", "b12"), ("^.{16}$", "bc1", "c12"), ("^.{16}$", "ca1", "a12")),
                    ((r"^\w*$", r"\d\d", "[a|b]"), (r"^\w*$", r"\d\d", "[b|c]"), (r"^\w*$", r"\d\d", "[c|a]")),
                    ((r"^\w+", "1.*2", "ac"), (r"^\w+", "1.*2", "a2"), (r"^\w+", "1.*2", "a1")),
                )
            ],
        },
        '"a122b33ccz"',
        True,
        400_000,
    ),
    (
        "exactly_one_of_several_words_is_few_states",
        {"type": "string", "oneOf": [{"pattern": word} for word in WORDS]},
        '"a customer makes operations"',
        True,
        2_000,
    ),
    (
        "what_a_loop_takes_in_is_no_state_of_its_own",
        {
            "type": "string",
            "not": {"anyOf": [{"allOf": [{"pattern": a}, {"pattern": b}]} for a in WORDS for b in WORDS if a < b]},
        },
        '"customer customer maker"',
        False,
        2_000,
    ),
    (
        "what_a_look_ahead_excludes_is_seen_within_a_loop_of_more_characters",
        {"type": "string", "pattern": r"^(?!.*://)(?=.{1,255}$)((.{1,63}\.){1,127}(?![0-9]*$)[a-z0-9-]+\.?)$"},
        '"ab.c://',
        False,
        10_000,
    ),
]


@pytest.mark.parametrize(("schema", "text", "valid", "states"), [s[1:] for s in SEARCHES], ids=[s[0] for s in SEARCHES])
def test_a_search_needs_few_states(schema: Any, text: str, valid: bool, states: int) -> None:
    grammar = gd.compile_json_schema(schema, limits=gd.Limits(max_states=states))
    matcher = gd.GrammarMatcher(grammar, BYTES)
    bitmask = gd.allocate_token_bitmask(1, BYTES.size)
    for byte in text.encode():
        matcher.fill_next_token_bitmask(bitmask)
        if not matcher.accept_token(byte):
            break
    else:
        assert valid
        assert matcher.is_accepting()
        return
    assert not valid


def test_values_of_an_enumeration_are_counted_and_not_walked() -> None:
    """Distinct items ask how many names there are: a state for each beginning of each of them is too much."""
    names = [f"{kind}_{number}_of_the_list" for kind in ("first", "second", "third") for number in range(2_000)]
    schema = {
        "type": "array",
        "uniqueItems": True,
        "items": {"type": "object", "properties": {"name": {"enum": names}}, "required": ["name"]},
    }
    grammar = gd.compile_json_schema(schema, limits=gd.Limits(max_states=8_000))
    matcher = gd.GrammarMatcher(grammar, BYTES)
    assert matcher.accept_bytes(b'[{"name":"second_17_of_the_list"},{"name":"second_1')
    assert not matcher.accept_bytes(b'7_of_the_list"}')
    assert matcher.accept_bytes(b'8_of_the_list"}]')
    assert matcher.is_accepting()


def test_what_only_looks_like_part_of_a_loop_is_not_excluded_with_it() -> None:
    for pattern, text, valid in (
        ("^(?:(?:[ab][cd])*|[ab][ce])$", "ae", True),
        ("^(?!(?:[ab][cd])*$)[ab][ce]$", "ae", True),
        ("^(?!(?:[ab][cd])*$)[ab][ce]$", "ac", False),
        ("^(?!(?:[ab][cd]|e)*$)(?:[ab][c-e])+$", "acbe", True),
        ("^(?!(?:[ab][cd]|e)*$)(?:[ab][c-e])+$", "acbd", False),
    ):
        matcher = gd.GrammarMatcher(gd.compile_json_schema({"type": "string", "pattern": pattern}), BYTES)
        assert (matcher.accept_bytes(f'"{text}"'.encode()) and matcher.is_accepting()) == valid, (pattern, text)
