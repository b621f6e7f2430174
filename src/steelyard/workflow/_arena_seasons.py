"""Arena: the verbs of seasons: freeze, list, show, verify."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from steelyard.arena import Arena, freeze, list_seasons, season, verify
from steelyard.errors import InputError
from steelyard.files import read_text
from steelyard.records import JSON_ERRORS, json_problem
from steelyard.results import Season, Seasons, Verification
from steelyard.settings import shown_path
from steelyard.workflow._arena import opened


def freeze_season(arena: Arena | str, name: str, *, tasks: Sequence[str] = ()) -> Season:
    """Keep the leaderboard of this moment under a name, with all that made it."""
    return freeze(opened(arena), name, tasks=tuple(tasks))


def show_season(arena: Arena | str, name: str) -> Season:
    """The season of that name with its manifest."""
    return season(opened(arena), name)


def seasons(arena: Arena | str) -> Seasons:
    """Every season, the first frozen first."""
    return list_seasons(opened(arena))


def verify_season(manifest: Path, *, store: Arena | str | None = None) -> Verification:
    """Check the manifest in a file: its digest, baselines, scores and ranks; with `store`, that the arena kept it."""
    where = str(shown_path(manifest))
    try:
        document = msgspec.json.decode(read_text(manifest))
    except JSON_ERRORS as error:
        raise InputError(json_problem(error), where=where, hint="a manifest is one JSON object") from error
    return verify(document, where=where, arena=None if store is None else opened(store))


def verify_kept(arena: Arena, manifest: Path) -> Verification:
    """Check the manifest in a file, and that this arena kept it."""
    return verify_season(manifest, store=arena)
