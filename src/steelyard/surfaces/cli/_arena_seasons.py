"""The arena's commands of seasons: freeze, seasons, verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli._arena_options import StoreOption
from steelyard.surfaces.cli._options import Json, OnePath
from steelyard.surfaces.cli._output import tell_written
from steelyard.surfaces.cli._print import print_json, show_results

if TYPE_CHECKING:
    from pathlib import Path

    from steelyard.results import Season

GATE_FAILED = 3
Manifest = Annotated[OnePath | None, Parameter(help="Write the manifest to this file, .json.")]


def freeze(
    name: Annotated[str, Parameter(help="The season's name.")],
    /,
    *,
    task: Annotated[tuple[str, ...], Parameter(help="Only this task; may be repeated.", negative="")] = (),
    out: Manifest = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Keep the leaderboard of this moment as a season, with a public manifest that anybody can verify.

    The manifest has the rules, the digest and numbers of every submission that counted, and every exclusion with its
    reason. A season never changes.

    Example: steelyard arena freeze 2026-autumn --out manifest.json
    """
    from steelyard.workflow import freeze_season  # brings SQLAlchemy

    _check(out)
    return _print(freeze_season(store, name, tasks=task), out, json=json)


def seasons(
    name: Annotated[str | None, Parameter(help="Show this season.")] = None,
    /,
    *,
    out: Manifest = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """List the seasons that were frozen, or show one.

    Example: steelyard arena seasons 2026-autumn --out manifest.json
    """
    from steelyard.errors import UsageError
    from steelyard.reports import seasons_lines
    from steelyard.workflow import seasons as every_season, show_season  # brings SQLAlchemy

    _check(out)
    if name is not None:
        return _print(show_season(store, name), out, json=json)
    if out is not None:
        raise UsageError("--out writes the manifest of one season", hint="name a season, or leave --out out")
    listed = every_season(store)
    if json:
        print_json(listed.to_dict())
    else:
        show_results(seasons_lines(listed))
    return 0


def verify(
    manifest: Annotated[OnePath, Parameter(help="The manifest of a season, as JSON.")],
    /,
    *,
    store: Annotated[str | None, Parameter(help="Check too that this arena kept it, and still has all of it.")] = None,
    json: Json = False,
) -> int:
    """Check the manifest of a season: its digest, and baselines, scores and ranks recomputed from its numbers.

    Exit status 3 when something does not hold.

    Example: steelyard arena verify manifest.json
    """
    from steelyard.reports import verification_lines
    from steelyard.workflow import verify_season  # brings SQLAlchemy

    done = verify_season(manifest, store=store)
    if json:
        print_json(done.to_dict())
    else:
        show_results(verification_lines(done))
    return 0 if done.status == "pass" else GATE_FAILED


def _check(out: Path | None) -> None:
    from steelyard.reports import check_file

    if out is not None:
        check_file(out, endings=(".json",))


def _print(season: Season, out: Path | None, *, json: bool) -> int:
    from steelyard.reports import season_line

    if out is not None:
        season.save(out)
    if json:
        print_json(season.to_dict())
    elif out is not None:
        tell_written(out, [season_line(season)])
    else:
        show_results([season_line(season)])
    return 0


COMMANDS = ((freeze, "freeze"), (seasons, "seasons"), (verify, "verify"))
