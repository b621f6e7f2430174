"""Comparisons as terminal tables."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.formatting import (
    counted,
    difference_text,
    interval_name,
    p_value_cell,
    quantity,
)
from steelyard.metrics import catalog
from steelyard.pages import (
    DASH,
    Cell,
    Painted,
    Style,
    TextTable,
    add_row,
    coverage_legend,
    plain_table,
    range_text,
    weighting,
)
from steelyard.plain_text import clean
from steelyard.results import Comparison, Judged, Pair

FLIPS_SHOWN = 8
VERDICT_STYLES: dict[str, Style] = {"better": "green", "worse": "red"}


def comparison_answers(result: Comparison) -> Iterator[str]:
    """Yield the sentence of each pair's first metric, and the tasks it uses."""
    for pair in result.pairs:
        yield clean(next(iter(pair.sentences), ""))
        yield clean(f"{coverage_text(result.baseline.label, pair)}.")


def comparison_lines(result: Comparison) -> Iterator[str]:
    """Yield the sentences of the other metrics of each pair."""
    for pair in result.pairs:
        yield from map(clean, pair.sentences[1:])


def coverage_text(a: str, pair: Pair) -> str:
    """Return the number of shared and excluded tasks."""
    cover = pair.coverage
    excluded = [f"{len(cover.only_baseline):,} attempted only by {a}"] if cover.only_baseline else []
    excluded += [f"{len(cover.only_candidate):,} only by {pair.candidate.label}"] if cover.only_candidate else []
    rest = f" (excluded: {', '.join(excluded)})" if excluded else ""
    return f"{pair.candidate.label} vs. {a}: {counted(cover.common, 'shared task')}{rest}"


def comparison_tables(result: Comparison) -> Iterator[TextTable]:
    """Yield one table per pair: values, difference, interval, p-value, effect size and verdict."""
    for pair in result.pairs:
        sides = f"{_lettered(pair.candidate.label, 'B')} vs. {_lettered(result.baseline.label, 'A')}"
        title = f"{sides}, {weighting(result)}"
        table = plain_table(title)
        table.add_column("metric")
        approximate = coverage_legend([judged.difference.interval.mark for judged in pair.metrics])
        p_title = "p" if result.correction == "none" else f"p ({result.correction})"
        for title, spare in (
            ("A", 0),
            ("B", 0),
            ("B - A", 0),
            (interval_name(result.level), 0),
            (p_title, 1),
            ("Cliff's δ", 3),
            ("tasks", 2),
        ):
            table.add_column(
                title, justify="right", spare=spare, legend=approximate if title == interval_name(result.level) else ""
            )
        table.add_column("verdict")
        for judged in pair.metrics:
            add_row(table, *_cells(judged))
        yield table
        yield from _flip_table(pair, a=result.baseline.label)


def _lettered(label: str, letter: str) -> str:
    """Return the label with its letter in the table."""
    return label if label.endswith(f"({letter})") else f"{label} ({letter})"


def _cells(judged: Judged) -> list[Cell]:
    difference = judged.difference
    declared = catalog()[difference.metric]
    p_value = p_value_cell(judged.adjusted_p)
    return [
        declared.title,
        DASH if difference.baseline is None else quantity(difference.baseline, declared.unit),
        DASH if difference.candidate is None else quantity(difference.candidate, declared.unit),
        DASH if difference.value is None else difference_text(difference.value, declared.unit, signed=True),
        range_text(difference.interval.low, difference.interval.high, declared.unit, difference.interval.mark),
        p_value,
        DASH if difference.cliffs_delta is None else f"{difference.cliffs_delta:+.2f}",
        f"{difference.tasks:,}",
        Painted(judged.verdict, VERDICT_STYLES[judged.verdict]) if judged.verdict in VERDICT_STYLES else judged.verdict,
    ]


def _flip_table(pair: Pair, *, a: str) -> Iterator[TextTable]:
    judged = next((candidate for candidate in pair.metrics if candidate.difference.metric == "pass_rate"), None)
    flips = None if judged is None else judged.difference.flips
    if flips is None or not (flips.gained or flips.lost):
        return
    counts = f"{len(flips.gained):,} gained, {len(flips.lost):,} lost, {flips.both:,} solved by both, "
    counts += f"{flips.neither:,} by neither (solved: at least half of the runs pass)"
    table = plain_table(f"Tasks that flip from {a} to {pair.candidate.label}: {counts}")
    table.add_column("task")
    table.add_column("A", justify="right")
    table.add_column("B", justify="right")
    for word, tasks in (("gained", flips.gained), ("lost", flips.lost)):
        for each in tasks[:FLIPS_SHOWN]:
            add_row(table, clean(each.task), quantity(each.baseline, "fraction"), quantity(each.candidate, "fraction"))
        if len(tasks) > FLIPS_SHOWN:
            add_row(table, f"... {len(tasks) - FLIPS_SHOWN:,} more {word}")
    yield table
