"""`steelyard arena user`: registered people, teams and tools."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from steelyard.cli._arena_options import StoreOption
from steelyard.cli._options import Json
from steelyard.cli._output import Output
from steelyard.cli._question_commands import command_named, deliver
from steelyard.settings import DEFAULT_STORE

user = App(name="user", help="Register or list people, teams and tools.", help_format="plaintext")


@user.command
def add(
    kind: Annotated[str, Parameter(help="person, team or tool.")],
    identity: Annotated[str, Parameter(help="Id used in submissions, tokens and ratings.")],
    /,
    *,
    name: Annotated[str | None, Parameter(help="Display name; an empty string removes it.")] = None,
    team: Annotated[str | None, Parameter(help="Team id of a person; an empty string removes it.")] = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Register or update a person, team or tool.

    A submission belongs to the person whose id matches its submitter and to the tool whose id matches its agent.
    Over the API, registered people need a personal token (steelyard serve token create --person) to submit results,
    rate submissions or withdraw their own.

    Example: steelyard arena user add team blue --name "The Blue Team"
    Example: steelyard arena user add person ada --name "Ada Lovelace" --team blue
    """
    from steelyard.questions import add_user  # brings SQLAlchemy

    deliver(add_user(store, kind, identity, name=name, team=team), Output(json=json))
    return 0


user.command(command_named("arena_user_list"))
