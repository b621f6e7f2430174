"""Sheets as people keep them: `mapping suggest` reads each as a careful person would, or asks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.errors import MappingError
from steelyard.records import Run
from steelyard.sources import PlacedRun, SuggestedMapping, gather

SHEETS = Path(__file__).parent / "samples" / "sheets"
MEANINGS: list[dict[str, Any]] = [
    meaning
    for name in ("meanings.json", "later.json", "unseen.json")
    for meaning in json.loads((SHEETS / name).read_text(encoding="utf-8"))
]

SUMMARIES = {"09-en-leaderboard.csv": [[357, 500], [340, 500], [316, 500], [277, 500]]}
"""Passed tasks and tasks per row of sheets whose rows are summaries: read as such, they need no question."""


def test_sheets_are_unchanged() -> None:
    for line in (SHEETS / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((SHEETS / name).read_bytes()).hexdigest() == digest, name
    assert len(MEANINGS) == 66


def _verdict(run: Run) -> bool | None:
    return run.passed if run.outcome is None else {"passed": True, "failed": False}.get(run.outcome)


def _number(run: Run, field: str) -> float | None:
    if field == "duration_seconds" and run.duration_seconds is None and run.started_at and run.ended_at:
        return (run.ended_at - run.started_at).total_seconds()
    holder = run if hasattr(run, field) else run.usage
    return getattr(holder, field, None)


def _labels(run: Run) -> Iterator[tuple[str, str]]:
    for field in ("agent", "model", "experiment", "tier"):
        if getattr(run, field) is not None:
            yield field, str(getattr(run, field))
    for key, value in (run.extra or {}).items():
        yield key, str(value)


def wrong(meaning: dict[str, Any], runs: list[Run], questions: str) -> list[str]:
    """What the runs state that the sheet does not, with nothing asked about it."""
    asked = "?" in questions
    found = []
    if "runs" in meaning and len(runs) != meaning["runs"] and not asked:
        found.append(f"{len(runs)} runs instead of {meaning['runs']}")
    for field in meaning.get("never", ()):
        values = [_verdict(run) if field == "passed" else _number(run, field) for run in runs]
        if any(value is not None for value in values):
            found.append(f"{field} is set")
    counts = [[run.task_counts.passed, run.task_counts.total] for run in runs if run.task_counts is not None]
    if counts and counts != SUMMARIES.get(meaning["file"]):
        found.append(f"counts of tasks are {counts}")
    if meaning.get("ask") and not asked and not counts:
        found.append("nothing is asked")
    if runs and "tasks" in meaning:
        tasks = len({run.task for run in runs})
        if tasks != meaning["tasks"]:
            found.append(f"{tasks} tasks instead of {meaning['tasks']}")
    found += _wrong_arms(meaning.get("arms", {}), runs, asked=asked) if runs else []
    if "passed" in meaning and runs and not asked:
        passed = sum(_verdict(run) is True for run in runs)
        if passed != meaning["passed"]:
            found.append(f"{passed} passed instead of {meaning['passed']}")
    for field, truth in meaning.get("fields", {}).items():
        known = [value for run in runs if (value := _number(run, field)) is not None]
        if known and (len(known) != truth["known"] or abs(sum(known) - truth["sum"]) > 1e-6 * max(1, truth["sum"])):
            found.append(f"{field} is {sum(known)} of {len(known)} instead of {truth}")
        if not known and not asked and field not in meaning.get("optional", ()):
            found.append(f"{field} is not read, and nothing is asked")
    if "attempts" in meaning and runs and not asked:
        attempts = {run.attempt for run in runs}
        if attempts not in ({None}, set(range(1, meaning["attempts"] + 1))):
            found.append(f"attempts {attempts}")
    return found


def _wrong_arms(arms: dict[str, dict[str, int]], runs: list[Run], *, asked: bool) -> list[str]:
    if len(arms) < 2:
        return [text for truth in arms.values() for text in _wrong_counts("all", truth, runs, asked=asked)]
    by_label: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        for key, label in _labels(run):
            by_label.setdefault(key, {}).setdefault(label, []).append(run)
    key = next((key for key, labels in by_label.items() if labels.keys() == arms.keys()), None)
    if key is None:
        return [] if asked else [f"no field has the arms {sorted(arms)}"]
    return [
        text for label, truth in arms.items() for text in _wrong_counts(label, truth, by_label[key][label], asked=asked)
    ]


def _wrong_counts(label: str, truth: dict[str, int], runs: list[Run], *, asked: bool) -> list[str]:
    seen = {
        "runs": len(runs),
        "scored": sum(_verdict(run) is not None for run in runs),
        "passed": sum(_verdict(run) is True for run in runs),
    }
    is_unread = asked and seen["scored"] == 0
    return [
        f"{label}: {seen[name]} {name} instead of {count}"
        for name, count in truth.items()
        if seen[name] != count and not (is_unread and name != "runs")
    ]


@pytest.mark.parametrize("meaning", MEANINGS, ids=[each["file"] for each in MEANINGS])
def test_suggestion_of_a_sheet_is_right_or_asks(meaning: dict[str, Any]) -> None:
    path = SHEETS / meaning["file"]
    suggestion = sy.suggest_mapping(path)
    runs = _runs(path, suggestion)
    if runs is None:
        assert suggestion.questions  # it cannot be used before they are answered
    else:
        assert wrong(meaning, runs, " ".join(suggestion.questions)) == []


def _runs(path: Path, suggestion: SuggestedMapping) -> list[Run] | None:
    """The runs that the suggestion reads as it is; None if it is incomplete."""
    try:
        return [item.run for item in gather([path], mapping=suggestion.mapping) if isinstance(item, PlacedRun)]
    except MappingError:
        return None
