"""What repeatability found, prompt by prompt: records, their JSON and their CSV rows."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Self

import msgspec

from steelyard.metrics import catalog
from steelyard.records import Finding, Missing
from steelyard.reports import check_folder, writing


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """What the numbers depend on; numbers of other versions are not compared with them."""

    normalization: str
    oracle: str
    distance: str
    extraction: str
    repair: str | None = None
    """None when no repair of ours ran."""

    def on_rows(self) -> dict[str, str]:
        """The columns that every CSV row carries."""
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
    """Its place among the prompt's outputs, from 1."""
    run: str | None = None
    """The run or file it came from."""
    digest: str
    """SHA-256 of the text as extracted."""
    signature_pre: str
    signature_post: str
    d_pre: float
    d_post: float
    compliant_pre: bool | None = None
    """Whether the oracle passed the output; None when it did not run."""
    compliant_post: bool | None = None
    """Whether the oracle passed the repaired output; None when it did not run."""
    reason: str = ""
    """Why the oracle did not pass it."""
    fell_back: bool = False
    """Whether it does not parse, so that its plain text was compared."""
    approximate: bool = False
    """Whether a distance is an upper bound."""
    steps: tuple[RepairStep, ...] = ()
    """Repair steps that were applied."""
    repair_ended: str = ""
    """Why repair ended; empty when none ran."""
    code: str = ""
    """The program as extracted."""
    code_post: str = ""
    """The program after repair."""


class CanonFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The canon that outputs were compared with."""

    signature: str
    origin: str
    """`stored`, `set now`, `not kept` or `experiment file`."""
    from_run: str | None = None
    normalized: str


class PromptResult(msgspec.Struct, frozen=True, kw_only=True):
    """The repeatability of one prompt."""

    prompt: str
    key: dict[str, str | None] = {}
    """What the outputs were grouped by."""
    n: int
    profile: str
    tau: float
    level: str
    versions: Versions
    isolation: str | None = None
    """What kept the outputs from everything else while the oracle ran them; None when it did not run."""
    metrics: dict[str, float | None]
    reasons: dict[str, str]
    """Why a metric is missing, by its name."""
    intervals: dict[str, dict[str, Any]]  # Any: numbers and text of an interval
    canon: CanonFacts | None
    samples: tuple[OutputSample, ...]
    stored: dict[str, float | None] | None = None
    """The same metrics of another tool's repaired outputs, where the input has them and our repair ran."""
    findings: tuple[Finding, ...] = ()

    def to_dict(self, *, samples: bool = False) -> dict[str, Any]:  # Any: JSON values
        """The shape of `--json`."""
        shape: dict[str, Any] = {
            "prompt": self.prompt,
            "key": self.key,
            "n": self.n,
            "metrics": self.metrics,
            "reasons": self.reasons,
            "intervals": self.intervals,
            "canon": None if self.canon is None else msgspec.to_builtins(self.canon),
            "profile": self.profile,
            "tau": self.tau,
            "level": self.level,
            "versions": msgspec.to_builtins(self.versions),
            "isolation": self.isolation,
            "findings": [msgspec.to_builtins(finding) for finding in self.findings],
        }
        if self.stored is not None:
            shape["stored_repairs"] = self.stored
        if samples:
            shape["samples"] = [msgspec.to_builtins(sample) for sample in self.samples]
        return shape


def prompts_json(
    results: Sequence[PromptResult], findings: Sequence[Finding], *, samples: bool = False
) -> list[dict[str, Any]]:  # Any: JSON values
    """One object a prompt; what is to be said of the whole input stands first among the findings of the first."""
    shapes = [result.to_dict(samples=samples) for result in results]
    if shapes:
        shapes[0]["findings"] = [*(msgspec.to_builtins(finding) for finding in findings), *shapes[0]["findings"]]
    return shapes


def plain(values: dict[str, float | Missing]) -> tuple[dict[str, float | None], dict[str, str]]:
    """Numbers with null where there is none, and the reasons beside."""
    numbers = {name: None if isinstance(value, Missing) else value for name, value in values.items()}
    return numbers, {name: value.reason for name, value in values.items() if isinstance(value, Missing)}


class CsvLogs:
    """Four CSV files in a folder, written prompt by prompt in full precision; every row carries the versions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._opened = ExitStack()
        self._writers: dict[str, Any] = {}  # Any: csv has no public name for its writers

    def __enter__(self) -> Self:
        check_folder(self.folder)
        with writing(self.folder):
            self.folder.mkdir(exist_ok=True)
        return self

    def __exit__(self, *_error: object) -> None:
        self._opened.close()

    def write(self, results: Iterable[PromptResult]) -> Iterator[PromptResult]:
        """Each result, once its rows are written."""
        for result in results:
            for sample in result.samples:
                for stage in ("pre", "post"):
                    self._row(f"distances_{stage}.csv", _distance_row(result, sample, stage))
                if sample.repair_ended:
                    self._row("repairs.csv", _repair_row(result, sample))
            self._row("metrics_summary.csv", _summary_row(result))
            yield result

    def _row(self, name: str, row: dict[str, Any]) -> None:
        if name not in self._writers:
            file: IO[str] = self._opened.enter_context((self.folder / name).open("w", encoding="utf-8", newline=""))
            self._writers[name] = csv.DictWriter(file, row.keys(), lineterminator="\n")
            self._writers[name].writeheader()
        self._writers[name].writerow({key: _cell(value) for key, value in row.items()})


def _cell(value: Any) -> Any:  # Any: what a CSV cell can hold
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"  # a spreadsheet would run it as a formula
    return value


def _distance_row(result: PromptResult, sample: OutputSample, stage: str) -> dict[str, Any]:
    return {
        "prompt": result.prompt,
        "sample": sample.sample,
        "run": sample.run,
        "stage": stage,
        "signature": sample.signature_pre if stage == "pre" else sample.signature_post,
        "d": sample.d_pre if stage == "pre" else sample.d_post,
        "compliant": sample.compliant_pre if stage == "pre" else sample.compliant_post,
        "fell_back": sample.fell_back,
        "approximate": sample.approximate,
        **result.versions.on_rows(),
    }


def _repair_row(result: PromptResult, sample: OutputSample) -> dict[str, Any]:
    return {
        "prompt": result.prompt,
        "sample": sample.sample,
        "run": sample.run,
        "before_signature": sample.signature_pre,
        "after_signature": sample.signature_post,
        "d_before": sample.d_pre,
        "d_after": sample.d_post,
        "steps": ";".join(step.step for step in sample.steps),
        "success": sample.d_post == 0,
        "reason": sample.repair_ended,
        "repair_version": result.versions.repair,
        **result.versions.on_rows(),
    }


def _summary_row(result: PromptResult) -> dict[str, Any]:
    names = sorted(metric.name for metric in catalog().at("prompt"))
    values = {name: result.metrics.get(name) for name in names}
    return {
        "prompt": result.prompt,
        "n": result.n,
        "tau": result.tau,
        **values,
        **result.versions.on_rows(),
    }
