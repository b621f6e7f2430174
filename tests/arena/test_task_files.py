"""A task's own files are kept with it: what happens to their folder later changes no score and refuses nobody."""

from __future__ import annotations

import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, event

from arena_makers import as_task, make_arena
from steelyard import sandbox
from steelyard.arena import Arena, Receipt, open_arena as arena_in
from steelyard.arena.ingest._tasks import KeptFiles, load_tasks
from steelyard.cli import run
from steelyard.errors import UsageError
from steelyard.grading import read_task_files
from steelyard.questions import open_arena
from steelyard.questions.arena.task_add import arena_task_add
from steelyard.records import Rejected
from steelyard.store import Store, open_store
from steelyard.store.schema import task_files

needs_sandbox = pytest.mark.skipif(sandbox.active_isolation().name == "none", reason="nothing here can isolate code")

CHECKER = "import sys\nsys.exit(open('answer.txt').read() != 'right')\n"
LAX = "raise SystemExit(0)\n"
CRITERION = {"type": "command", "command": ["python", "-I", "check.py"], "files": "checker"}
TASK = {"id": "t", "success_criteria": [CRITERION]}
WAYS = [("tests_pass", "tests"), ("command", "files"), ("code_compiles", "files"), ("judge", "files")]


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def said(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "task_id": "t", "total_tokens": 1, "tool_calls": 1, **more}


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """A folder with a file of tasks, the task's checker, and artifacts of which one is right."""
    put(tmp_path / "here/checker/check.py", CHECKER)
    put(tmp_path / "here/tasks.json", json.dumps(TASK))
    put(tmp_path / "made/good/answer.txt", "right")
    put(tmp_path / "made/bad/answer.txt", "wrong")
    return tmp_path / "here"


def scores(arena: Arena, folder: Path, turn: str) -> dict[str, float]:
    given = [said(f"{turn}-{name}", artifacts=name) for name in ("good", "bad")]
    outcomes = arena.submit(given, artifacts_root=folder)
    assert all(isinstance(one, Receipt) for one in outcomes), outcomes
    return {one.submission_id.split("-")[1]: one.correctness_score for one in outcomes if isinstance(one, Receipt)}


@needs_sandbox
def test_a_folder_that_is_edited_moved_or_gone_changes_no_check(
    store: Store, store_address: str, beside: Path, tmp_path: Path
) -> None:
    arena = make_arena(store)
    assert not arena_task_add(arena, [beside / "tasks.json"]).rejected
    right = {"good": 100.0, "bad": 0.0}
    assert scores(arena, tmp_path / "made", "first") == right
    put(beside / "checker/check.py", LAX)
    assert scores(arena, tmp_path / "made", "edited") == right
    shutil.rmtree(beside)
    assert scores(arena, tmp_path / "made", "gone") == right
    assert scores(open_arena(store_address), tmp_path / "made", "anew") == right


def test_the_same_task_from_another_checkout_is_the_same(store: Store, beside: Path, tmp_path: Path) -> None:
    arena = make_arena(store)
    arena_task_add(arena, [beside / "tasks.json"])
    shutil.copytree(beside, tmp_path / "there")
    put(tmp_path / "there/checker/__pycache__/check.cpython-311.pyc", "made by running it")
    again = arena_task_add(arena, [tmp_path / "there/tasks.json"])
    assert [task.new for task in again.tasks] == [False]
    (task,) = arena.tasks()
    assert task == as_task(TASK)  # the folder is named as its author named it


@pytest.mark.parametrize("change", ["edited", "more", "fewer", "renamed"])
def test_the_same_definition_with_other_files_is_another_task(store: Store, beside: Path, change: str) -> None:
    put(beside / "checker/data.txt", "1")
    arena = make_arena(store)
    arena_task_add(arena, [beside / "tasks.json"])
    if change == "edited":
        put(beside / "checker/check.py", LAX)
    elif change == "more":
        put(beside / "checker/sub/more.py", "")
    elif change == "fewer":
        (beside / "checker/data.txt").unlink()
    else:
        (beside / "checker/data.txt").rename(beside / "checker/date.txt")
    (refused,) = arena_task_add(arena, [beside / "tasks.json"]).rejected
    assert refused.message.startswith("task 't': a task with this id already exists with other files")
    assert refused.hint == "use a new id for the changed task"


@pytest.mark.parametrize(("kind", "field"), WAYS)
@pytest.mark.parametrize("from_python", [True, False])
def test_a_folder_that_is_missing_or_empty_is_refused_when_the_task_is_defined(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, field: str, from_python: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    arena = make_arena(store)
    (tmp_path / "empty/within").mkdir(parents=True)
    put(tmp_path / "file", "")
    put(tmp_path / "own/a.py", "")
    names = {
        "gone": "no such directory",
        "file": "no such directory",
        "empty": "is empty",
        "n" * 5000: "cannot read the directory",
    }
    for name, why in names.items():
        made = {"type": kind, "command": ["true"], field: name} | ({"threshold": 0.5} if kind == "judge" else {})
        task = {"id": "t", "success_criteria": [made]}
        if from_python:
            with pytest.raises(UsageError, match=why):
                arena.add_task(task)
        else:
            (refused,) = arena_task_add(arena, [put(tmp_path / "tasks.json", json.dumps(task))]).rejected
            assert why in refused.message
    assert arena.tasks() == []
    assert arena.add_task({"id": "t", "success_criteria": [{**made, field: "own"}]})


@needs_sandbox
def test_from_python_folders_are_found_from_the_working_directory(
    store: Store, beside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena = make_arena(store)
    monkeypatch.chdir(beside)
    assert arena.add_task(TASK)
    monkeypatch.chdir(tmp_path)
    assert scores(arena, tmp_path / "made", "a") == {"good": 100.0, "bad": 0.0}
    assert arena.add_task(TASK, base_dir=beside) is False
    with pytest.raises(UsageError, match="no such directory in files: 'checker'"):
        arena.add_task(TASK)


def test_of_tasks_from_standard_input_folders_are_found_from_the_working_directory(
    store: Store, beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena = make_arena(store)
    for folder, is_added in ((beside.parent, False), (beside, True)):
        monkeypatch.chdir(folder)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(TASK).encode())))
        done = arena_task_add(arena, [Path("-")])
        assert (len(done.tasks), len(done.rejected)) == ((1, 0) if is_added else (0, 1))


def test_names_and_contents_of_every_kind_come_back_as_they_were(store: Store, beside: Path) -> None:
    contents = [b"", bytes(range(256)) * 300, b"\0", "\u6f22".encode(), b"\r\n"]
    names = ["empty", "all bytes", "sub/a b\n.py", "sub/deeper/\u6f22\u5b57.txt", "-n\\x"]
    for name, content in zip(names, contents, strict=True):
        put(beside / "checker" / name, "").write_bytes(content)
    arena = make_arena(store)
    arena.add_task(TASK, base_dir=beside)
    with arena.read() as connection:
        (known,) = load_tasks(connection, arena.rules).values()
    kept = KeptFiles(store).of(known)
    assert kept == {"checker": {"check.py": CHECKER.encode(), **dict(zip(names, contents, strict=True))}}
    assert kept == read_task_files(known.task, beside)


@pytest.mark.parametrize("odd", ["link", "linked folder", "pipe", "name", "deep"])
def test_what_is_no_plain_file_is_refused_and_not_left_out(store: Store, beside: Path, odd: str) -> None:
    folder = beside / "checker"
    if odd == "link":
        (folder / "odd").symlink_to(folder / "check.py")
    elif odd == "linked folder":
        (folder / "odd").symlink_to(beside)
    elif odd == "pipe":
        os.mkfifo(folder / "odd")
    elif odd == "name":
        Path(os.fsdecode(os.fsencode(folder) + b"/odd\xff")).write_text("")
    else:
        put(folder / ("d/" * 101) / "odd", "")
    with pytest.raises(UsageError, match="directory levels" if odd == "deep" else "odd"):
        make_arena(store).add_task(TASK, base_dir=beside)


def test_files_are_bounded_in_number_and_size_before_they_are_read(
    store: Store, beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena = make_arena(store)
    monkeypatch.setenv("STEELYARD_MAX_TASK_FILES", "3")
    for number in range(3):
        put(beside / f"checker/{number}.txt", "")
    with pytest.raises(UsageError, match="more than 3"):
        arena.add_task(TASK, base_dir=beside)
    (beside / "checker/0.txt").unlink()
    with (beside / "checker/1.txt").open("wb") as huge:
        huge.truncate(1 << 40)  # a hole: whoever reads it runs out of memory
    with pytest.raises(UsageError, match="larger than 67,108,864 bytes"):
        arena.add_task(TASK, base_dir=beside)
    (beside / "checker/1.txt").unlink()
    assert arena.add_task(TASK, base_dir=beside)


def test_folders_of_several_criteria_are_bounded_together(
    store: Store, beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(beside / "other/a.py", "x" * 60)
    monkeypatch.setenv("STEELYARD_MAX_TASK_BYTES", "100")
    two = {"id": "t", "success_criteria": [CRITERION, {**CRITERION, "files": "other"}]}
    with pytest.raises(UsageError, match="larger than 100 bytes"):
        make_arena(store).add_task(two, base_dir=beside)


@needs_sandbox
def test_a_task_without_stored_files_rejects_artifacts(store: Store, beside: Path, tmp_path: Path) -> None:
    arena = make_arena(store)
    arena.add_task(TASK, base_dir=beside)
    arena.submit([said("before", artifacts="good")], artifacts_root=tmp_path / "made")
    with store.write() as connection:
        connection.execute(delete(task_files))
    again = arena_in(open_store(store.url.render_as_string(hide_password=False)))
    given = [said("before", artifacts="good"), said("after", artifacts="good"), said("claimed")]
    known, refused, claimed = again.submit(given, artifacts_root=tmp_path / "made")
    assert isinstance(known, Receipt)
    assert known.status == "known"
    assert isinstance(refused, Rejected)
    assert refused.reason == "the files of task 't' are missing from the store"
    assert (refused.hint, refused.code) == ("add the task again under a new id", "no_task_files")
    assert isinstance(claimed, Receipt)
    assert claimed.correctness_score == 0
    with pytest.raises(UsageError, match="other files"):
        again.add_task(TASK, base_dir=beside)
    again.store.close()


@needs_sandbox
def test_files_are_read_once_for_a_task_and_only_where_something_is_checked(
    store: Store, beside: Path, tmp_path: Path
) -> None:
    arena = make_arena(store)
    put(tmp_path / "there/checker/check.py", LAX)
    arena.add_task(TASK, base_dir=beside)
    arena.add_task({**TASK, "id": "lax"}, base_dir=tmp_path / "there")
    read: list[str] = []

    def notice(_c: object, _cursor: object, statement: str, *_rest: object) -> None:
        read.extend([statement] if task_files.name in statement else [])

    event.listen(store.reading, "before_cursor_execute", notice)
    arena.submit([said(f"claimed{number}") for number in range(3)])
    assert read == []
    given = [said(f"{task}{number}", task_id=task, artifacts="bad") for number in range(4) for task in ("t", "lax")]
    outcomes = arena.submit(given, artifacts_root=tmp_path / "made")
    assert len(read) == 2  # one for each task
    met = {one.task_id: one.correctness_score for one in outcomes if isinstance(one, Receipt)}
    assert met == {"t": 0.0, "lax": 100.0}
    arena.submit(given, artifacts_root=tmp_path / "made")
    assert len(read) == 2  # all of them are known


def test_only_so_much_is_held_at_once(store: Store, beside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arena = make_arena(store)
    for number in range(3):
        put(beside / "checker/data.bin", f"{number}" * 100)
        arena.add_task({**TASK, "id": f"t{number}"}, base_dir=beside)
    monkeypatch.setattr("steelyard.arena.ingest._tasks.MAX_BYTES_IN_MEMORY", 2 * (100 + len(CHECKER)))
    kept = KeptFiles(store)
    with arena.read() as connection:
        tasks = list(load_tasks(connection, arena.rules).values())
    for number in (0, 1, 2, 0):
        found = kept.of(tasks[number])
        assert found is not None
        assert found["checker"]["data.bin"] == f"{number}".encode() * 100
        assert len(kept._in_memory) <= 2


def test_a_task_shows_how_many_files_are_kept(
    store_address: str, beside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--store", store_address)
    put(beside / "plain.json", '{"id": "plain"}')
    assert run(["arena", "init", *at]) == 0
    assert run(["arena", "task", "add", str(beside / "tasks.json"), str(beside / "plain.json"), *at]) == 0
    capsys.readouterr()
    shown = {}
    for name in ("t", "plain"):
        assert run(["arena", "task", "show", name, "--json", *at]) == 0
        shown[name] = json.loads(capsys.readouterr().out)["files"]
    assert shown["plain"] is None
    assert shown["t"]["n"] == 1
    assert run(["arena", "task", "show", "t", *at]) == 0
    assert f"1 task file, SHA-256 {shown['t']['sha256']}" in capsys.readouterr().out
