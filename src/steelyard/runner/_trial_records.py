"""A trial, its executions, how each ended, and what came of it: what stands in a plan's folder."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from steelyard.records import Amount, Count, FailureCause, Finding, Record, Run, Usage
from steelyard.runner._plan_records import FromOne, Scalar

TrialKind = Literal["run", "judge"]


class Trial(Record, frozen=True, kw_only=True):
    """One thing to run: a task, by an agent with a model, tier and setting, for the n-th time."""

    id: str
    """Sixteen hexadecimal digits of the SHA-256 over what makes the trial what it is."""
    kind: TrialKind = "run"
    """Whether an agent works on a task, or a judge judges what came of trials."""
    task: str
    """The task's id."""
    agent: str
    """The label of the agent, or of the judge."""
    model: str | None = None
    """The model that is asked for."""
    tier: str | None = None
    """The tier's name."""
    setting: dict[str, Scalar] = msgspec.field(default_factory=dict)
    """The setting."""
    attempt: FromOne = 1
    """Which attempt, from 1 on; of a judge, which sample."""
    time_limit_seconds: float
    """How long an execution may take."""
    work: str = ""
    """The same digest without how the work is checked: `--regrade` finds by it what an agent did under other checks."""
    judged: tuple[str, ...] = ()
    """The trials that a judge looks at, in the order in which it sees them."""
    is_calibration: bool = False
    """Whether it runs for the judges' sake alone, as `nop` and `oracle` that they must tell apart."""

    @property
    def sentence(self) -> str:
        """What the trial is, in a few words."""
        settings = ", ".join(f"{name}={value}" for name, value in self.setting.items())
        parts = [self.task, self.agent, self.model, self.tier, settings, f"attempt {self.attempt}"]
        return " · ".join(part for part in parts if part)


class Ending(Record, frozen=True, kw_only=True):
    """How an execution ended, by evidence."""

    name: str
    """One word for scripts: `passed`, `agent_timeout`, `not_started`, ..."""
    cause: FailureCause | None = None
    """Whose fault it was; None where nothing failed."""
    is_retried: bool = False
    """Whether another execution makes sense: only after infrastructure failures."""
    is_verified: bool = False
    """Whether the work is worth verifying."""
    stops_agent: bool = False
    """Whether no other trial of the agent would fare better: 401, 403, or a quota that is used up."""
    detail: str | None = None
    """What was seen, for people."""

    @property
    def is_final(self) -> bool:
        """Whether the trial is finished; otherwise the next run of the plan retries it."""
        return not (self.is_retried or self.stops_agent or self.cause == "cancelled")


class ExecutionResult(Record, frozen=True, kw_only=True):
    """The outcome of one execution."""

    retry: Count
    """Number of the execution: 0 for the first, 1 for the first retry."""
    ending: Ending
    """How it ended."""
    started_at: datetime
    """Start."""
    ended_at: datetime
    """End."""
    calls: Count | None = None
    """Model calls; None where nobody counted."""
    usage: Usage | None = None
    """Tokens of all its calls; None where nobody counted."""
    cost_usd: Amount | None = None
    """What it cost; None where no price is known."""
    is_lower_bound: bool = False
    """Whether tokens and cost are known to be too low: a call has no end."""


class ExecutionOutcome(Record, frozen=True, kw_only=True):
    """An execution, and the Run that tells of it."""

    result: ExecutionResult
    """The outcome of it."""
    run: Run | None = None
    """The Run; None where a judge judged."""
    judgment: dict[str, object] | None = None
    """What the judge said; None for an agent."""
    findings: tuple[Finding, ...] = ()
    """What a reader should know."""


class TrialResult(Record, frozen=True, kw_only=True):
    """The outcome of a trial; its file is written last, so that it being there means that the trial is done."""

    id: str
    """The trial's id."""
    ending: Ending
    """How its last execution ended."""
    executions: tuple[ExecutionResult, ...]
    """Every execution."""
    run: Run | None = None
    """The Run; None where a judge judged."""
    judgment: dict[str, object] | None = None
    """What the judge said; None for an agent."""
    findings: tuple[Finding, ...] = ()
    """What a reader should know."""
