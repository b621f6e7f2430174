"""Opening, locking and migrating a store, on SQLite and, where one is given, on PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import insert, select
from sqlalchemy.exc import DBAPIError, IntegrityError

import steelyard as sy
from steelyard.cli import run
from steelyard.errors import StoreError, StoreUnavailableError
from steelyard.store import Store, background_writer, insert_columns, open_store
from steelyard.store._store import connect_for_reading, migrations
from steelyard.store.schema import applied, settings, tallies, tasks


def test_a_new_store_has_every_migration_once(store: Store) -> None:
    with store.read() as connection:
        numbers = list(connection.execute(select(applied.c.number).order_by(applied.c.number)).scalars())
    assert numbers == [migration.number for migration in migrations()]


def test_opening_again_changes_nothing(store: Store) -> None:
    again = open_store(store.url.render_as_string(hide_password=False), create=False)
    with again.read() as connection:
        assert len(connection.execute(select(applied)).all()) == len(migrations())
    again.close()


def test_a_broken_transaction_leaves_nothing(store: Store) -> None:
    row = {"name": "once", "value": "kept"}
    with pytest.raises(DBAPIError), store.write() as connection:
        connection.execute(insert(settings), [row, row])
    with store.read() as connection:
        assert connection.execute(select(settings)).all() == []


def test_a_reader_cannot_write(store: Store) -> None:
    with pytest.raises((DBAPIError, StoreUnavailableError)), store.read() as connection:
        connection.execute(insert(settings), {"name": "a", "value": "b"})


def test_a_store_newer_than_the_program_is_refused(store: Store) -> None:
    with store.write() as connection:
        connection.execute(insert(applied), {"number": 9999, "name": "future", "applied_at": 0})
    with pytest.raises(StoreError, match="migration 9999"):
        open_store(store.url.render_as_string(hide_password=False))


@pytest.mark.parametrize(
    "address", ["mysql://host/name", "sqlite://", "sqlite:///:memory:", "not an address", "", "sqlite:///a.db?mode=ro"]
)
def test_an_address_that_is_no_store_is_refused(address: str) -> None:
    with pytest.raises(StoreError):
        open_store(address)


def test_a_misspelled_file_does_not_become_an_empty_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="store not found"):
        open_store(f"sqlite:///{tmp_path}/stelyard.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("these are notes, " * 100)
    with pytest.raises(StoreUnavailableError, match=r"notes\.db"):
        open_store(f"sqlite:///{tmp_path}/notes.db")


def test_reading_ignores_a_log_that_is_removed_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / "arena.db"
    open_store(f"sqlite:///{file}").close()
    code = "import sys, pathlib\nlog = pathlib.Path(sys.argv[1])\nwhile True: log.touch(); log.unlink(missing_ok=True)"
    toggle = subprocess.Popen([sys.executable, "-c", code, f"{file}-wal"], stderr=subprocess.DEVNULL)
    try:
        for _ in range(1_000):
            connect_for_reading(file).close()
        assert toggle.poll() is None
    finally:
        toggle.kill()
        toggle.wait()


@pytest.mark.parametrize("ending", ["at rest", "killed", "open"])
def test_reading_changes_neither_the_file_nor_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    (tmp_path / "given.jsonl").write_text('{"id": "a", "task_id": "t", "total_tokens": 1, "tool_calls": 2}')
    (tmp_path / "task.json").write_text('{"id": "t"}')
    folder = tmp_path / "kept"
    folder.mkdir()
    address = ("--store", f"sqlite:///{folder}/arena.db")
    assert run(["arena", "init", *address]) == 0
    assert run(["arena", "task", "add", str(tmp_path / "task.json"), *address]) == 0
    writer = None
    if ending == "at rest":
        assert run(["arena", "submit", str(tmp_path / "given.jsonl"), *address]) == 0
    else:  # what was submitted stands in the log only
        code = f"{KEEP_OPEN}\n{'os._exit(0)' if ending == 'killed' else 'sys.stdin.read()'}"
        command = [sys.executable, "-c", code, address[1]]
        writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "submitted\n"
    if ending == "killed" and writer is not None:
        writer.communicate()
    assert (folder / "arena.db-wal").exists() == (ending != "at rest")
    before = _bytes_in(folder)
    capsys.readouterr()
    for verb in (["leaderboard", "t"], ["leaderboard"], ["show", "a"], ["history", "--task", "t"], ["task", "list"]):
        assert run(["arena", *verb, *address, "--json"]) == 0
        assert run(["repeatability", "canon", "list", *address, "--json"]) == 0
    assert _bytes_in(folder) == before
    if writer is not None:
        writer.communicate()
    again = open_store(address[1], create=False)
    with again.read() as connection:
        assert connection.execute(select(tasks.c.id)).scalars().all() == ["t"]
    again.close()


KEEP_OPEN = """
import os, sys
from steelyard.arena import open_arena
from steelyard.store import open_store
arena = open_arena(open_store(sys.argv[1]))
arena.submit([{"id": "a", "task_id": "t", "total_tokens": 1, "tool_calls": 2}])
print("submitted", flush=True)
"""


def _bytes_in(folder: Path) -> dict[str, bytes]:
    """All files but the index of the log, which SQLite keeps for those who have the file open."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


def test_a_file_of_another_journal_mode_is_read_as_it_is(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/arena.db"
    open_store(address).close()
    with closing(sqlite3.connect(tmp_path / "arena.db")) as connection:  # as one that was restored from a dump
        connection.execute("PRAGMA journal_mode=DELETE")
    before = _bytes_in(tmp_path)
    store = open_store(address, create=False)
    with store.read() as reading:
        assert reading.execute(select(tasks.c.id)).all() == []
    store.close()
    assert _bytes_in(tmp_path) == before


ADD_MANY = """
import sys
from sqlalchemy import insert
from steelyard.store import open_store
from steelyard.store.schema import settings
store = open_store(sys.argv[1])
for number in range(25):
    with store.write() as connection:
        connection.execute(insert(settings), {"name": f"{sys.argv[2]}/{number}", "value": ""})
"""


def test_a_file_name_in_place_of_an_address_is_answered_with_its_address() -> None:
    with pytest.raises(StoreError) as error:
        open_store("arena.db")
    assert error.value.hint == "for a file: sqlite:///arena.db"


def test_first_users_race_to_make_the_store_and_all_get_in(store_address: str) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", ADD_MANY, store_address, str(number)]) for number in range(4)]
    assert [process.wait(60) for process in writers] == [0] * 4
    store = open_store(store_address, create=False)
    with store.read() as connection:
        assert len(connection.execute(select(settings)).all()) == 100  # 4 writers, 25 rows each
    store.close()


def test_more_rows_than_one_statement_holds_go_in_as_they_are(store: Store) -> None:
    names = [f"row {number}" for number in range(40_000)]
    values = [f"a\tb\\n'{number}\n%s?" for number in range(40_000)]
    with store.write() as connection:
        insert_columns(connection, settings, {"name": names, "value": values})
    with store.read() as connection:
        found = {row.name: row.value for row in connection.execute(select(settings))}
    assert found == dict(zip(names, values, strict=True))


@pytest.mark.parametrize("count", [1, 2, 3000])
@pytest.mark.parametrize("value", ["same", "", None])
def test_values_that_are_the_same_in_all_rows_are_in_each(store: Store, count: int, value: str | None) -> None:
    moments = [7] * count
    orders = list(range(count))
    columns = {"id": [f"task {number}" for number in orders], "created_at": moments}
    with store.write() as connection:
        insert_columns(connection, tasks, {**columns, "category": [value] * count, "definition": ["{}"] * count})
    with store.read() as connection:
        wanted = select(tasks.c.id, tasks.c.created_at, tasks.c.category, tasks.c.definition).order_by(tasks.c.task_key)
        found = [tuple(row) for row in connection.execute(wanted)]
    assert found == [(f"task {number}", 7, value, "{}") for number in orders]


@pytest.mark.parametrize("count", [3, 500])
def test_a_key_that_is_there_refuses_all_rows_as_sqlalchemy_would(store: Store, count: int) -> None:
    names = [*(f"row {number}" for number in range(count)), "row 1"]
    with pytest.raises(IntegrityError), store.write() as connection:
        insert_columns(connection, settings, {"name": names, "value": names})
    with store.read() as connection:
        assert connection.execute(select(settings)).all() == []


@pytest.mark.parametrize("count", [1, 3, 30_000])
def test_what_is_added_to_keys_that_are_there_is_added(store: Store, count: int) -> None:
    with store.write() as connection:
        insert_columns(connection, tasks, {"id": ["task"], "definition": ["{}"], "created_at": [7]})
        (key,) = connection.execute(select(tasks.c.task_key)).scalars()
        for values in (range(0, 2 * count, 2), range(count)):
            columns = {"task_key": [key] * count, "field": [0] * count, "value": [*values], "n": [3] * count}
            insert_columns(connection, tallies, columns, adding=True)
    with store.read() as connection:
        found = {row.value: row.n for row in connection.execute(select(tallies))}
    first, second = Counter(range(0, 2 * count, 2)), Counter(range(count))
    assert found == {value: 3 * n for value, n in (first + second).items()}


@pytest.mark.parametrize("is_worth_it", [True, False])
def test_an_error_in_what_is_done_alongside_breaks_the_transaction(store: Store, *, is_worth_it: bool) -> None:
    rows = {"name": ["a"], "value": ["b"]}

    def write_twice() -> None:
        with store.write() as connection, background_writer(connection, is_worth_it=is_worth_it) as other:
            other.later(insert_columns, settings, rows)
            other.later(insert_columns, settings, rows)

    with pytest.raises(IntegrityError):
        write_twice()
    with store.read() as connection:
        assert connection.execute(select(settings)).all() == []


@pytest.mark.parametrize("is_worth_it", [True, False])
def test_what_is_done_alongside_is_done_in_its_order(store: Store, *, is_worth_it: bool) -> None:
    with store.write() as connection, background_writer(connection, is_worth_it=is_worth_it) as other:
        for number in range(20):
            other.later(insert_columns, settings, {"name": [f"{number:02}"], "value": [""]})
        found = other.now(lambda lent: lent.execute(select(settings.c.name)).scalars().all())
    assert sorted(found) == [f"{number:02}" for number in range(20)]


def test_only_its_owner_can_read_a_new_file(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        arena = sy.init_arena(f"sqlite:///{tmp_path / 'arena.db'}")
        arena.add_task({"id": "t"})
        with arena.store.write():
            modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir() if path.is_file()}
    finally:
        os.umask(before)
    assert modes.keys() >= {"arena.db", "arena.db-wal", "arena.db-shm"}
    assert set(modes.values()) == {"0o600"}
