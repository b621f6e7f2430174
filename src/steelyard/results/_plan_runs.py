"""What `run` gives: the outcome of a plan, what it would do, and its trials."""

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
    """Whether an agent works, a judge judges, or the unchanged or solved task is made for judges to tell apart."""
    trials: int
    passed: int
    failed: int
    no_verdict: int
    """Done without a verdict: the task has no verifier, or it broke, or a judge was asked."""
    unfinished: int
    """Tried without a result, by the fault of the infrastructure or of whoever stopped it."""
    open: int
    """Not tried yet."""
    retries: int
    """Executions beyond the first of each trial."""
    retried: int
    """Trials with more than one execution. Trying again shifts the distribution of what is measured."""
    cost_usd: float | None
    """What all executions cost; None where a cost is not known."""
    tokens: int | None
    """Tokens of all executions; None where somebody did not count."""
    is_lower_bound: bool
    """Whether cost and tokens are known to be too low."""

    @property
    def done(self) -> int:
        """Trials with a result."""
        return self.passed + self.failed + self.no_verdict


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanRun(Result):
    """The outcome of a plan."""

    name: str
    folder: Path
    groups: tuple[PlanGroup, ...]
    endings: Mapping[str, int]
    """Endings of the trials' last executions, by name."""
    stopped: Mapping[str, str]
    """Agents whose trials were started no more, with the reason."""
    spent: str | None = None
    """What was spent of the budget; None without one."""
    is_over_budget: bool = False
    """Whether trials were not started because the budget does not allow it."""
    is_interrupted: bool = False
    """Whether it was stopped by Ctrl-C."""
    had_nothing_to_run: bool = False
    """Whether every trial that was asked for had a result before."""
    next_command: str | None = None
    """The command that answers what the plan asks; None while nothing is done."""
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
        """How much is done, and what is not and why."""
        runs = [group for group in self.groups if group.kind == "run"]
        counts = {
            "passed": sum(group.passed for group in runs),
            "failed": sum(group.failed for group in runs),
            "without a verdict": sum(group.no_verdict for group in runs),
            "judged": sum(group.done for group in self.groups if group.kind == "judge"),
            "to calibrate judges": sum(group.done for group in self.groups if group.kind == "calibration"),
        }
        told = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
        begin = "nothing to run, " if self.had_nothing_to_run else ""
        count = f"{self.done:,} of {_trials_text(self.trials)} done" + (f" ({told})" if told else "")
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
            parts.append("to run trials again, choose a new directory with --out")
        elif self.done < self.trials:
            parts.append("run the same command again to resume")
        return "; ".join(parts) + "."

    def _about(self) -> str:
        return self.sentence.removesuffix(".")

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a group."""
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
    """What the trials of one agent and model would cost."""

    agent: str
    model: str | None
    trials: int
    done: int
    low_usd: float | None
    """The least that is expected; None where nothing is known."""
    high_usd: float | None
    """The most that is expected; None where nothing bounds it."""
    basis: str
    """What the range rests on."""
    command: str
    """The command of its first trial, keys masked."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanOutlook(Result):
    """What running a plan would do."""

    name: str
    folder: Path
    forecasts: tuple[PlanForecast, ...]
    budget: str | None = None
    """What was spent of what may be; None without a budget."""
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
        """What would run, and what it would cost."""
        open_ = [forecast for forecast in self.forecasts if forecast.done < forecast.trials]
        unknown = [forecast.agent for forecast in open_ if forecast.high_usd is None]
        low = sum_in_order(forecast.low_usd or 0.0 for forecast in open_)
        high = sum_in_order(forecast.high_usd or 0.0 for forecast in open_)
        known = bounds_text(low, high, "USD", bare=False)
        parts = [f"{self.name}: {_trials_text(self.trials)}, {self.done:,} done, {self.trials - self.done:,} to run"]
        if unknown:
            others = f", {known} for the others" if len(unknown) < len(open_) else ""
            parts.append(f"expected cost unknown for {', '.join(dict.fromkeys(unknown))}{others}")
        elif open_:
            parts.append(f"expected cost {known}")
        if self.budget:
            parts.append(f"spent {self.budget}")
        return "; ".join(parts) + "."

    def _about(self) -> str:
        return self.sentence.removesuffix(".")

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row an agent and model."""
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
    """A trial of a plan."""

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
    """How its last execution ended; None where none was made."""
    verdict: Literal["passed", "failed"] | None
    """What the check said of its work, however the agent ended; None without a verdict."""
    detail: str | None
    """What was seen at its end."""
    retries: int
    """Executions beyond the first."""
    cost_usd: float | None
    """What all its executions cost; None where it is not known."""
    folder: str
    """Its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanExecution:
    """An execution of a trial."""

    retry: int
    """0 for the first execution, 1 for the first retry."""
    ending: str
    cause: str | None
    """Whose fault it was; None where nothing failed."""
    detail: str | None
    """What was seen."""
    duration_seconds: float
    calls: int | None
    """Model calls; None where nobody counted."""
    tokens: int | None
    """Tokens of all its calls; None where they are not known."""
    cost_usd: float | None
    """What it cost; None where that is not known."""
    is_lower_bound: bool
    """Whether tokens and cost are known to be too low: a call has no end."""
    folder: str
    """What it left: work, home, output, the metering proxy's log, the verification."""


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanTrials(Result):
    """Trials of a plan, with the outcome of each."""

    name: str
    folder: Path
    listed: tuple[PlanTrial, ...]
    executions: tuple[PlanExecution, ...] = ()
    """The executions of the trial, where one alone was asked for."""

    @property
    def sentence(self) -> str:
        """How many there are, and how many are done."""
        done = sum(trial.state == "done" for trial in self.listed)
        return f"{self.name}: {_trials_text(len(self.listed))}, {done:,} done."

    def _about(self) -> str:
        return self.sentence.removesuffix(".")

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a trial."""
        return [asdict(trial) for trial in self.listed]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        executions = {"executions": [asdict(each) for each in self.executions]} if self.executions else {}
        return {"plan": self.name, "folder": str(self.folder), "trials": self.to_dicts(), **executions}


def _trials_text(count: int) -> str:
    return "1 trial" if count == 1 else f"{count:,} trials"
