"""Learned versions in the store: numbered, kept, and one where two learn the same at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy.engine import Connection

from steelyard.errors import UnknownNameError
from steelyard.store import Store, keep_learned, learned_seen, learned_version, learned_versions


def keep(store: Store, digest: str, *, kind: str = "abilities", seen: int = 10) -> int:
    def work(connection: Connection) -> int:
        return keep_learned(connection, kind, digest=digest, seen=seen, content=f'"{digest}"').version.number

    return store.in_transaction(work)


def test_versions_count_up_within_their_kind_and_all_are_kept(store: Store) -> None:
    assert [keep(store, "a", seen=10), keep(store, "b", seen=20), keep(store, "a", kind="weights", seen=5)] == [1, 2, 1]
    with store.read() as connection:
        first, latest = learned_version(connection, "abilities", 1), learned_version(connection, "abilities")
        assert first is not None
        assert latest is not None
        assert (first.content, latest.content, latest.number) == ('"a"', '"b"', 2)
        assert learned_version(connection, "other") is None
        assert [version.number for version in learned_versions(connection, "abilities")] == [1, 2]
        assert [learned_seen(connection, kind) for kind in ("abilities", "weights", "other")] == [20, 5, 0]
        with pytest.raises(UnknownNameError, match="version of abilities"):
            learned_version(connection, "abilities", 3)


def test_what_was_learned_from_the_same_is_no_new_version(store: Store) -> None:
    assert [keep(store, "a"), keep(store, "a"), keep(store, "b"), keep(store, "a")] == [1, 1, 2, 3]


def test_who_learns_the_same_at_the_same_moment_keeps_one_version(store: Store) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: keep(store, "a"), range(12))) == [1] * 12
