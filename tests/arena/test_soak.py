"""A server under load that is killed again and again: nothing acknowledged is lost, nothing is counted twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the server needs steelyard[serve]")

from soak import soaked

MINUTES = float(os.environ.get("STEELYARD_SOAK_MINUTES", "30"))


@pytest.mark.long
def test_nothing_is_lost_or_counted_twice_and_the_server_stays_as_fast_and_small_as_it_was(
    store_address: str, tmp_path: Path
) -> None:
    soak = soaked(store_address, seconds=60 * MINUTES, log=tmp_path / "server.log")
    print("\n".join(soak.told()))
    assert soak.refused == []
    assert soak.lost() == []
    assert soak.twice() == []
    assert len(soak.acknowledged) > 60 * MINUTES
    assert len(soak.starts) > 0.8 * MINUTES  # killed a minute after it was ready again
    assert soak.p99(0.9, 1.0) <= 1.5 * soak.p99(0.0, 0.1)
    at_first, at_last = soak.memory_held()
    assert at_last <= 1.25 * at_first


def test_the_soak_sees_what_is_lost_and_what_is_twice(store_address: str) -> None:
    """With a server of its own for a few seconds, and one kill."""
    soak = soaked(store_address, seconds=4, kill_every=2, count=50, tasks=5)
    assert (soak.lost(), soak.twice(), soak.refused) == ([], [], [])
    assert len(soak.starts) == 2
    assert len(soak.acknowledged) > 2
    soak.acknowledged["never-sent"] += 1
    assert soak.lost() == ["never-sent"]


@pytest.mark.long
def test_200_clients_for_two_minutes_get_no_error(store_address: str, tmp_path: Path) -> None:
    load = {"writers": 10, "readers": 190, "is_killed": False}
    soak = soaked(store_address, seconds=120, kill_every=2, log=tmp_path / "server.log", **load)
    print("\n".join(soak.told()))
    assert soak.refused == []
    assert soak.lost() == []
    assert soak.twice() == []
    assert len(soak.latencies) > 10 * 120
    at_first, at_last = soak.memory_held()
    assert at_last <= 1.1 * at_first
