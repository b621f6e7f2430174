"""What real evaluation and benchmark tools left, against what they state."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from steelyard.questions.read import RunReading
from steelyard.sources import read_timings

SAMPLES = Path(__file__).parent.parent.parent.parent / "shared" / "samples"
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the real samples (../shared/samples) are not here")


@pytest.mark.parametrize(
    ("place", "medians"),
    [
        # ns and, for BM_Ms, ms; the tool's own median of BM_Sum/64 is 97.0431651 ns
        ("google-benchmark/gb.json", {"BM_Sum/64": 97.043165e-9, "BM_Sum/4096": 4751.4154e-9, "BM_Ms": 1.0195795e-3}),
        (
            "go-bench/bench.txt",  # the mean of two
            {
                "s.BenchmarkJoin": 1119.35e-9,
                "s.BenchmarkSub/size=8": 241.4e-9,
                "s.BenchmarkSub/size=64": 438.0e-9,
                "s.BenchmarkRate": 2288.5e-9,
            },
        ),
        ("go-bench/bench.jsonl", {"s.BenchmarkJoin": 612.3e-9}),
        ("criterion", {"sum": 14.452309e-9, "vec/alloc/8": 55.467438e-9}),  # its own estimates.json
        ("hyperfine/hf.json", {"sleep 0.01(n=1)": 0.0272471735, "sleep 0.02(n=2)": 0.0251057665}),  # its own median
        ("hyperfine/hf_fail.json", {"true": 0.003408704}),  # false failed
    ],
)
def test_timings_give_the_medians_that_the_tool_states(place: str, medians: dict[str, float]) -> None:
    file = read_timings(SAMPLES / place)
    measured = {
        timing.name: statistics.median(timing.samples or ()) for timing in file.timings if timing.status == "ok"
    }
    assert measured == pytest.approx(medians, rel=1e-6)
    assert file.rejected == ()


@pytest.mark.parametrize(
    ("name", "outcomes", "tokens"),
    [
        ("out.json", (3, 2, 1), 3_120),  # 2 x 1,560; the third paid call was lost with its assertion
        ("out-cached.json", (3, 2, 1), 3_120),
        ("out.jsonl", (6, 4, 2), 6_240),
    ],
)
def test_promptfoo_gives_what_its_summary_states(name: str, outcomes: tuple[int, int, int], tokens: int) -> None:
    reading = RunReading([SAMPLES / "promptfoo" / name])
    words = [run.outcome for run in reading]
    assert tuple(words.count(word) for word in ("passed", "failed", "errored")) == outcomes
    total = reading.summary.total
    assert total.total_tokens == tokens
    # out of promptfoo's cache only totals are known; else 500 + 1,000 cached, 40 + 20 reasoning a call
    calls = 0 if "cached" in name else tokens // 1_560
    kinds = {"input_tokens": 500, "cache_read_tokens": 1_000, "output_tokens": 40, "reasoning_tokens": 20}
    assert {kind: total.tokens[kind] for kind in kinds} == {
        kind: calls * count if calls else None for kind, count in kinds.items()
    }
    assert total.cost_unknown_runs == total.runs
    if name == "out.jsonl":
        attempts = [(run.agent, run.task, run.attempt) for run in RunReading([SAMPLES / "promptfoo" / name])]
        assert len(set(attempts)) == 12  # three tests, two repetitions, two providers


def test_lm_eval_gives_the_accuracy_that_it_states() -> None:
    reading = RunReading([SAMPLES / "lm-eval"])
    runs = list(reading)
    passed = {name: [run.passed for run in runs if run.experiment == name] for name in ("toy_exact", "toy_mc")}
    assert passed == {"toy_exact": [False, True, False], "toy_mc": [False, True, True]}  # 1/3 and 2/3
    assert {run.model for run in runs} == {"i82qcls7"}
    (stated,) = [finding for finding in reading.summary.findings if finding.code == "stated_accuracy"]
    assert str(stated).count("the runs reproduce it") == 2
