"""Expected tasks as the denominator: a file, a number or a data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from commands import steelyard
from steelyard.errors import SteelyardError
from steelyard.questions.measure import Statistics

RUNS = [
    *({"task": f"t{n}", "agent": "a", "passed": n < 3} for n in range(4)),  # 3 of 4
    *({"task": f"t{n}", "agent": "b", "passed": n < 2} for n in range(2)),  # 2 of 2
]


def rates(runs: Any, **options: Any) -> dict[Any, tuple[float | None, int, int]]:  # Any: inputs, options, keys
    found = {}
    for group in sy.measure(runs, **options).groups:
        rate = group.metrics["pass_rate"]
        assert isinstance(rate, Statistics)
        found[next(iter(group.key.values()), None)] = (rate.mean, rate.count, rate.missing)
    return found


def listed(folder: Path, agent: str, **lists: list[str]) -> Path:
    path = folder / "evaluation" / "verified" / agent / "results" / "results.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"no_generation": [], "no_logs": [], **lists}), encoding="utf-8")
    return path


def test_expected_tasks_without_a_run_count_by_the_policy() -> None:
    assert rates(RUNS, by="agent", tasks="10") == {"a": (0.75, 4, 6), "b": (1.0, 2, 8)}
    assert rates(RUNS, by="agent", tasks="10", unscored="fail") == {"a": (0.3, 10, 0), "b": (0.2, 10, 0)}


def test_missing_tasks_are_listed_by_group(tmp_path: Path) -> None:
    names = tmp_path / "tasks.txt"
    names.write_text("t0\nt1\nt2\nt9\n", encoding="utf-8")
    measured = sy.measure(RUNS, by="agent", tasks=str(names), unscored="fail")
    found = {finding.code: finding for finding in measured.findings}
    assert [(place.where, place.message) for place in found["missing_tasks"].places] == [
        ("agent a", "1 of 4 expected tasks have no run (without a verdict): t9"),
        ("agent b", "2 of 4 expected tasks have no run (without a verdict): t2, t9"),
    ]
    assert found["unexpected_tasks"].message == "runs on 1 unexpected task are excluded: t3"
    assert [rate for rate, _, _ in rates(RUNS, by="agent", tasks=str(names), unscored="fail").values()] == [0.75, 0.5]


@pytest.mark.parametrize(
    "text", ['["t0", "t1"]', '{"instance_id": "t0"}\n{"instance_id": "t1"}\n', "t0\n\nt1\n", '{"t0": 1, "t1": 2}']
)
def test_a_file_of_tasks_has_any_usual_form(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text(text, encoding="utf-8")
    assert rates(RUNS, tasks=str(path)) == {None: (1.0, 4, 0)}


def test_a_list_of_passes_has_the_published_denominator(tmp_path: Path) -> None:
    resolved = [f"django__django-{n}" for n in range(396)]
    listed(tmp_path, "20250101_x", resolved=resolved, no_generation=["a", "b", "c", "d"], no_logs=["e"])
    for policy in ("exclude", "fail"):
        [(mean, count, missing)] = rates(tmp_path, tasks="swe-bench-verified", unscored=policy).values()
        # 396 of 500; the run without logs has no verdict of its own
        assert (mean, count, missing) == ((396 / 500, 500, 0) if policy == "fail" else (396 / 499, 499, 1))


def test_each_list_of_one_agent_has_its_own_denominator(tmp_path: Path) -> None:
    for name, passed in (("20250101_x", 6), ("20250201_x", 2)):
        path = listed(tmp_path, name, resolved=[f"t{n}" for n in range(passed)])
        (path.parents[1] / "metadata.yaml").write_text("info:\n  name: x\ntags:\n  checked: false\n", encoding="utf-8")
    assert rates(tmp_path, by="agent", tasks="10") == {"x": (0.4, 20, 0)}  # 6 and 2 of 10
    assert rates(tmp_path, by="experiment", tasks="10") == {"20250101_x": (0.6, 10, 0), "20250201_x": (0.2, 10, 0)}
    records = tmp_path / "runs.jsonl"
    steelyard("read", str(tmp_path / "evaluation"), "--out", str(records))
    assert rates(records, by="agent", tasks="10") == {"x": (0.4, 20, 0)}


def test_a_list_without_expected_tasks_says_what_is_missing(tmp_path: Path) -> None:
    folder = listed(tmp_path, "20250101_x", resolved=["t1", "t2"], no_generation=["t3"]).parents[1]
    (folder / "metadata.yml").write_text("info:\n  name: x\ntags:\n  checked: false\n", encoding="utf-8")
    (folder / "results" / "resolved_by_repo.json").write_text('{"django/django": {"resolved": 2}}', encoding="utf-8")
    for policy in ("exclude", "fail"):
        measured = sy.measure(tmp_path, unscored=policy)
        found = {finding.code: finding for finding in measured.findings}
        assert [place.message for place in found["no_denominator"].places] == ["3 runs"]
        assert "the option tasks names the expected tasks" in found["no_denominator"].message
        assert {"unscored_runs", "not_used"}.isdisjoint(found)
    assert "no_denominator" not in {finding.code for finding in sy.measure(tmp_path, tasks="10").findings}
    with pytest.raises(SteelyardError, match="cannot rank on pass_rate: no run has a value"):
        sy.rank(tmp_path, by="agent", metrics=["pass_rate"])


def test_two_lists_are_compared_over_all_tasks(tmp_path: Path) -> None:
    listed(tmp_path, "a", resolved=["t1", "t2", "t3"])
    listed(tmp_path, "b", resolved=["t3", "t4"])
    compared = sy.compare(tmp_path, baseline="agent=a", candidate="agent=b", metrics=["pass_rate"], tasks="10")
    pair = compared.pairs[0].metrics["pass_rate"]
    assert (pair.tasks, pair.baseline, pair.candidate) == (10, 0.3, 0.2)  # 3 and 2 of 10
    ranking = sy.rank(tmp_path, by="agent", metrics=["pass_rate"], tasks="10")
    assert [(group.key["agent"], group.score.estimate) for group in ranking.groups] == [("a", 0.3), ("b", 0.2)]
    assert sy.gate(tmp_path / "evaluation" / "verified" / "a", rule="pass_rate >= 0.9", tasks="10").status == "fail"
    assert len(sy.matrix(tmp_path, by="agent", tasks="10").tasks) == 10


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("3", "the runs have 4 tasks, more than the 3 of"),
        ("0", "must be between 1 and 1,000,000 \\(got 0\\)"),
        ("swe-bench-verifed", "swe-bench-verified"),
    ],
)
def test_expected_tasks_that_cannot_be_are_rejected(given: str, message: str) -> None:
    with pytest.raises(SteelyardError, match=message):
        sy.measure(RUNS, by="agent", tasks=given)
