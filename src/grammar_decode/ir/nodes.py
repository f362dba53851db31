"""The grammar IR: plain data between the front ends and the engines (kernel and reference matcher).

Everything here is about *bytes* and JSON punctuation; nothing knows of JSON Schema, tokens or masks.

A :class:`Grammar` holds two tables. Ids are indices into them.

* ``regexes``: regular expressions over bytes. A child has a smaller id than its parent (no cycles).
* ``nodes``: values. Nodes refer to each other by id, in any direction: recursion is a cycle of ids.

The language of a node is a set of byte strings:

* ``Terminal(regex)``: the strings that the regex matches as a whole. Never the empty string.
* ``Choice(nodes)``: the union.
* ``Members``: a JSON object. ``Elements``: a JSON array.
* ``Chain(nodes)``: the concatenation. Chains stand around JSON, never in it: see there.

The language of the grammar is ``ws root ws``, where ``ws`` is a run of at most ``spacing.max_whitespace`` bytes out of
space, tab, LF, CR; if the root is a chain, it is that of the root.

Containers: claims, formula, picks
----------------------------------
A container reads entries (members or items) one after another. Each entry has a *class*: which name, which key
pattern, or which position it is. What an entry's value must be depends on its class and, where the schema has
alternatives, on which of them the rest of the container is going to satisfy. That is what the formula is for
(DESIGN 3): an and/or formula over *claims*, and reading an entry rewrites it.

For an entry of class ``c`` the matcher takes one ``Pick(claims, node)`` of ``values[c]`` (all that the formula projects
to, as threads side by side); the value is parsed as ``node``; then the formula is rewritten for (c, picked claims):

=====================  =========================================  ==========================  ================
claim                  effect of an entry of class c              projection on c              at the end
=====================  =========================================  ==========================  ================
``Member(classes)``    c in classes: kept if picked, else False   {{it}} if c in classes      True
``Some(classes, n)``   c in classes and picked: n - 1; 0 is True  {{}, {it}} if c in classes   False
``Most(classes, n)``   c in classes, *not* picked: n - 1;         {{}, {it}} if c in classes   True
                       False if n was 0
``Has(c')``            c' == c: True                              {{}}                        False
``Lacks(c')``          c' == c: False                             {{}}                        True
``CountMin(n)``        n - 1; 0 is True                           {{}}                        False
``CountMax(n)``        n - 1; False if n was 0                    {{}}                        True
=====================  =========================================  ==========================  ================

The projection of a claim outside the cases named is {{}}; of ``And`` the pairwise unions, of ``Or`` the union, of True
{{}}, of False {}. A pick is possible when its claim set is in the projection of the present formula on c and the
rewritten formula can still become True. The container may close when the formula is True with every claim replaced by
its end value. A class that can't come any more (a name read or passed, a position passed) makes ``Has`` False,
``Lacks`` True, and is dropped from ``classes``.

Claims that hold on every branch are folded away: into the pick's node, ``required``, ``min_count`` and ``max_count``.
The everyday object therefore has no claims, the formula True, and one pick ``Pick((), node)`` a class. ``values[c] ==
()`` means that class c can't appear.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

RegexId: TypeAlias = int
NodeId: TypeAlias = int
ClassId: TypeAlias = int
ClaimId: TypeAlias = int

# ---- regular expressions over bytes ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ByteClass:
    """One byte out of a set. Bit b of ``mask`` (a 256-bit integer) is byte b; mask 0 is the empty language."""

    mask: int


@dataclass(frozen=True, slots=True)
class Concatenation:
    """The parts one after another; no parts is the empty string."""

    parts: tuple[RegexId, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """The union of at least two parts."""

    parts: tuple[RegexId, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """``part`` repeated ``minimum`` to ``maximum`` times; ``maximum`` None is unbounded."""

    part: RegexId
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Intersection:
    """The strings that all of at least two parts match."""

    parts: tuple[RegexId, ...]


@dataclass(frozen=True, slots=True)
class Complement:
    """All byte strings (not only valid text) that ``part`` does not match."""

    part: RegexId


@dataclass(frozen=True, slots=True)
class LiteralSet:
    """One of the ``literals``: sorted, distinct, at least one. A large enum is one node."""

    literals: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Automaton:
    """A deterministic automaton, for languages whose expression would be far larger (multiples of a number).

    State 0 is the start. ``transitions[s]`` holds (byte mask, target state); the masks of one state are not empty and
    disjoint, and a byte in none of them leads nowhere. ``accepting[s]`` tells whether the text may end in state s. From
    every state an accepting one can be reached.
    """

    transitions: tuple[tuple[tuple[int, int], ...], ...]
    accepting: tuple[bool, ...]


Regex: TypeAlias = (
    ByteClass | Concatenation | Alternation | Repetition | Intersection | Complement | LiteralSet | Automaton
)

# ---- claims and formulas --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Member:
    """Every entry of these classes satisfies the claim (its value is parsed by a pick that holds the claim)."""

    classes: tuple[ClassId, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least ``count`` (>= 1) entries of these classes satisfy the claim."""

    classes: tuple[ClassId, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Most:
    """At most ``count`` (>= 0) entries of these classes do not satisfy the claim."""

    classes: tuple[ClassId, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Has:
    """The named class appears."""

    cls: ClassId


@dataclass(frozen=True, slots=True)
class Lacks:
    """The named class does not appear."""

    cls: ClassId


@dataclass(frozen=True, slots=True)
class CountMin:
    """At least ``count`` (>= 1) entries."""

    count: int


@dataclass(frozen=True, slots=True)
class CountMax:
    """At most ``count`` entries."""

    count: int


Claim: TypeAlias = Member | Some | Most | Has | Lacks | CountMin | CountMax


@dataclass(frozen=True, slots=True)
class And:
    """All parts; at least two."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part; at least two of them."""

    parts: tuple[Formula, ...]


# A formula is True, False (never stored at the top), a claim's index, or And/Or. Monotone: no negation.
# bool is a subclass of int, so test for it first.
Formula: TypeAlias = bool | ClaimId | And | Or


class Pick(NamedTuple):
    """One way to read the value of an entry: ``claims`` (sorted indices) hold, and the value is parsed as ``node``."""

    claims: tuple[ClaimId, ...]
    node: NodeId


# ---- values ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Terminal:
    """The text of a scalar: a match of ``regex``, which does not match the empty string (but see :class:`Chain`)."""

    regex: RegexId


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the nodes; the empty choice is the empty language."""

    nodes: tuple[NodeId, ...]


@dataclass(frozen=True, slots=True)
class Members:
    """A JSON object.

    Classes ``0 .. len(names) - 1`` are the names, ``len(names) ..`` the patterns. ``names[i]`` is the text of the key
    as it stands between the quotes (escapes already spelled). ``patterns[j]`` is a regex over the same kind of text,
    without the quotes; patterns are disjoint from each other, and a key that equals a name (even one that can't
    appear) belongs to the name, never to a pattern.

    No key appears twice. ``ranks[i]`` is None or the place of the name in the required order (distinct, 0, 1, 2 …):
    ranked names appear in increasing rank, each may be skipped unless required, and unranked names and pattern
    keys come after the last ranked one, in any order among themselves.

    The text is ``{ ws }`` or ``{ ws member (ws item_separator ws member)* ws }`` with member = ``"key" ws key_separator
    ws value``; see :class:`Spacing`.
    """

    names: tuple[bytes, ...]
    ranks: tuple[int | None, ...]
    patterns: tuple[RegexId, ...]
    values: tuple[tuple[Pick, ...], ...]  # one tuple for each class
    required: tuple[ClassId, ...] = ()  # sorted indices of names
    min_count: int = 0
    max_count: int | None = None
    claims: tuple[Claim, ...] = ()
    formula: Formula = True


@dataclass(frozen=True, slots=True)
class Elements:
    """A JSON array.

    The item at index i has class ``min(i, prefix)``: classes ``0 .. prefix - 1`` are positions, class ``prefix`` is
    every later one. ``Has`` and ``Lacks`` are not used. The text is ``[ ws ]`` or
    ``[ ws value (ws item_separator ws value)* ws ]``.

    ``unique``: no two items have the same value. The value of an object is its set of (key text, value) pairs, that of
    an array the list of its items' values, that of a scalar: of a JSON string the string, of a JSON number the number
    (1, 1.0 and 10e-1 are one), and of any other text the text itself.
    """

    prefix: int
    values: tuple[tuple[Pick, ...], ...]  # prefix + 1 entries
    min_count: int = 0
    max_count: int | None = None
    claims: tuple[Claim, ...] = ()
    formula: Formula = True
    unique: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """The nodes one after another, with nothing in between, not even whitespace: text around JSON. At least one.

    If there is a chain at all, the root is one. A chain is reached from the root through chains and choices only (no
    value of a container is one), and what it begins with does not lead back to it. A part that is a terminal may begin
    with whitespace, and may match the empty text, as a terminal elsewhere does not.
    """

    nodes: tuple[NodeId, ...]


Node: TypeAlias = Terminal | Choice | Members | Elements | Chain

# ---- the whole ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spacing:
    """Where whitespace goes, for the whole grammar.

    Each ``ws`` of a container, before the root and after it, is a run of at most ``max_whitespace`` bytes out of space,
    tab, LF, CR (None: unbounded). ``item_separator`` begins with ``,`` and ``key_separator`` with ``:``; what follows
    the first byte is literal text, e.g. ``b", "``.
    """

    max_whitespace: int | None = 32
    item_separator: bytes = b","
    key_separator: bytes = b":"


@dataclass(frozen=True, slots=True)
class Grammar:
    """The tables, the root, the spacing, and for each node the schema locations it came from (for messages)."""

    regexes: tuple[Regex, ...]
    nodes: tuple[Node, ...]
    root: NodeId
    spacing: Spacing = field(default_factory=Spacing)
    origins: tuple[str, ...] = ()  # parallel to nodes; "" where a node has no single origin
