"""What got faster, what got slower: one bar a benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from steelyard.figures._axes import (
    EDGE,
    WIDTH,
    Axis,
    Scale,
    checked_width,
    heading,
    joined,
    nothing,
    row_label,
    row_value,
    rows_of,
    tick_labels,
    upright,
)
from steelyard.figures._figure import HATCHED, Figure, Mark, box, brief, group, line, px, words
from steelyard.formatting import plain

MAX_NAMED = 40
"""Benchmarks that have a row with their name; more are thin bars."""
MAX_BARS = 900
"""Bars that are drawn."""
TALLEST = 900.0
"""How high thin bars may stack."""
FARTHEST = 20.0
"""Doublings that are drawn; values beyond are clipped."""


class BenchmarkRatio(NamedTuple):
    """A benchmark's speedup."""

    name: str
    speedup: float | None
    """Above 1 is faster; None where it failed or was not measured."""
    reference: float | None = None
    """Speedup of the reference solution."""
    is_noise: bool = False
    """Whether the difference may be noise."""
    note: str = ""


def waterfall(
    benchmarks: Sequence[BenchmarkRatio],
    *,
    title: str,
    note: str = "",
    noise: float | None = None,
    description: str = "",
    width: int = WIDTH,
) -> Figure:
    """Bars from no change to each speedup in doublings, fastest first, noise in grey, a tick for the reference.

    Those without a speedup are hatched, below the others. `noise`: the ratio up to which timings vary by themselves.
    """
    width = checked_width(width)
    known = sorted((each for each in benchmarks if _doublings(each.speedup) is not None), key=_place, reverse=True)
    failed = [each for each in benchmarks if _doublings(each.speedup) is None]
    counts = f"{len(known):,} compared" + (f", {len(failed):,} failed or not measured" if failed else "")
    head, top = heading(title, joined(note, counts), width)
    if not benchmarks:
        marks, bottom = [nothing(top, width, "No data: no benchmarks.")], top + 30
    elif len(benchmarks) <= MAX_NAMED:
        marks, bottom = _named(known, failed, noise, top, width)
    else:
        marks, bottom = _unnamed(known, len(failed), noise, top, width)
    faster = sum(_place(each) > 0 and not each.is_noise for each in known)
    slower = sum(_place(each) < 0 and not each.is_noise for each in known)
    return Figure(
        name="waterfall",
        title=title,
        description=description or f"{counts}: {faster:,} faster, {slower:,} slower.",
        width=width,
        height=int(bottom + 12),
        marks=(*head, *marks),
    )


def _named(
    known: Sequence[BenchmarkRatio], failed: Sequence[BenchmarkRatio], noise: float | None, top: float, width: int
) -> tuple[list[Mark], float]:
    """A row for each benchmark."""
    every = [*known, *failed]
    texts = [_times(each.speedup) for each in every]
    rows = rows_of([each.name for each in every], texts, top=top + 46, width=width)
    scale, bottom = _scale(known, rows.left, rows.right), rows.bottom(len(every))
    marks = _frame(scale, noise, top, bottom, width, has_reference=_has_reference(known))
    marks.append(group(upright(scale.at(0), rows, len(every), top=top + 34), place=' class="sy-frame"'))
    for index, each in enumerate(every):
        y = rows.middle(index)
        marks.append(_bar(each, scale, y, 12) if index < len(known) else _failed(each, scale, y))
        marks += [row_label(rows, index, each.name), row_value(rows, index, texts[index])]
    return marks, bottom


def _unnamed(
    known: Sequence[BenchmarkRatio], failed: int, noise: float | None, top: float, width: int
) -> tuple[list[Mark], float]:
    """Thin bars; of very many benchmarks every second, third, ... one."""
    stride = max(math.ceil(len(known) / MAX_BARS), 1)
    shown = known[::stride]
    scale = _scale(known, EDGE + 6, width - EDGE - 6)
    begin, step = top + 46, max(min(TALLEST / max(len(shown), 1), 8.0), 1.0)
    end = begin + step * len(shown)
    marks = _frame(scale, noise, top, end, width, has_reference=_has_reference(known))
    marks.append(group((line(scale.at(0), top + 34, scale.at(0), end, look="axis"),), place=' class="sy-frame"'))
    marks += [_bar(each, scale, begin + step * (row + 0.5), max(step - 1, 0.8)) for row, each in enumerate(shown)]
    notes = [f"1 of {stride} bars shown"] if stride > 1 else []
    notes += [f"{failed:,} failed or not measured"] if failed else []
    return [*marks, nothing(end - 8, width, "; ".join(notes))] if notes else marks, end + (22 if notes else 0)


def _doublings(speedup: float | None) -> float | None:
    if speedup is None or not speedup > 0:
        return None
    return min(max(math.log2(speedup), -FARTHEST), FARTHEST) if math.isfinite(speedup) else FARTHEST


def _has_reference(known: Sequence[BenchmarkRatio]) -> bool:
    return any(_doublings(each.reference) is not None for each in known)


def _place(each: BenchmarkRatio) -> float:
    return _doublings(each.speedup) or 0.0


def _scale(known: Sequence[BenchmarkRatio], start: float, end: float) -> Scale:
    sides = [_doublings(side) for each in known for side in (each.speedup, each.reference)]
    ends = [place for place in sides if place is not None]
    low = min(math.floor(min([*ends, 0.0])), -1)
    high = max(math.ceil(max([*ends, 0.0])), 1)
    return Scale(Axis(title="Speedup", unit="times"), low, high, start, end, log=False)


def _times(speedup: float | None) -> str:
    if speedup is None:
        return "failed"
    if math.isinf(speedup):
        return "∞x"
    return f"{plain(speedup, digits=3)}x"


def _frame(
    scale: Scale, noise: float | None, top: float, bottom: float, width: int, *, has_reference: bool
) -> list[Mark]:
    title = "Speedup, log scale" + ("; tick: reference solution" if has_reference else "")
    marks: list[Mark] = [words(scale.start, top + 10, title, room=width - scale.start - EDGE, look="tick")]
    marks += tick_labels(scale, top + 28, width)
    marks += [line(scale.at(tick), top + 34, scale.at(tick), bottom, look="grid") for tick in scale.ticks]
    frame = [group(tuple(marks), place=' class="sy-frame"')]
    if noise is not None and noise > 1 and math.isfinite(noise):
        low, high = scale.at(-math.log2(noise)), scale.at(math.log2(noise))
        title = f"timing noise: up to {plain(noise, digits=3)}x"
        frame.append(box(low, top + 34, high - low, bottom - top - 34, look="faint", title=title))
    return frame


def _bar(each: BenchmarkRatio, scale: Scale, y: float, high: float) -> Mark:
    start, end = sorted((scale.at(0), scale.at(_place(each))))
    parts = [box(start, y - high / 2, max(end - start, 1), high, look="grey" if each.is_noise else "mark")]
    title = f"{brief(each.name)}: {_times(each.speedup)}"
    reference = _doublings(each.reference)
    if reference is not None:
        parts.append(box(scale.at(reference) - 1, y - high / 2 - 1.5, 2, high + 3, look="ink"))
        title += f", reference {_times(each.reference)}"
    title += "; within noise" if each.is_noise else ""
    return group(tuple(parts), title=f"{title}; {each.note}" if each.note else title)


def _failed(each: BenchmarkRatio, scale: Scale, y: float) -> Mark:
    x = scale.at(0)
    title = f"{brief(each.name)}: no speedup" + (f"; {each.note}" if each.note else "")
    return Mark("rect", "", f'{HATCHED} x="{px(x - 20)}" y="{px(y - 6)}" width="40" height="12"', title)
