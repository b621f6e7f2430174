"""Result of `repeatability`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from steelyard.metrics import catalog
from steelyard.records import Finding, Rejected, finding_dict, one_a_kind
from steelyard.results._base import Result, versioned


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """Versions the numbers depend on; numbers of different versions are not comparable."""

    normalization: str
    oracle: str
    distance: str
    extraction: str
    repair: str | None = None
    """None if Steelyard repaired nothing."""

    def on_rows(self) -> dict[str, str]:
        """Return the version columns of every CSV row."""
        return {
            "normalization_version": self.normalization,
            "oracle_version": self.oracle,
            "distance_version": self.distance,
        }


class RepairStep(msgspec.Struct, frozen=True, kw_only=True):
    """A repair step that was applied."""

    step: str
    before: float
    after: float


class OutputSample(msgspec.Struct, frozen=True, kw_only=True):
    """One output: before and after repair."""

    sample: int
    """Number of the output within the prompt, from 1."""
    run: str | None = None
    """The run or file it came from."""
    digest: str
    """SHA-256 of the text as extracted."""
    signature_pre: str
    signature_post: str
    d_pre: float
    d_post: float
    compliant_pre: bool | None = None
    """Whether the output passed the oracle; None if the oracle did not run."""
    compliant_post: bool | None = None
    """Whether the repaired output passed the oracle; None if the oracle did not run."""
    reason: str = ""
    """Why it failed the oracle."""
    fell_back: bool = False
    """Whether it was compared as plain text because it does not parse."""
    approximate: bool = False
    """Whether a distance is an upper bound."""
    steps: tuple[RepairStep, ...] = ()
    """Repair steps that were applied."""
    repair_ended: str = ""
    """Why repair ended; empty if no repair ran."""
    repair_bound: bool = False
    """Whether the profile's work budget ended the repair early."""
    code: str = ""
    """The program as extracted."""
    code_post: str = ""
    """The program after repair."""


class CanonInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The canon that outputs were compared with."""

    signature: str
    origin: str
    """`stored`, `new` (stored by this call), `not stored` or `experiment file`."""
    from_run: str | None = None
    normalized: str


class PromptResult(msgspec.Struct, frozen=True, kw_only=True):
    """The repeatability of one prompt."""

    prompt: str
    key: dict[str, str | None] = {}
    """What the outputs were grouped by."""
    n: int
    """Outputs that were compared."""
    failed: int = 0
    """Samples that failed without an output."""
    profile: str
    tau: float
    level: str
    versions: Versions
    isolation: str | None = None
    """Sandbox in which the oracle ran the outputs; None if the oracle did not run."""
    metrics: dict[str, float | None]
    reasons: dict[str, str]
    """Reason for each missing metric, by name."""
    intervals: dict[str, dict[str, Any]]  # Any: numbers and text of an interval
    canon: CanonInfo | None
    samples: tuple[OutputSample, ...]
    pair_distances: tuple[tuple[str, str, float], ...] = ()
    """Distance of each pair of distinct outputs before repair, by signature; empty if there are too many."""
    stored: dict[str, float | None] | None = None
    """The same metrics for repaired outputs in the input, if Steelyard also repaired the outputs."""
    findings: tuple[Finding, ...] = ()

    def to_dict(self, *, samples: bool = False) -> dict[str, Any]:  # Any: JSON values
        """The shape of `--json`."""
        shape: dict[str, Any] = {
            "prompt": self.prompt,
            "key": self.key,
            "n": self.n,
            "asked": self.n + self.failed,
            "failed": self.failed,
            "metrics": self.metrics,
            "reasons": self.reasons,
            "intervals": self.intervals,
            "canon": None if self.canon is None else msgspec.to_builtins(self.canon),
            "profile": self.profile,
            "tau": self.tau,
            "level": self.level,
            "versions": msgspec.to_builtins(self.versions),
            "isolation": self.isolation,
            "findings": [finding_dict(finding) for finding in self.findings],
        }
        if self.stored is not None:
            shape["stored_repairs"] = self.stored
        if samples:
            shape["samples"] = [msgspec.to_builtins(sample) for sample in self.samples]
            shape["pair_distances"] = [list(pair) for pair in self.pair_distances]
        return shape

    def row(self) -> dict[str, Any]:  # Any: cells of any type
        """Return the metrics as one flat row, with their versions."""
        names = sorted(metric.name for metric in catalog().at("prompt"))
        values = {name: self.metrics.get(name) for name in names}
        return {"prompt": self.prompt, "n": self.n, "tau": self.tau, **values, **self.versions.on_rows()}


@dataclass(frozen=True, repr=False)
class Repeatability(Result):
    """Prompts in input order, and rejected input."""

    prompts: tuple[PromptResult, ...]
    rejected: tuple[Rejected, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Findings about the input as a whole: rejected records, unused contracts."""

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Findings about the input, then about each prompt."""
        return one_a_kind((*self.findings, *(finding for prompt in self.prompts for finding in prompt.findings)))

    def _about(self) -> str:
        outputs = sum(prompt.n for prompt in self.prompts)
        return f"{len(self.prompts):,} prompts, {outputs:,} outputs"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """Return one row per prompt."""
        return [prompt.row() for prompt in self.prompts]

    def to_dict(self, *, samples: bool = False) -> dict[str, Any]:  # Any: JSON values
        """Return the documented JSON shape; with `samples`, including every output."""
        return versioned(self._shape(samples=samples))

    def _shape(self, *, samples: bool = False) -> dict[str, Any]:  # Any: JSON values
        return {
            "prompts": [prompt.to_dict(samples=samples) for prompt in self.prompts],
            "findings": [finding_dict(finding) for finding in self.findings],
        }
