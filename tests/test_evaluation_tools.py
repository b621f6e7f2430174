"""promptfoo and lm-evaluation-harness: what their files state, and where they mislead."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from steelyard.questions.read import RunReading
from steelyard.records import Finding, Rejected, Run, Usage
from steelyard.sources import PlacedRun, gather

SAMPLES = Path(__file__).parent / "samples" / "formats"
PROMPTFOO = SAMPLES / "promptfoo"
LM_EVAL = SAMPLES / "lm-eval"
TIME = "2026-03-01T10-00-00.000001"


def runs_in(*paths: Path) -> dict[str, Run]:
    return {item.run.id or "": item.run for item in gather(list(paths)) if isinstance(item, PlacedRun)}


def findings_in(*paths: Path) -> dict[str, Finding]:
    return {item.code: item for item in gather(list(paths)) if isinstance(item, Finding)}


def promptfoo_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def document(tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
    """The sample with other rows and without its summary."""
    values = json.loads((PROMPTFOO / "results.json").read_text())
    values["results"] |= {"results": rows, "stats": None}
    path = tmp_path / "results.json"
    path.write_text(json.dumps(values))
    return path


def sample_rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((PROMPTFOO / "results.json").read_text())["results"]["results"]
    return rows


def test_promptfoo_tells_a_failed_assertion_from_an_error() -> None:
    runs = runs_in(PROMPTFOO / "results.json")
    outcomes = {run_id: (run.outcome, run.passed, run.failure is None) for run_id, run in runs.items()}
    assert outcomes == {
        promptfoo_id(1): ("failed", False, True),  # its `error` is what the assertion says
        promptfoo_id(2): ("passed", True, True),
        promptfoo_id(3): ("errored", None, False),
        promptfoo_id(4): ("failed", False, True),
    }
    broken = runs[promptfoo_id(3)].failure
    assert broken is not None
    assert (broken.cause, broken.message) == (
        "infrastructure",
        "Error: Cost assertion does not support providers that do not return cost",
    )


def test_a_provider_that_refuses_to_answer_promptfoo_is_infrastructure(tmp_path: Path) -> None:
    row = sample_rows()[2] | {"error": "API error: 429 Too Many Requests\n{}"}
    (run,) = runs_in(document(tmp_path, [row])).values()
    assert run.failure is not None
    assert (run.failure.cause, run.failure.message) == ("infrastructure", "API error: 429 Too Many Requests")


def test_promptfoo_prompts_include_the_provider_s_cache_and_completions_reasoning() -> None:
    run = runs_in(PROMPTFOO / "results.json")[promptfoo_id(2)]
    # 900 of which 600 cached, 80 of which 30 reasoning
    assert run.usage == Usage(input_tokens=300, cache_read_tokens=600, output_tokens=50, reasoning_tokens=30)
    assert (run.cost_usd, run.duration_seconds, run.impl_rate) == (0.004, 0.25, 1.0)
    assert (run.task, run.agent, run.model) == ("letter", "parcel, short", "parcel-1")
    assert run.experiment == "eval-abc-2026-03-01T10:00:00"
    assert run.started_at == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert (run.provenance or {})["started_at"] == "lower_bound"  # the evaluation's start
    assert run.extra == {"x_named_scores": {"folded": 1}, "x_prompt": "Fold {{what}}"}


def test_a_promptfoo_cost_or_count_of_zero_is_unknown() -> None:
    runs = runs_in(PROMPTFOO / "results.json")
    for number in (1, 3, 4):  # echo counts nothing, and the broken assertion lost its paid call
        assert (runs[promptfoo_id(number)].usage, runs[promptfoo_id(number)].cost_usd) == (None, None)
    lost = findings_in(PROMPTFOO / "results.json")["tokens_lost"]
    assert (lost.severity, lost.count) == ("warning", 1)


def test_a_promptfoo_task_without_a_description_is_named_by_its_variables(tmp_path: Path) -> None:
    assert runs_in(PROMPTFOO / "results.json")[promptfoo_id(3)].task == "size=2, what=a map"
    rows = sample_rows()[2:4]
    for row, ending in zip(rows, "ab", strict=True):
        row["vars"] = {"text": "word " * 500 + ending}
    tasks = [run.task for run in runs_in(document(tmp_path, rows)).values()]
    assert len(set(tasks)) == 2  # alike for 2,500 characters
    assert all(len(task) < 250 for task in tasks)


def test_promptfoo_repetitions_are_attempts_in_the_order_of_their_tests() -> None:
    runs = runs_in(PROMPTFOO / "repeated.jsonl")
    attempts = {run_id[-2:]: (run.task, run.attempt) for run_id, run in runs.items()}
    assert attempts == {
        "11": ("letter", 2),  # it ended first
        "12": ("letter", 1),
        "13": ("what=a map", 1),
        "14": ("what=a map", 2),
    }


def test_a_promptfoo_answer_from_its_cache_states_only_a_total() -> None:
    runs = runs_in(PROMPTFOO / "repeated.jsonl")
    cached = runs[promptfoo_id(13)]
    assert cached.usage == Usage(total_tokens=980)  # neither 0 nor the provider's cache
    assert cached.extra is not None
    assert cached.extra["x_cached"] is True
    assert runs[promptfoo_id(11)].usage is not None
    finding = findings_in(PROMPTFOO / "repeated.jsonl")["cached_answers"]
    assert (finding.count, "first call" in finding.message) == (2, True)


def test_promptfoo_totals_are_those_of_its_own_summary(tmp_path: Path) -> None:
    kinds = {0: 12, 1: 24, 2: 12}  # failureReason: how many
    rows = []
    for number, reason in enumerate(kind for kind, many in kinds.items() for _ in range(many)):
        used = {"prompt": 1500, "completion": 60, "total": 1560} if number % 3 == 0 and reason != 2 else {"total": 0}
        rows.append(
            sample_rows()[0] | {"id": f"r{number}", "failureReason": reason, "testIdx": number, "tokenUsage": used}
        )
    reading = RunReading([document(tmp_path, rows)])
    outcomes = [run.outcome for run in reading]
    assert [outcomes.count(word) for word in ("passed", "failed", "errored")] == [12, 24, 12]
    total = reading.summary.total
    assert (total.runs, total.total_tokens, total.tokens_known_runs) == (48, 18_720, 12)  # 12 x 1,560


def test_a_promptfoo_summary_that_does_not_fit_its_rows_is_a_finding(tmp_path: Path) -> None:
    values = json.loads((PROMPTFOO / "results.json").read_text())
    values["results"]["stats"]["successes"] = 2
    (tmp_path / "results.json").write_text(json.dumps(values))
    assert "stated_count" not in findings_in(PROMPTFOO / "results.json")
    assert "2; the file lists 1" in findings_in(tmp_path / "results.json")["stated_count"].message


def test_a_broken_promptfoo_row_is_rejected_alone(tmp_path: Path) -> None:
    rows = sample_rows()
    rows[1]["latencyMs"] = "soon"
    path = document(tmp_path, rows)
    assert len(runs_in(path)) == 3
    (rejected,) = [item for item in gather([path]) if isinstance(item, Rejected)]
    assert rejected.reason.startswith("result 2: ")


def test_promptfoo_files_of_before_failure_reasons_are_told_by_their_grading(tmp_path: Path) -> None:
    rows = sample_rows()
    for row in rows:
        del row["failureReason"]
    assert [run.outcome for run in runs_in(document(tmp_path, rows)).values()] == [
        *("failed", "passed", "errored", "failed"),
    ]


def test_several_promptfoo_prompts_are_told_apart(tmp_path: Path) -> None:
    rows = sample_rows()[:2]
    rows[1]["prompt"]["label"] = "Fold {{what}} twice"
    path = document(tmp_path, rows)
    assert findings_in(path)["several_prompts"].severity == "info"
    assert {(run.extra or {})["x_prompt"] for run in runs_in(path).values()} == {"Fold {{what}}", "Fold {{what}} twice"}


def test_lm_eval_takes_the_model_from_the_results_of_the_same_time() -> None:
    runs = runs_in(LM_EVAL)
    run = runs[f"sums_{TIME}/1"]
    assert (run.model, run.experiment, run.agent) == ("example/parcel-1", "sums", "lm-eval")
    assert run.task.startswith("sums/")
    assert run.started_at is not None
    assert (run.provenance or {})["started_at"] == "lower_bound"
    assert run.usage is None
    assert run.extra == {"x_doc_id": 1, "x_exact_match": 1.0, "x_filter": "strict-match"}


def test_lm_eval_counts_each_question_once_however_many_filters_there_are() -> None:
    runs = [run for run in runs_in(LM_EVAL).values() if run.experiment == "sums"]
    assert [run.passed for run in runs] == [False, True, False]
    found = findings_in(LM_EVAL / f"samples_sums_{TIME}.jsonl")
    assert "using strict-match, not flexible-extract" in found["several_filters"].message
    assert "the runs reproduce it" in found["stated_accuracy"].message  # 1 of 3


def test_lm_eval_s_verdict_is_the_first_metric_of_zeros_and_ones() -> None:
    runs = [run for run in runs_in(LM_EVAL).values() if run.experiment == "choices"]
    assert [run.passed for run in runs] == [True, False]  # acc; acc_norm is first but 0.4 for a question
    assert [(run.extra or {})["x_acc_norm"] for run in runs] == [0.4, 1.0]


def test_lm_eval_without_results_does_not_guess_the_model(tmp_path: Path) -> None:
    path = tmp_path / f"samples_sums_{TIME}.jsonl"
    shutil.copy(LM_EVAL / path.name, path)
    (tmp_path / "results_2026-03-02T10-00-00.000001.json").write_bytes((LM_EVAL / f"results_{TIME}.json").read_bytes())
    assert {run.model for run in runs_in(path).values()} == {None}  # the results are of another evaluation
    assert "model_unknown" in findings_in(path)


@pytest.mark.parametrize(("samples", "code"), [(True, "results_of_samples"), (False, "results_without_samples")])
def test_lm_eval_results_alone_hold_no_runs_and_say_where_they_are(tmp_path: Path, samples: bool, code: str) -> None:
    for path in LM_EVAL.iterdir() if samples else [LM_EVAL / f"results_{TIME}.json"]:
        shutil.copy(path, tmp_path / path.name)
    results = tmp_path / f"results_{TIME}.json"
    assert runs_in(results) == {}
    assert code in findings_in(results)


def test_lm_eval_without_a_metric_of_zeros_and_ones_has_no_verdict(tmp_path: Path) -> None:
    path = tmp_path / f"samples_sums_{TIME}.jsonl"
    path.write_text((LM_EVAL / path.name).read_text().replace('"exact_match": 0.0', '"exact_match": 0.3'))
    runs = list(runs_in(path).values())
    assert {run.outcome for run in runs} == {"not_scored"}
    assert [run.impl_rate for run in runs] == [0.3, 1.0, 0.3]
    assert "no_verdict" in findings_in(path)


def test_a_question_that_stands_twice_in_lm_eval_is_two_attempts(tmp_path: Path) -> None:
    lines = (LM_EVAL / f"samples_choices_{TIME}.jsonl").read_text().splitlines()
    (tmp_path / f"samples_choices_{TIME}.jsonl").write_text(
        "".join(line + "\n" for line in (*lines, lines[0].replace('"doc_id": 0', '"doc_id": 2')))
    )
    runs = list(runs_in(tmp_path).values())
    assert [(run.task == runs[0].task, run.attempt) for run in runs] == [(True, 1), (False, 1), (True, 2)]


def test_a_long_question_is_recognized_all_the_same(tmp_path: Path) -> None:
    line = json.loads((LM_EVAL / f"samples_choices_{TIME}.jsonl").read_text().splitlines()[0])
    line["doc"] = {"q": "word " * 20_000}
    path = tmp_path / f"samples_choices_{TIME}.jsonl"
    path.write_text(json.dumps(line) + "\n")
    assert len(runs_in(path)) == 1
