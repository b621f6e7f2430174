from __future__ import annotations

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
