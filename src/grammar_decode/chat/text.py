"""Free text around JSON: automata of UTF-8 text in which a marker does not occur."""

from __future__ import annotations

from functools import lru_cache

from grammar_decode.chat.markers import CODES

#: How UTF-8 goes on: by state, the ranges of the next byte and the states behind them. 0 is between two characters.
_UTF8: tuple[tuple[tuple[int, int, int], ...], ...] = (
    (
        (0x00, 0x7F, 0),
        (0xC2, 0xDF, 1),
        (0xE0, 0xE0, 4),
        (0xE1, 0xEC, 2),
        (0xED, 0xED, 5),
        (0xEE, 0xEF, 2),
        (0xF0, 0xF0, 6),
        (0xF1, 0xF3, 3),
        (0xF4, 0xF4, 7),
    ),
    ((0x80, 0xBF, 0),),
    ((0x80, 0xBF, 1),),
    ((0x80, 0xBF, 2),),
    ((0xA0, 0xBF, 1),),
    ((0x80, 0x9F, 1),),
    ((0x90, 0xBF, 2),),
    ((0x80, 0x8F, 2),),
)


@lru_cache(maxsize=64)
def text_without(marker: bytes, *, ends: bool) -> tuple[list[dict[int, int]], list[int]]:
    """An automaton of UTF-8 text in which ``marker`` does not occur, or (``ends``) occurs at the end and only there.

    A state is (bytes of the marker that stand at the end, state of UTF-8), numbered as they are found.
    """
    borders = [0] * (len(marker) + 1)  # Knuth, Morris, Pratt: where to go on when the next byte does not fit
    for at in range(1, len(marker)):
        length = borders[at]
        while length and marker[length] != marker[at]:
            length = borders[length]
        borders[at + 1] = length + 1 if marker[length] == marker[at] else 0
    is_code = marker[0] in CODES
    numbers = {(0, 0): 0}
    rows: list[dict[int, int]] = []
    order = [(0, 0)]
    final: tuple[int, int] = (len(marker), 0)
    for matched, state in order:  # grows while it is walked
        row: dict[tuple[int, int], int] = {}
        if matched == len(marker):
            rows.append({})
            continue
        nexts = {byte: after for first, last, after in _UTF8[state] for byte in range(first, last + 1)}
        if is_code and state == 0:
            nexts[marker[0]] = 0
        for byte, after in nexts.items():
            length = matched
            while length and marker[length] != byte:
                length = borders[length]
            length += marker[length] == byte
            if length < len(marker) or ends:
                row[length, after] = row.get((length, after), 0) | 1 << byte
        for target in row:
            if target not in numbers:
                numbers[target] = len(order)
                order.append(target)
        rows.append({mask: numbers[target] for target, mask in row.items()})
    if ends:
        return rows, [numbers[final]]
    return rows, [number for (_, state), number in numbers.items() if state == 0]
