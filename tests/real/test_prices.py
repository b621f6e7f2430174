"""Costs that real tools recorded, against the price book."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from steelyard.prices import open_book, price_run
from steelyard.records.run import Run, Usage

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples"
TRIALS = SAMPLES / "harbor" / "claude-opus-4.6"

pytestmark = pytest.mark.skipif(not TRIALS.is_dir(), reason="the real samples are not beside this checkout")


def trials_with_cost() -> list[Run]:
    runs = []
    for path in sorted(TRIALS.glob("*/result.json")):
        trial = json.loads(path.read_text(encoding="utf-8"))
        result = trial.get("agent_result") or {}
        if result.get("cost_usd") is None:
            continue
        cached = result["n_cache_tokens"] or 0
        usage = Usage(
            input_tokens=result["n_input_tokens"] - cached,
            cache_read_tokens=cached,
            output_tokens=result["n_output_tokens"],
        )
        runs.append(
            Run(
                task=trial["task_name"],
                model=trial["agent_info"]["model_info"]["name"],
                started_at=datetime.fromisoformat(trial["started_at"]),
                usage=usage,
                cost_usd=result["cost_usd"],
            )
        )
    return runs


def test_harbor_trials_of_a_flat_priced_model_cost_what_they_recorded() -> None:
    runs = trials_with_cost()
    assert runs, "no trial with a recorded cost"
    book = open_book("maintained")
    for run in runs:
        assert run.model == "claude-opus-4.6"
        assert price_run(run, book) == pytest.approx(run.cost_usd, rel=0, abs=1e-9), run.task
