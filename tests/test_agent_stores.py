"""SQLite stores of agents: recognized by their tables wherever these stand, and hostile ones run nothing."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent_stores import goose_store, opencode_store
from steelyard.files import HEAD_BYTES
from steelyard.records import Rejected, Run, Usage
from steelyard.sources import PlacedRun, gather, log_formats
from steelyard.sources.formats import _sqlite_stores

COLUMNS = ", ".join(f"column_{number} text" for number in range(1500))
LATE = [f"CREATE TABLE before_{number} ({COLUMNS})" for number in range(4)]
"""So much schema that the tables which count are declared behind the part of a file that is looked at."""


def runs(*paths: Path) -> list[Run]:
    return [item.run for item in gather(list(paths)) if isinstance(item, PlacedRun)]


def rejected(*paths: Path) -> list[Rejected]:
    return [item for item in gather(list(paths)) if isinstance(item, Rejected)]


def test_a_store_is_recognized_wherever_its_tables_are_declared(tmp_path: Path) -> None:
    path = opencode_store(tmp_path / "opencode.db", first=LATE)
    assert path.read_bytes().find(b"CREATE TABLE `message`") > HEAD_BYTES
    assert [run.id for run in runs(path)] == ["ses_1", "ses_3"]


def test_a_store_whose_content_is_still_in_its_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / "live" / "opencode.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as open_store:
        open_store.execute("PRAGMA journal_mode = WAL")
        open_store.execute("SELECT name FROM sqlite_master").fetchall()  # the next one to close leaves the log alone
        opencode_store(path)
        copy = tmp_path / "copy"
        shutil.copytree(path.parent, copy, ignore=shutil.ignore_patterns("*-shm"))
    assert b"CREATE TABLE `message`" not in (copy / "opencode.db").read_bytes()
    before = sorted(file.name for file in copy.iterdir())
    assert [run.id for run in runs(copy)] == ["ses_1", "ses_3"]
    assert sorted(file.name for file in copy.iterdir()) == before == ["opencode.db", "opencode.db-wal"]


def test_an_index_on_an_expression_is_no_reason_to_refuse_a_store(tmp_path: Path) -> None:
    path = opencode_store(
        tmp_path / "kilo.db",
        then=["CREATE INDEX roles ON message (json_extract(data, '$.role'), id) WHERE json_valid(data)"],
    )
    assert [(run.id, run.agent) for run in runs(path)] == [("ses_1", "kilo"), ("ses_3", "kilo")]


def test_kilos_files_are_told_from_opencodes_by_where_they_lie(tmp_path: Path) -> None:
    stream = Path(__file__).parent / "samples" / "formats" / "opencode" / "run.jsonl"
    folder = tmp_path / "kilo"
    folder.mkdir()
    shutil.copy(stream, folder / "run.jsonl")
    assert [run.agent for run in runs(folder)] == ["kilo"]
    assert [run.agent for run in runs(stream)] == ["opencode"]


def test_the_call_for_a_title_is_in_no_log_so_tokens_and_cost_are_lower_bounds(tmp_path: Path) -> None:
    for path in (
        opencode_store(tmp_path / "opencode.db"),
        Path(__file__).parent / "samples" / "formats" / "opencode" / "run.jsonl",
    ):
        how = runs(path)[0].provenance or {}
        assert (how["usage"], how["cost_usd"]) == ("lower_bound", "lower_bound")


@pytest.mark.parametrize(
    "hostile",
    [
        ["DROP TABLE message", "CREATE VIEW message AS SELECT id, session_id, 1 AS time_created, data FROM part"],
        [
            "DROP TABLE message",
            "CREATE TABLE message (id text, session_id text, data text AS (hex(zeroblob(1000000))))",
            "INSERT INTO message VALUES ('m', 's')",
        ],
    ],
    ids=["a view", "a generated column"],
)
def test_what_a_hostile_schema_declares_is_not_run(tmp_path: Path, hostile: list[str]) -> None:
    path = opencode_store(tmp_path / "opencode.db", then=hostile)
    assert runs(path) == []
    assert ["unknown format" in item.reason for item in rejected(path)] == [True]


def test_a_store_may_only_be_read_by_plain_columns(tmp_path: Path) -> None:
    path = opencode_store(tmp_path / "opencode.db", then=["CREATE VIEW seen AS SELECT hex(id) AS id FROM message"])
    with closing(_sqlite_stores.SqliteStore(path)) as store:
        assert "seen" not in store.tables
        assert next(store.rows("session", ["id", "absent"], order=["id"])) == (b"ses_1", None)
        with pytest.raises(Exception, match="cannot read"):
            list(store.rows("seen", ["id"], order=[]))


def test_a_store_that_runs_for_ever_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = "INSERT INTO part SELECT hex(randomblob(8)), 'm', 's', 1, '{}' FROM part, part b, part c, part d, part e"
    path = opencode_store(tmp_path / "opencode.db", then=[many])
    monkeypatch.setattr(_sqlite_stores, "STEPS_AT_ONCE", 100)
    monkeypatch.setattr(_sqlite_stores, "MAX_STEPS", 10)
    assert runs(path) == []
    assert "interrupted" in rejected(path)[0].reason


def test_a_broken_store_that_was_named_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(opencode_store(tmp_path / "whole.db").read_bytes()[:6000])
    (problem,) = rejected(path)
    assert "cannot read the database" in problem.reason
    assert "opencode.db-wal" in (problem.hint or "")


def test_a_broken_store_with_a_log_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_bytes(b"SQLite format 3\0" + b"x" * 200)
    (tmp_path / "opencode.db-wal").write_bytes(b"y" * 100)
    assert "cannot read the database" in rejected(path)[0].reason


def test_a_schema_that_is_no_text_is_an_error_and_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    whole = goose_store(tmp_path / "whole.db").read_bytes()
    path.write_bytes(whole.replace(b"CREATE TABLE messages (id", b"CREATE TABLE messages \xf1id"))
    assert runs(path) == []
    assert "cannot read the database" in rejected(path)[0].reason


class TestGoose:
    def test_the_accumulated_columns_are_the_sessions(self, tmp_path: Path) -> None:
        (run,) = runs(goose_store(tmp_path / "sessions.db"))  # the session that asked nothing is none
        assert run.usage == Usage(input_tokens=500, cache_read_tokens=1400, cache_write_5m_tokens=0, output_tokens=90)
        assert (run.agent, run.model, run.experiment, run.cost_usd) == ("goose", "gpt-5.1", "letters", 0.0123)
        assert (run.tool_calls, run.iterations, run.elapsed_seconds) == (1, 2, 120)

    def test_an_older_schema_has_neither_cache_nor_cost(self, tmp_path: Path) -> None:
        newer = ("accumulated_cache_read_tokens", "accumulated_cache_write_tokens", "accumulated_cost")
        (run,) = runs(goose_store(tmp_path / "sessions.db", leave_out=newer))
        assert (run.usage, run.cost_usd) == (Usage(input_tokens=1900, output_tokens=90), None)

    def test_it_says_that_no_real_file_was_seen(self) -> None:
        titles = {name for name, declared in log_formats().items() if "not tested on real files" in declared.title}
        assert "goose" in titles
        assert "opencode" not in titles
