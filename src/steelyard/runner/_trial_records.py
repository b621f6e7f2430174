"""Records in a plan's folder: trials, executions, endings and results."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from steelyard.records import Amount, Count, FailureCause, Finding, Record, Run, Usage
from steelyard.runner._plan_records import FromOne, Scalar

TrialKind = Literal["run", "judge"]


class Trial(Record, frozen=True, kw_only=True):
    """Trial: task, agent, model, tier, setting and attempt."""

    id: str
    """First 16 hexadecimal digits of the SHA-256 of the trial's inputs."""
    kind: TrialKind = "run"
    """Agent trial or judge trial."""
    task: str
    """The task's id."""
    agent: str
    """The label of the agent, or of the judge."""
    model: str | None = None
    """The requested model."""
    tier: str | None = None
    """The tier's name."""
    setting: dict[str, Scalar] = msgspec.field(default_factory=dict)
    """The setting."""
    attempt: FromOne = 1
    """Attempt number from 1; for a judge, the sample number."""
    time_limit_seconds: float
    """How long an execution may take."""
    work: str = ""
    """Digest without the check, by which `--regrade` finds earlier work of the same trial."""
    judged: tuple[str, ...] = ()
    """Judged trials, in the order in which the judge sees them."""
    is_calibration: bool = False
    """Whether it only calibrates judges (`nop` and `oracle`)."""

    @property
    def sentence(self) -> str:
        """Short description of the trial."""
        settings = ", ".join(f"{name}={value}" for name, value in self.setting.items())
        parts = [self.task, self.agent, self.model, self.tier, settings, f"attempt {self.attempt}"]
        return " · ".join(part for part in parts if part)


class Ending(Record, frozen=True, kw_only=True):
    """Ending of an execution, based on evidence."""

    name: str
    """Code: `passed`, `agent_timeout`, `not_started`, ..."""
    cause: FailureCause | None = None
    """Cause of the failure; None without a failure."""
    is_retried: bool = False
    """Whether it is retried: only after infrastructure failures."""
    is_verified: bool = False
    """Whether the work is verified."""
    stops_agent: bool = False
    """Whether all trials of the agent would fail: 401, 403 or a used-up quota."""
    detail: str | None = None
    """Details for users."""

    @property
    def is_final(self) -> bool:
        """Whether the trial is finished; otherwise the next run of the plan retries it."""
        return not (self.is_retried or self.stops_agent or self.cause == "cancelled")


class ExecutionResult(Record, frozen=True, kw_only=True):
    """Result of one execution."""

    retry: Count
    """Number of the execution: 0 for the first, 1 for the first retry."""
    ending: Ending
    """How it ended."""
    started_at: datetime
    """Start."""
    ended_at: datetime
    """End."""
    calls: Count | None = None
    """Number of model calls, without those that the endpoint rejected; None if unknown."""
    failed_calls: Count = 0
    """Number of model calls that the endpoint rejected, or that never reached it."""
    usage: Usage | None = None
    """Known tokens of all calls; None if unknown."""
    cost_usd: Amount | None = None
    """Known cost; None if unknown."""
    is_lower_bound: bool = False
    """Whether tokens and cost are lower bounds because a call has no end."""
    reserved_tokens: Count = 0
    """Tokens that calls without an end may have used in addition; charged to the budget."""
    reserved_usd: Amount | None = 0.0
    """What calls without an end may have cost in addition; charged to the budget. None without a price."""


class ExecutionOutcome(Record, frozen=True, kw_only=True):
    """Result of an execution with its Run."""

    result: ExecutionResult
    """The result."""
    run: Run | None = None
    """The Run; None for a judge."""
    judgment: dict[str, object] | None = None
    """The judgment; None for an agent."""
    findings: tuple[Finding, ...] = ()
    """Findings."""


class TrialResult(Record, frozen=True, kw_only=True):
    """Result of a trial; its file is written last and marks the trial as done."""

    id: str
    """The trial's id."""
    ending: Ending
    """How its last execution ended."""
    executions: tuple[ExecutionResult, ...]
    """All executions."""
    run: Run | None = None
    """The Run; None for a judge."""
    judgment: dict[str, object] | None = None
    """The judgment; None for an agent."""
    findings: tuple[Finding, ...] = ()
    """Findings."""
