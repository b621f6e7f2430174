"""The same examples on every run, so that a failure is everybody's; HYPOTHESIS_PROFILE=random looks further."""

from __future__ import annotations

import builtins
import itertools
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import processes
from steelyard import sandbox
from steelyard.errors import SandboxUnavailableError
from steelyard.sandbox import Isolation

# A package of its own, which test_plugins.py installs, and files that are read but never imported.
collect_ignore = ["plugin", "samples"]

# How long an example takes says how busy the machine is, and nothing about what is promised.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("steady", derandomize=True, **_PATIENT)
settings.register_profile("random", derandomize=False, **_PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
_markers = itertools.count()
# The parallel workers of pytest-xdist set it to 80, which would wrap what commands print into a pipe.
os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session", autouse=True)
def no_total_depends_on_the_python() -> Iterator[None]:
    """The package may add floats with `sum_in_order` or `fsum`; what `sum` gives is not the same on every Python."""
    builtin = builtins.sum

    def checked(values: Iterable[Any], /, start: Any = 0) -> Any:  # Any: whatever can be added
        total = builtin(values, start)
        caller = sys._getframe(1).f_globals["__name__"]
        assert not isinstance(total, float) or not caller.startswith("steelyard."), (
            f"{caller} adds floats with sum: use math.fsum, or sum_in_order of steelyard.records"
        )
        return total

    builtins.sum = checked
    yield
    builtins.sum = builtin


@pytest.fixture
def marker() -> Iterator[str]:
    """Seconds to sleep for that no other test, and nobody else on this machine, sleeps for; none sleeps on after it."""
    made = f"86398.{os.getpid()}{next(_markers):06}"
    yield made
    processes.end(made)


@pytest.fixture(params=["bubblewrap", "landlock"], scope="module")
def isolation(request: pytest.FixtureRequest) -> Isolation:
    try:
        found = sandbox.isolation_named(request.param)
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    if found.python is None:
        pytest.skip("no interpreter that the sandbox's uid can start")
    return found
