from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from steelyard.cli._options import Json
from steelyard.cli._print import console, print_json
from steelyard.formatting import counted
from steelyard.settings import DEFAULT_STORE

if TYPE_CHECKING:
    from steelyard.results import Canons

canon = App(name="canon", help="List, show or retire stored canons (reference outputs).", help_format="plaintext")

Prompt = Annotated[str, Parameter(help="Prompt id (the id of its contract).")]
History = Annotated[bool, Parameter(help="Include retired canons.", negative="")]
StoreAddress = Annotated[str, Parameter(help="Store URL for canons: sqlite:///FILE, postgresql://USER@HOST/NAME.")]


@canon.command(name="list")
def list_all(*, history: History = False, store: StoreAddress = DEFAULT_STORE, json: Json = False) -> int:
    """List the canons in a store.

    Example: steelyard repeatability canon list --history
    """
    from steelyard.questions.canon import show_canons  # imports SQLAlchemy

    return _print(show_canons(store, None, history=history), store, json=json, code=False)


@canon.command
def show(
    prompt: Prompt, /, *, history: History = False, store: StoreAddress = DEFAULT_STORE, json: Json = False
) -> int:
    """Show the canon of a prompt, with its code.

    Example: steelyard repeatability canon show binary_search
    """
    from steelyard.questions.canon import show_canons  # imports SQLAlchemy

    return _print(show_canons(store, prompt, history=history), store, json=json, code=True)


@canon.command
def retire(prompt: Prompt, /, *, store: StoreAddress = DEFAULT_STORE, json: Json = False) -> int:
    """Retire the canon of a prompt.

    A retired canon stays in the history.

    Example: steelyard repeatability canon retire binary_search
    """
    from steelyard.questions.canon import retire_canon  # imports SQLAlchemy

    return _print(retire_canon(store, prompt), store, json=json, code=True)


def _print(result: Canons, store: str, *, json: bool, code: bool) -> int:
    if json:
        print_json(result.to_dict())
        return 0
    terminal = console()
    count = counted(len(result.canons), "canon")
    terminal.print(f"{store} contains {count}." if result.canons else f"{store} contains no active canon.")
    for row in result.to_dicts():
        state = "active" if row["retired_at"] is None else f"retired {row['retired_at']}"
        terminal.print(f"{row['prompt']}  {row['signature']}  {state}")
        for name in ("set_at", "origin", "normalization_version", "oracle_version", "distance_version"):
            terminal.print(f"  {name}: {row[name]}")
        if code:
            terminal.print(str(row["code"]))
    return 0
