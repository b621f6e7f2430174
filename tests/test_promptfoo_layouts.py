"""promptfoo's layouts: each version's document, its summary and its list give the same runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.records import Finding, Run, Usage
from steelyard.sources import PlacedRun, gather


def row(word: str, *, passed: bool, **more: Any) -> dict[str, Any]:
    return {
        "prompt": {"raw": f"say {word}", "label": "say {{word}}"},
        "vars": {"word": word},
        "provider": {"id": "openai:chat:gpt-5", "label": "gpt"},
        "response": {"output": word, "tokenUsage": {"total": 130, "prompt": 100, "completion": 30}, "cached": False},
        "success": passed,
        "score": float(passed),
        "namedScores": {},
        "latencyMs": 1500,
        "cost": 0.25,
        "gradingResult": {"pass": passed, "score": float(passed), "reason": "r"},
    } | more


ROWS = [row("a", passed=True), row("b", passed=False)]
STATS = {"successes": 1, "failures": 1, "tokenUsage": {"total": 260, "prompt": 200, "completion": 60}}
SUMMARY = {"version": 2, "timestamp": "2026-01-01T00:00:00Z", "results": ROWS, "stats": STATS, "table": {}}
LAYOUTS: dict[str, Any] = {
    "version 3": {"evalId": "e", "results": {**SUMMARY, "version": 3, "prompts": []}, "config": {}},
    "version 2": {"evalId": None, "results": SUMMARY, "config": {}, "shareableUrl": None},
    "version 2 without id": {"results": SUMMARY, "config": {}},
    "summary": SUMMARY,
    "list": ROWS,
}


def read(path: Path, value: Any) -> tuple[list[Run], list[Finding]]:
    path.write_text(json.dumps(value), encoding="utf-8")
    found = list(gather([path]))
    return [each.run for each in found if isinstance(each, PlacedRun)], [
        each for each in found if isinstance(each, Finding)
    ]


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_gives_verdicts_tokens_and_costs(name: str, tmp_path: Path) -> None:
    runs, _ = read(tmp_path / "r.json", LAYOUTS[name])
    assert [(run.task, run.agent, run.model, run.passed, run.cost_usd, run.duration_seconds) for run in runs] == [
        ("word=a", "gpt", "gpt-5", True, 0.25, 1.5),
        ("word=b", "gpt", "gpt-5", False, 0.25, 1.5),
    ]
    assert {run.usage for run in runs} == {Usage(input_tokens=100, output_tokens=30)}


def test_tokens_of_a_row_win_over_those_of_its_answer(tmp_path: Path) -> None:
    stated = {"total": 260, "prompt": 200, "completion": 60}  # two calls, of which the answer is the last
    [run], _ = read(tmp_path / "r.json", [row("a", passed=True, tokenUsage=stated)])
    assert run.usage == Usage(input_tokens=200, output_tokens=60)


def test_counts_that_differ_from_the_summary_are_findings(tmp_path: Path) -> None:
    _, found = read(tmp_path / "r.json", SUMMARY | {"stats": {"successes": 2, "failures": 0}})
    assert {each.code for each in found} >= {"stated_count"}
