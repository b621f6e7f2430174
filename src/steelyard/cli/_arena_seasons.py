"""`steelyard arena season`: frozen leaderboards with a verifiable manifest."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from steelyard.cli._arena_options import StoreOption
from steelyard.cli._options import Json, OnePath
from steelyard.cli._output import Output
from steelyard.cli._question_commands import command_named, deliver
from steelyard.pages import check_file
from steelyard.settings import DEFAULT_STORE

season = App(name="season", help="Create, list, show or verify seasons.", help_format="plaintext")


@season.command
def create(
    name: Annotated[str, Parameter(help="Season name.")],
    /,
    *,
    task: Annotated[tuple[str, ...], Parameter(help="Only this task; repeatable.", negative="")] = (),
    out: Annotated[OnePath | None, Parameter(alias="-o", help="Write the manifest to this .json file.")] = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Freeze the current leaderboard as a season.

    The public manifest contains the rules, every included submission with its digest and scores, and every exclusion
    with its reason. A season cannot be changed.

    Example: steelyard arena season create 2026-autumn --out manifest.json
    """
    from steelyard.questions import create_season  # brings SQLAlchemy

    if out is not None:
        check_file(out, endings=(".json",))
    deliver(create_season(store, name, tasks=task), Output(json=json, out=out))
    return 0


for _name in ("list", "show", "verify"):
    season.command(command_named(f"arena_season_{_name}"))
