"""Laws over every action: each surface does the same, answers the same and rejects the same."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from question_cases import SAMPLES, Case, store_address, write_inputs
from serving import serving
from steelyard.cli import run
from steelyard.errors import SteelyardError
from steelyard.questions import Answer, ArenaSource, question_named, question_names, read_answer
from steelyard.server import API, ServeOptions
from test_every_question import printed

HOLDER = "ada"
"""Who acts: the owner of the token, and the user named on the command line."""
ACTIONS = [
    Case("arena_review_accept", {"submission": "bee-1", "reason": "checked"}, "arena.db"),
    Case("arena_review_exclude", {"submission": "bee-1", "reason": "odd"}, "arena.db"),
    Case("arena_review_exclude", {"submission": "odd-1", "reason": "excluded before"}, "arena.db"),
    Case("arena_review_reinstate", {"submission": "odd-1"}, "arena.db"),
    Case("arena_withdraw", {"submission": "own-1", "reason": "wrong log"}, "arena.db"),
    Case("arena_user_add", {"kind": "person", "id": "bo", "name": "Bo", "team": "blue"}, "arena.db"),
    Case("arena_rating_assign", {"task": "fix-race", "reviewers": "xia,yan", "per_submission": 2}, "arena.db"),
    Case(
        "arena_rating_assign",
        {"task": "fix-race", "reviewers": "xia,yan", "per_submission": 1, "unblind": True},
        "arena.db",
    ),
    Case("arena_rating_add", {"submission": "bee-2", "score": 70, "comment": "clear"}, "arena.db"),
    Case("arena_season_create", {"season": "next", "task": ["fix-race"]}, "arena.db"),
    Case("arena_model_fit", {}, "arena.db"),
    Case("arena_model_fit", {}, "learning.db"),
    Case("arena_rescore", {"tasks": ["fix-race"]}, "arena.db"),
    Case("arena_task_add", {"files": str(SAMPLES / "arena" / "tasks.toml")}, "arena.db"),
    Case("arena_rescore", {"policy": "as-submitted"}, "arena.db"),
    Case("arena_init", {"profile": "arena-community"}, "arena.db"),
    Case("arena_upgrade", {}, "arena.db"),
    Case("arena_submit_files", {"files": "new.jsonl"}, "arena.db"),
    Case("arena_submit_runs", {"from_runs": "new-runs.jsonl", "submitter": "bo"}, "arena.db"),
    Case("arena_notify", {"targets": "targets.toml", "once": True}, "arena.db"),
]
NEW = {"id": "new-1", "task_id": "fix-race", "total_tokens": 9_000, "tool_calls": 4}
NEW_RUN = {"id": "new-2", "task": "fix-race", "usage": {"total_tokens": 8_000}, "tool_calls": 3}
TARGETS = '[[targets]]\nname = "a"\nurl = "http://127.0.0.1:9/"\nnetwork = "loopback"\nsubmitters = ["nobody"]\n'
"""A target that wants no event that there is."""
WRONG: list[tuple[str, dict[str, Any]]] = [
    ("arena_review_exclude", {"submission": "bee-1"}),
    ("arena_review_exclude", {"submission": "bee-1", "reason": " "}),
    ("arena_review_exclude", {"submission": "bee-9", "reason": "odd"}),
    ("arena_review_accept", {"submission": "odd-1"}),
    ("arena_user_add", {"kind": "persn", "id": "x"}),
    ("arena_user_add", {"kind": "tool", "id": "x", "team": "blue"}),
    ("arena_user_add", {"kind": "person", "id": "x", "team": "blu"}),
    ("arena_rating_add", {"submission": "bee-1", "score": 101}),
    ("arena_rating_assign", {"task": "fix-race", "per_submission": 0}),
    ("arena_rating_assign", {"task": "fix-rase"}),
    ("arena_season_create", {"season": "2026-11"}),
    ("arena_season_create", {"season": "x", "task": ["nowhere"]}),
    ("arena_rescore", {"tasks": ["nowhere"]}),
    ("arena_rescore", {"policy": "curent"}),
    ("arena_init", {"profile": "arena-9"}),
    ("arena_init", {"policy": "as-submitted"}),
    ("arena_submit_files", {}),
    ("arena_submit_runs", {"from_runs": "new-runs.jsonl", "task_map": "nowhere.toml"}),
    ("arena_notify", {"targets": "nowhere.toml"}),
    ("arena_notify", {"targets": "targets.toml", "since": "2999-01-01"}),
    ("arena_notify", {"targets": "targets.toml", "poll_interval": 0.0}),
]
EACH = pytest.mark.parametrize("case", ACTIONS, ids=lambda case: case.name)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_action_inputs(tmp_path_factory.mktemp("actions"))


def write_action_inputs(folder: Path) -> Path:
    """Write the stores and the files of the cases."""
    write_inputs(folder)
    (folder / "new.jsonl").write_text(json.dumps(NEW))
    (folder / "new-runs.jsonl").write_text(json.dumps(NEW_RUN))
    (folder / "targets.toml").write_text(TARGETS)
    arena = sy.open_arena(store_address(folder, "arena.db"))
    arena.submit([{"id": "own-1", "task_id": "fix-race", "total_tokens": 9, "tool_calls": 1, "submitter": HOLDER}])
    arena.store.close()
    return folder


@pytest.fixture(autouse=True)
def clock(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # what is there is of an earlier time
    """Every copy of a store is changed at the same time, so that all answers are equal; files are named from there."""
    monkeypatch.chdir(inputs)
    now = time.time_ns()
    monkeypatch.setattr("steelyard.records._times.time_ns", lambda: now)


@pytest.fixture
def fresh(inputs: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """A copy of a store, by its name: its address. Answers with the address are about one and the same copy."""

    def copy(name: str) -> str:
        place = tmp_path / str(len(list(tmp_path.iterdir())))
        place.mkdir()
        shutil.copy(inputs / name, place / name)
        return store_address(place, name)

    case = request.node.callspec.params.get("case") if hasattr(request.node, "callspec") else None
    return cache(copy) if case is not None and case.declared.takes == "address" else copy


def named(question: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options with who acts, as Python states it."""
    holder = question_named(question).holder
    return options | ({holder: HOLDER} if holder else {})


def words(question: str, options: dict[str, Any], address: str) -> list[str]:
    """The command line."""
    declared, line, flags = question_named(question), [], ["--store", address]
    command = [word for word in declared.command.split() if not word.startswith("{")]
    for name, value in named(question, options).items():
        option = declared.options.declared[name]
        texts = value if isinstance(value, list) else [value]
        if option.positional:
            line += texts
        else:
            flag = f"--{(option.flag or name).replace('_', '-')}"
            flags += [word for text in texts for word in ([flag] if text is True else [flag, str(text)])]
    return [*command, *line, *flags]


def acted(question: str, options: dict[str, Any], source: Any) -> Answer:  # Any: an arena, or its address
    declared = question_named(question)
    answer = declared.function(source, **named(question, options))
    if declared.is_stream:
        (answer,) = answer
    assert isinstance(answer, Answer)
    return answer


def test_every_action_has_a_case() -> None:
    assert {case.question for case in ACTIONS} == {
        name for name in question_names() if question_named(name).scope is not None
    }


@EACH
def test_action_answers_the_same_on_every_surface(
    case: Case, fresh: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = case.source or ""
    answer = acted(case.question, case.options, fresh(source))
    shape = answer.to_dict()
    line = words(case.question, case.options, fresh(source))
    assert json.loads(printed(*line, "--json", monkeypatch=monkeypatch)) == shape
    line = words(case.question, case.options, fresh(source))
    shown = printed(*line, monkeypatch=monkeypatch).rstrip("\n")
    assert shown == answer.text(80)
    declared = case.declared
    if not case.is_remote and not declared.sends:
        return
    arena = sy.open_arena(fresh(source))
    token = sy.create_token(HOLDER, scopes=["admin"], store=arena).token
    with serving(ArenaSource(arena), ServeOptions(write=True)) as served:
        assert acted(case.question, case.options, sy.connect(served.address, token=token)) == answer
    if not case.is_remote:
        return
    arena = sy.open_arena(fresh(source))
    token = sy.create_token(HOLDER, scopes=[declared.scope or ""], store=arena).token
    with serving(ArenaSource(arena), ServeOptions(write=True)) as served:
        body = {name: value for name, value in case.options.items() if f"{{{name}}}" not in declared.path}
        body = {name: value.split(",") if name == "reviewers" else value for name, value in body.items()}
        path = f"{API}{declared.path.format_map(case.options)}"
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        sent = served.ask(path, "POST", headers=headers, body=json.dumps(body).encode())
        assert sent.status == (201 if declared.creates else 200)
        assert sent.json == shape


def lasting(shape: Any) -> Any:  # Any: JSON values
    """The JSON without what says whether this call changed it."""
    if isinstance(shape, dict):
        return {
            name: "known" if value == "accepted" else lasting(value)
            for name, value in shape.items()
            if name not in ("changed", "is_new", "new", "replaces", "settled")
        }
    return [lasting(value) for value in shape] if isinstance(shape, list) else shape


@EACH
def test_action_done_again_changes_nothing(case: Case, fresh: Callable[[str], str]) -> None:
    address = fresh(case.source or "")
    first = acted(case.question, case.options, address)
    if case.declared.creates:
        with pytest.raises(SteelyardError, match="already exists"):
            acted(case.question, case.options, address)
        return
    again = acted(case.question, case.options, address)
    assert lasting(again.to_dict()) == lasting(first.to_dict())


@EACH
def test_answer_of_an_action_is_read_from_its_own_json(case: Case, fresh: Callable[[str], str]) -> None:
    answer = acted(case.question, case.options, fresh(case.source or ""))
    assert read_answer(type(answer), json.loads(json.dumps(answer.to_dict()))) == answer
    rows = answer.to_dicts()
    assert rows or case.question == "arena_upgrade"  # which has nothing to do
    assert all(isinstance(value, (str, int, float, bool, type(None))) for row in rows for value in row.values())


@pytest.mark.parametrize(("question", "options"), WRONG, ids=str)
def test_action_rejects_the_same_on_every_surface(
    question: str,
    options: dict[str, Any],
    fresh: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SteelyardError) as here:
        acted(question, options, fresh("arena.db"))
    error = here.value
    capsys.readouterr()
    assert run([*words(question, options, fresh("arena.db")), "--json"]) == error.exit_code
    on_cli = json.loads(capsys.readouterr().out)["error"]
    assert on_cli["kind"] == error.kind
    if "missing option" not in error.message and "unknown value" not in error.message:  # the parser of the CLI says so
        assert on_cli["message"] == error.shown_on("cli").message
        assert on_cli["hint"] == error.hint
    error.shown_on("python")
    if not question_named(question).path:
        return
    arena = sy.open_arena(fresh("arena.db"))
    token = sy.create_token(HOLDER, scopes=["admin"], store=arena).token
    with serving(ArenaSource(arena), ServeOptions(write=True)) as served, pytest.raises(type(error)) as there:
        acted(question, options, sy.connect(served.address, token=token))
    assert type(there.value) is type(error)
    assert (there.value.message, there.value.hint) == (error.message, error.hint)


@pytest.mark.parametrize("name", sorted({case.question for case in ACTIONS}))
def test_unknown_option_of_an_action_is_named_with_the_nearest(
    name: str, fresh: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    declared = question_named(name)
    options = next(case.options for case in ACTIONS if case.question == name)
    wrong = next(iter(named(name, options)), "store")
    if wrong == "store":
        return
    with pytest.raises(SteelyardError, match=f"did you mean '{wrong}'"):
        acted(name, options | {f"{wrong}s_": 1}, fresh("arena.db"))
    if declared.path:
        arena = sy.open_arena(fresh("arena.db"))
        token = sy.create_token(HOLDER, scopes=["admin"], store=arena).token
        with serving(ArenaSource(arena), ServeOptions(write=True)) as served:
            path = f"{API}{declared.path.format_map(options)}"
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
            sent = served.ask(path, "POST", headers=headers, body=json.dumps({f"{wrong}s_": 1}).encode())
        assert (sent.status, sent.json["kind"]) == (400, "unknown_name")


def test_body_of_a_request_spells_an_option_as_json(fresh: Callable[[str], str]) -> None:
    arena = sy.open_arena(fresh("arena.db"))
    token = sy.create_token(HOLDER, scopes=["admin"], store=arena).token
    with serving(ArenaSource(arena), ServeOptions(write=True)) as served:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        path = f"{API}/submissions/bee-1/exclude"
        sent = served.ask(path, "POST", headers=headers, body=b'{"reason": " "}')
        other = served.ask(path, "POST", headers=headers, body=b'{"reason": "odd", "by": "bo"}')
    assert (sent.status, sent.json["hint"]) == (400, '"reason": "TEXT"')
    assert (other.status, other.json["kind"]) == (403, "permission_denied")
