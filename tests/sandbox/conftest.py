from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard import sandbox
from steelyard.errors import NoIsolation
from steelyard.sandbox import Isolation


@pytest.fixture(params=["bubblewrap", "landlock"], scope="module")
def isolation(request: pytest.FixtureRequest) -> Isolation:
    try:
        found = sandbox.isolation_named(request.param)
    except NoIsolation as error:
        pytest.skip(str(error))
    if found.python is None:
        pytest.skip("no interpreter that the sandbox's uid can start")
    return found


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any uid may enter; pytest's own are closed to those that commands have."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
