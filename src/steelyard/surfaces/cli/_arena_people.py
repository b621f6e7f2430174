"""The arena's commands about those who take part: register, registry, tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli._arena_options import StoreOption
from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import print_json, show_results

if TYPE_CHECKING:
    from steelyard.results import Registry


def register(
    kind: Annotated[str, Parameter(help="person, team or tool.")],
    identity: Annotated[str, Parameter(help="The id that submissions, tokens and ratings name it by.")],
    /,
    *,
    name: Annotated[
        str | None,
        Parameter(help="The display name, for people to read; an empty one removes it."),
    ] = None,
    team: Annotated[str | None, Parameter(help="The id of a person's team; an empty one removes it.")] = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Register a person, a team or a tool, or change its display name or team.

    A person's submissions are those whose submitter is the id, a tool's those whose agent is. Over the API a
    registered person submits, rates and withdraws with a token of their own (token create --person).

    Example: steelyard arena register team blue --name "The Blue Team"
    Example: steelyard arena register person ada --name "Ada Lovelace" --team blue
    """
    from steelyard.workflow import register as register_in  # brings SQLAlchemy

    return _print(register_in(store, kind, identity, name=name, team=team), json=json)


def registry(
    kind: Annotated[str | None, Parameter(help="Only this kind: person, team or tool.")] = None,
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """List people, teams and tools that are registered.

    Example: steelyard arena registry person
    """
    from steelyard.workflow import registry as everybody  # brings SQLAlchemy

    return _print(everybody(store, kind), json=json)


def tool(
    tool: Annotated[str, Parameter(help="The agent that submissions name.")],
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """What the profile measures of one tool (tool_metrics), each submission ranked within the tool.

    Example: steelyard arena tool codex
    """
    from steelyard.reports import tool_parts
    from steelyard.workflow import tool_metrics  # brings SQLAlchemy

    measured = tool_metrics(store, tool)
    if json:
        print_json(measured.to_dict())
    else:
        show_results(tool_parts(measured))
    return 0


def _print(result: Registry, *, json: bool) -> int:
    from steelyard.reports import registry_lines

    if json:
        print_json(result.to_dict())
    else:
        show_results(registry_lines(result))
    return 0


COMMANDS = ((register, "register"), (registry, "registry"), (tool, "tool"))
