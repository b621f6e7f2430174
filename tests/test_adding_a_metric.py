"""One file with one declared function is all it takes to add a metric."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import steelyard

pytestmark = pytest.mark.checkout

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

    table = "import runpy, sys; sys.path.append('docs'); print(runpy.run_path('docs/generate.py')['metrics_page']())"
    page = subprocess.run(
        [sys.executable, "-c", table], capture_output=True, text=True, check=True, cwd=ROOT, env={**os.environ, **here}
    )
    assert "| `tokens_per_call` | run | tokens | lower |" in page.stdout


GROUP_FILE = '''
from steelyard.metrics import INFINITY, Example, Mean, Sum, metric, ratio


@metric(
    level="group",
    title="Seconds of a pass",
    unit="s",
    better="lower",
    bounds=(0, INFINITY),
    spec="outcome",
    formula="mean duration_seconds / mean pass_rate; infinite without a pass",
    example=Example({"duration_seconds": 30.0, "pass_rate": 0.5}, 60.0),
)
def seconds_of_pass(*, duration_seconds: Mean, pass_rate: Mean):
    """The time that one pass is expected to take."""
    return ratio(duration_seconds, pass_rate, at_zero=INFINITY)


@metric(
    level="group",
    title="Money spent",
    unit="USD",
    better="lower",
    bounds=(0, INFINITY),
    spec="outcome",
    formula="sum of cost_usd",
    example=Example({"cost_usd": 3.0}, 3.0),
)
def spent_usd(*, cost_usd: Sum):
    """What all runs cost together."""
    return cost_usd
'''


def runs_of(tmp_path: Path, agents: dict[str, int], name: str = "runs.jsonl") -> str:
    """Twelve tasks; each agent passes all but every third and takes so many seconds, the odd tasks twice as many."""
    lines = [
        {
            "id": f"{agent}-{task}",
            "task": f"t{task:02}",
            "agent": agent,
            "model": "m",
            "passed": task % 3 != 0,
            "cost_usd": 1.0,
            "started_at": "2026-01-01T00:00:00Z",
            "ended_at": f"2026-01-01T00:{seconds * (1 + task % 2) // 60:02}:{seconds * (1 + task % 2) % 60:02}Z",
        }
        for agent, seconds in agents.items()
        for task in range(12)
    ]
    path = tmp_path / name
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(path)


def test_a_group_metric_of_ones_own_works_in_every_command(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "ours.py").write_text(GROUP_FILE)
    runs = runs_of(tmp_path, {"slow": 40, "fast": 10})

    def answer(*arguments: str, status: int = 0) -> dict[str, Any]:
        done = steelyard(*arguments, "--json", STEELYARD_METRICS=str(tmp_path / "ours"))
        assert done.status == status, done.stderr
        return json.loads(done.stdout)

    assert answer("metrics", "seconds_of_pass")["metrics"][0]["level"] == "group"
    measured = answer("measure", runs, "--by", "agent", "--interval", "auto")["groups"]
    values = {group["key"]["agent"]: group["metrics"]["seconds_of_pass"] for group in measured}
    assert values["fast"]["value"] == 22.5  # mean of 10 and 20 over 8 of 12
    interval = values["fast"]["interval"]
    assert (interval["method"], interval["estimate"]) == ("mover-r", 22.5)
    assert interval["low"] < 22.5 < interval["high"]

    compared = answer("compare", runs, "-a", "agent=slow", "-b", "agent=fast", "--metrics", "seconds_of_pass")
    judged = compared["pairs"][0]["metrics"]["seconds_of_pass"]
    assert (judged["baseline"], judged["candidate"], judged["verdict"]) == (90.0, 22.5, "better")

    fast = runs_of(tmp_path, {"fast": 10}, "fast.jsonl")
    dearer = runs_of(tmp_path, {"fast": 60}, "dearer.jsonl")
    rule = ("--rule", "seconds_of_pass <= +10%")
    assert answer("gate", fast, "--baseline", dearer, *rule)["status"] == "pass"
    assert answer("gate", dearer, "--baseline", fast, *rule, status=3)["status"] == "fail"

    ranked = answer("rank", runs, "--by", "agent", "--metrics", "seconds_of_pass")["groups"]
    assert [(place["key"]["agent"], place["score"]["estimate"]) for place in ranked] == [("fast", 22.5), ("slow", 90.0)]
    assert [place["rank_interval"] for place in ranked] == [[1, 1], [2, 2]]

    explained = answer("explain", runs, "seconds_of_pass", "--by", "agent")["groups"][0]
    known = explained["metrics"]["seconds_of_pass"]["inputs"]["duration_seconds"]
    assert (known["value"], known["count"], known["missing"]) == (15.0, 12, 0)


def test_a_total_of_ones_own_is_explained_and_refused_for_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "ours.py").write_text(GROUP_FILE)
    runs = runs_of(tmp_path, {"slow": 40, "fast": 10})
    here = {"STEELYARD_METRICS": str(tmp_path / "ours")}
    explained = steelyard("explain", runs, "spent_usd", "--by", "agent", **here)
    assert explained.status == 0, explained.stderr
    # both the total and what was added up
    assert ["fast", "12", "$12.00", "$12.00"] in [line.split() for line in explained.stdout.splitlines()]
    for command in (
        ("compare", "-a", "agent=slow", "-b", "agent=fast", "--metrics", "spent_usd"),
        ("gate", "--baseline", runs, "--rule", "spent_usd <= +10%"),
        ("rank", "--by", "agent", "--metrics", "spent_usd"),
    ):
        refused = steelyard(command[0], runs, *command[1:], **here)
        assert refused.status == 2
        assert "spent_usd cannot be compared: the metric is a total over these runs" in " ".join(refused.stderr.split())


def test_a_name_taken_twice_an_unknown_input_and_a_circle_are_refused(tmp_path: Path) -> None:
    wrong = {
        "taken": FILE.replace("tokens_per_call", "cost_usd"),
        "unknown": FILE.replace("tool_calls: Required", "tool_cals: Required").replace(
            "(total_tokens, tool_calls", "(total_tokens, tool_cals"
        ),
        "circle": FILE.replace("tool_calls", "chicken")
        + FILE.replace("tokens_per_call", "chicken").replace("tool_calls", "tokens_per_call"),
    }
    sentences = {"taken": "duplicate metric name", "unknown": "tool_calls", "circle": "circle"}
    for name, text in wrong.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "wrong.py").write_text(text)
        done = steelyard("metrics", STEELYARD_METRICS=str(folder))
        assert done.status != 0
        assert sentences[name] in done.stderr
        assert "Traceback" not in done.stderr


def test_a_sum_of_shares_that_a_group_metric_takes_is_shown_as_a_count(tmp_path: Path) -> None:
    declared = (
        GROUP_FILE[GROUP_FILE.rindex("@metric") :].replace("cost_usd", "pass_rate").replace("spent_usd", "passes")
    )
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "ours.py").write_text(
        f"{GROUP_FILE.partition('@metric')[0]}{declared}".replace("USD", "passes")
    )
    runs = tmp_path / "runs.jsonl"
    runs.write_text('{"task": "a", "passed": true}\n{"task": "b", "passed": false}\n')
    done = steelyard("explain", str(runs), "passes", STEELYARD_METRICS=str(tmp_path / "ours"))
    assert done.status == 0, done.stderr
    assert "%" not in done.stdout.splitlines()[-1]
    assert done.stdout.split()[-1] == "1"  # one pass of two
