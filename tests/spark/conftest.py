"""One session for all tests, on the cluster that `make test-spark` starts; without a cluster they skip."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from steelyard.metrics import quiet_spark, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = os.path.dirname(__file__)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).startswith(HERE):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def address() -> str:
    given = os.environ.get("STEELYARD_TEST_SPARK")
    if given is None:
        pytest.skip("there is no cluster: make test-spark")
    return given


@pytest.fixture(scope="session")
def spark(address: str) -> Iterator[SparkSession]:
    session = spark_session(address)
    with quiet_spark():
        yield session
        session.stop()
