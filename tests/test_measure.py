"""What measure promises: strict JSON, the same bytes, missing with a reason, facts that win over others, findings."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from commands import steelyard
from steelyard.demo import demo_runs
from steelyard.errors import ProfileError, UnknownNameError, UsageError
from steelyard.records import (
    Action,
    Call,
    Change,
    Component,
    ComponentType,
    Criterion,
    Judgment,
    Step,
    Steps,
    TestResults,
    Usage,
    encode_run,
)

MODEL = "claude-sonnet-4-20250514"


def only(*runs: sy.Run, **options: Any) -> dict[str, Any]:
    """The metrics of the one group of these runs."""
    return sy.measure(list(runs), **options).to_dict()["groups"][0]["metrics"]


def codes(*runs: sy.Run, **options: Any) -> list[str]:
    return [finding.code for finding in sy.measure(list(runs), **options).findings if finding.code != "run_count"]


def test_the_json_is_strict_and_has_the_promised_shape(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('{"id": "a", "task": "t", "tier": "T0", "passed": false, "cost_usd": 0.5}\n', encoding="utf-8")
    done = steelyard("measure", str(path), "--by", "tier", "--json")

    def refuse(token: str) -> None:
        raise AssertionError(token)

    result = json.loads(done.stdout, parse_constant=refuse)
    assert {"profile", "by", "groups", "across", "findings"} <= set(result)
    group = result["groups"][0]
    assert group["key"] == {"tier": "T0"}
    assert group["n"] == 1
    assert group["grade"] is None
    assert group["metrics"]["cost_of_pass"]["value"] == "Infinity"
    assert group["metrics"]["cost_of_pass_per_run"]["mean"] == "Infinity"
    assert group["metrics"]["cost_of_pass_per_run"]["std_dev"] is None
    assert group["metrics"]["impl_rate"]["median"] is None
    assert "no impl_rate" in group["metrics"]["impl_rate"]["reason"]
    skills = group["metrics"]["skill_efficiency"]
    assert (skills["value"], skills["reason"]) == (None, "the record has no components")
    (across,) = result["across"]
    assert across["uplift"] == {}
    assert set(across["values"]) == {"pass_rate_variance", "cost_variance", "composite_variance", "cost_delta"}


def test_a_key_that_runs_do_not_have_is_a_dash_everywhere(tmp_path: Path) -> None:
    runs = [sy.Run(id=f"{n}", task="t", tier=f"T{n}", passed=True, impl_rate=0.5 + n / 4) for n in range(2)]
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"".join(encode_run(run) + b"\n" for run in runs))
    done = steelyard("measure", str(path), "--by", "tier,model")
    assert "None" not in done.stdout + done.stderr
    assert "Across tiers: uplift of the median composite score over T0 vanilla, and" in " ".join(done.stdout.split())
    # both tiers pass always, and the variance is that of the medians
    assert "pass rate variance 0: every tier's median pass rate is 100.0%" in done.stdout


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    lines = [encode_run(run) + b"\n" for run in demo_runs()]
    first = None
    for attempt in range(5):
        random.Random(attempt).shuffle(lines)
        path = tmp_path / "runs.jsonl"
        path.write_bytes(b"".join(lines))
        threads = str(1 + attempt % 4)
        done = steelyard(
            "measure", str(path), "--by", "tier", "--json", POLARS_MAX_THREADS=threads, PYTHONHASHSEED=str(attempt)
        )
        assert done.status == 0
        first = first or done.stdout
        assert done.stdout == first


def test_tests_decide_over_the_verdict_and_the_verdict_over_the_judges() -> None:
    judged = (
        Judgment(judge="a", weighted_score=0.9, passed=True),
        Judgment(judge="b", weighted_score=0.8, passed=True),
    )
    failed = TestResults(passed=3, failed=1)
    assert only(sy.Run(task="t", passed=True, tests=failed))["pass_rate"]["mean"] == 0.0
    assert only(sy.Run(task="t", passed=False, judgments=judged))["pass_rate"]["mean"] == 0.0
    assert only(sy.Run(task="t", judgments=judged))["pass_rate"]["mean"] == 1.0
    assert only(sy.Run(task="t", tests=TestResults(passed=0, failed=0), passed=True))["pass_rate"]["mean"] == 1.0


def test_a_tie_of_judges_is_no_majority() -> None:
    votes = (
        Judgment(judge="a", weighted_score=0.9, passed=True),
        Judgment(judge="b", weighted_score=0.2, passed=False),
    )
    assert only(sy.Run(task="t", judgments=votes))["pass_rate"]["mean"] == 0.0


def test_an_errored_run_has_no_verdict() -> None:
    found = only(sy.Run(id="1", task="t", outcome="errored"), sy.Run(id="2", task="t", outcome="passed"))
    assert (found["pass_rate"]["mean"], found["pass_rate"]["count"], found["pass_rate"]["missing"]) == (1.0, 1, 1)


def test_the_stated_rate_wins_over_judgments_whose_mean_is_the_rate() -> None:
    judged = (Judgment(judge="a", weighted_score=0.5), Judgment(judge="b", weighted_score=1.0))
    assert only(sy.Run(task="t", judgments=judged))["impl_rate"]["mean"] == 0.75
    assert only(sy.Run(task="t", impl_rate=0.1, judgments=judged))["impl_rate"]["mean"] == 0.1


def test_unknown_cost_is_not_free() -> None:
    found = only(sy.Run(id="1", task="t", cost_usd=1.0), sy.Run(id="2", task="t"))
    assert (found["cost_usd"]["mean"], found["cost_usd"]["count"], found["cost_usd"]["missing"]) == (1.0, 1, 1)


def test_cost_is_priced_from_tokens_and_a_reported_one_wins() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    priced = sy.Run(task="t", model="claude-opus-4-5", usage=usage)
    assert only(priced, prices="spec")["cost_usd"]["mean"] == 90.0  # 15 + 75
    reported = sy.Run(task="t", model="claude-opus-4-5", usage=usage, cost_usd=30.0)
    assert only(reported, prices="spec")["cost_usd"]["mean"] == 30.0
    assert "cost_differs" in codes(reported, prices="spec")


def test_an_unknown_model_leaves_the_cost_missing_and_names_the_nearest() -> None:
    run = sy.Run(task="t", model="claude-opus-4-6x", usage=Usage(input_tokens=1, output_tokens=1))
    result = sy.measure([run], prices="spec")
    assert result.to_dict()["groups"][0]["metrics"]["cost_usd"]["mean"] is None
    finding = next(finding for finding in result.findings if finding.code == "unpriced")
    assert "claude-opus-4-5" in finding.message


def test_calls_are_added_up() -> None:
    calls = tuple(Call(model=MODEL, usage=Usage(input_tokens=10, output_tokens=1)) for _ in range(3))
    table = sy.read([sy.Run(task="t", calls=calls)])
    assert table.frame.collect()["total_tokens"].to_list() == [33]


@pytest.mark.parametrize(
    ("run", "code"),
    [
        (sy.Run(task="t", passed=True, tests=TestResults(passed=1, failed=1)), "tests_contradict_verdict"),
        (sy.Run(task="t", passed=False, outcome="passed"), "outcome_contradicts_verdict"),
        (sy.Run(task="t", passed=True, outcome="errored"), "outcome_contradicts_verdict"),
        (
            sy.Run(task="t", passed=False, judgments=(Judgment(weighted_score=0.9, passed=True),)),
            "judges_contradict_verdict",
        ),
        (sy.Run(task="t", judgments=(Judgment(weighted_score=0.2, passed=True),)), "score_contradicts_pass"),
        (sy.Run(task="t", judgments=(Judgment(weighted_score=0.9, passed=False),)), "score_contradicts_fail"),
        (sy.Run(task="t", judgments=(Judgment(weighted_score=0.6, passed=False),)), "score_contradicts_fail"),
        (
            sy.Run(
                task="t",
                judgments=(Judgment(weighted_score=0.9, criteria=(Criterion(name="c", achieved=1.0, max=2.0),)),),
            ),
            "judge_score_differs",
        ),
    ],
)
def test_contradictions_are_findings(run: sy.Run, code: str) -> None:
    assert code in codes(run)


def both_lists() -> TestResults:
    return TestResults(passed=("a", "b"), failed=("b",), errors=("c",))


@pytest.mark.parametrize(
    ("run", "code", "severity"),
    [
        (sy.Run(task="t", tests=both_lists()), "test_listed_twice", "warning"),
        (
            sy.Run(task="t", usage=Usage(input_tokens=5), calls=(Call(usage=Usage(input_tokens=6)),)),
            "calls_exceed_usage",
            "warning",
        ),
        (
            sy.Run(task="t", usage=Usage(input_tokens=7), calls=(Call(usage=Usage(input_tokens=6)),)),
            "usage_exceeds_calls",
            "info",
        ),
        (
            # as many tokens in all, but not of the same kinds
            sy.Run(
                task="t",
                usage=Usage(input_tokens=7, output_tokens=1),
                calls=(Call(usage=Usage(input_tokens=1, output_tokens=7)),),
            ),
            "calls_exceed_usage",
            "warning",
        ),
        (sy.Run(task="t", attempt=0), "attempt_zero", "info"),
    ],
)
def test_records_that_contradict_themselves_are_findings(run: sy.Run, code: str, severity: str) -> None:
    found = {one.code: one.severity for one in sy.measure([run]).findings}
    assert found.get(code) == severity


def test_what_does_not_contradict_itself_is_no_finding() -> None:
    run = sy.Run(
        task="t",
        attempt=1,
        tests=TestResults(passed=("a",), failed=("b",)),
        usage=Usage(input_tokens=6, output_tokens=1, reasoning_tokens=3),
        calls=(Call(usage=Usage(input_tokens=4, output_tokens=1)), Call(usage=Usage(input_tokens=2))),
    )
    unclear = sy.Run(task="t", usage=Usage(input_tokens=6), calls=(Call(usage=Usage(input_tokens=4)), Call()))
    counts = sy.Run(task="t", tests=TestResults(passed=3, failed=3))
    codes = {one.code for one in sy.measure([run, unclear, counts]).findings}
    assert not codes & {"test_listed_twice", "calls_exceed_usage", "usage_exceeds_calls", "attempt_zero"}


def test_infos_of_one_kind_are_one_line_for_people_and_all_for_scripts(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    one_each = "".join(f'{{"id": "{n}", "task": "t{n:02}"}}\n' for n in range(30))
    ten = "".join(f'{{"id": "{n}", "task": "t99"}}\n' for n in range(100, 110))
    path.write_text(one_each + ten, encoding="utf-8")
    done = steelyard("measure", str(path), "--json")
    lines = [line for line in done.stderr.splitlines() if "[run_count]" in line]
    assert lines == [
        "info: task t00: profile outcome-1 expects 10 runs per task (1 run); 29 more (see --json) [run_count]"
    ]
    (finding,) = [one for one in json.loads(done.stdout)["findings"] if one["code"] == "run_count"]
    assert finding["count"] == 30
    assert finding["places"] == [{"where": f"task t{n:02}", "message": "1 run"} for n in range(30)]


def test_a_number_of_runs_that_no_task_has_is_for_scripts_alone(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(f'{{"id": "{n}", "task": "t{n}"}}\n' for n in range(3)), encoding="utf-8")
    done = steelyard("measure", str(path), "--json")
    assert "run_count" not in done.stderr
    (finding,) = [one for one in json.loads(done.stdout)["findings"] if one["code"] == "run_count"]
    assert finding["count"] == 3


def test_agreement_is_no_finding() -> None:
    judged = (Judgment(weighted_score=0.51, passed=None, criteria=(Criterion(name="c", achieved=1.0, max=2.0),)),)
    assert codes(sy.Run(task="t", passed=True, outcome="passed", tests=TestResults(passed=2), judgments=judged)) == []


def test_another_number_of_runs_than_expected_is_a_finding_and_no_error() -> None:
    ten = [sy.Run(id=str(number), task="t") for number in range(10)]
    assert not [finding for finding in sy.measure(ten).findings if finding.code == "run_count"]
    assert [finding.code for finding in sy.measure(ten[:9]).findings] == ["run_count"]


def test_a_kind_of_finding_is_listed_once_with_all_its_places(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    record = '{{"id": "{:03}", "task": "t", "passed": true, "outcome": "failed"}}\n'
    path.write_text("".join(record.format(number) for number in range(50)), encoding="utf-8")
    done = steelyard("measure", str(path), "--json")
    (finding,) = [one for one in json.loads(done.stdout)["findings"] if one["code"] == "outcome_contradicts_verdict"]
    assert finding["count"] == 50
    assert finding["where"] == "run 000"
    stated = "outcome failed, passed True"
    assert finding["places"] == [{"where": f"run {number:03}", "message": stated} for number in range(50)]
    more = "49 more (see --json)"  # 50 - 1
    told = f"warning: run 000: {finding['message']} ({stated}); {more} [outcome_contradicts_verdict]"
    assert [line for line in done.stderr.splitlines() if "outcome_contradicts_verdict" in line] == [told]


def test_process_metrics_match_steps_by_id() -> None:
    steps = Steps(expected=(Step(id="a", weight=3.0), Step(id="b", weight=1.0)), achieved=("a", "surprise", "a"))
    found = only(sy.Run(task="t", steps=steps))
    assert found["r_prog"]["mean"] == 0.75  # 3 of 4 by weight
    assert found["r_prog_simple"]["mean"] == 0.5  # 1 of 2


def test_drift_and_changes() -> None:
    run = sy.Run(
        task="t",
        actions=(Action(weight=3.0, goal_alignment=1.0), Action(weight=1.0, goal_alignment=0.2)),
        changes=(Change(failed=True), Change(reverted=True), Change(), Change()),
    )
    found = only(run)
    assert found["strategic_drift"]["mean"] == pytest.approx(1 - 3.2 / 4)
    assert found["strategic_drift_simple"]["mean"] == 0.5
    assert found["cfp"]["mean"] == 0.25
    assert found["pr_revert_rate"]["mean"] == 0.25


def test_no_steps_no_actions_no_changes_are_missing_and_not_zero() -> None:
    found = only(sy.Run(task="t", steps=Steps(expected=()), actions=(), changes=()))
    for name in ("r_prog", "r_prog_simple", "strategic_drift", "strategic_drift_simple", "cfp", "pr_revert_rate"):
        assert found[name]["mean"] is None
        assert found[name]["reason"]


def test_components_have_tokens_cost_and_shares() -> None:
    parts = (
        Component(type=ComponentType.TOOL_SCHEMA, input_tokens=750_000),
        Component(type=ComponentType.SKILL_PROMPT, input_tokens=200_000),
        Component(type=ComponentType.DOMAIN_EXPERTISE, output_tokens=50_000),
    )
    run = sy.Run(task="t", model="claude-sonnet-4", components=parts)
    group = sy.measure([run], prices="spec").to_dict()["groups"][0]
    schema = group["components"]["TOOL_SCHEMA"]
    assert schema["tokens"] == 750_000
    assert schema["token_fraction"] == 0.75
    assert schema["cost_usd"] == pytest.approx(2.25)  # 0.75 M x $3
    assert schema["cost_fraction"] == pytest.approx(2.25 / (2.25 + 0.6 + 0.75))  # 0.2 M x $3, 0.05 M x $15
    assert group["components"]["MONITOR"]["tokens"] == 0
    assert group["metrics"]["schema_overhead"]["value"] == 750_000
    assert group["metrics"]["skill_efficiency"]["value"] == 0.25
    assert group["metrics"]["token_efficiency_ratio"]["value"] == 3.0


def test_cost_of_pass_of_a_group_is_mean_cost_over_mean_pass_rate() -> None:
    runs = [sy.Run(id=str(n), task="t", passed=n < 2, cost_usd=float(n)) for n in range(4)]
    found = only(*runs)
    assert found["cost_of_pass"]["value"] == 3.0  # 1.5 / 0.5
    assert found["cost_of_pass_per_run"]["min"] == 0.0


def test_numbers_that_stand_on_some_of_the_runs_say_so() -> None:
    runs = [sy.Run(id=str(n), task="t", passed=n < 2, cost_usd=1.0 if n == 0 else None) for n in range(3)]
    # only the first run has both: $1 and a pass
    found = only(*runs)["cost_of_pass"]
    assert (found["value"], found["count"], found["missing"]) == (1.0, 1, 2)
    tiers = [sy.Run(id="a", task="t", tier="T0", cost_usd=3.0), sy.Run(id="b", task="t", tier="T1")]
    (across,) = sy.measure(tiers, by=["tier"]).across
    assert (across.values["cost_delta"].count, across.values["cost_delta"].missing) == (1, 1)


def test_a_ratio_of_means_is_over_the_runs_that_have_both() -> None:
    first = sy.Run(id="1", task="t", passed=True)
    second = sy.Run(id="2", task="t", passed=False, cost_usd=1.0)
    third = sy.Run(id="3", task="t", cost_usd=9.0)
    # the second alone has a verdict and a cost: $1 and no pass
    found = only(first, second, third)["cost_of_pass"]
    assert (found["value"], found["count"], found["missing"]) == ("Infinity", 1, 2)
    nobody = only(first, third)["cost_of_pass"]
    assert (nobody["value"], nobody["reason"]) == (None, "no run has all of cost_usd, pass_rate")


def test_only_the_metrics_asked_for_are_compared_across_tiers() -> None:
    result = sy.measure([sy.Run(task="t", tier="T0", cost_usd=3.0)], by=["tier"], metrics=["pass_rate"])
    assert result.across[0].values == {}


def test_a_missing_deviation_has_a_reason() -> None:
    found = only(sy.Run(task="t", passed=True, impl_rate=1.0), profile="outcome-2026")
    assert found["impl_rate"]["std_dev"] is None
    assert "sample standard deviation" in found["impl_rate"]["reason"]


def test_equal_values_have_that_value_as_their_mean() -> None:
    found = only(*[sy.Run(id=str(n), task="t", impl_rate=0.6) for n in range(10)])["impl_rate"]
    assert (found["mean"], found["std_dev"]) == (0.6, 0.0)


def test_tiers_of_two_schemes_are_never_compared_silently() -> None:
    runs = [
        sy.Run(id="1", task="t", tier="T0", passed=True),
        sy.Run(id="2", task="t", tier="T0", tier_scheme="scylla-2026"),
    ]
    result = sy.measure(runs, by=["tier"])
    assert result.by == ("tier_scheme", "tier")
    assert "tier_schemes" in [finding.code for finding in result.findings]
    assert len(result.across) == 2


def test_tiers_of_ones_own_scheme_may_have_any_name() -> None:
    runs = [
        sy.Run(id=name, task="t", tier=name, tier_scheme="ours", passed=True, impl_rate=rate)
        for name, rate in (("bronze", 0.5), ("gold", 1.0))
    ]
    (across,) = sy.measure(runs, by=["tier"], base_tier="bronze").to_dict()["across"]
    assert {tier: each["value"] for tier, each in across["uplift"].items()} == {
        "gold": pytest.approx(1 / 3)  # (1 - 0.75) / 0.75
    }


def test_without_the_base_tier_uplift_is_missing_with_a_reason() -> None:
    across = sy.measure([sy.Run(task="t", tier="T1", passed=True, impl_rate=1.0)], by=["tier"]).to_dict()["across"][0]
    assert across["uplift"].keys() == {"T1"}
    assert across["uplift"]["T1"]["value"] is None
    assert "no run has base tier T0" in across["uplift"]["T1"]["reason"]


def test_tiers_within_agents_are_compared_agent_by_agent() -> None:
    runs = [
        sy.Run(id=f"{agent}{tier}", task="t", agent=agent, tier=tier, passed=True, impl_rate=rate)
        for agent, tier, rate in (("a", "T0", 0.5), ("a", "T1", 1.0), ("b", "T0", 1.0), ("b", "T1", 1.0))
    ]
    within = sy.measure(runs, by=["agent", "tier"]).to_dict()["across"]
    assert [one["key"] for one in within] == [{"agent": "a"}, {"agent": "b"}]
    assert within[1]["uplift"]["T1"]["value"] == 0.0


def test_groups_are_sorted_and_missing_keys_come_last() -> None:
    runs = [
        sy.Run(id=str(n), task="t", agent=agent, attempt=a)
        for n, (agent, a) in enumerate([(None, 2), ("b", 10), ("a", 9)])
    ]
    assert [group.key["agent"] for group in sy.measure(runs, by=["agent"]).groups] == ["a", "b", None]
    assert [group.key["attempt"] for group in sy.measure(runs, by=["attempt"]).groups] == [2, 9, 10]


def test_wrong_names_are_answered_with_the_nearest() -> None:
    run = sy.Run(task="t")
    with pytest.raises(UnknownNameError, match="'tier'"):
        sy.measure([run], by=["teir"])
    with pytest.raises(UnknownNameError, match="'composite_score'"):
        sy.measure([run], metrics=["composite_scor"])
    with pytest.raises(UnknownNameError, match="'outcome-1'"):
        sy.measure([run], profile="outcome-11")
    with pytest.raises(UsageError):
        sy.measure([run], by=["tier", "tier"])


def test_a_profile_of_ones_own_changes_the_constants(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\nspec = "outcome"\nextends = "outcome-1"\n[constants]\npass_weight = 1.0\nimpl_weight = 0.0\n'
    )
    run = sy.Run(task="t", passed=True, impl_rate=0.5)
    result = sy.measure([run], profile=str(path))
    assert result.profile == "mine"
    assert result.groups[0].metrics["composite_score"].median == 1.0  # type: ignore[union-attr]
    assert result.groups[0].grade == "A"


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ('name = "m"\nspec = "outcome"\n[constants]\npass_wieght = 1', UnknownNameError, "pass_weight"),
        ('name = "m"\nspec = "outcome"\n[constants]\npass_weight = "x"', ProfileError, "number"),
        ('name = "m"\nspec = "outcome"\n[constants]\npass_weight = -1\nimpl_weight = 0', UsageError, "positive sum"),
        ('name = "m"\nspec = "outcome"\nnonsense = 1', ProfileError, "nonsense"),
        ('name = "m"\nspec = "outcome"\n[constants]\nimpl_weight = -0.2', UsageError, "negative"),
        ('name = "outcome-1"\nspec = "outcome"\nexpected_runs = 3', ProfileError, "built-in"),
        ('name = "m"\nspec = "arena"', UsageError, "arena"),
        ("name = ", ProfileError, "TOML"),
    ],
)
def test_a_bad_profile_is_refused(tmp_path: Path, text: str, error: type[Exception], sentence: str) -> None:
    path = tmp_path / "m.toml"
    path.write_text(text)
    with pytest.raises(error, match=sentence):
        sy.measure([sy.Run(task="t")], profile=str(path))


def test_the_result_converts_and_shows_itself() -> None:
    result = sy.measure(list(demo_runs()), by=["tier"])
    rows = result.to_dicts()
    assert result.to_polars().height == len(rows) == result.to_pandas().shape[0]
    assert {"tier", "metric", "median", "value", "count"} <= set(rows[0])
    html = sy.measure([sy.Run(task="t", agent="<script>alert(1)</script>")], by=["agent"])._repr_html_()
    assert "<table>" in html
    assert "<script>" not in html


def test_a_table_of_groups_says_how_many_runs_a_group_metric_rests_on() -> None:
    known = sy.Run(task="a", passed=True, cost_usd=1.0)
    rows = sy.measure([known, sy.Run(task="b", passed=True)]).to_dicts()
    (found,) = [row for row in rows if row["metric"] == "cost_of_pass"]
    assert (found["value"], found["count"], found["missing"]) == (1.0, 1, 1)


def test_long_names_stay_whole_in_the_table(tmp_path: Path) -> None:
    models = [f"{'provider-of-some-house/' * 4}model-with-a-rather-long-name-{letter}" for letter in "pq"]
    lines = [json.dumps({"task": "t", "agent": "a" * 40, "model": model}) + "\n" for model in models]
    (tmp_path / "runs.jsonl").write_text("".join(lines), encoding="utf-8")
    shown = steelyard("measure", "runs.jsonl", "--by", "agent,model", "--quiet", cwd=tmp_path).stdout
    assert "…" not in shown
    letters = "".join(shown.split())
    assert all(letters.count(letter) >= "".join(models).count(letter) for letter in set("".join(models)))


def test_csv_json_and_parquet_files(tmp_path: Path) -> None:
    import polars as pl

    source = tmp_path / "runs.jsonl"
    source.write_text('{"id": "a", "task": "t", "passed": false, "cost_usd": 0.1}\n')
    for name in ("out.csv", "out.json", "out.parquet"):
        assert steelyard("measure", str(source), "--out", str(tmp_path / name), "--quiet").status == 0
    by_csv = pl.read_csv(tmp_path / "out.csv").filter(pl.col("metric") == "cost_of_pass")["value"].to_list()
    by_parquet = pl.read_parquet(tmp_path / "out.parquet").filter(pl.col("metric") == "cost_of_pass")["value"].to_list()
    assert by_csv == by_parquet == [float("inf")]
    assert "inf" in (tmp_path / "out.csv").read_text()
    assert json.loads((tmp_path / "out.json").read_text())["n"] == 1
    assert steelyard("measure", str(source), "--out", str(tmp_path / "out.xls")).status == 2


def test_a_cost_that_is_a_lower_bound_says_so() -> None:
    run = sy.Run(task="t", cost_usd=1.0, provenance={"cost_usd": "lower_bound"})
    assert "cost_lower_bound" in codes(run)
    assert codes(sy.Run(task="t", cost_usd=1.0, provenance={"cost_usd": "reported"})) == []


def test_a_reported_cost_is_no_lower_bound_because_tokens_are() -> None:
    how: dict[str, Any] = {"usage": "lower_bound", "cost_usd": "reported"}
    assert "cost_lower_bound" not in codes(sy.Run(task="t", cost_usd=1.0, provenance=how))


def test_one_key_may_be_given_as_text() -> None:
    assert sy.measure([sy.Run(task="t", tier="T0")], by="tier").by == ("tier",)


def test_a_group_metric_tells_how_many_runs_it_was_made_from() -> None:
    runs = [sy.Run(task="t", passed=True, cost_usd=1.0), sy.Run(task="t", passed=True), sy.Run(task="u", cost_usd=2.0)]
    value = sy.measure(runs, metrics=["cost_of_pass"]).groups[0].metrics["cost_of_pass"]
    assert (value.value, value.count, value.missing) == (1.0, 1, 2)  # one of three has a cost and a verdict


def test_a_notebook_says_which_figures_are_means_and_which_are_medians_as_a_terminal_does() -> None:
    measured = sy.measure(sy.demo_runs(), by=["tier"])
    html = measured._repr_html_()
    table = measured.page().table
    assert table is not None
    headings = [" ".join(column.title.split()) for column in table.columns]
    assert {"Pass rate mean ↑", "Cost median ↓"} <= set(headings)
    assert [heading for heading in headings if f"<th>{heading}</th>" not in html] == []


def test_a_figure_without_data_is_an_error_and_left_out_of_the_page(tmp_path: Path) -> None:
    runs = str(tmp_path / "runs.jsonl")
    Path(runs).write_bytes(b"".join(encode_run(run) + b"\n" for run in demo_runs() if run.attempt == 1))
    page = sy.measure(runs, by="tier", metrics="tier_uplift").page()
    assert page.figures == ()
    assert [table.name for table in page.tables] == ["tiers"]
    done = steelyard("measure", runs, "--by", "tier", "--metrics", "tier_uplift", "--out", str(tmp_path / "x.html"))
    assert done.status == 0
    assert "uplift of T1 prompted" in (tmp_path / "x.html").read_text("utf-8")
    for name, hint in (("component_tokens", "use the components figure"), ("tier_uplift", "measure pass_rate too")):
        words = ["measure", runs, "--by", "tier", "--metrics", name, "--out", str(tmp_path / "x.svg")]
        done = steelyard(*words)
        assert done.status == 2
        assert f"no value per group to draw: {name}" in done.stderr
        assert hint in done.stderr
        assert not (tmp_path / "x.svg").exists()


def test_html_and_markdown_have_grades_tiers_components_and_all_statistics() -> None:
    measured = sy.measure(demo_runs(), by="tier")
    html, markdown = measured.document(), measured.markdown().replace("\\", "")
    texts = [
        *(f"{group.grade} {group.grade_meaning}" for group in measured.groups),
        "uplift of T1 prompted ↑",
        "Cost variance USD² ↓",
        "$25.17",  # cost of the tool schemas of T3
        "<summary>tier T3: 200 runs</summary>",
        "composite_score ↑",
        "why missing",
    ]
    for text in texts:
        assert text in html
        assert text in markdown


def test_metrics_that_no_run_has_are_rows_with_the_reason() -> None:
    runs = [sy.Run(id=f"{n}", task="t", passed=True, tool_calls=n) for n in (1, 2)]
    result = sy.measure(runs)
    reasons = {row["metric"]: row["reason"] for row in result.to_dicts()}
    assert reasons.keys() == result.to_dict()["groups"][0]["metrics"].keys()
    assert reasons["r_prog"]  # no expected steps
    assert reasons["total_tool_calls"] is None
    (row,) = sy.measure(runs, metrics=["r_prog"]).to_dicts()
    assert (row["metric"], row["mean"]) == ("r_prog", None)
    assert row["reason"]
