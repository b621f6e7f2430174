"""Two files or directories as the sides of a comparison, without labels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from commands import steelyard
from matchups import write
from steelyard.errors import UsageError
from steelyard.questions._run_input import input_names
from steelyard.records import Run


def runs(passed: set[int], *, cost: float = 1.0) -> list[Run]:
    """Twelve tasks under the same ids on each side; the first run is the same on both."""
    return [
        Run(id=f"r{task}", task=f"t{task}", agent="a", passed=task in passed, cost_usd=1.0 if task == 0 else cost)
        for task in range(12)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, passed, cost in (("main", {0, 1, 2}, 1.0), ("branch", set(range(9)), 2.0)):
        (tmp_path / name).mkdir()
        write(tmp_path / f"{name}.jsonl", runs(passed, cost=cost))
        write(tmp_path / name / "runs.jsonl", runs(passed, cost=cost))
    return tmp_path


@pytest.mark.parametrize(
    "inputs",
    [
        ("main.jsonl", "branch.jsonl"),
        ("main", "branch"),
        ("branch.jsonl", "-a", "main.jsonl"),
        ("branch", "--baseline", "main"),
        ("main.jsonl", "branch.jsonl", "-a", "file=main", "-b", "file=branch"),
    ],
)
def test_two_inputs_are_the_sides(folder: Path, inputs: tuple[str, ...]) -> None:
    compared = steelyard("compare", *inputs, "--metrics", "pass_rate,cost_usd", "--json", cwd=folder)
    assert compared.status == 0, compared.stderr
    answer = json.loads(compared.stdout)
    (pair,) = answer["pairs"]
    assert (answer["baseline"]["label"], pair["candidate"]["label"]) == ("main", "branch")
    assert (answer["baseline"]["runs"], pair["candidate"]["runs"]) == (12, 12)
    assert pair["metrics"]["pass_rate"]["difference"]["estimate"] == 0.5  # 9 of 12 and 3 of 12
    assert pair["metrics"]["cost_usd"]["difference"]["estimate"] == pytest.approx(11 / 12)
    assert answer["rejected_count"] == 0
    rule = ("--rule", "cost_usd <= baseline * 3", "--json")
    gated = json.loads(steelyard("gate", *inputs, *rule, cwd=folder).stdout)
    assert gated["rules"][0]["baseline"] == 1
    assert gated["rules"][0]["candidate"] == pytest.approx(23 / 12)


def test_rank_takes_each_file_as_a_group(folder: Path) -> None:
    ranked = sy.rank([folder / "main.jsonl", folder / "branch.jsonl"], by=["file"], metrics=["pass_rate"])
    assert [(group.key, group.runs) for group in ranked.groups] == [
        ({"x_file": "branch"}, 12),
        ({"x_file": "main"}, 12),
    ]
    measured = sy.measure([folder / "main.jsonl", folder / "branch.jsonl"], where="file=branch")
    assert (measured.n, measured.groups[0].metrics["pass_rate"].mean) == (12, 0.75)


def test_compare_of_a_copy_with_its_original_has_two_sides(folder: Path) -> None:
    (folder / "copy.jsonl").write_bytes((folder / "main.jsonl").read_bytes())
    compared = sy.compare([folder / "main.jsonl", folder / "copy.jsonl"], metrics=["pass_rate"])
    assert (compared.baseline.runs, compared.pairs[0].candidate.runs) == (12, 12)


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        (["main.jsonl"], {}, "no baseline and no candidate to compare"),
        (["main.jsonl", "main.jsonl"], {}, "the same input is given twice"),
        (["main.jsonl"], {"candidate": "agent=a"}, "no baseline to compare with"),
        (["main.jsonl"], {"baseline": "agent=a"}, "no candidate to compare"),
    ],
)
def test_sides_that_are_missing_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, inputs: list[str], options: dict[str, str], message: str
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(UsageError, match=message):
        sy.compare(inputs, **options)
    with pytest.raises(UsageError, match="grouping by 'file' requires files or directories"):
        sy.measure(runs({1}), by=["file"])


def test_input_names_are_as_short_as_they_can_be(tmp_path: Path) -> None:
    assert list(input_names([Path("a/runs.jsonl"), Path("b/runs.jsonl")])) == ["a/runs", "b/runs"]
    assert list(input_names([Path("runs.jsonl"), Path("runs.csv")])) == ["runs.jsonl", "runs.csv"]
    assert list(input_names([Path("gpt-4.1.jsonl"), Path("x.tar.gz")])) == ["gpt-4.1", "x"]


def test_side_of_records_is_never_a_file(folder: Path) -> None:
    with pytest.raises(UsageError, match="is not KEY=VALUE"):
        sy.compare(runs({1}), baseline=str(folder / "main.jsonl"), candidate="agent=a")
    table = sy.read(folder / "main.jsonl")
    with pytest.raises(UsageError, match="is not KEY=VALUE"):
        sy.compare(table, baseline=str(folder / "branch.jsonl"), candidate="agent=a")
