"""Drawing figures: milliseconds and bytes of each kind, and of a heatmap with the most cells that are drawn.

    python -m benchmarks.figures [--quick]

For comparison: altair with vl-convert took 56 to 95 ms for the ten-row dot plot once warm, and 0.8 s for its first
figure (decision 0074). It is not installed here, so its time is quoted and not measured.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable

from steelyard.figures import (
    MAX_CELLS,
    Axis,
    BenchmarkRatio,
    Estimate,
    Figure,
    PassCell,
    PricedEstimate,
    StackedRow,
    TaskPair,
    dots,
    dumbbells,
    heatmap,
    histogram,
    pareto,
    stacked,
    waterfall,
)

SEED = 20261115
SHARE = Axis(title="Pass rate", unit="fraction", low=0, high=1)
COST = Axis(title="Cost per run, USD", unit="USD", log=True)


def cases(generator: random.Random) -> dict[str, Callable[[], Figure]]:
    """One figure of each shape, with as much in it as a page shows."""
    values = [generator.random() for _ in range(500)]
    rows = [Estimate(label=f"agent-{i}/model", value=v, low=v / 2, high=v, rank="1-3") for i, v in enumerate(values)]
    points = [
        PricedEstimate(label=f"agent-{i}", value=v, low=v / 2, high=v, cost=v + 0.01, pareto_optimal=i < 3)
        for i, v in enumerate(values)
    ]
    tasks = [f"task-{i}" for i in range(MAX_CELLS // 10)]
    agents = [f"agent-{i}/model" for i in range(10)]
    cells = [[PassCell(generator.randint(0, 5), 5) for _ in agents] for _ in tasks]
    pairs = [TaskPair(f"task-{i}", v, 1 - v) for i, v in enumerate(values)]
    bars = [BenchmarkRatio(f"module.time_{i}", 2 * v + 0.1, 1.5) for i, v in enumerate(values)]
    kinds = ["input", "cache read", "output"]
    stacks = [StackedRow(f"agent-{i}", dict.fromkeys(kinds, v * 1e6)) for i, v in enumerate(values[:20])]
    tokens = Axis(title="Tokens", unit="tokens")
    return {
        "dots, 10 rows": lambda: dots(rows[:10], title="Pass rate", axis=SHARE),
        "dots, 60 rows": lambda: dots(rows, title="Pass rate", axis=SHARE),
        "pareto, 20 points": lambda: pareto(points[:20], title="Cost", quality=SHARE, cost=COST),
        "heatmap, 400 cells": lambda: heatmap(tasks[:40], agents, cells[:40], title="Tasks"),
        "heatmap, 3,000 cells": lambda: heatmap(tasks, agents, cells, title="Tasks"),
        "dumbbells, 60 tasks": lambda: dumbbells(pairs, a="a", b="b", title="Tasks", axis=SHARE),
        "stacked, 20 bars": lambda: stacked(stacks, kinds=kinds, title="Tokens", axis=tokens),
        "histogram, 500 runs": lambda: histogram(values, title="Cost", axis=COST),
        "waterfall, 500 bars": lambda: waterfall(bars, title="Speedup"),
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    repeats = 3 if parser.parse_args().quick else 20
    print(f"{'figure':24} {'ms':>8} {'bytes':>9}")
    for name, draw in cases(random.Random(SEED)).items():
        times = []
        for _ in range(repeats):
            start = time.process_time()
            text = draw().inline
            times.append(time.process_time() - start)
        print(f"{name:24} {1000 * min(times):8.2f} {len(text.encode()):9,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
