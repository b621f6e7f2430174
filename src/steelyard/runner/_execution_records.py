"""Evidence of an execution and its verification, from which ending and Run are derived."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from steelyard.records import Record, TestResults
from steelyard.runner._adapters import Adapter
from steelyard.runner._metering_records import MeteredCalls
from steelyard.runner._plan_records import AgentUse, ApiKind, PlanTask, Tier
from steelyard.runner._trial_records import Trial
from steelyard.sandbox import IsolationName, LimitName

EndedBy = Literal["itself", "time_limit", "budget", "cancelled"]


@dataclass(frozen=True)
class Job:
    """Trial with everything needed to run it."""

    trial: Trial
    task: PlanTask
    use: AgentUse
    adapter: Adapter
    prompt: str
    """Prompt."""
    plan_folder: Path
    """Base directory of the plan's paths."""
    endpoint: str | None = None
    """The endpoint's name; None for an agent that uses none."""
    endpoint_kind: ApiKind | None = None
    """API kind of the endpoint."""
    experiment: str | None = None
    """The plan's name."""
    facts: dict[str, str] = field(default_factory=dict)
    """More origin fields of the Run: versions, digests, machine."""

    @property
    def tier(self) -> Tier:
        """The tier's overlay and variables."""
        return self.use.tiers.get(self.trial.tier or "", Tier())

    @property
    def uses_calls(self) -> bool:
        """Whether the execution uses an endpoint through the metering proxy."""
        return self.adapter.speaks is not None and self.endpoint is not None


class ExecutionEvidence(Record, frozen=True, kw_only=True):
    """Evidence of an execution before verification."""

    started_at: datetime
    """Start."""
    ended_at: datetime
    """Time when all its processes had ended."""
    ended_by: EndedBy
    """What ended it: `itself`, the time limit, the budget or a cancellation."""
    exit_status: int | None = None
    """Exit status of the agent; None if it was stopped or did not start."""
    signal: int | None = None
    """Signal that ended it."""
    limit_hit: LimitName | None = None
    """Sandbox limit that ended it."""
    start_error: str | None = None
    """Why it did not start."""
    needs_calls: bool = False
    """Whether an execution without a model call counts as not started."""
    count: MeteredCalls | None = None
    """Model calls; None if not metered."""
    isolation: IsolationName | None = None
    """Isolation; None if no agent code ran."""
    dropped_bytes: int = 0
    """Bytes of dropped output."""
    last_words: str | None = None
    """End of standard error, or of standard output."""

    @property
    def is_silent(self) -> bool:
        """Whether it made no model call: without a network and a metering proxy it cannot make any."""
        return self.count is None and self.isolation != "none"


class VerifyEvidence(Record, frozen=True, kw_only=True):
    """Evidence of the verification."""

    exit_status: int | None = None
    """Exit status of the command; None if it was stopped or did not start."""
    limit_hit: LimitName | None = None
    """Limit that ended it."""
    tests: TestResults | None = None
    """Test results, if the task has a report."""
    problem: str | None = None
    """Why there is no verdict; None if there is one."""
    ending: str
    """How the command ended, as text."""

    @property
    def passed(self) -> bool | None:
        """The verdict; None if the check failed to run."""
        if self.problem is not None:
            return None
        return not self.tests.not_passed if self.tests is not None else self.exit_status == 0
