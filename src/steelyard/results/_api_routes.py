"""Routes and health of a server."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from steelyard.results._arena_rows import FieldsResult, flat_rows
from steelyard.results._base import Row


class ApiRoute(msgspec.Struct, frozen=True, kw_only=True):
    """A route of the API."""

    method: str
    path: str
    sentence: str
    """Description."""
    query: tuple[str, ...]
    """Query parameters."""
    page: str | None
    """Web page; None if there is none."""
    command: str | None
    """Equivalent command; None if there is none."""
    scope: str | None
    """Required scope of the token; None for reading."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ApiRoutes(FieldsResult):
    """All routes of the API."""

    routes: tuple[ApiRoute, ...]

    def _about(self) -> str:
        return f"{len(self.routes)} addresses"

    def to_dicts(self) -> list[Row]:
        """Return one row per route."""
        return flat_rows(self.routes)


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Health of the server."""

    status: str
    """`ok` if the source responds."""
    version: str
    """Version of the source."""
    steelyard: str
    """Version of steelyard."""
