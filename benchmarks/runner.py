"""The runner: its own CPU beside that of the sandboxes it starts, its memory, and how soon a finished plan is resumed.

A plan of the tests' shell agent (two model calls, one command, one check) runs 8 trials at a time, in a process of its
own; the model answers from this one. The claims: the runner's own CPU, proxy included, is at most a third of what its
sandboxes use, and its memory does not grow with the trials that are done. Then the plan grows to 10,000 attempts, which
end at once as an earlier one did, and the same command again has nothing to do: that takes at most a millisecond of CPU
a trial.

Whoever starts a sandbox does not wait for its innermost processes, and their times would be lost; they are handed to
this process, which adds them up.

    python -m benchmarks.runner [--trials 1000] [--parallel 8] [--resumed 10000] [--quick]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from steelyard.runner import ExecutionOutcome, PlanFolder, Trial, open_plan
from steelyard.runner._scheduler import Amounts, Scheduler, Spending

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from agents.model_server import Script, model_server
from runner.planned import KEY, KEY_VARIABLE, written_plan

PR_SET_CHILD_SUBREAPER = 36
CPU_LIMIT = 1 / 3
GROWTH_LIMIT_MIB = 16
"""What allocators and caches may still take after the first tenth of the trials."""
RESUMED_LIMIT_SECONDS = 0.001
"""CPU a finished trial."""
RUNNER = """
import json, resource, sys
from pathlib import Path
import steelyard as sy

def memory():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20

def used(who):
    times = resource.getrusage(who)
    return times.ru_utime + times.ru_stime

samples, done = [], 0
def progress(_text, more):
    global done
    done += more
    samples.append((done, memory()))

before = used(resource.RUSAGE_SELF)
result = sy.run(sys.argv[1], out=sys.argv[2], parallel=int(sys.argv[3]), progress=progress)
print(json.dumps({
    "done": result.done,
    "own": used(resource.RUSAGE_SELF) - before,
    "whole": used(resource.RUSAGE_SELF),
    "samples": samples,
}))
"""


def children_seconds() -> float:
    """CPU of every process that was waited for."""
    times = resource.getrusage(resource.RUSAGE_CHILDREN)
    return times.ru_utime + times.ru_stime


def reap(runner: subprocess.Popen[bytes]) -> None:
    """Wait for whatever was left to us, until the runner has ended."""
    while True:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        if ended is None or ended.si_pid == runner.pid:
            return
        os.waitpid(ended.si_pid, 0)


def ran(plan: Path, out: Path, parallel: int) -> dict[str, Any]:
    """What a run of the plan in a process of its own used."""
    command = [sys.executable, "-c", RUNNER, str(plan), str(out), str(parallel)]
    before = children_seconds()
    with tempfile.TemporaryFile() as said:
        runner = subprocess.Popen(command, env={**os.environ, KEY_VARIABLE: KEY}, stdout=said)
        reap(runner)
        assert runner.wait() == 0
        said.seek(0)
        told: dict[str, Any] = json.loads(said.read())
    told["sandboxes"] = children_seconds() - before - told["whole"]
    return told


def running(folder: Path, trials: int, parallel: int) -> bool:
    """Whether the runner takes little of what its sandboxes take, and no more memory with every trial."""
    with model_server(Script(has_many_calls=True)) as server:
        plan = written_plan(folder, server.url, trials=1, marker="benchmark", attempts=trials)
        told = ran(plan, folder / "out", parallel)
        calls = len(server.calls)
    own, sandboxes = 1000 * told["own"] / trials, 1000 * told["sandboxes"] / trials
    early = [mib for done, mib in told["samples"] if done <= trials / 10]
    late = [mib for done, mib in told["samples"] if done >= trials * 9 / 10]
    growth = max(late) - max(early)
    is_light, is_flat = own <= CPU_LIMIT * sandboxes, growth <= GROWTH_LIMIT_MIB
    print(f"{told['done']:,} of {trials:,} trials done, {parallel} at a time, {calls:,} model calls")
    print(f"CPU of a trial: runner and proxy {own:.1f} ms, sandboxes {sandboxes:.1f} ms")
    print(f"runner / sandboxes: {own / sandboxes:.2f} (at most {CPU_LIMIT:.2f}): {'holds' if is_light else 'MISSED'}")
    print(
        f"memory: {max(early):.0f} MiB in the first tenth, {max(late):.0f} MiB in the last "
        f"(at most {GROWTH_LIMIT_MIB} MiB more): {'holds' if is_flat else 'MISSED'}"
    )
    return is_light and is_flat and told["done"] == trials and calls == 2 * trials


@dataclass(frozen=True)
class Copying:
    """Ends every execution as an earlier one ended, at once."""

    outcome: ExecutionOutcome

    def attempt(self, trial: Trial, folder: Path, _allowed: Amounts, _stop: threading.Event) -> ExecutionOutcome:
        """The same outcome under the trial's own id."""
        assert self.outcome.run is not None
        (folder / "metering.jsonl").touch()
        return msgspec.structs.replace(self.outcome, run=msgspec.structs.replace(self.outcome.run, id=trial.id))

    def interrupted(self, trial: Trial, folder: Path) -> ExecutionOutcome:
        """Never asked."""
        raise AssertionError(f"nothing was interrupted: {trial.id} in {folder}")


def resuming(folder: Path, trials: int, parallel: int) -> bool:
    """Whether the plan with more attempts, all of them done, is found to be done in little time."""
    plan, place = folder / "plan.toml", PlanFolder(folder / "out")
    plan.write_text(re.sub("(?m)^attempts = .*$", f"attempts = {trials}", plan.read_text()))
    opened, done = open_plan(plan), place.finished()
    outcome = place.outcome(place.executions(min(done))[0])
    assert outcome is not None
    Scheduler(
        place,
        opened.trials,
        Copying(outcome),
        spending=Spending(None, metered=()),
        parallel=parallel,
        retries=0,
        retry_wait_seconds=0,
        done=done,
    ).run()
    again = ran(plan, place.root, parallel)
    limit = RESUMED_LIMIT_SECONDS * trials
    is_soon = again["own"] <= limit
    print(
        f"{again['done']:,} of {trials:,} trials that are done, resumed with {again['own']:.2f} s of CPU "
        f"(at most {limit:g} s): {'holds' if is_soon else 'MISSED'}"
    )
    return is_soon and again["done"] == trials


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--resumed", type=int, default=10_000, help="trials of the plan that is resumed")
    parser.add_argument("--quick", action="store_true", help="few trials, to see that it runs")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    trials, resumed = (20, 100) if options.quick else (options.trials, options.resumed)
    with tempfile.TemporaryDirectory() as place:
        holds = [running(Path(place), trials, options.parallel), resuming(Path(place), resumed, options.parallel)]
    return 0 if all(holds) or options.quick else 1


if __name__ == "__main__":
    sys.exit(main())
