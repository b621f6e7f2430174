"""The user's own `x_` keys: they group, choose, compare, gate, and are inputs of metrics with a declared kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import polars as pl
import pytest

import steelyard as sy
from commands import steelyard
from matchups import write
from steelyard.cli import run
from steelyard.errors import DeclarationError, UnknownNameError
from steelyard.metrics import INFINITY, CustomBool, CustomFloat, Example, Metric, Required, Value, metric
from steelyard.records import Output, Run, custom_inputs
from steelyard.sources.tables import _row_batches

FEW = {"resamples": 200}


def made(**own: object) -> list[Run]:
    """Main passes three of four tasks, the change all of them; both hold what is given too."""
    return [
        Run(
            id=f"{branch}-{task}",
            task=f"task-{task}",
            agent="a",
            passed=branch == "change" or task > 2,
            extra={"x_branch": branch, "x_number": task, "x_warm": task % 2 == 0, **own},
        )
        for branch in ("main", "change")
        for task in range(12)
    ]


def test_a_key_of_one_s_own_groups_chooses_compares_and_ranks() -> None:
    runs = made()
    measured = sy.measure(runs, by=["x_branch"], metrics=["pass_rate"])
    shares = {group.key["x_branch"]: group.metrics["pass_rate"].mean for group in measured.groups}
    assert shares == {"change": 1.0, "main": 0.75}
    assert sy.measure(runs, where="x_branch=main").n == 12
    assert sy.measure(runs, where={"x_branch": "main", "x_warm": "true"}).n == 6
    assert sy.measure(runs, where="x_number!=3").n == 22
    compared = sy.compare(runs, baseline="x_branch=main", candidate="x_branch=change", metrics=["pass_rate"], **FEW)
    higher = compared.pairs[0].metrics["pass_rate"].by_task.higher
    assert [each.task for each in higher] == ["task-0", "task-1", "task-2"]
    assert sy.rank(runs, by=["x_branch"], metrics=["pass_rate"], **FEW).groups[0].key == {"x_branch": "change"}
    assert [group.key for group in sy.matrix(runs, by=["x_branch"]).groups] == [
        {"x_branch": "change"},
        {"x_branch": "main"},
    ]


def test_the_same_keys_work_from_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "runs.jsonl", made())
    answers = []
    for ending in ("jsonl", "csv", "parquet"):
        path = str(tmp_path / f"runs.{ending}")
        assert ending == "jsonl" or run(["read", file, "--out", path, "--quiet"]) == 0
        capsys.readouterr()
        assert run(["measure", path, "--by", "x_branch,x_number,x_warm", "--json"]) == 0
        answers.append([group["key"] for group in json.loads(capsys.readouterr().out)["groups"]])
    assert answers[0] == answers[1] == answers[2]
    assert {"x_branch": "main", "x_number": "10", "x_warm": "true"} in answers[0]


def test_a_gate_holds_for_the_runs_that_an_own_key_chooses(tmp_path: Path) -> None:
    file = write(tmp_path / "runs.jsonl", made())
    rule = ["--rule", "pass_rate >= 0.7", "--quiet"]
    assert run(["gate", file, *rule, "--where", "x_branch=change"]) == 0
    assert run(["gate", file, *rule, "--where", "x_branch=main"]) == 4  # 9 of 12 do not show 70%


def test_a_label_of_one_s_own_groups_a_flat_file_too(tmp_path: Path) -> None:
    plain = [msgspec.structs.replace(each, extra=None) for each in made()]
    file = write(tmp_path / "runs.jsonl", plain)
    assert run(["read", file, "--out", str(tmp_path / "flat.parquet"), "--quiet"]) == 0
    measured = sy.measure(tmp_path / "flat.parquet", set="x_host=one", by=["x_host"])
    assert [group.key for group in measured.groups] == [{"x_host": "one"}]


def test_a_key_that_no_run_has_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="x_brnch") as error:
        sy.measure(made(), by=["x_brnch"])
    assert error.value.hint == "did you mean 'x_branch'?"
    with pytest.raises(UnknownNameError, match="unknown x_branch 'mian'") as wrong:
        sy.measure(made(), where="x_branch=mian")
    assert wrong.value.hint == "did you mean 'main'?"
    with pytest.raises(UnknownNameError, match="unknown key 'agnt'") as key:
        sy.measure(made(), by=["agnt"])
    assert key.value.hint == "did you mean 'agent'?"
    with pytest.raises(UnknownNameError, match="unknown key 'agnt'"):
        sy.measure(made(), where="agnt=a")
    with pytest.raises(UnknownNameError, match="unknown label 'agnt'"):
        sy.measure(made(), set="agnt=a")


def test_custom_field_is_a_key_without_its_prefix() -> None:
    runs = made()
    assert [group.key for group in sy.measure(runs, by=["branch"]).groups] == [
        {"x_branch": "change"},
        {"x_branch": "main"},
    ]
    assert sy.measure(runs, where="branch=main").n == 12
    compared = sy.compare(runs, baseline="branch=main", candidate="branch=change", metrics=["pass_rate"], **FEW)
    assert compared.baseline.runs == 12
    assert (
        sy.gate(runs, baseline="branch=main", candidate="branch=change", rule="pass_rate >= baseline - 0.1").tasks == 12
    )
    assert sy.measure(made(), set="host=one", by=["host"]).groups[0].key == {"x_host": "one"}
    assert [group.key for group in sy.usage(runs, by=["branch"]).groups] == [
        {"x_branch": "change"},
        {"x_branch": "main"},
    ]


def test_columns_of_one_s_own_need_no_prefix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"task": f"t{n}", "agent": "a", "passed": n > 1, "prompt": "AB"[n % 2], "my_score": n / 2} for n in range(4)
    ]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    frame = pl.DataFrame(rows)
    frame.write_csv(tmp_path / "runs.csv")
    frame.write_parquet(tmp_path / "runs.parquet")
    for given in (rows, frame, *(tmp_path / f"runs.{ending}" for ending in ("jsonl", "csv", "parquet"))):
        measured = sy.measure(given, by=["prompt"], metrics=["pass_rate", "my_score"])
        assert [(group.key, group.metrics["x_my_score"].mean) for group in measured.groups] == [
            ({"x_prompt": "A"}, 0.5),
            ({"x_prompt": "B"}, 1.0),
        ]


@pytest.mark.parametrize(
    "row",
    [
        {"task": "a", "prompt": "x"},
        {"task": "a", "cost_usd": 1.0, "event": "call"},
        {"task": "a", "cost_usd": 1.0, "status": "failed"},
        {"task": "a", "passed": True, "cost": 1.0},
        {"task": "a", "passed": True, "modle": "x"},
    ],
)
def test_lines_that_may_be_something_else_are_no_records(tmp_path: Path, row: dict[str, object]) -> None:
    (tmp_path / "runs.jsonl").write_text(json.dumps(row) + "\n")
    done = steelyard("measure", "runs.jsonl", cwd=tmp_path)
    assert done.status == 1
    assert "unknown format; as run records: unknown key" in done.stderr


def test_project_selects_the_experiment_of_a_session() -> None:
    runs = [msgspec.structs.replace(each, experiment=each.task) for each in made()]
    assert sy.measure(runs, where="project=task-3").n == 2
    assert sy.usage(runs, where="project=task-3").total.runs == 2


def test_numbers_of_a_custom_field_are_a_metric() -> None:
    runs = made()
    for name in ("number", "x_number"):
        measured = sy.measure(runs, by=["branch"], metrics=[name], interval="auto")
        assert measured.groups[0].metrics["x_number"].mean == 5.5  # tasks 0 to 11
        assert "custom_metric" in [finding.code for finding in measured.findings]
        compared = sy.compare(runs, baseline="branch=main", candidate="branch=change", metrics=[name], **FEW)
        assert compared.pairs[0].metrics["x_number"].better == "neither"
    with pytest.raises(UnknownNameError, match="unknown metric 'nmber'") as error:
        sy.measure(runs, metrics=["nmber"])
    assert error.value.hint == "did you mean 'number'?"
    with pytest.raises(UnknownNameError, match="the custom field 'branch' has no numbers"):
        sy.measure(runs, metrics=["branch"])
    with pytest.raises(UnknownNameError, match="unknown metric 'pas_rate'"):
        sy.measure(runs, metrics=["pas_rate"])


def test_outputs_are_one_prompt_only_with_the_same_own_key() -> None:
    runs = [msgspec.structs.replace(each, output=Output(language="python", text="x = 1")) for each in made()]
    assert len(sy.repeatability(runs, by=["task"]).prompts) == 12
    assert len(sy.repeatability(runs, by=["task", "x_branch"]).prompts) == 24
    ranked = sy.rank(runs, by=["x_branch"], metrics=["r_raw"], **FEW)
    assert len(ranked.groups) == 2


def test_more_keys_than_a_table_has_room_for_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_row_batches, "MAX_CUSTOM_FIELDS", 4)
    result = sy.measure(made(x_a=1, x_b=2, x_c=3), by=["x_branch"])
    (told,) = [finding for finding in result.findings if finding.code == "custom_fields"]
    assert told.count == 2
    assert "custom fields beyond the first 4" in told.message


@metric(
    level="run",
    title="Latency",
    unit="s",
    better="lower",
    bounds=(0, INFINITY),
    spec="outcome",
    formula="x_latency, doubled where x_warm is false",
    example=Example({"x_latency": 2.0, "x_warm": False}, 4.0),
)
def latency(*, x_latency: CustomFloat, x_warm: CustomBool) -> Value:
    """How long the first answer took."""
    return x_latency * (2.0 - x_warm)


PLUG_IN = '''
from typing import Annotated, Any

from steelyard.metrics import INFINITY, Example, Input, CustomFloat, Value, metric, ratio, missing


@metric(
    level="run", title="Latency", unit="s", better="lower", bounds=(0, INFINITY), spec="outcome",
    formula="x_latency", example=Example({"x_latency": 2.0}, 2.0),
)
def latency(*, x_latency: CustomFloat) -> Value:
    """How long the first answer took."""
    return x_latency * 1.0


@metric(
    level="group", title="Latency per pass", unit="s", better="lower", bounds=(0, INFINITY), spec="outcome",
    formula="mean x_latency / mean pass_rate", example=Example({"x_latency": 2.0, "pass_rate": 0.5}, 4.0),
)
def latency_of_pass(
    *,
    x_latency: Annotated[Any, Input(reduce="mean", kind="float")],
    pass_rate: Annotated[Any, Input(reduce="mean")],
) -> Value:
    """What waiting a pass takes."""
    return ratio(x_latency, pass_rate, at_zero=INFINITY)
'''


def test_a_metric_takes_own_keys_of_a_declared_kind_on_every_verb(tmp_path: Path) -> None:
    (tmp_path / "plug").mkdir()
    (tmp_path / "plug" / "latency.py").write_text(PLUG_IN, "utf-8")
    runs = [msgspec.structs.replace(each, extra={**(each.extra or {}), "x_latency": 0.5}) for each in made()]
    texts = {"x_latency": "slow", "x_branch": "main"}
    file = write(tmp_path / "runs.jsonl", [*runs, Run(id="text", task="task-1", passed=True, extra=texts)])
    plugged = {"STEELYARD_METRICS": str(tmp_path / "plug")}
    names = "latency,latency_of_pass"
    done = steelyard("measure", file, "--by", "x_branch", "--metrics", names, "--json", **plugged)
    groups = {group["key"]["x_branch"]: group["metrics"] for group in json.loads(done.stdout)["groups"]}
    assert groups["main"]["latency"]["mean"] == 0.5
    assert groups["main"]["latency"]["missing"] == 1  # text is no amount, and unknown is not zero
    assert groups["change"]["latency_of_pass"]["value"] == 0.5
    assert groups["main"]["latency_of_pass"]["value"] == 0.5 / 0.75
    one = steelyard("explain", file, "latency", "--run", "main-3", **plugged)
    assert "└ x_latency    0.5  Custom field." in one.stdout


def test_numbers_and_columns_agree_on_own_keys() -> None:
    assert isinstance(latency, Metric)
    assert latency(x_latency=3.0, x_warm=True) == 3.0
    assert custom_inputs({"x_a": True, "x_b": 2, "x_c": "3"}) == {"x_a as bool": True, "x_b as float": 2.0}
    assert latency.needs == {"x_latency": "x_latency as float", "x_warm": "x_warm as bool"}


def untyped(*, x_latency: Required) -> Value:
    return x_latency


def kinded(*, tool_calls: CustomFloat) -> Value:
    return tool_calls


@pytest.mark.parametrize(
    ("function", "message"),
    [(untyped, "without a declared type"), (kinded, "which is only for custom fields")],
)
def test_an_own_key_without_a_kind_and_a_kind_without_an_own_key_are_refused(
    function: Callable[..., Value], message: str
) -> None:
    declare = metric(
        level="run",
        title="t",
        unit="",
        better="lower",
        bounds=(0, 1),
        spec="outcome",
        formula="f",
        example=Example({}, None),
    )
    with pytest.raises(DeclarationError, match=message) as error:
        declare(function)
    assert "CustomFloat" in (error.value.hint or "")
