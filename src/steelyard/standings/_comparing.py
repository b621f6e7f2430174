"""What `compare` gives: B against A, metric by metric, with the verdicts that the number of comparisons allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.metrics import catalog
from steelyard.records import Finding, finding_dict
from steelyard.results import number, numbers
from steelyard.standings._differences import Correction, Difference, Flip, StatisticsOptions
from steelyard.standings._verdicts import Verdict, needed_tasks, sentence, verdict
from steelyard.statistics import POWER, benjamini_hochberg, holm, size_word


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One of the two that are compared."""

    label: str
    chosen: Mapping[str, str]
    runs: int
    tasks: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the data a comparison can use."""

    common: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A difference with its verdict."""

    found: Difference
    adjusted_p: float | None
    verdict: Verdict
    sentence: str
    needed: int | None


@dataclass(frozen=True, slots=True)
class Pair:
    """B against A."""

    b: ComparedSide
    coverage: Coverage
    metrics: tuple[Judged, ...]


@dataclass(frozen=True)
class Comparison:
    """The result of comparing. `str()` gives the sentences."""

    a: ComparedSide
    pairs: tuple[Pair, ...]
    options: StatisticsOptions
    correction: Correction
    comparisons: int
    profile: str
    findings: tuple[Finding, ...] = field(default=())
    rejected_count: int = 0

    @property
    def empty(self) -> bool:
        """Whether no metric could be compared on any task."""
        return not any(judged.found.tasks for pair in self.pairs for judged in pair.metrics)

    def __str__(self) -> str:
        return "\n".join(judged.sentence for pair in self.pairs for judged in pair.metrics)

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The documented JSON shape; infinity is the string "Infinity"."""
        return {
            "profile": self.profile,
            "a": _side_dict(self.a),
            "pairs": [
                {
                    "b": _side_dict(pair.b),
                    "tasks": {
                        "common": pair.coverage.common,
                        "only_a": list(pair.coverage.only_a),
                        "only_b": list(pair.coverage.only_b),
                    },
                    "metrics": {judged.found.metric: judged_dict(judged) for judged in pair.metrics},
                }
                for pair in self.pairs
            ],
            "level": self.options.level,
            "seed": self.options.seed,
            "resamples": self.options.resamples,
            "correction": self.correction,
            "comparisons": self.comparisons,
            "findings": [finding_dict(finding) for finding in self.findings],
        }


def adjusted_p_values(differences: Sequence[Difference], correction: Correction) -> list[float | None]:
    """Each test's p-value, corrected for how many there are; None where a test has none."""
    known = [
        (place, difference.test.p_value)
        for place, difference in enumerate(differences)
        if difference.test.p_value is not None
    ]
    values = [p_value for _, p_value in known]
    if correction == "holm":
        values = holm(values).tolist()
    elif correction == "bh":
        values = benjamini_hochberg(values).tolist()
    adjusted: list[float | None] = [None] * len(differences)
    for (place, _), p_value in zip(known, values, strict=True):
        adjusted[place] = p_value
    return adjusted


def judge(difference: Difference, *, a: str, b: str, adjusted: float | None, comparisons: int) -> Judged:
    """The verdict and the sentence of one difference."""
    return Judged(
        found=difference,
        adjusted_p=adjusted,
        verdict=verdict(difference, adjusted),
        sentence=sentence(difference, a=a, b=b, adjusted=adjusted, comparisons=comparisons),
        needed=needed_tasks(difference, comparisons),
    )


def _side_dict(side: ComparedSide) -> dict[str, Any]:  # Any: JSON values
    return {"label": side.label, "chosen": dict(side.chosen), "runs": side.runs, "tasks": side.tasks}


def judged_dict(judged: Judged) -> dict[str, Any]:  # Any: JSON values
    """One metric's difference as JSON."""
    difference = judged.found
    delta = difference.cliffs_delta
    shape: dict[str, Any] = {
        "sentence": judged.sentence,
        "verdict": judged.verdict,
        "a": number(difference.a),
        "b": number(difference.b),
        "unit": catalog()[difference.metric].unit,
        "better": catalog()[difference.metric].better,
        "difference": numbers(difference.interval.as_dict()),
        "test": numbers(difference.test.as_dict()) | {"adjusted_p_value": judged.adjusted_p},
        "tasks": difference.tasks,
        "runs": {"a": difference.runs[0], "b": difference.runs[1]},
        "missing": {"a": difference.missing[0], "b": difference.missing[1]},
        "effect": {
            "cliffs_delta": delta,
            "size": None if delta is None else size_word(delta),
            "standardized": difference.standardized,
        },
        "to_be_sure": {"tasks": judged.needed, "detectable_difference": difference.detectable, "power": POWER},
        "flips": {
            "gained": [_flip(flip) for flip in difference.gained],
            "lost": [_flip(flip) for flip in difference.lost],
        },
    }
    if difference.bounds is not None:
        shape["if_missing_were_known"] = {"low": difference.bounds.low, "high": difference.bounds.high}
    return shape


def _flip(flip: Flip) -> dict[str, Any]:  # Any: JSON values
    return {"task": flip.task, "a": flip.a, "b": flip.b}
