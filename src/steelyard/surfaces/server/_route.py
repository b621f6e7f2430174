"""What a route is: one declaration, from which routing, the OpenAPI document, pages and documentation come."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, cast, get_args, get_type_hints
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec.inspect import Metadata, StructType, VarTupleType, type_info

from steelyard.errors import UnknownNameError, UsageError
from steelyard.profiles import DEFAULT, shipped_profiles
from steelyard.records import Chosen, Scope, Token, problem_text
from steelyard.workflow import ManyChosen, Moment, Names, ProfileName, Texts, field_sentences

if TYPE_CHECKING:
    from starlette.responses import Response

    from steelyard.surfaces.server._site import Call
    from steelyard.workflow import ArenaSource, RunsSource

API = "/api/v1"
MAX_FIELDS = 200
"""Names and values in one query."""
MAX_PAGE = 1_000

"""What a token lets its holder do."""
Listed = Annotated[tuple[str, ...], msgspec.Meta(extra={"separated": True})]
"""Several names in one value, separated by commas."""
Repeated = tuple[str, ...]
"""Several values: the name is repeated."""
ONLY_LOCAL = frozenset({"map", "set", "prices", "store", "contract", "no_sandbox", "repair", "resamples", "engine"})
"""Options of commands that name files of the machine, run code or cost more than a stranger may ask for."""
OVER_HTTP: dict[Any, Any] = {  # Any: types as they are written
    Names: Listed,
    Texts: Repeated,
    ManyChosen: Repeated,
    Chosen: str,
    Chosen | None: str | None,
    Moment: str | None,
    ProfileName: str,
}
"""What a query holds for the types of a command's options; other types are as they are."""

Options = TypeVar("Options")


class Query(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may stand behind the question mark of an address."""

    filters: ClassVar[tuple[str, ...]] = ()
    """Fields that choose rows of the built answer. They and those of `Paged` do not make another answer."""

    @property
    def is_mine(self) -> bool:
        """Whether only what the token's holder submitted is asked for."""
        return bool(getattr(self, "mine", False))

    def of_holder(self, token: Token | None) -> Query:
        """The same query with the token's holder as the submitter."""
        assert token is not None  # asked of whoever brought one
        many = isinstance(getattr(self, "submitter", None), tuple)
        return msgspec.structs.replace(self, mine=False, submitter=(token.holder,) if many else token.holder)


class Paged(Query, frozen=True, kw_only=True):
    """The same where the answer holds a list that is told page by page."""

    limit: Annotated[
        int, msgspec.Meta(ge=1, le=MAX_PAGE, description=f"Number of rows per page, at most {MAX_PAGE:,}.")
    ] = 200
    after: Annotated[str | None, msgspec.Meta(description="Cursor: `next` of the previous page.")] = None
    sort: Annotated[
        str | None, msgspec.Meta(description="Field to sort by; prefix it with a minus sign for descending order.")
    ] = None
    find: Annotated[str | None, msgspec.Meta(description="Only rows that contain all of these words.")] = None


Builder = Callable[[Any, Mapping[str, str], Any], Any]
"""From the source, the names in the path and the query to a result (Any: each route has its own types)."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """One address of the API and its page."""

    path: str
    """Below `/api/v1`; `{name}` is one segment, percent-encoded."""
    sentence: str
    """What it answers, for the documentation."""
    command: str
    """The command that gives the same; empty where there is none."""
    result: Any
    """The class of what is answered: a result, or a struct (Any: what JSON schemas are made of)."""
    query: type[Query] = Query
    method: str = "GET"
    over_arena: Callable[[ArenaSource, Mapping[str, str], Any], Any] | None = None
    """Builds the result from an arena; None where an arena has nothing to answer with."""
    over_runs: Callable[[RunsSource, Mapping[str, str], Any], Any] | None = None
    """Builds the result from files of runs; None where they have nothing to answer with."""
    arena_command: str = ""
    """The command that gives the same of an arena, where it is another one."""
    arena_query: tuple[str, ...] | None = None
    """The fields of the query that count over an arena; None for all."""
    fixed: tuple[tuple[str, Any], ...] = ()
    """Options of the command that the server sets by itself (Any: their values)."""
    rows: str | None = None
    """The field of the result that is told page by page; `items` in the answer."""
    page: str | None = None
    """The address of its web page; the path itself unless another is given, none where it is empty."""
    respond: Callable[[Call], Awaitable[Response]] | None = None
    """Answers by itself: a stream, or what writes."""
    scope: Scope | None = None
    """What a token must allow to use the route; None: what reading needs."""
    status: int = 200
    """The status of an answer."""
    body: Any = None
    """The class of what is sent; None where nothing is (Any: as above)."""
    makes: bool = False
    """Whether it makes something: the status is then 201 the first time, and 200 where the very same is there."""
    many: bool = False
    """Whether many can be sent at once, as NDJSON."""

    @property
    def name(self) -> str:
        """What OpenAPI calls the operation."""
        words = re.findall(r"\w+", self.path)
        return "_".join([self.method.lower(), *words])

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names in the path."""
        return tuple(re.findall(r"\{(\w+)\}", self.path))

    @property
    def page_path(self) -> str | None:
        """The address of the web page; None where there is none."""
        if self.page is not None:
            return self.page or None
        return self.path if self.method == "GET" and self.respond is None else None

    def builder(self, kind: str) -> Builder | None:
        """What builds the result from a source of that kind."""
        return self.over_arena if kind == "arena" else self.over_runs

    def key(self, values: Mapping[str, str], query: Query) -> tuple[object, ...]:
        """What makes two answers the same build: path, names and the query without what only chooses rows."""
        sliced = {*type(query).filters, *(Paged.__struct_fields__ if isinstance(query, Paged) else ())}
        asked = tuple(getattr(query, name) for name in query.__struct_fields__ if name not in sliced)
        return (self.method, self.path, *values.values(), *asked)


def address(route: Route, values: Mapping[str, str], *, api: bool = True) -> str:
    """The path with the names put in, each percent-encoded."""
    from urllib.parse import quote

    path = route.path if api else route.page_path or route.path
    filled = re.sub(r"\{(\w+)\}", lambda match: quote(values[match[1]], safe=""), path)
    return f"{API}{filled}" if api else filled


class Match:
    """The routes by the segments of their paths."""

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
        """The routes at a raw path, by method, each with the names that stand in it."""
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
    """How many values each name of a query takes."""
    counts: dict[str, Literal["one", "many", "separated"]] = {}
    for field in cast("StructType", type_info(query)).fields:
        kind = field.type
        extra = kind.extra or {} if isinstance(kind, Metadata) else {}
        plain = kind.type if isinstance(kind, Metadata) else kind
        many: Literal["many", "separated"] = "separated" if extra.get("separated") else "many"
        counts[field.name] = many if isinstance(plain, VarTupleType) else "one"
    return counts


def read_query(query: type[Query], text: str) -> Query:
    """The query of an address, typed; a name that there is not is answered with the nearest one."""
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
        told = problem_text(error).replace("Object missing required field", "missing query parameter")
        raise UsageError(told, hint=f"see {API}/openapi.json") from error


def _unknown(name: str, known: Mapping[str, object]) -> UnknownNameError:
    error = UnknownNameError("query parameter", name[:200], known)
    error.http_status = 400
    return error


def query_of(options: type[Any], *, without: frozenset[str] = frozenset(), **also: Any) -> type[Query]:
    """A command's options as a query: the same names, defaults and sentences (Any: the options of any command).

    `also`: what an option without a default has here.
    """
    hints, sentences = get_type_hints(options, include_extras=True), field_sentences(options)
    declared = []
    for option in fields(options):
        if option.name in ONLY_LOCAL | without:
            continue
        assert Path not in (hints[option.name], *get_args(hints[option.name])), f"{option.name} names a file"
        kind: Any = OVER_HTTP.get(hints[option.name], hints[option.name])  # Any: a type as it is written
        meaning: Any = Annotated[kind, msgspec.Meta(description=sentences[option.name])]
        default = also.get(option.name, msgspec.NODEFAULT) if option.default is MISSING else option.default
        declared.append((option.name, meaning, default))
    name = options.__name__.replace("Options", "Query")
    made = msgspec.defstruct(name, declared, bases=(Query,), frozen=True, kw_only=True, forbid_unknown_fields=True)
    return cast("type[Query]", made)


def options_of(options: type[Options], query: Query, **also: Any) -> Options:  # Any: options of any type
    """The command's options that a query holds; only shipped profiles can be named."""
    values = {name: getattr(query, name) for name in query.__struct_fields__}
    profile = values.get("profile", DEFAULT)
    if profile not in shipped_profiles():
        raise UnknownNameError("profile", str(profile)[:200], shipped_profiles())
    known = {option.name for option in fields(cast("Any", options))}
    return options(**{name: value for name, value in values.items() if name in known} | also)
