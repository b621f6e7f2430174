"""Answers of `run`: outcome of a plan, its forecast, and its export."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import bounds_text, counted, table_format
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions.run_list import cost_column, tokens_column
from steelyard.records import Finding, sum_in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.pages import Column, Page, PageTable

COUNTS = ("trials", "passed", "failed", "no_verdict", "unfinished", "open", "retries", "retried")


class PlanGroup(Part, frozen=True, kw_only=True):
    """The trials of one agent, model, tier and setting."""

    agent: str
    model: str | None = None
    tier: str | None = None
    setting: str | None = None
    kind: Literal["run", "judge", "calibration"] = "run"
    """Agent trials, judge trials, or calibration trials (unchanged code and reference solution for judges)."""
    trials: int
    passed: int
    failed: int
    no_verdict: int
    """Done without a verdict: no verifier, a failed verifier, or a judge trial."""
    done: int
    """Trials with a result."""
    unfinished: int
    """Executed without a result: infrastructure failure or cancelled."""
    open: int
    """Not executed yet."""
    retries: int
    """Executions beyond the first of each trial."""
    retried: int
    """Trials with more than one execution. Retries can bias the results."""
    cost_usd: float | None
    """Cost of the last execution of each trial, as in the run records; None if unknown."""
    tokens: int | None
    """Tokens of the last execution of each trial, as in the run records; None if unknown."""
    is_lower_bound: bool
    """Whether cost and tokens are lower bounds: a call has no end, or the cost or tokens of a trial are unknown."""
    retry_cost_usd: float | None
    """Cost of the earlier executions, which is not in the run records; None if there are none, or unknown."""
    retry_cost_is_lower_bound: bool
    """Whether the cost of the earlier executions is a lower bound."""


class PlanRun(Answer, frozen=True, kw_only=True):
    """Outcome of a plan."""

    rows: ClassVar[Rows] = Rows("groups")
    plan: str
    """Name of the plan."""
    folder: str
    """Results directory."""
    trials: int
    done: int
    """Trials with a result."""
    groups: tuple[PlanGroup, ...]
    endings: dict[str, int]
    """Endings of the trials' last executions, by name."""
    stopped: dict[str, str]
    """Stopped agents, with the reason."""
    spent: str | None = None
    """Spending and budget; None without a budget."""
    is_over_budget: bool = False
    """Whether trials were not started because of the budget."""
    is_interrupted: bool = False
    """Whether it was stopped by Ctrl-C."""
    had_nothing_to_run: bool = False
    """Whether all selected trials already had a result."""
    next_command: str | None = None
    """Suggested analysis command; None if no trial is done."""
    findings: tuple[Finding, ...] = ()

    @property
    def about(self) -> str:
        """Finished and unfinished trials."""
        runs = [group for group in self.groups if group.kind == "run"]
        counts = {
            "passed": sum(group.passed for group in runs),
            "failed": sum(group.failed for group in runs),
            "without a verdict": sum(group.no_verdict for group in runs),
            "judged": sum(group.done for group in self.groups if group.kind == "judge"),
            "for calibration": sum(group.done for group in self.groups if group.kind == "calibration"),
        }
        states = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
        begin = "nothing to run, " if self.had_nothing_to_run else ""
        count = f"{self.done:,} of {counted(self.trials, 'trial')} done" + (f" ({states})" if states else "")
        parts = [f"{self.plan}: {begin}{count}"]
        unfinished = sum(group.unfinished for group in self.groups)
        if unfinished:
            parts.append(f"{unfinished:,} without a result")
        parts += [f"{agent} was stopped: {reason}" for agent, reason in self.stopped.items()]
        if self.is_over_budget:
            parts.append("the rest of the budget is not enough for another trial")
        if self.spent:
            parts.append(f"spent {self.spent}")
        if self.had_nothing_to_run:
            parts.append("to run trials again, choose a new directory")
        elif self.is_over_budget:
            parts.append("raise the budget and run the same command again to resume")
        elif self.done < self.trials:
            parts.append("run the same command again to resume")
        return "; ".join(parts)


class PlanForecast(Part, frozen=True, kw_only=True):
    """Expected cost of the trials of one agent and model."""

    agent: str
    model: str | None
    trials: int
    done: int
    low_usd: float | None
    """Lower end of the expected cost; None if unknown."""
    high_usd: float | None
    """Upper end of the expected cost; None if unbounded."""
    basis: str
    """Basis of the range."""
    command: str
    """Command of the first trial, with keys masked."""


class PlanOutlook(Answer, frozen=True, kw_only=True):
    """Forecast of a plan (dry run)."""

    rows: ClassVar[Rows] = Rows("forecasts")
    plan: str
    """Name of the plan."""
    folder: str
    """Results directory."""
    trials: int
    done: int
    """Trials with a result."""
    forecasts: tuple[PlanForecast, ...]
    budget: str | None = None
    """Spending and budget; None without a budget."""
    findings: tuple[Finding, ...] = ()

    @property
    def about(self) -> str:
        """Pending trials and expected cost."""
        open_ = [forecast for forecast in self.forecasts if forecast.done < forecast.trials]
        unknown = [forecast.agent for forecast in open_ if forecast.high_usd is None]
        low = sum_in_order(forecast.low_usd or 0.0 for forecast in open_)
        high = sum_in_order(forecast.high_usd or 0.0 for forecast in open_)
        known = bounds_text(low, high, "USD", bare=False)
        todo = f"{self.done:,} done, {self.trials - self.done:,} to run"
        parts = [f"{self.plan}: {counted(self.trials, 'trial')}, {todo}"]
        if unknown:
            others = f" (other agents: {known})" if len(unknown) < len(open_) else ""
            parts.append(f"expected cost unknown for {', '.join(dict.fromkeys(unknown))}{others}")
        elif open_:
            parts.append(f"expected cost {known}")
        if self.budget:
            parts.append(f"spent {self.budget}")
        return "; ".join(parts)


class ExportCommand(Part, frozen=True, kw_only=True):
    """A command to enter after the export."""

    step: Literal["run", "measure"]
    command: str


class PlanExport(Answer, frozen=True, kw_only=True):
    """A plan as a job for another tool."""

    rows: ClassVar[Rows] = Rows("commands", keep=("folder",))
    folder: str
    """Directory of the job."""
    commands: tuple[ExportCommand, ...]
    findings: tuple[Finding, ...] = ()
    """What the other tool does not support."""

    @property
    def about(self) -> str:
        """The directory."""
        return f"wrote {self.folder}"


def page(answer: PlanRun | PlanOutlook | PlanExport) -> Page:
    """Return the summary and the table."""
    if isinstance(answer, PlanExport):
        commands = {each.step: each.command for each in answer.commands}
        return pages.Page(
            name="run-export",
            title="Export of a plan",
            answer=f"{answer.about}: {commands['run']}",
            notes=(f"then: {commands['measure']}",),
        )
    facts = (("results", answer.folder),)
    if isinstance(answer, PlanOutlook):
        return pages.Page(
            name="run",
            title="What will the plan cost?",
            answer=f"{answer.about}.",
            table=_forecast_table(answer),
            facts=facts,
        )
    return pages.Page(
        name="run",
        title="How far along is the plan?",
        answer=f"{answer.about}.",
        table=_group_table(answer),
        details=(f"Next: {answer.next_command}",) if answer.next_command else (),
        facts=facts,
    )


def _group_table(answer: PlanRun) -> PageTable:
    groups = answer.groups
    agents = [f"{each.agent} (calibration)" if each.kind == "calibration" else each.agent for each in groups]

    def counts(name: str) -> Column:
        values = [getattr(group, name) for group in groups]
        texts = [f"{value:,}" if value else pages.DASH for value in values]
        column = pages.count_column(name, name.replace("_", " "), values)
        return replace(column, texts=texts, spare=1 if name == "retries" else 0)

    bounds = [group.is_lower_bound for group in groups]
    return pages.PageTable(
        caption="Trials by agent",
        columns=(
            pages.text_column("agent", "agent", agents),
            *(
                pages.text_column(name, name, [getattr(group, name) for group in groups])
                for name in ("model", "tier", "setting")
            ),
            *map(counts, COUNTS),
            cost_column([group.cost_usd for group in groups], bounds),
            tokens_column([group.tokens for group in groups], bounds),
            *_retry_costs(groups),
        ),
    )


def _retry_costs(groups: Sequence[PlanGroup]) -> list[Column]:
    """The cost of earlier executions, where there are some."""
    if not any(group.retries for group in groups):
        return []
    bounds = [group.retry_cost_is_lower_bound for group in groups]
    column = cost_column([group.retry_cost_usd for group in groups], bounds)
    return [replace(column, name="retry_cost_usd", title="cost of retries")]


def _forecast_table(answer: PlanOutlook) -> PageTable:
    rows = answer.forecasts

    def bound(name: str, title: str) -> Column:
        values = [getattr(each, name) for each in rows]
        numbers = table_format(values, "USD")
        return pages.Column(
            name=name, title=title, values=values, decimals=6, texts=[numbers.text(value) for value in values]
        )

    return pages.PageTable(
        caption="Expected cost by agent",
        columns=(
            pages.text_column("agent", "agent", [each.agent for each in rows]),
            pages.text_column("model", "model", [each.model for each in rows]),
            pages.count_column("trials", "trials", [each.trials for each in rows]),
            pages.count_column("done", "done", [each.done for each in rows]),
            bound("low_usd", "at least"),
            bound("high_usd", "at most"),
            pages.text_column("basis", "basis", [each.basis for each in rows]),
            pages.text_column("command", "command", [each.command or None for each in rows]),
        ),
    )
