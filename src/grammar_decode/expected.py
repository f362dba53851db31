"""What a matcher expects next, in words: for `validate`, and for error messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Expectation = tuple[str, "int | None", list[bytes], bool, bool]  # kind, node, names, other names, can close

_FIXED = {
    "end": "the end of the document",
    "colon": "':'",
    "document": "the value",
    "member_value": "the value of the property",
    "next_item": "an item",
}


def describe(expectations: Iterable[Expectation], next_bytes: bytes, origins: Sequence[str]) -> str:
    """One phrase for each thing that may stand here, joined by "or"."""
    phrases: list[str] = []
    for kind, node, names, other_names, can_close in expectations:
        origin = origins[node] if node is not None and node < len(origins) else ""
        where = f" (schema {origin})" if origin else ""
        for phrase in _phrases(kind, names, other_names, can_close, next_bytes):
            if phrase + where not in phrases:
                phrases.append(phrase + where)
    return " or ".join(phrases) if phrases else "nothing: the sequence has ended"


def _phrases(kind: str, names: list[bytes], other_names: bool, can_close: bool, next_bytes: bytes) -> list[str]:
    if kind in ("scalar", "part"):
        return [f"one of the bytes {_show_bytes(next_bytes)}"]
    if kind == "first_item":
        return ["an item", *(["']'"] if can_close else [])]
    if kind == "after_item":
        return ["','"] * (ord(",") in next_bytes) + ["']'"] * can_close
    keys = _show_names(names, other_names)
    if kind == "first_key":
        return [*keys, *(["'}'"] if can_close else [])]
    if kind in ("key", "next_key"):
        return keys
    if kind == "after_member":
        return ["',' and " + " or ".join(keys)] * bool(keys) + ["'}'"] * can_close
    return [_FIXED[kind]]


def _show_names(names: list[bytes], other_names: bool) -> list[str]:
    shown = ", ".join('"' + name.decode("utf-8", "replace") + '"' for name in names)
    if shown and other_names:
        return [f"one of the properties {shown}, or another property"]
    if shown:
        return [f"the property {shown}" if len(names) == 1 else f"one of the properties {shown}"]
    return ["another property"] if other_names else []


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
