"""Timing files that say one thing twice and not the same way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from steelyard.errors import UnreadableFileError
from steelyard.files import parse_json
from steelyard.questions import TaskFiles
from steelyard.questions.speedup import speedup
from steelyard.records import Timing, TimingSummary
from steelyard.sources import TimingFile, contradictions, read_timings
from timing_sides import at

SAMPLES = Path(__file__).parent.parent / "samples" / "speedup"


def messages(*timings: Timing) -> list[str]:
    return [finding.message for finding in contradictions(TimingFile("f.json", "native", timings))]


def one(**fields: Any) -> Timing:
    return Timing(name="m.time_x", **fields)


@pytest.mark.parametrize(
    ("timing", "words"),
    [
        (
            one(samples=(1.0, 2.0, 3.0), summary=TimingSummary(median=4.0)),
            "reported median differs from that of the samples",
        ),
        (one(samples=(1.0, 2.0, 3.0), summary=TimingSummary(rounds=5)), "number of rounds"),
        (one(samples=(1.0,), status="failed"), "failed or skipped"),
        (one(summary=TimingSummary(median=1.0, q25=2.0)), "out of order"),
        (one(summary=TimingSummary(median=1.0, ci99_low=3.0, ci99_high=2.0)), "out of order"),
        (one(samples=(-1.0, 2.0)), "a time is negative"),
    ],
)
def test_a_timing_that_contradicts_itself_is_a_finding(timing: Timing, words: str) -> None:
    (message,) = messages(timing)
    assert words in message
    assert message.endswith(": m.time_x")


def test_many_names_are_counted() -> None:
    timings = [Timing(name=f"m.time_{at}", samples=(1.0,), status="failed") for at in range(8)]
    assert messages(*timings)[0].endswith("m.time_0, m.time_1, m.time_2, m.time_3, m.time_4 and 3 more")


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=9), st.floats(-0.004, 0.004))
def test_what_agrees_up_to_rounding_is_no_contradiction(samples: list[float], slip: float) -> None:
    ordered = sorted(samples)
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    summary = TimingSummary(median=middle * (1 + slip), q25=ordered[0], q75=ordered[-1], rounds=len(samples))
    assert messages(one(samples=tuple(samples), summary=summary)) == []


@pytest.mark.parametrize("name", ["asv/nop.json", "asv/oracle.json", "pyperf.json", "pytest-benchmark.json"])
def test_files_as_tools_write_them_contradict_nothing(name: str) -> None:
    assert list(contradictions(read_timings(SAMPLES / name))) == []


def test_every_side_of_a_task_is_looked_at(tmp_path: Path) -> None:
    wrong = {"task": "t", "benchmarks": [{"name": "m.time_x", "seconds": 9.0, "samples": [1.0, 2.0, 3.0]}]}
    paths = [tmp_path / f"{side}.json" for side in ("nop", "oracle", "agent")]
    for path in paths:
        path.write_text(json.dumps(wrong))
    result = speedup(TaskFiles(nop=paths[0], oracle=paths[1], agents={"tool:m": paths[2]}))
    found = [finding for finding in result.findings if finding.code == "contradicting_timings"]
    assert [place.where for finding in found for place in finding.places] == [str(path) for path in paths]
    assert result.to_dict()["attempts"][0]["task_speedup"] == 1.0  # the samples are used on all sides
    assert result.rejected_count == 0


def test_a_stated_advantage_that_is_not_the_difference_is_a_finding(tmp_path: Path) -> None:
    entries = {
        "m.time_x": {"agent/nop": 2.0, "oracle/nop": 4.0, "advantage": 2.0},
        "m.time_y": {"agent/nop": 2.0, "oracle/nop": 4.0, "advantage": -2.0},
    }
    metrics = {"tool:m": {"per_benchmark_speedups": entries, "snapshot_summary": {"status": "passed"}}}
    path = tmp_path / "results.json"
    trial = {"task_id": "t1", "parser_extra_metrics": {"agent_metrics_by_agent": metrics}}
    path.write_text(json.dumps({"results": [trial]}))
    result = speedup(path)
    (finding,) = [one for one in result.findings if one.code == "contradicting_timings"]
    assert finding.message.endswith("which is used: m.time_x")
    assert at(result.to_dict(), "t1")["agent_advantage"] == -2.0


def test_half_a_character_in_a_name_is_refused_and_a_whole_one_is_not() -> None:
    assert parse_json(r'{"m.time_\ud83d\ude00": 1}', Path("f.json")) == {"m.time_😀": 1}
    for text in (r'{"m.time_\ud83d": 1}', r'{"m.time_\uD83D": 1}'):
        with pytest.raises(UnreadableFileError, match="surrogate"):
            parse_json(text, Path("f.json"))
