"""The examples of CONTRIBUTING.md run as they stand."""

from __future__ import annotations

import json
import re
from pathlib import Path

from commands import steelyard

TEXT = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")


def block(section: str, language: str) -> str:
    """The first code block of that language in the section."""
    _, _, rest = TEXT.partition(f"## {section}")
    code = re.search(rf"```{language}\n(.*?)```", rest.partition("\n## ")[0], re.DOTALL)
    assert code is not None
    assert "._" not in code[1]  # public names only
    return code[1]


def test_the_example_of_a_metric_measures(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "ours.py").write_text(block("Add a metric", "python"))
    runs = tmp_path / "runs.jsonl"
    runs.write_text('{"id": "r", "task": "t", "tool_calls": 4, "usage": {"input_tokens": 100, "output_tokens": 20}}\n')
    done = steelyard("measure", str(runs), "--json", STEELYARD_METRICS=str(tmp_path / "metrics"))
    assert json.loads(done.stdout)["groups"][0]["metrics"]["tokens_per_call"]["median"] == 30.0  # 120 / 4


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
