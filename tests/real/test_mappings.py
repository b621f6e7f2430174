"""Mappings of real files: the messy sheet, DeepEval, promptfoo and lm-eval."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from tests.test_mapping_examples import LM_EVAL, PROMPTFOO

from steelyard.records import Rejected, Run
from steelyard.sources import MappedRun, PlacedRun, gather, load_mapping, mapping_of, read_mapped, suggest

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the real samples are not here")


def read(path: Path, text: str) -> list[Run]:
    items = list(gather([path], mapping=mapping_of(tomllib.loads(text))))
    assert not [item for item in items if isinstance(item, Rejected)]
    return [item.run for item in items if isinstance(item, PlacedRun)]


def test_the_messy_sheet_becomes_runs_without_a_correction() -> None:
    suggestion = suggest([SAMPLES / "mappings" / "messy.csv"])
    items = list(read_mapped(SAMPLES / "mappings" / "messy.csv", suggestion.mapping))
    runs = [item.run for item in items if isinstance(item, MappedRun)]
    assert [run.cost_usd for run in runs] == [1234.5, 0.45, None, 2.0]
    assert [run.duration_seconds for run in runs] == [750.0, 90.0, 3600.0, 200.0]
    assert [run.outcome for run in runs] == ["passed", "failed", "errored", "passed"]
    assert [run.impl_rate for run in runs] == [0.875, 0.12, None, 1.0]
    assert [run.usage and run.usage.input_tokens for run in runs] == [1_200_300, 45_000, None, 88_000]
    assert [run.task for run in runs] == ["fix-12", "fix-13", "fix-14", "fix-15"]


def test_deepeval() -> None:
    (path,) = (SAMPLES / "deepeval").glob("*.json")
    items = list(read_mapped(path, load_mapping("deepeval")))
    assert [item.run.passed for item in items if isinstance(item, MappedRun)] == [True, False, False]
    assert len(items) == 3


def test_promptfoo_says_what_its_own_summary_says() -> None:
    runs = read(SAMPLES / "promptfoo" / "out.json", PROMPTFOO)
    outcomes = [run.outcome for run in runs]
    stats = json.loads((SAMPLES / "promptfoo" / "out.json").read_text(encoding="utf-8"))["results"]["stats"]
    assert [outcomes.count(word) for word in ("passed", "failed", "errored")] == [
        stats["successes"],
        stats["failures"],
        stats["errors"],
    ]


def test_lm_eval_counts_each_question_once() -> None:
    files = sorted((SAMPLES / "lm-eval").rglob("samples_*.jsonl"))
    assert files
    for path in files:
        filters = path.read_text(encoding="utf-8").count('"filter": "none"')
        assert len(read(path, LM_EVAL)) == filters
