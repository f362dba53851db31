r"""The property escapes of ECMA-262, ``\p{...}``: names as the specification spells them, and their code points.

General categories come from Python's own ``unicodedata``; scripts and binary properties from the third-party
``regex`` library, an optional extra that is imported only when a pattern needs it. Names are case-sensitive and
aliases are those of ECMA-262, tables "Non-binary Unicode property aliases" and "Binary Unicode property aliases".
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby

from grammar_decode.regex.charset import ALL, MAX_CODE_POINT, Charset

#: Short and long names of General_Category values; a value of several is a union.
_CATEGORIES = """
Lu Uppercase_Letter; Ll Lowercase_Letter; Lt Titlecase_Letter; LC Cased_Letter = Lu Ll Lt; Lm Modifier_Letter
Lo Other_Letter; L Letter = Lu Ll Lt Lm Lo; Mn Nonspacing_Mark; Mc Spacing_Mark; Me Enclosing_Mark
M Mark Combining_Mark = Mn Mc Me; Nd Decimal_Number digit; Nl Letter_Number; No Other_Number; N Number = Nd Nl No
Pc Connector_Punctuation; Pd Dash_Punctuation; Ps Open_Punctuation; Pe Close_Punctuation; Pi Initial_Punctuation
Pf Final_Punctuation; Po Other_Punctuation; P Punctuation punct = Pc Pd Ps Pe Pi Pf Po; Sm Math_Symbol
Sc Currency_Symbol; Sk Modifier_Symbol; So Other_Symbol; S Symbol = Sm Sc Sk So; Zs Space_Separator
Zl Line_Separator; Zp Paragraph_Separator; Z Separator = Zs Zl Zp; Cc Control cntrl; Cf Format; Cs Surrogate
Co Private_Use; Cn Unassigned; C Other = Cc Cf Cs Co Cn
"""

_BINARY = """
ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Assigned Bidi_Control Bidi_C Bidi_Mirrored Bidi_M Case_Ignorable CI
Cased Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM Changes_When_Lowercased CWL
Changes_When_NFKC_Casefolded CWKCF Changes_When_Titlecased CWT Changes_When_Uppercased CWU Dash
Default_Ignorable_Code_Point DI Deprecated Dep Diacritic Dia Emoji Emoji_Component EComp Emoji_Modifier EMod
Emoji_Modifier_Base EBase Emoji_Presentation EPres Extended_Pictographic ExtPict Extender Ext Grapheme_Base Gr_Base
Grapheme_Extend Gr_Ext Hex_Digit Hex IDS_Binary_Operator IDSB IDS_Trinary_Operator IDST ID_Continue IDC ID_Start IDS
Ideographic Ideo Join_Control Join_C Logical_Order_Exception LOE Lowercase Lower Math Noncharacter_Code_Point NChar
Pattern_Syntax Pat_Syn Pattern_White_Space Pat_WS Quotation_Mark QMark Radical Regional_Indicator RI
Sentence_Terminal STerm Soft_Dotted SD Terminal_Punctuation Term Unified_Ideograph UIdeo Uppercase Upper
Variation_Selector VS White_Space space XID_Continue XIDC XID_Start XIDS
"""
_BINARY_NAMES = frozenset(_BINARY.split())


class PropertyError(Exception):
    """``unsupported`` is True where the name may be right but can't be looked up on this installation."""

    def __init__(self, reason: str, *, unsupported: bool = False) -> None:
        self.reason = reason
        self.unsupported = unsupported
        super().__init__(reason)


@lru_cache(maxsize=256)
def property_set(text: str) -> Charset:
    """The scalar values with the property that stands between the braces: ``L``, ``gc=Lu``, ``Script=Greek`` …

    Raises PropertyError. The first general category costs tens of milliseconds, each other property a few; all are
    remembered.
    """
    name, equals, value = text.partition("=")
    if equals:
        if name in ("General_Category", "gc"):
            category = _category(value)
            if category is None:
                raise PropertyError(f"there is no general category {value!r}")
            return category
        if name in ("Script", "sc", "Script_Extensions", "scx"):
            return _script("sc" if name in ("Script", "sc") else "scx", value)
        raise PropertyError(f"there is no property {name!r} with values; use General_Category, Script or their aliases")
    category = _category(name)
    if category is not None:
        return category
    if name not in _BINARY_NAMES:
        raise PropertyError(f"there is no property {name!r}; a script is written \\p{{Script={name}}}")
    return _binary(name)


def _binary(name: str) -> Charset:
    if name == "Any":
        return ALL
    if name == "ASCII":
        return Charset.of((0, 0x7F))
    if name == "Assigned":
        return property_set("Cn").complement()
    return _enumerate(f"\\p{{{name}}}")


def _script(kind: str, value: str) -> Charset:
    # subtle: the regex library ignores case and underscores in names, ECMA-262 does not.
    if not re.fullmatch(r"[A-Z][a-z]*(_[A-Z][a-z]*)*|Nko|SignWriting|Phags_Pa", value):
        raise PropertyError(f"there is no script {value!r}")
    return _enumerate(f"\\p{{{kind}={value}}}")


@lru_cache(maxsize=1)
def _all_scalar_values() -> str:
    return "".join(chr(c) for first, last in ALL.ranges for c in range(first, last + 1))


def _enumerate(escape: str) -> Charset:
    try:
        import regex  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise PropertyError(
            f"{escape} needs the package 'regex' for its Unicode tables; pip install regex",
            unsupported=True,
        ) from None
    try:
        runs = regex.compile(escape + "+").finditer(_all_scalar_values())
    except regex.error:
        raise PropertyError(f"there is no property {escape}") from None
    text = _all_scalar_values()
    return Charset.of(*[(ord(text[m.start()]), ord(text[m.end() - 1])) for m in runs])


@lru_cache(maxsize=1)
def _category_names() -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for entry in re.split(r"[;\n]", _CATEGORIES):
        aliases, _, members = entry.partition("=")
        for alias in aliases.split():
            names[alias] = tuple(members.split()) or (aliases.split()[0],)
    return names


def _category(name: str) -> Charset | None:
    members = _category_names().get(name)
    if members is None:
        return None
    tables = _category_tables()
    return Charset.of(*[r for member in members for r in tables.get(member, ())])


@lru_cache(maxsize=1)
def _category_tables() -> dict[str, list[tuple[int, int]]]:
    """General_Category of every code point, by ranges. Planes 4 to 13 are unassigned, 15 and 16 are private use."""
    tables: dict[str, list[tuple[int, int]]] = {"Co": [(0xF0000, 0xFFFFD), (0x100000, 0x10FFFD)]}
    tables["Cn"] = [(0x40000, 0xDFFFF), (0xFFFFE, 0xFFFFF), (0x10FFFE, MAX_CODE_POINT)]
    for block in (range(0x40000), range(0xE0000, 0xF0000)):
        for category, run in groupby(block, lambda c: unicodedata.category(chr(c))):
            members = list(run)
            tables.setdefault(category, []).append((members[0], members[-1]))
    return tables
