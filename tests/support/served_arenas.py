"""Arenas to serve: one task with many submissions beside many small ones, made by the arena's own intake."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from steelyard.arena import create_arena, freeze
from steelyard.profiles import load_profile
from steelyard.records import Submission, convert_task
from steelyard.store import open_store

BIG_TASK = "fix-race"
SEASON = "2026-11"
AGENTS = ("ant", "bee", "cat", "dog", "elk")
MODELS = ("large", "small")
CATEGORIES = ("debugging", "refactoring", "backend_development", None)
START = datetime(2026, 1, 1, tzinfo=UTC)
AT_ONCE = 50_000
SMALL = 3
"""Submissions of each small task."""


def submissions(count: int, tasks: int) -> Iterator[Submission]:
    """Those of the big task, then some for each of the others; the same every time."""
    draw = random.Random(16)
    for number in range(count):
        yield submission(draw, number, BIG_TASK)
    for task in range(1, tasks):
        for number in range(SMALL):
            yield submission(draw, number, f"task-{task:04}")


def submission(draw: random.Random, number: int, task: str) -> Submission:
    """One of plausible size; now and then something is unknown."""
    agent = draw.choice(AGENTS)
    skill = 1 + 0.15 * AGENTS.index(agent)
    return Submission(
        id=f"{task}-{number:06}",
        task_id=task,
        total_tokens=int(draw.lognormvariate(10, 0.6) * skill),
        tool_calls=draw.randrange(2, 120),
        iterations=draw.choice((1, 2, 3, 3, 4, 5, 8)),
        execution_time=round(draw.lognormvariate(5, 0.6) * skill, 2) if number % 11 else None,
        estimated_cost=round(draw.lognormvariate(-2, 0.7) * skill, 4) if number % 13 else None,
        success=draw.random() < 0.9,
        agent=agent,
        model=draw.choice(MODELS),
        submitter=f"user-{draw.randrange(50)}",
        submitted_at=START + timedelta(minutes=number),
    )


def fill(address: str, *, count: int, tasks: int) -> None:
    """Make an arena of that size in the store."""
    arena = create_arena(open_store(address), load_profile("arena-1"))
    for number in range(tasks):
        category = CATEGORIES[number % len(CATEGORIES)]
        task = {"id": BIG_TASK if not number else f"task-{number:04}", "success_criteria": [{"type": "no_errors"}]}
        arena.add_task(convert_task(task | ({"category": category} if category else {})))
    made = submissions(count, tasks)
    while batch := list(islice(made, AT_ONCE)):
        arena.submit(batch)
    freeze(arena, SEASON, tasks=[f"task-{1:04}"] if tasks > 1 else [BIG_TASK])
    arena.store.close()


def filled_store(folder: Path, *, count: int, tasks: int) -> str:
    """The address of a SQLite store with an arena of that size."""
    address = f"sqlite:///{folder}/arena-{count}-{tasks}.db"
    fill(address, count=count, tasks=tasks)
    return address
