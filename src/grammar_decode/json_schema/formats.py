r"""The formats: for each its language, as a pattern of whole strings, and where that falls short of its source.

A pattern describes what a string says, before JSON spells it. Most formats are regular and exact. Where one is not, its
language is smaller than what the source allows (or the source leaves open who checks), and ``note`` says so; the report
repeats it. Sources: JSON Schema 2020-12 validation, section 7.3, and the documents it names, cited at each rule.
A format is known in every dialect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from grammar_decode.ir.build import Builder
from grammar_decode.ir.encode import decode_regexes
from grammar_decode.ir.nodes import Regex, RegexId
from grammar_decode.json_schema.idna import host_name_pattern, letters_pattern
from grammar_decode.json_schema.matching import matches_whole
from grammar_decode.json_schema.patterns import length_range
from grammar_decode.json_schema.prepared import prepared
from grammar_decode.json_schema.regex_format import pattern_tree
from grammar_decode.json_schema.spelling import Mode, Spelling
from grammar_decode.limits import remembered
from grammar_decode.regex.charset import Charset
from grammar_decode.regex.lower import full_match_language
from grammar_decode.regex.parse import Alternation, Ast, Chars, Repeat, Sequence, parse


@dataclass(frozen=True, slots=True)
class StringFormat:
    """A format of strings: where it is defined, its language, and what the language leaves out or does not check."""

    source: str
    language: Callable[[], str | Ast]
    note: str = ""
    openapi: bool = False  # JSON Schema does not know it, and real schemas use the word for something else


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """A format of numbers: the least and the greatest, and whether only integers have it."""

    limits: tuple[Decimal, Decimal] | None
    integer: bool = False


# ---- dates and times ------------------------------------------------------------------------------------------------

# RFC 3339, section 5.6, with the days of section 5.7 and the leap years of appendix C: proleptic, the year 0000 is one.
_LEAP_YEAR = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DAY = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    r"|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_DATE = rf"(?:[0-9]{{4}}-{_DAY}|{_LEAP_YEAR}-02-29)"

_FRACTION = r"(?:\.[0-9]+)?"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_TIME = rf"{_CLOCK}:[0-5][0-9]{_FRACTION}(?:[Zz]|[+-]{_CLOCK})"


def _leap_second(minutes: int) -> str:
    """23:59:60 in UTC as the local time ``minutes`` east of Greenwich (RFC 3339, section 5.7)."""
    sign = "[+]" if minutes > 0 else "-"
    return f"{_clock(23 * 60 + 59 + minutes)}:60{_FRACTION}{sign}{_clock(abs(minutes))}"


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


_LEAP_UTC = rf"23:59:60{_FRACTION}(?:[Zz]|[+-]00:00)"


def _time() -> str:
    offsets = [sign * minutes for minutes in range(30, 1440, 30) for sign in (1, -1)]
    return "|".join((_TIME, _LEAP_UTC, *map(_leap_second, offsets)))


def _date_time() -> str:
    """The last second of June or December in UTC may be a leap second; east of Greenwich it falls on the next day."""
    west = "|".join(_leap_second(-60 * hours) for hours in range(1, 13))
    east = "|".join(_leap_second(60 * hours) for hours in range(1, 15))
    leap = rf"[0-9]{{4}}-(?:(?:06-30|12-31)[Tt](?:{_LEAP_UTC}|{west})|(?:07-01|01-01)[Tt](?:{east}))"
    return f"{_DATE}[Tt]{_TIME}|{leap}"


# RFC 3339, appendix A. ABNF letters have no case; capitals are what ISO 8601 and every reader of durations know.
_DUR_TIME = r"T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)"
_DUR_DATE = r"(?:[0-9]+D|[0-9]+M(?:[0-9]+D)?|[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?)"
_DURATION = rf"P(?:{_DUR_DATE}(?:{_DUR_TIME})?|{_DUR_TIME}|[0-9]+W)"

# ---- addresses and names --------------------------------------------------------------------------------------------

# RFC 2673, section 3.2 (dotted-quad); no leading zeros, as RFC 3986 (dec-octet) has it.
_OCTET = r"(?:[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"

# RFC 4291, section 2.2, in the grammar of RFC 3986, section 3.2.2. No zone (RFC 4007).
_GROUP = r"[0-9A-Fa-f]{1,4}"
_LAST32 = rf"(?:{_GROUP}:{_GROUP}|{_IPV4})"


def _ipv6() -> str:
    ways = [rf"(?:{_GROUP}:){{6}}{_LAST32}", rf"::(?:{_GROUP}:){{5}}{_LAST32}"]
    for before in range(1, 8):  # groups before the "::", at most; what remains is written behind it
        behind = {6: _GROUP, 7: ""}.get(before, rf"(?:{_GROUP}:){{{5 - before}}}{_LAST32}" if before < 5 else _LAST32)
        ways.append(rf"(?:(?:{_GROUP}:){{0,{before - 1}}}{_GROUP})?::{behind}")
    return f"(?:{'|'.join(ways)})"


_IPV6 = _ipv6()

# RFC 1123, section 2.1, on RFC 952: letters, digits, inner hyphens; labels of 63, names of 253 octets (RFC 1034, 3.1).
_LET_DIG = "[A-Za-z0-9]"
_LABEL = rf"{_LET_DIG}(?:[A-Za-z0-9-]{{0,61}}{_LET_DIG})?"
_HOSTNAME = rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*"

# RFC 5321, section 4.1.2 (Mailbox) and 4.1.3 (address literals). The grammar itself has no lengths.
_ATEXT = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
_QUOTED = r'"(?:[ !#-\[\]-~]|\\[ -~])*"'
_SUB_DOMAIN = rf"{_LET_DIG}(?:[A-Za-z0-9-]*{_LET_DIG})?"
# Snum may have leading zeros; an address with them is read in two ways, so none is written.
_IPV6_LITERAL = rf"[Ii][Pp][Vv]6:{_IPV6}"
_LITERAL = rf"\[(?:{_IPV4}|{_IPV6_LITERAL})\]"
_EMAIL = rf"(?:{_ATEXT}+(?:\.{_ATEXT}+)*|{_QUOTED})@(?:{_SUB_DOMAIN}(?:\.{_SUB_DOMAIN})*|{_LITERAL})"


def _idn_email() -> str:
    """RFC 6531, section 3.3: atext and qtextSMTP with all of UTF8-non-ascii, sub-domains that may be U-labels."""
    other = r"\u{80}-\u{10FFFF}"
    atext = rf"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~{other}-]"
    quoted = rf'"(?:[ !#-\[\]-~{other}]|\\[ -~])*"'
    letter = letters_pattern(first=True)
    inner = letters_pattern(first=False)
    label = rf"{letter}(?:{inner}|-+{inner})*"
    return rf"(?:{atext}+(?:\.{atext}+)*|{quoted})@(?:{label}(?:\.{label})*|{_LITERAL})"


# ---- resource identifiers -------------------------------------------------------------------------------------------


def _identifier(more: str, private: str, *, relative: bool) -> str:
    """RFC 3986, appendix A; ``more`` and ``private`` are ucschar and iprivate of RFC 3987, section 2.2."""
    ascii_only = r"A-Za-z0-9._~!$&'()*+,;=-"  # unreserved and sub-delims
    plain = more + ascii_only
    pct = "%[0-9A-Fa-f]{2}"
    segment = rf"(?:[:@{plain}]|{pct})"
    segments = rf"(?:/{segment}*)*"
    user = rf"(?:(?:[:{plain}]|{pct})*@)?"
    future = rf"[Vv][0-9A-Fa-f]+\.[:{ascii_only}]+"
    host = rf"(?:\[(?:{_IPV6}|{future})\]|(?:[{plain}]|{pct})*)"
    authority = rf"//{user}{host}(?::[0-9]*)?{segments}"
    absolute = rf"/(?:{segment}+{segments})?"
    rest = rf"(?:\?(?:[:@/?{private}{plain}]|{pct})*)?(?:#(?:[:@/?{plain}]|{pct})*)?"
    # One alternative for what follows a scheme and what stands alone: it is written out once, however it is reached.
    whole = rf"[A-Za-z][A-Za-z0-9+.-]*:(?:{authority}|{absolute}|{segment}+{segments}|){rest}"
    if not relative:
        return whole
    no_colon = rf"(?:[@{plain}]|{pct})+"
    return rf"(?:{whole}|(?:{authority}|{absolute}|{no_colon}{segments}|){rest})"


# RFC 3987, section 2.2; without the bidirectional formatting characters, which section 4.1 forbids.
_UCSCHAR = (
    r"\u{A0}-\u{200D}\u{2010}-\u{2029}\u{202F}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFEF}"
    + "".join(rf"\u{{{plane:X}0000}}-\u{{{plane:X}FFFD}}" for plane in range(1, 14))
    + r"\u{E1000}-\u{EFFFD}"
)
_IPRIVATE = r"\u{E000}-\u{F8FF}\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"

# RFC 6570, section 2; literals as corrected by erratum 6937, which admits the apostrophe. The operators =,!@| are
# reserved for extensions (section 2.2): a template with one can't be expanded.
_VARCHAR = "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})"
_VARIABLE = rf"{_VARCHAR}+(?:\.{_VARCHAR}+)*(?::[1-9][0-9]{{0,3}}|\*)?"
_URI_TEMPLATE = (
    rf"(?:[!#$&'(-;=?-\[\]_a-z~{_UCSCHAR}{_IPRIVATE}]|%[0-9A-Fa-f]{{2}}"
    rf"|\{{[+#./;?&]?{_VARIABLE}(?:,{_VARIABLE})*\}})*"
)

# ---- others ---------------------------------------------------------------------------------------------------------

# RFC 4122, section 3.
_UUID = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
# RFC 6901, section 3.
_POINTER = r"(?:/(?:[^/~]|~[01])*)*"
# draft-handrews-relative-json-pointer-01, section 3.
_RELATIVE_POINTER = rf"(?:0|[1-9][0-9]*)(?:#|{_POINTER})"
# RFC 4648, section 4; the bits that pad the last character are zero (section 3.5).
_BASE64 = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?"


def _pattern(text: str) -> Callable[[], str]:
    return lambda: text


_LEAP_NOTE = "a second 60 is written at 23:59 UTC"

_LITERAL_NOTE = "an address in brackets is IPv4 without leading zeros, or IPv6"

STRING_FORMATS: dict[str, StringFormat] = {
    "date": StringFormat("RFC 3339, section 5.6, full-date", _pattern(_DATE)),
    "time": StringFormat("RFC 3339, section 5.6, full-time", _time, f"{_LEAP_NOTE}, with an offset of half hours"),
    "date-time": StringFormat(
        "RFC 3339, section 5.6, date-time",
        _date_time,
        f"{_LEAP_NOTE} on 30 June and 31 December of every year, with an offset of whole hours from -12 to +14",
    ),
    "duration": StringFormat("RFC 3339, appendix A", _pattern(_DURATION), "written in capitals"),
    "email": StringFormat("RFC 5321, section 4.1.2, Mailbox", _pattern(_EMAIL), _LITERAL_NOTE),
    "idn-email": StringFormat(
        "RFC 6531, section 3.3",
        _idn_email,
        f"the labels of the domain are letters, digits and marks, not checked by IDNA; {_LITERAL_NOTE}",
    ),
    "hostname": StringFormat(
        "RFC 1123, section 2.1", _pattern(_HOSTNAME), "what follows xn-- is not checked to be Punycode (RFC 5891, 4.4)"
    ),
    "idn-hostname": StringFormat(
        "RFC 5890, section 2.3.2.3",
        host_name_pattern,
        "at most 4 labels of 59 octets, none an A-label (xn--); with letters beyond ASCII at most 12 characters, "
        "none of those that need a context (RFC 5892, appendix A)",
    ),
    "ipv4": StringFormat("RFC 2673, section 3.2", _pattern(_IPV4)),
    "ipv6": StringFormat("RFC 4291, section 2.2", _pattern(_IPV6)),
    "uri": StringFormat("RFC 3986, section 3", lambda: _identifier("", "", relative=False)),
    "uri-reference": StringFormat("RFC 3986, section 4.1", lambda: _identifier("", "", relative=True)),
    "iri": StringFormat("RFC 3987, section 2.2", lambda: _identifier(_UCSCHAR, _IPRIVATE, relative=False)),
    "iri-reference": StringFormat("RFC 3987, section 2.2", lambda: _identifier(_UCSCHAR, _IPRIVATE, relative=True)),
    "uri-template": StringFormat("RFC 6570, section 2", _pattern(_URI_TEMPLATE), "without the reserved operators"),
    "uuid": StringFormat("RFC 4122, section 3", _pattern(_UUID)),
    "json-pointer": StringFormat("RFC 6901, section 3", _pattern(_POINTER)),
    "relative-json-pointer": StringFormat(
        "draft-handrews-relative-json-pointer-01, section 3", _pattern(_RELATIVE_POINTER), "without index manipulation"
    ),
    "regex": StringFormat(
        "ECMA-262, section 22.2.1, with the u flag",
        pattern_tree,
        "groups nested at most 4 deep, one named group, no backreferences, some of the properties, ranges and counts",
    ),
    "byte": StringFormat("OpenAPI 3.0; RFC 4648, section 4", _pattern(_BASE64), openapi=True),
}

_FLOAT_MAX = Decimal((2**24 - 1) * 2**104)

#: OpenAPI 3.0, "Data Types". A float is finite in IEEE 754 binary32; every number that is written is a finite double.
NUMBER_FORMATS: dict[str, NumberFormat] = {
    "int32": NumberFormat((Decimal(-(2**31)), Decimal(2**31 - 1)), integer=True),
    "int64": NumberFormat((Decimal(-(2**63)), Decimal(2**63 - 1)), integer=True),
    "float": NumberFormat((-_FLOAT_MAX, _FLOAT_MAX)),
    "double": NumberFormat(None),
}

KNOWN_FORMATS = frozenset(STRING_FORMATS) | frozenset(NUMBER_FORMATS)


# ---- languages ------------------------------------------------------------------------------------------------------


@cache
def tree_of(name: str) -> Ast:
    """The syntax tree of what a string of the format is, from end to end."""
    language = STRING_FORMATS[name].language()
    return parse(f"(?:{language})$") if isinstance(language, str) else language


@remembered(4096)
def has_format(name: str, text: str) -> bool:
    """Whether a string has the format."""
    return matches_whole(tree_of(name), text)


def length_of(name: str) -> tuple[int, int | None]:
    """Bounds (not always the tightest) of the length of a string of the format."""
    known = prepared(name)
    return measured(name) if known is None else known.length


@cache
def measured(name: str) -> tuple[int, int | None]:
    """The same, worked out."""
    language = STRING_FORMATS[name].language()
    return length_range(f"^(?:{language})$") if isinstance(language, str) else (0, None)


def format_body(builder: Builder, mode: Mode, name: str) -> RegexId:
    """What stands between the quotes of a string of the format. The work is done once in a process."""
    return builder.put(_program(mode, name))


@cache
def _program(mode: Mode, name: str) -> tuple[Regex, ...]:
    known = prepared(name) if mode == "canonical" else None
    return worked_out(mode, name) if known is None else decode_regexes(known.language)


def worked_out(mode: Mode, name: str) -> tuple[Regex, ...]:
    """The language of the format by itself, for Builder.put."""
    builder = Builder()
    spell = Spelling(builder, mode).charset
    language = STRING_FORMATS[name].language()
    if isinstance(language, str):
        root = full_match_language(builder, f"(?:{language})$", spell)
    else:
        root = _plain(builder, language, spell, {})
    return builder.take(root)


def _plain(builder: Builder, node: Ast, spell: Callable[[Charset], RegexId], known: dict[int, RegexId]) -> RegexId:
    """The language of a tree without assertions whose parts may be shared."""
    found = known.get(id(node))
    if found is None:
        if isinstance(node, Chars):
            found = spell(node.charset)
        elif isinstance(node, Repeat):
            found = builder.repeat(_plain(builder, node.part, spell, known), node.minimum, node.maximum)
        else:
            assert isinstance(node, (Sequence, Alternation)), "no assertions"
            parts = [_plain(builder, part, spell, known) for part in node.parts]
            found = builder.concat(*parts) if isinstance(node, Sequence) else builder.alternate(*parts)
        known[id(node)] = found
    return found


def is_openapi(name: str) -> bool:
    """Whether only OpenAPI knows the format, so that it holds under ``JsonOptions(openapi=True)`` alone."""
    return name in STRING_FORMATS and STRING_FORMATS[name].openapi


def note_of(name: str) -> str:
    """What the report says of the format beyond "enforced"; empty where it is exact."""
    return STRING_FORMATS[name].note if name in STRING_FORMATS else ""
