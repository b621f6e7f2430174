"""Data for every kind of figure: how each is called with any numbers and any names."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from itertools import cycle, islice

from steelyard import figures
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
    ValueCell,
)

Numbers = Sequence[float | None]
Names = Sequence[str]
Case = Callable[[Numbers, Names, int], Figure]

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "javascript:alert(1)",
    "]]></svg><svg onload=alert(1)>",
    "\u202egnp.exe\u2066",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "\x00\x01\x0b\ufffe\ud800",
    "zero\u200bwidth\u00adsoft\u2028line",
    "two\nlines\tand a tab",
    "&amp; &lt; &#x3c;",
    "Ünïcödé 漢字 🚀 عربى",
    "e\u0301\u0302\u0303" * 40,
    "W" * 10_000,
    "",
    "' style='color:red",
)


def kinds() -> list[str]:
    """Every function of the door that gives a figure."""
    return [
        name
        for name in figures.__all__
        if inspect.isfunction(getattr(figures, name))
        and inspect.signature(getattr(figures, name)).return_annotation == "Figure"
    ]


def named(names: Names, count: int) -> list[str]:
    """So many names; they repeat where there are not enough."""
    return list(islice(cycle(names), count))


def _rounded(value: float | None) -> int:
    return 0 if value is None or not math.isfinite(value) else int(min(abs(value), 9))


def _dots(values: Numbers, names: Names, width: int) -> Figure:
    rows = [
        Estimate(
            label=name,
            value=value,
            low=None if value is None else value - abs(value) / 3,
            high=None if value is None else value + 1,
            rank="1-2",
            note=name,
            faint=index % 3 == 0,
            limit=value if index % 2 else None,
        )
        for index, (name, value) in enumerate(zip(named(names, len(values)), values, strict=True))
    ]
    axis = Axis(title=names[0], unit="fraction", low=0, high=1)
    return figures.dots(rows, title=names[0], note=names[-1], axis=axis, reference=0.0, width=width)


def _pareto(values: Numbers, names: Names, width: int) -> Figure:
    points = [
        PricedEstimate(
            label=name,
            value=value,
            low=None if value is None else value - 0.1,
            high=value,
            cost=values[-1 - index],
            cost_low=None,
            cost_high=values[-1 - index],
            pareto_optimal=index % 2 == 0,
        )
        for index, (name, value) in enumerate(zip(named(names, len(values)), values, strict=True))
    ]
    cost = Axis(title=names[0], unit="USD", log=True)
    return figures.pareto(points, title=names[0], quality=Axis(title="q"), cost=cost, width=width)


def _heatmap(values: Numbers, names: Names, width: int) -> Figure:
    agents = named(names, min(len(values), 7))
    cells = [
        [None if each is None else PassCell(_rounded(each), 9, _rounded(each) % 2)] * len(agents) for each in values
    ]
    return figures.heatmap(named(names, len(values)), agents, cells, title=names[0], width=width)


def valued_heatmap(values: Numbers, names: Names, width: int) -> Figure:
    """The other form of the heatmap: values on an axis instead of verdicts."""
    agents = named(names, min(len(values), 7))
    cells = [[ValueCell(each, place % 3, place % 2)] * len(agents) for place, each in enumerate(values)]
    axis = Axis(title=names[0], unit="USD", low=0, log=True)
    return figures.heatmap(named(names, len(values)), agents, cells, title=names[0], axis=axis, width=width)


def _flips(values: Numbers, names: Names, width: int) -> Figure:
    counts = [_rounded(value) for value in (*values[:4], 0, 0, 0, 0)]
    return figures.flips(
        a=names[0],
        b=names[-1],
        both=counts[0],
        only_a=counts[1],
        only_b=counts[2],
        neither=counts[3],
        title=names[0],
        width=width,
    )


def _dumbbells(values: Numbers, names: Names, width: int) -> Figure:
    pairs = [TaskPair(name, a, b) for name, a, b in zip(named(names, len(values)), values, values[::-1], strict=True)]
    axis = Axis(title=names[0], unit="s", log=True)
    return figures.dumbbells(pairs, a=names[0], b=names[-1], title=names[0], axis=axis, width=width)


def _stacked(values: Numbers, names: Names, width: int) -> Figure:
    kinds_ = list(dict.fromkeys(named(names, 6)))
    bars = zip(named(names, len(values)), values, strict=True)
    rows = [StackedRow(name, dict.fromkeys(kinds_, value)) for name, value in bars]
    axis = Axis(title=names[0], unit="tokens")
    return figures.stacked(rows, kinds=kinds_, hatched=kinds_[-1], title=names[0], axis=axis, width=width)


def _histogram(values: Numbers, names: Names, width: int) -> Figure:
    axis = Axis(title=names[0], unit="USD", low=0, log=True)
    return figures.histogram(values, title=names[0], note=names[-1], axis=axis, width=width)


def _days(values: Numbers, names: Names, width: int) -> Figure:
    kinds_ = named(names, 3) if len(values) % 2 == 0 else []  # stacked, or bars of one piece
    amounts = [
        DayAmount(date(2026, 1, 1) + timedelta(days=index), value, name, kinds_[index % 3] if kinds_ else "")
        for index, (name, value) in enumerate(zip(named(names, len(values)), values, strict=True))
    ]
    axis = Axis(title=names[0], unit="USD")
    return figures.days(amounts, title=names[0], axis=axis, kinds=kinds_, zone=names[-1], width=width)


def _reliability(values: Numbers, names: Names, width: int) -> Figure:
    bins = [
        ScoreBin(index / 10, (index + 1) / 10, value, value, None if index % 2 else value, value, index)
        for index, value in enumerate(values[:10])
    ]
    axis = Axis(title=names[0], low=0, high=1)
    return figures.reliability(bins, title=names[0], note=names[-1], score=axis, rate=axis, width=width)


def _distances(values: Numbers, names: Names, width: int) -> Figure:
    outputs = named(names, len(values))
    matrix = [list(values) for _ in values]
    return figures.distances(outputs, matrix, clusters=named("aab", len(values)), title=names[0], width=width)


def _slopes(values: Numbers, names: Names, width: int) -> Figure:
    changes = [Change(name, a, b) for name, a, b in zip(named(names, len(values)), values, values[::-1], strict=True)]
    axis = Axis(title=names[0], low=0, high=1)
    return figures.slopes(changes, title=names[0], axis=axis, before=names[0], after=names[-1], width=width)


def _waterfall(values: Numbers, names: Names, width: int) -> Figure:
    bars = [
        BenchmarkRatio(name, value, values[-1 - index], index % 3 == 0, name)
        for index, (name, value) in enumerate(zip(named(names, len(values)), values, strict=True))
    ]
    return figures.waterfall(bars, title=names[0], note=names[-1], noise=1.1, width=width)


def _trend(values: Numbers, names: Names, width: int) -> Figure:
    start = datetime(2026, 1, 1)  # noqa: DTZ001 # the figure draws moments as they are given
    points = [
        TrendPoint(start + timedelta(hours=7 * index), value, name, value)
        for index, (name, value) in enumerate(zip(named(names, len(values)), values, strict=True))
    ]
    marks = [TrendMark(point.at, point.label) for point in points[:20:3]]
    axis = Axis(title=names[0], low=0, high=100)
    return figures.trend(points, title=names[0], note=names[-1], axis=axis, marks=marks, width=width)


def _strip(values: Numbers, names: Names, width: int) -> Figure:
    rows = [StripValue(name, value) for name, value in zip(named(names, len(values)), values, strict=True)]
    axis = Axis(title=names[0], low=0, high=100)
    ends = (values[0], values[-1]) if values else (None, None)
    return figures.strip(rows, title=names[0], note=names[-1], axis=axis, low=ends[0], high=ends[1], width=width)


def _calls(values: Numbers, names: Names, width: int) -> Figure:
    amounts = [
        CallAmount(values[-1 - index], value, name)
        for index, (name, value) in enumerate(zip(named(names, len(values)), values, strict=True))
    ]
    return figures.calls(amounts, title=names[0], note=names[-1], axis=Axis(title=names[0], unit="USD"), width=width)


CASES: dict[str, Case] = {
    "dots": _dots,
    "pareto": _pareto,
    "heatmap": _heatmap,
    "flips": _flips,
    "dumbbells": _dumbbells,
    "stacked": _stacked,
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
