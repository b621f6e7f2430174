"""Upgrades by a synthetic next migration: older stores are rejected unchanged, and upgraded only on request."""

from __future__ import annotations

import importlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, select

import steelyard.store.migrations as folder
from steelyard.cli import run
from steelyard.errors import DeclarationError, StoreError, StoreUnavailableError
from steelyard.store import Store, open_store, upgrade_store
from steelyard.store._store import migrations
from steelyard.store.schema import applied

SAMPLES = Path(__file__).parent.parent / "samples"
OLD = migrations()[-1].number
NEW = OLD + 1
NEXT = f"m{NEW:04}_next"
MIGRATION = """
def upgrade(connection):
    connection.exec_driver_sql("ALTER TABLE arena_tasks ADD COLUMN note VARCHAR(64) NOT NULL DEFAULT 'old'")
    connection.exec_driver_sql("CREATE TABLE next_one (task_key BIGINT PRIMARY KEY)")
    connection.exec_driver_sql("INSERT INTO next_one SELECT task_key FROM arena_tasks")
"""
ANSWERS = [
    ["arena", "task", "list"],
    ["arena", "task", "show", "fix-race"],
    ["arena", "leaderboard", "fix-race"],
    ["arena", "leaderboard", "fix-race", "--policy", "as-submitted"],
    ["arena", "leaderboard", "--by", "agent"],
    ["arena", "show", "ant-1"],
    ["arena", "history", "--task", "fix-race"],
    ["arena", "review", "list"],
    ["arena", "bias"],
    ["repeatability", "canon", "list"],
]


class Newer:
    """The program with one more migration, once it is installed."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.monkeypatch = path, monkeypatch

    def install(self, source: str = MIGRATION) -> None:
        self.path.mkdir(exist_ok=True)
        (self.path / f"{NEXT}.py").write_text(source, encoding="utf-8")
        sys.modules.pop(f"{folder.__name__}.{NEXT}", None)
        importlib.invalidate_caches()
        self.monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(self.path)])


@pytest.fixture
def newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Newer]:
    yield Newer(tmp_path / "migrations", monkeypatch)
    sys.modules.pop(f"{folder.__name__}.{NEXT}", None)


def fill(address: str) -> None:
    assert run(["arena", "init", "--store", address]) == 0
    assert run(["arena", "task", "add", str(SAMPLES / "arena/tasks.toml"), "--store", address]) == 0
    assert run(["arena", "submit", str(SAMPLES / "arena/submissions.jsonl"), "--store", address]) in (0, 1)


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A store of the newest version, alone in its directory."""
    path = tmp_path / "kept" / "old.db"
    path.parent.mkdir()
    fill(f"sqlite:///{path}")
    for other in path.parent.iterdir():
        if other != path:
            other.unlink()
    return path


@pytest.fixture
def old_store(old_file: Path) -> str:
    return f"sqlite:///{old_file}"


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def asked(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:  # Any: JSON values
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


class TestAnOlderStore:
    @pytest.mark.parametrize("arguments", ANSWERS, ids=" ".join)
    def test_reading_it_names_the_command_and_changes_nothing(
        self, old_file: Path, old_store: str, newer: Newer, capsys: pytest.CaptureFixture[str], arguments: list[str]
    ) -> None:
        newer.install()
        before = contents(old_file.parent)
        capsys.readouterr()
        assert run([*arguments, "--store", old_store, "--json"]) == 2
        error = json.loads(capsys.readouterr().out)["error"]
        assert error["kind"] == "invalid_store"
        assert f"schema version {OLD}; this version of steelyard requires {NEW}" in error["message"]
        assert error["hint"] == f"steelyard arena upgrade --store {old_store}"
        assert contents(old_file.parent) == before

    @pytest.mark.parametrize(
        "arguments",
        [
            ["arena", "init"],
            ["arena", "submit", str(SAMPLES / "arena/submissions.jsonl")],
            ["arena", "task", "add", str(SAMPLES / "arena/tasks.toml")],
            ["arena", "rescore"],
            ["arena", "notify", "--once", "--targets", str(SAMPLES / "arena/targets.toml")],
            ["repeatability", "canon", "retire", "clamp"],
        ],
        ids=lambda arguments: " ".join(arguments[:3]),
    )
    def test_writing_to_it_does_not_upgrade_it_by_the_way(
        self, old_file: Path, old_store: str, newer: Newer, capsys: pytest.CaptureFixture[str], arguments: list[str]
    ) -> None:
        newer.install()
        before = contents(old_file.parent)
        assert run([*arguments, "--store", old_store]) == 2
        assert f"hint: steelyard arena upgrade --store {old_store}" in capsys.readouterr().err
        assert contents(old_file.parent) == before

    def test_upgraded_it_says_what_it_said(
        self, old_file: Path, old_store: str, newer: Newer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        answers = [asked([*words, "--store", old_store], capsys) for words in ANSWERS]
        before = dump(old_file)
        newer.install()
        upgraded = asked(["arena", "upgrade", "--store", old_store], capsys)
        copy = f"{old_file}.before-upgrade-{OLD}"
        assert list(upgraded) == [
            *("schema_version", "store", "store_version_before", "store_version_after", "migrations", "copy")
        ]
        assert upgraded["store"] == old_store
        assert (upgraded["store_version_before"], upgraded["store_version_after"]) == (OLD, NEW)
        assert upgraded["migrations"] == [{"number": NEW, "name": "next"}]
        assert upgraded["copy"] == copy
        assert dump(Path(copy)) == before
        assert [asked([*words, "--store", old_store], capsys) for words in ANSWERS] == answers

    def test_an_upgraded_store_takes_submissions(
        self, old_store: str, newer: Newer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        newer.install()
        upgrade_store(old_store)
        given = tmp_path / "given.jsonl"
        given.write_text('{"id": "new", "task_id": "fix-race", "total_tokens": 1, "tool_calls": 1}\n', encoding="utf-8")
        submitted = asked(["arena", "submit", str(given), "--store", old_store], capsys)
        assert submitted["receipts"][0]["status"] == "accepted"


class TestUpgrading:
    def test_it_tells_each_step_and_where_the_copy_is(
        self, old_file: Path, old_store: str, newer: Newer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        newer.install()
        capsys.readouterr()
        assert run(["arena", "upgrade", "--store", old_store]) == 0
        printed = capsys.readouterr()
        assert printed.err == f"migration {NEW}: next\n"
        assert printed.out == (
            f"{old_store}: upgraded, schema version {OLD} -> {NEW}.\nbackup: {old_file}.before-upgrade-{OLD}\n"
        )

    def test_a_store_that_is_up_to_date_is_left_alone(
        self, old_file: Path, old_store: str, newer: Newer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        newer.install()
        upgrade_store(old_store)
        before = contents(old_file.parent)
        capsys.readouterr()
        assert run(["arena", "upgrade", "--store", old_store]) == 0
        assert capsys.readouterr().out == f"{old_store}: already up to date (schema version {NEW}).\n"
        upgraded = asked(["arena", "upgrade", "--store", old_store], capsys)
        assert (upgraded["store_version_before"], upgraded["store_version_after"]) == (NEW, NEW)
        assert (upgraded["migrations"], upgraded["copy"]) == ([], None)
        assert contents(old_file.parent) == before

    def test_a_copy_that_is_there_is_never_overwritten(self, old_file: Path, old_store: str, newer: Newer) -> None:
        newer.install()
        earlier = Path(f"{old_file}.before-upgrade-{OLD}")
        earlier.write_text("an earlier copy")
        copy = upgrade_store(old_store).copy
        assert copy == Path(f"{old_file}.before-upgrade-{OLD}.2")
        assert earlier.read_text() == "an earlier copy"
        with pytest.raises(StoreError, match="arena upgrade"):
            open_store(f"sqlite:///{copy}", create=False)

    def test_the_copy_holds_what_stands_in_the_log(self, old_file: Path, old_store: str, newer: Newer) -> None:
        newer.install()
        with closing(sqlite3.connect(old_file)) as other:
            other.execute("INSERT INTO arena_settings VALUES ('late', 'in the log')")
            other.commit()
            assert Path(f"{old_file}-wal").stat().st_size > 0
            copy = upgrade_store(old_store).copy
        assert copy is not None
        with closing(sqlite3.connect(copy)) as connection:
            assert connection.execute("SELECT value FROM arena_settings WHERE name = 'late'").fetchone()
        assert sorted(path.name for path in old_file.parent.iterdir()) == ["old.db", copy.name, "old.db.lock"]

    def test_the_copy_is_for_the_same_eyes(self, old_file: Path, old_store: str, newer: Newer) -> None:
        newer.install()
        old_file.chmod(0o640)
        copy = upgrade_store(old_store).copy
        assert copy is not None
        assert copy.stat().st_mode & 0o777 == 0o640

    @pytest.mark.parametrize(
        ("failure", "raised"),
        [
            ('    connection.exec_driver_sql("ALTER TABLE no_such_table RENAME TO other")\n', StoreUnavailableError),
            ("    raise KeyboardInterrupt\n", KeyboardInterrupt),
        ],
    )
    def test_one_that_fails_leaves_the_store_as_it_was(
        self, old_file: Path, old_store: str, newer: Newer, failure: str, raised: type[BaseException]
    ) -> None:
        before = contents(old_file.parent)
        newer.install(MIGRATION + failure)
        with pytest.raises(raised):
            upgrade_store(old_store)
        after = contents(old_file.parent)
        after.pop("old.db.lock")
        assert after == before
        newer.monkeypatch.undo()
        newer.install()
        assert upgrade_store(old_store).copy == Path(f"{old_file}.before-upgrade-{OLD}")

    def test_of_two_at_once_one_upgrades_and_makes_the_copy(self, old_file: Path, old_store: str, newer: Newer) -> None:
        newer.install()
        program = (
            "import sys, steelyard.store.migrations as folder\n"
            "from steelyard.cli import run\n"
            "folder.__path__.append(sys.argv[1])\n"
            "sys.exit(run(['arena', 'upgrade', '--store', sys.argv[2]]))\n"
        )
        command = [sys.executable, "-c", program, str(newer.path), old_store]
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        assert [process.wait(60) for process in both] == [0, 0]
        for process in both:
            process.communicate()
        assert len(list(old_file.parent.glob("*before-upgrade*"))) == 1
        open_store(old_store, create=False).close()

    @pytest.mark.parametrize("content", [None, b"", b"these are notes, " * 100])
    def test_what_is_no_store_is_not_made_one(self, tmp_path: Path, content: bytes | None) -> None:
        path = tmp_path / "none.db"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises((StoreError, StoreUnavailableError)):
            upgrade_store(f"sqlite:///{path}")
        assert (path.read_bytes() if path.exists() else None) == content


def test_migrations_with_the_same_number_are_rejected(newer: Newer) -> None:
    newer.install()
    (newer.path / f"m{NEW:04}_other.py").write_text("", encoding="utf-8")
    with pytest.raises(DeclarationError, match=f"migration {NEW}"):
        migrations()


def _shown(store: Store) -> tuple[list[int], list[str], bool]:
    with store.read() as connection:
        numbers = list(connection.execute(select(applied.c.number).order_by(applied.c.number)).scalars())
        notes = list(connection.exec_driver_sql("SELECT note FROM arena_tasks").scalars())
        return numbers, notes, inspect(connection).has_table("next_one")


def test_the_next_migration_changes_a_store_of_this_version(store_address: str, newer: Newer) -> None:
    fill(store_address)
    newer.install()
    with pytest.raises(StoreError, match=f"schema version {OLD};"):
        open_store(store_address)
    done = upgrade_store(store_address)
    assert (done.version, [step.number for step in done.migrations]) == (OLD, [NEW])
    store = open_store(store_address, create=False)
    assert (done.copy is None) == (not store.is_sqlite)
    numbers, notes, has_table = _shown(store)
    assert (numbers, set(notes), has_table) == ([*range(1, NEW + 1)], {"old"}, True)
    store.close()


def test_a_new_store_has_all_migrations(store_address: str, newer: Newer) -> None:
    newer.install()
    store = open_store(store_address)
    assert _shown(store) == ([*range(1, NEW + 1)], [], True)
    store.close()
    newer.monkeypatch.undo()
    with pytest.raises(StoreError, match=f"migration {NEW}"):
        open_store(store_address)


def test_a_server_is_not_copied_and_is_told_to_be_dumped(
    store_address: str, newer: Newer, capsys: pytest.CaptureFixture[str]
) -> None:
    if store_address.startswith("sqlite"):
        pytest.skip("SQLite files are copied")
    fill(store_address)
    newer.install()
    with pytest.raises(StoreError) as caught:
        open_store(store_address)
    assert (caught.value.hint or "").startswith("back up with pg_dump, then: steelyard arena upgrade --store")
    capsys.readouterr()
    assert run(["arena", "upgrade", "--store", store_address]) == 0
    printed = capsys.readouterr()
    assert printed.out.endswith("no backup was made (use pg_dump)\n")
    assert printed.err.splitlines()[0] == f"migration {NEW}: next"
    assert run(["arena", "upgrade", "--store", store_address]) == 0
    assert "already up to date" in capsys.readouterr().out
