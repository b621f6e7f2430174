"""Gates: a rule holds or fails only when the whole interval says so; else it is inconclusive."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest

import steelyard as sy
from commands import steelyard
from matchups import made_runs, write
from steelyard.cli import run
from steelyard.errors import UnknownNameError, UsageError
from steelyard.pages import write_runs
from steelyard.profiles import load_profile
from steelyard.questions.analysis import Samples, StatisticsOptions
from steelyard.questions.gate._rules import check, read_rule, rule_text
from steelyard.records import Run, Usage


def results(gate):
    return [check.status for check in gate.rules]


def test_a_rule_holds_fails_or_is_inconclusive() -> None:
    base = made_runs({"x": 0.5}, tasks=100, attempts=4)
    same = made_runs({"x": 0.5}, tasks=100, attempts=4, seed=1)
    worse = [msgspec.structs.replace(run, passed=False) for run in base]
    assert results(sy.gate(same, baseline=base, rule=["pass_rate >= -0.05"])) == ["pass"]
    failed = sy.gate(worse, baseline=base, rule=["pass_rate >= baseline - 0.05", "cost_usd <= baseline + 0.5"])
    assert (results(failed), failed.status, failed.exit_code) == (["fail", "pass"], "fail", 3)
    asked = "(equal on every task); limit: an increase of at most $0.5000: pass."
    assert asked in failed.rules[1].sentence
    few = [run for run in made_runs({"x": 0.5}, tasks=100, attempts=4, seed=9) if run.task < "task-010"]
    open_ = sy.gate(few, baseline=base, rule=["pass_rate >= -0.02"])
    assert (open_.status, open_.exit_code) == ("inconclusive", 4)
    assert open_.rules[0].tasks_needed > 10
    assert open_.findings[-1].message == (
        "90 of 100 baseline tasks not re-run (task-010, task-011, task-012 and 87 more); "
        "rules with a baseline use the other 10"
    )
    most = sy.gate([run for run in same if run.task != "task-007"], baseline=base, rule=["pass_rate >= -0.05"])
    assert "1 of 100 baseline tasks not re-run (task-007); rules" in most.findings[-1].message


def test_a_gate_of_a_data_set_against_itself_never_fails() -> None:
    runs = made_runs({"x": 0.6}, tasks=30)
    gate = sy.gate(runs, baseline=runs, rule=["pass_rate >= baseline", "cost_usd <= baseline", "pass_rate >= -0.2"])
    assert "fail" not in results(gate)
    assert results(gate)[2] == "pass"
    assert all(check.interval.estimate == 0 for check in gate.rules)


def test_a_percentage_is_a_share_of_the_baseline() -> None:
    base = made_runs({"x": 0.5}, tasks=40, cost=1.0)
    dearer = [msgspec.structs.replace(run, cost_usd=round((run.cost_usd or 0) * 1.2, 6)) for run in base]
    gate = sy.gate(dearer, baseline=base, rule=["cost_usd <= +10%", "cost_usd <= +30%", "cost_of_pass <= +200%"])
    assert results(gate) == ["fail", "pass", "pass"]


def test_no_common_task_is_inconclusive() -> None:
    base, new = (Run(id=name, task=name, passed=True) for name in "ab")
    gate = sy.gate([new], baseline=[base], rule=["pass_rate >= -0.02"])
    assert gate.exit_code == 4
    assert "no task in common" in gate.rules[0].sentence


def test_a_limit_met_exactly_is_met() -> None:
    base = made_runs({"x": 0.5}, tasks=30, cost=1.0)
    gate = sy.gate(base, baseline=base, rule=["pass_rate >= baseline - 1", "pass_rate <= baseline + 1"])
    assert results(gate) == ["pass", "pass"]


RULES: list[tuple[str, str, bool, float, float]] = [
    ("pass_rate >= 0.45", "pass_rate", True, 0, 0.45),
    ("pass_rate >= 45%", "pass_rate", True, 0, 0.45),
    ("  duration_seconds  <=  60 ", "duration_seconds", False, 0, 60.0),
    ("cost_usd<=1e-2", "cost_usd", False, 0, 0.01),
    ("pass_rate >= baseline", "pass_rate", True, 1, 0),
    ("pass_rate >= baseline - 0.02", "pass_rate", True, 1, -0.02),
    ("cost_usd <= baseline * 1.1", "cost_usd", False, 1.1, 0),
    ("cost_usd <= baseline*1.1+0.05", "cost_usd", False, 1.1, 0.05),
    ("cost_usd <= baseline + 10%", "cost_usd", False, 1.1, 0),
    # as 0.1 wrote them: a sign alone moves from the baseline
    ("pass_rate >= -0.02", "pass_rate", True, 1, -0.02),
    ("cost_usd<=+10%", "cost_usd", False, 1.1, 0),
    # what can be negative has limits with a sign
    ("agent_advantage >= -0.1", "agent_advantage", True, 0, -0.1),
]


@pytest.mark.parametrize(("rule", "metric", "at_least", "factor", "offset"), RULES)
def test_rules_are_read(rule: str, metric: str, at_least: bool, factor: float, offset: float) -> None:
    read = read_rule(rule)
    assert (read.metric, read.at_least) == (metric, at_least)
    assert (read.factor, read.offset) == (pytest.approx(factor), pytest.approx(offset))
    again = read_rule(rule_text(read))
    assert (again.factor, again.offset) == (pytest.approx(factor), pytest.approx(offset))


NO_RULES = ["pass_rate", "pass_rate > 0", "pass_rate >= much", "pass_rate >= nan", ">= 1", ""]
NO_RULES += [
    "pass_rate >= baseline 0.02",
    "pass_rate >= * 1.1",
    "pass_rate >= base",
    "pass_rate >= baseline -",
    "x >= 1 2",
]


@pytest.mark.parametrize("rule", NO_RULES)
def test_what_is_no_rule_is_refused(rule: str) -> None:
    with pytest.raises(UsageError, match="invalid rule"):
        read_rule(rule)
    with pytest.raises(UnknownNameError, match="pass_rate"):
        read_rule("pas_rate >= 0")


def test_a_limit_of_the_figure_itself_needs_no_baseline() -> None:
    runs = made_runs({"x": 0.6}, tasks=60, attempts=4)
    figure = sy.measure(runs, metrics=["pass_rate"], interval="auto", weight_by="tasks").groups[0].metrics["pass_rate"]
    gate = sy.gate(runs, rule=["pass_rate >= 0.4", "pass_rate >= 0.9", f"pass_rate >= {figure.mean}"])
    assert results(gate) == ["pass", "fail", "inconclusive"]
    assert (gate.status, gate.exit_code, gate.tasks) == ("fail", 3, 60)
    assert {check.baseline for check in gate.rules} == {None}
    interval = gate.rules[0].interval  # the one that measure gives
    assert interval == figure.intervals["mean"]
    assert gate.rules[2].tasks_needed is not None


def test_own_limits_and_those_of_a_baseline_stand_side_by_side() -> None:
    base = made_runs({"x": 0.9}, tasks=60, attempts=4)
    rules = ["pass_rate >= 0.5", "pass_rate >= baseline - 0.1", "cost_usd <= baseline * 1.1", "cost_of_pass <= 9"]
    gate = sy.gate(base, baseline=base, rule=rules)
    assert results(gate) == ["pass"] * 4
    assert [check.baseline is None for check in gate.rules] == [True, False, False, True]


@pytest.mark.parametrize(("choice", "status"), [("pass", 0), ("fail", 3), ("report", 4)])
def test_the_caller_says_what_an_inconclusive_gate_is(
    choice: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = write(tmp_path / "runs.jsonl", made_runs({"x": 0.5}, tasks=4))
    assert run(["gate", runs, "--rule", "pass_rate >= 0.5", "--inconclusive", choice, "--json", "--quiet"]) == status
    told = json.loads(capsys.readouterr().out)
    assert (told["exit_code"], told["status"]) == (status, "inconclusive")
    held = sy.gate(runs, rule="pass_rate >= 0.001", inconclusive="fail")
    assert (held.status, held.exit_code) == ("pass", 0)


@pytest.mark.parametrize(("more", "status"), [([], 1), (["--allow-rejected"], 0)])
def test_the_exit_code_in_json_is_that_of_the_command(
    more: list[str], status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = Path(write(tmp_path / "runs.jsonl", made_runs({"x": 0.9}, tasks=40)))
    runs.write_bytes(runs.read_bytes() + b'{"task": 1}\n')
    asked = ["gate", str(runs), "--rule", "pass_rate >= 0.1", "--json", "--quiet", *more]
    assert run(asked) == status
    assert json.loads(capsys.readouterr().out)["exit_code"] == status


def same(n: int, *, passed: int = 2, cost: float = 1.0) -> list[Run]:
    """So many tasks, tried once, of which about so many of three pass."""
    return [Run(id=f"r{i}", task=f"t{i}", passed=i % 3 < passed, cost_usd=cost) for i in range(n)]


@pytest.mark.parametrize("tasks", [1, 3, 9, 30])
@pytest.mark.parametrize("passed", [0, 2, 3])
@pytest.mark.parametrize(
    "rule", ["pass_rate >= baseline", "pass_rate >= -0.02", "cost_usd <= baseline", "cost_of_pass <= baseline + 1"]
)
def test_identical_sides_are_told_how_many_tasks_would_settle_it(tasks: int, passed: int, rule: str) -> None:
    runs = same(tasks, passed=passed)
    check = sy.gate(runs, baseline=runs, rule=rule).rules[0]
    if check.baseline is None or check.baseline == float("inf"):  # nobody passes, so there is no cost of a pass
        assert rule.startswith("cost_of_pass")
    else:
        assert check.status == "pass" or check.tasks_needed > 0
        assert check.status == "pass" or str(check.tasks_needed) in check.sentence


def test_so_many_identical_tasks_do_settle_it_and_one_less_does_not() -> None:
    needed = sy.gate(same(30), baseline=same(30), rule="pass_rate >= baseline - 0.02").rules[0].tasks_needed
    assert needed == 141  # two added steps: t(140) x sqrt(2 / 140 / 141) = 1.977 x 0.01007 = 0.0199
    for tasks, status in ((needed - 1, "inconclusive"), (needed, "pass")):
        assert sy.gate(same(tasks), baseline=same(tasks), rule="pass_rate >= baseline - 0.02").status == status
    alone = sy.gate(same(30, passed=3), rule="pass_rate >= 0.95").rules[0].tasks_needed
    assert alone == 72  # 0.025 ** (1 / 72) = 0.9501
    assert sy.gate(same(72, passed=3), rule="pass_rate >= 0.95").status == "pass"
    strict = sy.gate(same(200), baseline=same(200), rule="pass_rate >= baseline").rules[0]
    assert (strict.tasks_needed, strict.resolvable_rule) == (141, "pass_rate >= baseline - 0.02")


def moved(gained: int, lost: int) -> list[Run]:
    """50 tasks tried once, against `same(50, passed=2)`: so many failures become passes, so many passes failures."""
    base = same(50)
    failures, passes = ([run.id for run in base if run.passed is passed] for passed in (False, True))
    turned = {*failures[:gained], *passes[:lost]}
    return [msgspec.structs.replace(run, passed=run.passed != (run.id in turned)) for run in base]


@pytest.mark.parametrize(("taken_as", "status"), [("pass", 0), ("fail", 3)])
def test_an_inconclusive_gate_says_why_it_exits_as_it_does(
    taken_as: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(f'{{"task": "t{n}", "passed": {str(n > 1).lower()}}}\n' for n in range(4)), "utf-8")
    arguments = ["gate", str(path), "--rule", "pass_rate >= 0.5", "--inconclusive", taken_as, "--quiet"]
    page = tmp_path / "page.md"
    assert run([*arguments, "--summary", str(page)]) == status
    told = f"inconclusive counts as {taken_as} (exit status {status})"
    assert capsys.readouterr().out.startswith(f"Gate inconclusive (1/1 rules), 4 tasks; {told}.\n")
    heading, _, sentence, *_ = page.read_text("utf-8").splitlines()
    assert heading == f"## {'❔' if taken_as == 'pass' else '❌'} Steelyard gate: inconclusive"
    assert sentence == f"Gate inconclusive (1/1 rules), 4 tasks; {told}."
    assert run([*arguments[:4], "--quiet"]) == 4
    assert "counts as" not in capsys.readouterr().out


def test_the_tasks_needed_are_those_for_no_change() -> None:
    for gained, lost in ((10, 9), (9, 10)):  # the difference seen does not matter
        check = sy.gate(moved(gained, lost), baseline=same(50), rule="pass_rate >= baseline - 0.02").rules[0]
        assert check.status == "inconclusive"
        # variance (19 - 50 x 0.02²) / 49 = 0.387, so (1.960 + 0.842)² x 0.387 / 0.02² = 7,600 tasks
        assert check.tasks_needed == pytest.approx(7_600, rel=0.1)
        assert f"About {check.tasks_needed:,} tasks needed (80% power if nothing changed)" in check.sentence
    check = sy.gate(moved(9, 10), baseline=same(50), rule="pass_rate >= baseline").rules[0]
    assert check.resolvable_rule == "pass_rate >= baseline - 0.02"
    assert f"No sample size makes this rule conclusive; {check.resolvable_rule} needs about" in check.sentence


def test_a_metric_that_is_unknown_is_not_taken_for_one_at_its_limit() -> None:
    check = sy.gate(same(50), baseline=same(50), rule="impl_rate >= baseline").rules[0]
    assert (check.status, check.interval.estimate) == ("inconclusive", None)
    assert "is unknown" in check.sentence
    assert "exactly what is seen" not in check.sentence


@pytest.mark.parametrize(
    ("rule", "asked"),
    [
        ("pass_rate >= baseline - 0.05", "a decrease of at most 5.0 pp"),
        ("pass_rate >= baseline + 0.05", "an increase of at least 5.0 pp"),
        ("cost_usd <= baseline + 0.5", "an increase of at most $0.5000"),
        ("cost_usd <= baseline - 0.5", "a decrease of at least $0.5000"),
    ],
)
def test_a_limit_is_told_as_the_change_that_it_allows_or_asks_for(rule: str, asked: str) -> None:
    assert f"; limit: {asked}: " in sy.gate(same(50), baseline=same(50), rule=rule).rules[0].sentence


def test_a_limit_that_is_a_multiple_of_the_baseline_is_told_in_its_unit() -> None:
    check = sy.gate(same(50), baseline=same(50), rule="cost_usd <= baseline * 1.1").rules[0]
    assert "limit: at most $1.1000 (1.1 times the baseline)" in check.sentence
    check = sy.gate(same(50), baseline=same(50), rule="cost_usd <= baseline").rules[0]
    assert "limit: at most the baseline" in check.sentence


def test_what_rests_on_runs_that_broke_off_names_both_figures() -> None:
    runs = [
        run if run.passed else msgspec.structs.replace(run, passed=None, outcome="errored")
        for run in same(60, passed=2)
    ]
    gate = sy.gate(runs, rule="pass_rate >= 0.9")
    assert gate.status == "inconclusive"
    sentence = gate.rules[0].sentence
    # 40 of 60 pass
    assert "excluded: 100.0% (pass); counted as failed: 66.7% (fail)" in sentence
    assert "Score or re-run them" in sentence
    # a policy that the user chose decides alone
    assert [sy.gate(runs, rule="pass_rate >= 0.9", unscored=way).status for way in ("exclude", "fail")] == [
        "pass",
        "fail",
    ]


def decided_at_the_truth(truth: float, tasks: int, attempts: int, *, relative: bool, cases: int) -> Counter[str]:
    """What gates say whose limit is exactly the truth; equal counts give equal gates, so each is made once."""
    random = np.random.default_rng(20261116)
    rule = read_rule("pass_rate >= baseline" if relative else f"pass_rate >= {truth}")
    sides = 2 if relative else 1
    ease = np.linspace(-1, 1, tasks) * min(truth, 1 - truth) * (attempts > 1)
    passes = random.binomial(attempts, truth + ease[:, None], (cases, tasks, sides))
    names = tuple(f"t{place:02}" for place in range(tasks))
    places, from_new = np.repeat(np.arange(tasks), sides * attempts), np.tile([True, False][:sides], tasks)
    statuses: Counter[str] = Counter()
    known: dict[bytes, str] = {}
    for unsorted in passes:
        case = unsorted[np.lexsort(unsorted.T)]
        if case.tobytes() not in known:
            values = (np.arange(attempts)[None, None] < case[..., None]).astype(float).ravel()
            samples = Samples(names, places, {"pass_rate": values}, load_profile("outcome-1"))
            rows = np.repeat(from_new, attempts)
            known[case.tobytes()] = check(rule, samples, rows, ~rows, options=StatisticsOptions(resamples=100)).status
        statuses[known[case.tobytes()]] += 1
    return statuses


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("truth", [0.1, 0.45, 0.9])
def test_a_limit_that_is_the_truth_is_rarely_decided(truth: float, relative: bool) -> None:
    statuses = decided_at_the_truth(truth, 12, 1, relative=relative, cases=4_000)
    assert max(statuses["pass"], statuses["fail"]) / 4_000 <= 0.03  # 2.5% and 0.5%


@pytest.mark.long
@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("truth", [0.02, 0.1, 0.45, 0.9, 0.98])
@pytest.mark.parametrize(("tasks", "attempts"), [(10, 1), (100, 1), (30, 3), (10, 5)])
def test_a_gate_errs_in_at_most_3_percent(truth: float, tasks: int, attempts: int, relative: bool) -> None:
    cases = 4_000 if attempts == 1 else 2_000  # of several attempts hardly two cases are alike
    statuses = decided_at_the_truth(truth, tasks, attempts, relative=relative, cases=cases)
    assert max(statuses["pass"], statuses["fail"]) / cases <= 0.03


def test_the_command_exits_0_3_4_and_writes_a_summary(tmp_path: Path) -> None:
    base = made_runs({"x": 0.5}, tasks=100, attempts=4)
    worse = [msgspec.structs.replace(run, passed=False, task=run.task) for run in base]
    old, bad = write(tmp_path / "base.jsonl", base), write(tmp_path / "bad.jsonl", worse)
    few = write(tmp_path / "few.jsonl", made_runs({"x": 0.5}, tasks=5, seed=3))
    summary = tmp_path / "summary.md"
    rule = ("--rule", "pass_rate >= -0.05")
    held = steelyard("gate", old, "--baseline", old, *rule, "--summary", str(summary), "--quiet")
    failed = steelyard("gate", bad, "--baseline", old, *rule, "--summary", str(summary), "--json", "--quiet")
    unsure = steelyard("gate", few, "--baseline", old, *rule, "--quiet")
    usage = steelyard("gate", old, "--baseline", old, "--rule", "pass_rate", "--quiet")
    assert (held.status, failed.status, unsure.status, usage.status) == (0, 3, 4, 2)
    assert json.loads(failed.stdout)["status"] == "fail"
    written = summary.read_text(encoding="utf-8")
    assert "## ✅ Steelyard gate: passed" in written  # the second call adds to the file
    assert "## ❌ Steelyard gate: failed" in written
    assert "| pass\\_rate &gt;= -0.05 |" in written
    assert "inconclusive" in unsure.stdout


def test_bad_records_do_not_hide_a_failed_gate(tmp_path: Path) -> None:
    base = made_runs({"x": 0.5}, tasks=60, attempts=4)
    old = write(tmp_path / "base.jsonl", base)
    with Path(old).open("a", encoding="utf-8") as file:
        file.write('{"task": 3}\n')
    assert steelyard("gate", old, "--baseline", old, "--rule", "pass_rate >= -0.2", "--quiet").status == 1
    asked = ("gate", old, "--baseline", old, "--rule", "pass_rate >= -0.2", "--quiet", "--allow-rejected")
    assert steelyard(*asked).status == 0
    assert steelyard("gate", old, "--baseline", old, "--rule", "pass_rate >= baseline + 0.3", "--quiet").status == 3


def test_names_from_data_cannot_break_the_summary(tmp_path: Path) -> None:
    runs = [Run(id=str(i), task=f"t{i}", agent=f"a|<script>{i}", passed=True) for i in range(4)]
    file = write(tmp_path / "runs.jsonl", runs)
    summary = tmp_path / "summary.md"
    steelyard("gate", file, "--baseline", file, "--rule", "pass_rate >= -1", "--summary", str(summary))
    assert "<script>" not in summary.read_text(encoding="utf-8")


def test_a_candidate_that_never_passes_fails_on_its_cost_of_pass() -> None:
    base = made_runs({"x": 0.9}, tasks=12, attempts=2)
    never = [msgspec.structs.replace(run, passed=False) for run in base]
    failed = sy.gate(never, baseline=base, rule=["cost_of_pass <= baseline + 0.1", "cost_of_pass <= +10%"])
    assert results(failed) == ["fail", "fail"]
    assert failed.exit_code == 3


def test_runs_that_are_not_judged_are_not_told_of(tmp_path: Path) -> None:
    priced = made_runs({"judged": 0.5, "other": 0.5}, tasks=12)
    usage = Usage(input_tokens=10, output_tokens=1)
    runs = [
        msgspec.structs.replace(run, model="no-such-model", usage=usage, cost_usd=None) if run.agent == "other" else run
        for run in priced
    ]
    flat = tmp_path / "runs.parquet"
    write_runs(runs, flat)
    assert set(pl.read_parquet_schema(flat)) >= {"usage.input_tokens", "cost_usd"}  # columns that make no records
    for given in (runs, flat):
        kept = sy.gate(given, baseline=given, rule=["pass_rate >= -0.5"], where="agent=judged")
        assert "unpriced" not in {finding.code for finding in kept.findings}
        compared = sy.compare(given, baseline="agent=judged,model=m", candidate="agent=judged,attempt=1")
        assert "unpriced" not in {finding.code for finding in compared.findings}
        for whole in (
            sy.gate(given, baseline=given, rule=["pass_rate >= -0.5"]),
            sy.compare(given, baseline="agent=judged", candidate="agent=other"),
        ):
            told = [finding.message for finding in whole.findings if finding.code == "unpriced"]
            assert told
            assert all(message.startswith("12 runs have no cost: ") for message in told)


def test_gate_warns_that_several_inputs_are_checked_together(tmp_path: Path) -> None:
    paths = [tmp_path / "main.jsonl", tmp_path / "branch.jsonl"]
    for path, passed in zip(paths, (True, False), strict=True):
        write(path, [Run(task=f"t{number}", id=f"{path.stem}-{number}", passed=passed) for number in range(20)])
    together = sy.gate(paths, rule="pass_rate >= 0.1")
    message = next(each.message for each in together.findings if each.code == "inputs_together")
    assert message.startswith("the rules check the runs of 2 inputs together")
    assert message.endswith('refer to the first as the baseline: "pass_rate >= baseline"')
    of_table = sy.gate(sy.read(paths), rule="pass_rate >= 0.1")  # as a page asks
    assert of_table.findings == together.findings
    codes = {each.code for each in sy.gate(paths, rule="pass_rate >= baseline").findings}
    codes |= {each.code for each in sy.gate(paths[0], rule="pass_rate >= 0.1").findings}
    assert "inputs_together" not in codes
