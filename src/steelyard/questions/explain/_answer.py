"""Answer of `explain`: how a metric was computed, per group or for one run."""

from __future__ import annotations

from typing import Any, ClassVar

from steelyard.profiles import Grade
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions.measure import Group, TierComparison
from steelyard.records import Finding, Missing


class ExplainedValue(Part, frozen=True, kw_only=True):
    """A value and the values it was computed from."""

    name: str
    title: str
    value: bool | int | float | None = None
    """Number or flag; None if it is missing, a text or a list."""
    text: str | None = None
    """Value that is a text."""
    values: tuple[float | str | None, ...] | None = None
    """Value that is a list."""
    reason: str | None = None
    """Reason for a missing value."""
    unit: str | None = None
    formula: str | None = None
    constants: dict[str, float] = {}  # noqa: RUF012 # msgspec copies it
    """Constants of the formula, from the profile."""
    provenance: str | None = None
    """Source of the value, such as reported or priced; None if it is computed or unknown."""
    inputs: tuple[ExplainedValue, ...] = ()
    """Inputs of the formula."""


def value_fields(value: Any) -> dict[str, Any]:  # Any: a number, flag, text, list or Missing
    """Return the fields of an `ExplainedValue` that contain the value."""
    if isinstance(value, Missing):
        return {"reason": value.reason}
    if isinstance(value, bool | int | float):
        return {"value": value}
    return {"values": tuple(value)} if isinstance(value, list | tuple) else {"text": str(value)}


class Explanation(Answer, frozen=True, kw_only=True):
    """How one metric was computed: for each group, or for one run, prompt, attempt, benchmark or submission."""

    rows: ClassVar[Rows] = Rows(
        "explanation",
        "groups.metrics",
        "groups.components",
        "across.uplift",
        "across.values",
        keep=("run", "tier_scheme", "profile"),
        without=("inputs", "constants"),
        keys={"values": "metric"},
        below={"explanation": "inputs"},
    )
    metric: str
    title: str
    formula: str | None
    constants: dict[str, float]
    """Constants of the formula, from the profile."""
    inputs: dict[str, str]
    """Inputs that are one figure of a group, and how each is computed: mean of cost_usd."""
    grades: tuple[Grade, ...] = ()
    """Grades of the profile, if the metric is a grade."""
    row_kind: str = "run"
    """What the metric is computed for: run, prompt, attempt, benchmark or submission."""
    run: str | None = None
    """Id of the run, prompt, attempt, benchmark or submission; None if groups are explained."""
    where: str | None = None
    """File and line, or store, that it was read from; None if groups are explained."""
    explanation: ExplainedValue | None = None
    """Its value with all inputs; None if groups are explained."""
    by: tuple[str, ...] = ()
    n: int
    """Number of runs."""
    groups: tuple[Group, ...] = ()
    """Groups with the metric and its inputs; none if one run is explained."""
    across: tuple[TierComparison, ...] = ()
    """The metric across tiers, if it compares tiers."""
    tier_scheme: str | None = None
    """Common scheme of all tiers, when grouped by tier; None if the key contains it."""
    profile: str | None
    """None if the metric has no profile."""
    prices: str
    weight_by: str = "runs"
    """Unit of analysis of means and proportions: runs or tasks."""
    unscored: str = "exclude"
    """Policy for runs without a verdict: exclude or fail."""
    findings: tuple[Finding, ...] = ()
    rejected_count: int = 0

    @property
    def about(self) -> str:
        """The metric, and the run or the groups."""
        if self.explanation is not None:
            known = self.explanation.text if self.explanation.value is None else self.explanation.value
            return f"{self.metric} of {self.run}: {'missing' if self.explanation.reason else known}"
        by = f" by {','.join(self.by)}" if self.by else ""
        return f"{self.metric}{by}: {len(self.groups):,} groups"


def explanation_of(
    root: ExplainedValue, *, run: str, row_kind: str = "run", where: str | None, profile: str | None, prices: str
) -> Explanation:
    """Return the explanation of one run, prompt, attempt, benchmark or submission."""
    return Explanation(
        metric=root.name,
        title=root.title,
        formula=root.formula,
        constants=root.constants,
        inputs={},
        row_kind=row_kind,
        run=run,
        where=where,
        explanation=root,
        n=1,
        profile=profile,
        prices=prices,
    )
