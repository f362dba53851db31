"""What the syntax tree of a pattern tells: how long are the strings, which strings are they, can two patterns meet.

Used where few keys match, and to keep lengths simple: ``^[a-z]+$`` with maxLength 64 is one counted run, not an
intersection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from grammar_decode.json_schema.matching import runs
from grammar_decode.limits import remembered
from grammar_decode.regex.charset import NONE, Charset
from grammar_decode.regex.parse import Alternation, Ast, Chars, Repeat, Sequence, parse

# ---- lengths --------------------------------------------------------------------------------------------------------


@remembered(1024)
def length_range(pattern: str) -> tuple[int, int | None]:
    """Bounds (not always the tightest) of the length of a string in which the pattern matches."""
    tree = parse(pattern)
    ways = tree.parts if isinstance(tree, Alternation) else (tree,)
    ranges = [_sequence_range(runs(way)) for way in ways]
    return min(low for low, _ in ranges), _most(high for _, high in ranges)


def _sequence_range(parts: tuple[Ast, ...]) -> tuple[int, int | None]:
    low, high = 0, 0
    unbounded = False
    for part in parts:
        least, most = _range(part)
        low += least
        if most is None:
            unbounded = True
        else:
            high += most
    return low, None if unbounded else high


def _range(node: Ast) -> tuple[int, int | None]:
    if isinstance(node, Chars):
        return 1, 1
    if isinstance(node, Sequence):
        return _sequence_range(node.parts)
    if isinstance(node, Alternation):
        ranges = [_range(part) for part in node.parts]
        return min(low for low, _ in ranges), _most(high for _, high in ranges)
    if isinstance(node, Repeat):
        low, high = _range(node.part)
        if high == 0 or node.maximum == 0:
            return 0, 0
        return low * node.minimum, None if high is None or node.maximum is None else high * node.maximum
    return 0, 0


def _most(maxima: Iterable[int | None]) -> int | None:
    best = 0
    for high in maxima:
        if high is None:
            return None
        best = max(best, high)
    return best


@remembered(1024)
def with_length(pattern: str, minimum: int, maximum: int | None) -> tuple[Ast, ...] | None:
    """The parts of the whole string, with the length inside them; or None where it has to be counted apart.

    Possible where one part is a run of single characters and all others have a fixed length and no assertions.
    """
    parts = runs(parse(pattern))
    variable = None
    fixed = 0
    for i, part in enumerate(parts):
        low, high = _range(part)
        if not _plain(part):
            return None
        if low == high:
            fixed += low
        elif variable is None and isinstance(part, Repeat) and isinstance(part.part, Chars):
            variable = i
        else:
            return None
    if variable is None:
        return None
    run = parts[variable]
    assert isinstance(run, Repeat)
    least = max(run.minimum, minimum - fixed)
    most = (
        run.maximum
        if maximum is None
        else maximum - fixed
        if run.maximum is None
        else min(run.maximum, maximum - fixed)
    )
    if most is not None and most < least:
        return None
    return (*parts[:variable], Repeat(run.part, least, most), *parts[variable + 1 :])


def _plain(tree: Ast) -> bool:
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, (Sequence, Alternation)):
            stack.extend(node.parts)
        elif isinstance(node, Repeat):
            stack.append(node.part)
        elif not isinstance(node, Chars):
            return False
    return True


# ---- the strings themselves -----------------------------------------------------------------------------------------

MOST_STRINGS = 256


@remembered(1024)
def strings_of(pattern: str) -> tuple[str, ...] | None:
    """All the strings in which the pattern matches, where they are few; else None."""
    tree = parse(pattern)
    found: dict[str, None] = {}
    for way in tree.parts if isinstance(tree, Alternation) else (tree,):
        strings = _strings_of_sequence(runs(way))
        if strings is None:
            return None
        found.update(dict.fromkeys(strings))
    return tuple(found) if len(found) <= MOST_STRINGS else None


def _strings_of_sequence(parts: tuple[Ast, ...]) -> list[str] | None:
    strings = [""]
    for part in parts:
        more = _strings(part)
        if more is None or len(strings) * len(more) > MOST_STRINGS:
            return None
        strings = [one + other for one in strings for other in more]
    return strings


def _strings(node: Ast) -> list[str] | None:
    if isinstance(node, Chars):
        if len(node.charset) > MOST_STRINGS:
            return None
        return [chr(c) for first, last in node.charset.ranges for c in range(first, last + 1)]
    if isinstance(node, Sequence):
        return _strings_of_sequence(node.parts)
    if isinstance(node, Alternation):
        found: list[str] = []
        for part in node.parts:
            more = _strings(part)
            if more is None:
                return None
            found += more
        return list(dict.fromkeys(found))
    if isinstance(node, Repeat) and node.maximum is not None and node.maximum <= 8:
        found = []
        for count in range(node.minimum, node.maximum + 1):
            more = _strings_of_sequence((node.part,) * count)
            if more is None:
                return None
            found += more
        return list(dict.fromkeys(found)) if len(found) <= MOST_STRINGS else None
    return None


# ---- two patterns ---------------------------------------------------------------------------------------------------


@remembered(4096)
def apart(one: str, other: str) -> bool:
    """Whether it is plain to see that no string matches both: lengths, or what stands at a fixed place."""
    low, high = length_range(one)
    other_low, other_high = length_range(other)
    if (high is not None and high < other_low) or (other_high is not None and other_high < low):
        return True
    ways, other_ways = _ways(one), _ways(other)
    return all(
        any(not a.intersection(b) for a, b in zip(way, other_way, strict=False))
        or any(not a.intersection(b) for a, b in zip(end, other_end, strict=False))
        for way, end in ways
        for other_way, other_end in other_ways
    )


@remembered(1024)
def _ways(pattern: str) -> tuple[tuple[tuple[Charset, ...], tuple[Charset, ...]], ...]:
    """For each alternative: the sets of its first characters, and of its last, backwards, as far as they are fixed."""
    tree = parse(pattern)
    found = []
    for way in tree.parts if isinstance(tree, Alternation) else (tree,):
        parts = runs(way)
        found.append((tuple(_fixed(parts)), tuple(_fixed(parts[::-1], backwards=True))))
    return tuple(found)


def _fixed(parts: tuple[Ast, ...], *, backwards: bool = False) -> Iterator[Charset]:
    stack = list(reversed(parts))
    while stack:
        part = stack.pop()
        if isinstance(part, Chars):
            yield part.charset
        elif isinstance(part, Sequence):
            stack.extend(part.parts if backwards else reversed(part.parts))
        elif isinstance(part, Alternation) and all(isinstance(p, Chars) for p in part.parts):
            yield NONE.union(*[p.charset for p in part.parts if isinstance(p, Chars)])
        elif isinstance(part, Repeat) and isinstance(part.part, Chars):
            for _ in range(min(part.minimum, 16)):
                yield part.part.charset
            if part.maximum != part.minimum or part.minimum > 16:
                return
        else:
            return
