"""A Run, one attempt by one agent configuration at one task, and its parts.

Format history (the version that `steelyard schema run` prints):
    1  2026-11  first version
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Any, Literal

import msgspec

from steelyard.records._record_types import MAX_VALUE, Amount, Count, Fraction, Name, Record, Weight
from steelyard.records._sums import sum_in_order
from steelyard.records._times import between
from steelyard.records._usage import Usage, add_usage

DEFAULT_SCHEME = "spec"

SCHEMES: dict[str, dict[str, str]] = {
    "spec": {
        "T0": "vanilla",
        "T1": "prompted",
        "T2": "skills",
        "T3": "tooling",
        "T4": "delegation",
        "T5": "hierarchy",
        "T6": "hybrid",
    },
    "scylla-2026": {
        "T0": "prompts",
        "T1": "skills",
        "T2": "tooling",
        "T3": "delegation",
        "T4": "hierarchy",
        "T5": "hybrid",
        "T6": "super",
    },
}


def tier_problem(tier: str, scheme: str) -> str | None:
    """Return why `tier` is not in `scheme`; None when it can. A scheme of the user's own holds any names.

    >>> tier_problem("T9", "spec")
    "tier 'T9' is not in scheme 'spec' (T0 to T6)"
    >>> tier_problem("gold", "our-tiers") is None
    True
    """
    known = SCHEMES.get(scheme)
    if known is None or tier in known:
        return None
    names = list(known)
    return f"tier {tier!r} is not in scheme {scheme!r} ({names[0]} to {names[-1]})"


def tier_meaning(tier: str, scheme: str | None) -> str | None:
    """Return the meaning of the tier in its scheme; None in a scheme of the user's or an unknown one."""
    return None if scheme is None else SCHEMES.get(scheme, {}).get(tier)


def tier_text(tier: str, scheme: str | None) -> str:
    """The tier as people read it, with its meaning.

    >>> tier_text("T2", "spec"), tier_text("T2", "scylla-2026"), tier_text("gold", "our-tiers")
    ('T2 skills', 'T2 tooling', 'gold')
    """
    meaning = tier_meaning(tier, scheme)
    return f"{tier} {meaning}" if meaning else tier


FORMAT_VERSION = 1
_NO_TIME = timedelta(0)

Outcome = Literal["passed", "failed", "errored", "not_scored"]
FailureCause = Literal["agent", "infrastructure", "cancelled", "unknown"]
VERDICTS = {"passed": True, "failed": False}
"""The outcomes that are verdicts."""
FlagKind = Literal["protected_file_changed", "network_attempted", "process_left"]
Provenance = Literal["reported", "counted", "priced", "lower_bound", "passes_only", "unknown"]
"""`passes_only`, of a verdict: from a list of the tasks that passed, so that the runs that failed are not known."""


class ComponentType(StrEnum):
    """Component of the prompt or conversation, for token accounting."""

    SYSTEM_PROMPT = "SYSTEM_PROMPT"
    SKILL_PROMPT = "SKILL_PROMPT"
    DOMAIN_EXPERTISE = "DOMAIN_EXPERTISE"
    TOOL_SCHEMA = "TOOL_SCHEMA"
    TOOL_CALL = "TOOL_CALL"
    TOOL_RESPONSE = "TOOL_RESPONSE"
    ORCHESTRATOR = "ORCHESTRATOR"
    SUB_AGENT = "SUB_AGENT"
    MONITOR = "MONITOR"
    EVALUATOR = "EVALUATOR"


class Call(Record, frozen=True, kw_only=True, gc=False):
    """One call of a model."""

    id: Name | None = None
    """The provider's message or request id; calls with the same id are the same call."""
    model: Name | None = None
    """Model name in the log; None if unknown."""
    at: datetime | None = None
    """Time of the call; UTC if there is no time zone."""
    usage: Usage | None = None
    """Tokens of this call."""
    cost_usd: Amount | None = None
    """Cost of the call, as reported; also included in the run's `cost_usd`."""
    summed: bool = False
    """Whether this is the sum of all calls of the model, so the context size is unknown."""


_SUMMED = attrgetter("summed")


def calls_in(calls: Sequence[Call]) -> int | None:
    """Number of calls; None if some entry is a sum of calls."""
    return None if any(map(_SUMMED, calls)) else len(calls)


class Criterion(Record, frozen=True, kw_only=True):
    """One criterion of a judge's rubric."""

    name: Name
    """The criterion's name."""
    weight: Amount = 1.0
    """Weight in the weighted score."""
    achieved: Amount
    """Points awarded, 0 to `max`."""
    max: Weight
    """Points possible."""

    def __post_init__(self) -> None:
        if self.achieved > self.max:
            raise ValueError(f"criterion {self.name!r}: achieved ({self.achieved}) exceeds max ({self.max})")


class Judgment(Record, frozen=True, kw_only=True):
    """Judgment of a run by one judge."""

    judge: Name | None = None
    """Name of the judge; None if unnamed."""
    weighted_score: Fraction | None = None
    """Score reported by the judge; None if only criteria are given."""
    passed: bool | None = None
    """The judge's vote; None if there is none."""
    cost_usd: Amount | None = None
    """Cost of judging; not part of the run's cost."""
    criteria: tuple[Criterion, ...] | None = None
    """Criteria of the rubric, from which the score is recomputed."""
    reasoning: str | None = None
    """Why the judge decided so, in its own words."""

    def __post_init__(self) -> None:
        if self.weighted_score is None and not self.criteria:
            raise ValueError("a judgment needs weighted_score or criteria")
        if self.criteria and sum_in_order(line.weight for line in self.criteria) <= 0:
            raise ValueError("the weights of a judgment's criteria sum to 0")

    @property
    def recomputed_score(self) -> float | None:
        """The weighted mean of achieved / max over the criteria; None without criteria."""
        if not self.criteria:
            return None
        weight = sum_in_order(line.weight for line in self.criteria)
        return sum_in_order(line.weight * (line.achieved / line.max) for line in self.criteria) / weight

    @property
    def score(self) -> float:
        """The stated score, or the recomputed one where none was stated."""
        if self.weighted_score is not None:
            return self.weighted_score
        recomputed = self.recomputed_score
        assert recomputed is not None  # __post_init__ rejects a judgment with neither
        return recomputed


def strict_majority(votes: Iterable[bool | None]) -> bool | None:
    """Return whether more than half of the judges that vote vote for a pass; None if none votes.

    >>> strict_majority([True, True, False, None]), strict_majority([True, False])
    (True, False)
    """
    cast = [vote for vote in votes if vote is not None]
    return sum(cast) * 2 > len(cast) if cast else None


class Failure(Record, frozen=True, kw_only=True):
    """Failure of a run."""

    cause: FailureCause
    """Cause of the failure."""
    message: str | None = None
    """Error message of the tool."""


class TestResults(Record, frozen=True, kw_only=True):
    """Results of the task's tests, by name or as counts."""

    __test__ = False  # pytest must not take this for a test class

    passed: tuple[str, ...] | Count | None = None
    """Tests that passed."""
    failed: tuple[str, ...] | Count | None = None
    """Tests that failed."""
    errors: tuple[str, ...] | Count | None = None
    """Tests that could not run."""

    @staticmethod
    def _count(result: tuple[str, ...] | int | None) -> int:
        if result is None:
            return 0
        return result if isinstance(result, int) else len(result)

    @property
    def not_passed(self) -> int:
        """How many failed or errored."""
        return self._count(self.failed) + self._count(self.errors)

    @property
    def total(self) -> int:
        """How many ran."""
        return self._count(self.passed) + self.not_passed


class TaskCounts(Record, frozen=True, kw_only=True):
    """Counts of a benchmark's tasks, if only a summary of its runs is known."""

    total: Annotated[int, msgspec.Meta(ge=1, le=MAX_VALUE)]
    """Number of tasks."""
    passed: Count
    """Number of tasks passed."""

    def __post_init__(self) -> None:
        if self.passed > self.total:
            raise ValueError(f"passed ({self.passed}) exceeds total ({self.total})")


class Snapshot(Record, frozen=True, kw_only=True):
    """Result of comparing behavior with a snapshot taken before the change."""

    status: str
    """`passed`, or the failure."""
    pass_to_fail: Count | None = None
    """Tests that passed before and fail now."""


class Step(Record, frozen=True, kw_only=True):
    """Expected step of the task."""

    id: Name
    """Id, used to match achieved steps."""
    weight: Weight = 1.0
    """Weight of the step."""


class Steps(Record, frozen=True, kw_only=True):
    """Expected and achieved steps of the task."""

    expected: tuple[Step, ...] | None = None
    """Expected steps; None if not declared."""
    achieved: tuple[str, ...] = ()
    """Ids of the achieved steps; unexpected ids are ignored."""

    def __post_init__(self) -> None:
        ids = [step.id for step in self.expected or ()]
        if len(set(ids)) != len(ids):
            raise ValueError("duplicate expected step")


class Action(Record, frozen=True, kw_only=True):
    """One action and its alignment with the goal."""

    weight: Weight = 1.0
    """Weight of the action."""
    goal_alignment: Fraction
    """Alignment with the goal, from 0 to 1."""


class Change(Record, frozen=True, kw_only=True):
    """A change by the agent that was deployed or reviewed."""

    id: str | None = None
    """Id, if any."""
    failed: bool = False
    """Whether it caused a failure."""
    reverted: bool = False
    """Whether reviewers rejected or reverted it."""


class Component(Record, frozen=True, kw_only=True):
    """Tokens of one component of the agent."""

    type: ComponentType
    """One of the ten component types."""
    input_tokens: Count = 0
    """Input tokens of the component."""
    output_tokens: Count = 0
    """Output tokens of the component."""


class Output(Record, frozen=True, kw_only=True):
    """Output of the agent, for repeatability."""

    text: str
    """Unmodified output."""
    language: str | None = None
    """Programming language; None if unknown."""
    repaired: str | None = None
    """Version repaired by another tool, if any."""


class BenchmarkTiming(Record, frozen=True, kw_only=True):
    """Timing of one benchmark."""

    name: Name
    """`module.Class.time_f(params)`."""
    seconds: Amount | None = None
    """Summary (median), if samples are unknown."""
    samples: tuple[Amount, ...] | None = None
    """Measured times."""

    def __post_init__(self) -> None:
        if self.seconds is None and self.samples is None:
            raise ValueError(f"benchmark {self.name!r} needs seconds or samples")


class Flag(Record, frozen=True, kw_only=True):
    """Observation of the runner that a reader of the run should know, whatever the agent's log says."""

    kind: FlagKind
    """What was observed."""
    detail: str | None = None
    """File, program or address."""


class Conditions(Record, frozen=True, kw_only=True):
    """Conditions under which the run was made, as far as its log states them."""

    time_limit_seconds: Amount | None = None
    """Time that the agent had."""
    time_limit_multiplier: Amount | None = None
    """Factor by which the task's own time limit was multiplied, where the log states no seconds."""
    cpus: Amount | None = None
    """CPUs of the environment."""
    memory_mb: Amount | None = None
    """Memory of the environment."""
    network: Name | None = None
    """Network access of the environment."""
    harness: Name | None = None
    """Harness that ran the agent."""
    harness_version: Name | None = None
    """Version of the harness."""
    agent_version: Name | None = None
    """Version of the agent."""
    endpoint: Name | None = None
    """Address at which the model was called."""
    settings: dict[str, str | float | bool | None] | None = None
    """Other settings, such as temperature and limits on messages."""


class Origin(Record, frozen=True, kw_only=True):
    """Source of the record."""

    format: str | None = None
    """Name of the format."""
    path: str | None = None
    """The file."""
    sha256: str | None = None
    """SHA-256 of the file."""


class Run(Record, frozen=True, kw_only=True):
    """One attempt of an agent configuration on a task. All fields except `task` are optional."""

    id: Name | None = None
    """Unique id; by default derived from the content."""
    experiment: Name | None = None
    """Name of the experiment."""
    task: Name
    """Name of the task."""
    agent: Name | None = None
    """Name of the agent."""
    model: Name | None = None
    """Main model; also used to price tokens outside `calls`."""
    tier: Name | None = None
    """Tier of the agent's configuration; `tier_scheme` defines the tiers."""
    tier_scheme: Name = DEFAULT_SCHEME
    """Naming scheme of `tier`."""
    attempt: Count | None = None
    """Attempt number."""
    started_at: datetime | None = None
    """Start time; UTC if there is no time zone."""
    ended_at: datetime | None = None
    """End time, not before the start."""
    duration_seconds: Amount | None = None
    """Duration, as reported; takes precedence over end minus start."""
    passed: bool | None = None
    """Verdict, as reported; test results take precedence."""
    outcome: Outcome | None = None
    """Outcome; `errored` and `not_scored` are not verdicts."""
    failure: Failure | None = None
    """Failure, if any."""
    conditions: Conditions | None = None
    """Limits, environment and settings of the run."""
    judgments: tuple[Judgment, ...] | None = None
    """Judgments."""
    score: Amount | None = None
    """Score, as reported by the harness; not a verdict."""
    impl_rate: Fraction | None = None
    """Fraction of requirements met, as reported; takes precedence over judgments."""
    usage: Usage | None = None
    """Tokens of the whole run."""
    calls: tuple[Call, ...] | None = None
    """Model calls; without `usage`, the run's tokens are their sum."""
    cost_usd: Amount | None = None
    """Cost reported by the tool; takes precedence over a priced cost."""
    tool_calls: Count | None = None
    """Number of tool calls."""
    iterations: Annotated[int, msgspec.Meta(ge=1, le=MAX_VALUE)] | None = None
    """Number of responses from the main agent's model, without calls for subagents, compaction and titles."""
    success: bool | None = None
    """Success as claimed by the agent; not a verdict."""
    files_created: tuple[str, ...] | None = None
    """Paths created, as claimed by the agent."""
    tests: TestResults | None = None
    """Test results; if known, they determine the verdict."""
    task_counts: TaskCounts | None = None
    """Counts of the tasks that the record summarizes, as a row of a leaderboard does; not a verdict."""
    weak_check: bool | None = None
    """Whether the verdict comes from a command's exit status or report, which the agent's code can forge."""
    weak_timing: bool | None = None
    """Whether the timings come from a command's report, which the agent's code can forge."""
    flags: tuple[Flag, ...] | None = None
    """Observations made by the runner, such as changed tests; None if not checked."""
    snapshot: Snapshot | None = None
    """Result of the snapshot comparison."""
    steps: Steps | None = None
    """Expected and achieved steps."""
    actions: tuple[Action, ...] | None = None
    """Actions and how well each aligns with the goal."""
    changes: tuple[Change, ...] | None = None
    """Changes, and whether each failed or was reverted."""
    components: tuple[Component, ...] | None = None
    """Tokens by component."""
    output: Output | None = None
    """Output of the agent."""
    benchmarks: tuple[BenchmarkTiming, ...] | None = None
    """Benchmark timings with the agent's change."""
    provenance: dict[str, Provenance] | None = None
    """Provenance of fields."""
    source: Origin | None = None
    """Source file."""
    extra: dict[str, Any] | None = msgspec.field(name="x_", default=None)  # Any: the user's own values, kept untouched
    """Custom fields, starting with `x_`."""

    def __post_init__(self) -> None:
        if self.tier_scheme is not DEFAULT_SCHEME and self.tier_scheme == DEFAULT_SCHEME:
            # A default is left out when a record is written only if it is the very same object.
            msgspec.structs.force_setattr(self, "tier_scheme", DEFAULT_SCHEME)
        if self.tier is not None:
            problem = tier_problem(self.tier, self.tier_scheme)
            if problem:
                raise ValueError(problem)
        start, end = self.started_at, self.ended_at
        if start is not None and end is not None and between(start, end) < _NO_TIME:
            raise ValueError("ended_at is before started_at")

    @property
    def elapsed_seconds(self) -> float | None:
        """End minus start; None when either is unknown."""
        if self.started_at is None or self.ended_at is None:
            return None
        return between(self.started_at, self.ended_at).total_seconds()

    @property
    def stated_pass(self) -> bool | None:
        """The verdict as stated by `passed`, else by an `outcome` that is one."""
        if self.passed is not None:
            return self.passed
        return VERDICTS.get(self.outcome or "")

    @property
    def verdict(self) -> bool | None:
        """Whether the run passed, by the rule of the metric `pass_rate`; None when unknown.

        Test results decide, else the stated verdict, else a strict majority of the judges' votes.
        """
        if self.tests is not None and self.tests.total:
            return not self.tests.not_passed
        if self.stated_pass is not None:
            return self.stated_pass
        return strict_majority(judgment.passed for judgment in self.judgments or ())

    @property
    def cost_is_lower_bound(self) -> bool | None:
        """Whether the cost, or the tokens that it is priced from, are known to be too low; None when not stated.

        Tokens that are known to be too few make a priced cost too low, not one that the tool reports.
        """
        if self.provenance is None:
            return None
        cost = self.provenance.get("cost_usd")
        return cost == "lower_bound" or (cost != "reported" and self.provenance.get("usage") == "lower_bound")

    @property
    def total_usage(self) -> Usage | None:
        """Tokens of the whole run: `usage`, else the sum over calls; a kind that no call states stays unknown."""
        if self.usage is not None or not self.calls:
            return self.usage
        return add_usage(call.usage for call in self.calls)
