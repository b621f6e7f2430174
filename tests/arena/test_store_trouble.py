"""A store in trouble is an error that says what and what to do, and what was acknowledged stays."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import insert, text
from sqlalchemy.engine import Connection

import steelyard.store._store as engine_module
from arena_makers import as_task, make_arena
from steelyard.arena import open_arena
from steelyard.cli import run
from steelyard.errors import StoreError, StoreUnavailableError, UnsupportedValueError
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.store import Store, open_store
from steelyard.store.schema import settings, tasks

GOOD = {"id": "a", "task_id": "task", "total_tokens": 1, "tool_calls": 2}


def filled(address: str) -> None:
    store = open_store(address)
    arena = make_arena(store)
    arena.add_task(as_task({"id": "task"}))
    arena.submit([GOOD])
    store.close()


def test_a_table_that_is_gone_is_an_error_with_the_store_s_name(
    store: Store, store_address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arena = make_arena(store)
    arena.add_task(as_task({"id": "task"}))
    with store.write() as connection:
        connection.execute(text("DROP TABLE arena_baselines"))
    with pytest.raises(StoreUnavailableError, match="arena_baselines"):
        arena_task_leaderboard(arena, "task")
    with pytest.raises(StoreUnavailableError, match="arena_baselines"):
        arena.submit([GOOD])
    assert run(["arena", "leaderboard", "task", "--store", store_address]) == 1
    assert "steelyard: " in capsys.readouterr().err


def test_a_value_that_the_database_does_not_take_is_an_error_with_advice(store: Store) -> None:
    def write(connection: Connection) -> None:
        if store.is_sqlite:
            driver: sqlite3.Connection = connection.connection.dbapi_connection  # type: ignore[assignment]  # as it is here
            driver.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)
        connection.execute(insert(settings), {"name": "a", "value": "\0" * 2000})

    with pytest.raises(UnsupportedValueError, match=r"NUL|too big") as caught:
        store.in_transaction(write)
    assert "the database cannot store it" in str(caught.value)
    store.close()
    with pytest.raises(UnsupportedValueError), store.read() as connection:
        write(connection)


def test_a_key_too_long_for_an_index_is_an_error_with_advice(store: Store) -> None:
    if store.is_sqlite:
        pytest.skip("SQLite's indexes take keys of any length")
    rng = random.Random(7)
    name = "".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(1000))
    row = {"id": name, "definition": "", "created_at": 0}
    with pytest.raises(UnsupportedValueError, match="index row size") as caught:
        store.in_transaction(lambda connection: connection.execute(insert(tasks), row).close())
    assert "the database cannot store it" in str(caught.value)


def test_a_full_disk_is_an_error_and_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/small.db"
    filled(address)
    store = open_store(address)
    with (
        store.writing.connect() as connection
    ):  # SQLite's own limit stands in for the disk's; the connection is used again
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreUnavailableError, match="full") as caught:
        open_arena(store).submit([{**GOOD, "id": f"b{number}" * 50} for number in range(3000)])
    assert "free some space" in (caught.value.hint or "")
    store.close()
    again = open_arena(open_store(address))
    assert arena_task_leaderboard(again, "task").n == 1


def test_a_file_that_another_program_holds_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"sqlite:///{tmp_path}/held.db"
    filled(address)
    monkeypatch.setattr(engine_module, "BUSY_MILLISECONDS", 50)
    holder = sqlite3.connect(tmp_path / "held.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    (tmp_path / "given.jsonl").write_text(json.dumps({**GOOD, "id": "b"}))
    assert run(["arena", "submit", str(tmp_path / "given.jsonl"), "--store", address]) == 1
    assert "another program is using the file" in capsys.readouterr().err
    holder.execute("ROLLBACK")
    holder.close()
    assert run(["arena", "submit", str(tmp_path / "given.jsonl"), "--store", address]) == 0


@pytest.mark.parametrize("closed", [True, False], ids=["at rest", "with a log"])
def test_a_store_that_may_not_be_written_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], closed: bool
) -> None:
    address = f"sqlite:///{tmp_path}/a #1?.db".replace("?", "%3F")
    filled(address)
    other = open_store(address)
    open_arena(other).submit([{**GOOD, "id": "b"}])
    if closed:
        other.close()
    monkeypatch.setattr(engine_module, "is_writable", lambda _: False)
    arena = open_arena(open_store(address, create=False))
    assert arena_task_leaderboard(arena, "task").n == 2
    with pytest.raises(StoreUnavailableError, match="readonly") as caught:
        arena.submit([{**GOOD, "id": "c"}])
    assert "this user has write access" in (caught.value.hint or "")
    arena.store.close()
    other.close()


def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE theirs (id TEXT)")
    other.close()
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(StoreError, match="another program"):
        open_store(f"sqlite:///{tmp_path}/other.db")
    assert (tmp_path / "other.db").read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE arena_settings SET value = replace(value, '0.35', '9.5') WHERE name = 'rules'",
        "UPDATE arena_settings SET value = '{' WHERE name = 'rules'",
        """UPDATE arena_tasks SET definition = '{"id":"task","titel":"x"}'""",
    ],
)
def test_what_an_older_version_should_have_refused_is_named(store: Store, damage: str) -> None:
    arena = make_arena(store)
    arena.add_task(as_task({"id": "task"}))
    with store.write() as connection:
        connection.execute(text(damage.replace(":", "\\:")))
    with pytest.raises(StoreError, match=r"invalid (rules|task) in the arena"):
        open_arena(store).submit([GOOD])
