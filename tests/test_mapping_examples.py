"""The five mappings of real life, those that ship, a column for each model, and several lines to one run."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.records import Finding, Rejected, Run, Usage
from steelyard.sources import PlacedRun, gather, load_mapping, mapping_of, shipped_mappings

SAMPLES = Path(__file__).parent / "samples" / "mappings"


def gathered(mapping: str, *paths: Path) -> list[Any]:  # Any: what a gathering gives
    named = load_mapping(mapping) if mapping in shipped_mappings() else mapping_of(tomllib.loads(mapping))
    return list(gather(list(paths), mapping=named))


def runs(mapping: str, *paths: Path) -> list[Run]:
    items = gathered(mapping, *paths)
    assert not [item for item in items if isinstance(item, Rejected)]
    return [item.run for item in items if isinstance(item, PlacedRun)]


SHEET = """
mapping = 1
name = "week-12"
rows = { format = "csv", skip = 3, delimiter = ";", where = { "Model" = ["model-a", "model-b"] } }
numbers = { decimal = ",", thousands = "." }
[run]
task = "Task ID"
model = "Model"
agent = "Agent"
experiment = { value = "week 12" }
outcome = { from = "Result", words = { pass = "passed", fail = "failed", "✓" = "passed", timeout = "errored" } }
impl_rate = { from = "Score %", unit = "percent" }
cost_usd = "Cost ($)"
started_at = { from = "Started", format = "%d.%m.%Y %H:%M" }
duration_seconds = { from = "Duration (min)", unit = "min", clock = "m:ss" }
[run.usage]
input_tokens = "Tokens in"
"""


def test_a_messy_sheet_is_right_to_the_cent_and_the_second() -> None:
    read = runs(SHEET, SAMPLES / "sheet.csv")
    assert [run.task for run in read] == ["parse-1", "parse-2", "parse-3", "parse-4"]
    assert [run.cost_usd for run in read] == [1002.5, 0.25, None, 3.0]
    assert [run.duration_seconds for run in read] == [150.0, 45.0, 1800.0, 65.0]
    assert [run.outcome for run in read] == ["passed", "failed", "errored", "passed"]
    assert [run.impl_rate for run in read] == [0.625, 0.1, None, 1.0]
    assert [run.usage and run.usage.input_tokens for run in read] == [1_500_000, 12_000, None, 40_000]
    assert read[3].started_at == datetime(2026, 3, 20, 11, 15, tzinfo=UTC)
    assert {run.source.format for run in read if run.source} == {"map:week-12"}
    assert read[0].provenance is not None
    assert (read[0].provenance["cost_usd"], read[2].provenance and read[2].provenance["cost_usd"]) == (
        "reported",
        "unknown",
    )


def test_rows_that_where_leaves_out_are_told() -> None:
    (finding,) = [item for item in gathered(SHEET, SAMPLES / "sheet.csv") if isinstance(item, Finding)]
    assert finding.code == "rows_left_out"
    assert finding.where == f"{SAMPLES / 'sheet.csv'}:9"


SPEEDUPS = r"""
mapping = 1
name = "speedups"
rows = { format = "csv", files = "eval_report_*.csv" }
[run]
task = "instance_id"
model = { from = "$stem", pattern = ["^eval_report_(.+?)_maxiter_", "^eval_report_(gold)$"] }
agent = { from = "$stem", pattern = ["(_maxiter_)", "_(gold)$"], words = { _maxiter_ = "loop", gold = "expert" } }
passed = { from = "correctness", at_least = 1 }
x_speedup = { from = "pred_speedup_ratio", as = "float" }
[[run.benchmarks]]
name = { value = "workload" }
seconds = { from = "pre_edit_runtime", over = "raw_pred_speedup_ratio", when = { correctness = 1 } }
"""


def test_a_model_stands_in_the_name_of_the_file_and_a_time_is_a_quotient() -> None:
    read = runs(SPEEDUPS, SAMPLES)
    assert {(run.agent, run.model) for run in read} == {("loop", "model-a"), ("expert", "gold")}
    by_task = {run.task: run for run in read if run.model == "model-a"}
    assert by_task["repo__one-1"].benchmarks is not None
    assert by_task["repo__one-1"].benchmarks[0].seconds == 2.0  # 4.0 s before, twice as fast
    assert by_task["repo__one-2"].benchmarks is None  # only where the patch is correct
    assert [run.passed for run in by_task.values()] == [True, False]
    assert by_task["repo__one-1"].extra == {"x_speedup": 2.0}


def test_a_pattern_that_does_not_fit_sets_the_row_aside_and_takes_no_default(tmp_path: Path) -> None:
    odd = tmp_path / "eval_report_odd.csv"
    odd.write_bytes((SAMPLES / "eval_report_gold.csv").read_bytes())
    with_default = SPEEDUPS.replace('(gold)$"] }', '(gold)$"], default = "gold" }').replace("agent =", "x_agent =")
    with_default = with_default.replace('"_(gold)$"]', '"_(gold)$"], else = "absent"')
    items = gathered(with_default, odd)
    assert [type(item) for item in items] == [Rejected, Rejected]
    assert items[0].reason.startswith("$stem: no pattern matches 'eval_report_odd'")
    assert items[0].where == f"{odd}:2"


def test_the_same_file_read_twice_counts_once_where_its_place_says_nothing(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_bytes((SAMPLES / "sheet.csv").read_bytes())
    assert len(runs(SHEET, tmp_path)) == 4


INDEX = """
mapping = 1
name = "index"
rows = { format = "json" }
extra_files = { meta = "../metadata.json" }
[run]
task = "$key"
experiment = "$stem"
model = "$meta.model"
agent = "$meta.agent_name"
passed = "resolved"
cost_usd = { from = "cost", zero = "unknown" }
"""


def test_entries_of_an_object_are_runs_and_the_model_stands_in_a_file_one_folder_up() -> None:
    read = runs(INDEX, SAMPLES / "index")
    assert [(run.model, run.agent, run.task, run.passed, run.cost_usd) for run in read] == [
        ("model-a", "alpha", "repo__one-1", True, 0.5),
        ("model-a", "alpha", "repo__one-2", False, None),  # a cost of 0 is unknown
        ("model-a", "alpha", "repo__one-3", None, None),
        ("model-b", "beta", "repo__one-1", False, 0.25),
        ("model-b", "beta", "repo__one-2", True, 1.5),
    ]
    assert {run.experiment for run in read} == {"suite-x"}


PROMPTFOO = """
mapping = 1
name = "promptfoo"
rows = { format = "json", at = "results.results[*]" }
[run]
id = "id"
experiment = "$doc.evalId"
task = { first_of = ["testCase.description", "vars.word"] }
agent = { first_of = ["provider.label", "provider.id"] }
outcome = { from = "failureReason", words = { "0" = "passed", "1" = "failed", "2" = "errored" } }
impl_rate = "score"
cost_usd = { from = "cost", zero = "unknown" }
[run.usage]
cache_read_tokens = { from = "tokenUsage.completionDetails.cacheReadInputTokens", zero = "unknown" }
output_tokens = { from = "tokenUsage.completion", minus = "tokenUsage.completionDetails.reasoning", zero = "unknown" }
reasoning_tokens = { from = "tokenUsage.completionDetails.reasoning", zero = "unknown" }
[run.usage.input_tokens]
from = "tokenUsage.prompt"
minus = "tokenUsage.completionDetails.cacheReadInputTokens"
zero = "unknown"
"""


def test_tokens_become_disjoint_kinds_and_the_first_that_is_there_counts() -> None:
    first, second, third = runs(PROMPTFOO, SAMPLES / "promptfoo.json")
    assert [run.task for run in (first, second, third)] == ["greet", "bye", "boom"]
    assert [run.agent for run in (first, second)] == ["mock", "mock:m"]
    assert [run.outcome for run in (first, second, third)] == ["passed", "failed", "errored"]
    # 1,500 of which 1,000 cached; 60 of which 20 reasoning
    kinds = {"input_tokens": 500, "cache_read_tokens": 1000, "output_tokens": 40, "reasoning_tokens": 20}
    assert first.usage == Usage(**kinds)
    assert second.usage == Usage(input_tokens=900, output_tokens=30)
    assert third.usage is None
    assert first.experiment == "eval-a"


LM_EVAL = r"""
mapping = 1
name = "lm-eval"
rows = { format = "jsonl", where = { filter = "none" } }
[run]
task = "doc_hash"
experiment = { from = "$stem", pattern = "samples_(.+)_\\d{4}-\\d\\d-\\d\\dT" }
ended_at = { from = "$stem", pattern = "(\\d{4}-\\d\\d-\\d\\dT[\\d.-]+)$", format = "%Y-%m-%dT%H-%M-%S.%f" }
model = "$folder[0]"
passed = { first_of = ["exact_match", "acc", "pass@1"], at_least = 1 }
"""


def test_none_is_a_value_in_json_and_the_name_holds_the_time() -> None:
    read = runs(LM_EVAL, SAMPLES / "lm-eval")
    assert [(run.task, run.passed, run.model, run.experiment) for run in read] == [
        ("aa11", True, "some-model", "sums"),
        ("bb22", False, "some-model", "sums"),
    ]
    assert read[0].ended_at == datetime(2026, 3, 1, 10, 11, 12, 131415, tzinfo=UTC)


def test_evalplus_passes_only_with_base_and_plus() -> None:
    read = runs("evalplus", SAMPLES / "evalplus.eval_results.json")
    assert [(run.task, run.attempt, run.passed) for run in read] == [
        ("Sums/0", 1, True),
        ("Sums/0", 2, False),
        ("Sums/1", 1, False),
        ("Sums/1", 2, None),  # the plus tests were not run
    ]
    assert read[0].output is not None
    assert read[0].output.text == "def f(): return 1"


def test_bigcodebench_counts_a_timeout_as_failed() -> None:
    assert [run.passed for run in runs("bigcodebench", SAMPLES / "bigcodebench_eval_results.json")] == [
        True,
        False,
        False,
    ]


def test_livecodebench_has_an_attempt_for_each_grade() -> None:
    read = runs("livecodebench", SAMPLES / "livecodebench")
    assert [(run.task, run.attempt, run.passed, run.model) for run in read] == [
        ("q1", 1, True, "some-model"),
        ("q1", 2, False, "some-model"),
        ("q2", 1, False, "some-model"),
        ("q2", 2, False, "some-model"),
    ]
    assert read[0].extra == {"x_platform": "leet", "x_difficulty": "easy"}


def test_deepeval_metrics_are_judges_and_one_that_raised_gave_no_judgment() -> None:
    first, second = runs("deepeval", SAMPLES / "deepeval_test_run_20260301.json")
    assert first.judgments is not None
    assert [(each.judge, each.weighted_score) for each in first.judgments] == [("Polite", 0.9), ("Short", 0.6)]
    assert second.judgments is not None
    assert [each.judge for each in second.judgments] == ["Polite"]
    assert (first.cost_usd, second.cost_usd) == (0.01, None)
    assert second.extra == {"x_metric_errors": 1}


COLUMNS = """
mapping = 1
name = "models"
rows = { format = "csv", columns = ["model-a", "model-b"] }
[run]
task = "Task"
model = "$column"
outcome = { from = "$cell", words = { pass = "passed", fail = "failed", error = "errored" } }
"""


def test_a_column_for_each_model_gives_a_run_for_each_cell() -> None:
    read = runs(COLUMNS, SAMPLES / "models.csv")
    assert [(run.task, run.model, run.outcome) for run in read] == [
        ("parse-1", "model-a", "passed"),
        ("parse-1", "model-b", "failed"),
        ("parse-2", "model-a", "passed"),  # the other cell is empty
        ("parse-3", "model-a", "errored"),
        ("parse-3", "model-b", "passed"),
    ]


def test_several_columns_of_a_model_are_found_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("Task,a,a cost,b,b cost\nt,pass,1.5,fail,2\n", encoding="utf-8")
    wide = COLUMNS.replace('["model-a", "model-b"]', '["a", "b"]') + 'cost_usd = "$column cost"\n'
    assert [(run.model, run.cost_usd) for run in runs(wide, path)] == [("a", 1.5), ("b", 2.0)]


GROUP = """
mapping = 1
name = "calls"
rows = { format = "jsonl" }
group = { by = "trace" }
[run]
id = "trace"
task = "task"
passed = { from = "ok", take = "all" }
cost_usd = { from = "usd", take = "sum" }
iterations = { from = "call", take = "count" }
started_at = { from = "at", take = "min" }
ended_at = { from = "at", take = "max" }
[[run.calls]]
id = "call"
model = "model"
at = "at"
usage.input_tokens = "in"
usage.output_tokens = "out"
"""


def test_several_lines_are_one_run_with_sums() -> None:
    first, second = runs(GROUP, SAMPLES / "calls.jsonl")
    assert (first.id, first.cost_usd, first.iterations, first.passed) == ("t1", 0.5, 2, True)
    assert first.elapsed_seconds == 9.0
    assert first.total_usage == Usage(input_tokens=300, output_tokens=30)
    assert first.calls is not None
    assert [call.model for call in first.calls] == ["model-a", "model-b"]
    assert (second.id, second.iterations, second.passed) == ("t2", 1, False)
    assert first.provenance is not None
    assert first.provenance["cost_usd"] == "counted"


def test_lines_of_a_run_that_differ_are_set_aside_unless_take_says_which(tmp_path: Path) -> None:
    differing = GROUP.replace('task = "task"', 'task = "task"\nmodel = "model"')
    items = gathered(differing, SAMPLES / "calls.jsonl")
    (rejected,) = [item for item in items if isinstance(item, Rejected)]
    assert rejected.reason == "model: the lines of the run have different values: 'model-a', 'model-b'"
    assert rejected.line == 1
    last = differing.replace('model = "model"\n', 'model = { from = "model", take = "last" }\n', 1)
    assert runs(last, SAMPLES / "calls.jsonl")[0].model == "model-b"
    nameless = tmp_path / "calls.jsonl"
    nameless.write_text('{"task": "t", "ok": true}\n', encoding="utf-8")
    (rejected,) = gathered(GROUP, nameless)
    assert rejected.reason == "the line has no value for group.by"


def test_sums_go_over_the_values_of_a_line_and_over_the_lines(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text('{"t": 1, "n": [1, 2]}\n{"t": 1, "n": [3]}\n', encoding="utf-8")
    fields = 'task = { value = "a" }\ntool_calls = { from = "n[*]", take = "sum" }\n'
    counted = 'iterations = { from = "n[*]", take = "count" }\n'
    spans = 'mapping = 1\nname = "s"\nrows = { format = "jsonl" }\ngroup = { by = "t" }\n[run]\n'
    (run,) = runs(spans + fields + counted, path)
    assert (run.tool_calls, run.iterations) == (6, 3)


@pytest.mark.parametrize("name", shipped_mappings())
def test_every_shipped_mapping_says_what_it_is_for(name: str) -> None:
    mapping = load_mapping(name)
    assert mapping.name == name
    assert mapping.title
    assert mapping.rows.files


def test_python_takes_a_name_a_file_or_the_values(tmp_path: Path) -> None:
    (tmp_path / "mapping.toml").write_text(SHEET, encoding="utf-8")
    for given in (tmp_path / "mapping.toml", str(tmp_path / "mapping.toml"), tomllib.loads(SHEET)):
        assert len(sy.read(SAMPLES / "sheet.csv", map=given)) == 4
    assert len(sy.read(SAMPLES / "evalplus.eval_results.json", map="evalplus")) == 4
