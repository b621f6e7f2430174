"""What a killed process leaves in the temporary folder goes with the next start; nobody else's folder ever does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from steelyard import scratch
from steelyard.scratch import PREFIX, make_scratch, remove_scratch, scratch_folder

WORKING = """
import sys
from steelyard.scratch import make_scratch
folder = make_scratch()
(folder / "deep" / "closed").mkdir(parents=True)
(folder / "deep" / "file").write_text("x")
(folder / "deep").chmod(0)
print(folder, flush=True)
sys.stdin.read()
"""

STARTING = """
import sys
from steelyard import scratch
for _ in range(100):
    scratch._remove_leftovers.cache_clear()
    with scratch.scratch_folder() as folder:
        (folder / "kept").write_text("x")
        assert (folder / "kept").read_text() == "x"
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def at_work(temporary: Path) -> subprocess.Popen[str]:
    """Another process that works in a folder of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", WORKING],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def start_again() -> None:
    """What the first scratch folder of a process does."""
    scratch._remove_leftovers.cache_clear()
    remove_scratch(make_scratch())


def test_the_folder_of_a_killed_process_goes_with_the_next_start(
    temporary: Path, at_work: subprocess.Popen[str]
) -> None:
    with at_work:
        assert at_work.stdout is not None
        folder = Path(at_work.stdout.readline().strip())
        start_again()
        assert folder.parent == temporary
        assert folder.exists()  # its owner lives
        at_work.kill()
        at_work.wait()
        start_again()
    assert os.listdir(temporary) == []


def test_only_folders_of_ours_are_removed(temporary: Path) -> None:
    kept = temporary / "kept"
    kept.mkdir()
    (kept / "file").write_text("the user's")
    (temporary / f"{PREFIX}abcdefgh").symlink_to(kept)
    (temporary / f"{PREFIX}ijklmnop").write_text("a file")
    for name in ("steelyard-abcdefgh", f"{PREFIX}mine", f"{PREFIX}abcdefgh.old", f"my-{PREFIX}abcdefgh"):
        (temporary / name).mkdir()
    before = sorted(os.listdir(temporary))
    start_again()
    assert sorted(os.listdir(temporary)) == before
    assert (kept / "file").read_text() == "the user's"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a folder of somebody else's")
def test_a_folder_of_another_user_is_left_alone(temporary: Path) -> None:
    (temporary / f"{PREFIX}abcdefgh").mkdir()
    os.chown(temporary / f"{PREFIX}abcdefgh", 65534, 65534)
    start_again()
    assert os.listdir(temporary) == [f"{PREFIX}abcdefgh"]


def test_who_is_taken_for_dead_before_it_has_its_lock_makes_another_folder(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    make = tempfile.mkdtemp

    def interrupted(**options: str) -> str:
        made.append(make(**options))
        if len(made) == 1:
            scratch._remove_leftovers.__wrapped__(temporary)  # another process starts at this very moment
        return made[-1]

    monkeypatch.setattr("tempfile.mkdtemp", interrupted)
    with scratch_folder() as folder:
        assert (str(folder), folder.is_dir(), len(made)) == (made[1], True, 2)


def test_who_waited_for_the_lock_of_a_folder_that_is_gone_makes_another(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = scratch._lock
    waited: list[int] = []

    def late(opened: int, *, wait: bool) -> bool:
        if not waited:
            shutil.rmtree(temporary / os.readlink(f"/proc/self/fd/{opened}"))
        waited.append(opened)
        return lock(opened, wait=wait)

    monkeypatch.setattr("steelyard.scratch._lock", late)
    with scratch_folder() as folder:
        assert folder.is_dir()
        assert len(waited) == 2


def test_where_nothing_can_be_locked_folders_are_made_and_none_is_taken_for_a_leftover(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.scratch._lock", lambda opened, *, wait: False)
    with scratch_folder() as folder:
        start_again()
        assert folder.is_dir()
    assert os.listdir(temporary) == []


def test_what_was_left_while_it_was_being_removed_is_removed(temporary: Path) -> None:
    left = temporary / f"{PREFIX}abcdefgh"
    for name in ("removed-0", "removed-1", "box"):
        (left / name / "work").mkdir(parents=True)
    start_again()
    assert os.listdir(temporary) == []


def test_a_removal_ends_in_time_and_the_next_folder_continues(temporary: Path) -> None:
    folder = make_scratch()
    for number in range(500):
        (folder / f"{number}" / "deeper").mkdir(parents=True)
    remove_scratch(folder, max_seconds=0.0)
    assert folder.exists()
    remove_scratch(make_scratch())
    assert os.listdir(temporary) == []


def test_directories_are_removed_by_many_threads(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    removing = os.rmdir

    def slow_rmdir(name: str, *, dir_fd: int | None = None) -> None:
        time.sleep(0.01)
        removing(name, dir_fd=dir_fd)

    folder = make_scratch()
    for number in range(600):
        (folder / f"{number}").mkdir()
    monkeypatch.setattr("os.rmdir", slow_rmdir)
    started = time.monotonic()
    remove_scratch(folder)
    assert os.listdir(temporary) == []
    assert time.monotonic() - started < 3  # one after the other: 600 times 10 ms, so 6 s


def test_many_that_start_at_once_take_nothing_from_each_other(temporary: Path) -> None:
    line = [sys.executable, "-c", STARTING]
    started = [subprocess.Popen(line, env={**os.environ, "TMPDIR": str(temporary)}) for _ in range(4)]
    assert [process.wait() for process in started] == [0] * 4
    assert os.listdir(temporary) == []
