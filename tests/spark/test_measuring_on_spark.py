"""Spark joins the law over engines: the same bits as here, on a standalone cluster and through Spark Connect."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import steelyard as sy
from steelyard.metrics.engines import _lazy
from test_engines import CALLS, KEYS, SIZES, answer, both, figures, flat_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOON = ("measure", "compare")
"""Verbs that a contributor waits for."""


def facts(seed: int, n: int) -> list[dict[str, Any]]:
    """Runs with null keys, missing, infinite, subnormal and huge values, some of them equal."""
    chance = random.Random(seed)
    values = (*SIZES, None, float("inf"), chance.random(), 100 * chance.random())
    return [
        {
            **{key: chance.choice(choices) for key, choices in KEYS.items()},
            "reported_cost_usd": chance.choice(values),
            "stated_duration_seconds": chance.choice(values),
            "passed": chance.choice((True, False, None)),
            "attempt": chance.choice((1, 2, 3, None)),
            "outcome": chance.choice(("passed", "errored", None)),
        }
        for _ in range(n)
    ]


@pytest.mark.parametrize(
    "held", [pytest.param(0, id="counted there", marks=pytest.mark.long), pytest.param(200_000, id="counted here")]
)
def test_spark_reduces_to_the_same_bits(spark: SparkSession, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lazy, "HELD_ROWS", held)
    local, there = both(facts(1, 60), spark)
    assert figures(there, ["agent"]) == figures(local, ["agent"])


@pytest.mark.parametrize(
    "name", [name if name in SOON else pytest.param(name, marks=pytest.mark.long) for name in CALLS]
)
def test_every_verb_gives_the_same_bytes_on_spark(name: str, spark: SparkSession, tmp_path: Path) -> None:
    paths = flat_files(tmp_path, seed=3, n=120)
    assert answer(CALLS[name], paths, spark) == answer(CALLS[name], paths, "local")


def test_a_frame_of_spark_is_measured_as_the_same_file_is(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    runs = [
        {
            "id": f"r{number}",
            "task": f"t{number % 3}",
            "agent": "ab"[number % 2],
            "passed": number % 3 > 0,
            "cost_usd": number / 7,
        }
        for number in range(30)
    ]
    pl.DataFrame(runs).write_parquet(path)
    asked = {"by": ["agent"], "metrics": ["pass_rate", "cost_usd"]}
    there = sy.measure(spark.createDataFrame(pl.DataFrame(runs).to_arrow()), engine=spark, **asked).to_dict()
    here = sy.measure(path, engine="local", **asked).to_dict()
    assert there["groups"] == here["groups"]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_many_tables_reduce_to_the_same_bits_on_spark(spark: SparkSession, seed: int) -> None:
    local, there = both(facts(seed, (1, 40, 300)[seed % 3]), spark)
    by = ([], ["agent"], ["agent", "tier"])[seed % 3]
    assert figures(there, by) == figures(local, by)


@pytest.mark.long
def test_ten_million_runs_give_the_same_bytes_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    from benchmarks.measure import make_runs

    path = tmp_path / "runs.parquet"
    make_runs(10_000_000, path)
    for name in ("measure", "compare", "rank"):
        assert answer(TEN_MILLION[name], [str(path)], spark) == answer(TEN_MILLION[name], [str(path)], "local")


TEN_MILLION = {
    "measure": lambda paths, engine: sy.measure(
        paths, by=["tier"], metrics=["pass_rate", "cost_usd", "duration_seconds"], engine=engine
    ),
    "compare": lambda paths, engine: sy.compare(
        paths, baseline="tier=T0", candidate="tier=T1", metrics=["pass_rate", "cost_usd"], resamples=100, engine=engine
    ),
    "rank": lambda paths, engine: sy.rank(
        paths, by=["tier"], metrics=["pass_rate"], min_task_coverage=0, resamples=100, engine=engine
    ),
}
