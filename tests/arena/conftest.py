"""The store that the arena's tests run on: a SQLite file, or the PostgreSQL that STEELYARD_TEST_POSTGRES names."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from steelyard.store import Store, open_store

POSTGRES = os.environ.get("STEELYARD_TEST_POSTGRES")
STORE_FIXTURES = {"store_address", "store"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With PostgreSQL, what does not touch a store has already run."""
    if not POSTGRES:
        return
    here = Path(__file__).parent
    kept = [item for item in items if here not in item.path.parents or STORE_FIXTURES & set(item.fixturenames)]  # type: ignore[attr-defined]  # every collected function has them
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.fixture
def store_address(tmp_path: Path) -> Iterator[str]:
    """The address of a store of the test's own; nothing is left of it afterwards."""
    if not POSTGRES:
        yield f"sqlite:///{tmp_path}/arena.db"
        return
    url = make_url(POSTGRES).set(drivername="postgresql+psycopg")
    schema = f"test_{uuid.uuid4().hex}"
    server = create_engine(url, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    own = url.set(drivername="postgresql").update_query_dict({"options": f"-csearch_path={schema}"})
    yield own.render_as_string(hide_password=False)
    with server.connect() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    server.dispose()


@pytest.fixture
def store(store_address: str) -> Iterator[Store]:
    """A store that is open and empty."""
    opened = open_store(store_address)
    yield opened
    opened.close()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A clock that stands still unless a test moves it, so that nothing can go by the time."""
    held = [1_000_000]
    monkeypatch.setattr("steelyard.arena.ingest._arena.now_microseconds", lambda: held[0])
    return held
