"""The examples of CONTRIBUTING.md run as they stand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from commands import steelyard

pytestmark = pytest.mark.checkout

TEXT = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")


def block(section: str, language: str, place: int = 0) -> str:
    """A code block of that language in the section."""
    _, _, rest = TEXT.partition(f"## {section}")
    code = re.findall(rf"```{language}\n(.*?)```", rest.partition("\n## ")[0], re.DOTALL)[place]
    assert "._" not in code  # public names only
    return code


def test_the_example_of_a_metric_measures(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    for place in range(2):
        (tmp_path / "metrics" / f"ours{place}.py").write_text(block("Add a metric", "python", place))
    runs = tmp_path / "runs.jsonl"
    run = '"task": "t", "tool_calls": 4, "usage": {"input_tokens": 100, "output_tokens": 20}, "passed"'
    times = '"started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:09Z"'
    runs.write_text(f'{{"id": "r", {run}: true, {times}}}\n{{"id": "s", {run}: false, {times}}}\n')
    done = steelyard("measure", str(runs), "--json", STEELYARD_METRICS=str(tmp_path / "metrics"))
    metrics = json.loads(done.stdout)["groups"][0]["metrics"]
    assert metrics["tokens_per_call"]["median"] == 30.0  # 120 / 4
    assert metrics["time_of_pass"]["value"] == 18.0  # 9 / 0.5


def test_the_example_of_a_format_reads_its_sample(tmp_path: Path) -> None:
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "ours.py").write_text(block("Add a log format", "python"))
    sample, out = tmp_path / "session.json", tmp_path / "runs.jsonl"
    sample.write_text(block("Add a log format", "json"))
    done = steelyard("read", str(sample), "--out", str(out), STEELYARD_FORMATS=str(tmp_path / "formats"))
    assert done.status == 0, done.stderr
    run = json.loads(out.read_text(encoding="utf-8"))
    assert (run["source"]["format"], run["task"]) == ("my-agent", "fix-it")
    # 600 of the 900 tokens of the prompt came from the cache
    assert run["usage"] == {"input_tokens": 300, "output_tokens": 100, "cache_read_tokens": 600}
