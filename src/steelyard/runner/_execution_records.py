"""What was seen of an execution and of its verification: the evidence that its ending and its Run are made from."""

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
    """A trial with all that running it takes."""

    trial: Trial
    task: PlanTask
    use: AgentUse
    adapter: Adapter
    prompt: str
    """What the agent is asked."""
    plan_folder: Path
    """What the plan's paths are relative to."""
    endpoint: str | None = None
    """The endpoint's name; None for an agent that uses none."""
    endpoint_kind: ApiKind | None = None
    """What the endpoint speaks."""
    experiment: str | None = None
    """The plan's name."""
    facts: dict[str, str] = field(default_factory=dict)
    """More that the Run is to say of where it comes from: versions, digests, the machine."""

    @property
    def tier(self) -> Tier:
        """The tier's overlay and variables."""
        return self.use.tiers.get(self.trial.tier or "", Tier())

    @property
    def uses_calls(self) -> bool:
        """Whether the execution talks to an endpoint, through the metering proxy."""
        return self.adapter.speaks is not None and self.endpoint is not None


class ExecutionEvidence(Record, frozen=True, kw_only=True):
    """What was seen of an execution, before anyone looked at the work."""

    started_at: datetime
    """Start."""
    ended_at: datetime
    """When nothing of it was left running."""
    ended_by: EndedBy
    """Who ended it: `itself`, or whoever stopped it."""
    exit_status: int | None = None
    """The status that the agent returned; None when it was stopped, or never started."""
    signal: int | None = None
    """The signal that ended it."""
    limit_hit: LimitName | None = None
    """The limit of the sandbox that ended it."""
    start_error: str | None = None
    """Why it never started."""
    needs_calls: bool = False
    """Whether an execution without a model call did not start."""
    count: MeteredCalls | None = None
    """The model calls; None where nobody counted."""
    isolation: IsolationName | None = None
    """What isolated it; None where none of its own code ran."""
    dropped_bytes: int = 0
    """Output beyond what is kept."""
    last_words: str | None = None
    """The end of what it said on standard error, else on standard output."""

    @property
    def is_silent(self) -> bool:
        """Whether it made no model call: without a network and a metering proxy it cannot make any."""
        return self.count is None and self.isolation != "none"


class VerifyEvidence(Record, frozen=True, kw_only=True):
    """What was seen when the work was checked."""

    exit_status: int | None = None
    """The status that the command returned; None when it was stopped, or never started."""
    limit_hit: LimitName | None = None
    """The limit that ended it."""
    tests: TestResults | None = None
    """Test by test, where the task names a report."""
    problem: str | None = None
    """Why there is no verdict; None when there is one."""
    ending: str
    """How the command ended, as a phrase."""

    @property
    def passed(self) -> bool | None:
        """The verdict; None when the check itself broke."""
        if self.problem is not None:
            return None
        return not self.tests.not_passed if self.tests is not None else self.exit_status == 0
