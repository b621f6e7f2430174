"""Work that goes through the Python API: prints the CPU seconds of this process for it, without what comes before.

    CHECKOUT/.venv/bin/python work.py NAME DATA STORE

Only public names are used. One that moved is looked for in both of its homes.
"""
# it prints its answer

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import numpy as np

METRICS = ("pass_rate", "impl_rate", "cost_usd", "duration_seconds", "composite_score", "cost_of_pass_per_run")
KINDS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "reasoning_tokens",
)
TIMES = 5
"""How often what is short is done in one measurement."""
Work = Callable[[], object]
Api = Any  # Any: the module or class of whichever version runs this


def public(name: str, *homes: str) -> Api:
    """A public name from the first of its homes that has it."""
    for home in homes:
        try:
            return getattr(importlib.import_module(home), name)
        except (ImportError, AttributeError):
            continue
    raise SystemExit(f"{name} is in none of {', '.join(homes)}")


def measure_in_memory(data: Path, _: str) -> Work:
    """Grouped statistics of a table that was read before."""
    api: Api = importlib.import_module("steelyard")
    runs = api.read(data / "runs.parquet")
    return lambda: [api.measure(runs, by=("agent", "tier"), metrics=METRICS) for _ in range(TIMES)]


def _calls(data: Path) -> dict[str, Any]:  # Any: columns
    columns = np.load(data / "calls.npz")
    return {
        "models": columns["models"].tolist(),
        "at": columns["at"],
        "tokens": {kind: columns[kind] for kind in KINDS},
    }


def prices_by_columns(data: Path, _: str) -> Work:
    """Calls priced as columns."""
    calls = _calls(data)
    book = public("open_book", "steelyard.prices")()
    price_columns = public("price_columns", "steelyard.prices")
    return lambda: [price_columns(book, **calls) for _ in range(TIMES)]


def prices_by_runs(data: Path, _: str) -> Work:
    """A twentieth of the calls, as records, twenty to a run."""
    homes = ("steelyard.records", "steelyard.records.run")
    run, call, usage = (public(name, *homes) for name in ("Run", "Call", "Usage"))
    calls = _calls(data)
    count = len(calls["models"]) // 20
    rows = zip(*(calls["tokens"][kind][:count].tolist() for kind in KINDS), strict=True)
    moments = [moment.replace(tzinfo=UTC) for moment in calls["at"][:count].tolist()]
    records = [
        call(model=model, at=at, usage=usage(**dict(zip(KINDS, counts, strict=True))))
        for model, at, counts in zip(calls["models"][:count], moments, rows, strict=True)
    ]
    runs = [run(task="t", calls=tuple(records[start : start + 20])) for start in range(0, count, 20)]
    book = public("open_book", "steelyard.prices")()
    price_run = public("price_run", "steelyard.prices")
    return lambda: [price_run(record, book) for _ in range(TIMES) for record in runs]


def arena_one_by_one(data: Path, store: str) -> Work:
    """Submissions to a large task, each by itself."""
    api: Api = importlib.import_module("steelyard")
    arena = api.open_arena(store)
    records = [json.loads(line) for line in (data / "live.jsonl").read_text().splitlines()[:200]]
    return lambda: [arena.submit([record]) for record in records]


WORKS = (measure_in_memory, prices_by_columns, prices_by_runs, arena_one_by_one)


def main() -> None:
    """Prepare, then time."""
    name, data, store = sys.argv[1:]
    chosen = {work.__name__: work for work in WORKS}[name](Path(data), store)
    before = time.process_time()
    chosen()
    print(time.process_time() - before)


if __name__ == "__main__":
    main()
