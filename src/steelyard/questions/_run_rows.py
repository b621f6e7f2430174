"""List of runs: task, agent, verdict, score, cost and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import msgspec

from steelyard import metrics, pages  # names of `pages` are imported on first use
from steelyard.formatting import at_least, counted
from steelyard.metrics import catalog
from steelyard.profiles import Profile
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.records import Missing, iso

if TYPE_CHECKING:
    from steelyard.pages import Column, Page
    from steelyard.sources import RunTable

MAX_ROWS = 50_000
KEYS = ("task", "agent", "model", "tier", "attempt")
FIGURES = ("pass_rate", "impl_rate", "overall_score", "cost_usd", "total_tokens", "duration_seconds")
BOUND = "cost_is_lower_bound"
VERDICTS = {1.0: "passed", 0.0: "failed"}


class ListedRun(Part, frozen=True, kw_only=True):
    """A run with its verdict, score, cost and time; what it does not report is None."""

    run: str
    """Id."""
    task: str
    agent: str | None = None
    model: str | None = None
    tier: str | None = None
    attempt: int | None = None
    outcome: str | None = None
    """passed, failed, errored or not_scored; None without a verdict."""
    impl_rate: float | None = None
    overall_score: float | None = None
    """Score of a submission to an arena."""
    cost_usd: float | None = None
    cost_is_lower_bound: bool | None = None
    """Whether the cost is a lower bound; None if unknown."""
    total_tokens: float | None = None
    duration_seconds: float | None = None
    started: str | None = None
    """Start in UTC, to the minute."""


class RunList(Answer, frozen=True, kw_only=True):
    """Runs with their verdict, score, cost and time."""

    rows: ClassVar[Rows] = Rows("runs")
    profile: str
    prices: str
    sentence: str
    """Summary of the runs in one sentence."""
    runs: tuple[ListedRun, ...]
    """In the order of their keys."""

    @property
    def about(self) -> str:
        """Number of runs."""
        return counted(len(self.runs), "run")


def list_runs(table: RunTable, profile: Profile) -> RunList:
    """Return every run."""
    runs, sentence = listed_runs(table, profile, limit=table.n)
    return RunList(runs=runs, sentence=sentence, profile=profile.name, prices=table.price_table)


def run_columns(runs: Sequence[ListedRun]) -> dict[str, Column]:
    """Return the columns in which a run has a value."""
    values = {name: [getattr(run, name) for run in runs] for name in ListedRun.__struct_fields__}
    bounds = values.pop("cost_is_lower_bound")
    columns = {
        name: pages.run_column(name, column, catalog())
        for name, column in values.items()
        if any(value is not None for value in column)
    }
    if any(bounds) and "cost_usd" in columns:
        cost = columns["cost_usd"]
        texts = [
            at_least(cost.shown(place), is_bound=bool(bound) and cost.values[place] is not None)
            for place, bound in enumerate(bounds)
        ]
        columns["cost_usd"] = replace(cost, texts=texts)
    return columns


def page(answer: RunList) -> Page:
    """Return one row per run, with a link to its page."""
    columns = run_columns(answer.runs)
    if answer.runs:
        columns["run"] = replace(columns["run"], links=[pages.id_path("runs", run.run) for run in answer.runs])
    return pages.Page(
        name="runs",
        title="What ran, and what did each run cost?",
        answer=answer.sentence,
        table=pages.PageTable(caption="Runs", columns=tuple(columns.values())),
        facts=(("profile", answer.profile), ("prices", answer.prices)),
    )


def listed_runs(table: RunTable, profile: Profile, *, limit: int | None = None) -> tuple[tuple[ListedRun, ...], str]:
    """Return the runs in the order of their keys, up to a limit, and a sentence about all of them."""
    import polars as pl  # heavy, like the engine

    limit = MAX_ROWS if limit is None else limit
    if not table.n:
        return (), "There are no runs."
    present = table.frame.collect_schema().names()
    wanted = [name for name in ("id", *KEYS, "outcome", "start_time", BOUND) if name in present]
    frame = table.frame.select(wanted).collect()
    for name, values in metrics.engine_of(table, profile).values(FIGURES).items():
        if not isinstance(values, Missing):
            frame = frame.with_columns(pl.Series(name, values).fill_nan(None))
    order = [name for name in (*KEYS, "id") if name in present]
    frame = frame.sort(order, nulls_last=True, maintain_order=True)
    columns = {name: frame[name].head(limit).to_list() if name in frame.columns else [] for name in (*wanted, *FIGURES)}
    stated = frame["outcome"].to_list() if "outcome" in present else [None] * table.n
    rates = frame["pass_rate"].to_list() if "pass_rate" in frame.columns else [None] * table.n
    outcomes = [VERDICTS.get(rate, outcome) for rate, outcome in zip(rates, stated, strict=True)]
    starts = [
        None if start is None else iso(round(start * 1_000_000))[:16].replace("T", " ")
        for start in columns.get("start_time", ())
    ]
    shown = {
        "run": columns["id"],
        **{name: columns[name] for name in KEYS if name in columns},
        "outcome": outcomes[:limit],
        **{name: columns[name] for name in FIGURES[1:]},
        "started": starts,
        BOUND: [flag or None for flag in columns.get(BOUND, ())],
    }
    names = [name for name, values in shown.items() if values]
    runs = [dict(zip(names, row, strict=True)) for row in zip(*(shown[name] for name in names), strict=True)]
    sentence = _sentence(outcomes, frame["task"].n_unique(), table.rows)
    return msgspec.convert(runs, tuple[ListedRun, ...]), sentence


def _sentence(outcomes: list[str | None], tasks: int, kind: str) -> str:
    over = f"{counted(len(outcomes), kind)} on {counted(tasks, 'task')}"
    if kind != "run":  # only runs have verdicts
        return f"{over}."
    counts = Counter(outcome or "without a verdict" for outcome in outcomes)
    listed = ", ".join(
        f"{count:,} {outcome.replace('_', ' ')}" for outcome, count in sorted(counts.items(), key=_order)
    )
    return f"{over}: {listed}."


def _order(outcome: tuple[str, int]) -> tuple[int, str]:
    first = ("passed", "failed", "errored")
    return (first.index(outcome[0]) if outcome[0] in first else len(first)), outcome[0]
