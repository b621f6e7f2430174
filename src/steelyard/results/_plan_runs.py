"""Results of `run`: outcome of a plan, forecast, and trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from steelyard.formatting import bounds_text
from steelyard.records import Finding, finding_dict, sum_in_order
from steelyard.results._base import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGroup:
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
    unfinished: int
    """Executed without a result: infrastructure failure or cancelled."""
    open: int
    """Not executed yet."""
    retries: int
    """Executions beyond the first of each trial."""
    retried: int
    """Trials with more than one execution. Retries can bias the results."""
    cost_usd: float | None
    """Cost of all executions; None if unknown."""
    tokens: int | None
    """Tokens of all executions; None if unknown."""
    is_lower_bound: bool
    """Whether cost and tokens are lower bounds."""

    @property
    def done(self) -> int:
        """Trials with a result."""
        return self.passed + self.failed + self.no_verdict


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanRun(Result):
    """Outcome of a plan."""

    name: str
    folder: Path
    groups: tuple[PlanGroup, ...]
    endings: Mapping[str, int]
    """Endings of the trials' last executions, by name."""
    stopped: Mapping[str, str]
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
    def trials(self) -> int:
        """Trials of the plan."""
        return sum(group.trials for group in self.groups)

    @property
    def done(self) -> int:
        """Trials with a result."""
        return sum(group.done for group in self.groups)

    @property
    def sentence(self) -> str:
        """Summary of finished and unfinished trials."""
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
        count = f"{self.done:,} of {_trials_text(self.trials)} done" + (f" ({states})" if states else "")
        parts = [f"{self.name}: {begin}{count}"]
        unfinished = sum(group.unfinished for group in self.groups)
        if unfinished:
            parts.append(f"{unfinished:,} without a result")
        parts += [f"{agent} was stopped: {reason}" for agent, reason in self.stopped.items()]
        if self.is_over_budget:
            parts.append("the budget is used up")
        if self.spent:
            parts.append(f"spent {self.spent}")
        if self.had_nothing_to_run:
            parts.append("to run trials again, choose a new directory")
        elif self.done < self.trials:
            parts.append("run the same command again to resume")
        return "; ".join(parts) + "."

    def _about(self) -> str:
        return self.sentence.removesuffix(".")

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row per group."""
        return [{**asdict(group), "done": group.done} for group in self.groups]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "plan": self.name,
            "folder": str(self.folder),
            "trials": self.trials,
            "done": self.done,
            "groups": self.to_dicts(),
            "endings": dict(self.endings),
            "stopped": dict(self.stopped),
            "spent": self.spent,
            "is_over_budget": self.is_over_budget,
            "is_interrupted": self.is_interrupted,
            "next_command": self.next_command,
            "summary": self.sentence,
            "findings": [finding_dict(finding) for finding in self.findings],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanForecast:
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


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanOutlook(Result):
    """Forecast of a plan (dry run)."""

    name: str
    folder: Path
    forecasts: tuple[PlanForecast, ...]
    budget: str | None = None
    """Spending and budget; None without a budget."""
    findings: tuple[Finding, ...] = ()

    @property
    def trials(self) -> int:
        """Trials of the plan."""
        return sum(forecast.trials for forecast in self.forecasts)

    @property
    def done(self) -> int:
        """Trials with a result."""
        return sum(forecast.done for forecast in self.forecasts)

    @property
    def sentence(self) -> str:
        """Summary of pending trials and expected cost."""
        open_ = [forecast for forecast in self.forecasts if forecast.done < forecast.trials]
        unknown = [forecast.agent for forecast in open_ if forecast.high_usd is None]
        low = sum_in_order(forecast.low_usd or 0.0 for forecast in open_)
        high = sum_in_order(forecast.high_usd or 0.0 for forecast in open_)
        known = bounds_text(low, high, "USD", bare=False)
        parts = [f"{self.name}: {_trials_text(self.trials)}, {self.done:,} done, {self.trials - self.done:,} to run"]
        if unknown:
            others = f" (other agents: {known})" if len(unknown) < len(open_) else ""
            parts.append(f"expected cost unknown for {', '.join(dict.fromkeys(unknown))}{others}")
        elif open_:
            parts.append(f"expected cost {known}")
        if self.budget:
            parts.append(f"spent {self.budget}")
        return "; ".join(parts) + "."

    def _about(self) -> str:
        return self.sentence.removesuffix(".")

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row per agent and model."""
        return [asdict(forecast) for forecast in self.forecasts]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "plan": self.name,
            "folder": str(self.folder),
            "trials": self.trials,
            "done": self.done,
            "forecasts": self.to_dicts(),
            "budget": self.budget,
            "summary": self.sentence,
            "findings": [finding_dict(finding) for finding in self.findings],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTrial:
    """Trial of a plan."""

    id: str
    kind: Literal["run", "judge"]
    task: str
    agent: str
    model: str | None
    tier: str | None
    setting: str | None
    attempt: int
    state: Literal["done", "unfinished", "open"]
    ending: str | None
    """Ending of the last execution; None if there is none."""
    verdict: Literal["passed", "failed"] | None
    """Verdict of the check; None without a verdict."""
    detail: str | None
    """Details of the ending."""
    retries: int
    """Executions beyond the first."""
    cost_usd: float | None
    """Cost of all executions; None if unknown."""
    folder: str
    """Directory of the trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanExecution:
    """Execution of a trial."""

    retry: int
    """0 for the first execution, 1 for the first retry."""
    ending: str
    cause: str | None
    """Cause of the failure; None without a failure."""
    detail: str | None
    """Details."""
    duration_seconds: float
    calls: int | None
    """Number of model calls; None if unknown."""
    tokens: int | None
    """Tokens of all calls; None if unknown."""
    cost_usd: float | None
    """Cost; None if unknown."""
    is_lower_bound: bool
    """Whether tokens and cost are lower bounds because a call has no end."""
    folder: str
    """Directory with work, home, output, metering log and verification."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanTrials(Result):
    """Trials of a plan with their outcomes."""

    name: str
    folder: Path
    listed: tuple[PlanTrial, ...]
    executions: tuple[PlanExecution, ...] = ()
    """Executions, if a single trial was requested."""

    @property
    def sentence(self) -> str:
        """Number of trials and of finished trials."""
        done = sum(trial.state == "done" for trial in self.listed)
        return f"{self.name}: {_trials_text(len(self.listed))}, {done:,} done."

    def _about(self) -> str:
        return self.sentence.removesuffix(".")

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row per trial."""
        return [asdict(trial) for trial in self.listed]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        executions = {"executions": [asdict(each) for each in self.executions]} if self.executions else {}
        return {"plan": self.name, "folder": str(self.folder), "trials": self.to_dicts(), **executions}


def _trials_text(count: int) -> str:
    return "1 trial" if count == 1 else f"{count:,} trials"
