"""Forged timings get through a naive benchmark, and neither through calls from outside nor unmarked."""

from __future__ import annotations

import json
import statistics
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cheats.techniques import SLOW, TIMING_CHEATS
from steelyard import sandbox
from steelyard.records import Run
from steelyard.runner import Ending, ExecutionResult, PlanFolder, TrialResult, load_plan
from steelyard.runner._measurement import MIN_GAP_ROUNDS, measure_sides
from steelyard.runner._trials import trials_of

pytestmark = [
    pytest.mark.usefixtures("own_machine"),
    pytest.mark.skipif(sandbox.active_isolation().name == "none", reason="nothing here can isolate code"),
]
WHEN = datetime(2026, 11, 1, tzinfo=UTC)
PLAN = """
[plan]
name = "faster"
measure = {{ {measure}, repeats = {repeats} }}
[[tasks]]
id = "t"
prompt = "Make it faster."
work = "work"
oracle = "solution"
[[agents]]
use = "command"
name = "agent"
command = ["true"]
"""
CALLS = 'calls = "bench"'
COMMAND = 'command = ["python3", "bench.py"], report = "timings.json", format = "native", hidden = "bench"'
FAST = "def total(n):\n    return 14 * (n // 7) + (0, 0, 1, 5, 7, 9, 13)[n % 7]\n"  # 0+1+4+2+2+4+1 = 14 per 7 numbers
BENCHMARK = """
function = "module.total"
calls = 6

def arguments(random):
    return (random.randrange(100_000, 200_000),)
"""
NAIVE = """
import json, random, time, module
rng, samples = random.Random(0), []
for _ in range(6):
    n = rng.randrange(100_000, 200_000)
    began = time.perf_counter()
    module.total(n)
    samples.append(time.perf_counter() - began)
with open("timings.json", "w") as file:
    json.dump({"task": "t", "benchmarks": [{"name": "bench_total", "samples": samples}]}, file)
"""


class Measured:
    """A plan whose agent has left this module, measured."""

    def __init__(self, root: Path, module: str, *, measure: str, repeats: int, rounds: tuple[int, ...] = ()) -> None:
        for name, text in {
            "work/module.py": SLOW,
            "solution/module.py": FAST,
            "bench/bench_total.py": BENCHMARK,
            "bench/bench.py": NAIVE,
        }.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        self.folder = PlanFolder(root / "runs")
        self.folder.make()
        for number, count in enumerate((*rounds, repeats)):
            (root / "plan.toml").write_text(PLAN.format(measure=measure, repeats=count))
            read = load_plan(root / "plan.toml")
            trials = trials_of(read)
            for trial in trials if number == 0 else ():
                assert self.folder.claim(trial.id)
                work = self.folder.new_execution(trial.id) / "work"
                work.mkdir()
                (work / "module.py").write_text({"nop": SLOW, "oracle": FAST}.get(trial.agent, module))
                ended = Ending(name="passed")
                executed = ExecutionResult(retry=0, ending=ended, started_at=WHEN, ended_at=WHEN)
                run = Run(id=trial.id, task=trial.task, agent=trial.agent, passed=True)
                assert self.folder.finish(TrialResult(id=trial.id, ending=ended, executions=(executed,), run=run))
            self.findings = {finding.code: finding.message for finding in measure_sides(read, self.folder, trials)}

    def seconds(self, name: str) -> float | None:
        path = self.folder.root / "timings" / "t" / name
        if not path.exists():
            return None
        run = json.loads(path.read_text())
        self.is_weak = run.get("weak_timing", False)
        return statistics.median(sample for timed in run["benchmarks"] for sample in timed["samples"])

    @property
    def speedup(self) -> float | None:
        """How many times as fast as the unchanged code the agent's is; None if it was rejected."""
        own, unchanged = self.seconds("agents/agent/default.json"), self.seconds("nop.json")
        assert unchanged is not None
        return None if own is None else unchanged / own


@pytest.mark.parametrize("name", TIMING_CHEATS)
def test_forged_timings_of_calls_have_no_effect(name: str, tmp_path: Path) -> None:
    measured = Measured(tmp_path, TIMING_CHEATS[name].solution, measure=CALLS, repeats=1)
    if (speedup := measured.speedup) is None:
        assert "not_measured" in measured.findings
    else:
        assert not measured.is_weak
        assert speedup < 2  # far from the 100 and more that it claims; the machine may be busy


@pytest.mark.parametrize("name", TIMING_CHEATS)
def test_forged_timings_get_through_a_naive_benchmark(name: str, tmp_path: Path) -> None:
    measured = Measured(tmp_path, TIMING_CHEATS[name].solution, measure=COMMAND, repeats=1)
    assert (measured.speedup or 0) > 20
    assert measured.is_weak
    assert "timings_not_checked" in measured.findings


@pytest.mark.parametrize("name", ["clock replaced", "results computed at import"])
def test_commands_that_take_longer_than_they_say_are_rejected(name: str, tmp_path: Path) -> None:
    for attempt in range(3):  # on a busy machine, the unchanged code may also take much longer than it says
        place = tmp_path / f"{attempt}"
        place.mkdir()
        measured = Measured(place, TIMING_CHEATS[name].solution, measure=COMMAND, repeats=MIN_GAP_ROUNDS, rounds=(1,))
        if measured.speedup is None:
            break
    assert measured.speedup is None
    assert "unchanged code: 0." in measured.findings["timings_rejected"]


def test_honest_timings_of_a_command_are_accepted(tmp_path: Path) -> None:
    measured = Measured(tmp_path, FAST, measure=COMMAND, repeats=MIN_GAP_ROUNDS)
    assert (measured.speedup or 0) > 20
    assert measured.is_weak
    assert measured.findings == {}


def test_honest_timings_of_calls_are_accepted(tmp_path: Path) -> None:
    measured = Measured(tmp_path, FAST, measure=CALLS, repeats=1)
    assert (measured.speedup or 0) > 5
    assert not measured.is_weak
    assert "calls_too_short" in measured.findings  # the solution needs no time at all
