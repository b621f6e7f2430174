"""Cells share the machine, and measuring has it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import UsageError
from steelyard.runner._machine import cells_running, measuring


@pytest.fixture(autouse=True)
def _own_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_cells_run_beside_each_other() -> None:
    with cells_running(), cells_running():
        pass


def test_measuring_is_refused_while_cells_run_and_the_reverse() -> None:
    with cells_running(), pytest.raises(UsageError, match="cells are running on this machine"), measuring():
        pass
    with measuring():
        for other in (cells_running, measuring):
            with pytest.raises(UsageError, match="wait until that has ended"), other():
                pass
    with measuring():
        pass


def test_a_link_that_somebody_else_put_there_is_not_followed(tmp_path: Path) -> None:
    with cells_running():
        pass
    lock = next(tmp_path.glob("steelyard-*.lock"))
    lock.unlink()
    lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), measuring():
        pass
    assert not (tmp_path / "elsewhere").exists()
