"""Records that strangers send: read as those of files are, and never by a path of this machine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arena_makers import make_arena
from steelyard.arena import Receipt
from steelyard.errors import InputError, PermissionDeniedError, TaskExistsError, UsageError
from steelyard.questions import Arena as LocalArena, Intake, add_task_from, refusal_status
from steelyard.questions.arena.submit_runs import arena_submit_runs
from steelyard.questions.arena.withdraw import WithdrawOptions, check_submitter
from steelyard.records import Rejected, encode_run
from steelyard.store import Store


def opened(store: Store) -> LocalArena:
    made = make_arena(store)
    arena = LocalArena(store, rules=made.rules, policy=made.policy)
    arena.add_task({"id": "task"})
    return arena


def line(**fields: Any) -> bytes:
    return json.dumps({"id": "a", "task_id": "task", "total_tokens": 5, "tool_calls": 1, **fields}).encode()


def test_each_line_is_answered_in_its_place(store: Store) -> None:
    intake = Intake(opened(store), "submissions")
    sent = [line(), b"{", line(id="b", task_id="tusk"), line(id="c"), line(), line(total_tokens=6)]
    outcomes = intake.take([(number, text) for number, text in enumerate(sent, 10)])
    told = [
        (outcome.status, None) if isinstance(outcome, Receipt) else (outcome.code, outcome.line) for outcome in outcomes
    ]
    assert told == [
        ("accepted", None),
        ("bad_submission", 11),
        ("unknown_task", 12),
        ("accepted", None),
        ("known", None),
        ("id_with_other_content", 15),
    ]
    assert [refusal_status(outcome) for outcome in outcomes if isinstance(outcome, Rejected)] == [422, 422, 409]


@pytest.mark.parametrize("place", ["/etc", "..", "file:///etc/passwd", "artifacts"])
def test_a_path_of_this_machine_is_never_opened(store: Store, place: str) -> None:
    (outcome,) = Intake(opened(store), "submissions").take([(1, line(artifacts=place))])
    assert isinstance(outcome, Rejected)
    assert (outcome.code, outcome.reason) == ("invalid_artifacts", "artifacts cannot be sent to a server")


@pytest.mark.parametrize(
    "text", [b"[" * 100_000, b'{"judgments":' * 50_000, b"\xff\xfe", b"", b"null", b"[]", b"1e999"]
)
def test_what_is_no_record_is_refused(store: Store, text: bytes) -> None:
    for kind in ("submissions", "runs"):
        (outcome,) = Intake(opened(store), kind).take([(1, text)])  # type: ignore[arg-type] # both are kinds
        assert isinstance(outcome, Rejected)


def test_a_run_is_the_submission_that_its_file_would_be(store: Store, tmp_path: Any) -> None:
    arena = opened(store)
    usage = {"input_tokens": 1000, "output_tokens": 10}
    run = {"task": "task", "model": "gpt-4o", "usage": usage, "tool_calls": 1, "passed": True}
    lines = [json.dumps(run).encode(), json.dumps(run).encode(), json.dumps({**run, "id": "r"}).encode()]
    sent = Intake(arena, "runs").take(list(enumerate(lines, 1)))
    assert all(isinstance(outcome, Receipt) for outcome in sent)
    assert len({outcome.submission_id for outcome in sent if isinstance(outcome, Receipt)}) == 3
    again = Intake(arena, "runs").take(list(enumerate(lines, 1)))
    assert [outcome.status for outcome in again if isinstance(outcome, Receipt)] == ["known"] * 3
    (tmp_path / "runs.jsonl").write_bytes(b"\n".join(lines))
    done = arena_submit_runs(arena, [tmp_path / "runs.jsonl"])
    assert [receipt.status for receipt in done.receipts] == ["known"] * 3


def test_a_run_that_states_too_little_is_refused(store: Store) -> None:
    from steelyard import Run

    (outcome,) = Intake(opened(store), "runs").take([(3, encode_run(Run(id="r", task="task")))])
    assert isinstance(outcome, Rejected)
    assert (outcome.line, outcome.reason) == (3, "the run has no total_tokens")


def test_a_task_is_added_once_and_never_changed(store: Store) -> None:
    arena = opened(store)
    text = b'{"id": "new", "title": "first"}'
    assert [task.new for task in add_task_from(arena, text).tasks] == [True]
    assert [task.new for task in add_task_from(arena, text).tasks] == [False]
    with pytest.raises(TaskExistsError, match="another definition"):
        add_task_from(arena, b'{"id": "new", "title": "second"}')


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (b"{", UsageError),
        (b"[" * 100_000, UsageError),
        (b"\xff", UsageError),
        (b"[]", InputError),
        (b'{"id": "x", "titel": "y"}', InputError),
        (b'{"id": "x", "success_criteria": [{"type": "tests_pass", "tests": "/etc"}]}', InputError),
        (b'{"id": "x", "success_criteria": [{"type": "command", "command": ["a"], "files": "."}]}', InputError),
    ],
)
def test_what_is_no_task_or_names_folders_is_refused(store: Store, text: bytes, kind: type[Exception]) -> None:
    arena = opened(store)
    with pytest.raises(kind):
        add_task_from(arena, text)
    assert [task.id for task in arena.tasks()] == ["task"]


def test_only_its_submitter_withdraws_a_submission(store: Store) -> None:
    arena = opened(store)
    Intake(arena, "submissions").take([(1, line(submitter="ada")), (2, line(id="b"))])
    for submission, name in (("a", "bo"), ("b", "ada"), ("b", "bo")):
        with pytest.raises(PermissionDeniedError, match="only the submitter"):
            check_submitter(arena, WithdrawOptions(submission=submission, by=name))
    check_submitter(arena, WithdrawOptions(submission="a", by="ada"))
