"""Answer of `repeatability`: the metrics of each prompt, and its outputs before and after repair."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from msgspec import UNSET, UnsetType

from steelyard.formatting import counted
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.records import Finding
from steelyard.statistics import Interval


class PromptVersions(Part, frozen=True, kw_only=True):
    """Versions the numbers depend on; numbers of different versions are not comparable."""

    normalization: str
    oracle: str
    distance: str
    extraction: str
    repair: str | None
    """None if Steelyard repaired nothing."""


class RepairStep(Part, frozen=True, kw_only=True):
    """A repair step that was applied."""

    step: str
    before: float
    """Distance to the canon before the step."""
    after: float


class OutputSample(Part, frozen=True, kw_only=True):
    """One output: before and after repair."""

    sample: int
    """Number of the output within the prompt, from 1."""
    run: str | None
    """The run or file it came from."""
    digest: str
    """SHA-256 of the text as extracted."""
    signature_pre: str
    signature_post: str
    d_pre: float
    d_post: float
    compliant_pre: bool | None
    """Whether the output passed the oracle; None if the oracle did not run."""
    compliant_post: bool | None
    """Whether the repaired output passed the oracle; None if the oracle did not run."""
    reason: str
    """Why it failed the oracle."""
    fell_back: bool
    """Whether it was compared as plain text because it does not parse."""
    approximate: bool
    """Whether a distance is an upper bound."""
    steps: tuple[RepairStep, ...]
    """Repair steps that were applied."""
    repair_ended: str
    """Why repair ended; empty if no repair ran."""
    repair_bound: bool
    """Whether the profile's work budget ended the repair early."""
    code: str | UnsetType = UNSET
    """The program as extracted; omitted unless requested."""
    code_post: str | UnsetType = UNSET
    """The program after repair; omitted unless requested."""


class CanonInfo(Part, frozen=True, kw_only=True):
    """The canon that outputs were compared with."""

    signature: str
    origin: str
    """`stored`, `new` (stored by this call), `not stored` or `experiment file`."""
    from_run: str | None
    normalized: str
    """Its code in normal form."""


class PairDistance(NamedTuple):
    """Distance of two distinct outputs before repair; equal outputs are represented by the first of them."""

    sample: int
    other: int
    distance: float


class PromptResult(Part, frozen=True, kw_only=True):
    """The repeatability of one prompt."""

    prompt: str
    key: dict[str, str | None]
    """What the outputs were grouped by."""
    n: int
    """Outputs that were compared."""
    asked: int
    """Samples, including those that failed."""
    failed: int
    """Samples that failed without an output."""
    metrics: dict[str, float | None]
    reasons: dict[str, str]
    """Reason for each missing metric, by name."""
    intervals: dict[str, Interval]
    """Confidence intervals of fractions of outputs, by metric."""
    canon: CanonInfo | None
    """None if no output can be the canon."""
    profile: str
    tau: float
    """Distance up to which outputs are near each other."""
    level: str
    """How outputs were normalized: `text`, `ast`, `tree` or `names`."""
    versions: PromptVersions
    isolation: str | None
    """Sandbox in which the oracle ran the outputs; None if the oracle did not run."""
    stored_repairs: dict[str, float | None] | None
    """The same metrics for repaired outputs in the input, if Steelyard also repaired the outputs."""
    samples: tuple[OutputSample, ...]
    pair_distances: tuple[PairDistance, ...]
    """Distance of each pair of distinct outputs before repair; empty if there are too many."""


class Repeatability(Answer, frozen=True, kw_only=True):
    """Prompts in input order. A row is a prompt (no sample) or one of its outputs."""

    rows: ClassVar[Rows] = Rows(
        "prompts",
        "prompts.samples",
        without=("reasons", "intervals", "stored_repairs"),
        ids={"prompts": ("prompt",)},
    )
    prompts: tuple[PromptResult, ...]
    findings: tuple[Finding, ...]
    rejected_count: int
    """Number of rejected records or files."""

    @property
    def about(self) -> str:
        """Short summary, for `repr`."""
        outputs = sum(prompt.n for prompt in self.prompts)
        return f"{counted(len(self.prompts), 'prompt')}, {counted(outputs, 'output')}"
