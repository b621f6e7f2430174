"""A Run, one attempt by one agent configuration at one task, and its parts.

Format history (the version that `steelyard schema run` prints):
    1  2026-11  first version
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Any, Literal

import msgspec

from steelyard.records._allowed_values import MAX_VALUE
from steelyard.records._moments import between
from steelyard.records._record_types import Amount, Count, Fraction, Name, Record, Weight
from steelyard.records._sums import sum_in_order
from steelyard.records._tier_schemes import DEFAULT_SCHEME, tier_problem
from steelyard.records._usage import Usage, add_usage

FORMAT_VERSION = 1
_NO_TIME = timedelta(0)

Outcome = Literal["passed", "failed", "errored", "not_scored"]
FailureCause = Literal["agent", "infrastructure", "cancelled", "unknown"]
VERDICTS = {"passed": True, "failed": False}
"""The outcomes that are verdicts."""
Provenance = Literal["reported", "counted", "priced", "lower_bound", "unknown"]


class ComponentType(StrEnum):
    """What a part of the prompt or the conversation is, for token accounting."""

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
    """The model as the log names it; None when the log does not."""
    at: datetime | None = None
    """When the call was made; a time without a zone is read as UTC."""
    usage: Usage | None = None
    """Tokens of this call."""
    cost_usd: Amount | None = None
    """What the call cost, as the tool states it; the run's `cost_usd` holds it too."""
    summed: bool = False
    """True when this sums up all calls of the model, so that no context size can be told from it."""


_SUMMED = attrgetter("summed")


def calls_in(calls: Sequence[Call]) -> int | None:
    """How many calls there are; None where one sums up others, as it does not say of how many."""
    return None if any(map(_SUMMED, calls)) else len(calls)


class Criterion(Record, frozen=True, kw_only=True):
    """One line of a judge's rubric."""

    name: Name
    """The criterion's name."""
    weight: Amount = 1.0
    """Its weight in the weighted score."""
    achieved: Amount
    """Points given, 0 to `max`."""
    max: Weight
    """Points possible."""

    def __post_init__(self) -> None:
        if self.achieved > self.max:
            raise ValueError(f"criterion {self.name!r} achieved {self.achieved} of at most {self.max}")


class Judgment(Record, frozen=True, kw_only=True):
    """What one judge said of the run."""

    judge: Name | None = None
    """Who judged; None for an unnamed judge."""
    weighted_score: Fraction | None = None
    """The score the judge stated; None when only criteria are given."""
    passed: bool | None = None
    """The judge's vote; None when it gave none."""
    cost_usd: Amount | None = None
    """What the judging cost; it is not part of the run's cost."""
    criteria: tuple[Criterion, ...] | None = None
    """The rubric's lines, from which the score is recomputed."""

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
        assert recomputed is not None  # __post_init__ refuses a judgment with neither
        return recomputed


class Failure(Record, frozen=True, kw_only=True):
    """Why a run broke off."""

    cause: FailureCause
    """Whose fault it was."""
    message: str | None = None
    """The tool's own words."""


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


class Snapshot(Record, frozen=True, kw_only=True):
    """Result of comparing behavior with a snapshot taken before the change."""

    status: str
    """`passed`, or what went wrong."""
    pass_to_fail: Count | None = None
    """Tests that passed before and fail now."""


class Step(Record, frozen=True, kw_only=True):
    """A step that the task expects."""

    id: Name
    """Its id; achieved steps are matched by it."""
    weight: Weight = 1.0
    """How much of the way it stands for."""


class Steps(Record, frozen=True, kw_only=True):
    """Expected and achieved steps of the task."""

    expected: tuple[Step, ...] | None = None
    """What the task expects; None when nobody declared it."""
    achieved: tuple[str, ...] = ()
    """Ids of the steps the agent achieved; one that nobody expected earns nothing."""

    def __post_init__(self) -> None:
        ids = [step.id for step in self.expected or ()]
        if len(set(ids)) != len(ids):
            raise ValueError("an expected step is listed twice")


class Action(Record, frozen=True, kw_only=True):
    """One action on the way, and how well it served the goal."""

    weight: Weight = 1.0
    """How much the action counts."""
    goal_alignment: Fraction
    """1 when it served the goal, 0 when it did not."""


class Change(Record, frozen=True, kw_only=True):
    """A change the agent made that went into service or review."""

    id: str | None = None
    """Its id, where it has one."""
    failed: bool = False
    """It caused a failure."""
    reverted: bool = False
    """Reviewers rejected or reverted it."""


class Component(Record, frozen=True, kw_only=True):
    """Tokens that one component of the agent took."""

    type: ComponentType
    """One of the ten component types."""
    input_tokens: Count = 0
    """Tokens the component put in."""
    output_tokens: Count = 0
    """Tokens the component made the model write."""


class Output(Record, frozen=True, kw_only=True):
    """What the agent wrote, for repeatability."""

    text: str
    """The answer as it came."""
    language: str | None = None
    """Its programming language; None when unknown."""
    repaired: str | None = None
    """Another tool's repaired version, where there is one."""


class BenchmarkTiming(Record, frozen=True, kw_only=True):
    """How long one benchmark took."""

    name: Name
    """`module.Class.time_f(params)`."""
    seconds: Amount | None = None
    """A summary (median), where samples are not known."""
    samples: tuple[Amount, ...] | None = None
    """Each measured time."""

    def __post_init__(self) -> None:
        if self.seconds is None and self.samples is None:
            raise ValueError(f"benchmark {self.name!r} needs seconds or samples")


class Origin(Record, frozen=True, kw_only=True):
    """Where the record came from."""

    format: str | None = None
    """The name of the format it was read from."""
    path: str | None = None
    """The file."""
    sha256: str | None = None
    """The file's digest."""


class Run(Record, frozen=True, kw_only=True):
    """One attempt by one agent configuration at one task. Every part but `task` is optional."""

    id: Name | None = None
    """A unique name; a record without one gets it from its content."""
    experiment: Name | None = None
    """The experiment it belongs to."""
    task: Name
    """The task that was attempted."""
    agent: Name | None = None
    """The agent."""
    model: Name | None = None
    """The model that did most of the work; the price of tokens outside `calls` is looked up under it."""
    tier: Name | None = None
    """The tier of the configuration, in its scheme."""
    tier_scheme: Name = DEFAULT_SCHEME
    """Which naming of tiers `tier` belongs to."""
    attempt: Count | None = None
    """Which attempt at the task this was."""
    started_at: datetime | None = None
    """Start; a time without a zone is read as UTC."""
    ended_at: datetime | None = None
    """End, not before the start."""
    duration_seconds: Amount | None = None
    """How long the run took, as stated; it wins over end minus start."""
    passed: bool | None = None
    """The verdict as stated; test results win over it."""
    outcome: Outcome | None = None
    """How the run ended: an errored or unscored run has no verdict."""
    failure: Failure | None = None
    """Why it broke off, if it did."""
    judgments: tuple[Judgment, ...] | None = None
    """What each judge said."""
    impl_rate: Fraction | None = None
    """Fraction of requirements met, as stated; it wins over judgments."""
    usage: Usage | None = None
    """Tokens of the whole run."""
    calls: tuple[Call, ...] | None = None
    """Each model call; without `usage`, the run's tokens are their sum."""
    cost_usd: Amount | None = None
    """Cost as the tool reported it; it wins over a priced one."""
    tool_calls: Count | None = None
    """How many tools were called."""
    iterations: Annotated[int, msgspec.Meta(ge=1, le=MAX_VALUE)] | None = None
    """How many turns the agent took."""
    success: bool | None = None
    """The agent's own claim of success; it is no verdict."""
    files_created: tuple[str, ...] | None = None
    """Paths the agent says it created."""
    tests: TestResults | None = None
    """Results of the task's tests; when known they decide whether the run passed."""
    snapshot: Snapshot | None = None
    """Result of the snapshot comparison."""
    steps: Steps | None = None
    """Expected and achieved steps."""
    actions: tuple[Action, ...] | None = None
    """Actions with their alignment to the goal."""
    changes: tuple[Change, ...] | None = None
    """Changes, and whether each failed or was reverted."""
    components: tuple[Component, ...] | None = None
    """Tokens by component."""
    output: Output | None = None
    """The text the agent wrote."""
    benchmarks: tuple[BenchmarkTiming, ...] | None = None
    """Timings of benchmarks under the agent's change."""
    provenance: dict[str, Provenance] | None = None
    """How each named field came to be known."""
    source: Origin | None = None
    """The file it was read from."""
    extra: dict[str, Any] | None = msgspec.field(name="x_", default=None)  # Any: the user's own values, kept untouched
    """Keys beginning with `x_`, kept as they are."""

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
        """Whether the run passed, by the rule of the metric `pass_rate`; None when nothing tells.

        Test results decide, else the stated verdict, else a strict majority of the judges' votes.
        """
        if self.tests is not None and self.tests.total:
            return not self.tests.not_passed
        if self.stated_pass is not None:
            return self.stated_pass
        votes = [judgment.passed for judgment in self.judgments or () if judgment.passed is not None]
        return sum(votes) * 2 > len(votes) if votes else None

    @property
    def cost_is_lower_bound(self) -> bool | None:
        """Whether the cost, or the tokens that it is priced from, are known to be too low; None when it does not say.

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
