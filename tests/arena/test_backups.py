"""The backup that the documentation tells: a whole arena, taken while others write."""

from __future__ import annotations

import random
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from served_arenas import BIG_TASK, filled_store, submission
from steelyard.errors import UsageError
from steelyard.questions import open_arena
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard

DOCS = Path(__file__).parent.parent.parent / "docs"


def documented_command(source: Path, target: Path) -> list[str]:
    """The command of docs/serve.md, with this Python and these files."""
    page = (DOCS / "serve.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^\$ (python3 .*VACUUM.*)$", page, re.MULTILINE)
    program, *words = shlex.split(line)
    assert program == "python3"
    assert words[-2:] == ["steelyard.db", "backup.db"]
    return [sys.executable, *words[:-2], str(source), str(target)]


def test_the_documented_backup_holds_all_that_was_acknowledged_while_others_write(tmp_path: Path) -> None:
    source, target = tmp_path / "arena-300-3.db", tmp_path / "backup.db"
    arena = open_arena(filled_store(tmp_path, count=300, tasks=3))
    acknowledged: list[str] = []
    is_over = threading.Event()

    def write() -> None:
        draw = random.Random(1)
        number = 1_000
        while not is_over.is_set():
            (receipt,) = arena.submit([submission(draw, number, BIG_TASK)])
            acknowledged.append(receipt.submission_id)  # type: ignore[union-attr] # none of these is refused
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while len(acknowledged) < 20:
            pass
        before = list(acknowledged)
        subprocess.run(documented_command(source, target), check=True, timeout=60)
    finally:
        is_over.set()
        writer.join()
    copied = open_arena(f"sqlite:///{target}")
    ids = [row.submission_id for row in arena_task_leaderboard(copied, BIG_TASK).leaderboard]
    assert set(before) <= set(ids)
    assert len(ids) == len(set(ids))
    with sqlite3.connect(target) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    (receipt,) = copied.submit([submission(random.Random(2), 999_999, BIG_TASK)])
    assert receipt.status == "accepted"  # type: ignore[union-attr] # the copy is an arena to go on with
    for each in (arena, copied):
        each.store.close()


def test_a_plain_copy_of_the_file_alone_is_no_backup(tmp_path: Path) -> None:
    """What the documentation warns of, so that the test above is known to test something."""
    source, target = tmp_path / "arena-5-1.db", tmp_path / "copy.db"
    arena = open_arena(filled_store(tmp_path, count=5, tasks=1))
    arena.submit([submission(random.Random(1), 1_000, BIG_TASK)])
    shutil.copy(source, target)
    try:
        ids = [row.submission_id for row in arena_task_leaderboard(f"sqlite:///{target}", BIG_TASK).leaderboard]
    except UsageError:
        ids = []
    assert f"{BIG_TASK}-001000" not in ids
    arena.store.close()


@pytest.mark.checkout
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_the_unit_is_as_closed_as_the_documentation_says() -> None:
    unit = DOCS.parent / "deploy" / "steelyard.service"
    told = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", str(unit)], capture_output=True, text=True, check=False
    )
    exposure = re.search(r"exposure level for steelyard\.service: ([\d.]+)", told.stdout)
    if exposure is None:
        pytest.skip("this systemd-analyze cannot look at a file")
    assert float(exposure[1]) <= 1.0
