"""Served source with its caches, and requests to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from steelyard.server._access import Access
from steelyard.server._cursors import Cursors
from steelyard.server._live import Live
from steelyard.server._route import Query, Route
from steelyard.server._views import Views

if TYPE_CHECKING:
    from starlette.requests import Request

    from steelyard.questions import ArenaSource, RunsSource
    from steelyard.records import Token


@dataclass(frozen=True)
class Site:
    """A source with its access rules and the caches of this process."""

    source: ArenaSource | RunsSource
    access: Access = field(default_factory=Access)
    root_path: str = ""
    """Path prefix added by a proxy."""

    @cached_property
    def views(self) -> Views:
        """Views by version."""
        return Views(self.source)

    @cached_property
    def cursors(self) -> Cursors:
        """Cursors of lists."""
        return Cursors(self.source.secret())

    @cached_property
    def live(self) -> Live:
        """Subscribers to changes."""
        return Live(self.views.version)


@dataclass(frozen=True)
class Call:
    """A request to a route, with parsed path parameters and query."""

    site: Site
    route: Route
    request: Request
    values: Mapping[str, str]
    """Path parameters."""
    query: Query
    token: Token | None = None
    """Token of the request; None if none is required."""

    @property
    def holder(self) -> str | None:
        """Return the owner of the token, or its name."""
        return None if self.token is None else self.token.holder
