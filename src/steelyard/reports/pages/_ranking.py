"""Who is best, how surely, at what price: the places of `rank`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from steelyard.formatting import counted, exact_percent, interval_name, number_format, quantity
from steelyard.metrics import catalog
from steelyard.pages import (
    DASH,
    Column,
    Page,
    PageTable,
    count_column,
    counting_facts,
    drawn_facts,
    interval_column,
    key_columns,
    level_column,
    methods_of,
    with_figures,
)
from steelyard.reports._comparisons import PARETO, RANK, ranking_sentence
from steelyard.results import Ranking


def ranking_page(result: Ranking) -> Page:
    """Return the ranking with rank intervals, scores, costs and their intervals."""
    declared = catalog()[result.on]
    page = Page(
        name="rank",
        title="Which group is best, how certain is the ranking, and what does it cost?",
        answer=ranking_sentence(result),
        legend=(RANK.format(level=exact_percent(result.level)), PARETO),
        table=PageTable(
            caption=f"{declared.title} on {counted(result.tasks, 'task')}; {declared.better} is better",
            columns=tuple(_columns(result)),
            sides=[_side(place.key) for place in result.groups],
        ),
        facts=(
            ("tasks", f"{result.tasks:,} shared by all groups, of {result.all_tasks:,}"),
            ("order", f"{result.order} of {result.on}; ranks by {result.test}"),
            ("interval method", methods_of([place.score for place in result.groups])),
            *drawn_facts(confidence=result.level, resamples=result.resamples, seed=result.seed),
            *counting_facts(result),
        ),
    )
    return with_figures(page, result, ("dots", "pareto"))


def _side(key: Mapping[str, str | int | None]) -> str:
    return ",".join(f"{name}={value}" for name, value in key.items() if value is not None)


def _columns(result: Ranking) -> Iterator[Column]:
    declared, places = catalog()[result.on], result.groups
    texts = [place.rank_text for place in places]
    yield Column(name="rank", title="rank", values=[place.rank for place in places], decimals=0, texts=texts)
    yield from key_columns(result.by, [place.key for place in places], result.tier_scheme)
    if result.order == "bradley-terry":
        yield Column(name="strength", title="strength", values=[place.strength for place in places], decimals=2)
    scores = [place.score for place in places]
    yield level_column("score", declared.title.lower(), [score.estimate for score in scores], declared.unit)
    yield interval_column("interval", interval_name(result.level), scores, declared.unit)
    costs = [place.cost_usd for place in places]
    column = number_format(costs, "USD")
    texts = [_cost_text(column.text(place.cost_usd), place.cost_runs, place.runs) for place in places]
    yield Column(name="cost_usd", title="mean cost", values=costs, decimals=6, texts=texts)
    yield level_column("cost_of_pass", "cost of pass", [place.cost_of_pass for place in places], "USD")
    fronts = [_front_text(place.pareto_optimal, place.pareto_frequency) for place in places]
    yield Column(
        name="pareto", title="Pareto", values=[place.pareto_frequency for place in places], decimals=3, texts=fronts
    )
    yield from _passes(result)
    yield count_column("runs", "runs", [place.runs for place in places])


def _cost_text(cost: str, known: int, runs: int) -> str:
    return cost if known == runs or cost == DASH else f"{cost} ({known:,} of {runs:,})"


def _front_text(pareto_optimal: bool | None, share: float | None) -> str:
    return (
        DASH
        if pareto_optimal is None or share is None
        else f"{'* ' if pareto_optimal else ''}{quantity(share, 'fraction')}"
    )


def _passes(result: Ranking) -> Iterator[Column]:
    """Of pass@k and pass^k the largest k: where tasks were tried once, both are the pass rate."""
    most = max((k for place in result.groups for k in place.passes), default=1)
    for which, name in enumerate(("pass@", "pass^")) if most > 1 else ():
        values, texts = [], []
        for place in result.groups:
            interval = place.passes[most][which] if most in place.passes else None
            estimate = None if interval is None else interval.estimate
            values.append(estimate)
            of = "" if interval is None or interval.n == place.tasks else f" ({interval.n:,} of {place.tasks:,} tasks)"
            texts.append(DASH if estimate is None else quantity(estimate, "fraction") + of)
        title = f"{name}{most}"
        yield Column(name=title, title=title, values=values, decimals=6, texts=texts)
