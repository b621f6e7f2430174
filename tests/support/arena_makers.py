"""Made-up tasks and submissions for the arena's tests: missing fields, ties, extremes."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from steelyard.arena import Arena, Policy, create_arena
from steelyard.profiles import Profile, load_profile
from steelyard.records import Submission, Task, convert_submission, convert_task
from steelyard.store import Store

START = datetime(2026, 1, 1, tzinfo=UTC)
CATEGORIES = ("frontend_development", "backend_development", "data_analysis", "debugging", "refactoring", "gardening")


def make_arena(store: Store, *, policy: Policy = "current") -> Arena:
    return create_arena(store, load_profile("arena-1"), policy=policy)


def changed_profile(**constants: object) -> Profile:
    """The default profile with other constants, under a name of its own."""
    return Profile(name="mine", spec="arena", constants={**load_profile("arena-1").constants, **constants})


def random_task(rng: random.Random, name: str) -> dict[str, Any]:
    task: dict[str, Any] = {"id": name}
    if rng.random() < 0.7:
        task["category"] = rng.choice(CATEGORIES)
    if rng.random() < 0.7:
        task["difficulty"] = rng.choice(("beginner", "intermediate", "advanced"))
    criteria = [{"type": "file_exists", "file_path": f"file{number}.py"} for number in range(rng.randrange(3))]
    if rng.random() < 0.5:
        criteria.append({"type": "no_errors"})
    if rng.random() < 0.2:
        criteria.append({"type": "tests_pass"})
    if criteria:
        task["success_criteria"] = criteria
    return task


def random_submission(rng: random.Random, name: str, task_id: str, number: int) -> dict[str, Any]:
    """Values from a few shapes: tight clusters for ties, wide ones for records, extremes now and then."""
    kind = rng.random()
    tokens = rng.choice((100, 5000, 20000)) if kind < 0.3 else int(rng.lognormvariate(9, 1.5))
    made: dict[str, Any] = {
        "id": name,
        "task_id": task_id,
        "total_tokens": rng.choice((0, 1, 9, 2**53)) if kind > 0.99 else tokens,
        "tool_calls": rng.choice((0, 1, 1, 2, 5, rng.randrange(300))),
        "submitted_at": (START + timedelta(seconds=number)).isoformat(),
    }
    if rng.random() < 0.8:
        made["iterations"] = rng.choice((1, 2, 3, 3, 4, 7, rng.randrange(1, 40)))
    if rng.random() < 0.8:
        made["execution_time"] = rng.choice((0, 0.5, 3, 60, rng.uniform(0, 3000), rng.uniform(0, 3000)))
    if rng.random() < 0.8:
        made["estimated_cost"] = rng.choice((0, 0.05, 0.2, rng.uniform(0, 1), rng.uniform(0, 5), 1e9))
    if rng.random() < 0.5:
        made["success"] = rng.random() < 0.6
    if rng.random() < 0.6:
        made["files_created"] = [f"file{number}.py" for number in range(rng.randrange(4))]
    made["agent"] = rng.choice(("ant", "bee", "cat"))
    made["model"] = rng.choice(("small", "large"))
    made["submitter"] = rng.choice(("ada", "bob"))
    if number % 17 == 3:
        made["lower_bounds"] = ["total_tokens", "tool_calls"]
    return made


def as_task(values: dict[str, Any]) -> Task:
    return convert_task(values)


def as_submission(values: dict[str, Any]) -> Submission:
    return convert_submission(values)


def folder_of(path: Path, files: dict[str, str]) -> Path:
    """A folder with these files, by their paths in it."""
    for name, text in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return path
