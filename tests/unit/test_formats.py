"""Formats: examples from the documents that define them, the kernel against a calendar and against other libraries."""

from __future__ import annotations

import functools
import json
import random
import time
from datetime import date, timedelta
from typing import Any

import pytest
from jsonschema import FormatChecker

import grammar_decode as gd
from grammar_decode.errors import UnsatisfiableSchema
from grammar_decode.json_schema import prepared
from grammar_decode.json_schema.compile import compile_schema
from grammar_decode.json_schema.formats import (
    KNOWN_FORMATS,
    NUMBER_FORMATS,
    STRING_FORMATS,
    _program,
    has_format,
    length_of,
    measured,
    note_of,
    worked_out,
)
from grammar_decode.json_schema.report import Outcome
from grammar_decode.regex.parse import parse

VOCABULARY = gd.Vocabulary([*(bytes((b,)) for b in range(256)), None], stop_token_ids=[256])


@functools.lru_cache(maxsize=64)
def _grammar(schema: str) -> gd.Grammar:
    return gd.compile_json_schema(schema, gd.JsonOptions(openapi=True))  # for `byte`


def accepts(schema: Any, value: Any) -> bool:
    """Whether the grammar of a schema takes the plain text of a value."""
    matcher = gd.GrammarMatcher(_grammar(json.dumps(schema)), VOCABULARY)
    return matcher.accept_bytes(json.dumps(value, ensure_ascii=False).encode()) and matcher.is_accepting()


def walk(schema: Any, rng: random.Random) -> Any:
    """A random value, with a taste for punctuation; None where no end comes in sight."""
    matcher = gd.GrammarMatcher(_grammar(json.dumps(schema)), VOCABULARY)
    text, most = b"", rng.choice((3, 8, 20, 40))
    while not text or not matcher.is_accepting():
        allowed = [b for b in matcher.allowed_bytes() if b not in b" \t\n\r"] or list(matcher.allowed_bytes())
        marks = [b for b in allowed if 0x20 < b < 0x7F and not chr(b).isalnum()]
        closing = [b for b in allowed if b in (b'"' if b'"'[0] in allowed else b")]}>")]
        chosen = rng.choice(
            closing if closing and len(text) > most else marks if marks and rng.random() < 0.6 else allowed
        )
        matcher.accept_bytes(bytes((chosen,)))
        text += bytes((chosen,))
        if len(text) > 400:
            return None
    return json.loads(text)


#: format -> (has it, has it not)
EXAMPLES: dict[str, tuple[list[str], list[str]]] = {
    "date": (
        ["1985-04-12", "2024-02-29", "2000-02-29", "0000-02-29"],
        ["2023-02-29", "1900-02-29", "2024-04-31", "24-1-1"],
    ),
    "time": (
        [
            "12:00:27.87+00:20",
            "23:20:50.52Z",
            "00:00:00z",
            "23:59:60Z",
            "23:59:60-00:00",
            "15:59:60-08:00",
            "05:29:60.5+05:30",
        ],
        ["24:00:00Z", "12:00:00", "12:60:00Z", "12:00:60Z", "23:59:60+01:00", "12:00:00+24:00", "12:00:00.Z"],
    ),
    "date-time": (
        [
            *(
                "1985-04-12T23:20:50.52Z",
                "1996-12-19t16:39:57-08:00",
                "1990-12-31T23:59:60Z",
                "1990-12-31T15:59:60-08:00",
            ),
            *("1991-01-01T00:59:60+01:00", "2016-12-31T23:59:60+00:00", "2024-02-29T00:00:00Z"),
        ],
        [
            *(
                "1990-12-30T23:59:60Z",
                "1990-12-31T00:59:60+01:00",
                "1991-01-01T15:59:60-08:00",
                "1991-01-01T23:59:60+00:00",
            ),
            *("1985-04-12 23:20:50Z", "1985-04-12T23:20Z", "1985-04-12T23:20:50", "2023-02-29T00:00:00Z"),
        ],
    ),
    "duration": (["P3Y6M4DT12H30M5S", "P1W", "PT36H", "P0D"], ["P", "PT", "P1Y1D", "P1W1D", "PT1.5S", "p1d", "P1S"]),
    "email": (
        ["a@b", "first.last+tag@example.com", '"a b\\"c"@example.org', "x@[127.0.0.1]", "x@[IPv6:::1]"],
        ["a", "a@", "@b", "a..b@c", ".a@b", "a@-b", "a@b_c", "a b@c", "a@[300.0.0.1]", "ä@b"],
    ),
    "idn-email": (["a@b", "ä.ö@büro.example", '"π"@例え.jp'], ["a@\u0301b", "a@b.", "a@b™", "a@-b"]),
    "hostname": (
        [
            "a",
            "example.com",
            "1.2.3.4",
            "a-b--c",
            "xn--bcher-kva.example",
            "a" * 63,
            ".".join(["a" * 63] * 3 + ["a" * 61]),
        ],
        ["", "-a", "a-", "a_b", "a.", ".a", "a..b", "a" * 64, ".".join(["a" * 63] * 3 + ["a" * 62]), "bücher"],
    ),
    "idn-hostname": (
        ["bücher.example", "例え。テスト", "אבג.example", "a.b.c.d", "straße", "क्षेत्र"],
        [
            "xn--bcher-kva",
            "Bücher",
            "a\u200db",
            "bu\u0308cher",
            "1a.אבג",
            "a\u05d0",
            "ab--c",
            "ü" * 60,
            "-ü",
            "ü-",
            "☃",
        ],
    ),
    "ipv4": (["0.0.0.0", "127.0.0.1", "255.255.255.255"], ["1.2.3", "256.1.1.1", "01.2.3.4", "1.2.3.4.5", "1.2.3.4 "]),
    "ipv6": (
        ["::", "::1", "2001:db8::", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8"],
        ["1:2:3:4:5:6:7", "::1::", ":::", "12345::", "fe80::1%eth0", "1:2:3:4:5:6:7:8:9", "::1.2.3.256"],
    ),
    "uri": (
        [
            "http://a.b/c?d=e#f",
            "urn:x:y",
            "mailto:a@b",
            "http://[::1]:80/",
            "file:///a",
            "a:",
            "http://u:p@h",
            "x://[v1.a:b]",
        ],
        ["a/b", "//a", "http://a b", "http://é", "1:a", "http://[1]", "http://a:b", "a:%4", "a:\\", "http://a/[b]"],
    ),
    "uri-reference": (["", "a/b", "//h", "?q", "#f", "../x", "a:b", "./1:2"], ["1:2", "%", "a b", "##", "é"]),
    "iri": (["http://é.example/ü?ö#ä", "a:\U00010300", "a:?\ue000"], ["é", "a:\ue000", "a:\u200e", "a:\ufdd0"]),
    "iri-reference": (["é", "/ü", "?\ue000"], ["\ue000", "é b", "\u202e"]),
    "uri-template": (
        ["", "a{b}", "{?x,y*}", "{var:3}", "{+a.b}", "http://é/{/x:9999}", "a'b", "%20"],
        ["{", "}", "{}", "{a:0}", "{a:10000}", "{=a}", "{a,}", "{a b}", "{a.}", "%2", 'a"b'],
    ),
    "uuid": (
        ["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "0" * 8 + ("-" + "A" * 4) * 3 + "-" + "f" * 12],
        ["0" * 32, "{}", ""],
    ),
    "json-pointer": (["", "/", "/a~1b", "/m~0n", '/k"l', "/é"], ["a", "#", "/~", "/~2"]),
    "relative-json-pointer": (
        ["0", "1/0", "2/highly/nested", "0#", "10"],
        ["", "-1", "01", "0##", "/a", "0a", "1+1/a"],
    ),
    "regex": (
        [
            "",
            "a|",
            "^[a-z0-9_-]{3,16}$",
            r"(\d+)\.(?:x|y)*?",
            r"(?<year>\d{4})-\d",
            r"[^'\]]\p{L}\u{1F600}",
            "(?=a)b(?<!c)",
        ],
        [
            "*",
            "(",
            ")",
            "[",
            "]",
            "{",
            "a{2,1}",
            "[z-a]",
            r"\a",
            "(?P<n>a)",
            "(?i)a",
            "a**",
            "(?=a)*",
            "\\",
            "(?<a>b)(?<a>c)",
        ],
    ),
    "byte": (["", "Zg==", "Zm8=", "Zm9v", "+/+/"], ["Z", "Zg", "Zh==", "Zm9=", "Zm9v\n", "Zm-_"]),
}


def test_every_format_has_examples() -> None:
    assert set(EXAMPLES) == set(STRING_FORMATS)
    assert set(STRING_FORMATS) | set(NUMBER_FORMATS) == KNOWN_FORMATS


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    positive, negative = {"type": "string", "format": name}, {"type": "string", "not": {"format": name}}
    for good, texts in zip((True, False), EXAMPLES[name], strict=True):
        for text in texts:
            assert accepts(positive, text) == good, text
            assert accepts(negative, text) != good, text
            assert has_format(name, text) == good, text


def test_days_are_those_of_the_calendar() -> None:
    schema = {"type": "string", "format": "date"}
    for year in (1, 4, 100, 400, 1900, 1999, 2000, 2023, 2024, 9999):
        days = {date(year, 1, 1) + timedelta(n) for n in range(365)} | {date(year, 12, 31)}
        texts = {day.isoformat() for day in days if day.year == year}
        for month in range(14):
            for day in range(33):
                text = f"{year:04}-{month:02}-{day:02}"
                assert accepts(schema, text) == (text in texts), text


def test_leap_seconds_are_the_last_of_a_day_in_utc() -> None:
    schema = {"type": "string", "format": "time"}
    for offset in range(-1439, 1440, 13 * 5):
        local = (23 * 60 + 59 + offset) % 1440
        zone = f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
        text = f"{local // 60:02}:{local % 60:02}:60{zone}"
        assert accepts(schema, text) == (offset % 30 == 0), text
        assert not accepts(schema, f"{(local + 1) // 60 % 24:02}:{(local + 1) % 60:02}:60{zone}")


# What the libraries behind jsonschema refuse wrongly: apostrophes (erratum 6937), private characters; names by Python.
UNCHECKED = {"time", "uri-template", "relative-json-pointer", "regex", "byte", "idn-email", "idn-hostname"}


@pytest.mark.parametrize("name", sorted(set(STRING_FORMATS) - UNCHECKED))
def test_what_is_written_has_the_format(name: str) -> None:
    checker, rng = FormatChecker(), random.Random(name)
    for _ in range(60):
        text = walk({"type": "string", "format": name}, rng)
        if text is not None:
            checker.check(text, name)
            assert has_format(name, text)


def test_host_names_that_are_written_follow_idna() -> None:
    idna = pytest.importorskip("idna")
    rng = random.Random(5)
    for _ in range(100):
        text = walk({"type": "string", "format": "idn-hostname"}, rng)
        assert text is None or len(idna.encode(text, strict=False, uts46=False, std3_rules=True)) <= 253


def test_patterns_that_are_written_are_patterns() -> None:
    rng = random.Random(6)
    for _ in range(100):
        text = walk({"type": "string", "format": "regex"}, rng)
        if text is not None:
            parse(text)


def test_formats_hold_together_with_lengths_patterns_and_values() -> None:
    both = {"type": "string", "format": "uri", "pattern": "^https:", "maxLength": 12, "minLength": 10}
    assert accepts(both, "https://a.b")
    for refused in ("http://a.bc", "https://a", "https://a.b/c", "https://a b"):
        assert not accepts(both, refused)
    assert accepts({"format": "ipv4", "enum": ["1.2.3.4", "a", 7]}, "1.2.3.4")
    assert not accepts({"format": "ipv4", "enum": ["1.2.3.4", "a", 7]}, "a")
    assert accepts({"format": "ipv4", "enum": ["1.2.3.4", "a", 7]}, 7)
    with pytest.raises(UnsatisfiableSchema):
        gd.GrammarMatcher(_grammar('{"type": "string", "format": "date", "maxLength": 9}'), VOCABULARY)
    either = {"oneOf": [{"type": "string", "format": "ipv4"}, {"type": "string", "format": "hostname"}]}
    assert accepts(either, "a.b")
    assert not accepts(either, "1.2.3.4")


def test_keys_have_formats_too() -> None:
    schema = {"type": "object", "propertyNames": {"format": "date"}}
    assert accepts(schema, {"2024-02-29": 1})
    assert not accepts(schema, {"2023-02-29": 1})


def test_formats_of_numbers_bound_numbers_only() -> None:
    for bits in (32, 64):
        schema = {"format": f"int{bits}"}
        assert all(accepts(schema, value) for value in (0, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, "a", None))
        assert not any(accepts(schema, value) for value in (0.5, -(2 ** (bits - 1)) - 1, 2 ** (bits - 1)))
        assert not accepts({"type": "number", "not": schema}, 7)
        assert accepts({"type": "number", "not": schema}, 7.5)
    assert accepts({"format": "float"}, 1.5)
    assert not accepts({"type": "number", "format": "float"}, 10**39)
    assert accepts({"type": "number", "format": "double"}, 10**39)


def test_an_escape_is_written_where_json_needs_one() -> None:
    matcher = gd.GrammarMatcher(_grammar('{"type": "string", "format": "email"}'), VOCABULARY)
    assert not matcher.fork().accept_bytes(rb'"\u0061@b"')
    assert matcher.accept_bytes(rb'"\"\\a\"@b"')


def test_the_report_says_what_is_left_out() -> None:
    for name in KNOWN_FORMATS:
        _, report = compile_schema({"format": name}, gd.JsonOptions(openapi=True))
        (entry,) = report.entries
        assert entry.outcome is (Outcome.RESTRICTED if note_of(name) else Outcome.ENFORCED)
        assert entry.detail == note_of(name)
    _, report = compile_schema({"format": "date"}, gd.JsonOptions(formats="ignore"))
    assert report.entries[0].outcome is Outcome.ANNOTATION


def test_formats_are_built_once_in_a_process() -> None:
    schema = {"properties": {name: {"type": "string", "format": name} for name in STRING_FORMATS}}
    compile_schema(schema)
    start = time.process_time()
    compile_schema(schema)
    assert time.process_time() - start < 0.4  # building takes 0.8, copying 0.01


def test_prepared_languages_are_what_the_patterns_come_to() -> None:
    assert prepared.FILE.read_text("ascii") == prepared.work_out(), "formats.json is old: see prepared.py"


@pytest.mark.parametrize("name", sorted(STRING_FORMATS.keys() - prepared.BY_UNICODE))
def test_prepared_languages_are_used(name: str) -> None:
    assert _program("canonical", name) == worked_out("canonical", name)
    assert length_of(name) == measured(name)
