"""One file with one declared function is all it takes to add a metric."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from commands import steelyard

ROOT = Path(__file__).parent.parent

FILE = '''
from steelyard.metrics import Example, Required, metric, missing, ratio


@metric(
    level="run",
    title="Tokens per tool call",
    unit="tokens",
    better="lower",
    bounds=(0, float("inf")),
    spec="outcome",
    formula="total_tokens / tool_calls",
    example=Example({"total_tokens": 300, "tool_calls": 3}, 100.0),
)
def tokens_per_call(*, total_tokens: Required, tool_calls: Required):
    """Tokens used for each tool call."""
    return ratio(total_tokens, tool_calls, at_zero=missing("no tool was called"))
'''


def test_a_new_file_shows_in_metrics_measure_explain_and_the_docs_table(tmp_path: Path) -> None:
    folder = tmp_path / "ours"
    folder.mkdir()
    (folder / "ours.py").write_text(FILE)
    runs = tmp_path / "runs.jsonl"
    runs.write_text('{"id": "r", "task": "t", "tool_calls": 4, "usage": {"input_tokens": 100, "output_tokens": 20}}\n')
    here = {"STEELYARD_METRICS": str(folder)}

    listed = json.loads(steelyard("metrics", "--json", **here).stdout)["metrics"]
    assert "tokens_per_call" in [one["name"] for one in listed]

    measured = json.loads(steelyard("measure", str(runs), "--json", **here).stdout)
    assert measured["groups"][0]["metrics"]["tokens_per_call"]["median"] == 30.0  # 120 / 4

    explained = json.loads(steelyard("explain", str(runs), "tokens_per_call", "--run", "r", "--json", **here).stdout)
    assert explained["explanation"]["value"] == 30.0
    assert [part["name"] for part in explained["explanation"]["inputs"]] == ["total_tokens", "tool_calls"]

    table = "import runpy; print(runpy.run_path('docs/generate.py')['metrics_page']())"
    page = subprocess.run(
        [sys.executable, "-c", table], capture_output=True, text=True, check=True, cwd=ROOT, env={**os.environ, **here}
    )
    assert "| `tokens_per_call` | run | tokens | lower |" in page.stdout


def test_a_name_taken_twice_an_unknown_input_and_a_circle_are_refused(tmp_path: Path) -> None:
    wrong = {
        "taken": FILE.replace("tokens_per_call", "cost_usd"),
        "unknown": FILE.replace("tool_calls: Required", "tool_cals: Required").replace(
            "(total_tokens, tool_calls", "(total_tokens, tool_cals"
        ),
        "circle": FILE.replace("tool_calls", "chicken")
        + FILE.replace("tokens_per_call", "chicken").replace("tool_calls", "tokens_per_call"),
    }
    sentences = {"taken": "taken twice", "unknown": "tool_calls", "circle": "circle"}
    for name, text in wrong.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "wrong.py").write_text(text)
        done = steelyard("metrics", STEELYARD_METRICS=str(folder))
        assert done.status != 0
        assert sentences[name] in done.stderr
        assert "Traceback" not in done.stderr
