"""Show results per task and agent.

Tasks are ordered by difficulty, or by how well they separate the agents (discrimination).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from steelyard import pages  # its names are imported on first use
from steelyard.errors import NoValidInputError, UsageError
from steelyard.formatting import NumberFormat, counted, difference_text, number_format
from steelyard.metrics import Metric, catalog
from steelyard.option_names import option
from steelyard.questions import analysis
from steelyard.questions._expected_tasks import TasksOptions, with_expected_tasks
from steelyard.questions._figure_options import EngineOptions, VerdictOptions
from steelyard.questions._group_keys import keys_with_scheme, tier_name
from steelyard.questions._measured_tables import open_table
from steelyard.questions._question import Names, doc, question
from steelyard.questions._run_input import Measurable
from steelyard.questions.compare import table_findings
from steelyard.questions.matrix._answer import (
    Matrix as Matrix,
    MatrixCell as MatrixCell,
    MatrixGroup as MatrixGroup,
    MatrixTask as MatrixTask,
    TaskOrder as TaskOrder,
)
from steelyard.questions.measure import checked_keys
from steelyard.records import Missing, Selection, key_label, key_text
from steelyard.statistics import WeightBy

if TYPE_CHECKING:
    from steelyard.metrics import Key
    from steelyard.pages import Column, Page
    from steelyard.questions.analysis import Mask, Samples
    from steelyard.sources import RunTable

TERMINAL_ROWS = 40
"""Tasks that a terminal shows."""
DISCRIMINATION = "Discrimination: positive if stronger groups do better on the task, negative if weaker ones do."
RUN_FILTERS = ("agent", "model")
"""Keys by which the list of runs can be filtered, in addition to the task."""


class MatrixOptions(VerdictOptions, TasksOptions, EngineOptions):
    """Options of `matrix`."""

    by: Names = doc(
        "Comma-separated keys that define the columns: agent, model, tier, experiment, file or a custom field.",
        default=("agent", "model"),
    )
    metric: str = doc("Metric to show.", default="pass_rate")
    order: TaskOrder = doc("Task order.", default="difficulty")
    baseline: Selection | None = doc(
        "Baseline group, e.g. agent=NAME (default: the first group, if there are exactly two).",
        default=None,
        short="-a",
    )
    candidate: Selection | None = doc(
        "Group to compare with the baseline (default: the second group, if there are exactly two).",
        default=None,
        short="-b",
    )
    weight_by: WeightBy = doc("Weight every task equally (tasks) or every run equally (runs).", default="tasks")


@question(MatrixOptions, examples=({"by": "agent", "order": "discrimination"},))
def matrix(runs: Measurable, options: MatrixOptions) -> Matrix:
    """Return one metric of every task by every group, with task difficulty and discrimination.

    >>> import steelyard as sy
    >>> sy.matrix(sy.demo_runs(), by=["tier"])
    Matrix(20 tasks x 7 groups by tier on pass_rate)
    """
    from steelyard.questions.matrix._tasks import matrix_tasks  # brings numpy and scipy

    keys_by, declared = _columns_by(options.by), _shown(options.metric)
    profile = options.outcome_profile()
    table = with_expected_tasks(open_table(runs, [declared.name], options, keys=keys_by), options.tasks, keys_by)
    keys_by, tier_scheme, scheme_findings = keys_with_scheme(keys_by, table.tier_schemes() if "tier" in keys_by else [])
    samples = analysis.samples_of(table, [declared.name], profile=profile, weight_by=options.weight_by, any_size=True)
    _check_any(samples, declared)
    keys, codes = analysis.groups_of(table, keys_by, profile=profile)
    pair = _pair(options, keys_by, keys)
    rows = matrix_tasks(
        samples, codes, declared.name, size=len(keys), errored=_errored(table), order=options.order, pair=pair
    )
    figures = samples.figures(declared.name, codes, len(keys)).tolist()
    cells = [[row.cells[place] for row in rows] for place in range(len(keys))]
    groups = tuple(
        MatrixGroup(
            key=dict(zip(keys_by, key, strict=True)),
            tier_name=tier_name(dict(zip(keys_by, key, strict=True)), tier_scheme),
            value=None if figure != figure else figure,  # noqa: PLR0124 # NaN alone is not itself
            tasks=sum(cell is not None and cell.value is not None for cell in column),
            runs=sum(cell.runs for cell in column if cell is not None),
        )
        for key, figure, column in zip(keys, figures, cells, strict=True)
    )
    return Matrix(
        by=tuple(keys_by),
        tier_scheme=tier_scheme,
        metric=declared.name,
        order=options.order,
        groups=groups,
        tasks=rows,
        baseline=None if pair is None else groups[pair[0]].key,
        candidate=None if pair is None else groups[pair[1]].key,
        n=table.n,
        profile=profile.name,
        findings=(*table_findings(table), *scheme_findings),
        rejected_count=table.rejected_count,
        weight_by=options.weight_by,
        unscored=profile.unscored,
    )


_BOTH = f"{option('baseline', 'agent=NAME')} {option('candidate', 'agent=NAME')}"


def _columns_by(by: Sequence[str]) -> list[str]:
    keys = checked_keys(by)
    if not keys:
        raise UsageError("no columns given", hint=option("by", "agent,model"))
    if "task" in keys:
        raise UsageError("cannot group by task: tasks are the rows of the matrix", hint=option("by", "agent,model"))
    return keys


def _shown(name: str) -> Metric:
    (known,) = analysis.comparable([name])
    return catalog()[known]


def _check_any(samples: Samples, declared: Metric) -> None:
    for values in samples.values.values():
        if isinstance(values, Missing):
            raise NoValidInputError(f"no run has a {declared.name}: {values.reason}")


def _errored(table: RunTable) -> Mask:
    """The runs that ended in an error."""
    import polars as pl  # heavy: --help does not need it

    if "outcome" not in table.frame.collect_schema().names():
        return pl.repeat(value=False, n=table.n, eager=True).to_numpy()
    return table.frame.select(pl.col("outcome").eq("errored").fill_null(value=False)).collect().to_series().to_numpy()


def _pair(options: MatrixOptions, by: Sequence[str], keys: Sequence[Key]) -> tuple[int, int] | None:
    """The two groups to take differences of: those that are named, or the only two."""
    if (options.baseline is None) != (options.candidate is None):
        raise UsageError(f"{option('baseline')} and {option('candidate')} must be given together", hint=_BOTH)
    if options.baseline is not None and options.candidate is not None:
        pair = _named(options.baseline, "baseline", by, keys), _named(options.candidate, "candidate", by, keys)
        if pair[0] == pair[1]:
            raise UsageError(f"{option('baseline')} and {option('candidate')} name the same group")
        return pair
    if len(keys) == 2:
        return 0, 1
    if options.order == "disagreement":
        message = f"{option('order', 'disagreement')} needs two groups (got {len(keys):,})"
        raise UsageError(message, hint=_BOTH)
    return None


def _named(chosen: Selection, side: str, by: Sequence[str], keys: Sequence[Key]) -> int:
    """The one group that has these values."""
    asked = analysis.read_filter(chosen, option=side)
    for name in asked:
        if name not in by:
            raise UsageError(
                f"{option(side)} uses {name}, which is not in {option('by')}", hint=option("by", ",".join([*by, name]))
            )
    matching = [place for place, key in enumerate(keys) if _has(dict(zip(by, key, strict=True)), asked)]
    if len(matching) != 1:
        some = "; ".join(key_label(by, keys[place]) for place in (matching or range(len(keys)))[:6])
        raise UsageError(f"{option(side)} matches {len(matching)} groups", where=option(side), hint=f"one of: {some}")
    return matching[0]


def _has(key: Mapping[str, str | int | None], asked: Mapping[str, str]) -> bool:
    return all(key_text(key[name]) == value for name, value in asked.items())


def page(answer: Matrix) -> Page:
    """Return one row per task and one column per group."""
    metric = catalog()[answer.metric]
    title = f"{metric.title} {metric.arrow}".rstrip()
    made = pages.Page(
        name="matrix",
        title="Which tasks separate the agents? Which are unsolved?",
        answer=_sentence(answer, metric),
        notes=tuple(_notes(answer)),
        table=pages.PageTable(
            caption=f"{title} by task, sorted by {answer.order}, {pages.weighting(answer)}",
            columns=tuple(_columns(answer, metric)),
            terminal_rows=TERMINAL_ROWS,
        ),
        facts=(("runs", f"{answer.n:,}"), *pages.counting_facts(answer)),
    )
    return pages.with_figures(made, answer, ("heatmap",))


def _sentence(answer: Matrix, metric: Metric) -> str:
    whole = f"{counted(len(answer.tasks), 'task')} by {counted(len(answer.groups), 'group')} ({', '.join(answer.by)})"
    valued = [row for row in answer.tasks if row.mean is not None]
    if not metric.binary:
        return f"{whole}: {counted(len(valued), 'task')} with a {metric.title.lower()}."
    none = sum(row.mean == 0 for row in valued)
    every = sum(row.mean == 1 for row in valued)
    return f"{whole}: {none:,} unsolved, {every:,} solved in every run, {len(valued) - none - every:,} mixed."


def _notes(answer: Matrix) -> Iterator[str]:
    if answer.baseline is not None and answer.candidate is not None:
        a, b = (" ".join(map(key_text, key.values())) for key in (answer.baseline, answer.candidate))
        yield f"B - A: {b} minus {a}."


def _columns(answer: Matrix, metric: Metric) -> Iterator[Column]:
    tasks = answer.tasks
    yield pages.Column(name="task", title="task", values=[row.task for row in tasks], foot="all tasks")
    for place, group in enumerate(answer.groups):
        yield _group_column(answer, place, group, metric)
    means = pages.level_column("mean", "mean of groups", [row.mean for row in tasks], metric.unit)
    yield replace(means, spare=1)
    telling = _difference_column("discrimination", "discrimination", [row.discrimination for row in tasks], metric)
    yield replace(telling, spare=0 if answer.order == "discrimination" else 2, legend=DISCRIMINATION)
    if answer.baseline is not None:
        yield _difference_column("difference", "B - A", [row.difference for row in tasks], metric)


def _group_column(answer: Matrix, place: int, group: MatrixGroup, metric: Metric) -> Column:
    cells = [row.cells[place] for row in answer.tasks]
    numbers = number_format([*(cell.value for cell in cells if cell is not None), group.value], metric.unit)
    names = [pages.key_cell(group.key, name, answer.tier_scheme) for name in answer.by if name != "tier_scheme"]
    return pages.Column(
        name=f"group-{place}",
        title="\n".join(names),
        values=[None if cell is None else cell.value for cell in cells],
        decimals=6,
        texts=[_cell_text(cell, numbers, metric) for cell in cells],
        links=[
            None if cell is None else _runs_path(row.task, group.key)
            for row, cell in zip(answer.tasks, cells, strict=True)
        ]
        if {*group.key} <= {*RUN_FILTERS}
        else None,
        foot=numbers.text(group.value),
    )


def _cell_text(cell: MatrixCell | None, numbers: NumberFormat, metric: Metric) -> str:
    """Return passes and attempts, or the value; blank if the group did not attempt the task."""
    if cell is None:
        return ""
    errored = f" ({cell.errored} errored)" if cell.errored else ""
    if cell.value is None:
        return f"{pages.DASH}{errored}"
    if metric.binary:
        return f"{round(cell.value * cell.runs):,}/{cell.runs:,}{errored}"
    return f"{numbers.text(cell.value)}{errored}"


def _difference_column(name: str, title: str, values: Sequence[float | None], metric: Metric) -> Column:
    texts = [
        pages.DASH if value is None else difference_text(value, metric.unit, signed=True, bare=True) for value in values
    ]
    return pages.Column(name=name, title=title, values=values, decimals=6, texts=texts)


def _runs_path(task: str, key: Mapping[str, str | int | None]) -> str:
    chosen = [("task", task), *((name, str(key[name])) for name in RUN_FILTERS if key.get(name) is not None)]
    return f"/runs?{urlencode(chosen, errors='replace')}"
