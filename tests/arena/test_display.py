"""What commands print says what it is: confidence as given, counts whole, a line for each thing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from arena_makers import changed_profile, make_arena
from steelyard.arena import evaluation
from steelyard.arena.scoring._rules import score_metrics
from steelyard.cli import run
from steelyard.errors import UnknownNameError
from steelyard.questions.arena.history import arena_history
from steelyard.questions.arena.leaderboard import arena_leaderboard
from steelyard.store import Store


@pytest.fixture
def at(store: Store) -> tuple[str, str]:
    """Six submissions to one task by two submitters."""
    arena = make_arena(store)
    arena.add_task({"id": "task", "success_criteria": [{"type": "no_errors"}]})
    arena.add_task({"id": "other"})
    arena.submit(
        [
            {"id": f"s{n}", "task_id": "task", "total_tokens": 1_234_567 * n, "tool_calls": n, "submitter": name}
            for n, name in enumerate(["ada", "bob"] * 3, start=1)
        ]
    )
    address = store.url.set(drivername=store.url.get_backend_name()).render_as_string(hide_password=False)
    return ("--store", address)


@pytest.mark.parametrize(
    ("confidence", "shown"),
    [
        ("0.999", "(99.9% CI "),
        ("0.995", "(99.5% CI "),
        ("0.975", "(97.5% CI "),
        ("0.9", "(90% CI "),
    ],
)
def test_a_confidence_is_shown_as_it_was_given(
    at: tuple[str, str], confidence: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["arena", "leaderboard", "task", "--confidence", confidence, *at]) == 0
    assert shown in capsys.readouterr().out


def test_the_headline_says_what_the_leader_does_not_state(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    arena = make_arena(store)
    arena.add_task({"id": "task"})
    stated = {"task_id": "task", "total_tokens": 9000, "tool_calls": 9, "execution_time": 200}
    arena.submit(
        [{**stated, "id": "dear", "agent": "a", "estimated_cost": 0.19}, {**stated, "id": "silent", "agent": "b"}]
    )
    address = store.url.set(drivername=store.url.get_backend_name()).render_as_string(hide_password=False)
    assert run(["arena", "leaderboard", "task", "--store", address]) == 0
    headline = capsys.readouterr().out.partition("\n")[0]
    assert headline.startswith("silent (b) leads with")
    assert headline.endswith(" It has no reported cost (scored 50).")
    assert run(["arena", "leaderboard", "--by", "agent", "--store", address]) == 0
    headline = capsys.readouterr().out.partition("\n")[0]
    assert headline.endswith("; 1 of 1 submission without a reported cost or time (scored 50).")
    first, second = arena_leaderboard(address, by=["agent"]).overall
    assert (first.key, first.unreported) == ({"agent": "b"}, 1)
    assert (second.key, second.unreported) == ({"agent": "a"}, 0)


def test_counts_of_a_baseline_are_whole(at: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["arena", "task", "show", "task", *at]) == 0
    found = dict(line.split()[:2] for line in capsys.readouterr().out.splitlines() if line.startswith("m"))
    assert found["max_tokens"] == "7,407,402"  # 6 x 1,234,567
    assert found["median_tokens"] == "4,320,984.5"  # 3.5 x 1,234,567
    assert found["median_iterations"] == "1"


def test_equal_standings_agree_exactly(at: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["arena", "compare-profiles", "arena-1", "arena-1", "--json", *at]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["kendall_tau"] for one in found["tasks"]] == [1]
    assert found["mean_kendall_tau"] == 1


def test_a_pipe_gets_one_line_for_each_receipt(
    at: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [{"id": f"{n}" * 200, "task_id": "task", "total_tokens": 1, "tool_calls": 1} for n in (1, 2)]
    (tmp_path / "given.jsonl").write_text("\n".join(map(json.dumps, given)))
    assert run(["arena", "submit", str(tmp_path / "given.jsonl"), *at]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 accepted")
    assert [line.split()[0] for line in lines if line[:1] in ("1", "2")][1:] == ["1" * 200, "2" * 200]


def test_a_submitter_nobody_knows_is_answered_with_the_nearest(
    at: tuple[str, str], store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["arena", "history", "--submitter", "adda", *at]) == 2
    told = capsys.readouterr()
    assert (told.out, "did you mean 'ada'?" in told.err) == ("", True)
    with pytest.raises(UnknownNameError, match="unknown submitter 'adda'"):
        arena_history(make_arena(store), task="task", submitter="adda")
    assert arena_history(make_arena(store), submitter="ada").n == 3
    assert arena_history(make_arena(store), task="other", submitter="ada").n == 0  # known, with nothing in this task


def test_formulas_name_constants_and_state_none() -> None:
    for declared in score_metrics():
        assert all(name in declared.formula for name in declared.constants)
        # The ends of the scale and the first iteration are the same under every profile.
        assert set(re.findall(r"\d+(?:\.\d+)?", declared.formula)) <= {"0", "1", "100"}


def test_an_evaluation_shows_only_numbers_in_use(
    at: tuple[str, str], store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    arena = make_arena(store)
    arena.rescore_tasks(profile=changed_profile(efficiency_weight=0.05, correctness_weight=0.5))
    assert run(["arena", "show", "s1", "overall_score", *at]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"efficiency_weight +0\.05  profile$", shown, re.MULTILINE)
    assert "0.35" not in shown


def test_criteria_come_from_their_check(at: tuple[str, str], store: Store) -> None:
    assert at
    sources = evaluation(make_arena(store), "s1").sources
    assert sources["criteria_met"] == "the criteria check"
    assert sources["criteria_total"] == "the task"
    assert sources["total_tokens"] == "the submission"
