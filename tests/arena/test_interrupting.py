"""AbortedError while submitting, the arena keeps what was checked, says how much, and leaves nothing running."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from arena_makers import as_submission, as_task, make_arena
from commands import steelyard
from processes import alive, until
from steelyard import sandbox
from steelyard.arena import Arena, Receipt, SubmissionOutcome
from steelyard.arena.ingest._arena import interrupt_held_back
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.store import Store

needs_sandbox = pytest.mark.skipif(sandbox.active_isolation().name == "none", reason="nothing here can isolate code")


def rows_of(count: int, folder: Path, *, last: int) -> list[dict[str, Any]]:
    """Submissions with artifacts; the last ones run until they are stopped."""
    made = []
    for number in range(count):
        name = f"made{number}"
        (folder / name).mkdir()
        (folder / name / "seconds.txt").write_text("9999" if number >= count - last else "0")
        made.append({"id": f"s{number}", "task_id": "t", "total_tokens": 5, "tool_calls": 2, "artifacts": name})
    return made


def task_of(marker: str) -> dict[str, Any]:
    line = ["/bin/sh", "-c", f'[ "$(cat seconds.txt)" = 0 ] || exec sleep {marker}']
    return {"id": "t", "success_criteria": [{"type": "command", "command": line, "seconds": 600}]}


@needs_sandbox
def test_each_is_written_as_soon_as_it_is_checked(store: Store, tmp_path: Path, marker: str) -> None:
    arena = make_arena(store)
    arena.add_task(as_task(task_of(marker)))
    given = [as_submission(row) for row in rows_of(5, tmp_path, last=2)]
    seen: list[str] = []

    class Enough(Exception):
        pass

    def told(outcomes: Sequence[SubmissionOutcome]) -> None:
        seen.extend(one.submission_id for one in outcomes if isinstance(one, Receipt))
        if len(seen) == 3:  # the other two are still being checked, or wait for it
            raise Enough

    with pytest.raises(Enough):
        arena.submit(given, artifacts_root=tmp_path, progress=told)
    assert seen == ["s0", "s1", "s2"]
    assert sorted(one.submission_id for one in arena_task_leaderboard(arena, "t").leaderboard) == seen
    until(lambda: alive(marker) == [])


@needs_sandbox
def test_ctrl_c_keeps_what_was_checked_and_says_how_much(
    store: Store, store_address: str, tmp_path: Path, marker: str
) -> None:
    arena = make_arena(store)
    arena.add_task(as_task(task_of(marker)))
    rows = rows_of(6, tmp_path, last=2)
    file = tmp_path / "given.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-m", "steelyard", "arena", "submit", str(file), "--store", store_address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: arena_task_leaderboard(arena, "t").n == 4 and alive(marker) != [])
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "accepted so far: 4 submissions" in said
    assert "run the same command again" in said
    assert "Traceback" not in said + out
    until(lambda: alive(marker) == [])
    for row in rows:
        (tmp_path / row["artifacts"] / "seconds.txt").write_text("0")
    again = steelyard("arena", "submit", str(file), "--store", store_address)
    assert "2 accepted, 4 already known, 0 rejected" in again.stdout


def test_plain_ones_do_not_wait_for_one_that_is_slow(store: Store, tmp_path: Path) -> None:
    """They are written before its check has ended: what it gives is asked for only afterwards."""
    arena = make_arena(store)
    arena.add_task(as_task({"id": "t", "success_criteria": [{"type": "command", "command": ["true"]}]}))
    plain = [{"id": f"p{number}", "task_id": "t", "total_tokens": 5, "tool_calls": 2} for number in range(3)]
    slow = {"id": "slow", "task_id": "t", "total_tokens": 5, "tool_calls": 2, "artifacts": "gone"}
    pieces: list[int] = []
    arena.submit(
        [as_submission(row) for row in (*plain, slow, {**plain[0], "id": "p9"})],
        artifacts_root=tmp_path,
        progress=lambda outcomes: pieces.append(len(outcomes)),
    )
    assert [size for size in pieces if size] == [3, 1, 1]  # the plain ones, the slow one (refused), the last


@pytest.fixture
def default_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("default_handler")
def test_ctrl_c_waits_for_the_end_of_the_transaction_but_not_twice() -> None:
    done: list[str] = []

    def transaction(presses: int) -> None:
        with interrupt_held_back():
            for _ in range(presses):
                signal.raise_signal(signal.SIGINT)
            done.append(f"finished after {presses}")

    for presses in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            transaction(presses)
    assert done == ["finished after 1"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("default_handler")
def test_interrupted_in_a_transaction_what_was_told_is_what_is_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.arena.ingest._arena.ROWS_PER_TRANSACTION", 2)
    arena = make_arena(store)
    for name in "abc":
        arena.add_task(as_task({"id": name}))
    given = [as_submission({"id": f"{name}1", "task_id": name, "total_tokens": 5, "tool_calls": 2}) for name in "abc"]
    heard: list[str] = []

    def told(outcomes: Sequence[SubmissionOutcome]) -> None:
        heard.extend(one.submission_id for one in outcomes if isinstance(one, Receipt))
        if heard:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        arena.submit(given, progress=told)
    assert heard == held(arena) == ["a1", "b1"]


def held(arena: Arena) -> list[str]:
    return sorted(one.submission_id for name in "abc" for one in arena_task_leaderboard(arena, name).leaderboard)


def on_a_terminal(*arguments: str) -> tuple[int, str]:
    """The exit status and what stderr shows when it is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "steelyard", "arena", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "300"},
    ) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # a terminal that nobody holds any more is an error, not an end
            while piece := os.read(ours, 65536):
                shown += piece
        os.close(ours)
    return process.returncode, shown.decode()


def test_a_bar_follows_submissions_on_a_terminal_and_nowhere_else(
    store: Store, store_address: str, tmp_path: Path
) -> None:
    make_arena(store).add_task(as_task({"id": "t"}))
    rows = [{"id": f"s{number}", "task_id": "t", "total_tokens": 5, "tool_calls": 2} for number in range(1234)]
    file = tmp_path / "[red]given.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ("submit", str(file), "--store", store_address)
    status, shown = on_a_terminal(*given)
    assert status == 0
    assert "1,234 submissions" in shown
    assert "submitting" in shown
    assert "[red]given.jsonl" in shown
    assert on_a_terminal(*given, "--quiet") == (0, "")
    assert steelyard("arena", *given).stderr == ""
