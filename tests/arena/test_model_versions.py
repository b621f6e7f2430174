"""Model versions in the store: numbered, permanent, and single when two processes fit the same data at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy.engine import Connection

from steelyard.errors import UnknownNameError
from steelyard.store import Store, model_seen, model_version, model_versions, save_model


def keep(store: Store, digest: str, *, kind: str = "abilities", seen: int = 10) -> int:
    def work(connection: Connection) -> int:
        return save_model(connection, kind, digest=digest, seen=seen, content=f'"{digest}"').version.number

    return store.in_transaction(work)


def test_versions_count_up_within_their_kind_and_all_are_kept(store: Store) -> None:
    assert [keep(store, "a", seen=10), keep(store, "b", seen=20), keep(store, "a", kind="weights", seen=5)] == [1, 2, 1]
    with store.read() as connection:
        first, latest = model_version(connection, "abilities", 1), model_version(connection, "abilities")
        assert first is not None
        assert latest is not None
        assert (first.content, latest.content, latest.number) == ('"a"', '"b"', 2)
        assert model_version(connection, "other") is None
        assert [version.number for version in model_versions(connection, "abilities")] == [1, 2]
        assert [model_seen(connection, kind) for kind in ("abilities", "weights", "other")] == [20, 5, 0]
        with pytest.raises(UnknownNameError, match="abilities version"):
            model_version(connection, "abilities", 3)


def test_what_was_learned_from_the_same_is_no_new_version(store: Store) -> None:
    assert [keep(store, "a"), keep(store, "a"), keep(store, "b"), keep(store, "a")] == [1, 1, 2, 3]


def test_who_learns_the_same_at_the_same_moment_keeps_one_version(store: Store) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: keep(store, "a"), range(12))) == [1] * 12
