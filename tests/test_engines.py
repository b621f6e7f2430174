"""Every engine gives the same bits: statistics, figures, grades, findings, intervals, comparisons, ranks and gates.

An engine joins by one line in `ENGINES`. Values come in every size, missing and twice, in groups of any size, rows in
any order and spread over files.
"""

from __future__ import annotations

import gc
import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

import steelyard as sy
from commands import steelyard
from steelyard.errors import MissingExtraError, UnknownNameError, UsageError
from steelyard.metrics import Engine, LocalEngine, engine_of, run_findings
from steelyard.metrics.engines import _duckdb, _engine_choice, _histograms, _lazy
from steelyard.profiles import DEFAULT, load_profile
from steelyard.records import Missing
from steelyard.sources import RunTable
from steelyard.sources.tables import _duplicates, _run_table, _spool

ENGINES = ("duckdb",)
"""What is held against the local engine."""
PROFILE = load_profile(DEFAULT)
SIZES = (0.0, -0.0, 5e-324, 2.5e-310, 1e-5, 0.1, 0.2, 0.3, 1.0, 2.5, 1e16, 1e300, 1.7e308)
KEYS = {"agent": ("a", "b", "", None), "tier": ("T0", "T1", None), "task": ("t1", "t2", "t3")}
NAMES = (
    "reported_cost_usd",
    "stated_duration_seconds",
    "pass_rate",
    "cost_usd",
    "composite_score",
    "cost_of_pass_per_run",
    "attempt",
)


@pytest.fixture(autouse=True)
def _small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """So little that DuckDB spills what it does not get rid of at once."""
    monkeypatch.setenv("STEELYARD_MEMORY_LIMIT", "64MB")


def numbers(*, infinite: bool) -> st.SearchStrategy[float | None]:
    """Sizes that sums cannot bear, and ordinary ones that come twice."""
    wild = st.floats(min_value=0, allow_infinity=infinite, allow_nan=False)
    return st.one_of(st.none(), st.sampled_from(SIZES), st.floats(0, 100).map(lambda x: round(x, 1)), wild)


def rows(*, infinite: bool) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Runs as flat rows, of facts that an engine sees."""
    row = st.fixed_dictionaries(
        {
            **{key: st.sampled_from(values) for key, values in KEYS.items()},
            "reported_cost_usd": numbers(infinite=infinite),
            "stated_duration_seconds": numbers(infinite=infinite),
            "passed": st.sampled_from([True, False, None]),
            "attempt": st.sampled_from([1, 2, 3, None]),
            "outcome": st.sampled_from(["passed", "errored", None]),
        }
    )
    return st.lists(row, min_size=1, max_size=60)


TYPES = {
    "agent": pl.String,
    "tier": pl.String,
    "passed": pl.Boolean,
    "attempt": pl.Int64,
    "outcome": pl.String,
    "reported_cost_usd": pl.Float64,
    "stated_duration_seconds": pl.Float64,
}


def both(facts: list[dict[str, Any]], engine: str) -> tuple[Engine, Engine]:
    frame = pl.DataFrame(facts, schema_overrides=TYPES)
    other = RunTable(frame=frame.lazy(), n=frame.height, price_table="", engine=engine)
    return LocalEngine(frame.lazy(), frame.height, PROFILE), engine_of(other, PROFILE)


def bits(by_name: Mapping[str, Mapping[str, np.ndarray] | Missing]) -> dict[str, Any]:
    """Every figure by its bits, so that neither -0.0 nor NaN passes for another."""
    return {
        name: figures.reason
        if isinstance(figures, Missing)
        else {what: [float(value).hex() for value in column] for what, column in figures.items()}
        for name, figures in by_name.items()
    }


def figures(engine: Engine, by: list[str]) -> dict[str, Any]:
    """All that an engine reduces."""
    weighed = engine.weighted("tasks")
    keys, sums = engine.sums({"cost": nw.col("reported_cost_usd")}, by)
    known = sums["cost"]
    order = keys.with_row_index().sort(by, nulls_last=True)["index"].to_list() if by else [0]
    return {
        "keys": engine.groups(by).keys(),
        "sizes": engine.groups(by).sizes.tolist(),
        "statistics": bits(engine.statistics(NAMES, by)),
        "by task": bits(weighed.means(NAMES, by)),
        "complete": bits(engine.means(["pass_rate", "cost_usd"], by, complete=True)),
        "complete by task": bits(weighed.means(["pass_rate", "cost_usd"], by, complete=True)),
        "sums": [known.means[place].hex() for place in order],
        "values": bits({name: c if isinstance(c, Missing) else {"": c} for name, c in engine.values(NAMES).items()}),
        "codes": engine.codes(by).rows.tolist(),
        "tasks": engine.tasks.tolist(),
        "why": [engine.why_missing("composite_score", by, key) for key in engine.groups(by).keys()[:2]],
    }


@pytest.mark.parametrize("held", [0, 200_000], ids=["counted there", "counted here"])
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=4, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(facts=rows(infinite=True), by=st.sampled_from([[], ["agent"], ["agent", "tier"]]))
def test_every_engine_reduces_to_the_same_bits(
    engine: str, held: int, facts: list[dict[str, Any]], by: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_lazy, "HELD_ROWS", held)
    local, other = both(facts, engine)
    assert figures(other, by) == figures(local, by)


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=150, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(facts=rows(infinite=True), by=st.sampled_from([[], ["agent"], ["agent", "tier"]]), held=st.sampled_from([0, 9]))
def test_many_tables_reduce_to_the_same_bits(
    engine: str, facts: list[dict[str, Any]], by: list[str], held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_lazy, "HELD_ROWS", held)
    local, other = both(facts, engine)
    assert figures(other, by) == figures(local, by)


def _adding_doubles(rows: nw.LazyFrame[Any], keys: list[str], *_: float | None) -> nw.LazyFrame[Any]:
    value, count = nw.col(_histograms.VALUE), nw.col(_histograms.COUNT)
    products = rows.select(*keys, nw.when(~value.is_null()).then(count).alias("_known"), (value * count).alias("_sum"))
    return products.group_by(*keys).agg(nw.col("_known").sum(), nw.col("_sum").sum())


def _joined(found: pl.DataFrame, *_: float | None) -> Any:
    counts = found["_known"].fill_null(0).to_numpy().astype(np.int64)
    sums = [float(value).as_integer_ratio() for value in found["_sum"].fill_null(0).to_list()]
    numerators = [above * (1 << 1100) // below for above, below in sums]
    return _histograms.ExactSums(numerators, -1100, counts, np.zeros(len(counts)))


def test_the_law_fails_for_an_engine_that_adds_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lazy, "HELD_ROWS", 0)
    monkeypatch.setattr(_histograms, "limb_sums", _adding_doubles)
    monkeypatch.setattr(_histograms, "joined_sums", _joined)
    large = [sign * number * 1e100 for number in range(1, 20) for sign in (1, -1)]  # beside which the others vanish
    values = [*large, *(number / 10 for number in range(1, 1_000))]
    random.Random(0).shuffle(values)
    facts = [{"task": "t1", "reported_cost_usd": value} for value in values]
    local, other = both(facts, "duckdb")
    ours, theirs = (bits(each.statistics(["reported_cost_usd"], []))["reported_cost_usd"] for each in (local, other))
    assert theirs["median"] == ours["median"]
    assert ours["sum"] == [(49950.0).hex()]
    assert theirs["sum"] != ours["sum"]


CALLS: dict[str, Callable[..., Any]] = {
    "measure": lambda paths, engine: sy.measure(paths, by=["agent"], engine=engine),
    "measure by tier": lambda paths, engine: sy.measure(
        paths, by=["tier"], weight_by="tasks", unscored="fail", engine=engine
    ),
    "intervals": lambda paths, engine: sy.measure(
        paths, by=["agent"], metrics=["pass_rate", "cost_usd", "cost_of_pass"], interval="auto", engine=engine
    ),
    "compare": lambda paths, engine: sy.compare(
        paths,
        baseline="agent=a",
        candidate="agent=b",
        resamples=100,
        metrics=["pass_rate", "cost_usd", "cost_of_pass"],
        engine=engine,
    ),
    "rank": lambda paths, engine: sy.rank(
        paths, by=["agent"], metrics=["pass_rate"], min_task_coverage=0, resamples=100, engine=engine
    ),
    "gate": lambda paths, engine: sy.gate(
        paths, rule=["pass_rate >= 0.4", "cost_usd <= baseline * 1.1"], baseline=paths[:1], resamples=100, engine=engine
    ),
    "matrix": lambda paths, engine: sy.matrix(paths, by=["agent"], engine=engine),
}


def answer(call: Callable[..., Any], paths: list[str], engine: str) -> str:
    """The result as JSON, without the sentence that names the engine; of an error its sentence."""
    try:
        found = call(paths, engine).to_dict()
    except sy.SteelyardError as error:
        return f"{type(error).__name__}: {error}"
    found["findings"] = [finding for finding in found.get("findings", ()) if finding["code"] != "engine"]
    return json.dumps(found, indent=1, default=repr)


def flat_files(folder: Path, seed: int, n: int) -> list[str]:
    """Runs in two files, some of them twice, with tokens to price, in any order."""
    chance = random.Random(seed)
    made = [
        {
            "id": f"r{number}",
            "task": chance.choice(KEYS["task"]),
            "agent": chance.choice(("a", "b", "c")) if chance.random() < 0.95 else None,
            "tier": chance.choice(KEYS["tier"]),
            "model": chance.choice(("gpt-4o", "claude-sonnet-4-5", "nobody-knows", None)),
            "passed": chance.choice((True, False, True, None)),
            "cost_usd": chance.choice((None, 0.1, 0.25, round(chance.random(), 6), -0.0, 1e-300)),
            "duration_seconds": chance.choice((None, chance.uniform(1, 90), 5e-324)),
            "usage.input_tokens": chance.choice((None, chance.randrange(10**5))),
            "usage.output_tokens": chance.choice((None, chance.randrange(10**4))),
            "attempt": chance.choice((1, 2, 3)),
        }
        for number in range(n)
    ]
    twice = made + chance.sample(made, n // 5)
    chance.shuffle(twice)
    paths = [folder / "first.parquet", folder / "second.parquet"]
    types = {"cost_usd": pl.Float64, "duration_seconds": pl.Float64, "passed": pl.Boolean, "model": pl.String}
    for path, part in zip(paths, (twice[: n // 2], twice[n // 2 :]), strict=True):
        pl.DataFrame(part, schema_overrides=types | {"agent": pl.String, "tier": pl.String}).write_parquet(path)
    return [str(path) for path in paths]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CALLS)
def test_every_verb_gives_the_same_bytes(name: str, engine: str, tmp_path: Path) -> None:
    paths = flat_files(tmp_path, seed=list(CALLS).index(name), n=120)
    assert answer(CALLS[name], paths, engine) == answer(CALLS[name], paths, "local")


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", CALLS)
def test_every_verb_gives_the_same_bytes_of_many_files(name: str, engine: str, tmp_path: Path) -> None:
    for seed in range(8):
        paths = flat_files(tmp_path, seed=seed, n=(7, 60, 400)[seed % 3])
        assert answer(CALLS[name], paths, engine) == answer(CALLS[name], paths, "local")


@pytest.mark.parametrize("engine", ["local", *ENGINES])
def test_a_table_that_does_not_fit_into_memory_is_priced_piece_by_piece(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = flat_files(tmp_path, seed=3, n=90)
    whole = answer(CALLS["measure"], paths, "local")
    monkeypatch.setattr(_run_table, "IN_MEMORY_ROWS", 10)
    monkeypatch.setattr(_run_table, "FLAT_BATCH_ROWS", 7)
    monkeypatch.setattr(_spool, "SPILL_ROWS", 15)
    monkeypatch.setattr(_duplicates, "HASHES_AT_ONCE", 20)
    assert answer(CALLS["measure"], paths, engine) == whole


def test_many_files_are_not_held_in_memory_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    monkeypatch.setattr(_run_table, "IN_MEMORY_ROWS", 60)
    usual = _spool.Spool.add_lazy

    def counted(spool: _spool.Spool, frame: pl.LazyFrame) -> None:
        held.append(frame.select(pl.len()).collect().item())
        usual(spool, frame)

    monkeypatch.setattr(_spool.Spool, "add_lazy", counted)
    paths = flat_files(tmp_path, seed=3, n=90)  # with tokens to price, 45 and 63 rows
    sy.measure(paths, by=["agent"], engine="local")
    assert held == [45]  # the second goes to disk piece by piece
    held.clear()
    sy.measure(paths, by=["agent"], engine="duckdb")
    assert held == []


def contradictory(path: Path, n: int) -> str:
    """Runs that all passed with a score of nothing, in a file; no two of the same duration."""
    draw = np.random.default_rng(5)
    columns = {"id": [f"r{number}" for number in range(n)], "task": ["t"] * n, "tier": ["T0", "T1"] * (n // 2)}
    seconds = draw.permutation(n) / 7
    pl.DataFrame(columns | {"passed": True, "impl_rate": 0.0, "duration_seconds": seconds}).write_parquet(path)
    return str(path)


def test_runs_that_contradict_themselves_are_counted_and_fetched_when_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[int] = []
    usual = _duckdb.DuckDBSource.collect

    def counted(source: _duckdb.DuckDBSource, lazy: nw.LazyFrame[Any]) -> pl.DataFrame:
        frame = usual(source, lazy)
        fetched.append(frame.height)
        return frame

    monkeypatch.setattr(_duckdb.DuckDBSource, "collect", counted)
    table = replace(sy.read(contradictory(tmp_path / "runs.parquet", 1_000)), engine="duckdb")
    (finding,) = run_findings(engine_of(table, PROFILE))
    assert (finding.count, finding.where, max(fetched)) == (1_000, "run r0", 100)
    wheres = [place.where for place in finding.places]
    assert wheres == sorted(f"run r{number}" for number in range(1_000))
    assert finding.places[999].message == "stated_impl_rate 0.0, pass_rate 1.0"


def test_runs_that_were_spilled_are_listed_after_their_table_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_spool, "SPILL_ROWS", 10)
    lines = [json.dumps({"id": f"r{n:03}", "task": "t", "passed": True, "impl_rate": 0.0}) for n in range(200)]
    (tmp_path / "runs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    measured = sy.measure(str(tmp_path / "runs.jsonl"), metrics=["impl_rate"], engine="local")
    gc.collect()
    (finding,) = (each for each in measured.findings if each.code == "score_contradicts_verdict")
    assert [place.where for place in finding.places] == [f"run r{n:03}" for n in range(200)]


@pytest.mark.long
def test_what_does_not_fit_is_spilled_and_gives_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_SPILL_FOLDER", str(tmp_path))
    path = contradictory(tmp_path / "runs.parquet", 4_000_000)
    spilled: list[int] = []
    is_over = Event()

    def watch() -> None:
        while not is_over.wait(0.02):
            spilled.append(sum(1 for _ in tmp_path.glob("*/spilled/*")))

    watcher = Thread(target=watch)
    watcher.start()
    try:
        there = sy.measure(path, by=["tier"], metrics=["duration_seconds"], engine="duckdb")
    finally:
        is_over.set()
        watcher.join()
    here = sy.measure(path, by=["tier"], metrics=["duration_seconds"], engine="local")
    assert max(spilled) > 0
    assert there.to_dict()["groups"] == here.to_dict()["groups"]


def test_what_deals_single_runs_says_that_they_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = flat_files(tmp_path, seed=3, n=90)
    monkeypatch.setattr(_lazy, "free_bytes", lambda: 2_000)
    assert sy.measure(paths, by=["agent"], metrics=["pass_rate"], engine="duckdb").n == 90
    with pytest.raises(UsageError, match="per-run values of 90 runs"):
        CALLS["compare"](paths, "duckdb")


def test_auto_tells_why_it_takes_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = flat_files(tmp_path, seed=1, n=40)
    assert all(finding.code != "engine" for finding in sy.measure(paths, by=["agent"]).findings)
    monkeypatch.setattr(_engine_choice, "free_bytes", lambda: 1_000)
    (told,) = (each for each in sy.measure(paths, metrics=["pass_rate"]).findings if each.code == "engine")
    assert "evaluated with duckdb, 40 runs need about" in told.message
    assert told.message.endswith("memory limit 64 MB")


def test_auto_names_the_extra_before_memory_runs_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = flat_files(tmp_path, seed=1, n=40)
    monkeypatch.setattr(_engine_choice, "free_bytes", lambda: 1_000)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtraError, match=r"40 runs need about .* requires DuckDB") as error:
        sy.measure(paths, metrics=["pass_rate"])
    assert error.value.hint == "pip install 'steelyard[duckdb]'"


@pytest.mark.parametrize(
    ("engine", "library", "extra"),
    [("duckdb", "duckdb", "duckdb"), ("spark", "pyspark", "spark"), ("sc://host", "pyspark", "spark")],
)
def test_an_engine_without_its_library_says_what_to_install(
    engine: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError) as error:
        sy.measure(list(sy.demo_runs()), engine=engine)
    assert error.value.hint == f"pip install 'steelyard[{extra}]'"


def test_an_engine_that_there_is_not_is_refused(tmp_path: Path) -> None:
    shown = steelyard("measure", *flat_files(tmp_path, seed=1, n=10), "--engine", "duckbd")
    assert shown.status == 2
    assert "duckdb" in shown.stderr
    with pytest.raises(UnknownNameError):
        sy.rank(list(sy.demo_runs()), engine="polars")


@pytest.mark.parametrize("given", ["much", "4 parsecs", "-1GB"])
def test_a_memory_limit_that_is_no_size_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_MEMORY_LIMIT", given)
    with pytest.raises(UsageError, match="STEELYARD_MEMORY_LIMIT"):
        sy.measure(list(sy.demo_runs()), metrics=["pass_rate"], engine="duckdb")


def test_nothing_is_left_in_the_spill_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_SPILL_FOLDER", str(tmp_path))
    assert sy.measure(list(sy.demo_runs()), by=["tier"], metrics=["pass_rate"], engine="duckdb").n == 1400
    assert list(_left(tmp_path)) == []


def _left(folder: Path) -> Iterator[Path]:
    gc.collect()  # the table that owned the files may wait for it
    return folder.iterdir()
