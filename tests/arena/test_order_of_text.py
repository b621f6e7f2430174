"""Where text decides an order, code points do, whatever language the database speaks."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from arena_makers import make_arena
from steelyard.questions.arena.history import arena_history
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.records import Canon
from steelyard.store import Store, canon_history, open_store, set_canon

POSTGRES = os.environ.get("STEELYARD_TEST_POSTGRES")
NAMES = ("a", "B", "b", "A", "ä", "Z", "_a", "10", "9", "a b", "ab", "ß", "é", "\U0001f600", "\uff21")


@pytest.fixture
def english(store_address: str) -> Iterator[Store]:
    """A store in a database that orders text as English dictionaries do; SQLite has no such thing."""
    if not POSTGRES:
        store = open_store(store_address)
        yield store
        store.close()
        return
    url = make_url(POSTGRES).set(drivername="postgresql+psycopg")
    name = f"english_{uuid.uuid4().hex}"
    server = create_engine(url, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        made = f"CREATE DATABASE {name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
        connection.execute(text(made))
    address = url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
    store = open_store(address)
    yield store
    store.close()
    with server.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name}"))
    server.dispose()


def test_a_history_is_the_same_in_every_database(english: Store) -> None:
    arena = make_arena(english)
    arena.add_task({"id": "task"})
    fields = {"task_id": "task", "total_tokens": 9, "tool_calls": 1, "submitted_at": "2026-01-01T00:00:00Z"}
    arena.submit([{**fields, "id": name} for name in NAMES])
    assert [one.submission_id for one in arena_history(arena, task="task").moments] == sorted(NAMES)
    assert [one.submission_id for one in arena_task_leaderboard(arena, "task").leaderboard] == sorted(NAMES)


def test_canons_are_listed_in_the_same_order_in_every_database(english: Store) -> None:
    for name in NAMES:
        canon = Canon(
            prompt=name,
            code="1",
            normalized="1",
            signature="0" * 64,
            contract="{}",
            normalization_version="1",
            oracle_version="1",
            distance_version="1",
        )
        set_canon(english, canon)
    assert [one.prompt for one in canon_history(english)] == sorted(NAMES)
