"""Speedups from result files as real tools left them, against a computation by hand."""

from __future__ import annotations

import itertools
import json
import math
import statistics
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import UnreadableFileError
from steelyard.questions import TaskFiles
from steelyard.questions.speedup import speedup
from steelyard.sources import read_timings, trajectory_of
from steelyard.sources.formats._trajectories import Trajectory

SAMPLES = Path(__file__).parent.parent.parent.parent / "shared" / "samples"
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the real samples (../shared/samples) are not here")

ASV = SAMPLES / "asv"
FILES = ("27c9d6c1-existing.json", "a3e71f57-existing.json", "3bca8b4e-existing.json")


def medians_by_hand(path: Path) -> dict[str, float]:
    """Medians of the samples in a result file of format 2, by its column names."""
    values = json.loads(path.read_text())
    columns = values["result_columns"]
    found: dict[str, float] = {}
    for name, row in values["results"].items():
        cells = dict(zip(columns, row, strict=False))
        for at, params in enumerate(itertools.product(*cells["params"])):
            samples = (cells.get("samples") or [None] * 99)[at]
            if samples:
                found[f"{name}({', '.join(params)})" if params else name] = statistics.median(samples)
    return found


def classes_by_hand(name: str) -> tuple[str, str | None, str]:
    """Module, class and function of the sample's benchmarks, one of whose classes begins with a small letter."""
    module, *inner = name.split("(", maxsplit=1)[0].split(".")
    return module, inner[0] if len(inner) == 2 else None, inner[-1]


def gmean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


@pytest.mark.parametrize(
    "order", list(itertools.permutations(FILES)), ids=lambda order: "-".join(name[:4] for name in order)
)
def test_the_three_asv_files_give_what_a_hand_computes(order: tuple[str, str, str]) -> None:
    nop, oracle, agent = (medians_by_hand(ASV / name) for name in order)
    valid = sorted(nop.keys() & oracle.keys() & agent.keys())
    mine = {name: nop[name] / agent[name] for name in valid}
    theirs = {name: nop[name] / oracle[name] for name in valid}
    files = TaskFiles(nop=ASV / order[0], oracle=ASV / order[1], agents={"a:m": ASV / order[2]})
    payload: dict[str, Any] = speedup(files).to_dict()["attempts"][0]
    assert (payload["num_benchmarks"], payload["num_valid_benchmarks"]) == (len(nop), len(valid))
    for name in valid:
        entry = payload["per_benchmark_speedups"][name]
        spec = {"agent/nop": mine[name], "oracle/nop": theirs[name], "advantage": mine[name] - theirs[name]}
        assert {key: entry[key] for key in spec} == spec
    assert payload["task_speedup"] == pytest.approx(gmean(list(mine.values())), rel=1e-12)
    for level, depth in (("level1", 1), ("level2", 2), ("level3", 3), ("level4", 0)):
        groups: dict[Any, list[str]] = {}
        for name in valid:
            groups.setdefault(classes_by_hand(name)[:depth], []).append(name)
        gaps = [gmean([mine[n] for n in one]) - gmean([theirs[n] for n in one]) for one in groups.values()]
        assert payload[f"agent_advantage_{level}"] == pytest.approx(statistics.fmean(gaps), rel=1e-12)


def test_nan_null_and_ragged_rows_are_statuses() -> None:
    statuses = {timing.name: timing.status for name in FILES for timing in read_timings(ASV / name).timings}
    assert statuses["bench_mod.SkipSuite.time_s(2)"] == "skipped"
    assert statuses["bench_mod.Suite.time_fail(2000, 'a')"] == "failed"
    assert statuses["bench_mod.time_func"] == "ok"


def test_the_malformed_file_of_format_1_is_refused_by_name() -> None:
    with pytest.raises(UnreadableFileError, match=r"aaaaaaaa-py2\.7-Cython-numpy1\.8\.json: not JSON"):
        read_timings(SAMPLES / "asv-v1" / "aaaaaaaa-py2.7-Cython-numpy1.8.json")


def test_format_1_files_compare_by_their_stated_medians() -> None:
    before, after = (SAMPLES / "asv-v1" / f"{name}-py2.7-Cython-numpy1.8.json" for name in ("07d10557", "05d283b9"))
    results = [json.loads(path.read_text())["results"] for path in (before, after)]
    files = TaskFiles(nop=before, oracle=before, agents={"a:m": after})
    payload = speedup(files).to_dict()["attempts"][0]
    names = list(results[0])  # asv's own list calls all of them times
    assert payload["num_valid_benchmarks"] == len(names) == 12
    assert payload["task_speedup"] == pytest.approx(gmean([results[0][n] / results[1][n] for n in names]), rel=1e-12)


def test_a_file_of_failures_leaves_nothing_valid() -> None:
    path = SAMPLES / "asv-v1" / "07d10557-py2.7-Cython-numpy1.8.json"
    failed = SAMPLES / "asv-v1" / "05d4f83d-py2.7-Cython-numpy1.8.json"
    found = speedup(TaskFiles(nop=path, oracle=path, agents={"a:m": failed})).to_dict()
    assert found["attempts"][0]["task_speedup"] is None
    assert found["attempts"][0]["num_agent_only_failures"] == 12


def test_pyperf_and_pytest_benchmark_files_are_read() -> None:
    pyperf = read_timings(SAMPLES / "pyperf" / "out.json")
    assert [(one.name, one.process_sizes) for one in pyperf.timings] == [("sorted[n=100]", (3, 3)), ("f", (3, 3))]
    saved = read_timings(SAMPLES / "pytest-benchmark" / "pytest_benchmark.json")
    assert all(one.summary and one.summary.median for one in saved.timings)
    assert saved.timings[-1].class_name == "TestC"


def test_real_recordings_count_their_input_events() -> None:
    lengths = []
    for path in sorted(SAMPLES.rglob("*.cast")):
        events = [json.loads(line) for line in path.read_text().splitlines()[1:] if line.strip()]
        lengths.append(sum(1 for event in events if event[1] == "i"))
        assert trajectory_of([path]) == Trajectory(lengths[-1], "cast_input")
    assert lengths
