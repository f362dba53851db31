"""JSON in: schemas by number, their locations, dialects and base URIs, and what their references point at.

Nothing is fetched. A reference resolves inside the document, inside ``resources``, or to a metaschema where the package
``jsonschema-specifications`` is installed.

The common case pays for nothing else: a schema object is known by its identity, and a ``#/definitions/x`` is walked
once. Identifiers and anchors are collected only when a reference needs them.
"""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from grammar_decode.errors import SchemaError, SchemaTooComplex, UnsupportedSchema
from grammar_decode.json_schema.claims import ALWAYS, NEVER, Literal
from grammar_decode.json_schema.keywords import VOCABULARIES, Dialect, dialect_of, keywords_of

Json = Any
Path = tuple["str | int", ...]


def parse_json(text: str | bytes) -> Json:
    """The value of a schema given as text. Raises SchemaError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"the schema is not JSON: {error}") from None


def pointer(path: Path) -> str:
    """A path as a JSON pointer in a URI fragment (RFC 6901, without percent-encoding, which only hurts readers)."""
    return "#" + steps(path)


def steps(path: Iterable[str | int]) -> str:
    """What a path adds to a JSON pointer."""
    return "".join(["/" + str(token).replace("~", "~0").replace("/", "~1") for token in path])


class Scope:
    """What decides the meaning of a schema object besides itself: its resource, and the resources gone through.

    ``chain`` holds the resources that a dynamic reference may look into, outermost first; it is empty unless the
    documents have dynamic anchors.
    """

    __slots__ = ("base", "chain", "dialect", "hides_siblings", "id_keyword", "references", "root", "schemas", "uri")

    def __init__(self, uri: str, base: str, root: Json, dialect: Dialect, chain: tuple[str, ...]) -> None:
        self.uri = uri  # where locations start: "" for the schema itself
        self.base = base  # what references are relative to
        self.root = root
        self.dialect = dialect
        self.id_keyword = dialect.id_keyword
        self.hides_siblings = dialect.reference_hides_siblings
        self.chain = chain
        self.schemas: dict[int, Schema] = {}  # by identity of the object
        self.references: dict[str, Literal] = {}


class Schema:
    """One schema object, with a number. ``scope`` and ``path`` say where it stands."""

    __slots__ = ("_location", "depth", "number", "parent", "path", "scope", "value")

    def __init__(self, number: int, value: Mapping[str, Json], scope: Scope, parent: Schema | None, path: Path) -> None:
        self.number = number
        self.value = value
        self.scope = scope
        self.parent = parent
        self.path = path  # from the parent, or from the root of the scope
        self.depth: int = 0 if parent is None else parent.depth + 1
        self._location: str | None = None

    @property
    def location(self) -> str:
        """The JSON pointer as a URI fragment, after the URI of the resource where that is not the schema itself."""
        if self._location is None:
            self._location = self.at()
        return self._location

    def at(self, *more: str | int) -> str:
        """The location of something inside."""
        paths: list[Path] = [more]
        schema: Schema | None = self
        last = self
        while schema is not None and schema._location is None:
            paths.append(schema.path)
            last, schema = schema, schema.parent
        start = last.scope.uri + "#" if schema is None or schema._location is None else schema._location
        return start + steps([token for path in reversed(paths) for token in path])


class NeedsDynamicScope(Exception):
    """A dynamic reference was met in a document that does not keep track of dynamic scopes: start again with one."""


class Document:
    """All schema objects of one compilation. ``schemas[n]`` has number n; number 0 is ``true``.

    ``dynamic``: keep track of dynamic scopes, for ``$dynamicRef`` and ``$recursiveRef``. A schema object that is
    reached through different resources is then several schemas.
    """

    def __init__(
        self, root: Json, resources: Mapping[str, Json] | None = None, *, dynamic: bool = False, max_nesting: int = 1500
    ) -> None:
        self.max_nesting = max_nesting
        self.resources = resources or {}
        self.dynamic = dynamic
        self.schemas: list[Schema] = []
        self._index: _Index | None = None
        self._metaschemas: dict[str, Dialect | None] = {}
        dialect = self._dialect(root, Dialect.DEFAULT)
        base = root.get(dialect.id_keyword) if isinstance(root, dict) else None
        self.scope = self._new_scope("", urldefrag(base)[0] if isinstance(base, str) else "", root, dialect, ())
        if dynamic:
            self.scope.chain = self._longer((), self.scope.base)
        self._scopes: dict[tuple[str, tuple[str, ...]], Scope] = {(self.scope.base, self.scope.chain): self.scope}
        self._constants: dict[int, Schema] = {}
        self.constant_scope = Scope("", "", None, Dialect.DEFAULT, ())
        self._new({}, self.scope, None, ())
        self.root: Literal = self._literal(root, self.scope, None, ())

    def dismantle(self) -> None:
        """Forget which schemas are known, which keeps scopes and schemas in a circle; locations still work."""
        for scope in (self.scope, self.constant_scope, *self._scopes.values()):
            scope.schemas = {}

    # ---- schema objects ----

    def _new(self, value: Mapping[str, Json], scope: Scope, parent: Schema | None, path: Path) -> Schema:
        schema = Schema(len(self.schemas), value, scope, parent, path)
        if schema.depth > self.max_nesting:
            raise SchemaTooComplex(
                f"more than {self.max_nesting} schemas stand inside each other",
                limit="max_nesting",
                location=schema.location,
                hint="Use $defs and $ref, or raise Limits.max_nesting.",
            )
        self.schemas.append(schema)
        return schema

    def child(self, parent: Schema, value: Json, *path: str | int) -> Literal:
        """The literal of a schema that stands inside another, at ``path``."""
        return self._literal(value, parent.scope, parent, path)

    def _literal(self, value: Json, scope: Scope, parent: Schema | None, path: Path) -> Literal:
        if not isinstance(value, dict):
            if value is True:
                return ALWAYS
            if value is False:
                return NEVER
            where = parent.at(*path) if parent is not None else scope.uri + pointer(path)
            raise SchemaError(f"a schema must be an object or a boolean, not {shown(value)}", location=where)
        if not value:
            return ALWAYS
        known = scope.schemas.get(id(value))
        if known is None:
            inner = scope
            if scope.id_keyword in value and (parent is not None or path):
                inner = self._entered(value, scope)
            known = self._new(value, inner, parent, path)
            scope.schemas[id(value)] = known
            if inner is not scope:
                inner.schemas[id(value)] = known
        return 2 * known.number + 1

    def constant(self, owner: Schema, value: Json, *path: str | int) -> Literal:
        """The literal of the schema ``{"const": value}``, for a value that stands inside ``owner`` at ``path``."""
        known = self._constants.get(id(value))
        if known is None:
            known = self._new({"const": value}, self.constant_scope, owner, path)
            self._constants[id(value)] = known
        return 2 * known.number + 1

    def made(self, owner: Schema, value: Mapping[str, Json], *path: str | int) -> Literal:
        """The literal of a new schema, which is what ``owner`` says at ``path``."""
        return 2 * self._new(value, self.constant_scope, owner, path).number + 1

    # ---- dialects and embedded resources ----

    def _dialect(self, value: Json, inherited: Dialect) -> Dialect:
        """The dialect that a schema object names, or the one that it stands in."""
        uri = value.get("$schema") if isinstance(value, dict) else None
        if not isinstance(uri, str):
            return inherited
        return dialect_of(uri) or self._dialect_by_metaschema(uri) or inherited

    def unknown_dialects(self) -> frozenset[str]:
        """The values of ``$schema`` so far, without their fragments, that say nothing here."""
        return frozenset(uri for uri, dialect in self._metaschemas.items() if dialect is None)

    def _dialect_by_metaschema(self, uri: str) -> Dialect | None:
        """The dialect that a metaschema of ``resources`` describes; None where there is no such metaschema."""
        uri = urldefrag(uri)[0]
        if uri in self._metaschemas:
            return self._metaschemas[uri]
        self._metaschemas[uri] = None  # for metaschemas that name each other
        for key, value in self.resources.items():
            if isinstance(value, dict) and (urldefrag(key)[0] == uri or value.get("$id") == uri):
                dialect = self._dialect(value, Dialect.DEFAULT)
                listed = value.get("$vocabulary")
                if isinstance(listed, dict) and dialect.year in VOCABULARIES:
                    dialect = Dialect(dialect.year).with_vocabularies(listed)
                self._metaschemas[uri] = dialect
                break
        return self._metaschemas[uri]

    def _entered(self, value: Mapping[str, Json], scope: Scope) -> Scope:
        """The scope inside a schema object: another one where it is a resource of its own."""
        name = value.get(scope.id_keyword)
        if not isinstance(name, str) or name.startswith("#") or name == "":
            return scope
        if scope.hides_siblings and "$ref" in value:
            return scope
        base = urldefrag(urljoin(scope.base, name))[0]
        if base == scope.base:
            return scope
        return self._scope_of(base, value, self._dialect(value, scope.dialect), scope)

    def _scope_of(self, base: str, root: Json, dialect: Dialect, outer: Scope) -> Scope:
        chain = self._longer(outer.chain, base) if self.dynamic else ()
        key = (base, chain)
        known = self._scopes.get(key)
        if known is None:
            uri = base if root is not self.scope.root else ""
            known = self._scopes[key] = self._new_scope(uri, base, root, dialect, chain)
        return known

    def _new_scope(self, uri: str, base: str, root: Json, dialect: Dialect, chain: tuple[str, ...]) -> Scope:
        if dialect.refusal:
            hint = "Use a $schema that is supported: draft 4 to 2020-12, or a metaschema of their vocabularies."
            raise UnsupportedSchema(dialect.refusal, location=uri + pointer(("$schema",)), hint=hint)
        return Scope(uri, base, root, dialect, chain)

    def _longer(self, chain: tuple[str, ...], base: str) -> tuple[str, ...]:
        """The chain with one resource more; only resources with dynamic anchors count, and only their first place."""
        if base in chain or base not in self.index.dynamic_resources:
            return chain
        return (*chain, base)

    # ---- references ----

    def reference(self, schema: Schema, target: str, keyword: str = "$ref") -> Literal:
        """The literal that a reference inside ``schema`` stands for. Raises SchemaError where there is none."""
        scope = schema.scope
        known = scope.references.get(target)
        if known is None:
            if target == "#" or target.startswith("#/"):
                known = self._pointed(scope, target[1:], schema, keyword, target)
            else:
                known = self._elsewhere(schema, target, keyword)
            scope.references[target] = known
        return known

    def dynamic_reference(self, schema: Schema, target: str) -> Literal:
        """What ``$dynamicRef`` stands for: the outermost anchor of that name, if the plain target is such an anchor."""
        if not self.dynamic:
            raise NeedsDynamicScope
        literal = self.reference(schema, target, "$dynamicRef")
        uri, fragment = self._absolute(schema.scope, target)
        if (uri, fragment) in self.index.dynamic:
            for resource in schema.scope.chain:
                if (resource, fragment) in self.index.dynamic:
                    return self._at_anchor(schema, resource, fragment, "$dynamicRef", target)
        return literal

    def recursive_reference(self, schema: Schema, target: str) -> Literal:
        """What ``$recursiveRef`` stands for: like a dynamic reference to an anchor without a name."""
        if not self.dynamic:
            raise NeedsDynamicScope
        if (schema.scope.base, "") in self.index.dynamic:
            for resource in schema.scope.chain:
                if (resource, "") in self.index.dynamic:
                    found = self.index.roots[resource]
                    scope = self._scope_of(found.base, found.root, found.dialect, schema.scope)
                    return self._literal(found.root, scope, None, ())
        return self.reference(schema, target, "$recursiveRef")

    def _absolute(self, scope: Scope, target: str) -> tuple[str, str]:
        uri, fragment = urldefrag(urljoin(scope.base, target))
        return (scope.base if target.startswith("#") else uri), fragment

    def _elsewhere(self, schema: Schema, target: str, keyword: str) -> Literal:
        scope = schema.scope
        uri, fragment = self._absolute(scope, target)
        if fragment and not fragment.startswith("/"):
            return self._at_anchor(schema, uri, fragment, keyword, target)
        return self._pointed(self._resource(schema, uri, keyword, target), fragment, schema, keyword, target)

    def _resource(self, schema: Schema, uri: str, keyword: str, target: str) -> Scope:
        """The scope at the root of the resource that a URI names."""
        scope = schema.scope
        if uri == scope.base:
            return scope
        found = self.index.find(uri)
        if found is None:
            raise SchemaError(
                f"{keyword!r} refers to {target!r}, which is not part of the schema",
                location=schema.at(keyword),
                hint="Pass the schema behind it in resources={uri: schema}; nothing is fetched.",
            )
        return self._scope_of(found.base, found.root, found.dialect, scope)

    def _at_anchor(self, schema: Schema, uri: str, anchor: str, keyword: str, target: str) -> Literal:
        scope = self._resource(schema, uri, keyword, target)
        path = self.index.anchors.get((scope.base, anchor))
        if path is None:
            raise SchemaError(f"{keyword!r} refers to {target!r}: no such anchor", location=schema.at(keyword))
        return self._walked(scope, path, schema, keyword, target)

    def _pointed(self, scope: Scope, fragment: str, schema: Schema, keyword: str, target: str) -> Literal:
        if "%" in fragment:
            fragment = unquote(fragment)
        tokens = fragment.split("/")[1:]
        if "~" in fragment:
            tokens = [token.replace("~1", "/").replace("~0", "~") for token in tokens]
        return self._walked(scope, tuple(tokens), schema, keyword, target)

    def _walked(self, scope: Scope, path: Path, schema: Schema, keyword: str, target: str) -> Literal:
        origin = scope
        value = scope.root
        seen: list[str | int] = []  # from the root of the resource that the walk is in
        for token in path:
            if isinstance(value, list) and str(token).isdigit() and int(token) < len(value):
                token = int(token)
            elif not (isinstance(value, dict) and token in value):
                raise SchemaError(
                    f"{keyword!r} refers to {target!r}, and there is nothing at {pointer((*seen, token))}",
                    location=schema.at(keyword),
                )
            if isinstance(value, dict) and seen:
                inner = self._entered(value, scope)
                if inner is not scope:
                    # The reference jumps: resources that it only passes are not part of the dynamic scope.
                    scope, seen = self._scope_of(inner.base, inner.root, inner.dialect, origin), []
            value = value[token]
            seen.append(token)
        return self._literal(value, scope, None, tuple(seen))

    @property
    def index(self) -> _Index:
        """Identifiers and anchors of all documents, collected on first use."""
        if self._index is None:
            self._index = _Index(self.scope, self.resources, self._dialect)
        return self._index


class _Resource(NamedTuple):
    root: Json
    dialect: Dialect
    base: str


class _Index:
    """Where each URI and anchor is. Resources are found by absolute URI without fragment.

    ``dynamic`` are the anchors that dynamic references may reach: (base URI, name), the name of a recursive one is "".
    """

    def __init__(
        self, main: Scope, resources: Mapping[str, Json], dialect_of: Callable[[Json, Dialect], Dialect]
    ) -> None:
        self._dialect_of = dialect_of
        self.roots: dict[str, _Resource] = {}
        self.anchors: dict[tuple[str, str], Path] = {}
        self.dynamic: set[tuple[str, str]] = set()
        self.dynamic_resources: set[str] = set()  # the base URIs among them
        for uri, value in resources.items():
            self._collect(value, urldefrag(uri)[0], main.dialect)
        self._collect(main.root, main.base, main.dialect)

    def find(self, uri: str) -> _Resource | None:
        """The resource of that name."""
        if uri not in self.roots:
            metaschema = _metaschema(uri)
            if metaschema is None:
                return None
            self._collect(metaschema, uri, Dialect.DEFAULT)
        return self.roots.get(uri)

    def _collect(self, root: Json, base: str, dialect: Dialect) -> None:
        dialect = self._dialect_of(root, dialect)
        own = root.get(dialect.id_keyword) if isinstance(root, dict) else None
        canonical = urldefrag(urljoin(base, own))[0] if isinstance(own, str) else base
        self.roots.setdefault(base, _Resource(root, dialect, canonical))
        stack: list[tuple[Json, str, Path, Dialect]] = [(root, base, (), dialect)]
        while stack:
            value, base, path, dialect = stack.pop()
            if not isinstance(value, dict):
                continue
            base, path, dialect = self._identify(value, base, path, dialect)
            for key, more, inner in subschemas(value, dialect):
                stack.append((inner, base, (*path, key, *more), dialect))

    def _identify(self, value: Json, base: str, path: Path, dialect: Dialect) -> tuple[str, Path, Dialect]:
        """Note what the schema object calls itself; base URI, path and dialect for what is inside it."""
        name = value.get(dialect.id_keyword)
        if isinstance(name, str) and not (dialect.reference_hides_siblings and "$ref" in value):
            uri, anchor = urldefrag(urljoin(base, name))
            if anchor and dialect.reference_hides_siblings:
                self.anchors.setdefault((base if name.startswith("#") else uri, anchor), path)
            if not name.startswith("#") and uri != base:
                dialect = self._dialect_of(value, dialect)
                base, path = uri, ()
                self.roots.setdefault(base, _Resource(value, dialect, base))
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = value.get(keyword)
            if isinstance(anchor, str) and not dialect.reference_hides_siblings:
                self.anchors.setdefault((base, anchor), path)
                if keyword == "$dynamicAnchor":
                    self._add_dynamic(base, anchor)
        if value.get("$recursiveAnchor") is True:
            self._add_dynamic(base, "")
        return base, path, dialect

    def _add_dynamic(self, base: str, anchor: str) -> None:
        self.dynamic.add((base, anchor))
        self.dynamic_resources.add(base)


def subschemas(value: Mapping[str, Json], dialect: Dialect) -> Iterator[tuple[str, Path, Json]]:
    """The schemas directly inside a schema object: keyword, path inside it, schema."""
    known = keywords_of(dialect)
    for key, inner in value.items():
        row = known.get(key)
        if row is None or not row.holds:
            continue
        if isinstance(inner, list):
            if row.holds != "map or names":
                yield from ((key, (i,), item) for i, item in enumerate(inner))
        elif row.holds.startswith("map"):
            if isinstance(inner, dict):
                yield from ((key, (name,), item) for name, item in inner.items() if not isinstance(item, list))
        else:
            yield key, (), inner


def _metaschema(uri: str) -> Json | None:
    return _metaschemas().get(uri.rstrip("#")) if "json-schema.org/" in uri else None


@cache
def _metaschemas() -> dict[str, Json]:
    """What the package ``jsonschema-specifications`` has, by URI. Its files are read: importing it takes far longer."""
    package = find_spec("jsonschema_specifications")
    found: dict[str, Json] = {}
    for folder in (package.submodule_search_locations or ()) if package else ():
        for path in sorted(pathlib.Path(folder, "schemas").rglob("*")):
            if path.is_file() and path.suffix in ("", ".json"):
                schema = json.loads(path.read_bytes())
                found[(schema.get("$id") or schema["id"]).rstrip("#")] = schema
    return found


def shown(value: Json) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."
