"""Comparisons and rankings as terminal tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.formatting import (
    NumberFormat,
    counted,
    difference_text,
    exact_percent,
    interval_name,
    number_format,
    p_value_cell,
    quantity,
    table_format,
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
from steelyard.reports._measurement_tables import ARROWS, key_cell
from steelyard.results import Comparison, Judged, Pair, RankedGroup, Ranking

FLIPS_SHOWN = 8
RANK = "Rank 2-4: {level} confidence set for the rank."
PARETO = "Pareto: * = on the frontier; percentage of bootstrap resamples in which it is."
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


def ranking_tables(result: Ranking) -> Iterator[TextTable]:
    """Yield the ranking with scores and cost, then pass@k if tasks have several attempts."""
    declared = catalog()[result.on]
    arrow = ARROWS[declared.better]
    over = f"{declared.title} {arrow} over {result.tasks:,} of {result.all_tasks:,} tasks"
    table = plain_table(f"{over}, by {result.order}, {weighting(result)}")
    table.add_column("rank", justify="right", legend=RANK.format(level=exact_percent(result.level)))
    for name in result.by:
        table.add_column(name)
    if result.order == "bradley-terry":
        table.add_column("strength", justify="right")
    table.add_column(declared.title.lower(), justify="right")
    approximate = coverage_legend([place.score.mark for place in result.groups])
    table.add_column(interval_name(result.level), justify="right", legend=approximate)
    for name in result.extra_metrics:
        table.add_column(catalog()[name].title.lower(), justify="right")
    for title, spare in (("mean cost", 1), ("cost of pass", 2)):
        table.add_column(title, justify="right", spare=spare)
    table.add_column("Pareto", justify="right", spare=3, legend=PARETO)
    table.add_column(f"{result.rows}s", justify="right", spare=4)
    scores = [place.score for place in result.groups]
    score = table_format((each.estimate for each in scores), declared.unit)
    ends = table_format((end for each in scores for end in (each.low, each.high)), declared.unit)
    extra = {
        name: number_format((place.extra_metrics.get(name) for place in result.groups), catalog()[name].unit)
        for name in result.extra_metrics
    }
    cost = number_format((place.cost_usd for place in result.groups), "USD")
    cost_of_pass = number_format((place.cost_of_pass for place in result.groups), "USD")
    for place in result.groups:
        add_row(
            table,
            place.rank_text,
            *_key_cells(place, result),
            *([] if place.strength is None else [f"{place.strength:+.2f}"]),
            score.text(place.score.estimate),
            _ends_text(place, ends),
            *(extra[name].text(value) for name, value in place.extra_metrics.items()),
            _cost_text(place, cost),
            cost_of_pass.text(place.cost_of_pass),
            _front_text(place),
            f"{place.runs:,}",
        )
    yield table
    yield from _passes_table(result)


def _key_cells(place: RankedGroup, result: Ranking) -> list[str]:
    return [key_cell(place.key, name, result.tier_scheme) for name in place.key]


def _ends_text(place: RankedGroup, column: NumberFormat) -> str:
    interval = place.score
    if interval.low is None or interval.high is None:
        return DASH
    text = f"{column.text(interval.low, bare=True)} to {column.text(interval.high, bare=True)}"
    return f"{text}\n{interval.mark}" if interval.mark else text


def _cost_text(place: RankedGroup, column: NumberFormat) -> str:
    """Return the mean cost, with the number of runs it is known for unless that is all of them."""
    if place.cost_usd is None:
        return DASH
    cost = column.text(place.cost_usd)
    return cost if place.cost_runs == place.runs else f"{cost} ({place.cost_runs:,} of {place.runs:,})"


def _front_text(place: RankedGroup) -> str:
    if place.pareto_optimal is None or place.pareto_frequency is None:
        return DASH
    return f"{'*' if place.pareto_optimal else ' '} {quantity(place.pareto_frequency, 'fraction')}"


def _passes_table(result: Ranking) -> Iterator[TextTable]:
    tried = [k for k in (1, 2, 3, 4, 5, 10) if any(k in place.passes for place in result.groups)]
    if not tried:
        return
    table = plain_table("At least one of k attempts passes (pass@k) / all of them pass (pass^k)")
    for name in result.by:
        table.add_column(name)
    for k in tried:
        table.add_column(f"k = {k}", justify="right", spare=0 if k in (tried[0], tried[-1]) else k)
    for place in result.groups:
        add_row(table, *_key_cells(place, result), *(_passes_text(place, k) for k in tried))
    yield table


def _passes_text(place: RankedGroup, k: int) -> str:
    """Both figures, with the tasks that have k scored attempts where that is not all of them."""
    if k not in place.passes:
        return DASH
    some, every = place.passes[k]
    if some.estimate is None or every.estimate is None:
        return DASH
    figures = f"{quantity(some.estimate, 'fraction')} / {quantity(every.estimate, 'fraction')}"
    return figures if some.n == place.tasks else f"{figures}\n({some.n:,} of {place.tasks:,} tasks)"


def ranking_sentence(result: Ranking) -> str:
    """Return the sentence that names the leader."""
    declared = catalog()[result.on]
    title = declared.title.lower()
    leaders = [place for place in result.groups if place.best == 1]
    names = [" ".join(cell for cell in _key_cells(place, result) if cell != DASH) or DASH for place in leaders]
    if len(result.groups) == 1:
        return f"{names[0]} is the only group; nothing to rank."
    if len(leaders) == 1 and result.order == "ranked-pairs":
        return f"{names[0]} beats every other group on the majority of tasks; this order has no confidence level."
    if len(leaders) == 1:
        return f"{names[0]} leads on {title}{_score_text(leaders[0], result, declared.unit)}."
    return f"No clear leader on {title}: rank 1 is possible for {_listed(names)}."


def _score_text(place: RankedGroup, result: Ranking, unit: str) -> str:
    if place.score.estimate is None:
        return ""
    interval = range_text(place.score.low, place.score.high, unit, place.score.label).replace("\n", ", ")
    limits = "" if interval == DASH else f", {interval_name(result.level)} {interval}"
    return f": {quantity(place.score.estimate, unit)}{limits}"


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:6]) + ([f"{len(names) - 6} more"] if len(names) > 6 else [])
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
