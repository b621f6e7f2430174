"""Example files of every input type: runs, logs, outputs with a contract, timings, arena submissions and plans.

The numbers are synthetic, from a seeded uniform random generator, so that every command has something to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, NamedTuple

import msgspec

from steelyard.demo._plans import plan_files
from steelyard.demo._runs import EXPERIMENT, SEED, START, demo_runs
from steelyard.records import encode_run

PROJECTS = ("parcel", "ledger")
CLAUDE_MODELS = ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929")
CODEX_MODEL = "gpt-5.3-codex"
SESSIONS = 12
BUILDS = {"main": "T3", "branch": "T4"}
"""Tier whose runs represent a build."""


def log_files() -> Iterator[tuple[str, bytes]]:
    """Twelve sessions of Claude Code and four of Codex, over thirty days."""
    chance = Random(SEED)  # noqa: S311  # synthetic data, not a secret
    for number in range(SESSIONS):
        project, started = PROJECTS[number % 2], START + timedelta(days=2.5 * number)
        session = f"5e55a0aa-0000-4000-8000-{number:012}"
        lines = _claude_session(chance, session, f"/home/ada/{project}", started, CLAUDE_MODELS[number % 3 == 0])
        yield f"logs/claude-code/{project}/{session}.jsonl", _lines(lines)
    for number in range(SESSIONS // 3):
        session, started = f"019c0000-0000-7000-8000-{number:012}", START + timedelta(days=7 * number, hours=3)
        lines = _codex_session(chance, session, f"/home/ada/{PROJECTS[number % 2]}", started)
        yield f"logs/codex/rollout-{session}.jsonl", _lines(lines)


def build_files() -> Iterator[tuple[str, bytes]]:
    """The runs of one agent before and after a change: main.jsonl and branch.jsonl."""
    runs = list(demo_runs())
    for build, tier in BUILDS.items():
        chosen = (run for run in runs if run.tier == tier)
        renamed = (
            msgspec.structs.replace(run, id=f"{build}-{number}", tier=None, extra={"x_build": build})
            for number, run in enumerate(chosen)
        )
        yield f"{build}.jsonl", b"".join(encode_run(run) + b"\n" for run in renamed)


def results_table() -> bytes:
    """Return a table as a custom script may write it, with its own column names."""
    lines = ["case,llm,status,seconds,prompt_tokens,completion_tokens"]
    for number, run in enumerate(run for run in demo_runs() if run.tier in ("T0", "T1") and run.attempt == 1):
        model = "small" if run.tier == "T0" else "large"
        status = "pass" if run.passed else "fail"
        lines.append(f"{run.task},{model},{status},{40 + number},{1000 + 10 * number},{200 + number}")
    return "\n".join([*lines, ""]).encode()


def _claude_session(
    chance: Random, session: str, folder: str, started: datetime, model: str
) -> Iterator[dict[str, Any]]:  # Any: JSON values
    shared = {
        "parentUuid": None,
        "userType": "external",
        "cwd": folder,
        "sessionId": session,
        "version": "2.1.5",
        "gitBranch": "main",
        "isSidechain": False,
    }
    asked = {"role": "user", "content": "make the failing test pass"}
    yield {**shared, "type": "user", "message": asked, "uuid": f"{session}-0", "timestamp": _time(started)}
    read = 0
    last = 3 + int(5 * chance.random())
    for number in range(1, last + 1):
        written = 800 + int(4_000 * chance.random())
        usage = {
            "input_tokens": 4 + int(20 * chance.random()),
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 100 + int(900 * chance.random()),
        }
        read += written
        content: dict[str, Any] = {"type": "text", "text": "The test passes."}
        if number < last:
            edited = {"file_path": f"{folder}/a.py"}
            content = {"type": "tool_use", "id": f"toolu_{number}", "name": "Edit", "input": edited}
        message: dict[str, Any] = {
            "model": model,
            "id": f"msg_{session[-2:]}_{number}",
            "type": "message",
            "role": "assistant",
        }
        stop = "tool_use" if number < last else "end_turn"
        message |= {"content": [content], "stop_reason": stop, "usage": usage}
        at = _time(started + timedelta(seconds=20 * number))
        yield {**shared, "type": "assistant", "message": message, "uuid": f"{session}-{number}", "timestamp": at}


def _codex_session(
    chance: Random, session: str, folder: str, started: datetime
) -> Iterator[dict[str, Any]]:  # Any: JSON values
    meta = {
        "id": session,
        "timestamp": _time(started),
        "cwd": folder,
        "cli_version": "0.104.0",
        "model_provider": "openai",
    }
    yield {"timestamp": _time(started), "type": "session_meta", "payload": meta}
    context = {"model": CODEX_MODEL, "effort": "high", "cwd": folder}
    yield {"timestamp": _time(started), "type": "turn_context", "payload": context}
    total = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens"), 0)
    for number in range(1, 4):
        more = 3_000 + int(9_000 * chance.random())
        last = {
            "input_tokens": more,
            "cached_input_tokens": more // 2,
            "output_tokens": 400,
            "reasoning_output_tokens": 150,
        }
        total = {kind: count + last[kind] for kind, count in total.items()}
        counts = {
            "total_token_usage": {**total, "total_tokens": total["input_tokens"] + total["output_tokens"]},
            "last_token_usage": {**last, "total_tokens": last["input_tokens"] + last["output_tokens"]},
        }
        payload = {"type": "token_count", "info": counts}
        at = _time(started + timedelta(seconds=30 * number))
        yield {"timestamp": at, "type": "event_msg", "payload": payload}
    yield {"timestamp": at, "type": "event_msg", "payload": {"type": "task_complete", "last_agent_message": "done"}}


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.000Z"


def _lines(documents: Iterator[dict[str, Any]]) -> bytes:  # Any: JSON values
    return b"".join(msgspec.json.encode(document) + b"\n" for document in documents)


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
