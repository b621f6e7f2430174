from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.errors import UsageError
from steelyard.records import Missing
from steelyard.reports import TextTree
from steelyard.surfaces.cli._arena_views import show
from steelyard.surfaces.cli._output import SHOWING, Showing
from steelyard.surfaces.cli._print import console, print_findings, print_json, print_lines, reading_progress
from steelyard.surfaces.cli._typed import Typed, typed
from steelyard.workflow import ExplainOptions

if TYPE_CHECKING:
    from steelyard.results import Explanation, GroupsExplanation, RunExplanation

DEFAULTS = typed(ExplainOptions)()


def explain(
    file: Annotated[str, Parameter(help="Run records, logs (- is stdin), or the store of an arena (sqlite:///file).")],
    metric: Annotated[str, Parameter(help="The metric to explain (steelyard metrics).")],
    /,
    *,
    options: Typed[ExplainOptions] = DEFAULTS,
    showing: Showing = SHOWING,
) -> int:
    """Tell how a number came: formula, values put in, constants, profile, and what was missing.

    Example: steelyard explain runs.jsonl composite_score --run demo-T3-fix-race-01
    Example: steelyard explain runs.jsonl cost_of_pass --by tier
    Example: steelyard explain sqlite:///steelyard.db speed_score --run SUBMISSION
    """
    from steelyard.results import RunExplanation  # with the next it brings the formats
    from steelyard.workflow.explain import explain as explain_metric, store_of

    asked = replace(options, metric=metric)
    store = file if "://" in file else store_of(file, metric)
    if store is not None:
        return _show_submission(asked, store, json=showing.json)
    with reading_progress(shown=not showing.quiet) as progress:
        explanation = explain_metric(file, options=asked, progress=progress)
    if isinstance(explanation, RunExplanation):
        _show_run(explanation, json=showing.json)
        return 0
    _show_groups(explanation, json=showing.json)
    if not showing.quiet:
        print_findings(explanation.result.all_findings)
    return showing.status(explanation.result.rejected_count)


def _show_submission(asked: ExplainOptions, store: str, *, json: bool) -> int:
    """A store holds scores, made under its own profile."""
    if asked.run is None or asked.by:
        raise UsageError("in a store, name a submission with --run ID")
    if asked != replace(DEFAULTS, metric=asked.metric, run=asked.run):
        raise UsageError(
            "a store holds scores made under its own profile",
            hint="leave out all but --run: --profile, --prices, --where, --since, --until",
        )
    return show(asked.run, asked.metric, store=store, json=json)


def _show_groups(explanation: GroupsExplanation, *, json: bool) -> None:
    if json:
        print_json(explanation.to_dict())
        return
    from steelyard.reports import explanation_lines, explanation_tables  # brings rich

    terminal = console()
    for line in explanation_lines(explanation):
        terminal.print(line)
    terminal.print()
    for table in explanation_tables(explanation):
        terminal.print(table)


def _show_run(explanation: RunExplanation, *, json: bool) -> None:
    if json:
        print_json(explanation.to_dict())
        return
    print_lines(
        [f"run {explanation.run}  ({explanation.where})", f"profile {explanation.profile}, prices {explanation.prices}"]
    )
    console().print(_branch(explanation.root))


def _branch(part: Explanation) -> TextTree:
    return TextTree(_sentence(part), branches=tuple(_branch(inner) for inner in part.inputs))


def _sentence(part: Explanation) -> str:
    shown = f"{part.value}" if isinstance(part.value, Missing) else f"= {part.value}"
    unit = f" {part.unit}" if part.unit and not isinstance(part.value, Missing) else ""
    source = f" [{part.provenance}]" if part.provenance else ""
    formula = f"\n{part.formula}" if part.formula else f"  {part.title}"
    constants = "".join(f"\n{name} = {value} (profile)" for name, value in part.constants.items())
    return f"{part.name} {shown}{unit}{source}{formula}{constants}"
