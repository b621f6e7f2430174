"""Makes the data of the benchmarks with the makers of a checkout's own benchmark modules.

    PYTHONPATH=CHECKOUT CHECKOUT/.venv/bin/python data.py FOLDER SAMPLES SIZES

SAMPLES is a folder of Claude Code logs, SIZES a JSON object. Both versions are given the same data, made once by the
old one: its modules no longer change.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

CONTRACT = """
id = "outputs"
prompt = "Six steps."
language = "python"
entry_point = "step_0"
[constraints]
forbidden = ["eval(...)"]
"""
Module = Any  # Any: a benchmark module of another checkout


def benchmark(name: str) -> Module:
    """A benchmark module of the checkout on the path."""
    return importlib.import_module(f"benchmarks.{name}")


def make_logs(folder: Path, samples: Path, megabytes: int) -> None:
    """Claude Code logs: the samples again and again under new ids."""
    files = sorted(samples.rglob("*.jsonl"))
    if not files:
        raise SystemExit(f"{samples}: no logs to copy")
    module = benchmark("read")
    module.samples = lambda: files
    module.make_logs(folder / "logs", megabytes)


def make_calls(folder: Path, count: int) -> None:
    """Columns of calls to be priced."""
    calls = benchmark("prices").make_calls(count)
    np.savez(folder / "calls.npz", models=np.array(calls["models"]), at=calls["at"], **calls["tokens"])


def make_outputs(folder: Path, count: int) -> None:
    """Programs that answer one prompt, a file each, and a contract that they all keep."""
    module = benchmark("repeat")
    chooser = random.Random(module.SEED)  # noqa: S311  # made-up programs, not secrets
    (folder / "outputs").mkdir()
    for number in range(count):
        (folder / "outputs" / f"output_{number}.py").write_text(module.make_output(chooser))
    (folder / "steps.toml").write_text(CONTRACT)


def make_timings(folder: Path, tasks: int) -> None:
    """A folder of tasks, each side's timings as a run record."""
    module = benchmark("speedup")
    for attempt in module.made(tasks, 265):
        agent, model = attempt.agent.split(":")
        places = {"nop": attempt.nop, "oracle": attempt.oracle, f"agents/{agent}/{model}": attempt.side}
        for name, side in places.items():
            path = folder / "tasks" / attempt.task / f"{name}.json"
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                rows = zip(side.names, side.values.reshape(-1, module.SAMPLES).tolist(), strict=True)
                benchmarks = [{"name": name, "samples": samples} for name, samples in rows]
                path.write_text(json.dumps({"task": attempt.task, "benchmarks": benchmarks}))


def make_agents(folder: Path, agents: int, tasks: int) -> None:
    """Runs of agents of slowly rising skill, five attempts a task."""
    passed = benchmark("compare").make_data(agents, tasks, 5)
    agent, task, attempt = (part.ravel() for part in np.indices(passed.shape))
    frame = pl.DataFrame({"agent": agent, "task": task, "attempt": attempt + 1, "passed": passed.ravel() == 1})
    named = frame.with_columns(
        pl.format("agent-{}", pl.col("agent").cast(pl.String).str.zfill(3)).alias("agent"),
        pl.format("task-{}", pl.col("task").cast(pl.String).str.zfill(4)).alias("task"),
    )
    named.write_parquet(folder / "agents.parquet")


def make_submissions(folder: Path, tasks: int, each: int, large: int) -> None:
    """A batch to many tasks, a large task, and more that come one by one."""
    module = benchmark("arena")
    rng = random.Random(7)  # noqa: S311  # made-up submissions, not secrets
    batch = [module.make(rng, f"{task}/{place}", f"task-{task}") for task in range(tasks) for place in range(each)]
    rng.shuffle(batch)
    filled = [*module.extremes("task-0"), *(module.make(rng, f"s{number}", "task-0") for number in range(large))]
    live = [module.make(rng, f"live-{number}", "task-0") for number in range(1_000)]
    for name, records in (("batch", batch), ("large", filled), ("live", live)):
        lines = "".join(json.dumps(module.as_dict(record), default=list) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines)
    (folder / "one.jsonl").write_text(json.dumps(module.as_dict(live[0]), default=list) + "\n")
    (folder / "tasks.json").write_text(json.dumps({"tasks": [{"id": f"task-{number}"} for number in range(tasks)]}))


def main() -> None:
    """All of it."""
    folder, samples, sizes = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
    benchmark("measure").make_runs(sizes["rows"], folder / "runs.parquet")
    make_logs(folder, samples, sizes["megabytes"])
    make_calls(folder, sizes["calls"])
    make_outputs(folder, sizes["outputs"])
    make_timings(folder, sizes["timed_tasks"])
    make_agents(folder, sizes["agents"], sizes["agent_tasks"])
    make_submissions(folder, sizes["arena_tasks"], sizes["each"], sizes["large"])


if __name__ == "__main__":
    main()
