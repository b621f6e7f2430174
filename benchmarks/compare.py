"""All pairs of agents compared task by task: Steelyard vs. evalstats on the same data in the same run.

Both run their defaults, and with --bootstrap also 10,000 bootstrap resamples of tasks. Steelyard computes the
difference of every pair with its interval (by default Student's t), and rank intervals from a sign-flip test of all
pairs. evalstats runs `compare` (by default mostly an analytic interval). Both must find the same differences.
evalstats is not a dependency: it is searched for in --evalstats-python, else installed into a virtual environment in
the user's cache directory.

    python -m benchmarks.compare [--agents 30 --tasks 500 --attempts 5] [--quick] [--bootstrap]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.questions.analysis import StatisticsOptions
from steelyard.questions.rank._ranks import estimate_ranks
from steelyard.statistics import Interval, paired_bootstrap, paired_t

PACKAGE = "evalstats==0.3.3"
PEER = """
import json, resource, sys, time
import numpy as np, pandas as pd
import evalstats
passed = np.load(sys.argv[1])
agents, tasks, attempts = passed.shape
a, t, r = (part.ravel() for part in np.indices(passed.shape))
frame = pd.DataFrame({
    "model": [f"agent-{i:03}" for i in a], "item": [f"task-{i:04}" for i in t], "run": r, "score": passed.ravel(),
})
options = json.loads(sys.argv[2])
started = time.perf_counter()
result = evalstats.compare(evalstats.load_from(frame), factors="model", **options)
seconds = time.perf_counter() - started
pairs = result.to_frame()["pairwise"]
gaps = {f"{row.a} {row.b}": float(row.b_minus_a) for row in pairs.assign(b_minus_a=-pairs["diff"]).itertuples()}
rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print("RESULT " + json.dumps({"seconds": seconds, "rss_mib": rss, "gaps": gaps}))
"""


def make_data(agents: int, tasks: int, attempts: int) -> np.ndarray:
    """Passes of agents of slowly rising skill on tasks from easy to hard."""
    random = np.random.default_rng(0)
    chance = np.clip(random.beta(1, 1, tasks)[None, :] + np.linspace(-0.2, 0.2, agents)[:, None], 0.02, 0.98)
    return (random.random((agents, tasks, attempts)) < chance[:, :, None]).astype(np.int64)


def ours(path: Path, interval_of: Callable[[np.ndarray], Interval]) -> dict[str, Any]:
    """Steelyard's side, timed."""
    passed = np.load(path)
    started = time.perf_counter()
    scores = passed.mean(axis=2).T
    pairs = list(itertools.combinations(range(scores.shape[1]), 2))
    intervals = [interval_of(scores[:, j] - scores[:, i]) for i, j in pairs]
    _, best, worst, test = estimate_ranks(scores, scores.mean(axis=0), order="mean", options=StatisticsOptions())
    seconds = time.perf_counter() - started
    gaps = {}
    for (i, j), interval in zip(pairs, intervals, strict=True):
        gaps[f"agent-{i:03} agent-{j:03}"] = interval.estimate
        gaps[f"agent-{j:03} agent-{i:03}"] = -interval.estimate
    width = np.mean([interval.high - interval.low for interval in intervals])
    print(f"  mean interval width {width:.4f}; rank intervals by {test}, first {best.min()}-{worst[best == 1].max()}")
    return {
        "seconds": seconds,
        "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "gaps": gaps,
    }


def student(differences: np.ndarray) -> Interval:
    """The interval of `compare` by default."""
    return paired_t(differences)[0]


def resampled(differences: np.ndarray) -> Interval:
    """The interval of `compare --method percentile`."""
    return paired_bootstrap(differences, method="percentile", resamples=10_000)


def evalstats_python(given: Path | None) -> Path | None:
    """A Python that has evalstats: the one given, else one we make in the cache folder; None when that fails."""
    if given is not None:
        return given
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "steelyard" / PACKAGE.replace("==", "-")
    python = cache / "bin" / "python"
    if not python.exists():
        venv.create(cache, with_pip=True)
    have = subprocess.run([python, "-c", "import evalstats"], capture_output=True, check=False)
    if have.returncode == 0:
        return python
    print(f"installing {PACKAGE} into {cache}", flush=True)
    made = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", PACKAGE], capture_output=True, text=True, check=False
    )
    if made.returncode:
        print(f"{PACKAGE} could not be installed: {made.stderr.strip().splitlines()[-1:]}")
        return None
    return python


def theirs(python: Path, path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """The other side, in its own environment."""
    run = subprocess.run(
        [python, "-W", "ignore", "-c", PEER, str(path), json.dumps(options)],
        capture_output=True,
        text=True,
        check=False,
    )
    line = next((line for line in run.stdout.splitlines() if line.startswith("RESULT ")), None)
    if line is None:
        raise SystemExit(f"evalstats gave no result:\n{run.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(line.removeprefix("RESULT "))
    return result


def check_same(first: dict[str, Any], other: dict[str, Any]) -> None:
    """Both must have found the same difference for every pair."""
    for pair, gap in other["gaps"].items():
        if abs(first["gaps"][pair] - gap) > 1e-9:
            raise SystemExit(f"{pair}: {first['gaps'][pair]} here, {gap} there")


def main() -> int:
    parser = argparse.ArgumentParser(description="All pairs of agents: Steelyard against evalstats.")
    parser.add_argument("--agents", type=int, default=30)
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--attempts", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="8 agents, 100 tasks")
    parser.add_argument("--bootstrap", action="store_true", help="also bootstrap resamples: many minutes")
    parser.add_argument("--evalstats-python", type=Path, help="a Python that has evalstats")
    options = parser.parse_args()
    agents, tasks = (8, 100) if options.quick else (options.agents, options.tasks)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "passed.npy"
        np.save(path, make_data(agents, tasks, options.attempts))
        print(f"{agents} agents x {tasks} tasks x {options.attempts} attempts, {agents * (agents - 1) // 2} pairs")
        bootstrap = options.bootstrap or options.quick
        mine = ours(path, student)
        rows = [("steelyard, as it comes", mine)]
        if bootstrap:
            rows.append(("steelyard, 10,000 bootstrap resamples", ours(path, resampled)))
        python = evalstats_python(options.evalstats_python)
        if python is not None:
            rows.append((f"{PACKAGE}, as it comes", theirs(python, path, {})))
            if bootstrap:
                asked = {"method": "bootstrap", "n_bootstrap": 10_000}
                rows.append((f"{PACKAGE}, 10,000 bootstrap resamples", theirs(python, path, asked)))
    print(f"{'':40} {'seconds':>9} {'ratio':>9} {'peak MiB':>9}")
    for name, row in rows:
        check_same(mine, row)
        ratio = row["seconds"] / mine["seconds"]
        print(f"{name:40} {row['seconds']:9.2f} {ratio:8.1f}x {row['rss_mib']:9.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
