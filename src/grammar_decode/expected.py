"""What may come next at a place, in words of the schema: for `explain`, `validate`, and error messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from grammar_decode.places import Said
from grammar_decode.scan import Place

Expectation = tuple[str, "int | None", list[bytes], bool, bool]  # kind, node, names, other names, can close

DIGITS = b"0123456789"
#: What a string may hold as one byte for one character.
PLAIN = bytes(byte for byte in range(0x20, 0x7F) if byte not in b'"\\')
#: Runs from here on are not counted.
MAX_RUN = 64
_MAX_SHOWN = 20
_KINDS = {'"': "a string", "-0123456789": "a number", "{": "an object", "[": "an array"}
_KINDS |= {"t": "true", "f": "false", "n": "null"}


@dataclass(slots=True)
class View:
    """All that the words are made of."""

    expectations: Sequence[Expectation]
    next_bytes: bytes
    text: bytes
    place: Place | None
    said: Said
    first_item: Said
    #: The texts of the value, where it is one of some and no schema says so.
    literals: list[str] | None
    #: The length of the longest run of bytes out of a set that may come next.
    longest_run: Callable[[bytes], int]


def describe(view: View) -> str:
    """One phrase for each thing that may stand here, joined by "or"; then what else the schema says of the value."""
    phrases: dict[str, None] = {}
    clauses: dict[str, None] = {}
    for expectation in sorted(view.expectations, key=lambda one: one[0] != "scalar"):  # the value under way first
        found = _phrases(view, expectation)
        phrases |= dict.fromkeys(found)
        clauses |= dict.fromkeys(_clauses(view, expectation, found))
    if not phrases:
        return "nothing: the sequence has ended"
    return "; ".join([_either(list(phrases)), *_merged(list(clauses))])


def _merged(clauses: list[str]) -> list[str]:
    """Clauses that begin alike as one: the string must match ... and have ..."""
    for beginning in ("the number must be ", "the string must "):
        alike = [clause for clause in clauses if clause.startswith(beginning) and " or the " not in clause]
        if len(alike) > 1:
            rest = " and ".join(clause.removeprefix(beginning) for clause in alike)
            clauses = [beginning + rest, *(clause for clause in clauses if clause not in alike)]
    return clauses


def _either(phrases: list[str]) -> str:
    return ("; or " if any(", " in phrase for phrase in phrases) else " or ").join(phrases)


def _phrases(view: View, expectation: Expectation) -> list[str]:
    kind, _, names, other_names, can_close = expectation
    if kind == "scalar":
        return _in_scalar(view)
    if kind in ("document", "member_value", "next_item", "part"):
        return _value(view, view.said)
    if kind == "first_item":
        return [*_value(view, view.first_item), *(['"]"'] if can_close else [])]
    if kind == "after_item":
        return ['","'] * (ord(",") in view.next_bytes) + ['"]"'] * can_close
    if kind == "colon":
        return ['":"']
    if kind == "end":
        return ["the end of the document"]
    keys = _show_names(names, other_names)
    if kind == "after_member":
        return ['"," and ' + " or ".join(keys)] * bool(keys) + ['"}"'] * can_close
    return [*keys, *(['"}"'] if kind == "first_key" and can_close else [])]


def _clauses(view: View, expectation: Expectation, phrases: list[str]) -> Iterable[str]:
    kind, _, names, other_names, can_close = expectation
    if kind in ("scalar", "document", "member_value", "next_item", "first_item"):
        said = view.first_item if kind == "first_item" else view.said
        return said.clauses if not any(phrase.startswith("one of ") and '"' in phrase for phrase in phrases) else ()
    if kind == "after_item":
        return view.said.clauses if len(phrases) < 2 else ()
    if kind in ("after_member", "first_key"):
        missing = [name for name in view.said.missing if not can_close]
        required = [f"required: {_quoted(missing)}"] if missing else []
        return [*required, *(view.said.clauses if not (can_close and (names or other_names)) else ())]
    return ()


# ---- values ----


def _value(view: View, said: Said) -> list[str]:
    """A value that has not begun."""
    constants = said.constants or view.literals
    if constants is not None:
        listed = [text for text in constants if text.encode("utf-8", "surrogatepass")[:1] in _singles(view.next_bytes)]
        if listed:
            return [_one_of(listed)]
    shown = view.next_bytes.decode("latin-1")
    if view.place is None or not set(shown) <= set("".join(_KINDS)) | set(" \t\r\n],"):
        return _in_text(view.next_bytes)
    kinds = [words for first, words in _KINDS.items() if set(first) & set(shown)]
    if len(kinds) == len(_KINDS):
        return ["a value"]
    return [" or ".join([", ".join(kinds[:-1]), kinds[-1]])] if len(kinds) > 1 else kinds


def value_kind(next_bytes: bytes) -> str | None:
    """The type of the value that may begin with one of the bytes, where only one may."""
    shown = set(next_bytes.decode("latin-1"))
    kinds = [words for first, words in _KINDS.items() if set(first) & shown]
    return {"a string": "string", "a number": "number"}.get(kinds[0]) if len(kinds) == 1 else None


def _in_scalar(view: View) -> list[str]:
    begun = view.text if view.place is None else view.text[view.place.start :]
    constants = view.said.constants or view.literals
    if constants is not None:
        listed = [text for text in constants if text.encode("utf-8", "surrogatepass").startswith(begun)]
        if listed and listed != [begun.decode("utf-8", "replace")]:
            return [_one_of(listed)]
    if view.place is None or view.place.state != "scalar":
        return _in_text(view.next_bytes)
    if begun[:1] == b'"':
        return _in_string(view, begun)
    if begun[:1] in _singles(DIGITS + b"-"):
        return _in_number(view)
    return [f"the rest of {name}" for name in ("true", "false", "null") if name.encode().startswith(begun)]


def _in_string(view: View, begun: bytes) -> list[str]:
    bytes_in = view.next_bytes
    if bytes_in and all(0x80 <= byte < 0xC0 for byte in bytes_in):
        return ["the rest of a character"]
    if (len(begun) - len(begun.rstrip(b"\\"))) % 2:
        return [f"the rest of an escape ({_show_bytes(bytes_in)})"]
    inside = bytes(byte for byte in bytes_in if byte != 0x22)
    found = []
    if inside:
        words = "a character" if len(set(PLAIN) - set(inside)) <= 1 else f"one of the characters {_show_bytes(inside)}"
        found.append(words + _at_most(view, PLAIN))
    return [*found, *(["the closing quote"] if 0x22 in bytes_in else [])]


def _in_number(view: View) -> list[str]:
    digits = bytes(byte for byte in view.next_bytes if byte in DIGITS)
    found = []
    if digits:
        words = "a digit" if digits == DIGITS else f"one of the digits {_show_bytes(digits)}"
        found.append(words + _at_most(view, DIGITS))
    found += [f'"{chr(byte)}"' for byte in b".-+" if byte in view.next_bytes]
    return [*found, *(["an exponent"] if set(b"eE") & set(view.next_bytes) else [])]


def _at_most(view: View, alphabet: bytes) -> str:
    longest = view.longest_run(alphabet)
    if not 0 < longest < MAX_RUN:
        return ""
    return ", and no other after it" if longest == 1 else f", at most {longest} more"


def _in_text(next_bytes: bytes) -> list[str]:
    """Text that is not JSON."""
    if len(set(PLAIN) - set(next_bytes)) <= 1:
        return ["text"]
    shown = bytes(byte for byte in next_bytes if byte not in b" \t\r\n") or next_bytes
    if len(shown) == 1:
        return [f'"{_show_byte(shown[0])}"']
    return [f"one of the characters {_show_bytes(shown)}"] if shown else []


# ---- showing ----


def _one_of(texts: list[str]) -> str:
    shown = [_cut(text if _is_json(text) else json.dumps(text, ensure_ascii=False)) for text in texts[:_MAX_SHOWN]]
    more = ", …" if len(texts) > _MAX_SHOWN else ""
    return f"one of {', '.join(shown)}{more}" if len(texts) > 1 else shown[0]


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names[:_MAX_SHOWN]) + (", …" if len(names) > _MAX_SHOWN else "")


def _show_names(names: list[bytes], other_names: bool) -> list[str]:
    shown = _quoted([name.decode("utf-8", "replace") for name in names])
    if len(names) == _MAX_SHOWN:  # the kernel names no more
        shown += ", …"
    if shown:
        words = f"the property {shown}" if len(names) == 1 else f"one of the properties {shown}"
        return [words + (", or another property" if other_names else "")]
    return ["another property"] if other_names else []


def _singles(data: bytes) -> set[bytes]:
    return {bytes([byte]) for byte in data}


def _show_bytes(data: bytes) -> str:
    """The bytes as characters and ranges: ``0-9 . "``."""
    parts: list[str] = []
    start = 0
    while start < len(data):
        end = start
        while end + 1 < len(data) and data[end + 1] == data[end] + 1:
            end += 1
        first, last = _show_byte(data[start]), _show_byte(data[end])
        parts.append(first if start == end else f"{first} {last}" if end == start + 1 else f"{first}-{last}")
        start = end + 1
    return " ".join(parts)


def _show_byte(byte: int) -> str:
    return chr(byte) if 0x21 <= byte <= 0x7E else f"0x{byte:02x}"
