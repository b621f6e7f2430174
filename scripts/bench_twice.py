"""CPU seconds of two checkouts on the benchmarks' data, in turn: nothing may take more than 1.1 times what it took.

    python scripts/bench_twice.py OLD_CHECKOUT NEW_CHECKOUT [--rounds 5] [--only PATTERN] [--quick]

The benchmarks themselves also run slow alternatives, which would hide our own share. So this times what we offer: the
commands and the Python API, each checkout with the Python of its own .venv, on data that the old checkout's benchmark
modules make once. Old and new take turns, round by round, and who begins changes; medians are compared. Words of the
command line that were renamed after 0.1.0 are translated by renamed.toml.
"""
# a script beside the others of its folder, which prints

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from answers.renaming import Renaming, load_renaming

HERE = Path(__file__).resolve().parent
FULL = {
    "rows": 1_000_000,
    "megabytes": 100,
    "calls": 1_000_000,
    "outputs": 600,
    "timed_tasks": 50,
    "agents": 30,
    "agent_tasks": 500,
    "arena_tasks": 1_000,
    "each": 50,
    "large": 100_000,
}
QUICK = {
    "rows": 100_000,
    "megabytes": 10,
    "calls": 100_000,
    "outputs": 100,
    "timed_tasks": 5,
    "agents": 8,
    "agent_tasks": 100,
    "arena_tasks": 100,
    "each": 20,
    "large": 5_000,
}
RATES = "pass_rate,impl_rate,cost_usd,duration_seconds,composite_score,cost_of_pass_per_run"


@dataclass(frozen=True)
class Job:
    """One thing that is timed; `{data}`, `{samples}` and `{store}` stand for places."""

    name: str
    line: str
    """A command of the old version's words; `python ...` for the interpreter, `work NAME` for the Python API."""
    times: int = 1
    """How often in one measurement: what is short is added up, or chance decides."""
    store: str = ""
    """The store it begins with, a fresh copy each time."""


JOBS = (
    Job("import steelyard", "python -c 'import steelyard'", times=40),
    Job("steelyard --help", "--help", times=8),
    Job("steelyard metrics", "metrics --json", times=10),
    Job("read, a small folder", "read {samples} --json --quiet", times=8),
    Job("read, Claude Code logs", "read {data}/logs --json --quiet"),
    Job("measure, a small file", "measure {data}/one-run.jsonl --json --quiet", times=5),
    Job("measure, Parquet", f"measure {{data}}/runs.parquet --by agent,tier --metrics {RATES} --json --quiet"),
    Job("measure, intervals", "measure {data}/runs.parquet --by agent --interval auto --json --quiet"),
    Job("measure, in memory", "work measure_in_memory"),
    Job("prices, columns", "work prices_by_columns"),
    Job("prices, runs", "work prices_by_runs"),
    Job(
        "repeat, distances and pairs",
        "repeat {data}/outputs --contract {data}/steps.toml --no-repair --json",
    ),
    Job("speedup, intervals", "speedup {data}/tasks --json --quiet"),
    Job("speedup, no intervals", "speedup {data}/tasks --no-intervals --json --quiet"),
    Job("compare, all with the first", "compare {data}/agents.parquet --a agent=agent-000 {others} --json --quiet"),
    Job("rank, mean", "rank {data}/agents.parquet --by agent --on pass_rate --json --quiet"),
    Job("rank, Bradley-Terry", "rank {data}/agents.parquet --by agent --order bradley-terry --on pass_rate --json"),
    Job("arena submit, a batch", "arena submit {data}/batch.jsonl --store {store} --json --quiet", store="tasks"),
    Job("arena submit, one more", "arena submit {data}/one.jsonl --store {store} --json", times=5, store="large"),
    Job("arena submit, 200 in turn", "work arena_one_by_one", store="large"),
    Job("arena standings, a large task", "arena standings task-0 --top 20 --store {store} --json", store="large"),
    Job("arena standings, across tasks", "arena standings --store {store} --json", store="large"),
    Job("arena rescore", "arena rescore --store {store} --json", store="large"),
)


@dataclass(frozen=True)
class Side:
    """One checkout, and the folder in which its own stores lie."""

    checkout: Path
    folder: Path
    data: Path
    samples: Path
    agents: int
    renaming: Renaming | None

    @property
    def python(self) -> str:
        """The interpreter of the checkout's virtual environment."""
        return str(self.checkout / ".venv" / "bin" / "python")

    def command(self, job: Job) -> list[str]:
        """What is started, in this version's words."""
        others = " ".join(f"--b agent=agent-{number:03}" for number in range(1, self.agents))
        places = {"data": str(self.data), "samples": str(self.samples), "store": self.store, "others": others}
        words = shlex.split(job.line.format(**places))
        if words[0] == "python":
            return [self.python, *words[1:]]
        if words[0] == "work":
            return [self.python, str(HERE / "benching" / "work.py"), words[1], str(self.data), self.store]
        return [self.python, "-m", "steelyard", *(self.renaming.new_arguments(words) if self.renaming else words)]

    @property
    def store(self) -> str:
        """Where the store of the job under way lies."""
        return f"sqlite:///{self.folder}/work.db"

    def prepare(self) -> None:
        """Make the stores that jobs begin with; each version makes its own."""
        for name, lines in {
            "tasks": ("arena init --store {store}", "arena task add {data}/tasks.json --store {store} --json"),
            "large": ("arena submit {data}/large.jsonl --store {store} --json --quiet",),
        }.items():
            for line in lines:
                self.run(self.command(Job("", line)))
            for path in self.folder.glob("work.db*"):
                shutil.copy2(path, self.folder / path.name.replace("work", name))

    def cpu_seconds(self, job: Job) -> float:
        """CPU seconds of the job, of all its processes; of the work alone where it tells them itself."""
        for path in self.folder.glob("work.db*"):
            path.unlink()
        for path in self.folder.glob(f"{job.store}.db*") if job.store else ():
            shutil.copy2(path, self.folder / path.name.replace(job.store, "work"))
        command = self.command(job)
        before = _children()
        printed = self.run(command)
        return float(printed) if job.line.startswith("work ") else _children() - before

    def run(self, command: list[str]) -> str:
        """What the command prints; one that fails ends everything."""
        environment = os.environ | {"STEELYARD_CACHE": str(self.folder / "cache"), "NO_COLOR": "1"}
        done = subprocess.run(  # the checkouts that the user named
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{shlex.join(command)[:500]}\nexit status {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Print the table; 1 when something became slower than is allowed."""
    given = _arguments()
    jobs = [job for job in JOBS if fnmatchcase(job.name, given.only)]
    sizes = QUICK if given.quick else FULL
    with tempfile.TemporaryDirectory(prefix="bench-twice-") as scratch:
        old, new = _sides(given, Path(scratch), sizes)
        seconds_of: dict[str, tuple[list[float], list[float]]] = {job.name: ([], []) for job in jobs}
        for number in range(given.rounds):
            for job in jobs:
                for seconds, mean in zip(seconds_of[job.name], _in_turn(job, old, new, number), strict=True):
                    seconds.append(mean)
            print(f"round {number + 1} of {given.rounds}", file=sys.stderr, flush=True)
    return _table(seconds_of, given.limit)


def _in_turn(job: Job, old: Side, new: Side, number: int) -> tuple[float, float]:
    """Mean CPU seconds of a job under both, run by run in turn; who begins changes each time."""
    spent = {old.folder: 0.0, new.folder: 0.0}
    for turn in range(number, number + job.times):
        for side in (old, new) if turn % 2 == 0 else (new, old):
            spent[side.folder] += side.cpu_seconds(job)
    return spent[old.folder] / job.times, spent[new.folder] / job.times


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="the old checkout, with its .venv")
    parser.add_argument("new", type=Path, help="the new one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="*", help="only jobs whose name matches, such as 'arena*'")
    parser.add_argument("--limit", type=float, default=1.1, help="how many times slower a job may be")
    parser.add_argument("--logs", type=Path, help="Claude Code logs to copy; the checkout's samples by default")
    parser.add_argument("--quick", action="store_true", help="a tenth of the data")
    parser.add_argument("--map", type=Path, default=HERE / "renamed.toml", help="the map of what was renamed")
    return parser.parse_args()


def _sides(given: argparse.Namespace, scratch: Path, sizes: dict[str, int]) -> tuple[Side, Side]:
    """Both checkouts, with the data made and the stores filled."""
    data = scratch / "data"
    data.mkdir()
    samples = scratch / "samples"
    kept_in = "sources" if _is_first_version(given.old) else "formats"
    shutil.copytree(given.old / "tests" / "samples" / kept_in / "claude-code", samples)
    sides = []
    for name, checkout in (("old", given.old), ("new", given.new)):
        (scratch / name).mkdir()
        renaming = None if _is_first_version(checkout) else load_renaming(given.map)
        sides.append(Side(checkout.absolute(), scratch / name, data, samples, sizes["agents"], renaming))
    old, new = sides
    makers = [old.python, str(HERE / "benching" / "data.py"), str(data), str(given.logs or samples), json.dumps(sizes)]
    environment = os.environ | {"PYTHONPATH": str(old.checkout)}
    subprocess.run(makers, cwd=old.checkout, env=environment, check=True)  # the checkout that was named
    (data / "one-run.jsonl").write_text('{"task": "t", "passed": true, "cost_usd": 0.5}\n')
    for side in sides:
        side.prepare()
    return old, new


def _is_first_version(checkout: Path) -> bool:
    """Whether it is 0.1.0, whose words the jobs are written in."""
    return (checkout / "src" / "steelyard" / "sources").is_dir()


def _table(seconds_of: dict[str, tuple[list[float], list[float]]], limit: float) -> int:
    print(f"{'job':34}{'old CPU s':>11}{'new CPU s':>11}{'ratio':>8}   range old, new")
    worst = 0.0
    for name, sides in seconds_of.items():
        old, new = (statistics.median(seconds) for seconds in sides)
        ratio = new / old
        worst = max(worst, ratio)
        ranges = ", ".join(f"{min(seconds):.3f}-{max(seconds):.3f}" for seconds in sides)
        print(f"{name:34}{old:11.3f}{new:11.3f}{ratio:8.2f}   {ranges}{'  SLOWER' if ratio > limit else ''}")
    print(f"{len(seconds_of)} jobs, the slowest {worst:.2f} times the old; {limit} is allowed")
    return 1 if worst > limit else 0


if __name__ == "__main__":
    sys.exit(main())
