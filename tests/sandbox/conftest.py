from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from attacking import AsUser, Attack, in_a_fork, named, python
from steelyard import sandbox
from steelyard.errors import SandboxUnavailableError
from steelyard.sandbox import Isolation, SandboxResult


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any uid may enter; pytest's own are closed to those that commands have."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def as_user(open_folder: Path) -> AsUser:
    """Does something as an ordinary user, in a process of its own when we are root."""
    (open_folder / "tmp").mkdir(mode=0o777)
    (open_folder / "tmp").chmod(0o777)

    def call(task: Callable[[], SandboxResult]) -> SandboxResult:
        if os.getuid() != 0:
            return task()
        return in_a_fork(task, str(open_folder / "tmp"))

    return call


@pytest.fixture(params=["as we are", "ordinary user"])
def attack(
    request: pytest.FixtureRequest,
    isolation: Isolation,
    as_user: AsUser,
) -> Attack:
    """Code run under each isolation, with a uid of its own and with the user's."""
    if request.param == "as we are":
        return lambda code, **options: python(code, isolation, **options)
    if os.getuid() != 0:
        pytest.skip("we are an ordinary user already")
    return lambda code, **options: as_user(lambda: python(code, named(isolation.name), **options))


@pytest.fixture
def users_landlock(as_user: AsUser) -> Attack:
    """Code run by an ordinary user without namespaces or a uid of its own: only the filter parts it from the rest."""
    try:
        sandbox.isolation_named("landlock")
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    return lambda code, **options: as_user(lambda: python(code, named("landlock"), **options))
