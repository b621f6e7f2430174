"""What real evaluation and benchmark tools left, against what they state."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from steelyard.formats import read_timings

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
