"""Speed is measured apart from the running: serially, interleaved, in rounds, with benchmarks that no agent brought."""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from steelyard.errors import AbortedError, UsageError
from steelyard.records import Run
from steelyard.runner import Ending, ExecutionResult, PlanFolder, TrialResult, load_plan
from steelyard.runner._judges import completed_runs
from steelyard.runner._measurement import MeasuredRound, measure_sides, measured_samples, trials_running
from steelyard.runner._trials import trials_of

pytestmark = pytest.mark.usefixtures("own_machine")
PLAN = """
[plan]
name = "faster"
attempts = {attempts}
[plan.measure]
command = ["sh", "bench.sh"]
report = "timings.json"
format = "native"
hidden = "bench"
repeats = {repeats}
{more}
[[tasks]]
id = "t"
prompt = "Make it faster."
work = "work"
oracle = "solution"
[[agents]]
use = "command"
name = "a/gent"
command = ["true"]
"""
BENCH = """
printf '{"task": "t", "benchmarks": [{"name": "b", "samples": [%s]}]}' "$(cat seconds)" > timings.json
"""
WHEN = datetime(2026, 11, 1, tzinfo=UTC)


class Bench:
    """A plan whose trials have all ended; each side states its own time in the file `seconds`."""

    def __init__(self, root: Path, *, attempts: int = 1, repeats: int = 1, more: str = "", bench: str = BENCH) -> None:
        for name, text in {
            "work/seconds": "4.0",
            "solution/seconds": "1.0",
            "bench/bench.sh": bench,
            "plan.toml": PLAN.format(attempts=attempts, repeats=repeats, more=more),
        }.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        self.read = load_plan(root / "plan.toml")
        self.trials = trials_of(self.read)
        self.folder = PlanFolder(root / "runs")
        self.folder.make()
        self.works: dict[str, Path] = {}
        for trial in self.trials:
            assert self.folder.claim(trial.id)
            work = self.folder.new_execution(trial.id) / "work"
            work.mkdir()
            seconds = {"nop": "4.0", "oracle": "1.0"}.get(trial.agent, f"2.{trial.attempt}")
            (work / "seconds").write_text(seconds)
            (work / "bench.sh").write_text("echo an agent brought its own benchmark; exit 1")
            self.works[f"{trial.agent} {trial.attempt}"] = work
            ended = Ending(name="passed")
            executed = ExecutionResult(retry=0, ending=ended, started_at=WHEN, ended_at=WHEN)
            run = Run(id=trial.id, task=trial.task, agent=trial.agent, passed=True)
            assert self.folder.finish(TrialResult(id=trial.id, ending=ended, executions=(executed,), run=run))

    def measure(self, **options: object) -> list[str]:
        findings = measure_sides(self.read, self.folder, self.trials, **options)  # type: ignore[arg-type] # as given
        # Nothing takes the time that a side states here.
        told = [finding for finding in findings if finding.code != "timings_not_checked"]
        return [f"{finding.code}: {finding.message}" for finding in told]

    @property
    def rounds(self) -> list[MeasuredRound]:
        paths = sorted((self.folder.root / "measured").rglob("round-*.json"))
        return [msgspec.json.decode(path.read_bytes(), type=MeasuredRound) for path in paths]

    def side(self, name: str) -> list[float]:
        path = self.folder.root / "timings" / "t" / name
        return [sample for timed in json.loads(path.read_text())["benchmarks"] for sample in timed["samples"]]


def test_every_round_measures_every_side_once_in_an_order_of_its_own(tmp_path: Path) -> None:
    bench = Bench(tmp_path, attempts=2, repeats=2)
    assert bench.measure() == []
    # nop and oracle once, although the plan has two attempts; they are added where the plan does not list them
    assert [len(made.order) for made in bench.rounds] == [4, 4]
    assert len({made.order for made in bench.rounds}) > 1
    assert all(set(made.order) == set(made.sides) for made in bench.rounds)
    assert bench.side("nop.json") == [4.0, 4.0]
    assert bench.side("oracle.json") == [1.0, 1.0]
    assert bench.side("agents/a-gent/default.json") == [2.1, 2.1]
    assert bench.side("agents/a-gent/default#2.json") == [2.2, 2.2]
    runs = {trial.id: result.run for trial in bench.trials if (result := bench.folder.result(trial.id)) and result.run}
    whole, _ = completed_runs(bench.read, bench.folder, bench.trials, runs)
    assert [timed.samples for run in whole for timed in run.benchmarks or ()] == [(2.1, 2.1), (2.2, 2.2)]


def test_sides_are_measured_one_after_the_other(tmp_path: Path) -> None:
    at_once = "date +%s%N > began; sleep 0.15; date +%s%N > ended\n"
    log = BENCH + 'printf \'{"task": "t", "benchmarks": [{"name": "b", "samples": [%s, %s]}]}\' '
    bench = Bench(tmp_path, bench=at_once + log + '"$(cat began)" "$(cat ended)" > timings.json')
    bench.measure()
    spans = sorted(tuple(samples["b"]) for made in bench.rounds for samples in made.sides.values())
    assert len(spans) == 3
    assert all(first[1] <= second[0] for first, second in pairwise(spans))


def test_a_report_that_the_agent_left_is_not_read(tmp_path: Path) -> None:
    bench = Bench(tmp_path, bench="true")
    forged = '{"task": "t", "benchmarks": [{"name": "b", "samples": [0.001]}]}'
    (bench.works["a/gent 1"] / "timings.json").write_text(forged)
    (bench.works["nop 1"] / "kept.json").write_text(forged)
    (bench.works["nop 1"] / "timings.json").symlink_to("kept.json")
    assert len(bench.measure()) == 3
    assert not any(made.sides for made in bench.rounds)


def test_measuring_is_refused_while_trials_run_here(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with trials_running(), pytest.raises(UsageError, match="trials are running on this machine"):
        bench.measure()
    assert bench.rounds == []


def test_what_is_measured_is_not_measured_again_and_a_broken_round_is(tmp_path: Path) -> None:
    bench = Bench(tmp_path, repeats=2)
    told: list[int] = []
    stop = threading.Event()

    def tell(done: int, _total: int, _what: str) -> None:
        told.append(done)
        if done == 4:  # in the second round, which has three sides
            stop.set()

    with pytest.raises(AbortedError):
        bench.measure(progress=tell, stop=stop)
    assert [made.number for made in bench.rounds] == [1]
    bench.measure(progress=lambda done, _total, _what: told.append(done))
    assert told == [1, 2, 3, 4, 4, 5, 6]
    bench.measure(progress=lambda _done, _total, _what: pytest.fail("all of it is measured"))


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [("repeats = 1", "repeats = 4", 1), ('"bench.sh"]', '"bench.sh", "again"]', 0), ("repeats = 1", "cores = [0]", 0)],
)
def test_rounds_measured_in_another_way_are_not_mixed_in(tmp_path: Path, before: str, after: str, kept: int) -> None:
    bench = Bench(tmp_path)
    bench.measure()
    bench.read.path.write_text(bench.read.path.read_text().replace(before, after))
    samples = measured_samples(load_plan(bench.read.path), bench.folder, bench.trials)
    assert [len(timed["b"]) for timed in samples.values()] == [1] * 3 * kept


def test_a_side_that_came_later_is_measured_with_all_others(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    without = [trial for trial in bench.trials if trial.agent != "a/gent"]
    measure_sides(bench.read, bench.folder, without)
    assert len(measured_samples(bench.read, bench.folder, without)) == 2
    assert measured_samples(bench.read, bench.folder, bench.trials) == {}


@pytest.mark.parametrize(
    ("bench", "more", "reason"),
    [
        ("exit 3", "", "exit status 3"),
        ("echo oh no >&2; exit 3", "", "exit status 3: oh no"),
        ("true", "", "no timings.json"),
        ("echo '{}' > timings.json", "", "unknown timing file format"),
        ("ln -s /etc/passwd timings.json", "", "no timings.json"),
        ("printf 'name,seconds\\nb,1\\n' > timings.json", "", "expected 'native'"),
        ("sleep 30", 'time_limit = "1s"', "stopped at the wall limit"),
    ],
)
def test_a_side_that_cannot_be_measured_is_told_with_the_reason(
    tmp_path: Path, bench: str, more: str, reason: str
) -> None:
    made = Bench(tmp_path, more=more, bench=bench)
    findings = made.measure()
    assert len(findings) == 3
    assert all("could not be measured in 1 of 1 rounds" in told and reason in told for told in findings), findings
    assert not (made.folder.root / "timings" / "t").exists()


def test_the_command_runs_on_the_cores_of_the_plan(tmp_path: Path) -> None:
    core = max(os.sched_getaffinity(0))
    shown = BENCH.replace("$(cat seconds)", "$(taskset -cp $$ | sed 's/.*: //')")
    bench = Bench(tmp_path, more=f"cores = [{core}]", bench=shown)
    assert bench.measure() == []
    assert bench.side("nop.json") == [float(core)]


@pytest.mark.parametrize(
    ("before", "after", "mistake"),
    [
        ("repeats = 1", "cores = [4095]", "core 4095 is not available"),
        ('format = "native"', 'format = "natvie"', "did you mean 'native'?"),
        ('hidden = "bench"', 'hidden = "{task}/bench"', "no such directory: 't/bench'"),
    ],
)
def test_a_plan_that_cannot_be_measured_is_refused_before_anything_starts(
    tmp_path: Path, before: str, after: str, mistake: str
) -> None:
    path = Bench(tmp_path).read.path
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(UsageError, match=mistake):
        load_plan(path)
