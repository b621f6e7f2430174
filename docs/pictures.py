"""The pictures of docs/figures.md: one figure of each kind, drawn by the product from numbers made up here."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, datetime, timedelta

from steelyard.figures import (
    Axis,
    BenchmarkRatio,
    CallAmount,
    Change,
    DayAmount,
    Estimate,
    Figure,
    PassCell,
    PricedEstimate,
    ScoreBin,
    StackedRow,
    StripValue,
    TaskPair,
    TrendMark,
    TrendPoint,
    calls,
    days,
    distances,
    dots,
    dumbbells,
    flips,
    heatmap,
    histogram,
    pareto,
    reliability,
    slopes,
    stacked,
    strip,
    trend,
    waterfall,
)

AGENTS = ("ant / large", "bee / small", "cat / large", "dog / small", "elk / small")
RATES = (0.712, 0.671, 0.55, 0.41, 0.3)
COSTS = (0.61, 0.22, 0.9, 0.05, None)
FRONT = (0.61, 0.22, 0.05)
TASKS = ("parse-csv", "add-endpoint", "fix-race", "port-tests", "speed-up-join", "write-docs")
RATE = Axis(title="Pass rate, higher is better", unit="fraction", low=0, high=1)
WIDTH = 640


def _dots() -> Figure:
    """Estimates with confidence intervals. Rank intervals such as `1-2` mark ranks that the data do not separate."""
    bands = ("1-2", "1-2", "3", "4", "5")
    rows = [
        Estimate(label=agent, value=rate, low=rate - 0.06, high=rate + 0.05, rank=band, note="90 tasks")
        for agent, rate, band in zip(AGENTS, RATES, bands, strict=True)
    ]
    note = "95% CIs, 90 common tasks, weighted by tasks"
    return dots(rows, title="Pass rate by agent, model", axis=RATE, note=note, width=WIDTH)


def _differences() -> Figure:
    """Estimates relative to a reference: paired differences, bias of agents, severity of judges."""
    gaps = (0.041, -0.12, 0.16, -0.02)
    rows = [
        Estimate(label=agent, value=gap, low=gap - 0.06, high=gap + 0.06, faint=abs(gap) < 0.06)
        for agent, gap in zip(AGENTS[1:], gaps, strict=True)
    ]
    axis = Axis(title="Pass rate minus that of ant / large", unit="pp")
    note = "95% CIs, paired by task; hollow: the interval holds 0"
    return dots(rows, title="Differences", axis=axis, note=note, reference=0.0, width=WIDTH)


def _pareto() -> Figure:
    """Quality vs. cost. The steps are the Pareto frontier. Unknown costs are drawn separately."""
    points = [
        PricedEstimate(
            label=agent, value=rate, low=rate - 0.06, high=rate + 0.05, cost=cost, pareto_optimal=cost in FRONT
        )
        for agent, rate, cost in zip(AGENTS, RATES, COSTS, strict=True)
    ]
    cost = Axis(title="Mean cost per run, USD", unit="USD", log=True)
    note = "95% CIs; filled: on the frontier"
    return pareto(points, title="Pass rate and cost", quality=RATE, cost=cost, note=note, width=WIDTH)


def _heatmap() -> Figure:
    """One metric (by default the pass rate) by task and group."""
    draw = random.Random(3)
    cells: list[list[PassCell | None]] = [
        [PassCell(min(5, draw.randint(0, 8 - row)), 5) for _ in AGENTS] for row in range(len(TASKS))
    ]
    cells[1][2], cells[4][4], cells[2][1] = None, None, PassCell(1, 4, errored=1)
    return heatmap(TASKS, AGENTS, cells, title="Tasks by agents", note="5 runs a cell", width=WIDTH)


def _flips() -> Figure:
    """Number of tasks solved by both sides, by one side only, and by neither."""
    counts = {"both": 51, "only_a": 14, "only_b": 10, "neither": 15}
    return flips(a="ant / large", b="bee / small", title="Tasks that flip", note="90 common tasks", width=420, **counts)


def _dumbbells() -> Figure:
    """Differences per task, the largest gains first."""
    before, after = (0.2, 0.0, 0.6, 1.0, 0.4, 0.8), (0.8, 0.6, 0.8, 1.0, 0.2, 0.4)
    pairs = [TaskPair(*pair) for pair in zip(TASKS, before, after, strict=True)]
    return dumbbells(pairs, a=AGENTS[0], b=AGENTS[1], title="Pass rate by task", axis=RATE, width=WIDTH)


def _stacked() -> Figure:
    """Parts of a total."""
    kinds = ("input", "cache read", "cache write", "output", "reasoning")
    rows = [
        StackedRow(agent, {kind: 1e5 * size / (which + 1) for which, kind in enumerate(kinds)})
        for agent, size in zip(AGENTS, (9, 4, 7, 2, 3), strict=True)
    ]
    axis = Axis(title="Tokens per run", unit="tokens")
    return stacked(rows, kinds=kinds, title="Tokens by kind", axis=axis, note="mean of 90 runs", width=WIDTH)


def _completeness() -> Figure:
    """Origin of the numbers: reported, counted, priced, lower bound or unknown (hatched)."""
    kinds = ("reported", "counted", "priced", "lower bound", "unknown")
    shares = {
        "cost_usd": (0.4, 0, 0.4, 0.1, 0.1),
        "usage": (0.2, 0.7, 0, 0, 0.1),
        "duration_seconds": (0.9, 0, 0, 0, 0.1),
    }
    rows = [
        StackedRow(field, dict(zip(kinds, parts, strict=True)), text=f"{100 - 100 * parts[-1]:.0f}% known")
        for field, parts in shares.items()
    ]
    axis = Axis(title="Fraction of runs", unit="fraction", low=0, high=1)
    return stacked(rows, kinds=kinds, hatched="unknown", title="Where numbers come from", axis=axis, width=WIDTH)


def _histogram() -> Figure:
    """Distribution of a value over runs. Unknown values are counted above the plot."""
    draw = random.Random(5)
    costs = [*(draw.lognormvariate(-1, 1) for _ in range(400)), *([None] * 12)]
    axis = Axis(title="Cost per run, USD", unit="USD", log=True)
    return histogram(costs, title="Cost per run", axis=axis, width=WIDTH)


def _days() -> Figure:
    """Cost over time, by model. Days with unknown cost are hatched."""
    draw = random.Random(5)
    models = ("model-large", "model-small")
    amounts = [
        DayAmount(date(2026, 9, 1) + timedelta(days=day), None if day in (16, 37) else most * draw.random(), kind=model)
        for day in range(60)
        for model, most in zip(models, (30, 10), strict=True)
        if day % 7 < 5
    ]
    axis = Axis(title="Cost, USD", unit="USD")
    return days(amounts, title="Cost", by="model", axis=axis, kinds=models, width=WIDTH)


def _calls() -> Figure:
    """One bar per model call of a run, over time."""
    draw = random.Random(11)
    moments = sorted(draw.uniform(0, 140) for _ in range(40))
    amounts = [CallAmount(moment, 0.004 + 0.02 * draw.random(), "large") for moment in moments]
    return calls(amounts, title="Calls over time, by cost", axis=Axis(title="Cost of a call", unit="USD"), width=WIDTH)


def _reliability() -> Figure:
    """Calibration of scores: the pass rate of runs, by score."""
    bins = [
        ScoreBin(low, low + 0.1, low + 0.05, low**1.4, 0.8 * low**1.4, min(1, 1.1 * low**1.1), round(80 * low))
        for low in (place / 10 for place in range(1, 10))
    ]
    score = Axis(title="Mean score of a run's judges", low=0, high=1)
    rate = Axis(title="Runs that passed", unit="fraction", low=0, high=1)
    note = "95% CIs; bars: runs; dashed: score = pass rate"
    return reliability(bins, title="Pass rate by the judges' score", score=score, rate=rate, note=note, width=480)


def _distances() -> Figure:
    """Distances between outputs, clustered. The largest cluster comes first."""
    clusters = "aabacadbbcae"
    matrix = [[0.0 if a == b else 0.15 + 0.12 * abs(ord(a) - ord(b)) for b in clusters] for a in clusters]
    names = [f"output {place}" for place in range(1, 13)]
    note = "the stronger the color, the closer; framed: equal outputs"
    return distances(names, matrix, clusters=clusters, title="Distances between outputs", note=note, width=420)


def _slopes() -> Figure:
    """Values before and after."""
    ends = (("parse-csv", 0.62, 0.1), ("add-endpoint", 0.48, 0.31), ("fix-race", 0.85, 0.74), ("port-tests", 0.2, 0.0))
    axis = Axis(title="Mean distance to the canon", low=0, high=1)
    changes = [Change(*each) for each in ends]
    return slopes(changes, title="Repair by prompt", axis=axis, before="before", after="after", width=480)


def _waterfall() -> Figure:
    """Speedups per benchmark on a log2 scale, with the reference solution (vertical tick) and noise (band)."""
    draw = random.Random(4)
    names = (
        "Join.time_inner",
        "Join.time_outer",
        "Sort.time_ints",
        "Sort.time_text",
        "Read.time_csv",
        "Read.time_json",
    )
    bars = [BenchmarkRatio(f"frames.{name}", 2 ** draw.gauss(0.6, 1), 2 ** draw.gauss(1, 0.8)) for name in names]
    bars.append(BenchmarkRatio("frames.Read.time_xml", 1.05, 1.4, is_noise=True))
    bars.append(BenchmarkRatio("frames.Read.time_xls", None))
    note = "grey: no significant change"
    return waterfall(bars, title="Speedup by benchmark", note=note, noise=1.12, width=WIDTH)


def _trend() -> Figure:
    """Scores over time. The stepped line is the best score so far. Vertical lines mark a new baseline or profile."""
    draw = random.Random(8)
    moment, best, points = datetime(2026, 9, 1), 0.0, []  # noqa: DTZ001 # drawn as it is given
    for count in range(60):
        moment += timedelta(hours=24 * draw.random())
        score = min(100.0, 40 + count / 2 + draw.gauss(0, 10))
        best = max(best, score)
        points.append(TrendPoint(moment, score, f"submission {count}", best))
    marks = [TrendMark(points[12].at, "baseline 2"), TrendMark(points[40].at, "profile mine-2")]
    axis = Axis(title="Overall score of the day, higher is better", low=0, high=100)
    return trend(points, title="Scores over time", axis=axis, marks=marks, note="line: best so far", width=WIDTH)


def _strip() -> Figure:
    """All scores on one axis with minimum, median and maximum. The bar above is the mean's confidence interval."""
    scores = [StripValue(f"run-{place:02}", 95 - place * 37 % 61 - place % 7) for place in range(44)]
    axis = Axis(title="Overall score, higher is better", low=0, high=100)
    note = "44 submissions; mean 61.9 (56.6 to 67.2, 95%)"
    return strip(scores, title="Scores of fix-race", axis=axis, low=56.6, high=67.2, note=note, width=WIDTH)


PICTURES: dict[str, Callable[[], Figure]] = {
    "dots": _dots,
    "differences": _differences,
    "pareto": _pareto,
    "heatmap": _heatmap,
    "flips": _flips,
    "dumbbells": _dumbbells,
    "stacked": _stacked,
    "completeness": _completeness,
    "histogram": _histogram,
    "days": _days,
    "reliability": _reliability,
    "distances": _distances,
    "slopes": _slopes,
    "waterfall": _waterfall,
    "trend": _trend,
    "strip": _strip,
    "calls": _calls,
}
