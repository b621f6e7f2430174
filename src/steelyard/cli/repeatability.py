"""Measure how repeatable outputs are, before and after repair."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from steelyard.cli._output import PLAIN_OUTPUT, PlainOutput
from steelyard.cli._question_commands import command_named, deliver
from steelyard.questions.canon import retire_canon, show_canons
from steelyard.settings import DEFAULT_STORE

canon = App(name="canon", help="List, show or retire stored canons (reference outputs).", help_format="plaintext")

Prompt = Annotated[str, Parameter(help="Prompt id (the id of its contract).")]
History = Annotated[bool, Parameter(help="Include retired canons.", negative="")]
StoreAddress = Annotated[str, Parameter(help="Store URL for canons: sqlite:///FILE, postgresql://USER@HOST/NAME.")]


@canon.command(name="list")
def list_all(
    *, history: History = False, store: StoreAddress = DEFAULT_STORE, output: PlainOutput = PLAIN_OUTPUT
) -> int:
    """List the canons in a store.

    Example: steelyard repeatability canon list --history
    """
    output.check()
    deliver(show_canons(store, None, history=history), output)
    return 0


@canon.command
def show(
    prompt: Prompt,
    /,
    *,
    history: History = False,
    store: StoreAddress = DEFAULT_STORE,
    output: PlainOutput = PLAIN_OUTPUT,
) -> int:
    """Show the canon of a prompt, with its code.

    Example: steelyard repeatability canon show binary_search
    """
    output.check()
    deliver(show_canons(store, prompt, history=history), output, everything=True)
    return 0


@canon.command
def retire(prompt: Prompt, /, *, store: StoreAddress = DEFAULT_STORE, output: PlainOutput = PLAIN_OUTPUT) -> int:
    """Retire the canon of a prompt.

    A retired canon stays in the history.

    Example: steelyard repeatability canon retire binary_search
    """
    output.check()
    deliver(retire_canon(store, prompt), output, everything=True)
    return 0


repeatability = App(
    name="repeatability",
    help=__doc__,
    help_format="plaintext",
)
repeatability.default(command_named("repeatability"))
repeatability.command(canon)
