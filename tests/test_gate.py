"""Gates: a rule holds or fails only when the whole interval says so; else it cannot be told."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import polars as pl
import pytest

import steelyard as sy
from commands import steelyard
from matchups import made_runs, write
from steelyard.errors import UnknownName, UsageError
from steelyard.records import Run, Usage
from steelyard.reports import write_runs
from steelyard.standings import read_rule


def results(gate):
    return [check.result for check in gate.checks]


def test_a_rule_holds_fails_or_cannot_be_told() -> None:
    base = made_runs({"x": 0.5}, tasks=100, attempts=4)
    same = made_runs({"x": 0.5}, tasks=100, attempts=4, seed=1)
    worse = [msgspec.structs.replace(run, passed=False) for run in base]
    assert results(sy.gate(same, baseline=base, rule=["pass_rate >= -0.05"])) == ["holds"]
    failed = sy.gate(worse, baseline=base, rule=["pass_rate >= -0.05", "cost_usd <= 0.5"])
    assert (results(failed), failed.result, failed.exit_code) == (["fails", "holds"], "fails", 3)
    assert "by the same on every one: the rule holds." in failed.checks[1].sentence
    few = [run for run in made_runs({"x": 0.5}, tasks=100, attempts=4, seed=9) if run.task < "task-010"]
    open_ = sy.gate(few, baseline=base, rule=["pass_rate >= -0.02"])
    assert (open_.result, open_.exit_code) == ("cannot be told", 4)
    assert open_.checks[0].needed > 10
    assert "90 tasks of the baseline were not tried again" in open_.findings[-1].message


def test_a_gate_of_a_data_set_against_itself_never_fails() -> None:
    runs = made_runs({"x": 0.6}, tasks=30)
    gate = sy.gate(runs, baseline=runs, rule=["pass_rate >= 0", "cost_usd <= 0", "pass_rate >= -0.2"])
    assert "fails" not in results(gate)
    assert results(gate)[2] == "holds"
    assert all(check.difference.value == 0 for check in gate.checks)


def test_a_percentage_is_a_share_of_the_baseline() -> None:
    base = made_runs({"x": 0.5}, tasks=40, cost=1.0)
    dearer = [msgspec.structs.replace(run, cost_usd=round((run.cost_usd or 0) * 1.2, 6)) for run in base]
    gate = sy.gate(dearer, baseline=base, rule=["cost_usd <= +10%", "cost_usd <= +30%", "cost_of_pass <= +30%"])
    assert results(gate) == ["fails", "holds", "holds"]


def test_no_common_task_cannot_be_told() -> None:
    base, new = (Run(id=name, task=name, passed=True) for name in "ab")
    gate = sy.gate([new], baseline=[base], rule=["pass_rate >= -0.02"])
    assert gate.exit_code == 4
    assert "no task in common" in gate.checks[0].sentence


def test_a_limit_met_exactly_is_met() -> None:
    base = made_runs({"x": 0.5}, tasks=30, cost=1.0)
    gate = sy.gate(base, baseline=base, rule=["pass_rate >= -1", "pass_rate <= 1"])
    assert results(gate) == ["holds", "holds"]


@pytest.mark.parametrize(
    ("rule", "metric", "at_least", "limit", "relative"),
    [
        ("pass_rate >= -0.02", "pass_rate", True, -0.02, False),
        ("cost_usd<=+10%", "cost_usd", False, 0.1, True),
        ("  duration_seconds  <=  60 ", "duration_seconds", False, 60.0, False),
    ],
)
def test_rules_are_read(rule, metric, at_least, limit, relative) -> None:
    read = read_rule(rule)
    assert (read.metric, read.at_least, read.limit, read.relative) == (metric, at_least, pytest.approx(limit), relative)


@pytest.mark.parametrize("rule", ["pass_rate", "pass_rate > 0", "pass_rate >= much", "pass_rate >= nan", ">= 1", ""])
def test_what_is_no_rule_is_refused(rule: str) -> None:
    with pytest.raises(UsageError, match="is not a rule"):
        read_rule(rule)
    with pytest.raises(UnknownName, match="pass_rate"):
        read_rule("pas_rate >= 0")


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
    assert json.loads(failed.stdout)["result"] == "fails"
    written = summary.read_text(encoding="utf-8")
    assert "## ✅ Steelyard gate: holds" in written  # the second call adds to the file
    assert "## ❌ Steelyard gate: fails" in written
    assert "| pass\\_rate &gt;= -0.05 |" in written
    assert "cannot be told" in unsure.stdout


def test_bad_records_do_not_hide_a_failed_gate(tmp_path: Path) -> None:
    base = made_runs({"x": 0.5}, tasks=60, attempts=4)
    old = write(tmp_path / "base.jsonl", base)
    with Path(old).open("a", encoding="utf-8") as file:
        file.write('{"task": 3}\n')
    assert steelyard("gate", old, "--baseline", old, "--rule", "pass_rate >= -0.2", "--quiet").status == 1
    asked = ("gate", old, "--baseline", old, "--rule", "pass_rate >= -0.2", "--quiet", "--skip-bad")
    assert steelyard(*asked).status == 0
    assert steelyard("gate", old, "--baseline", old, "--rule", "pass_rate >= 0.3", "--quiet").status == 3


def test_names_from_data_cannot_break_the_summary(tmp_path: Path) -> None:
    runs = [Run(id=str(i), task=f"t{i}", agent=f"a|<script>{i}", passed=True) for i in range(4)]
    file = write(tmp_path / "runs.jsonl", runs)
    summary = tmp_path / "summary.md"
    steelyard("gate", file, "--baseline", file, "--rule", "pass_rate >= -1", "--summary", str(summary))
    assert "<script>" not in summary.read_text(encoding="utf-8")


def test_a_candidate_that_never_passes_fails_on_its_cost_of_pass() -> None:
    base = made_runs({"x": 0.9}, tasks=12, attempts=2)
    never = [msgspec.structs.replace(run, passed=False) for run in base]
    failed = sy.gate(never, baseline=base, rule=["cost_of_pass <= 0.1", "cost_of_pass <= +10%"])
    assert results(failed) == ["fails", "fails"]
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
        compared = sy.compare(given, a="agent=judged,model=m", b="agent=judged,attempt=1")
        assert "unpriced" not in {finding.code for finding in compared.findings}
        for whole in (
            sy.gate(given, baseline=given, rule=["pass_rate >= -0.5"]),
            sy.compare(given, a="agent=judged", b="agent=other"),
        ):
            told = [finding.message for finding in whole.findings if finding.code == "unpriced"]
            assert told
            assert all(message.startswith("12 runs have no cost: ") for message in told)
