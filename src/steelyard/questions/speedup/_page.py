"""Page of speedups: attempts and benchmarks of one task, or agents over several tasks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import bounds_text, counted, decimal_bounds, interval_name, quantity
from steelyard.metrics import catalog
from steelyard.questions.speedup._answer import (
    CURVES,
    BenchmarkLevel,
    SampleCount,
    SpeedupAttempt,
    SpeedupResult,
    SpeedupRun,
    SpeedupSummary,
    Verdict,
)
from steelyard.statistics import LEVEL

if TYPE_CHECKING:
    from steelyard.pages import Column, Page, PageTable, Style

BAR = 20
"""Width of the longest bar."""
VERDICTS: Mapping[Verdict, str] = {
    "faster": "faster",
    "slower": "slower",
    "unclear": "unclear",
    "unknown": "without an interval",
}
OF_ATTEMPT = {
    "task_speedup": 0,
    "agent_advantage": 0,
    "agent_advantage_level1": 3,
    "agent_advantage_level2": 5,
    "agent_advantage_level3": 5,
    "log_advantage": 4,
    "speedup_ratio_gmean": 4,
    "worst_speedup": 2,
    "significant_regressions": 1,
}
"""Metrics in the table of attempts, with the order in which they leave a narrow terminal."""
ALONE = ("task_speedup", "worst_speedup", "significant_regressions")
"""Those without a reference solution."""
OF_AGENT = {"mean_speedup": 0, "agent_advantage": 0, "mean_log_advantage": 3}
FURTHER = {"accuracy": 1, "mean_cost_per_task": 2, "mean_trajectory_length": 5}
"""Metrics in the table of agents, before and after the interval of the log advantage."""
OVER_TASKS = {
    "mean_success_rate": 0,
    "agent_advantage_level1": 2,
    "agent_advantage_level2": 4,
    "agent_advantage_level3": 4,
    "agent_advantage_level4": 0,
    "total_cost": 0,
    "cost_weighted_advantage": 0,
}
"""Metrics in the second table of agents."""
RELATIVE = ("speedup_ratio_gmean_over_tasks", "speedup_ratio_hmean_over_tasks", "max_fraction")
"""Metrics in the folded table of agents."""
MAX_BENCHMARKS = 1_000
"""Rows of the table of benchmarks; the data files contain all of them."""
MAX_TRIES = 5
"""The largest k of pass@k in the second table of agents."""


def page(answer: SpeedupResult) -> Page:
    """Return the page: of one task, a row per attempt and per benchmark; of several, a row per agent and per task."""
    is_one = len(answer.tasks) == 1
    made = f"{counted(len(answer.attempts), 'attempt')} on {counted(len(answer.tasks), 'task')}"
    unscored = "failed" if answer.unscored == "fail" else "excluded"
    caption = f"{made}, profile {answer.profile}, attempts without a verdict: {unscored}"
    attempts = _attempt_table(answer, is_one=is_one)
    tables = [*([] if is_one else [_agent_table(answer, caption)]), *([attempts] if is_one else [])]
    if not is_one or len(answer.attempts) > len(answer.summary):  # with one attempt each, it would repeat the first
        tables.append(_summary_table(answer))
    tables += [] if is_one else [replace(attempts, is_folded=True)]
    levels, longest = _level_tables(answer)
    legend = f"Bars: log scale, ▶ faster, ◀ slower; longest bar: {quantity(longest, 'ratio')}x."
    further = [
        _relative_table(answer),
        _further_table(answer),
        _benchmark_table(answer),
        _curve_table(answer),
        _missing_table(answer),
    ]
    shown = pages.Page(
        name="speedup",
        title="What got faster or slower?",
        answer=_sentence(answer),
        table=tables[0],
        also=(*tables[1:], *levels, *(table for table in further if table.rows)),
        legend=() if longest == 1 else (legend,),
        facts=(
            ("attempts", made),
            ("interval", "of the mean log advantage, clustered by task"),
            ("attempts without a verdict", unscored),
            ("profile", answer.profile),
        ),
    )
    return pages.with_figures(shown, answer, ("waterfall", "dots"))


def _sentence(answer: SpeedupResult) -> str:
    """Return the largest speedup, and how it compares with the reference solution."""
    known = {key: speedup for key, each in answer.summary.items() if (speedup := each.mean_speedup) is not None}
    if not known:
        return "No benchmark of any attempt could be compared."
    best = max(known, key=lambda key: (known[key], key))
    summary, count = answer.summary[best], answer.summary[best].counts["mean_speedup"]
    comparison, advantage = "", summary.agent_advantage
    if advantage is not None:
        # Both are means over tasks; over the same tasks, their difference is the reference solution's speedup.
        is_same = count == summary.counts["agent_advantage"]
        reference = f" ({known[best] - advantage:.3f})" if is_same else ""
        more = "more" if advantage >= 0 else "less"
        comparison = f", {abs(advantage):.3f} {more} than the reference solution{reference}"
    if len(answer.tasks) == 1:
        return _sentence_of_task(answer, best, comparison)
    return (
        f"{best} has the largest mean speedup: {known[best]:.3f} times as fast over {count.n:,} of "
        f"{counted(count.of, 'task')}{comparison}."
    )


def _sentence_of_task(answer: SpeedupResult, best: str, comparison: str) -> str:
    """Return the speedup of the fastest candidate, and the number of faster and slower benchmarks."""
    attempt = next(attempt for attempt in answer.attempts if attempt.agent == best)
    benchmarks = attempt.per_benchmark_speedups.values()
    verdicts = Counter(each.verdict for each in benchmarks if each.agent_speedup is not None)
    listed = ", ".join(f"{verdicts[verdict]} {word}" for verdict, word in VERDICTS.items() if verdicts[verdict])
    valid = f"{attempt.num_valid_benchmarks:,} of {counted(attempt.num_benchmarks, 'benchmark')}"
    fastest = ", the fastest," if len(answer.summary) > 1 else ""
    speed = "not measured"
    if attempt.task_speedup is not None:
        overall = next(iter(attempt.levels), None)
        slower = "slower: " if round(attempt.task_speedup, 3) < 1 else ""
        is_noise = set(verdicts) == {"unclear"} if overall is None else overall.is_noise
        speed = f"{'within noise: ' if is_noise else slower}{attempt.task_speedup:.3f} times as fast"
        if overall is not None and overall.low is not None and len(attempt.levels) > 1:
            speed += f" (interval {bounds_text(overall.low, overall.high, 'ratio')})"
    return f"{best}{fastest} is {speed} over {valid}{f' ({listed})' if listed else ''}{comparison}."


def _attempt_table(answer: SpeedupResult, *, is_one: bool) -> PageTable:
    attempts = answer.attempts
    is_compared = any(attempt.agent_advantage is not None for attempt in attempts)
    names = [name for name in OF_ATTEMPT if is_compared or name in ALONE]
    tasks = [attempt.task for attempt in attempts]
    columns = [
        *([] if is_one else [pages.id_column("task", "task", "speedup", tasks)]),
        pages.text_column("agent", "agent", [attempt.key for attempt in attempts]),
        replace(_valid_column(attempts), spare=2),
        pages.Column(name="success", title="success", values=[_flag(attempt.success) for attempt in attempts], spare=1),
        *(_metric(name, [_figure(attempt, name) for attempt in attempts], spare=OF_ATTEMPT[name]) for name in names),
        _cost_column([attempt.task_cost_usd for attempt in attempts]),
    ]
    caption = f"Task: {tasks[0]}, profile {answer.profile}" if is_one else "Attempts"
    return pages.PageTable(name="attempts", caption=caption, columns=tuple(columns))


def _further_table(answer: SpeedupResult) -> PageTable:
    """Return the metrics of attempts that the table of attempts does not have."""
    attempts = answer.attempts
    names = [metric.name for metric in catalog().at("task") if metric.name not in OF_ATTEMPT]
    values = {name: [_figure(attempt, name) for attempt in attempts] for name in names}
    metrics = [_metric(name, column) for name, column in values.items() if any(value is not None for value in column)]
    columns = (
        pages.text_column("task", "task", [attempt.task for attempt in attempts]),
        pages.text_column("agent", "agent", [attempt.key for attempt in attempts]),
        *metrics,
    )
    return pages.PageTable(
        name="further", caption="Further metrics of attempts", columns=columns if metrics else (), is_folded=True
    )


def _benchmark_table(answer: SpeedupResult) -> PageTable:
    """Return the speedups of each benchmark."""
    total = sum(len(attempt.per_benchmark_speedups) for attempt in answer.attempts)
    benchmarks = (
        (attempt, name, speedups)
        for attempt in answer.attempts
        for name, speedups in attempt.per_benchmark_speedups.items()
    )
    rows = list(islice(benchmarks, MAX_BENCHMARKS))
    names = [metric.name for metric in catalog().at("benchmark")]
    values = {name: [getattr(speedups, name, None) for *_, speedups in rows] for name in names}
    columns = (
        pages.text_column("task", "task", [attempt.task for attempt, *_ in rows]),
        pages.text_column("agent", "agent", [attempt.key for attempt, *_ in rows]),
        pages.text_column("benchmark", "benchmark", [name for _, name, _ in rows]),
        *(_metric(name, column) for name, column in values.items() if any(value is not None for value in column)),
        pages.text_column("verdict", "verdict", [speedups.verdict for *_, speedups in rows]),
    )
    return pages.PageTable(
        name="benchmarks", caption="Benchmarks", columns=columns, left_out=total - len(rows), is_folded=True
    )


def _figure(attempt: SpeedupAttempt, name: str) -> float | None:
    value: float | None = attempt.measures[name] if name in attempt.measures else getattr(attempt, name, None)
    return value


def _cost_column(values: Sequence[float | None]) -> Column:
    texts = [pages.number_text(value, "USD") for value in values]
    return pages.Column(name="cost", title="cost ↓", values=values, decimals=6, texts=texts, spare=1)


def _valid_column(counts: Sequence[SpeedupAttempt | SpeedupSummary | BenchmarkLevel]) -> Column:
    return pages.Column(
        name="valid",
        title="valid",
        values=[each.num_valid_benchmarks for each in counts],
        decimals=0,
        texts=[f"{each.num_valid_benchmarks:,} of {each.num_benchmarks:,}" for each in counts],
    )


def _agent_table(answer: SpeedupResult, caption: str) -> PageTable:
    agents = list(answer.summary.values())
    intervals = [each.log_advantage_interval for each in agents]
    level = next((interval.confidence for interval in intervals if interval.known), LEVEL)
    ends = [
        "\n".join(filter(None, (decimal_bounds(each.low, each.high, decimals=3, signed=True), each.mark)))
        for each in intervals
    ]
    tasks = [each.counts["mean_log_advantage"] for each in agents]
    columns = (
        pages.text_column("agent", "agent", list(answer.summary)),
        pages.Column(
            name="tasks",
            title="tasks",
            values=[count.n for count in tasks],
            decimals=0,
            texts=[_share(count) for count in tasks],
            spare=2,
        ),
        replace(_valid_column(agents), spare=5),
        *(_summed(answer, name, spare) for name, spare in OF_AGENT.items()),
        pages.Column(
            name="interval",
            title=interval_name(level),
            values=[each.low for each in intervals],
            decimals=6,
            texts=ends,
            spare=3,
            legend=pages.interval_legend(intervals),
        ),
        *(_summed(answer, name, spare) for name, spare in FURTHER.items()),
        pages.Column(
            name="pareto_optimal",
            title="Pareto\noptimal",
            values=[_flag(each.pareto_optimal) for each in agents],
            spare=4,
        ),
    )
    return pages.PageTable(caption=caption, columns=columns)


def _summary_table(answer: SpeedupResult) -> PageTable:
    """Return success, advantages by level, cost and pass@k per agent; the last row is about all agents."""
    # Without a reference solution there are no advantages.
    is_compared = any(each.agent_advantage is not None for each in answer.summary.values())
    names = [name for name in OVER_TASKS if is_compared or name in ("mean_success_rate", "total_cost")]
    tries = sorted({int(k) for each in answer.summary.values() for k in each.pass_at_k or ()})[:MAX_TRIES]
    feet = {"total_cost": pages.number_text(answer.run.total_cost, "USD")}
    columns = (
        pages.Column(name="agent", title="agent", values=list(answer.summary), foot="all agents"),
        *(replace(_summed(answer, name, OVER_TASKS[name]), foot=feet.get(name, "")) for name in names),
        *(_pass_column(answer, str(k)) for k in tries),
    )
    return pages.PageTable(
        name="summary", caption="Over tasks: success, advantage by level, cost, pass@k", columns=columns
    )


def _relative_table(answer: SpeedupResult) -> PageTable:
    """Return the means of speedup ratios per agent, and how much one task weighs in its log advantage."""
    names = [name for name in RELATIVE if any(getattr(each, name) is not None for each in answer.summary.values())]
    columns = (
        pages.text_column("agent", "agent", list(answer.summary)),
        *(_summed(answer, name, spare=0) for name in names),
    )
    return pages.PageTable(
        name="relative",
        caption="Over tasks, relative to the reference solution",
        columns=columns if names else (),
        is_folded=True,
    )


def _pass_column(answer: SpeedupResult, k: str) -> Column:
    values = [(each.pass_at_k or {}).get(k) for each in answer.summary.values()]
    return pages.Column(
        name=f"pass_at_{k}",
        title=f"pass@{k}\n↑",
        values=values,
        decimals=6,
        texts=[pages.number_text(value, "fraction") for value in values],
        spare=0 if k == "1" else 2,
        foot=pages.number_text((answer.run.pass_at_k or {}).get(k), "fraction"),
    )


def _summed(answer: SpeedupResult, name: str, spare: int) -> Column:
    """Return a metric per agent, with the number of tasks below it if some tasks lack it."""
    values = [getattr(each, name) for each in answer.summary.values()]
    counts = [each.counts[name] for each in answer.summary.values()]
    column = _metric(name, values, spare=spare)
    texts = [
        f"{text}\n({_share(count)})" if value is not None and count.n < count.of else text
        for value, text, count in zip(values, column.texts or (), counts, strict=True)
    ]
    return replace(column, texts=texts)


def _metric(name: str, values: Sequence[float | None], *, spare: int = 0) -> Column:
    metric = catalog()[name]
    texts = [pages.number_text(value, metric.unit) for value in values]
    return pages.Column(name=name, title=metric.heading(), values=values, decimals=6, texts=texts, spare=spare)


def _share(count: SampleCount) -> str:
    return f"{count.n:,} of {count.of:,}"


def _flag(value: bool | None) -> str:
    return {True: "yes", False: "no", None: pages.DASH}[value]


def _level_tables(answer: SpeedupResult) -> tuple[list[PageTable], float]:
    """Return the benchmarks of each attempt by module, class and function, and the largest change beyond noise.

    It has the longest bar in all tables, which share one log scale.
    """
    changes = [
        each.agent_speedup
        for attempt in answer.attempts
        for each in attempt.levels
        if each.agent_speedup is not None and not each.is_noise
    ]
    longest = max(changes, key=lambda value: abs(math.log(value)), default=1.0)
    return [_level_table(attempt, longest) for attempt in answer.attempts if attempt.levels], longest


def _level_table(attempt: SpeedupAttempt, longest: float) -> PageTable:
    levels = attempt.levels
    speedups, references = [each.agent_speedup for each in levels], [each.oracle_speedup for each in levels]
    intervals = [bounds_text(each.low, each.high, "ratio") + ", within noise" * each.is_noise for each in levels]
    interval = pages.Column(
        name="interval", title="interval", values=[each.low for each in levels], decimals=6, texts=intervals
    )
    columns = [
        pages.text_column("benchmark", "benchmark", [each.name for each in levels]),
        _ratio_column("speedup", speedups),
        *([interval] if any(each.low is not None or each.is_noise for each in levels) else []),
        *([_ratio_column("reference", references)] if any(value is not None for value in references) else []),
        *(
            [replace(_valid_column(levels), spare=1)]
            if any(each.num_valid_benchmarks < each.num_benchmarks for each in levels)
            else []
        ),
        pages.Column(
            name="change",
            title="change",
            values=[_bar(each, longest) for each in levels],
            styles=[_style(each) for each in levels],
            spare=2,
        ),
    ]
    caption = f"Speedup by benchmark: {attempt.key}"
    return pages.PageTable(name=f"benchmarks-{attempt.key}", caption=caption, columns=tuple(columns))


def _ratio_column(name: str, values: Sequence[float | None]) -> Column:
    texts = [pages.DASH if value is None else f"{quantity(value, 'ratio')}x" for value in values]
    return pages.Column(name=name, title=name, values=values, decimals=6, texts=texts)


def _bar(level: BenchmarkLevel, longest: float) -> str:
    """Return a bar on a log scale; empty if there is no speedup."""
    if level.agent_speedup is None:
        return ""
    cells = 0
    if longest != 1:
        cells = min(round(abs(math.log(level.agent_speedup) / math.log(longest)) * BAR), BAR)
    return ("◀" if level.agent_speedup < 1 else "▶") + "█" * cells if cells else "|"


def _style(level: BenchmarkLevel) -> Style | None:
    """Return green from the reference solution's speedup on, red if slower than before; noise has no color."""
    if level.agent_speedup is None or level.is_noise:
        return "dim"
    if level.agent_speedup >= (level.oracle_speedup or 1):
        return "green"
    return "yellow" if level.agent_speedup >= 1 else "red"


def _curve_table(answer: SpeedupResult) -> PageTable:
    """Return pass@k, opt@k, fast_p and opt_p of each agent and of all, with one row per value."""
    owners: Mapping[str, SpeedupSummary | SpeedupRun] = {**answer.summary, "all agents": answer.run}
    points = [
        (agent, name, at, value, each.counts[name] if name in each.counts else each.counts_by_k[name][at])
        for agent, each in owners.items()
        for field, name in CURVES.items()
        for at, value in (getattr(each, field, None) or {}).items()
    ]
    columns = (
        pages.text_column("agent", "agent", [point[0] for point in points]),
        pages.text_column("metric", "metric", [point[1].replace("_beyond", ", fewer tasks") for point in points]),
        pages.text_column("at", "k or p", [point[2] for point in points]),
        pages.level_column("value", "value", [point[3] for point in points], "fraction"),
        pages.text_column("based_on", "tasks or attempts", [_share(point[4]) for point in points]),
    )
    return pages.PageTable(name="curves", caption="Values at each k and p", columns=columns, is_folded=True)


def _missing_table(answer: SpeedupResult) -> PageTable:
    rows = list(_missing(answer))
    titles = ("task", "agent", "metric", "reason")
    columns = tuple(pages.text_column(title, title, [row[place] for row in rows]) for place, title in enumerate(titles))
    return pages.PageTable(name="missing", caption="Missing values", columns=columns, is_folded=True)


def _missing(answer: SpeedupResult) -> Iterator[tuple[str, str, str, str]]:
    for attempt in answer.attempts:
        yield from ((attempt.task, attempt.key, name, reason) for name, reason in attempt.missing.items())
    for agent, summary in answer.summary.items():
        yield from (("all tasks", agent, name, reason) for name, reason in summary.missing.items())
    yield from (("all tasks", "all agents", name, reason) for name, reason in answer.run.missing.items())
