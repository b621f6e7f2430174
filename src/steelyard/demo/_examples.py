"""Example files of every input type: runs, logs, outputs with a contract, timings, arena submissions and plans.

The numbers are synthetic, from a seeded uniform random generator, so that every command has something to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from random import Random
from typing import Any, NamedTuple

import msgspec

from steelyard.demo._logs import build_files, log_files, results_table
from steelyard.demo._plans import plan_files
from steelyard.demo._runs import EXPERIMENT, SEED, START, demo_runs
from steelyard.records import encode_run


class Example(NamedTuple):
    """Data type of the demo, with commands to try."""

    title: str
    commands: tuple[str, ...]
    """Commands; {folder} is replaced by the folder of the files."""


EXAMPLES = (
    Example("Runs: success and cost", ("steelyard measure {folder}/runs.jsonl --by tier",)),
    Example("Logs: tokens and cost", ("steelyard usage {folder}/logs --by model",)),
    Example(
        "Builds: check for regressions",
        ('steelyard gate {folder}/branch.jsonl --baseline {folder}/main.jsonl --rule "pass_rate >= baseline - 0.02"',),
    ),
    Example(
        "Outputs: repeatability",
        ("steelyard repeatability {folder}/outputs --contract {folder}/contract.toml",),
    ),
    Example("Timings: speedup", ("steelyard speedup {folder}/timings",)),
    Example(
        "Arena: leaderboard",
        (
            "steelyard arena init --store sqlite:///{folder}/arena.db",
            "steelyard arena task add {folder}/tasks.toml --store sqlite:///{folder}/arena.db",
            "steelyard arena submit {folder}/submissions.jsonl --store sqlite:///{folder}/arena.db",
            "steelyard arena leaderboard --store sqlite:///{folder}/arena.db",
        ),
    ),
    Example(
        "Plans: run agents, here with a scripted model (see docs/run.md)",
        ("steelyard run {folder}/plans/tiers.toml --out {folder}/tiers", "steelyard measure {folder}/tiers --by tier"),
    ),
)


def demo_files() -> Iterator[tuple[str, bytes]]:
    """Yield the relative path and content of every demo file; deterministic."""
    yield "runs.jsonl", b"".join(encode_run(run) + b"\n" for run in demo_runs())
    yield from log_files()
    yield from build_files()
    yield "results.csv", results_table()
    yield from _outputs()
    yield from _timings()
    yield "tasks.toml", TASKS.encode()
    yield from ((f"plans/{name}", content.encode()) for name, content in plan_files())
    yield "plans/contract.toml", CONTRACT.encode()
    yield "submissions.jsonl", b"".join(msgspec.json.encode(each) + b"\n" for each in _submissions())


CONTRACT = """\
id = "running_total"
prompt = "Write a Python function running_total(values) that returns the sums of the first 1, 2, 3, ... values."
language = "python"
entry_point = "running_total"

[[cases]]
name = "several"
arguments = [[1, 2, 3]]
expected = [1, 3, 6]

[[cases]]
name = "none"
arguments = [[]]
expected = []
"""

_PLAIN = "    total = 0\n    sums = []\n    for value in values:\n        total += value\n        sums.append(total)\n"
_WAYS = (
    f"def running_total(values):\n{_PLAIN}    return sums\n",
    f"def running_total(values):\n    # one pass\n{_PLAIN}    return sums\n",
    f"def running_total(values):\n{_PLAIN}    return sums\n".replace("sums", "result"),
    "from itertools import accumulate\n\n\ndef running_total(values):\n    return list(accumulate(values))\n",
    "def running_total(values):\n    return [sum(values[:n]) for n in range(len(values))]\n",
)
"""Outputs, the most frequent first; the last has an off-by-one error."""
_CHOSEN = (0, 0, 1, 0, 2, 0, 3, 0, 4, 0)


def _outputs() -> Iterator[tuple[str, bytes]]:
    yield "contract.toml", CONTRACT.encode()
    for number, way in enumerate(_CHOSEN, start=1):
        yield f"outputs/{number:02}.py", _WAYS[way].encode()


BENCHMARKS = ("parse.Small.time_rows", "parse.Large.time_rows", "join.Keys.time_inner", "join.Keys.time_outer")
TIMED_TASKS = {"speed-up-parse": (0.50, 0.55, 0.95, 1.0), "speed-up-join": (0.95, 1.0, 0.40, 0.45)}
"""Time of the reference solution per benchmark, as a fraction of the unchanged code's."""
AGENTS = {"ant": 0.15, "bee": 0.45}
"""Fraction of the reference solution's gain that each agent misses."""


def _timings() -> Iterator[tuple[str, bytes]]:
    chance = Random(SEED)  # noqa: S311  # synthetic data, not a secret
    for task, shares in TIMED_TASKS.items():
        yield f"timings/{task}/nop.json", _timed(chance, task, [1.0] * len(shares))
        yield f"timings/{task}/oracle.json", _timed(chance, task, shares)
        for agent, missed in AGENTS.items():
            own = [share + missed * (1 - share) for share in shares]
            yield f"timings/{task}/agents/{agent}/large.json", _timed(chance, task, own, agent=agent)


def _timed(chance: Random, task: str, shares: Sequence[float], *, agent: str | None = None) -> bytes:
    """A run record with 30 samples of each benchmark; an agent's with its tests and its cost."""
    run: dict[str, Any] = {"task": task, "experiment": EXPERIMENT}  # Any: JSON values
    if agent is not None:
        cost, turns = round(0.2 + 0.3 * chance.random(), 4), 8 + int(10 * chance.random())
        run |= {"agent": agent, "model": "large", "tests": {"passed": 24, "failed": 0, "errors": 0}}
        run |= {"cost_usd": cost, "iterations": turns, "snapshot": {"status": "passed", "pass_to_fail": 0}}
    samples = [[round(share * (0.02 + 0.002 * chance.random()), 6) for _ in range(30)] for share in shares]
    run["benchmarks"] = [{"name": name, "samples": times} for name, times in zip(BENCHMARKS, samples, strict=True)]
    return msgspec.json.encode(run) + b"\n"


TASKS = """\
[[tasks]]
id = "fix-race"
title = "Fix the race in the queue"
category = "debugging"
difficulty = "advanced"

[[tasks.success_criteria]]
type = "file_exists"
file_path = "queue.py"

[[tasks.success_criteria]]
type = "no_errors"

[[tasks]]
id = "add-endpoint"
title = "Add an endpoint that lists orders"
category = "backend_development"
difficulty = "intermediate"

[[tasks.success_criteria]]
type = "no_errors"
"""


def _submissions() -> Iterator[dict[str, Any]]:  # Any: JSON values
    chance = Random(SEED)  # noqa: S311  # synthetic data, not a secret
    for task, file in (("fix-race", "queue.py"), ("add-endpoint", "orders.py")):
        for agent, thrift in (("ant", 1.0), ("bee", 0.7), ("cat", 1.4)):
            for attempt in range(1, 5):
                tokens = int(30_000 * thrift * (0.7 + 0.6 * chance.random()))
                yield {
                    "id": f"demo-{task}-{agent}-{attempt}",
                    "task_id": task,
                    "agent": agent,
                    "model": "large",
                    "submitter": "demo",
                    "submitted_at": (START + timedelta(days=attempt)).isoformat(),
                    "total_tokens": tokens,
                    "tool_calls": 6 + int(20 * thrift * chance.random()),
                    "iterations": 1 + int(5 * chance.random()),
                    "execution_time": round(60 + tokens / 200 * (0.5 + chance.random()), 1),
                    "estimated_cost": round(tokens * 4e-6, 4),
                    "success": chance.random() > 0.2 * thrift,
                    "files_created": [file],
                }
