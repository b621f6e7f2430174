"""Made-up runs of agents on shared tasks, for everything that compares."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from steelyard.records import Run, encode_run


def made_runs(
    skills: dict[str, float], *, tasks: int = 40, attempts: int = 1, seed: int = 1, cost: float = 0.1
) -> list[Run]:
    """Runs of agents with these chances of a pass on an average task; some tasks are easy, some hard."""
    chance = random.Random(seed)
    ease = [chance.uniform(-0.4, 0.4) for _ in range(tasks)]
    runs = []
    for agent, skill in skills.items():
        for task in range(tasks):
            for attempt in range(1, attempts + 1):
                passed = chance.random() < min(max(skill + ease[task], 0.02), 0.98)
                runs.append(
                    Run(
                        id=f"{agent}-{task}-{attempt}",
                        task=f"task-{task:03}",
                        agent=agent,
                        model="m",
                        attempt=attempt,
                        passed=passed,
                        impl_rate=round(0.3 + 0.5 * passed + 0.2 * chance.random(), 3),
                        cost_usd=round(cost * (1 + chance.random()), 4),
                    )
                )
    return runs


def write(path: Path, runs: Iterable[Run]) -> str:
    path.write_bytes(b"".join(encode_run(run) + b"\n" for run in runs))
    return str(path)
