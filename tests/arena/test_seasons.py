"""Seasons: what a manifest holds, that it can be checked by anybody, and that whatever is changed in it is noticed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.arena import Arena, create_arena, verify
from steelyard.arena._seasons import digest_of
from steelyard.cli import run
from steelyard.errors import InputError, UnknownNameError, UsageError
from steelyard.profiles import load_profile
from steelyard.questions.arena.rescore import arena_rescore
from steelyard.questions.arena.review_exclude import arena_review_exclude
from steelyard.questions.arena.season_create import arena_season_create
from steelyard.questions.arena.season_show import arena_season_show
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.store import Store

Document = dict[str, Any]  # Any: JSON values


def entry(number: int, task: str) -> dict[str, object]:
    told: dict[str, object] = {"id": f"{task}{number}", "task_id": task, "total_tokens": 900 + 371 * number}
    told |= {"tool_calls": 1 + number % 5, "agent": f"tool-{number % 3}", "success": number % 4 != 0}
    return told | ({"execution_time": 30.5 + 11 * number, "estimated_cost": 0.011 * number} if number % 3 else {})


@pytest.fixture(params=["current", "as-submitted"])
def arena(store: Store, request: pytest.FixtureRequest) -> Arena:
    arena = create_arena(store, load_profile("arena-1"), policy=request.param)
    arena.add_task({"id": "a", "success_criteria": [{"type": "no_errors"}], "difficulty": "advanced"})
    arena.add_task({"id": "b", "category": "debugging"})
    for number in range(9):
        arena.submit([entry(number, "a")])
    arena_rescore(arena, profile="arena-community")
    arena.submit([entry(number, task) for task in ("a", "b") for number in (20, 21, 22)])
    arena_review_exclude(arena, "a3", by="ada", reason="prints the expected output")
    return arena


def document(arena: Arena, name: str = "autumn") -> Document:
    return json.loads(json.dumps(arena_season_create(arena, name).to_dict()))


def failing(told: Document, arena: Arena | None = None) -> set[str]:
    return {check.what for check in verify(told, where="manifest.json", arena=arena).checks if not check.holds}


def test_a_season_holds_what_stood_and_every_exclusion_with_its_reason(arena: Arena) -> None:
    told = document(arena)
    tasks = {task["definition"]["id"]: task for task in told["manifest"]["tasks"]}
    stood = arena_task_leaderboard(arena, "a").leaderboard
    assert [(row["id"], row["overall"] / 100, row["overall_ranking"]) for row in tasks["a"]["submissions"]] == [
        (row.submission_id, row.overall_score, row.overall_ranking) for row in stood
    ]
    (gone,) = tasks["a"]["excluded"]
    assert (gone["submission_id"], gone["by"], gone["reason"]) == ("a3", "ada", "prints the expected output")
    assert failing(told) == set()
    assert failing(told, arena) == set()


def test_it_never_changes_whatever_comes_later(arena: Arena) -> None:
    told = document(arena)
    arena.submit([entry(30, "a")])
    arena_review_exclude(arena, "a5", reason="x")
    arena_rescore(arena, profile="arena-1")
    assert arena_season_show(arena, "autumn").to_dict() == told
    assert failing(told, arena) == set()
    with pytest.raises(UsageError, match="cannot be changed"):
        arena_season_create(arena, "autumn")
    with pytest.raises(UnknownNameError, match="autumn"):
        arena_season_show(arena, "autum")


def test_one_task_alone_can_be_frozen(arena: Arena) -> None:
    assert arena_season_create(arena, "b", task=["b"]).counts == (1, 3, 0)


CHANGES: dict[str, tuple[Callable[[Document], Any], str]] = {
    "a score": (lambda manifest: manifest["tasks"][0]["submissions"][0].update(overall=1), "scores"),
    "tokens": (lambda manifest: manifest["tasks"][0]["submissions"][3].update(total_tokens=50_000), "scores"),
    "a criterion": (lambda manifest: manifest["tasks"][0]["submissions"][-1].update(criteria_met=2), "scores"),
    "a rank": (lambda manifest: manifest["tasks"][0]["submissions"][1].update(overall_ranking=1), "ranks"),
    "a weight": (lambda manifest: [told["constants"].update(speed_weight=0.3) for told in manifest["rules"]], "scores"),
    "a bound": (lambda m: [told.update(max_tokens=9e5) for told in m["tasks"][0]["baselines"].values()], "scores"),
    "an exclusion taken out": (lambda manifest: manifest["tasks"][0]["excluded"].clear(), "digest"),
    "a reason": (lambda manifest: manifest["tasks"][0]["excluded"][0].update(reason="none"), "digest"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_is_changed_is_noticed(arena: Arena, name: str) -> None:
    told = document(arena)
    change, what = CHANGES[name]
    changed = copy.deepcopy(told)
    change(changed["manifest"])
    assert "digest" in failing(changed)
    forged = {**changed, "sha256": digest_of(changed["manifest"])}  # whoever forges a manifest makes its digest anew
    assert what == "digest" or what in failing(forged)
    assert "kept" in failing(forged, arena)


def test_verify_notices_a_changed_leaderboard(arena: Arena) -> None:
    told = document(arena)
    told["leaderboard"][0]["overall_ranking"] = 7
    assert failing(told) == {"leaderboard"}


def test_a_submission_left_out_moves_ranks_or_is_missed_by_its_arena(arena: Arena) -> None:
    told = document(arena)
    del told["manifest"]["tasks"][0]["submissions"][0]
    forged = {**told, "sha256": digest_of(told["manifest"])}
    assert "ranks" in failing(forged)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"sha256": "x", "manifest": {"kind": "other"}}', '{"sha256": 1, "manifest": []}']
)
def test_what_is_no_manifest_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.json").write_text(text)
    assert run(["arena", "season", "verify", str(tmp_path / "m.json")]) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_a_manifest_that_lacks_something_is_refused_not_trusted(arena: Arena) -> None:
    told = document(arena)
    for name in ("rules", "tasks", "policy"):
        broken = copy.deepcopy(told)
        del broken["manifest"][name]
        with pytest.raises(InputError):
            verify(broken, where="m.json")


def test_the_commands_freeze_list_and_verify(arena: Arena, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, file = ["--store", arena.store.address], tmp_path / "manifest.json"
    assert run(["arena", "season", "create", "autumn", "--out", str(file), *store]) == 0
    assert run(["arena", "season", "verify", str(file)]) == 0
    assert run(["arena", "season", "verify", str(file), *store]) == 0
    assert run(["arena", "season", "list", "--json", *store]) == 0
    assert "autumn" in capsys.readouterr().out
    told = json.loads(file.read_text())
    told["manifest"]["tasks"][0]["submissions"][0]["overall"] = 1
    file.write_text(json.dumps(told))
    assert run(["arena", "season", "verify", str(file)]) == 3
    assert "digest" in capsys.readouterr().out
