"""Ranking: rank intervals, cost, and independence of names."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import msgspec
import pytest

import steelyard as sy
from commands import steelyard
from matchups import made_runs, write
from steelyard.errors import NoValidInputError, UnknownNameError, UsageError
from steelyard.records import Run
from steelyard.statistics import pass_at_k


def rank_intervals_of(result):
    return {place.key["agent"]: place.rank_interval for place in result.groups}


def test_clear_differences_get_a_place_and_equals_a_band() -> None:
    runs = made_runs({"top": 0.95, "mid-1": 0.5, "mid-2": 0.5, "low": 0.05}, tasks=80, attempts=3)
    result = sy.rank(runs, by=["agent"], metrics=["pass_rate"])
    assert rank_intervals_of(result) == {"top": (1, 1), "mid-1": (2, 3), "mid-2": (2, 3), "low": (4, 4)}
    assert result.groups[0].key["agent"] == "top"
    assert result.test == "sign-flip max-t, step-down"


def test_noise_is_one_band() -> None:
    runs = made_runs({f"agent-{i}": 0.5 for i in range(6)}, tasks=30)
    assert set(rank_intervals_of(sy.rank(runs, by=["agent"], metrics=["pass_rate"])).values()) == {(1, 6)}


@pytest.mark.parametrize("order", ["mean", "bradley-terry", "ranked-pairs"])
def test_names_and_order_of_rows_change_no_band(order) -> None:
    runs = made_runs({"a": 0.8, "b": 0.5, "c": 0.45, "d": 0.2}, tasks=40, attempts=2)
    turned = {"a": "d", "b": "c", "c": "b", "d": "a"}
    renamed = [msgspec.structs.replace(run, agent=turned[run.agent or ""]) for run in runs]
    random.Random(1).shuffle(renamed)
    first = sy.rank(runs, by=["agent"], metrics=["pass_rate"], order=order)
    second = sy.rank(renamed, by=["agent"], metrics=["pass_rate"], order=order)
    assert {turned[name]: interval for name, interval in rank_intervals_of(first).items()} == rank_intervals_of(second)
    shares = {turned[str(place.key["agent"])]: (place.pareto_frequency, place.score) for place in first.groups}
    assert shares == {place.key["agent"]: (place.pareto_frequency, place.score) for place in second.groups}


def test_all_orders_agree_on_what_is_clear() -> None:
    runs = made_runs({"top": 0.9, "mid": 0.5, "low": 0.1}, tasks=60, attempts=3)
    for order in ("mean", "bradley-terry", "ranked-pairs"):
        result = sy.rank(runs, by=["agent"], metrics=["pass_rate"], order=order)
        assert rank_intervals_of(result) == {"top": (1, 1), "mid": (2, 2), "low": (3, 3)}


def test_lower_is_better_for_cost() -> None:
    runs = made_runs({"dear": 0.5}, cost=1.0) + made_runs({"cheap": 0.5}, cost=0.1)
    assert sy.rank(runs, by=["agent"], metrics=["cost_usd"]).groups[0].key["agent"] == "cheap"


def test_who_is_beaten_on_score_and_cost_is_not_on_the_front() -> None:
    runs = made_runs({"good": 0.9}, cost=1.0) + made_runs({"bad": 0.2}, cost=0.1)
    runs += made_runs({"worse": 0.2}, cost=2.0, seed=2)
    places = {place.key["agent"]: place for place in sy.rank(runs, by=["agent"], metrics=["pass_rate"]).groups}
    assert {name: place.pareto_optimal for name, place in places.items()} == {"good": True, "bad": True, "worse": False}
    assert places["good"].pareto_frequency == 1.0
    assert places["worse"].pareto_frequency < 0.01


def test_unknown_cost_is_no_place_on_the_front() -> None:
    runs = made_runs({"one": 0.5, "two": 0.6})
    runs = [msgspec.structs.replace(run, cost_usd=None) if run.agent == "two" else run for run in runs]
    places = {place.key["agent"]: place for place in sy.rank(runs, by=["agent"], metrics=["pass_rate"]).groups}
    assert (places["two"].cost_usd, places["two"].pareto_optimal) == (None, None)
    assert places["one"].pareto_optimal is True


def test_who_tried_few_tasks_is_left_out_and_named() -> None:
    runs = made_runs({"one": 0.5, "two": 0.6}, tasks=20)
    short = [run for run in made_runs({"short": 1.0}, tasks=3) if run.task < "task-002"]
    result = sy.rank([*runs, *short], by=["agent"], metrics=["pass_rate"])
    assert set(rank_intervals_of(result)) == {"one", "two"}
    assert [(one.where, one.message) for one in result.findings if one.code == "task_coverage"] == [
        ("agent short", "excluded: pass_rate is known on 2 of 20 tasks")
    ]
    both = sy.rank([*runs, *short], by=["agent"], metrics=["pass_rate"], min_task_coverage=0)
    assert both.tasks.common == 2
    assert "20 without agent short" in both.findings[-1].message


def test_pass_at_k_stands_beside_and_k_one_is_the_pass_rate() -> None:
    runs = made_runs({"one": 0.4, "two": 0.6}, tasks=15, attempts=4)
    place = sy.rank(runs, by=["agent"], metrics=["pass_rate"]).groups[0]
    own = [run for run in runs if run.agent == place.key["agent"]]
    by_task = {task: sum(run.passed for run in own if run.task == task) for task in {run.task for run in own}}
    for k in (1, 2, 4):
        expected = sum(pass_at_k(4, passed, k) for passed in by_task.values()) / len(by_task)
        assert place.pass_at_k[str(k)].estimate == pytest.approx(expected)
    assert place.pass_at_k["1"].estimate == pytest.approx(place.score.estimate)


def test_one_task_with_a_single_attempt_hides_no_pass_at_k(tmp_path: Path) -> None:
    runs = made_runs({"one": 0.4, "two": 0.6}, tasks=15, attempts=4)
    short = [run for run in runs if run.agent == "two" or run.task != "task-003" or run.attempt == 1]
    place = next(one for one in sy.rank(short, by=["agent"]).groups if one.key["agent"] == "one")
    assert [place.pass_at_k[str(k)].n for k in (1, 2, 4)] == [
        15,
        14,
        14,
    ]  # the task with one attempt says nothing of two
    whole = [run for run in runs if run.agent == "one" and run.task != "task-003"]
    passed = [sum(run.passed for run in whole if run.task == task) for task in sorted({run.task for run in whole})]
    assert place.pass_at_k["2"].estimate == pytest.approx(sum(pass_at_k(4, c, 2) for c in passed) / 14)
    file = write(tmp_path / "runs.jsonl", short)
    assert "14 of 15 tasks" in steelyard("rank", file, "--by", "agent").stdout
    shown = json.loads(steelyard("rank", file, "--by", "agent", "--json").stdout)["groups"]
    assert {one["key"]["agent"]: one["pass_at_k"]["2"]["missing"] for one in shown} == {"one": 1, "two": 0}


@pytest.mark.parametrize("chance", [0.5, 0.97, 1.0])
def test_pass_at_one_is_the_pass_rate_with_its_own_interval(chance) -> None:
    (place,) = sy.rank(made_runs({"one": chance}, tasks=12, attempts=4), by=["agent"], metrics=["pass_rate"]).groups
    first = place.pass_at_k["1"]
    assert (first.estimate, first.low, first.high) == (place.score.estimate, place.score.low, place.score.high)


def test_single_attempts_have_no_pass_at_k_beyond_the_pass_rate() -> None:
    assert sy.rank(made_runs({"one": 0.5}, tasks=5), by=["agent"], metrics=["pass_rate"]).groups[0].pass_at_k == {}


def test_the_score_counts_every_task_the_same_however_often_it_was_tried() -> None:
    runs = made_runs({"one": 0.5, "two": 0.5}, tasks=12)
    again = [Run(id=f"again-{i}", task="task-000", agent="one", passed=True) for i in range(50)]
    place = next(
        one for one in sy.rank([*runs, *again], by=["agent"], metrics=["pass_rate"]).groups if one.key["agent"] == "one"
    )
    own = [run for run in runs if run.agent == "one"]
    first = sum(run.passed for run in own if run.task == "task-000")
    rest = sum(run.passed for run in own if run.task != "task-000")
    assert place.score.estimate == pytest.approx(((first + 50) / 51 + rest) / 12)
    assert (place.score.method, place.score.n) == ("gaffke", 62)


def test_many_agents_are_told_apart() -> None:
    skills = {f"agent-{i:02}": 0.2 + 0.6 * (i >= 12) for i in range(24)}  # 276 pairs
    result = sy.rank(made_runs(skills, tasks=60, attempts=3), by=["agent"], metrics=["pass_rate"])
    assert all(interval[1] <= 12 for name, interval in rank_intervals_of(result).items() if name >= "agent-12")


@pytest.mark.parametrize("order", ["mean", "bradley-terry"])
def test_ten_tasks_are_enough_to_tell_clear_differences_of_many_agents(order) -> None:
    # 45 pairs: one at a time a test of signs has p = 2 / 2^10 at best, which no correction for 45 leaves below 5%
    skills = {f"agent-{i}": 0.02 + 0.96 * (i >= 5) for i in range(10)}
    result = sy.rank(made_runs(skills, tasks=10, attempts=5), by=["agent"], metrics=["pass_rate"], order=order)
    assert all(
        interval == ((1, 5) if name >= "agent-5" else (6, 10)) for name, interval in rank_intervals_of(result).items()
    )


@pytest.mark.parametrize("order", ["mean", "bradley-terry"])
def test_unequal_attempts_alone_put_nobody_ahead(order) -> None:
    # one failure in 20 attempts at each of 8 tasks: 20 single attempts miss all of them with chance (20/21)^8 = 0.68,
    # yet all 8 tasks that differ speak for who tried once, which signs alone take for p = 2 / 2^8
    runs = [Run(id=f"once-{task}", task=f"t{task:02}", agent="once", passed=True) for task in range(20)]
    runs += [
        Run(id=f"often-{task}-{attempt}", task=f"t{task:02}", agent="often", passed=task >= 8 or attempt > 0)
        for task in range(20)
        for attempt in range(20)
    ]
    result = sy.rank(runs, by=["agent"], metrics=["pass_rate"], order=order)
    assert set(rank_intervals_of(result).values()) == {(1, 2)}
    assert result.test.endswith("; permutation of runs")


def test_unequal_attempts_hide_no_clear_difference() -> None:
    runs = made_runs({"low": 0.2, "high": 0.8}, tasks=40)
    again = made_runs({"high": 0.8}, tasks=40, attempts=5, seed=1)
    more = [msgspec.structs.replace(run, id=f"again-{run.id}") for run in again]
    assert rank_intervals_of(sy.rank([*runs, *more], by=["agent"], metrics=["pass_rate"])) == {
        "high": (1, 1),
        "low": (2, 2),
    }


def test_more_than_can_be_ranked_are_refused() -> None:
    runs = [Run(id=str(i), task="t", agent=f"a{i}", passed=True) for i in range(1_001)]
    with pytest.raises(UsageError, match="at most 1,000"):
        sy.rank(runs, by=["agent"], metrics=["pass_rate"])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metrics": ["composit_score"]}, UnknownNameError, "composite_score"),
        ({"metrics": ["schema_overhead"]}, UsageError, "the metric is a total over these runs"),
        ({"metrics": ["tier_uplift"]}, UsageError, "not a per-run metric"),
        ({"metrics": ["cost_of_pass"], "order": "bradley-terry"}, UsageError, "which has no value per task"),
        ({"by": ["agnt"]}, UnknownNameError, "agent"),
        ({"by": ["agent", "task"]}, UsageError, "cannot rank by task"),
        ({"min_task_coverage": 2.0}, UsageError, "must be between 0 and 1"),
        ({"metrics": ["pass_rate", "total_cost_usd"]}, UsageError, "total_cost_usd cannot be compared"),
        ({"metrics": ["r_prog"]}, NoValidInputError, "cannot|no "),
    ],
)
def test_wrong_usage_is_answered(options, error, message) -> None:
    with pytest.raises(error, match=message):
        sy.rank(made_runs({"one": 0.5}, tasks=4), **({"by": ["agent"], "metrics": ["pass_rate"]} | options))


def test_no_task_that_all_tried_is_an_error_that_counts_them() -> None:
    runs = [Run(id="1", task="a", agent="x", passed=True), Run(id="2", task="b", agent="y", passed=True)]
    with pytest.raises(NoValidInputError, match="agent x 1, agent y 1"):
        sy.rank(runs, by=["agent"], metrics=["pass_rate"])


def test_the_command_prints_a_table_and_json(tmp_path: Path) -> None:
    file = write(tmp_path / "runs.jsonl", made_runs({"one": 0.9, "two": 0.2}, tasks=30, attempts=2))
    done = steelyard("rank", file, "--by", "agent", "--metrics", "pass_rate")
    assert done.status == 0
    assert done.stdout.startswith("one passes 61.7 pp more than two on 30 shared tasks (83.3% vs. 21.7%; 95% CI 46.0")
    shown = json.loads(steelyard("rank", file, "--by", "agent", "--json", PYTHONHASHSEED="3").stdout)
    assert shown == json.loads(steelyard("rank", file, "--by", "agent", "--json", PYTHONHASHSEED="4").stdout)
    assert shown["groups"][0]["rank_interval"] == [1, 1]
    assert {"estimate", "low", "high", "method", "n", "clusters", "confidence"} <= set(shown["groups"][0]["score"])


def test_a_leader_without_a_model_is_named_without_one(tmp_path: Path) -> None:
    lines = [
        json.dumps({"id": f"{agent}{n}", "task": f"t{n}", "agent": agent, "passed": n % 2 == 0, "impl_rate": 0.5})
        for agent in "xy"
        for n in range(6)
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    shown = steelyard("rank", str(path)).stdout
    assert "None" not in shown
    assert shown.startswith("x has exactly the same composite score as y on 6 shared tasks")
    assert "\nRank 1 is possible for x and y.\n" in shown


@pytest.mark.parametrize("order", ["mean", "bradley-terry", "ranked-pairs"])
def test_one_agent_alone_is_first_by_every_order(order) -> None:
    (place,) = sy.rank(made_runs({"one": 0.5}, tasks=12), by=["agent"], metrics=["pass_rate"], order=order).groups
    assert (place.rank, place.rank_interval) == (1, (1, 1))


def test_two_agents_are_told_apart_by_strengths() -> None:
    runs = [Run(id=f"{a}{t}", task=f"t{t:02}", agent=a, passed=a == "good") for a in ("bad", "good") for t in range(12)]
    first, second = sy.rank(runs, by=["agent"], metrics=["pass_rate"], order="bradley-terry").groups
    assert (first.key["agent"], second.key["agent"]) == ("good", "bad")
    assert first.strength == pytest.approx(-second.strength)
    assert first.strength > 1
    assert (first.rank_text, second.rank_text) == ("1", "2")


def test_a_mean_cost_over_some_of_the_runs_says_over_how_many(tmp_path: Path) -> None:
    runs = made_runs({"a": 0.8, "b": 0.2}, tasks=10, attempts=2)
    path = write(tmp_path / "runs.jsonl", [msgspec.structs.replace(runs[0], cost_usd=None), *runs[1:]])
    words = ("rank", str(path), "--by", "agent", "--metrics", "pass_rate")
    found = json.loads(steelyard(*words, "--json").stdout)["groups"]
    assert sorted((place["cost_runs"], place["runs"]) for place in found) == [(19, 20), (20, 20)]
    shown = steelyard(*words).stdout
    assert shown.count("(19 of 20)") == 1


def test_bands_allow_for_the_number_of_pairs() -> None:
    # "ahead" beats "behind" on all six tasks: p is 2 / 2^6 = 0.03 for a pair alone, and 0.09 as one of three
    gains = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06]
    scores = {
        "behind": [0.5] * 6,
        "ahead": [0.5 + gain for gain in gains],
        "between": [0.5 + gain / 2 * sign for gain, sign in zip(gains, [1, -1, 1, 1, -1, 1], strict=True)],
    }
    runs = [
        Run(task=f"t{place}", agent=agent, impl_rate=value)
        for agent, values in scores.items()
        for place, value in enumerate(values)
    ]
    two = [run for run in runs if run.agent != "between"]
    assert rank_intervals_of(sy.rank(two, by=["agent"], metrics=["impl_rate"])) == {"ahead": (1, 1), "behind": (2, 2)}
    three = rank_intervals_of(sy.rank(runs, by=["agent"], metrics=["impl_rate"]))
    assert three == {"ahead": (1, 3), "between": (1, 3), "behind": (1, 3)}


def test_without_a_name_the_score_that_most_runs_have_decides_and_is_told() -> None:
    judged = made_runs({"top": 0.9, "low": 0.1}, tasks=20)
    passed = [msgspec.structs.replace(run, impl_rate=None) for run in judged]
    result = sy.rank(passed, by=["agent"], resamples=200)
    assert result.metrics[0] == "pass_rate"
    (told,) = [finding for finding in result.findings if finding.code == "ranked_on"]
    assert told.message == (
        "ranked by pass_rate, known for 40 of 40 runs; "
        "composite_score, which needs a verdict and an impl_rate, is known for 0"
    )
    composite = sy.rank(judged, by=["agent"], resamples=200)
    assert composite.metrics[0] == "composite_score"
    assert not [finding for finding in composite.findings if finding.code == "ranked_on"]


def test_further_metrics_are_shown_beside_the_one_that_decides() -> None:
    runs = made_runs({"top": 0.9, "low": 0.1}, tasks=20, cost=0.5)
    result = sy.rank(runs, by=["agent"], metrics=["pass_rate", "cost_usd", "cost_of_pass"], resamples=200)
    shape = result.to_dict()
    assert shape["metrics"] == ["pass_rate", "cost_usd", "cost_of_pass"]
    for place in shape["groups"]:
        # the same names have the same numbers, wherever they stand
        assert place["extra_metrics"] == {"cost_usd": place["cost_usd"], "cost_of_pass": place["cost_of_pass"]}


@pytest.mark.parametrize(
    ("varying", "keys"),
    [
        ({"tier": ("T0", "T1")}, ("tier",)),
        ({"agent": ("a", "b"), "model": ("m", "n")}, ("agent", "model")),
        ({"experiment": ("x", "y")}, ("experiment",)),
        ({}, ("agent", "model")),
    ],
    ids=["tier", "configurations", "experiment", "nothing"],
)
def test_rank_groups_by_the_keys_that_vary(varying: dict[str, tuple[str, str]], keys: tuple[str, ...]) -> None:
    fixed = {"agent": "a", "model": "m", "tier": "T0", "experiment": "x"}
    runs = [
        {**fixed, **{name: values[side] for name, values in varying.items()}, "task": f"t{task}", "passed": True}
        for side in (0, 1)
        for task in range(3)
    ]
    assert sy.rank(runs, metrics=["pass_rate"]).by == keys


def test_rank_page_states_the_kruskal_wallis_test() -> None:
    ranking = sy.rank(made_runs({"ant": 0.9, "bee": 0.1}), metrics="pass_rate", resamples=100)
    test = ranking.kruskal_wallis["pass_rate"]
    assert test.h is not None
    assert dict(ranking.page().facts)["Kruskal-Wallis test"] == (
        f"pass_rate: H = {test.h:.6g}, p < 0.001 (2 groups, 80 runs)"
    )


def without_verdicts(runs: list[Run]) -> list[Run]:
    """Every 17th run without a verdict."""
    return [
        msgspec.structs.replace(run, passed=None, impl_rate=None) if place % 17 == 0 else run
        for place, run in enumerate(runs)
    ]


@pytest.mark.parametrize("options", [{}, {"unscored": "fail"}, {"weight_by": "runs", "confidence": 0.9}])
@pytest.mark.parametrize("metric", ["pass_rate", "impl_rate", "cost_usd", "cost_of_pass"])
def test_leader_margin_equals_compare(metric: str, options: dict[str, str]) -> None:
    runs = made_runs({"top": 0.8, "mid": 0.6}, tasks=30, attempts=3)
    few = [run for run in made_runs({"low": 0.1}, tasks=30, cost=0.5) if run.task < "task-020"]  # fewer shared tasks
    runs = without_verdicts([*runs, *few])
    ranking = sy.rank(runs, by=["agent"], metrics=[metric], **options)
    leader, second, _ = ranking.groups
    assert ranking.tasks.common <= 20
    compared = (
        sy.compare(runs, baseline=second.key | {}, candidate=leader.key | {}, metrics=[metric], **options)
        .pairs[0]
        .metrics[metric]
    )
    margin = leader.margin
    assert margin is not None
    assert margin.tasks == compared.tasks == 30
    assert (margin.difference, margin.p_value) == (compared.difference, compared.test.p_value)
    assert (margin.leader_value, margin.second_value) == (compared.candidate, compared.baseline)
    assert (margin.verdict, margin.second) == (compared.verdict, second.key["agent"])
    planning = re.compile(r" [\d,]+ to [\d,]+ tasks needed.+?power\)\.| Minimum detectable.+?power\)\.")
    assert margin.sentence == planning.sub("", compared.sentence)
    page = ranking.page()
    assert page.answer == margin.sentence
    assert page.notes[-1].endswith("Ranks are over 20 tasks shared by all groups.") is (ranking.tasks.common == 20)


@pytest.mark.parametrize(
    ("values", "metric", "words"),
    [
        ([1.0, 1.1, 1.2, 1.3], "cost_usd", "a is cheaper."),
        ([1.0, 1.1, 1.2, 1.3], "duration_seconds", "a is faster."),
        ([1.0], "cost_usd", "significance unknown (1 task in common; at least two are needed)."),
    ],
)
def test_first_sentence_of_rank_states_the_decision(values: list[float], metric: str, words: str) -> None:
    runs = [
        {"task": f"t{place}", "agent": agent, "passed": True, metric: value * factor}
        for agent, factor in (("a", 1), ("b", 3), ("c", 9))
        for place, value in enumerate(values)
    ]
    answer = sy.rank(runs, by=["agent"], metrics=[metric]).page().answer
    assert answer.startswith(f"a {'costs' if metric == 'cost_usd' else 'takes'} ")
    assert words in answer
    assert ("95% CI" in answer) is (len(values) > 1)


def test_margin_is_missing_for_one_group_and_other_ranks() -> None:
    (alone,) = sy.rank(made_runs({"one": 0.5}), by=["agent"]).groups
    assert alone.margin is None
    assert sy.rank(made_runs({"one": 0.5}), by=["agent"]).page().answer == "one is the only group; nothing to rank."
    ranking = sy.rank(made_runs({"a": 0.9, "b": 0.5, "c": 0.1}), by=["agent"], metrics=["pass_rate"])
    assert [group.margin is None for group in ranking.groups] == [False, True, True]
    first, *others = ranking.to_dicts()
    assert first["margin_difference"] == pytest.approx(first["score"] - others[0]["score"])
    assert {"margin_difference_low", "margin_verdict", "margin_p_value"} <= first.keys()
    assert first["margin_second"] == "b"
    assert [row["margin_sentence"] for row in others] == [None, None]


def test_margin_names_groups_as_the_table_does() -> None:
    runs = [
        {"task": f"t{n}", "passed": n % step > 0, "agent": agent, "model": model}
        for agent, model, step in (("a", "large", 5), ("a", "small", 3), ("b", "large", 2))
        for n in range(12)
    ]
    answer = sy.rank(runs, by=["agent", "model"], metrics=["pass_rate"]).page().answer
    assert answer.startswith("a large passes 8.3 pp more than a small on 12 shared tasks")  # 9 of 12, 8 of 12


def test_margin_names_groups_without_a_value_of_a_key() -> None:
    runs = [{"task": f"t{n}", "passed": n % 3 > 0, "model": "m"} for n in range(12)]
    runs += [{"task": f"t{n}", "passed": False, "model": "m", "agent": "a"} for n in range(12)]
    ranking = sy.rank(runs, by=["agent"], metrics=["pass_rate"])
    assert ranking.page().answer.startswith("- passes 66.7 pp more than a on 12 shared tasks")


@pytest.mark.parametrize("tasks", [1, 2, 9, 10])
def test_pareto_frequency_needs_ten_tasks(tasks: int, tmp_path: Path) -> None:
    runs = made_runs({"good": 0.9, "bad": 0.2}, tasks=tasks)
    groups = sy.rank(runs, by=["agent"], metrics=["impl_rate"]).groups
    shown = steelyard("rank", write(tmp_path / "runs.jsonl", runs), "--by", "agent").stdout
    assert any(group.pareto_optimal for group in groups)
    if tasks == 10:
        assert all(group.pareto_frequency is not None and group.pareto_reason is None for group in groups)
        return
    counted = "1 shared task" if tasks == 1 else f"{tasks} shared tasks"
    assert {group.pareto_reason for group in groups} == {f"{counted}: too few to resample; 10 are needed"}
    assert {group.pareto_frequency for group in groups} == {None}
    assert f"({counted}: too few to resample; 10 are needed)" in " ".join(shown.split())
