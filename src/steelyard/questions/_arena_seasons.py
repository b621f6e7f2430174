"""Arena seasons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from steelyard.arena import Arena, freeze, list_seasons, season, verify
from steelyard.errors import InputError
from steelyard.files import read_text
from steelyard.questions._arena import opened
from steelyard.records import JSON_ERRORS, json_problem
from steelyard.results import Season, Seasons, Verification
from steelyard.settings import shown_path


def create_season(arena: Arena | str, name: str, *, tasks: Sequence[str] = ()) -> Season:
    """Freeze the current leaderboard as a season."""
    return freeze(opened(arena), name, tasks=tuple(tasks))


def show_season(arena: Arena | str, name: str) -> Season:
    """Return a season with its manifest."""
    return season(opened(arena), name)


def seasons(arena: Arena | str) -> Seasons:
    """Return all seasons, oldest first."""
    return list_seasons(opened(arena))


def verify_season(manifest: Path, *, store: Arena | str | None = None) -> Verification:
    """Verify a manifest file; with `store`, also that the arena stored it."""
    where = str(shown_path(manifest))
    try:
        document = msgspec.json.decode(read_text(manifest))
    except JSON_ERRORS as error:
        raise InputError(json_problem(error), where=where, hint="a manifest is one JSON object") from error
    return verify(document, where=where, arena=None if store is None else opened(store))


def verify_kept(arena: Arena, manifest: Path) -> Verification:
    """Verify a manifest file against this arena."""
    return verify_season(manifest, store=arena)
