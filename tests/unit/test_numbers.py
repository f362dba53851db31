"""Numerals against exact arithmetic: small cases exhaustively, the rest by Hypothesis."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from amounts import examples
from grammar_decode.ir.build import Builder
from grammar_decode.ir.nodes import Intersection, RegexId
from grammar_decode.json_schema.decimals import divisor as split_decimal
from grammar_decode.json_schema.numbers import NumberConstraint, NumberTooComplex, Numerals, exact
from unit.regex_oracle import matches

JSON_NUMBER = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def words(text: str) -> list[str]:
    return text.split()


MALFORMED = words(
    "- +1 .5 1. -.5 1e 1e+ 1.e5 00 01 -01 00000000106 00.5 0x1 1_0 1,0 --1 1- 1.5.2 1e5.5 1e5e5 Infinity NaN \u0661"
)
MALFORMED += ["", "- 1", "1 ", " 1", "1\n"]

numerals = {mode: Numerals(Builder(), mode) for mode in ("canonical", "any")}
canonical, every = numerals["canonical"], numerals["any"]


def accepts(n: Numerals, regex: RegexId, text: str | bytes) -> bool:
    return matches(n.builder, regex, text.encode() if isinstance(text, str) else text)


def integer(low: int | None = None, high: int | None = None, *multiples: str) -> NumberConstraint:
    return constraint(low, high, *multiples, is_integer=True)


def constraint(low: object = None, high: object = None, *multiples: str, is_integer: bool = False) -> NumberConstraint:
    return NumberConstraint(
        is_integer,
        None if low is None else Decimal(str(low)),
        True,
        None if high is None else Decimal(str(high)),
        True,
        tuple(map(Decimal, multiples)),
    )


def satisfies(c: NumberConstraint, value: Fraction) -> bool:
    if c.low is not None and (value < Fraction(c.low) or (value == Fraction(c.low) and not c.low_inclusive)):
        return False
    if c.high is not None and (value > Fraction(c.high) or (value == Fraction(c.high) and not c.high_inclusive)):
        return False
    if c.integer and value.denominator != 1:
        return False
    if any((value / Fraction(d)).denominator == 1 for d in c.excluded):
        return False
    return all((value / Fraction(m)).denominator == 1 for m in c.multiples)


# ---- syntax and finiteness ----

LANGUAGES = [
    constraint(),
    constraint(0),
    constraint(None, 0),
    constraint(-5, 10**7),
    constraint(None, None, "0.01"),
    constraint(None, None, "3"),
    constraint(0.5, 1e22, "2.5"),
    integer(),
    integer(0),
    integer(None, 99),
    integer(7, 10**9),
    integer(None, None, "4"),
]


@pytest.mark.parametrize("mode", numerals)
@pytest.mark.parametrize("c", LANGUAGES, ids=str)
def test_what_is_no_json_number_is_never_accepted(mode: str, c: NumberConstraint) -> None:
    n = numerals[mode]
    assert not [t for t in MALFORMED if accepts(n, n.language(c), t)]


@pytest.mark.parametrize("mode", numerals)
def test_mode_any_takes_every_short_finite_number_and_nothing_else(mode: str) -> None:
    n = numerals[mode]
    for length in range(1, 6):
        for text in map(bytes, product(b"019.-+e", repeat=length)):
            if accepts(n, n.numbers, text):
                assert JSON_NUMBER.fullmatch(text), text
            elif mode == "any" and JSON_NUMBER.fullmatch(text):
                assert math.isinf(float(text)), text


@pytest.mark.parametrize(
    "text", [*["9e999999", "1e309", "1.8e308", "1.7976931348623159e308", "-1e400"], "9" * 309, "1" + "0" * 400]
)
@pytest.mark.parametrize("mode", numerals)
def test_numbers_are_finite_doubles(mode: str, text: str) -> None:
    n = numerals[mode]
    for c in LANGUAGES:
        assert not accepts(n, n.language(c), text)


texts_of_numbers = st.from_regex(r"\A-?(0|[1-9][0-9]{0,4}|[1-9][0-9]{300,310})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,4})?\Z")


@settings(max_examples=examples(60), deadline=None)
@given(texts_of_numbers, st.sampled_from(LANGUAGES))
def test_an_accepted_text_is_finite_and_satisfies_the_constraint(text: str, c: NumberConstraint) -> None:
    for n in numerals.values():
        if accepts(n, n.language(c), text):
            assert math.isfinite(float(text))
            assert satisfies(c, Fraction(Decimal(text)))


# ---- canonical: what serialisers write ----


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=examples(200), deadline=None)
def test_python_and_javascript_spellings_of_every_double_are_numbers(v: float) -> None:
    python = json.dumps(v)
    for text in (python, python.replace("e-0", "e-"), f"{v:.16e}", f"{v:.16E}"):
        assert accepts(canonical, canonical.numbers, text)
        assert accepts(every, every.numbers, text)


@pytest.mark.parametrize(
    "v", [1e22, 5e-324, sys.float_info.max, -sys.float_info.max, sys.float_info.min, 1e21, 1e-7, -0.0, 0.1, 2**53 - 1]
)
def test_extreme_doubles_are_numbers(v: float) -> None:
    for n in numerals.values():
        assert accepts(n, n.numbers, json.dumps(v))
        assert accepts(n, n.value(v), json.dumps(v))


@given(st.integers(-(10**308) + 1, 10**308 - 1))
@settings(max_examples=examples(50), deadline=None)
def test_integers_of_308_digits_are_integers_and_numbers(v: int) -> None:
    for n in numerals.values():
        assert all(accepts(n, regex, str(v)) for regex in (n.integers, n.numbers, n.value(v)))


@pytest.mark.parametrize("text", ["1.0", "1e3", "1E0", "10e-1", "-2.00"])
def test_a_canonical_integer_is_plain_digits_and_mode_any_takes_every_spelling(text: str) -> None:
    assert not accepts(canonical, canonical.integers, text)
    assert accepts(every, every.integers, text)


def test_a_bounded_canonical_range_has_no_exponent() -> None:
    for c in (integer(0, 10), integer(0), constraint(0), constraint(-1, 10**6), constraint(None, None, "0.1")):
        for text in ("1e0", "1E1", "1e-1", "0e0", "1.0e0"):
            assert not accepts(canonical, canonical.language(c), text)


def test_a_bound_beyond_the_doubles_bounds_nothing() -> None:
    wide = constraint(-sys.float_info.max, sys.float_info.max)
    assert canonical.language(wide) == canonical.numbers
    assert canonical.language(constraint("-Infinity", "Infinity")) == canonical.numbers
    assert canonical.language(constraint("Infinity")) == canonical.builder.empty


def test_negative_zero_is_zero() -> None:
    for n in numerals.values():
        for c in (
            integer(0, 5),
            integer(-3, 0),
            constraint(0),
            constraint(None, 0),
            constraint(-1, 1),
            integer(None, None, "7"),
        ):
            assert accepts(n, n.language(c), "-0")
        assert not accepts(n, n.language(integer(1, 5)), "-0")
        assert not accepts(n, n.interval(0, False, None, True), "-0")
        assert not accepts(n, n.interval(None, True, 0, False), "0")
        assert accepts(n, n.language(constraint(0)), "-0.00")


# ---- ranges ----

BOUNDS = [None, -130, -101, -100, -99, -10, -9, -1, 0, 1, 2, 9, 10, 11, 19, 89, 99, 100, 101, 109, 120, 130]


def test_integer_intervals_hold_exactly_their_integers() -> None:
    texts = [str(v) for v in range(-1500, 1501, 1)]
    near = [t for t in texts if abs(int(t)) <= 140 or int(t) % 97 == 0]
    for low, high in product(BOUNDS, BOUNDS):
        regex = canonical.integer_interval(low, high)
        builder = canonical.builder
        for text in near:
            inside = (low is None or int(text) >= low) and (high is None or int(text) <= high)
            assert matches(builder, regex, text.encode()) == inside, (low, high, text)


def test_every_integer_up_to_1500_against_some_intervals() -> None:
    for low, high in [
        (-130, 130),
        (7, 1234),
        (-999, 999),
        (100, 999),
        (None, 1000),
        (1001, None),
        (-1409, -17),
        (555, 555),
    ]:
        for n in numerals.values():
            regex = n.integer_interval(low, high)
            for v in range(-1500, 1501, 1 if n is canonical else 13):
                inside = (low is None or v >= low) and (high is None or v <= high)
                assert accepts(n, regex, str(v)) == inside, (low, high, v)


DECIMAL_BOUNDS = [None, *words("-2 -1.25 -0.05 0 0.5 0.05 0.059 0.1 1 1.01 1.1 1.999 2 9.5 10 10.5")]
TAILS = words(
    ".0 .00 .000 .01 .010 .04 .05 .050 .051 .058 .059 .0590 .0591 .06 .1 .10 .11 .2 .25 .250 .251 .49 "
    ".5 .50 .500 .501 .9 .99 .999 .9990"
)
DECIMAL_TEXTS = [
    f"{sign}{whole}{tail}" for sign in ("", "-") for whole in (0, 1, 2, 9, 10, 11) for tail in ("", *TAILS)
]


def test_decimal_intervals_hold_exactly_their_numbers() -> None:
    values = {t: Fraction(t) for t in DECIMAL_TEXTS}
    for low, high in product(DECIMAL_BOUNDS, DECIMAL_BOUNDS):
        for low_inclusive, high_inclusive in ((True, True), (False, False), (True, False)):
            bounds = [None if bound is None else Decimal(bound) for bound in (low, high)]
            c = NumberConstraint(False, bounds[0], low_inclusive, bounds[1], high_inclusive)
            regex = canonical.language(c)
            for text in DECIMAL_TEXTS[:: 1 if low and high and abs(Decimal(high) - Decimal(low)) < 2 else 17]:
                assert accepts(canonical, regex, text) == satisfies(c, values[text]), (c, text)


decimals = st.builds(lambda n, s: Decimal(n).scaleb(-s), st.integers(-(10**6), 10**6), st.integers(0, 7))
steps = st.sampled_from(words("1 0.01 0.5 0.25 2.5 3 7 10 20 1.5 8 16 11 0.3 12 100 0.0001 0.6"))
constraints = st.builds(
    NumberConstraint,
    integer=st.booleans(),
    low=st.none() | decimals,
    low_inclusive=st.booleans(),
    high=st.none() | decimals,
    high_inclusive=st.booleans(),
    multiples=st.lists(steps.map(Decimal), max_size=2).map(tuple),
    excluded=st.just(()) | st.lists(steps.map(Decimal), max_size=2).map(tuple),
)


def language_of(n: Numerals, c: NumberConstraint) -> RegexId:
    try:
        return n.language(c)
    except NumberTooComplex:
        reject()


@st.composite
def constrained_texts(draw: st.DrawFn) -> tuple[NumberConstraint, str]:
    """A constraint and a plain text, near a bound or on the grid of its divisors more often than not."""
    c = draw(constraints)
    value = Fraction(draw(decimals))
    near = [Fraction(b) for b in (c.low, c.high) if b is not None]
    if near and draw(st.booleans()):
        distance = Fraction(draw(st.integers(-1, 1)), 10 ** draw(st.integers(0, 9)))
        value = draw(st.sampled_from(near)) + distance
    step = c.step()
    if step is not None and draw(st.booleans()):
        value = round(value / Fraction(step)) * Fraction(step)
    scaled = value * 10**16
    assert scaled.denominator == 1
    digits = str(abs(scaled.numerator)).rjust(17, "0")
    text = (digits[:-16] + "." + digits[-16:]).rstrip("0").rstrip(".")
    if draw(st.booleans()):
        text += ("" if "." in text else ".") + "0" * draw(st.integers(1, 3))
    return c, ("-" if value < 0 else "") + text


@settings(max_examples=examples(250), deadline=None)
@given(constrained_texts())
def test_plain_texts_are_accepted_exactly_where_they_satisfy_the_constraint(case: tuple[NumberConstraint, str]) -> None:
    c, text = case
    expected = satisfies(c, Fraction(text))
    assert accepts(every, language_of(every, c), text) == expected
    assert accepts(canonical, canonical.language(c), text) == (expected and not (c.integer and "." in text))
    if expected:
        assert not c.is_empty()


@settings(max_examples=examples(200), deadline=None)
@given(
    constraints,
    st.integers(-(10**6), 10**6),
    st.integers(0, 8),
    st.integers(-6, 6),
    st.sampled_from(["e", "E", "e+", "e00"]),
)
def test_mode_any_is_exact_for_every_mantissa_with_an_exponent_of_the_window(
    c: NumberConstraint, mantissa: int, places: int, exponent: int, mark: str
) -> None:
    if exponent < 0:
        mark = "e-0"
    digits = str(abs(mantissa)).rjust(places + 1, "0")
    text = digits[:-places] + "." + digits[-places:] if places else digits
    text = f"{'-' if mantissa < 0 else ''}{text}{mark}{abs(exponent)}"
    assert accepts(every, language_of(every, c), text) == satisfies(c, Fraction(Decimal(text))), text


@settings(max_examples=examples(60), deadline=None)
@given(
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_mode_any_takes_the_serialised_doubles_of_a_range_exactly(
    inclusive: bool, low: float, high: float, v: float
) -> None:
    low, high = min(low, high), max(low, high)
    for value in (v, low, high, math.nextafter(low, math.inf), math.nextafter(high, -math.inf)):
        if abs(value) > 1e307:
            continue
        c = NumberConstraint(False, exact(low), inclusive, exact(high), inclusive)
        assert accepts(every, every.language(c), repr(value)) == satisfies(c, Fraction(exact(value)))


@settings(max_examples=examples(200), deadline=None)
@given(constraints, constraints)
def test_meet_is_the_conjunction(a: NumberConstraint, b: NumberConstraint) -> None:
    both = a.meet(b)
    for value in [Fraction(x) for c in (a, b) for x in (c.low, c.high) if x is not None] + [
        Fraction(0),
        Fraction(30),
        Fraction(1, 2),
    ]:
        assert satisfies(both, value) == (satisfies(a, value) and satisfies(b, value))
    if both.is_empty():
        assert canonical.language(both) == canonical.builder.empty


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(-60, 60), st.integers(-60, 60), st.booleans(), st.booleans(), steps, st.booleans())
def test_is_empty_is_exact(low: int, high: int, low_in: bool, high_in: bool, step: str, is_integer: bool) -> None:
    c = NumberConstraint(is_integer, Decimal(low) / 10, low_in, Decimal(high) / 10, high_in, (Decimal(step),))
    if low == high or Decimal(step) >= Decimal("0.1"):
        candidates = [Fraction(low, 10), *(k * Fraction(step) for k in range(-100, 101))]
        assert c.is_empty() == (not any(satisfies(c, v) for v in candidates))


@pytest.mark.parametrize(
    "bound",
    ["-1.7976931348623157e308", "9007199254740991", "1e-10", "-0.0", "0.1", "180.0", "1e308", "5e-324", "123456.789"],
)
def test_awkward_bounds(bound: str) -> None:
    b = exact(json.loads(bound))
    for n in numerals.values():
        below, above = n.interval(None, True, b, True), n.interval(b, True, None, True)
        plain = f"{b:f}"
        if len(plain) < 309:
            assert accepts(n, below, plain)
            assert accepts(n, above, plain)
            assert not accepts(n, n.interval(b, False, None, True), plain)
            assert not accepts(n, n.interval(None, True, b, False), plain)
        assert accepts(n, below, "-" + "9" * 307) == (b > -(10**307))
        assert accepts(n, above, "9" * 307) == (b < 10**307)


def test_the_size_of_an_interval_is_linear_in_the_digits() -> None:
    sizes = []
    for digits in (50, 100, 200):
        n = Numerals(Builder(), "canonical")
        n.interval(Decimal("1." + "37" * (digits // 2)), False, Decimal("48" * (digits // 2) + ".5"), True)
        sizes.append(len(n.builder.regexes))
    assert sizes[2] - sizes[1] <= 2.2 * (sizes[1] - sizes[0])
    assert sizes[2] < 200 * 12


def test_bounded_integers_are_plain_expressions_without_intersection() -> None:
    n = Numerals(Builder(), "canonical")
    for c in (
        integer(0, 255),
        integer(-7, None),
        constraint(0, 1),
        constraint(0, "99.99", "0.01"),
        integer(None, None, "10"),
        integer(0, 100, "7"),
    ):
        n.language(c)
    assert not [r for r in n.builder.regexes if isinstance(r, Intersection)]


# ---- multiples ----

#: Every divisor of the MaskBench and JSON-Schema-Test-Suite schemas but 0.123456789, and a few more.
DIVISORS = words(
    "1 1.0 2 3 4 5 6 7 8 9 10 11 12 13 15 16 20 24 33 44 77 256 429 0.01 0.1 0.25 0.5 1.5 2.5 0.0001 "
    "1e-8 0.3 0.75 50 25 21 39 1000 0.125"
)


@pytest.mark.parametrize("divisor", DIVISORS)
def test_multiples_are_exact(divisor: str) -> None:
    d = Fraction(Decimal(divisor))
    regex, not_regex = canonical.multiple_of(Decimal(divisor)), canonical.not_multiple_of(Decimal(divisor))
    integers = canonical.language(integer(None, None, divisor))
    texts = [str(v) for v in (*range(-30, 300), *range(990, 1040), 3432, 4290, 256000, 10**15, 10**15 + 2)]
    tails = [".0", ".5", ".50", ".25", ".3", ".75", ".001", ".00010", ".00000001", ".125", ".60"]
    texts += [f"{v}{tail}" for v in (0, 1, -2, 7, 12, 22) for tail in tails]
    for text in texts:
        divides = (Fraction(text) / d).denominator == 1
        assert accepts(canonical, regex, text) == divides, text
        assert accepts(canonical, not_regex, text) != divides, text
        assert accepts(canonical, integers, text) == (divides and "." not in text), text


@pytest.mark.parametrize("divisor", words("7 11 13 49 97 1000 12345 1024 3125 9973 0.07 3.75 0.0128 1.1e4 5e-7 2.5e4"))
def test_multiples_against_arithmetic(divisor: str) -> None:
    """Multiples and their neighbours, near zero and of every length."""
    step = Fraction(Decimal(divisor))
    _, k = split_decimal(Decimal(divisor))
    regex = canonical.multiple_of(Decimal(divisor))
    builder = canonical.builder
    factors = [*range(-12, 120), *(3 * 10**e + 7 for e in range(2, 14))]
    for n in factors:
        for neighbour in (0, 1, -1):
            value = n * step + Fraction(neighbour, 10 ** max(k, 0))
            text = spelled(value, max(k, 0) + 1)
            divides = (value / step).denominator == 1
            for spelling in {text, text.rstrip("0").rstrip(".")}:
                assert matches(builder, regex, spelling.encode()) == divides, spelling


def spelled(value: Fraction, places: int) -> str:
    scaled = value * 10**places
    assert scaled.denominator == 1
    digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def test_what_is_excluded_and_divides_the_step_leaves_nothing() -> None:
    assert NumberConstraint(multiples=(Decimal(33), Decimal(12)), excluded=(Decimal("1.5"), Decimal(44))).is_empty()
    assert not NumberConstraint(multiples=(Decimal(6),), excluded=(Decimal(4),)).is_empty()
    assert NumberConstraint(excluded=(Decimal(12), Decimal(28))).still_excluded(Decimal(6)) == (Decimal(4),)
    assert NumberConstraint(excluded=(Decimal(12), Decimal(90))).still_excluded(Decimal(2)) == (
        Decimal(12),
        Decimal(45),
    )


def test_multiples_with_many_states_have_fewer_digits() -> None:
    regex = canonical.language(integer(None, None, "9973"))
    assert accepts(canonical, regex, str(9973 * (10**32 // 9973)))
    assert not accepts(canonical, regex, str(9973 * (10**33 // 9973 + 1)))
    with pytest.raises(NumberTooComplex):
        canonical.language(integer(10**40, None, "9973"))


CONDITIONS = st.tuples(
    st.lists(st.sampled_from(words("1 2 3 4 6 7 10 12")).map(Decimal), min_size=1, max_size=2).map(tuple),
    st.lists(st.sampled_from(words("2 5 6 8 14 20")).map(Decimal), max_size=2).map(tuple),
)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(CONDITIONS, min_size=2, max_size=4),
    st.booleans(),
    st.none() | st.integers(-300, 300),
    st.integers(-3000, 3000),
    st.sampled_from(("", ".0", ".00", ".5", "0", "000000000000")),
)
def test_one_of_several_conditions_on_multiples_is_exact(
    conditions: list[tuple[tuple[Decimal, ...], tuple[Decimal, ...]]],
    is_integer: bool,
    low: int | None,
    number: int,
    tail: str,
) -> None:
    several = [replace(constraint(low, is_integer=is_integer), multiples=m, excluded=e) for m, e in conditions]
    regex = canonical.union(several, most_apart=0)
    assert regex is not None
    assert canonical.union(several) is None  # few states side by side are cheaper
    text = "0" if not number and not tail.startswith(".") else str(number) + tail
    expected = any(satisfies(c, Fraction(text)) for c in several)
    assert accepts(canonical, regex, text) == (expected and not (is_integer and "." in text))
    assert not accepts(canonical, regex, "0" + text if number > 0 else "")


def test_several_conditions_on_multiples_have_as_many_digits_as_one_of_their_states() -> None:
    regex = canonical.union([constraint(None, None, "33"), constraint(None, None, "91")], most_apart=0)
    assert regex is not None
    assert accepts(canonical, regex, str(33 * (10**106 // 33)))
    assert not accepts(canonical, regex, str(33 * (10**107 // 33 + 1)))


@pytest.mark.parametrize(
    "several",
    [
        [constraint(None, None, "0.5"), constraint(None, None, "3")],  # not only integers
        [constraint(None, None, "3"), constraint(0, None, "7")],  # another range
        [constraint(0, 99, "3"), constraint(0, 99, "7")],  # a few literals
        [constraint(None, None, "9973"), constraint(None, None, "9967")],  # too many states
        [constraint(), constraint(None, None, "7")],  # every number
    ],
)
def test_what_is_no_choice_of_multiples_alone_is_no_single_automaton(several: list[NumberConstraint]) -> None:
    assert canonical.union(several, most_apart=0) is None


@pytest.mark.parametrize("divisor", ["1", "3", "4", "5", "10", "0.01", "2.5", "1.5", "12"])
@pytest.mark.parametrize("text", words("1e1 12e0 120e-1 0.3E1 2.5e0 25e-1 1e-2 6e3 1.20e+2 0e7 -15e-01 7e0 5e-3"))
def test_multiples_in_mode_any_count_the_exponent(divisor: str, text: str) -> None:
    divides = (Fraction(Decimal(text)) / Fraction(divisor)).denominator == 1
    assert accepts(every, every.multiple_of(Decimal(divisor)), text) == divides
    assert accepts(every, every.not_multiple_of(Decimal(divisor)), text) != divides


@pytest.mark.parametrize("text", words("1.7 0.001 1 0 -3 2.0 -0.50 1e-07 5e-324 10e-1 15e-1 1.5e1 12e0 1.25e1"))
def test_non_integers_are_the_numbers_that_are_no_integer(text: str) -> None:
    whole = Fraction(Decimal(text)).denominator == 1
    assert accepts(every, every.non_integers, text) != whole
    assert accepts(every, every.integers, text) == whole
    if whole:
        assert not accepts(canonical, canonical.non_integers, text)
    elif accepts(canonical, canonical.numbers, text) and "e1" not in text:
        assert accepts(canonical, canonical.non_integers, text) or text in ("15e-1", "1.25e1")


def test_several_multiples_are_their_least_common_multiple() -> None:
    regex = canonical.language(integer(0, 1000, "4", "6"))
    assert [v for v in range(1001) if accepts(canonical, regex, str(v))] == list(range(0, 1001, 12))
    assert NumberConstraint(True, multiples=(Decimal("2.5"), Decimal("0.2"))).step() == 5


def test_a_divisor_without_an_automaton_is_refused_or_enumerated_in_a_small_range() -> None:
    for n in numerals.values():
        with pytest.raises(NumberTooComplex) as error:
            n.multiple_of(Decimal(16001))
        assert error.value.limit == "max_regex"
        regex = n.language(integer(0, 100_000, "16001"))
        near = [v for v in range(100_001) if v % 16001 in (0, 1)]
        assert [v for v in near if accepts(n, regex, str(v))] == list(range(0, 100_001, 16001))
        nearest = n.language(integer(5, None, "0.123456789").nearest(10))
        assert [v for v in (0, 1, 5) if accepts(n, nearest, str(v * 123456789))] == [1, 5]
        assert not accepts(n, nearest, "123456788")


# ---- constants ----


def test_canonical_constants_are_plain_and_as_the_schema_wrote_them() -> None:
    def spelled(v: int | float) -> set[str]:
        candidates = [*words("1 1.0 1.00 1e0 -0 0 -0.0 1e-07 1e-7 0.0000001 1e+22 0.5 0.50"), "1" + "0" * 22]
        return {t for t in candidates if accepts(canonical, canonical.value(v), t)}

    assert spelled(1) == {"1"}
    assert spelled(1.0) == {"1", "1.0"}
    assert spelled(0.5) == {"0.5"}
    assert spelled(1e-07) == {"1e-07", "1e-7", "0.0000001"}
    assert spelled(1e22) == {"1e+22", "1" + "0" * 22}
    assert spelled(10**22) == {"1" + "0" * 22}
    assert spelled(-0.0) == {"0", "-0.0"}


@pytest.mark.parametrize("text", ["1", "1.0", "1.00", "1e0", "10e-1", "0.1e1", "0.01E+2", "1000e-3", "1.0e-000"])
def test_mode_any_takes_every_spelling_of_a_constant(text: str) -> None:
    assert accepts(every, every.value(1), text)
    assert not accepts(every, every.value(2), text)
    assert not accepts(every, every.value(-1), text)


def test_a_constant_that_is_no_finite_double_has_no_text() -> None:
    for v in (10**400, math.inf, -math.inf, Decimal("1e400")):
        assert canonical.value(v) == canonical.builder.empty


def test_exact_reads_a_float_by_its_shortest_spelling() -> None:
    assert exact(0.1) == Decimal("0.1")
    assert exact(10**40 + 1) == Decimal(10**40 + 1)
