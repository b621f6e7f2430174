"""What an arena learns beside its scores: what it adds to one more submission, and how long learning anew takes.

The same submissions go in turn to two arenas of as many submissions already, one under arena-1 and one under a profile
that switches everything on: learning, peer review, dynamic weights and metrics of tools. Processor time counts.
Learning happens at versions, between the submissions that are timed; what it comes to for each one is told apart.

    python -m benchmarks.models [--large 1000000] [--times 400] [--quick]
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.arena import both_times, make
from steelyard.arena import Arena, Receipt, create_arena, fit_if_due, fit_models
from steelyard.profiles import Profile, load_profile
from steelyard.records import Submission
from steelyard.store import open_store

BATCH = 100_000
TASKS = 1_000
REFITTED = 100_000
CRITERIA = [{"type": "no_errors"}, {"type": "file_exists", "file_path": "a.py"}]


def everything_on() -> Profile:
    """The constants of arena-1 with every table that puts something beside the scores."""
    constants = dict(load_profile("arena-1").constants)
    for name in ("arena-community", "arena-models-1"):
        constants |= load_profile(name).constants
    constants["tool_metrics"] = {f"tool-{number}": ["cost_usd"] for number in range(3)}
    return Profile(name="everything", spec="arena", constants=constants)


def made(rng: random.Random, name: str, task: int, tools: int) -> Submission:
    """A submission whose tool and task tell something about its tokens and its success."""
    tool = rng.randrange(tools)
    ahead = math.sin(tool) - math.cos(task)
    plain = make(rng, name, f"task-{task}")
    return Submission(
        **{name: getattr(plain, name) for name in plain.__struct_fields__}
        | {
            "total_tokens": int(plain.total_tokens * math.exp(-0.3 * ahead)) + 1,
            "success": rng.random() < 1 / (1 + math.exp(-ahead)),
            "files_created": ("a.py",) if rng.random() < 0.6 else (),
            "agent": f"tool-{tool}",
        }
    )


def filled(folder: Path, profile: Profile, rows: int, tools: int) -> Arena:
    """An arena with so many submissions, of which no model has been fitted."""
    arena = create_arena(open_store(f"sqlite:///{folder}/{profile.name}-{rows}-{tools}.db"), profile)
    for task in range(TASKS):
        arena.add_task({"id": f"task-{task}", "success_criteria": CRITERIA})
    rng = random.Random(rows)
    for start in range(0, rows, BATCH):
        count = min(BATCH, rows - start)
        arena.submit([made(rng, f"s{start + place}", rng.randrange(TASKS), tools) for place in range(count)])
    return arena


def refitted(folder: Path, tools: int, rows: int) -> None:
    arena = filled(folder, everything_on(), rows, tools)
    wall, processor = both_times(lambda: fit_models(arena))
    print(
        f"fitting to {rows:,} submissions to {TASKS:,} tasks of {tools:,} tools:"
        f" {processor:.1f} s of processor time, {wall:.1f} s",
        flush=True,
    )
    arena.store.close()


def one_more(folder: Path, rows: int, times: int) -> None:
    arenas = {profile.name: filled(folder, profile, rows, 40) for profile in (load_profile("arena-1"), everything_on())}
    plain, whole = arenas.values()
    _, seconds = both_times(lambda: fit_models(whole))
    whole.fitter = fit_if_due
    rng = random.Random(99)
    spent: dict[str, list[float]] = {name: [] for name in arenas}
    for number in range(times):
        submission = made(rng, f"live-{number}", rng.randrange(TASKS), 40)
        order = list(arenas.items())
        for name, arena in order if number % 2 else reversed(order):
            start = time.process_time()
            (receipt,) = arena.submit([submission])
            spent[name].append(time.process_time() - start)
            assert isinstance(receipt, Receipt)
    off, on = (statistics.median(spent[name][times // 10 :]) * 1_000 for name in arenas)
    growth = whole.rules.models.growth if whole.rules.models else math.inf
    share = seconds / (rows * (1 - 1 / growth)) * 1_000
    print(f"\nOne more submission at {rows:,} to {TASKS:,} tasks, median of {times} in turn, processor time")
    print(f"arena-1 {off:.3f} ms, everything on {on:.3f} ms: {on / off:.3f} times")
    print(f"a version fitted to {rows:,}: {seconds:.1f} s, {share:.3f} ms for each submission since the last one")
    print(f"with it {(on + share) / off:.3f} times", flush=True)
    for arena in (plain, whole):
        arena.store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the rows")
    given = parser.parse_args()
    part = 50 if given.quick else 1
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-") as name:
        for tools in (40, 1_000):
            refitted(Path(name), tools, REFITTED // part)
        one_more(Path(name), given.large // part, given.times // (4 if given.quick else 1))


if __name__ == "__main__":
    main()
