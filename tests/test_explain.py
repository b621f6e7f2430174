"""Any number can be asked how it came."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from commands import steelyard
from steelyard.records import encode_run


def written(tmp_path: Path) -> str:
    path = tmp_path / "runs.jsonl"
    path.write_text(
        '{"id": "first", "task": "t", "tier": "T0", "passed": true, "impl_rate": 0.85, "cost_usd": 0.5, '
        '"provenance": {"cost_usd": "reported"}}\n'
        '{"id": "second", "task": "t", "tier": "T0", "passed": false}\n'
        '{"task": "t", "tier": "T1", "passed": true}\n'
    )
    return str(path)


def test_a_run_metric_is_traced_to_the_facts_of_the_record(tmp_path: Path) -> None:
    path = written(tmp_path)
    found = json.loads(steelyard("explain", path, "--run", "first", "composite_score", "--json").stdout)
    assert found["where"] == f"{path}:1"
    assert found["profile"] == "outcome-1"
    root = found["explanation"]
    assert root["value"] == 0.925
    assert root["constants"] == {"pass_weight": 0.5, "impl_weight": 0.5}
    assert [part["name"] for part in root["inputs"]] == ["pass_rate", "impl_rate"]
    text = steelyard("explain", path, "--run", "first", "composite_score").stdout
    assert "pass_weight = 0.5" in text
    assert any(line.split()[1:3] == ["stated_impl_rate", "0.85"] for line in text.splitlines())


def test_what_was_missing_is_told(tmp_path: Path) -> None:
    found = json.loads(steelyard("explain", written(tmp_path), "--run", "second", "composite_score", "--json").stdout)
    assert found["explanation"]["value"] is None
    assert "no impl_rate" in found["explanation"]["reason"]


def test_provenance_and_infinity_are_shown(tmp_path: Path) -> None:
    found = json.loads(steelyard("explain", written(tmp_path), "--run", "first", "cost_usd", "--json").stdout)
    reported = found["explanation"]["inputs"][0]
    assert reported["provenance"] == "reported"
    source = tmp_path / "failed.jsonl"
    source.write_text('{"id": "f", "task": "t", "passed": false, "cost_usd": 1}\n')
    failed = json.loads(steelyard("explain", str(source), "cost_of_pass", "--run", "f", "--json").stdout)
    assert failed["explanation"]["value"] == "Infinity"


def test_a_group_metric_is_explained_group_by_group(tmp_path: Path) -> None:
    path = written(tmp_path)
    found = json.loads(steelyard("explain", path, "cost_of_pass", "--by", "tier", "--json").stdout)
    assert found["inputs"] == {"cost_usd": "mean of cost_usd", "pass_rate": "mean of pass_rate"}
    assert found["groups"][0]["metrics"]["pass_rate"]["count"] == 2
    shown = steelyard("explain", path, "cost_of_pass", "--by", "tier").stdout
    assert "formula: mean cost_usd / mean pass_rate" in shown
    assert "cost_usd: mean of cost_usd" in shown
    # T0: one of two runs has both a cost and a verdict, 0.5 and passed, so 0.5 / 1
    of_two = ["(1", "of", "2)"]
    assert ["T0", "vanilla", "2", "$0.5000", *of_two, "$0.5000", *of_two, "100.0%", *of_two] in [
        line.split() for line in shown.splitlines()
    ]
    known = found["groups"][0]["metrics"]["cost_of_pass"]["inputs"]["pass_rate"]
    assert (known["value"], known["count"], known["missing"]) == (1.0, 1, 1)
    assert "- [1]" in shown.split("T1 prompted")[1]  # no run of T1 has a cost


def test_a_reason_is_shown_once_however_often_it_applies(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(f'{{"task": "{task}", "agent": "a", "passed": true}}\n' for task in "stu"))
    shown = steelyard("explain", str(path), "cost_of_pass", "--by", "task").stdout
    assert shown.count("the record has no cost_usd") == 1
    assert shown.count("- [1]") == 6  # cost and cost of pass of three tasks


@pytest.mark.parametrize(
    ("metric", "line"),
    [
        (
            "composite_score",
            [
                "T1",
                "prompted",
                "200",
                "90.0%",
                "61.4%",
                "95.0%",
                "10.0%",
                "100.0%",
                "38.2%",
                "58.5%",
                "64.2%",
            ],
        ),
        ("tier_uplift", ["T1", "prompted", "8.0%"]),  # (0.9 - 0.8333) / 0.8333
        ("cost_variance", ["all", "tiers", "0.450"]),
        ("component_token_fraction", ["T2", "skills", "200", "SKILL_PROMPT", "58.3%"]),
    ],
)
def test_every_level_of_metric_has_a_table_of_groups(metric: str, line: list[str], tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"".join(encode_run(run) + b"\n" for run in sy.demo_runs()))
    shown = steelyard("explain", str(path), metric, "--by", "tier", "--quiet")
    rows = [iter(row.split()) for row in shown.stdout.splitlines()]
    assert any(all(word in row for word in line) for row in rows)  # in this order; a new statistic may come in between
    assert json.loads(steelyard("explain", str(path), metric, "--by", "tier", "--json").stdout)["metric"] == metric


def test_groups_are_explained_with_what_was_set_aside(tmp_path: Path) -> None:
    path = Path(written(tmp_path))
    path.write_text(path.read_text() + '{"task": 3}\n')
    done = steelyard("explain", str(path), "pass_rate", "--by", "tier", "--json")
    assert done.status == 1
    assert any(one["where"] == f"{path}:4" for one in json.loads(done.stdout)["findings"])
    assert steelyard("explain", str(path), "pass_rate", "--by", "tier", "--allow-rejected").status == 0


def test_a_wrong_run_is_answered_with_the_nearest(tmp_path: Path) -> None:
    path = written(tmp_path)
    done = steelyard("explain", path, "cost_usd", "--run", "secnd")
    assert done.status == 2
    assert "'second'" in done.stderr
    assert steelyard("explain", path, "cost_usd", "--run", "fir").status == 0
    assert steelyard("explain", path, "cost_usd").status == 0  # over all runs
    assert steelyard("explain", path, "tier_uplift", "--run", "first").status == 2
