"""What is served and how, and one request for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from steelyard.surfaces.server._access import Access
from steelyard.surfaces.server._cursors import Cursors
from steelyard.surfaces.server._live import Live
from steelyard.surfaces.server._route import Query, Route
from steelyard.surfaces.server._views import Views

if TYPE_CHECKING:
    from starlette.requests import Request

    from steelyard.records import Token
    from steelyard.workflow import ArenaSource, RunsSource


@dataclass(frozen=True)
class Site:
    """A source, who may do what with it, and what this process keeps of it."""

    source: ArenaSource | RunsSource
    access: Access = field(default_factory=Access)
    root_path: str = ""
    """What stands before every path, where a proxy puts something there."""

    @cached_property
    def views(self) -> Views:
        """Answers by version."""
        return Views(self.source)

    @cached_property
    def cursors(self) -> Cursors:
        """Where lists go on."""
        return Cursors(self.source.secret())

    @cached_property
    def live(self) -> Live:
        """Who hears of changes."""
        return Live(self.views.version)


@dataclass(frozen=True)
class Call:
    """A request for a route, its names and query read."""

    site: Site
    route: Route
    request: Request
    values: Mapping[str, str]
    """The names in the path."""
    query: Query
    token: Token | None = None
    """The token that came with it; None where it needs none."""

    @property
    def holder(self) -> str | None:
        """Who acts: the person whose the token is, else its name."""
        return None if self.token is None else self.token.holder
