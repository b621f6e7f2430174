"""Route declarations, from which routing, the OpenAPI document, pages and documentation are generated."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, cast, get_args
from urllib.parse import parse_qsl, quote, unquote

import msgspec
from msgspec.inspect import Metadata, StructType, VarTupleType, type_info

from steelyard.errors import UnknownNameError, UsageError
from steelyard.profiles import shipped_profiles
from steelyard.questions import Count, Moment, Names, Options, ProfileName, Selections, Texts
from steelyard.records import Scope, Selection, Token, problem_text

if TYPE_CHECKING:
    from starlette.responses import Response

    from steelyard.questions import ArenaSource, Question, RunsSource
    from steelyard.server._site import Call

API = "/api/v1"
MAX_FIELDS = 200
"""Maximum number of query parameters."""
MAX_PAGE = 1_000
MINE = "Only submissions by the token owner; requires a token."

"""Maximum number of rows per page."""
Listed = Annotated[tuple[str, ...], msgspec.Meta(extra={"separated": True})]
"""Comma-separated values."""
Repeated = tuple[str, ...]
"""Repeatable parameter."""
OVER_HTTP: dict[Any, Any] = {  # Any: types as they are written
    Names: Listed,
    Texts: Repeated,
    Selections: Repeated,
    Selection: str,
    Selection | None: str | None,
    Moment: str | None,
    ProfileName: str,
    ProfileName | None: str | None,
    Count | None: Annotated[int, msgspec.Meta(ge=1)] | None,
}
"""Query types of command option types; other types are unchanged."""

OptionsT = TypeVar("OptionsT", bound=Options)


class Query(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Query parameters of a route."""

    filters: ClassVar[tuple[str, ...]] = ()
    """Fields that filter rows of a computed result. Like those of `PageQuery`, they need no new computation."""

    @property
    def is_mine(self) -> bool:
        """Whether only submissions by the token owner are requested."""
        return bool(getattr(self, "mine", False))

    def of_holder(self, token: Token | None) -> Query:
        """Return the query with the token owner as the submitter."""
        assert token is not None  # `mine` requires a token
        many = isinstance(getattr(self, "submitter", None), tuple)
        return msgspec.structs.replace(self, mine=False, submitter=(token.holder,) if many else token.holder)


class PageQuery(Query, frozen=True, kw_only=True):
    """Query parameters of a route with a paginated list."""

    limit: Annotated[
        int, msgspec.Meta(ge=1, le=MAX_PAGE, description=f"Number of rows per page, at most {MAX_PAGE:,}.")
    ] = 200
    after: Annotated[str | None, msgspec.Meta(description="Cursor: `next` of the previous page.")] = None
    sort: Annotated[
        str | None, msgspec.Meta(description="Field to sort by; prefix it with a minus sign for descending order.")
    ] = None
    find: Annotated[str | None, msgspec.Meta(description="Only rows that contain all of these words.")] = None


Builder = Callable[[Any, Mapping[str, str], Any], Any]
"""Function of source, path parameters and query that returns a result (Any: each route has its own types)."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """A route of the API, with its page."""

    path: str
    """Path below `/api/v1`; `{name}` is one percent-encoded segment."""
    sentence: str
    """Description, for the documentation."""
    command: str
    """Equivalent command; empty if there is none."""
    result: Any
    """Class of the response: a result or a struct (Any: types for JSON schemas)."""
    query: type[Query] = Query
    method: str = "GET"
    over_arena: Callable[[ArenaSource, Mapping[str, str], Any], Any] | None = None
    """Function that computes the result from an arena; None if arenas do not support the route."""
    over_runs: Callable[[RunsSource, Mapping[str, str], Any], Any] | None = None
    """Function that computes the result from run files; None if run files do not support the route."""
    arena_command: str = ""
    """Equivalent command for an arena, if it differs."""
    arena_query: tuple[str, ...] | None = None
    """Query fields that apply to an arena; None for all."""
    fixed: tuple[tuple[str, Any], ...] = ()
    """Command options set by the server (Any: their values)."""
    rows: str | None = None
    """Paginated field of the result; `items` in the response."""
    page: str | None = None
    """Path of the web page (default: `path`); empty if there is no page."""
    respond: Callable[[Call], Awaitable[Response]] | None = None
    """Function that creates the response, for streams and writes."""
    scope: Scope | None = None
    """Required scope of the token; None for reading."""
    status: int = 200
    """Status of a successful response."""
    body: Any = None
    """Class of the request body; None if there is none (Any: as above)."""
    question: Question | None = field(default=None, compare=False)
    """The question that it asks, if it is derived from one."""
    makes: bool = False
    """Whether it creates a record: the status is 201 if it is new and 200 if an identical one exists."""
    many: bool = False
    """Whether it accepts several records as NDJSON."""

    @property
    def name(self) -> str:
        """Return the operation id in OpenAPI."""
        words = re.findall(r"\w+", self.path)
        return "_".join([self.method.lower(), *words])

    @property
    def parameters(self) -> tuple[str, ...]:
        """Return the names of the path parameters."""
        return tuple(re.findall(r"\{(\w+)\}", self.path))

    @property
    def page_path(self) -> str | None:
        """Return the path of the web page; None if there is none."""
        if self.page is not None:
            return self.page or None
        return self.path if self.method == "GET" and self.respond is None else None

    def builder(self, kind: str) -> Builder | None:
        """Return the function that computes the result from this kind of source."""
        return self.over_arena if kind == "arena" else self.over_runs

    def key(self, values: Mapping[str, str], query: Query) -> tuple[object, ...]:
        """Return the cache key: path, path parameters, and the query without fields that only select rows."""
        sliced = {
            *type(query).filters,
            *(("top", *PageQuery.__struct_fields__) if isinstance(query, PageQuery) else ()),
        }
        asked = tuple(getattr(query, name) for name in query.__struct_fields__ if name not in sliced)
        return (self.method, self.path, *values.values(), *asked)


def address(route: Route, values: Mapping[str, str], *, api: bool = True) -> str:
    """Return the path with percent-encoded path parameters."""
    return filled(f"{API}{route.path}" if api else route.page_path or route.path, values)


def filled(path: str, values: Mapping[str, str]) -> str:
    """Return a path with its parameters as percent-encoded segments."""
    return re.sub(r"\{(\w+)\}", lambda match: quote(values[match[1]], safe=""), path)


class Match:
    """Lookup of routes by path segments."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        self._api: dict[int, list[tuple[list[str], Route]]] = {}
        self._pages: dict[int, list[tuple[list[str], Route]]] = {}
        for route in routes:
            self._add(self._api, route.path, route)
            if route.page_path is not None:
                self._add(self._pages, route.page_path, route)

    @staticmethod
    def _add(table: dict[int, list[tuple[list[str], Route]]], path: str, route: Route) -> None:
        parts = path.strip("/").split("/")
        # A literal segment goes before one that takes any name.
        table.setdefault(len(parts), []).append((parts, route))
        table[len(parts)].sort(key=lambda entry: [part.startswith("{") for part in entry[0]])

    def find(self, path: str, *, api: bool) -> dict[str, tuple[Route, dict[str, str]]]:
        """Return the routes at a raw path, by method, each with its path parameters."""
        segments = path.strip("/").split("/")
        matches: dict[str, tuple[Route, dict[str, str]]] = {}
        for parts, route in (self._api if api else self._pages).get(len(segments), ()):
            values: dict[str, str] = {}
            for part, segment in zip(parts, segments, strict=True):
                if part.startswith("{") and segment:
                    values[part[1:-1]] = unquote(segment)
                elif part != segment:
                    break
            else:
                matches.setdefault(route.method, (route, values))
        return matches


@cache
def query_fields(query: type[Query]) -> dict[str, Literal["one", "many", "separated"]]:
    """Return how each query parameter accepts values: one, comma-separated or repeated."""
    counts: dict[str, Literal["one", "many", "separated"]] = {}
    for each in cast("StructType", type_info(query)).fields:
        kind = each.type
        extra = kind.extra or {} if isinstance(kind, Metadata) else {}
        plain = kind.type if isinstance(kind, Metadata) else kind
        many: Literal["many", "separated"] = "separated" if extra.get("separated") else "many"
        counts[each.name] = many if isinstance(plain, VarTupleType) else "one"
    return counts


def read_query(query: type[Query], text: str) -> Query:
    """Parse a query string; for an unknown name, the error suggests a close one."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="replace")
    except ValueError as error:
        raise UsageError(f"the query has more than {MAX_FIELDS} values", hint="split the request") from error
    counts = query_fields(query)
    values: dict[str, Any] = {}  # Any: texts and lists of them
    for name, value in pairs:
        if name not in counts:
            raise _unknown(name, counts)
        if not value:  # a form without JavaScript sends what was left empty
            continue
        if counts[name] == "one":
            if name in values:
                raise UsageError(f"duplicate query parameter: {name}", hint="use it once")
            values[name] = value
        else:
            parts = value.split(",") if counts[name] == "separated" else [value]
            values.setdefault(name, []).extend(part.strip() for part in parts if part.strip())
    try:
        return msgspec.convert(values, query, strict=False)
    except msgspec.ValidationError as error:
        message = problem_text(error).replace("Object missing required field", "missing query parameter")
        raise UsageError(message, hint=f"see {API}/openapi.json") from error


def _unknown(name: str, known: Mapping[str, object]) -> UnknownNameError:
    error = UnknownNameError("query parameter", name[:200], known)
    error.http_status = 400
    return error


def query_of(
    options: type[Any],
    *,
    without: Collection[str] = (),
    base: type[Query] = Query,
    filters: tuple[str, ...] = (),
    **also: Any,
) -> type[Query]:
    """Return query parameters for the options that are not local (Any: any options).

    `filters` select rows of the computed result. `also`: defaults for options without a default. Of an option
    `submitter`, `mine` is the owner of the token.
    """
    hints = options.types()
    declared = []
    for name, option in options.declared.items():
        if option.local or name in without:
            continue
        assert Path not in (hints[name], *get_args(hints[name])), f"{name} names a file"
        meaning: Any = Annotated[OVER_HTTP.get(hints[name], hints[name]), msgspec.Meta(description=option.text)]
        default = also.get(name, msgspec.NODEFAULT) if option.is_required else option.default
        declared.append((name, meaning, default))
        if name == "submitter":
            declared.append(("mine", Annotated[bool, msgspec.Meta(description=MINE)], False))
    name = options.__name__.replace("Options", "Query")
    made = cast(
        "type[Query]",
        msgspec.defstruct(name, declared, bases=(base,), frozen=True, kw_only=True, forbid_unknown_fields=True),
    )
    made.filters = filters
    return made


def options_of(options: type[OptionsT], query: Query, **also: Any) -> OptionsT:  # Any: options of any type
    """Return the command options in a query; only built-in profiles are allowed."""
    values = {name: getattr(query, name) for name in query.__struct_fields__}
    for name, hint in options.types().items():
        if hint in (ProfileName, ProfileName | None) and values.get(name) not in (None, *shipped_profiles()):
            raise UnknownNameError("profile", str(values[name])[:200], shipped_profiles())
    return options(**{name: value for name, value in values.items() if name in options.declared} | also)
