"""One name, one number: whichever verb gives a metric, the same runs, weight and policy give the same bits.

Every figure is also recomputed here from the runs alone, with fractions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

import steelyard as sy
from commands import steelyard
from matchups import write
from steelyard.metrics import Metric, catalog, constants_of, evaluate
from steelyard.questions.analysis import _intervals
from steelyard.questions.explain import Explanation
from steelyard.questions.measure import Measurement, Statistics
from steelyard.records import (
    RUN_FIELDS,
    Action,
    Change,
    Component,
    ComponentType,
    Judgment,
    Missing,
    Run,
    Step,
    Steps,
    derived_fields,
)
from steelyard.statistics import Interval

WEIGHTS, POLICIES, AGENTS = ("runs", "tasks"), ("exclude", "fail"), ("x", "y")
OF_RUNS = [declared for declared in catalog().at("run") if declared.spec == "outcome"]
OF_GROUPS = [declared for declared in catalog().at("group") if declared.spec == "outcome"]
ESTIMATES = [declared for declared in (*OF_RUNS, *OF_GROUPS) if declared.is_estimate]
Settings = tuple[str, str]


def uneven_runs(seed: int) -> list[Run]:
    """Two agents on ten tasks: attempts differ, facts and verdicts lack here and there, rows come in any order."""
    chance = random.Random(seed)
    began = datetime(2026, 1, 1, tzinfo=UTC)

    def maybe(value: Any, share: float = 0.2) -> Any:
        return None if chance.random() < share else value

    runs = [
        Run(
            id=f"{seed}-{agent}-{task}-{attempt}",
            task=f"task-{task}",
            agent=agent,
            tier="T0" if agent == "x" else "T1",
            attempt=attempt,
            passed=maybe(chance.random() < 0.3 + 0.05 * task),
            impl_rate=maybe(round(chance.random(), 3)),
            cost_usd=maybe(round(chance.lognormvariate(-2, 1.5), 4)),
            started_at=began,
            ended_at=maybe(began + timedelta(microseconds=chance.randrange(10**6, 10**9))),
            steps=maybe(_steps(chance)),
            actions=maybe(tuple(Action(weight=chance.random(), goal_alignment=chance.random()) for _ in range(3))),
            changes=maybe(
                tuple(Change(failed=chance.random() < 0.3, reverted=chance.random() < 0.2) for _ in range(3))
            ),
            components=maybe((_component("TOOL_SCHEMA", chance), _component("SKILL_PROMPT", chance))),
        )
        for agent in AGENTS
        for task in range(10)
        for attempt in range(1, chance.choice((1, 1, 2, 4)) + 1)
    ]
    runs = [
        msgspec.structs.replace(run, outcome="errored") if run.passed is None and chance.random() < 0.5 else run
        for run in runs
    ]
    chance.shuffle(runs)
    return runs


def _steps(chance: random.Random) -> Steps:
    expected = tuple(Step(id=name, weight=0.1 + chance.random()) for name in "abc")
    return Steps(expected=expected, achieved=tuple(chance.sample("abcx", 2)))


def _component(type_: str, chance: random.Random) -> Component:
    return Component(type=ComponentType[type_], input_tokens=chance.randrange(1000), output_tokens=chance.randrange(9))


@cache
def profile_of(unscored: str) -> sy.Profile:
    shipped = sy.load_profile("outcome-1")
    return shipped.with_constant("unscored_fails", 1) if unscored == "fail" else shipped


_given: dict[tuple[str | None, str], dict[str, float | None]] = {}


def given(run: Run, unscored: str) -> dict[str, float | None]:
    """The facts and metrics of one run, as plain numbers."""
    if (run.id, unscored) not in _given:
        known: dict[str, Any] = {}
        facts = derived_fields(run)
        for declared in OF_RUNS:
            evaluate(declared.name, facts, profile_of(unscored), known)
        values = {
            name: known.get(name, facts.get(name)) for name in (*RUN_FIELDS, *(metric.name for metric in OF_RUNS))
        }
        _given[run.id, unscored] = {
            name: None if isinstance(value, Missing) else value for name, value in values.items()
        }
    return _given[run.id, unscored]


def as_given(runs: Sequence[Run], unscored: str) -> list[dict[str, float | None]]:
    return [given(run, unscored) for run in runs]


def mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    if not numbers:
        return None
    if any(math.isinf(number) for number in numbers):
        return math.inf
    return float(sum(map(Fraction, numbers)) / len(numbers))


def total(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return float(sum(map(Fraction, numbers))) if numbers else None


def weighted(pairs: Iterable[tuple[str, float]], weight_by: str) -> float | None:
    by_task: dict[str, list[float]] = {}
    for task, value in pairs:
        by_task.setdefault(task, []).append(value)
    if weight_by == "runs":
        return mean(value for values in by_task.values() for value in values)
    return mean(own for values in by_task.values() if (own := mean(values)) is not None)


def recomputed(declared: Metric, runs: Sequence[Run], settings: Settings) -> float | None:
    """The figure over these runs, from nothing but the runs and the formula."""
    weight_by, unscored = settings
    rows = list(zip((str(run.task) for run in runs), as_given(runs, unscored), strict=True))
    if declared.level == "run":
        known = [(task, value) for task, row in rows if (value := row[declared.name]) is not None]
        return weighted(known, weight_by)
    complete = [(task, row) for task, row in rows if all(row.get(of) is not None for of in declared.needs.values())]
    adds_up = weight_by == "runs" and any(spec.reduce == "sum" for spec in declared.inputs.values())
    inputs = {
        name: total(row[of] for _, row in complete)
        if adds_up
        else weighted(((t, row[of]) for t, row in complete), weight_by)  # type: ignore[misc]
        for name, of in declared.needs.items()
    }
    if None in inputs.values():
        return None
    value = declared(**inputs, **constants_of(declared, sy.load_profile("outcome-1")))
    return None if isinstance(value, Missing) else value


def common_runs(declared: Metric, runs: Sequence[Run], unscored: str) -> list[Run]:
    """The runs on the tasks for which both agents have a value."""
    names = [declared.name] if declared.level == "run" else list(declared.needs.values())
    has = {
        (run.agent, run.task)
        for run, row in zip(runs, as_given(runs, unscored), strict=True)
        if all(row.get(name) is not None for name in names)
    }
    return [run for run in runs if all((agent, run.task) in has for agent in AGENTS)]


def shown_by(result: Measurement | Explanation, metric: str) -> dict[str, float | None]:
    figures = {}
    for group in result.groups:
        value = group.metrics[metric]
        figures[str(group.key["agent"])] = value.mean if isinstance(value, Statistics) else value.value
    return figures


def by_measure(declared: Metric, runs: Any, settings: Settings) -> dict[str, float | None]:
    weight_by, unscored = settings
    return shown_by(sy.measure(runs, by=["agent"], weight_by=weight_by, unscored=unscored), declared.name)


def by_explain(declared: Metric, runs: Any, settings: Settings) -> dict[str, float | None]:
    weight_by, unscored = settings
    told = sy.explain(runs, declared.name, by=["agent"], weight_by=weight_by, unscored=unscored)
    return shown_by(told, declared.name)


def by_rank(declared: Metric, runs: Any, settings: Settings) -> dict[str, float | None]:
    weight_by, unscored = settings
    options = {"weight_by": weight_by, "unscored": unscored, "resamples": 100, "min_task_coverage": 0.0}
    ranking = sy.rank(runs, by=["agent"], metrics=[declared.name], **options)
    return {str(place.key["agent"]): place.score.estimate for place in ranking.groups}


def by_compare(declared: Metric, runs: Any, settings: Settings) -> dict[str, float | None]:
    weight_by, unscored = settings
    options = {"weight_by": weight_by, "unscored": unscored, "resamples": 100}
    compared = sy.compare(runs, baseline="agent=x", candidate="agent=y", metrics=[declared.name], **options)
    difference = compared.pairs[0].metrics[declared.name]
    return {"x": difference.baseline, "y": difference.candidate}


def by_gate(declared: Metric, runs: Sequence[Run], settings: Settings) -> dict[str, float | None]:
    weight_by, unscored = settings
    sides = {agent: [run for run in runs if run.agent == agent] for agent in AGENTS}
    rule = f"{declared.name} >= -0.5"
    options = {"weight_by": weight_by, "unscored": unscored, "resamples": 100}
    check = sy.gate(sides["y"], baseline=sides["x"], rule=rule, **options).rules[0]
    return {"x": check.baseline, "y": check.candidate}


VERBS: dict[str, Callable[[Metric, Any, Settings], dict[str, float | None]]] = {
    "measure": by_measure,
    "explain": by_explain,
    "rank": by_rank,
    "compare": by_compare,
    "gate": by_gate,
}
ON_COMMON_TASKS = ("rank", "compare", "gate")


def unbounded(declared: Metric, runs: Sequence[Run], unscored: str) -> bool:
    return any(math.isinf(row.get(declared.name) or 0) for row in as_given(runs, unscored))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("unscored", POLICIES)
@pytest.mark.parametrize("weight_by", WEIGHTS)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_every_verb_gives_the_recomputed_figure_to_the_last_bit(
    seed: int, weight_by: str, unscored: str, verb: str
) -> None:
    runs, settings, checked = uneven_runs(seed), (weight_by, unscored), 0
    for declared in ESTIMATES:
        if verb == "rank" and declared.better == "neither":
            continue
        counted = common_runs(declared, runs, unscored) if verb in ON_COMMON_TASKS else runs
        if not counted or (verb in ON_COMMON_TASKS and unbounded(declared, runs, unscored)):
            continue  # the verb says that it cannot
        figures = VERBS[verb](declared, runs, settings)
        for agent in AGENTS:
            own = [run for run in counted if run.agent == agent]
            assert figures[agent] == recomputed(declared, own, settings), (declared.name, agent)
            checked += 1
    assert checked >= 24


@pytest.mark.parametrize("weight_by", WEIGHTS)
def test_three_file_formats_and_any_order_of_rows_give_the_same_bits(tmp_path: Path, weight_by: str) -> None:
    runs = uneven_runs(3)
    whole = write(tmp_path / "runs.jsonl", runs)
    options = {"by": ["agent"], "weight_by": weight_by, "interval": "auto"}
    expected = sy.measure(runs[::-1], **options).to_dict()["groups"]
    for ending in ("jsonl", "csv", "parquet"):
        path = tmp_path / f"again.{ending}"
        assert steelyard("read", whole, "--out", str(path)).status == 0
        assert sy.measure(path, **options).to_dict()["groups"] == expected


def test_the_figures_beside_a_rank_are_those_of_measure() -> None:
    runs = uneven_runs(4)
    for weight_by in WEIGHTS:
        ranking = sy.rank(runs, by=["agent"], metrics=["pass_rate"], weight_by=weight_by, resamples=100)
        counted = common_runs(catalog()["pass_rate"], runs, "exclude")
        measured = sy.measure(counted, by=["agent"], weight_by=weight_by)
        for place in ranking.groups:
            agent = str(place.key["agent"])
            assert place.cost_usd == shown_by(measured, "cost_usd")[agent]
            assert place.cost_of_pass == shown_by(measured, "cost_of_pass")[agent]


def test_totals_are_never_weighted() -> None:
    runs = uneven_runs(5)
    by_runs, by_tasks = (sy.measure(runs, by=["agent"], weight_by=weight_by) for weight_by in WEIGHTS)
    totals = [declared.name for declared in OF_GROUPS if declared.is_total]
    over_runs = [declared.name for declared in OF_RUNS]
    assert totals
    for first, second in zip(by_runs.groups, by_tasks.groups, strict=True):
        assert [first.metrics[name] for name in totals] == [second.metrics[name] for name in totals]
        for name in over_runs:
            same = ("median", "mode", "min", "max", "std_dev", "count", "missing")
            assert [getattr(first.metrics[name], which) for which in same] == [
                getattr(second.metrics[name], which) for which in same
            ]
        assert first.grade == second.grade


def intervals_in(value: Any) -> Iterator[tuple[str | None, Interval]]:  # Any: a result or a part of one
    """Every interval in a result, with the metric it is told of where one is named."""

    def walk(part: Any, metric: str | None) -> Iterator[tuple[str | None, Interval]]:
        if isinstance(part, Interval):
            yield metric, part
        elif isinstance(part, msgspec.Struct) or (is_dataclass(part) and not isinstance(part, type)):
            named = getattr(part, "metric", None) or getattr(part, "on", None)
            own = named if isinstance(named, str) else metric
            is_struct = isinstance(part, msgspec.Struct)
            for name in part.__struct_fields__ if is_struct else [field.name for field in fields(part)]:
                yield from walk(getattr(part, name), own)
        elif isinstance(part, Mapping):
            for key, inner in part.items():
                yield from walk(inner, key if isinstance(key, str) and key in catalog() else metric)
        elif isinstance(part, (list, tuple)):
            for inner in part:
                yield from walk(inner, metric)

    yield from walk(value, None)


def holds_its_figure(interval: Interval) -> bool:
    if interval.estimate is None or interval.low is None or interval.high is None:
        return True
    return interval.low <= interval.estimate <= interval.high


@pytest.mark.parametrize("unscored", POLICIES)
@pytest.mark.parametrize("weight_by", WEIGHTS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))])
def test_every_interval_holds_its_own_figure_within_the_bounds(seed: int, weight_by: str, unscored: str) -> None:
    runs = uneven_runs(10 + seed)
    options = {"weight_by": weight_by, "unscored": unscored}
    results: list[Any] = [
        sy.measure(runs, by=["agent"], interval=method, **options) for method in _intervals.METHODS if method != "none"
    ]
    results += [
        sy.compare(runs, baseline="agent=x", candidate="agent=y", interval=method, resamples=200, **options)
        for method in ("auto", "paired-t", "percentile", "bca")
    ]
    results += [
        sy.rank(runs, by=["agent"], metrics=[name], resamples=200, **options)
        for name in ("pass_rate", "composite_score", "cost_usd", "cost_of_pass", "duration_seconds")
    ]
    seen = 0
    for result in results:
        for metric, interval in intervals_in(result):
            assert holds_its_figure(interval), (metric, interval)
            seen += interval.known
            if isinstance(result, Measurement) and interval.low is not None and interval.high is not None:
                low, high = catalog()[str(metric)].bounds
                assert low <= interval.low <= interval.high <= high
    assert seen > 50


@pytest.mark.parametrize("seed", range(4))
def test_the_intervals_of_judges_hold_their_figures(seed: int) -> None:
    chance = random.Random(seed)
    runs = [
        Run(
            id=f"{task}-{attempt}",
            task=f"t{task}",
            agent="x",
            judgments=tuple(
                Judgment(judge=judge, weighted_score=(score := round(chance.random(), 2)), passed=score > 0.5)
                for judge in "abc"
                if chance.random() < 0.8
            )
            or None,
        )
        for task in range(12)
        for attempt in range(chance.choice((1, 3)))
    ]
    intervals = [interval for _, interval in intervals_in(sy.judges(runs)) if interval.known]
    assert intervals
    assert all(map(holds_its_figure, intervals))


def test_pass_at_k_stays_a_share() -> None:
    # two tasks, one passed: Student's bounds of the mean would be -5.85 and 6.85
    runs = [
        Run(id=f"{task}-{attempt}", task=task, agent="x", passed=task == "a") for task in "ab" for attempt in range(2)
    ]
    place = sy.rank(runs, by=["agent"], metrics=["pass_rate"]).groups[0]
    once = place.pass_at_k["1"]
    assert 0 < once.low < once.estimate == 0.5 < once.high < 1
    assert (once.low, once.high) == pytest.approx((place.score.low, place.score.high))  # pass@1 is the pass rate


@pytest.mark.parametrize("verb", ["measure", "rank"])
def test_the_interval_of_the_other_weight_would_be_noticed(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty tasks passed four times and thirty failed once: over runs 0.8, over tasks 0.5."""
    runs = [Run(id=f"a-{i}", task=f"a-{i % 30}", agent="x", passed=True) for i in range(120)]
    runs += [Run(id=f"b-{i}", task=f"b-{i}", agent="x", passed=False) for i in range(30)]
    real, automatic = _intervals._means, _intervals.auto_means

    def of_runs(metric: Metric, rows: Any, method: str, **_options: Any) -> list[Interval]:
        whole = _intervals._Rows(values := _values(runs), values.astype(int) * 0, _tasks(runs), rows.size, rows.level)
        return real(metric, whole, method)

    def auto_of_runs(*arguments: Any, **options: Any) -> list[Interval]:
        return automatic(*arguments, **(options | {"weight_by": "runs"}))

    monkeypatch.setattr(_intervals, "_means", of_runs)
    monkeypatch.setattr(_intervals, "auto_means", auto_of_runs)
    noticed: list[bool] = []
    holds = _intervals.holds

    def watched(*arguments: Any) -> bool:
        noticed.append(not holds(*arguments))
        return holds(*arguments)

    monkeypatch.setattr(_intervals, "holds", watched)
    if verb == "measure":
        sy.measure(runs, metrics=["pass_rate"], interval="clustered", weight_by="tasks")
    else:
        monkeypatch.setattr("steelyard.questions.analysis._samples.group_intervals", _intervals.group_intervals)
        sy.rank(runs, by=["agent"], metrics=["pass_rate"], weight_by="tasks", resamples=100)
    assert any(noticed)  # the limits of the mean over runs do not hold the mean over tasks


def _values(runs: Sequence[Run]) -> Any:
    import numpy as np

    return np.array([float(bool(run.passed)) for run in runs])


def _tasks(runs: Sequence[Run]) -> Any:
    import numpy as np

    return np.unique([str(run.task) for run in runs], return_inverse=True)[1]
