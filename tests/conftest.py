"""The same examples on every run, so that a failure is everybody's; HYPOTHESIS_PROFILE=random looks further."""

from __future__ import annotations

import itertools
import os

import pytest
from hypothesis import settings

from steelyard import sandbox
from steelyard.errors import NoIsolation
from steelyard.sandbox import Isolation
from steelyard.settings import CACHE_FOLDER

settings.register_profile("steady", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
_markers = itertools.count()
os.environ[CACHE_FOLDER] = ""  # no test leans on what an earlier one has kept


@pytest.fixture
def marker() -> str:
    """Seconds to sleep for that no other test, and nobody else on this machine, sleeps for."""
    return f"86398.{os.getpid()}{next(_markers):06}"


@pytest.fixture(params=["bubblewrap", "landlock"], scope="module")
def isolation(request: pytest.FixtureRequest) -> Isolation:
    try:
        found = sandbox.isolation_named(request.param)
    except NoIsolation as error:
        pytest.skip(str(error))
    if found.python is None:
        pytest.skip("no interpreter that the sandbox's uid can start")
    return found
