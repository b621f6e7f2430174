"""Page with a comparison, metric by metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

from steelyard.formatting import counted, difference_text, interval_name, p_value_cell, quantity
from steelyard.metrics import catalog
from steelyard.pages import (
    DASH,
    Column,
    Page,
    PageLink,
    PageTable,
    count_column,
    counting_facts,
    drawn_facts,
    interval_text,
    level_column,
    methods_of,
    number_column,
    text_column,
    with_figures,
)
from steelyard.reports._comparisons import coverage_text
from steelyard.results import SOLVED_FROM, Comparison, Judged, TaskValues

FIRST = ("composite_score", "pass_rate", "impl_rate")
"""Metrics for the headline sentence, in order of preference."""


def compare_page(result: Comparison) -> Page:
    """The difference on each metric with its interval and verdict."""
    judged = [(pair, each) for pair in result.pairs for each in pair.metrics]
    by_name = {each.difference.metric: each for each in reversed(result.pairs[0].metrics)}
    main = next((by_name[name] for name in FIRST if name in by_name), judged[0][1])
    several = len(result.pairs) > 1
    names = "candidates" if several else result.pairs[0].candidate.label
    page = Page(
        name="compare",
        title=f"{'Are' if several else 'Is'} {names} better than {result.baseline.label}?",
        answer=main.sentence,
        notes=tuple(each.sentence for _, each in judged if each is not main and each.is_shown),
        table=PageTable(
            caption=f"{names} vs. {result.baseline.label}", columns=tuple(_columns(result, several=several))
        ),
        also=tuple(_differing_tasks(result)),
        links=() if several else (_swapped(result.baseline.choice, result.pairs[0].candidate.choice),),
        facts=(
            *(("tasks", coverage_text(result.baseline.label, pair)) for pair in result.pairs),
            ("interval method", methods_of([each.difference.interval for _, each in judged])),
            ("correction", f"{result.correction}, {result.comparisons:,} comparisons"),
            *drawn_facts(confidence=result.level, resamples=result.resamples, seed=result.seed),
            *counting_facts(result),
        ),
    )
    return with_figures(page, result, ("differences", "flips", "dumbbells"))


def _swapped(a: str, b: str) -> PageLink:
    return PageLink(
        "Swap baseline and candidate", f"/compare?{urlencode([('baseline', b), ('candidate', a)], errors='replace')}"
    )


def _differing_tasks(result: Comparison) -> Iterator[PageTable]:
    """Yield the tasks on which the first pair differs, largest gain of the candidate first."""
    pair = result.pairs[0]
    judged = next((each for each in pair.metrics if each.difference.higher or each.difference.lower), None)
    if judged is None:
        return
    metric = catalog()[judged.difference.metric]
    is_passing = metric.name == "pass_rate"
    tasks = [*judged.difference.higher, *judged.difference.lower[::-1]]
    yield PageTable(
        name="tasks",
        caption=f"{metric.title} on the tasks that differ, of {counted(judged.difference.tasks, 'shared task')}",
        columns=(
            text_column("task", "task", [each.task for each in tasks]),
            level_column("baseline", result.baseline.label, [each.baseline for each in tasks], metric.unit),
            level_column("candidate", pair.candidate.label, [each.candidate for each in tasks], metric.unit),
            text_column(
                "higher",
                "higher",
                [pair.candidate.label if each.candidate > each.baseline else result.baseline.label for each in tasks],
            ),
            *(
                [text_column("solved", "solved by", _solvers(tasks, result.baseline.label, pair.candidate.label))]
                if is_passing
                else []
            ),
        ),
    )


def _solvers(tasks: Sequence[TaskValues], a: str, b: str) -> list[str]:
    """Who solves each task, as the square of flips counts it."""
    words = {(True, True): "both", (True, False): f"only {a}", (False, True): f"only {b}", (False, False): "neither"}
    return [words[each.baseline >= SOLVED_FROM, each.candidate >= SOLVED_FROM] for each in tasks]


def _columns(result: Comparison, *, several: bool) -> Iterator[Column]:
    judged = [(pair, each) for pair in result.pairs for each in pair.metrics]
    each_difference = [each.difference for _, each in judged]
    units = [catalog()[difference.metric].unit for difference in each_difference]
    if several:
        yield text_column("candidate", "candidate", [pair.candidate.label for pair, _ in judged])
    yield text_column("metric", "metric", [catalog()[difference.metric].title for difference in each_difference])
    for name, title in (
        ("baseline", result.baseline.label),
        ("candidate", "value" if several else result.pairs[0].candidate.label),
    ):
        values = [getattr(difference, name) for difference in each_difference]
        texts = [DASH if value is None else quantity(value, unit) for value, unit in zip(values, units, strict=True)]
        yield Column(name=f"{name}_value", title=title, values=values, decimals=6, texts=texts)
    values = [difference.value for difference in each_difference]
    signed = [
        DASH if value is None else difference_text(value, unit, signed=True)
        for value, unit in zip(values, units, strict=True)
    ]
    yield Column(name="difference", title="difference", values=values, decimals=6, texts=signed)
    ends = [difference.interval for difference in each_difference]
    texts = [interval_text(end.low, end.high, unit, end.label) for end, unit in zip(ends, units, strict=True)]
    title = interval_name(result.level)
    yield Column(name="interval", title=title, values=[end.low for end in ends], decimals=6, texts=texts)
    yield from _verdicts(result, [each for _, each in judged])


def _verdicts(result: Comparison, judged: list[Judged]) -> Iterator[Column]:
    p_values = [each.adjusted_p for each in judged]
    texts = [p_value_cell(value) for value in p_values]
    title = "p" if result.correction == "none" else f"p, {result.correction}"
    yield Column(name="p", title=title, values=p_values, decimals=6, texts=texts)
    deltas = [each.difference.cliffs_delta for each in judged]
    yield number_column("cliffs_delta", "Cliff's δ", deltas, places=2, sign="+")
    yield count_column("tasks", "tasks", [each.difference.tasks for each in judged])
    yield text_column("verdict", "verdict", [each.verdict for each in judged])
