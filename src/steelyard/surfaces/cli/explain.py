from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.errors import UsageError
from steelyard.prices import DEFAULT_BOOK
from steelyard.records.missing import Missing
from steelyard.surfaces.cli._arena_views import show
from steelyard.surfaces.cli._options import Json, PricesOption, ProfileOption, split_names
from steelyard.surfaces.cli._print import console, print_json

if TYPE_CHECKING:
    from rich.tree import Tree

    from steelyard.workflow.explain import Explanation


def explain(
    file: Annotated[str, Parameter(help="Run records, logs, or the store of an arena (sqlite:///file).")],
    metric: Annotated[str, Parameter(help="The metric to explain (steelyard metrics).")],
    /,
    *,
    run: Annotated[
        str | None, Parameter(help="The run's id, or the beginning of it; in a store, the submission's.")
    ] = None,
    by: Annotated[str | None, Parameter(help="Explain a group metric in each of these groups.")] = None,
    profile: ProfileOption = "outcome-1",
    prices: PricesOption = DEFAULT_BOOK,
    json: Json = False,
) -> int:
    """Tell how a number came: formula, values put in, constants, profile, and what was missing.

    Example: steelyard explain runs.jsonl composite_score --run demo-T3-fix-race-01
    Example: steelyard explain sqlite:///steelyard.db speed_score --run SUBMISSION
    """
    from steelyard.workflow.explain import explain_groups, explain_run  # brings the sources

    if (run is None) == (by is None):
        raise UsageError("name one run with --run ID, or groups with --by tier")
    if "://" in file:
        if run is None:
            raise UsageError("in a store, name a submission with --run ID")
        return show(run, metric, store=file, json=json)
    if by is not None:
        print_json(explain_groups(file, metric, by=split_names(by), profile=profile, prices=prices))
        return 0
    assert run is not None  # the usage check above
    found = explain_run(file, metric, run=run, profile=profile, prices=prices)
    if json:
        print_json(found.to_dict())
        return 0
    terminal = console()
    terminal.print(f"run {found.run}  ({found.where})\nprofile {found.profile}, prices {found.prices}", markup=False)
    terminal.print(_branch(found.root))
    return 0


def _branch(part: Explanation) -> Tree:
    from rich.text import Text  # only a terminal needs it
    from rich.tree import Tree

    tree = Tree(Text(_sentence(part)))
    for inner in part.inputs:
        tree.add(_branch(inner))
    return tree


def _sentence(part: Explanation) -> str:
    shown = f"{part.value}" if isinstance(part.value, Missing) else f"= {part.value}"
    unit = f" {part.unit}" if part.unit and not isinstance(part.value, Missing) else ""
    source = f" [{part.provenance}]" if part.provenance else ""
    formula = f"\n{part.formula}" if part.formula else f"  {part.title}"
    constants = "".join(f"\n{name} = {value} (profile)" for name, value in part.constants.items())
    return f"{part.name} {shown}{unit}{source}{formula}{constants}"
