"""Arenas with something to learn: tools of known ability at tasks of known difficulty."""

from __future__ import annotations

import math
import random
from typing import Any

import msgspec
from sqlalchemy import select, update
from sqlalchemy.engine import Connection

from steelyard.arena import Arena
from steelyard.store.schema import submissions, tasks

TOOLS, TASKS = 8, 24
UNTESTED = 4
"""The first tasks have no tests."""
MODELS: dict[str, Any] = {
    "first": 40,
    "growth": 1.5,
    "by": ["agent", "model"],
    "abilities": {"confidence": 0.95, "few_submissions": 30, "anomaly_threshold": 4.0, "min_tools": 3, "min_tasks": 5},
    "correctness": {"min_examples": 100, "min_tasks": 10, "min_per_class": 10},
}
"""As the shipped profile has it, but sooner."""


def made_tasks() -> list[dict[str, Any]]:
    """Tasks in two categories; all but the first few have tests."""
    tests = [{"type": "tests_pass"}]
    claims = [{"type": "no_errors"}, {"type": "file_exists", "file_path": "a.py"}]
    return [
        {
            "id": f"task-{number}",
            "category": ("debugging", "refactoring")[number % 2],
            "success_criteria": claims + (tests if number >= UNTESTED else []),
        }
        for number in range(TASKS)
    ]


def made_submissions(count: int, *, seed: int = 1) -> list[dict[str, Any]]:
    """Submissions whose tokens, time and success depend on the tool and on the task."""
    rng = random.Random(seed)
    ability = [rng.gauss(0, 1) for _ in range(TOOLS)]
    difficulty = [rng.gauss(0, 1) for _ in range(TASKS)]
    made = []
    for number in range(count):
        tool, task = rng.randrange(TOOLS), rng.randrange(TASKS)
        ahead = ability[tool] - difficulty[task]
        chance = 1 / (1 + math.exp(-1.5 * ahead))
        made.append(
            {
                "id": f"s-{number}",
                "task_id": f"task-{task}",
                "total_tokens": int(math.exp(rng.gauss(9 - 0.4 * ahead, 0.4))),
                "tool_calls": rng.randrange(2, 60),
                "iterations": rng.randrange(1, 9),
                "execution_time": 60 * math.exp(rng.gauss(-0.3 * ahead, 0.5)),
                "estimated_cost": 0.02 * math.exp(rng.gauss(-0.2 * ahead, 0.4)),
                "success": rng.random() < chance,
                "files_created": ["a.py"] if rng.random() < chance else ["b.py"],
                "agent": f"agent-{tool % 4}",
                "model": f"model-{tool // 4}",
                "submitted_at": f"2026-03-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z",
            }
        )
    return made


def fill(arena: Arena, *, submissions: int) -> None:
    """Put the tasks and so many submissions into the arena."""
    for task in made_tasks():
        arena.add_task(task)
    arena.submit(made_submissions(submissions))


def as_if_tested(arena: Arena) -> None:
    """Write what a check on artifacts would have found, in place of running some hundred tests: success decides."""
    chosen = select(submissions).join(tasks, tasks.c.task_key == submissions.c.task_key)

    def work(connection: Connection) -> None:
        for row in connection.execute(chosen).mappings().all():
            details = msgspec.json.decode(row["details"])
            for criterion in details["criteria"]:
                if criterion["type"] == "tests_pass":
                    criterion |= {"met": bool(row["success"]), "reason": "the tests were run"}
                    details["artifacts_sha256"] = "0" * 64
            own = (submissions.c.task_key == row["task_key"]) & (submissions.c.ordinal == row["ordinal"])
            values = {"details": msgspec.json.encode(details).decode()}
            connection.execute(update(submissions).where(own).values(values))

    arena.store.in_transaction(work)
