"""Fixtures of tests that run plans."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture
def own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if nobody else ran trials or measured on this machine, as other tests do."""
    _ = tmp_path  # made before the place of temporary folders changes
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # pytest's folders are closed to the user that code is isolated as
        monkeypatch.setattr("tempfile.tempdir", folder)
        yield
