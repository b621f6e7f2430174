"""Trials share the machine, and measuring has it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import UsageError
from steelyard.runner._measurement import measuring, trials_running


@pytest.fixture(autouse=True)
def _own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_trials_run_beside_each_other() -> None:
    with trials_running(), trials_running():
        pass


def test_measuring_is_refused_while_trials_run_and_the_reverse() -> None:
    with trials_running(), pytest.raises(UsageError, match="trials are running on this machine"), measuring():
        pass
    with measuring():
        for other in (trials_running, measuring):
            with pytest.raises(UsageError, match="wait until they end"), other():
                pass
    with measuring():
        pass


def test_a_link_that_somebody_else_put_there_is_not_followed(tmp_path: Path) -> None:
    with trials_running():
        pass
    lock = next(tmp_path.glob("steelyard-*.lock"))
    lock.unlink()
    lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), measuring():
        pass
    assert not (tmp_path / "elsewhere").exists()
