"""Pricing a table of calls: genai-prices asked row by row, against our columns, on the same calls.

    python -m benchmarks.prices [--quick]

Both sides price the same rows; the costs they give are compared to the last digit before any time is shown.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from datetime import UTC
from typing import Any

import genai_prices
import numpy as np

from steelyard.prices import open_price_table, price_columns, price_run
from steelyard.records import TOKEN_KINDS, Call, Run, Usage

MODELS = (
    "claude-haiku-4-5-20251001",
    "claude-opus-4-5-20251101",
    "claude-opus-4-6",
    "claude-sonnet-4-20250514",
    "claude-sonnet-4-5-20250929",
    "deepseek-chat",
    "gemini-2.5-pro",
    "gpt-4o",
    "gpt-5",
    "gpt-5.3-codex",
    "kimi-k2",
    "o3",
)
SEED = 20261115
REPEATS = 3


def make_calls(count: int) -> dict[str, Any]:
    """Calls of an agent's usual shape: much read from the cache, little written, some above a context tier."""
    generator = np.random.default_rng(SEED)
    names = np.array(MODELS, dtype=object)
    sizes = {
        "input_tokens": 3_000,
        "output_tokens": 900,
        "cache_read_tokens": 60_000,
        "cache_write_5m_tokens": 4_000,
        "cache_write_1h_tokens": 400,
        "reasoning_tokens": 500,
    }
    return {
        "models": names[generator.integers(0, len(names), count)].tolist(),
        "at": np.datetime64("2025-03-01", "us") + generator.integers(0, 600 * 86_400, count).astype("timedelta64[s]"),
        "tokens": {kind: generator.exponential(sizes[kind], count).astype(np.int64) for kind in TOKEN_KINDS},
    }


def first(calls: dict[str, Any], count: int) -> dict[str, Any]:
    """The first calls only."""
    tokens = {kind: column[:count] for kind, column in calls["tokens"].items()}
    return {"models": calls["models"][:count], "at": calls["at"][:count], "tokens": tokens}


def by_genai(calls: dict[str, Any]) -> list[float]:
    """genai-prices, one call after another."""
    moments = [moment.replace(tzinfo=UTC) for moment in calls["at"].tolist()]
    rows = zip(*(calls["tokens"][kind].tolist() for kind in TOKEN_KINDS), strict=True)
    costs = []
    for model, at, (given, output, read, short, long, reasoning) in zip(calls["models"], moments, rows, strict=True):
        usage = genai_prices.Usage(
            input_tokens=given + read + short + long,
            cache_read_tokens=read,
            cache_write_tokens=short + long,
            cache_write_5m_tokens=short,
            cache_write_1h_tokens=long,
            output_tokens=output + reasoning,
            output_reasoning_tokens=reasoning,
        )
        costs.append(float(genai_prices.calc_price(usage, model, genai_request_timestamp=at).total_price))
    return costs


def one_by_one(calls: dict[str, Any]) -> list[float]:
    """Our price table, one call after another."""
    price_table = open_price_table()
    moments = [moment.replace(tzinfo=UTC) for moment in calls["at"].tolist()]
    rows = zip(*(calls["tokens"][kind].tolist() for kind in TOKEN_KINDS), strict=True)
    costs = []
    for model, at, counts in zip(calls["models"], moments, rows, strict=True):
        usage = Usage(**dict(zip(TOKEN_KINDS, counts, strict=True)))
        costs.append(float(price_table.price(usage, model=model, at=at)))
    return costs


def as_runs(calls: dict[str, Any]) -> list[Run]:
    """The same calls as records, twenty to a run."""
    moments = [moment.replace(tzinfo=UTC) for moment in calls["at"].tolist()]
    rows = zip(*(calls["tokens"][kind].tolist() for kind in TOKEN_KINDS), strict=True)
    records = [
        Call(model=model, at=at, usage=Usage(**dict(zip(TOKEN_KINDS, counts, strict=True))))
        for model, at, counts in zip(calls["models"], moments, rows, strict=True)
    ]
    return [Run(task="t", calls=tuple(records[start : start + 20])) for start in range(0, len(records), 20)]


def by_runs(runs: list[Run]) -> list[float]:
    """Our runs, one after another, their calls added up."""
    price_table = open_price_table()
    return [float(price_run(run, price_table)) for run in runs]


def by_columns(calls: dict[str, Any]) -> list[float]:
    """Our columns, names looked up included."""
    costs: list[float] = price_columns(open_price_table(), **calls).cost_usd.tolist()
    return costs


def best_seconds(work: Callable[[Any], list[float]], calls: Any) -> tuple[float, list[float]]:
    """The shortest of a few runs, and the answer."""
    times = []
    answer: list[float] = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        answer = work(calls)
        times.append(time.perf_counter() - start)
    return min(times), answer


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer calls")
    quick = parser.parse_args(arguments).quick
    slow, many = (2_000, 200_000) if quick else (20_000, 2_000_000)
    calls = make_calls(many)
    few = first(calls, slow)
    by_columns(few)  # the first use imports genai-prices and compiles its prices
    genai_seconds, expected = best_seconds(by_genai, few)
    plain_seconds, plain = best_seconds(one_by_one, few)
    run_seconds, _ = best_seconds(by_runs, as_runs(first(calls, many // 10)))
    column_seconds, columns = best_seconds(by_columns, calls)
    if plain != expected or columns[:slow] != expected:
        print("the costs differ")
        return 1
    rates = {
        f"genai-prices {genai_prices.__version__}, row by row": (slow, genai_seconds),
        "steelyard, row by row": (slow, plain_seconds),
        "steelyard, runs of 20 calls": (many // 10, run_seconds),
        "steelyard, columns": (many, column_seconds),
    }
    base = slow / genai_seconds
    print(f"Pricing calls of {len(MODELS)} models; the first {slow:,} costs are equal to the last digit")
    print(f"{'':38} {'calls':>10} {'seconds':>9} {'calls/s':>12} {'ratio':>8}")
    for name, (count, seconds) in rates.items():
        print(f"{name:38} {count:>10,} {seconds:>9.3f} {count / seconds:>12,.0f} {count / seconds / base:>7.1f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
