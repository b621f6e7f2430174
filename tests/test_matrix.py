"""Tasks by agents: every cell, which tasks are hard, and which separate the agents."""

from __future__ import annotations

import json
import random
from pathlib import Path

import msgspec
import pytest

import steelyard as sy
from commands import steelyard
from steelyard.errors import NoValidInputError, UnknownNameError, UsageError
from steelyard.questions.matrix import Matrix
from steelyard.records import Run


def made(passes: dict[str, dict[str, tuple[int, int]]]) -> list[Run]:
    """For each task and agent, how many of how many runs pass."""
    return [
        Run(id=f"{task}-{agent}-{number}", task=task, agent=agent, passed=number < count)
        for task, agents in passes.items()
        for agent, (count, tries) in agents.items()
        for number in range(tries)
    ]


# best is ahead and last behind everywhere but on "odd"
RUNS = made(
    {
        "easy": {"best": (2, 2), "middle": (2, 2), "last": (2, 2)},
        "telling": {"best": (2, 2), "middle": (1, 2), "last": (0, 2)},
        "also-telling": {"best": (3, 3), "middle": (1, 2), "last": (0, 2)},
        "third-telling": {"best": (1, 1), "middle": (1, 2), "last": (0, 1)},
        "odd": {"best": (0, 2), "middle": (1, 2), "last": (1, 1)},
        "hard": {"best": (1, 4), "middle": (0, 1)},
    }
)


def rows_of(result: Matrix) -> list[str]:
    return [row.task for row in result.tasks]


def test_every_cell_has_its_own_runs_and_what_was_not_run_is_none() -> None:
    result = sy.matrix(RUNS, by=["agent"], order="task")
    assert [group.key["agent"] for group in result.groups] == ["best", "last", "middle"]
    hard = next(row for row in result.tasks if row.task == "hard")
    assert hard.cells[1] is None
    assert hard.cells[0] is not None
    assert (hard.cells[0].value, hard.cells[0].runs) == (0.25, 4)
    assert hard.mean == 0.125  # every group counts once: (1/4 + 0/1) / 2
    best = result.groups[0]
    assert (best.tasks, best.runs) == (6, 14)
    assert best.value == (1 + 1 + 1 + 1 + 0 + 0.25) / 6


def test_a_group_has_the_number_that_measure_gives_it() -> None:
    for weight_by in ("tasks", "runs"):
        measured = sy.measure(RUNS, by=["agent"], metrics=["pass_rate"], weight_by=weight_by)
        shown = sy.matrix(RUNS, by=["agent"], weight_by=weight_by)
        assert [group.metrics["pass_rate"].mean for group in measured.groups] == [g.value for g in shown.groups]


def test_the_hardest_task_comes_first_also_where_lower_is_better() -> None:
    hardest_first = ["hard", "also-telling", "odd", "telling", "third-telling", "easy"]  # 1/8, four times 1/2, 1
    assert rows_of(sy.matrix(RUNS, by=["agent"])) == hardest_first
    costs = [Run(id=task, task=task, agent="a", cost_usd=cost) for task, cost in (("cheap", 1.0), ("dear", 9.0))]
    assert rows_of(sy.matrix(costs, by=["agent"], metric="cost_usd")) == ["dear", "cheap"]


def test_discrimination_is_of_those_ahead_on_the_other_tasks_minus_those_behind() -> None:
    result = sy.matrix(RUNS, by=["agent"], order="discrimination")
    told = {row.task: row.discrimination for row in result.tasks}
    assert told["telling"] == 1.0  # on the other tasks best is ahead and last behind: 2/2 - 0/2
    assert told["odd"] == -1.0  # and here it is the other way round: 0/2 - 1/1
    assert told["easy"] == 0.0
    assert rows_of(result) == ["also-telling", "telling", "third-telling", "hard", "easy", "odd"]


def test_a_task_says_nothing_where_groups_tie_on_the_others() -> None:
    runs = made({"x": {"a": (1, 1), "b": (0, 1)}, "y": {"a": (1, 1), "b": (1, 1)}})
    told = {row.task: row.discrimination for row in sy.matrix(runs, by=["agent"]).tasks}
    assert told == {"x": None, "y": 0.0}


def test_disagreement_is_of_two_groups() -> None:
    with pytest.raises(UsageError, match="needs two groups") as error:
        sy.matrix(RUNS, by=["agent"], order="disagreement")
    assert error.value.hint == "baseline='agent=NAME', candidate='agent=NAME'"
    result = sy.matrix(RUNS, by=["agent"], order="disagreement", baseline="agent=best", candidate="agent=last")
    assert [(row.task, row.difference) for row in result.tasks] == [
        ("also-telling", -1.0),
        ("odd", 1.0),
        ("telling", -1.0),
        ("third-telling", -1.0),
        ("easy", 0.0),
        ("hard", None),
    ]
    two = sy.matrix([run for run in RUNS if run.agent != "middle"], by=["agent"], order="disagreement")
    assert [row.difference for row in two.tasks] == [row.difference for row in result.tasks]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"baseline": "agent=best"}, "must be given together"),
        ({"baseline": "agent=best", "candidate": "agent=best"}, "the same group"),
        ({"baseline": "agent=best", "candidate": "model=x"}, "which is not in by"),
        ({"baseline": "agent=best", "candidate": "agent=worst"}, "matches 0 groups"),
        ({"by": ["task"]}, "rows of the matrix"),
        ({"by": []}, "no columns given"),
        ({"metric": "total_cost_usd"}, "cannot be compared"),
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sy.matrix(RUNS, **({"by": ["agent"]} | asked))


def test_an_unknown_metric_or_one_that_no_run_has_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="pass_rat"):
        sy.matrix(RUNS, metric="pass_rat")
    with pytest.raises(NoValidInputError, match="no run has a r_prog: the record has no expected steps"):
        sy.matrix(RUNS, metric="r_prog")


def test_the_order_of_rows_changes_nothing() -> None:
    shuffled = list(RUNS)
    random.Random(3).shuffle(shuffled)
    for order in ("difficulty", "discrimination", "task"):
        assert sy.matrix(RUNS, by=["agent"], order=order) == sy.matrix(shuffled, by=["agent"], order=order)


def test_the_command_prints_the_same_numbers_in_every_form(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_bytes(b"\n".join(msgspec.json.encode(run) for run in RUNS))
    shape = json.loads(steelyard("matrix", str(file), "--by", "agent", "--json").stdout)
    assert shape["schema_version"] == 1
    assert (shape["order"], shape["metric"], shape["weight_by"]) == ("difficulty", "pass_rate", "tasks")
    assert [row["task"] for row in shape["tasks"]] == [
        "hard",
        "also-telling",
        "odd",
        "telling",
        "third-telling",
        "easy",
    ]
    assert shape["tasks"][0]["cells"][1] is None
    printed = steelyard("matrix", str(file), "--by", "agent")
    assert printed.status == 0
    assert "6 tasks by 3 groups (agent): 0 unsolved, 1 solved in every run, 5 mixed." in printed.stdout
    assert "1/4" in printed.stdout
    flat = steelyard("matrix", str(file), "--by", "agent", "--csv").stdout.splitlines()
    assert flat[0] == (
        "tier_scheme,metric,task,mean,discrimination,difference,agent,tier_name,group_value,group_runs,"
        "value,runs,missing,errored"
    )
    assert len(flat) == 1 + 6 * 3
    assert steelyard("matrix", str(file), "--by", "agent", "--out", str(tmp_path / "m.svg")).status == 0
    assert (tmp_path / "m.svg").read_text("utf-8").startswith("<svg")
