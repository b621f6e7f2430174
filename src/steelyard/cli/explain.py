from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.cli._arena_views import show
from steelyard.cli._output import SHOWING, Showing
from steelyard.cli._print import console, print_findings, print_json, print_lines, reading_progress
from steelyard.cli._typed import Typed, typed
from steelyard.errors import UsageError
from steelyard.pages import TextTree
from steelyard.questions import ExplainOptions
from steelyard.records import Missing

if TYPE_CHECKING:
    from steelyard.results import Explanation, GroupsExplanation, RunExplanation

DEFAULTS = typed(ExplainOptions)()
VALUES_SHOWN = 8


def explain(
    file: Annotated[
        str,
        Parameter(
            help="Run records or logs (- for stdin), a directory of outputs, or an arena store (sqlite:///FILE)."
        ),
    ],
    metric: Annotated[str, Parameter(help="Metric to explain (see: steelyard metrics).")],
    /,
    *,
    options: Typed[ExplainOptions] = DEFAULTS,
    showing: Showing = SHOWING,
) -> int:
    """Show how a number was computed.

    Example: steelyard explain runs.jsonl composite_score --run demo-T3-fix-race-01
    Example: steelyard explain runs.jsonl cost_of_pass --by tier
    Example: steelyard explain runs.jsonl grade
    Example: steelyard explain outputs/ r_raw --run TASK
    Example: steelyard explain sqlite:///steelyard.db speed_score --run SUBMISSION
    """
    from steelyard.questions.explain import explain as explain_metric, store_of
    from steelyard.results import RunExplanation  # with the next one, imports the formats

    asked = options.replace(metric=metric)
    store = file if "://" in file else store_of(file, metric)
    if store is not None and asked.run is not None:
        return _show_submission(asked, store, asked.run, json=showing.json)
    with reading_progress(shown=not showing.quiet) as progress:
        explanation = explain_metric(store or file, options=asked, progress=progress)
    if isinstance(explanation, RunExplanation):
        _show_run(explanation, json=showing.json)
        return 0
    _show_groups(explanation, json=showing.json)
    if not showing.quiet:
        print_findings(explanation.result.findings)
    return showing.status(explanation.result.rejected_count)


def _show_submission(asked: ExplainOptions, store: str, submission: str, *, json: bool) -> int:
    """Explain a stored score, which depends on the store's profile."""
    if asked != replace(DEFAULTS, metric=asked.metric, run=submission):
        raise UsageError(
            "stored scores were computed with the store's profile",
            hint="remove --profile, --prices, --where, --since and --until",
        )
    return show(submission, asked.metric, store=store, json=json)


def _show_groups(explanation: GroupsExplanation, *, json: bool) -> None:
    if json:
        print_json(explanation.to_dict())
        return
    from steelyard.questions import explanation_lines, explanation_tables  # imports the tables

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
    shown = f"{part.value}" if isinstance(part.value, Missing) else f"= {_short(part.value)}"
    unit = f" {part.unit}" if part.unit not in (None, "", "fraction") and not isinstance(part.value, Missing) else ""
    source = f" [{part.provenance}]" if part.provenance else ""
    formula = f"\n{part.formula}" if part.formula else f"  {part.title}"
    constants = "".join(f"\n{name} = {value} (profile)" for name, value in part.constants.items())
    return f"{part.name} {shown}{unit}{source}{formula}{constants}"


def _short(value: object) -> object:
    """Return the value, or the first values of a long list and their number."""
    if not isinstance(value, list) or len(value) <= VALUES_SHOWN:
        return value
    return f"{', '.join(str(each) for each in value[:VALUES_SHOWN])}, ... ({len(value):,} total)"
