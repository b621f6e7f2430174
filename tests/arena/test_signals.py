"""A change by another process shows in the store's signal and in the arena's version, whoever may write the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.questions import ArenaSource
from steelyard.store import _store


@pytest.fixture
def address(tmp_path: Path) -> str:
    arena = sy.init_arena(f"sqlite:///{tmp_path}/arena.db")
    arena.add_task({"id": "t"})
    address = arena.store.address
    arena.store.close()
    return address


def submit_elsewhere(address: str, identity: str) -> None:
    submission = {"id": identity, "task_id": "t", "total_tokens": 10, "tool_calls": 1}
    code = f"import steelyard as sy; sy.open_arena({address!r}).submit([{submission!r}])"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_signal_stands_still_until_somebody_writes(address: str) -> None:
    source = ArenaSource(address)
    before, version = source.signal(), source.version()
    assert source.signal() == before
    submit_elsewhere(address, "s1")
    assert source.signal() != before
    assert (version, source.version()) == ("0-0-1-1-0-0-0-0-0", "1-0-1-1-0-0-0-0-0")
    source.close()


def test_who_may_only_read_sees_what_others_write(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (_store, _store):
        monkeypatch.setattr(module, "is_writable", lambda _path: False)
    source = ArenaSource(address)
    before, version = source.signal(), source.version()
    assert source.signal() == before
    submit_elsewhere(address, "s1")
    after = source.signal()
    assert after != before
    assert (version, source.version()) == ("0-0-1-1-0-0-0-0-0", "1-0-1-1-0-0-0-0-0")
    submit_elsewhere(address, "s2")
    assert source.signal() != after
    assert source.version() == "2-0-1-1-0-0-0-0-0"
    source.close()


def test_every_change_that_views_show_is_another_version(address: str) -> None:
    arena = sy.open_arena(address)
    source = ArenaSource(arena)
    versions = [source.version()]
    for change in (
        lambda: arena.add_task({"id": "u"}),
        lambda: arena.submit([{"id": "s", "task_id": "t", "total_tokens": 10, "tool_calls": 1}]),
        lambda: arena.decide("s", "accepted", by="ada"),
        lambda: arena.decide("s", "excluded", by="ada", reason="odd"),
        lambda: arena.decide("s", "reinstated", by="ada"),
        lambda: arena.rescore_tasks(policy="as-submitted"),
    ):
        change()
        versions.append(source.version())
    assert len(set(versions)) == 7
    source.close()
