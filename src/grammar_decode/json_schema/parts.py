"""Parts of a document that somebody else compiles, faster: a schema that is all that is said of a value."""

from __future__ import annotations

from typing import Any, Final, Protocol

from grammar_decode.ir.encode import Appended
from grammar_decode.ir.nodes import NodeId


class NoPart:
    """The answer where a schema has to be lowered here."""


NO_PART: Final = NoPart()


class UselessParts(Exception):
    """It was seen too late that a part is none: everything has to be lowered here."""


class Parts(Protocol):
    """Who compiles parts of one document. See `grammar_decode.everyday`."""

    def node(self, schema: Any, depth: int) -> NodeId | NoPart | None:
        """The node of the values of a schema object of the document, which stands in so many others.

        None if there are plainly no such values. Raises UselessParts.
        """

    def appended(self, first_regex: int, first_node: NodeId) -> Appended:
        """All parts so far, to stand behind so many expressions and nodes."""

    def locations(self, document: Any, *, first: bool = False) -> tuple[str, ...]:
        """The location of the schema that each node of the parts is of; "" where there is no single one.

        ``first``: of several, the first one.
        """
