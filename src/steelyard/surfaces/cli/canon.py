from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from steelyard.errors import UsageError
from steelyard.reports import counted
from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import console, print_json


def canon(
    action: Annotated[Literal["show", "retire"], Parameter(help="Show canons, or take one out of force.")] = "show",
    prompt: Annotated[str | None, Parameter(help="The prompt: its contract's id. Show lists all without it.")] = None,
    /,
    *,
    history: Annotated[bool, Parameter(help="Show retired canons too.", negative="")] = False,
    store: Annotated[str, Parameter(help="Where canons are kept.")] = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Show the canon of a prompt, or retire it. A retired canon stays in the history and is no longer used.

    Example: steelyard canon show binary_search
    """
    from steelyard.workflow.canon import retire, show  # brings SQLAlchemy

    if history and action == "retire":
        raise UsageError("--history is for show", hint="steelyard canon show --history")
    result = retire(store, prompt) if action == "retire" else show(store, prompt, history=history)
    if json:
        print_json(result.to_dict())
        return 0
    terminal = console()
    count = counted(len(result.canons), "canon")
    terminal.print(f"{store} holds {count}." if result.canons else f"{store} holds no canon in force.")
    for row in result.to_dicts():
        state = "in force" if row["retired_at"] is None else f"retired {row['retired_at']}"
        terminal.print(f"{row['prompt']}  {row['signature']}  {state}")
        for name in ("set_at", "origin", "normalization_version", "oracle_version", "distance_version"):
            terminal.print(f"  {name}: {row[name]}")
        if prompt is not None:
            terminal.print(str(row["code"]))
    return 0
