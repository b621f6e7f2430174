"""Stores of older versions: refused unchanged, upgraded on request, and what they say afterwards is what they said."""

from __future__ import annotations

import json
import math
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, insert, select
from sqlalchemy.engine import Connection, make_url

from steelyard.arena import open_arena
from steelyard.arena.notifications._events import event_id, read_events
from steelyard.errors import StoreError, StoreUnavailableError
from steelyard.results import Policy
from steelyard.store import open_store, upgrade_store
from steelyard.store._migrate import migrations
from steelyard.store.migrations import m0001_arena, m0011_batches, m0015_outbox_waits, m0017_american_spelling
from steelyard.store.schema import METADATA, applied, outbox, tallies
from steelyard.surfaces.cli import run
from store_shapes import shape_of

SAMPLES = Path(__file__).parent.parent / "samples"
ANSWERS = json.loads((SAMPLES / "store/0.1.0.json").read_text(encoding="utf-8"))
RENAMED = {"normalised": "normalized", "normalisation_version": "normalization_version"}
"""Keys of 0.1.0's answers and what they are called now."""
NEWEST = migrations()[-1].number


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """The store that 0.1.0 made, in a folder of its own."""
    path = tmp_path / "kept" / "old.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((SAMPLES / "store/0.1.0.sql").read_text(encoding="utf-8"))
        connection.execute("PRAGMA journal_mode=WAL")
    return path


@pytest.fixture
def old_store(old_file: Path) -> str:
    return f"sqlite:///{old_file}"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def asked(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:  # Any: JSON values
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def still_said(old: Any, new: Any) -> bool:  # Any: JSON values
    """Whether everything the old answer told is told by the new one; more may be told besides."""
    if isinstance(old, list) and isinstance(new, dict):  # every answer is an object now
        return any(isinstance(value, list) and still_said(old, value) for value in new.values())
    if isinstance(old, dict) and isinstance(new, dict):
        named = {RENAMED.get(name, name): value for name, value in old.items()}
        if "mean_score" in old:
            del named["confidence_interval"]  # of all submissions together in 0.1.0, by task now
        return all(name in new and still_said(value, new[name]) for name, value in named.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(still_said, old, new))
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=1e-12)  # 0.1.0 rounded a mean twice
    return type(old) is type(new) and bool(old == new)


class TestAStoreOf010:
    @pytest.mark.parametrize("arguments", [answer["asked"] for answer in ANSWERS], ids=" ".join)
    def test_reading_it_names_the_command_and_changes_nothing(
        self, old_file: Path, old_store: str, capsys: pytest.CaptureFixture[str], arguments: list[str]
    ) -> None:
        before = contents(old_file.parent)
        assert run([*arguments, "--store", old_store, "--json"]) == 2
        error = json.loads(capsys.readouterr().out)["error"]
        assert error["kind"] == "invalid_store"
        assert f"schema version 16; this version of steelyard needs {NEWEST}" in error["message"]
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
        self, old_file: Path, old_store: str, capsys: pytest.CaptureFixture[str], arguments: list[str]
    ) -> None:
        before = contents(old_file.parent)
        assert run([*arguments, "--store", old_store]) == 2
        assert f"hint: steelyard arena upgrade --store {old_store}" in capsys.readouterr().err
        assert contents(old_file.parent) == before

    def test_upgraded_it_says_what_it_said(
        self, old_file: Path, old_store: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = dump(old_file)
        upgraded = asked(["arena", "upgrade", "--store", old_store], capsys)
        copy = f"{old_file}.before-upgrade-16"
        steps = [{"number": step.number, "name": step.name.replace("_", " ")} for step in migrations()]
        assert list(upgraded) == [
            *("schema_version", "store", "store_version_before", "store_version_after", "migrations", "copy")
        ]
        assert upgraded["store"] == old_store
        assert (upgraded["store_version_before"], upgraded["store_version_after"]) == (16, NEWEST)
        assert upgraded["migrations"] == [step for step in steps if step["number"] > 16]
        assert upgraded["copy"] == copy
        assert dump(Path(copy)) == before
        for answer in ANSWERS:
            new = asked([*answer["asked"], "--store", old_store], capsys)
            assert still_said(answer["answer"], new), (answer["asked"], new)

    def test_the_comparison_of_answers_sees_a_changed_number(self) -> None:
        old = [{"a": 1.5, "normalised": "x", "rows": [{"n": 1}]}]
        assert still_said(
            old, {"schema_version": 1, "canons": [{"a": 1.5, "normalized": "x", "rows": [{"n": 1}], "b": 2}]}
        )
        assert not still_said(old, [{"a": 1.5, "normalized": "x", "rows": [{"n": 2}]}])
        assert not still_said(old, [{"a": 1.5, "rows": [{"n": 1}]}])
        assert not still_said(old, [])

    def test_an_upgraded_store_takes_submissions_and_sends_what_waited(
        self, old_store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        upgrade_store(old_store)
        given = tmp_path / "given.jsonl"
        given.write_text('{"id": "new", "task_id": "fix-race", "total_tokens": 9000, "tool_calls": 7}')
        submitted = asked(["arena", "submit", str(given), "--store", old_store], capsys)
        assert submitted["receipts"][0]["status"] == "accepted"
        again = asked(["arena", "submit", str(SAMPLES / "arena/submissions.jsonl"), "--store", old_store], capsys)
        assert {receipt["status"] for receipt in again["receipts"]} == {"known"}
        targets = str(SAMPLES / "arena/targets.toml")
        assert run(["arena", "notify", "--once", "--targets", targets, "--store", old_store, "--json"]) == 1
        overtaken = 10 - submitted["receipts"][0]["overall_ranking"]  # of ten, all below it lost a rank by it
        # 6, 3 and 210 of 0.1.0, the new one, and a rank lost by each that it overtook.
        assert json.loads(capsys.readouterr().out)["waiting"] == 220 + overtaken


class TestUpgrading:
    def test_it_tells_each_step_and_where_the_copy_is(
        self, old_file: Path, old_store: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["arena", "upgrade", "--store", old_store]) == 0
        told = capsys.readouterr()
        steps = ["17: american spelling", "18: one format", "19: reviews", "20: tokens"]
        steps += ["21: people", "22: seasons", "23: learned versions", "24: rating events"]
        assert told.err == "".join(f"migration {step}\n" for step in steps)
        assert told.out == (
            f"{old_store}: upgraded, schema version 16 -> {NEWEST}\n"
            f"the store as it was is kept in {old_file}.before-upgrade-16\n"
        )

    def test_a_store_that_is_up_to_date_is_left_alone(
        self, old_file: Path, old_store: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        upgrade_store(old_store)
        before = contents(old_file.parent)
        assert run(["arena", "upgrade", "--store", old_store]) == 0
        assert capsys.readouterr().out == f"{old_store}: already up to date (schema version {NEWEST})\n"
        upgraded = asked(["arena", "upgrade", "--store", old_store], capsys)
        assert (upgraded["store_version_before"], upgraded["store_version_after"]) == (NEWEST, NEWEST)
        assert (upgraded["migrations"], upgraded["copy"]) == ([], None)
        assert contents(old_file.parent) == before

    def test_a_copy_that_is_there_is_never_overwritten(self, old_file: Path, old_store: str) -> None:
        earlier = Path(f"{old_file}.before-upgrade-16")
        earlier.write_text("an earlier copy")
        copy = upgrade_store(old_store).copy
        assert copy == Path(f"{old_file}.before-upgrade-16.2")
        assert earlier.read_text() == "an earlier copy"
        with pytest.raises(StoreError, match="arena upgrade"):
            open_store(f"sqlite:///{copy}", create=False)

    def test_the_copy_holds_what_stands_in_the_log(self, old_file: Path, old_store: str) -> None:
        with closing(sqlite3.connect(old_file)) as other:
            other.execute("INSERT INTO arena_settings VALUES ('late', 'in the log')")
            other.commit()
            assert Path(f"{old_file}-wal").stat().st_size > 0
            copy = upgrade_store(old_store).copy
        assert copy is not None
        with closing(sqlite3.connect(copy)) as connection:
            assert connection.execute("SELECT value FROM arena_settings WHERE name = 'late'").fetchone()
        assert sorted(path.name for path in old_file.parent.iterdir()) == ["old.db", copy.name, "old.db.lock"]

    def test_the_copy_is_for_the_same_eyes(self, old_file: Path, old_store: str) -> None:
        old_file.chmod(0o640)
        copy = upgrade_store(old_store).copy
        assert copy is not None
        assert copy.stat().st_mode & 0o777 == 0o640

    @pytest.mark.parametrize("raised", [StoreUnavailableError, KeyboardInterrupt])
    def test_one_that_fails_leaves_the_store_as_it_was(
        self, old_file: Path, old_store: str, monkeypatch: pytest.MonkeyPatch, raised: type[BaseException]
    ) -> None:
        before = contents(old_file.parent)
        good = m0017_american_spelling.upgrade

        def broken(connection: Connection) -> None:
            good(connection)
            if raised is KeyboardInterrupt:
                raise KeyboardInterrupt
            connection.exec_driver_sql("ALTER TABLE no_such_table RENAME TO other")

        monkeypatch.setattr(m0017_american_spelling, "upgrade", broken)
        with pytest.raises(raised):
            upgrade_store(old_store)
        after = contents(old_file.parent)
        after.pop("old.db.lock")
        assert after == before
        monkeypatch.undo()
        assert upgrade_store(old_store).copy == Path(f"{old_file}.before-upgrade-16")

    def test_of_two_at_once_one_upgrades_and_makes_the_copy(self, old_file: Path, old_store: str) -> None:
        command = [sys.executable, "-m", "steelyard", "arena", "upgrade", "--store", old_store]
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


@pytest.fixture
def first_store(store_address: str) -> Iterator[str]:
    """A store that has seen the very first migration only."""
    url = make_url(store_address)
    driver = "postgresql+psycopg" if url.get_backend_name() == "postgresql" else "sqlite"
    engine = create_engine(url.set(drivername=driver))
    with engine.begin() as connection:
        m0001_arena.upgrade(connection)
        applied.create(connection)
        connection.execute(insert(applied), {"number": 1, "name": "arena", "applied_at": 0})
        connection.execute(insert(m0001_arena.tasks), {"id": "kept", "definition": '{"id":"kept"}', "created_at": 7})
    engine.dispose()
    return store_address


def test_a_store_of_the_first_migration_becomes_one_of_the_present(first_store: str) -> None:
    with pytest.raises(StoreError, match="schema version 1;"):
        open_store(first_store)
    done = upgrade_store(first_store)
    assert (done.version, done.migrations[0].number, done.migrations[-1].number) == (1, 10, NEWEST)
    store = open_store(first_store, create=False)
    assert (done.copy is None) == (not store.is_sqlite)
    with store.write() as connection:
        assert connection.exec_driver_sql("SELECT id FROM arena_tasks").scalars().all() == ["kept"]
        migrated = shape_of(connection)
        METADATA.drop_all(connection)
        METADATA.create_all(connection)
        assert migrated == shape_of(connection)
    store.close()


@pytest.fixture
def packed_store(store_address: str) -> Iterator[str]:
    """A store of version 17: a task that has its tallies in one row, one that has them in many, and folded events."""
    url = make_url(store_address)
    driver = "postgresql+psycopg" if url.get_backend_name() == "postgresql" else "sqlite"
    engine = create_engine(url.set(drivername=driver))
    with engine.begin() as connection:
        applied.create(connection)
        for migration in migrations():
            if migration.number <= 17:
                migration.upgrade(connection)
                row = {"number": migration.number, "name": migration.name, "applied_at": 0}
                connection.execute(insert(applied), row)
        named = [{"id": name, "definition": "{}", "created_at": 7} for name in ("small", "large", "empty")]
        connection.execute(insert(m0001_arena.tasks), named)
        connection.execute(
            insert(m0011_batches.small_tallies),
            [
                {
                    "task_key": 1,
                    "overall": struct.pack("<4q", 5, 9_000, 2, 1),
                    "iterations": struct.pack("<2q", 1, 3),
                    "total_tokens": struct.pack("<6q", 0, 7, 2**53, 1, 1, 1),
                },
                {"task_key": 3, "overall": b"", "iterations": b"", "total_tokens": b""},
            ],
        )
        connection.execute(insert(m0001_arena.tallies), {"task_key": 2, "field": 2, "value": 8, "n": 600})
        event = {"kind": "submission.evaluated", "task_key": 1, "ordinal": 1, "overall": 4, "overall_ranking": 1}
        settled = {"due_at": 5, "is_settled": True, "settled_at": 6}
        told = {"percentile": 0.0, "baseline_version": 1, "created_at": 5}
        connection.execute(insert(m0015_outbox_waits.outbox), event | settled | told)
        folds = [
            {"task_key": 1, "first_ordinal": 2, "n": 2, "created_at": 10, "numbers": (5, 9_000, 3, 1, 0, 667, 1, 2)},
            {"task_key": 2, "first_ordinal": 600, "n": 1, "created_at": 20, "numbers": (70, 300, 500, 41)},
        ]
        for fold in folds:
            numbers = fold.pop("numbers")
            row = {**fold, "kind": "submission.evaluated", "places": struct.pack(f"<{len(numbers)}q", *numbers)}
            connection.execute(insert(m0011_batches.folded_events), row)
    engine.dispose()
    return store_address


def test_packed_tallies_and_folded_events_become_rows_of_the_same_content(packed_store: str) -> None:
    assert [step.number for step in upgrade_store(packed_store).migrations] == list(range(18, NEWEST + 1))
    store = open_store(packed_store, create=False)
    with store.read() as connection:
        counted = {tuple(row) for row in connection.execute(select(tallies))}
        assert counted == {
            *((1, 0, 5, 2), (1, 0, 9_000, 1), (1, 1, 1, 3), (1, 2, 0, 1), (1, 2, 7, 1), (1, 2, 2**53, 1)),
            (2, 2, 8, 600),
        }
        named = ("task_key", "ordinal", "overall", "overall_ranking", "percentile", "baseline_version", "created_at")
        events = [tuple(row) for row in connection.execute(select(*map(outbox.c.get, named)).order_by(outbox.c.seq))]
        assert events == [
            (1, 1, 4, 1, 0.0, 1, 5),
            (1, 2, 5, 3, 0.0, 1, 10),
            (1, 3, 9_000, 1, 66.7, 2, 10),
            (2, 600, 70, 300, 50.0, 41, 20),
        ]
        waiting = select(outbox.c.ordinal, outbox.c.due_at, outbox.c.due_for, outbox.c.settled_at)
        open_ones = connection.execute(waiting.where(~outbox.c.is_settled).order_by(outbox.c.seq)).all()
        assert open_ones == [(2, 10, None, None), (3, 10, None, None), (600, 20, None, None)]
    store.close()


def test_the_events_that_0_1_0_left_folded_are_told_as_it_would_have_told_them(old_file: Path, old_store: str) -> None:
    with closing(sqlite3.connect(old_file)) as connection:
        ((first, n, places),) = connection.execute("SELECT first_ordinal, n, places FROM arena_folded_events")
        ids = dict(connection.execute("SELECT ordinal, id FROM arena_submissions WHERE task_key = 2"))
    numbers = struct.unpack(f"<{4 * n}q", places)
    upgrade_store(old_store)
    store = open_store(old_store, create=False)
    with store.read() as connection:
        seqs = connection.execute(select(outbox.c.seq).where(outbox.c.task_key == 2).order_by(outbox.c.seq)).scalars()
        events = [event for _, event in read_events(connection, list(seqs))]
    store.close()
    assert len(events) == n == 210
    for place, event in enumerate(events):
        told = (event.overall_score, event.overall_ranking, event.percentile, event.baseline_version)
        overall, rank, tenths, version = (numbers[part * n + place] for part in range(4))
        assert told == (overall / 100, rank, tenths / 10, version)
        assert event.event_id == event_id("submission.evaluated", ids[first + place])


@pytest.mark.parametrize("policy", ["current", "as-submitted"])
def test_the_tallies_that_0_1_0_left_packed_are_those_of_a_rescore(old_store: str, policy: Policy) -> None:
    upgrade_store(old_store)
    store = open_store(old_store, create=False)
    arena = open_arena(store)

    def kept() -> list[tuple[int, ...]]:
        with store.read() as connection:
            return sorted(tuple(row) for row in connection.execute(select(tallies)))

    before = kept()
    arena.rescore()
    assert kept() == before
    arena.rescore(policy=policy)
    assert (kept() == before) == (policy == "current")
    store.close()


def test_a_server_is_not_copied_and_is_told_to_be_dumped(first_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    if first_store.startswith("sqlite"):
        pytest.skip("SQLite files are copied")
    with pytest.raises(StoreError) as caught:
        open_store(first_store)
    assert (caught.value.hint or "").startswith("make a backup with pg_dump, then: steelyard arena upgrade --store")
    assert run(["arena", "upgrade", "--store", first_store]) == 0
    told = capsys.readouterr()
    assert told.out.endswith("no copy was made: use pg_dump for backups\n")
    assert told.err.splitlines()[0] == "migration 10: canons"
    assert run(["arena", "upgrade", "--store", first_store]) == 0
    assert "already up to date" in capsys.readouterr().out
