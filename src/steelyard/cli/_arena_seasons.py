"""`steelyard arena season`: frozen leaderboards with a verifiable manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from steelyard.cli._arena_options import StoreOption
from steelyard.cli._options import Json, OnePath
from steelyard.cli._output import print_written
from steelyard.cli._print import print_json, show_results
from steelyard.settings import DEFAULT_STORE

if TYPE_CHECKING:
    from pathlib import Path

    from steelyard.results import Season

season = App(name="season", help="Create, list, show or verify seasons.", help_format="plaintext")

GATE_FAILED = 3
Manifest = Annotated[OnePath | None, Parameter(alias="-o", help="Write the manifest to this .json file.")]
SeasonName = Annotated[str, Parameter(help="Season name.")]


@season.command
def create(
    name: SeasonName,
    /,
    *,
    task: Annotated[tuple[str, ...], Parameter(help="Only this task; repeatable.", negative="")] = (),
    out: Manifest = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Freeze the current leaderboard as a season.

    The public manifest contains the rules, every included submission with its digest and scores, and every exclusion
    with its reason. A season cannot be changed.

    Example: steelyard arena season create 2026-autumn --out manifest.json
    """
    from steelyard.questions import create_season  # brings SQLAlchemy

    _check(out)
    return _print(create_season(store, name, tasks=task), out, json=json)


@season.command(name="list")
def list_all(*, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """List seasons.

    Example: steelyard arena season list
    """
    from steelyard.questions import seasons  # brings SQLAlchemy
    from steelyard.reports import seasons_lines

    listed = seasons(store)
    if json:
        print_json(listed.to_dict())
    else:
        show_results(seasons_lines(listed))
    return 0


@season.command
def show(name: SeasonName, /, *, out: Manifest = None, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """Show a season or write its manifest.

    Example: steelyard arena season show 2026-autumn --out manifest.json
    """
    from steelyard.questions import show_season  # brings SQLAlchemy

    _check(out)
    return _print(show_season(store, name), out, json=json)


@season.command
def verify(
    manifest: Annotated[OnePath, Parameter(help="Manifest of a season (JSON).")],
    /,
    *,
    store: Annotated[str | None, Parameter(help="Also check the manifest against this store.")] = None,
    json: Json = False,
) -> int:
    """Verify a manifest by recomputing its results.

    Checks the digest and recomputes baselines, scores and ranks. Exits with status 3 if a check fails.

    Example: steelyard arena season verify manifest.json
    """
    from steelyard.questions import verify_season  # brings SQLAlchemy
    from steelyard.reports import verification_lines

    done = verify_season(manifest, store=store)
    if json:
        print_json(done.to_dict())
    else:
        show_results(verification_lines(done))
    return 0 if done.status == "pass" else GATE_FAILED


def _check(out: Path | None) -> None:
    from steelyard.pages import check_file

    if out is not None:
        check_file(out, endings=(".json",))


def _print(season: Season, out: Path | None, *, json: bool) -> int:
    from steelyard.reports import season_line

    if out is not None:
        season.save(out)
    if json:
        print_json(season.to_dict())
    elif out is not None:
        print_written(out, [season_line(season)])
    else:
        show_results([season_line(season)])
    return 0
