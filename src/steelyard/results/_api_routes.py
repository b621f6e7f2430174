"""What a server answers: its addresses, and whether it is well."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from steelyard.results._arena_rows import FieldsResult, flat_rows
from steelyard.results._base import Row


class ApiRoute(msgspec.Struct, frozen=True, kw_only=True):
    """One address of the API."""

    method: str
    path: str
    sentence: str
    """What it answers."""
    query: tuple[str, ...]
    """What may be asked of it."""
    page: str | None
    """Its web page; None where it has none."""
    command: str | None
    """The command that gives the same; None where there is none."""
    scope: str | None
    """What a token must allow; None where reading is enough."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ApiRoutes(FieldsResult):
    """Every address of the API."""

    routes: tuple[ApiRoute, ...]

    def _about(self) -> str:
        return f"{len(self.routes)} addresses"

    def to_dicts(self) -> list[Row]:
        """One row an address."""
        return flat_rows(self.routes)


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the server can answer."""

    status: str
    """`ok` where the source answers."""
    version: str
    """The version of what is served."""
    steelyard: str
    """The version of the program."""
