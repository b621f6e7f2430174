"""Repeatability as CSV files: distances before and after repair, repairs, and metrics."""

from __future__ import annotations

import csv
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Self

from steelyard.metrics import catalog
from steelyard.pages import check_folder, csv_cell, writing
from steelyard.questions.repeatability._answer import OutputSample, PromptResult


class RepeatabilityFiles:
    """Up to four CSV files in a folder, written prompt by prompt in full precision; every row carries the versions."""

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

    def add(self, prompt: PromptResult) -> None:
        """Write the prompt's rows."""
        for sample in prompt.samples:
            for stage in ("pre", "post"):
                self._row(f"distances_{stage}.csv", _distance_row(prompt, sample, stage))
            if sample.repair_ended:
                self._row("repairs.csv", _repair_row(prompt, sample))
        self._row("metrics_summary.csv", _metrics_row(prompt))

    def _row(self, name: str, row: dict[str, Any]) -> None:
        if name not in self._writers:
            file: IO[str] = self._opened.enter_context((self.folder / name).open("w", encoding="utf-8", newline=""))
            self._writers[name] = csv.DictWriter(file, row.keys(), lineterminator="\n")
            self._writers[name].writeheader()
        self._writers[name].writerow({key: _cell(value) for key, value in row.items()})


def _cell(value: Any) -> Any:  # Any: what a CSV cell can hold
    if isinstance(value, bool):
        return "true" if value else "false"
    return csv_cell(value, raw=False)


def _versions(result: PromptResult) -> dict[str, str]:
    versions = result.versions
    return {
        "normalization_version": versions.normalization,
        "oracle_version": versions.oracle,
        "distance_version": versions.distance,
    }


def _metrics_row(result: PromptResult) -> dict[str, Any]:
    names = sorted(metric.name for metric in catalog().at("prompt"))
    values = {name: result.metrics.get(name) for name in names}
    return {"prompt": result.prompt, "n": result.n, "tau": result.tau, **values, **_versions(result)}


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
        **_versions(result),
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
        "repair_bound": sample.repair_bound,
        "repair_version": result.versions.repair,
        **_versions(result),
    }
