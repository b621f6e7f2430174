"""What a harness states of its runs, and which policy for runs without a verdict reproduces it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from commands import steelyard
from steelyard.questions.measure import Statistics
from steelyard.records import Finding
from steelyard.sources import gather, log_formats

SAMPLES = Path(__file__).parent / "samples" / "formats"
REAL = (
    Path(__file__).parents[2] / "shared" / "samples" / "terminal-bench" / "orchestrator-qwen-3-coder" / "results.json"
)

# a: passed, failed, no verdict; b: failed, failed, passed
VERDICTS: dict[str, list[bool | None]] = {"a": [True, False, None], "b": [False, False, True]}
# exclude: pass@2 of a is 1 (one of two passed), of b 1 - C(2, 2) / C(3, 2) = 2/3; their mean is 5/6
EXCLUDE = {"1": (1 / 2 + 1 / 3) / 2, "2": 5 / 6}
# fail: both are one of three, so 1/3 and 2/3
FAIL = {"1": 1 / 3, "2": 2 / 3}


def results(folder: Path, **stated: Any) -> list[Finding]:
    trials = [
        {
            "id": f"{task}-{number}",
            "trial_name": f"{task}.{number}-of-3.x",
            "task_id": task,
            "is_resolved": verdict,
            "failure_mode": "unset",
        }
        for task, verdicts in VERDICTS.items()
        for number, verdict in enumerate(verdicts, 1)
    ]
    (folder / "results.json").write_text(json.dumps({"id": "r", "results": trials} | stated))
    return [item for item in gather([folder]) if isinstance(item, Finding)]


def the(code: str, found: list[Finding]) -> Finding:
    [finding] = [finding for finding in found if finding.code == code]
    return finding


@pytest.mark.parametrize(
    ("stated", "told", "severity"),
    [
        (FAIL, "; counting unscored runs as failed reproduces it", "info"),
        (EXCLUDE, "; excluding unscored runs reproduces it", "info"),
        ({"2": 0.8333}, "; excluding unscored runs reproduces it", "info"),  # rounded to four decimals
        ({"2": 0.83334}, "; neither excluding unscored runs nor counting them as failed reproduces it", "warning"),
        (
            {"1": FAIL["1"], "2": EXCLUDE["2"]},
            "; neither excluding unscored runs nor counting them as failed",
            "warning",
        ),
        ({"2": 0.7, "x": 1, "0": 1, "9" * 5000: 1, "3": None, "4": "high"}, "reported pass@k: 2: 0.7; ", "warning"),
    ],
)
def test_stated_pass_at_k_tells_which_policy_gives_it(
    tmp_path: Path, stated: dict[str, Any], told: str, severity: str
) -> None:
    finding = the("stated_pass_at_k", results(tmp_path, pass_at_k=stated))
    assert told in finding.message
    assert finding.severity == severity


def test_both_figures_stand_beside_the_stated_one(tmp_path: Path) -> None:
    message = the("stated_pass_at_k", results(tmp_path, pass_at_k={"2": 2 / 3, "3": 1.0})).message
    assert "excluding unscored runs: 2: 0.833333, 3: 1" in message  # only b has three verdicts, and one is a pass
    assert "counting unscored runs as failed: 2: 0.666667, 3: 1" in message


@pytest.mark.parametrize("nothing", [{}, {"2": None}, None, [], "0.5"])
def test_where_no_pass_at_k_is_stated_nothing_is_said(tmp_path: Path, nothing: object) -> None:
    assert "stated_pass_at_k" not in {finding.code for finding in results(tmp_path, pass_at_k=nothing)}


@pytest.mark.parametrize(
    ("accuracy", "told"),
    [
        (1 / 3, "; counting unscored runs as failed reproduces it"),  # 2 of 6
        (0.4, "; excluding unscored runs reproduces it"),  # 2 of 5
        (0.9, "; neither excluding unscored runs nor counting them as failed reproduces it"),
    ],
)
def test_stated_accuracy_tells_it_too(tmp_path: Path, accuracy: float, told: str) -> None:
    finding = the("stated_accuracy", results(tmp_path, accuracy=accuracy))
    assert finding.message.endswith(told)
    assert finding.severity == ("warning" if accuracy == 0.9 else "info")


def test_another_number_of_resolved_trials_than_listed_is_told(tmp_path: Path) -> None:
    assert "stated_count" not in {finding.code for finding in results(tmp_path, n_resolved=2)}
    assert (
        "resolved trials as reported: 3; the file lists 2"
        in the("stated_count", results(tmp_path, n_resolved=3)).message
    )


def test_a_swe_bench_report_is_held_to_its_own_lists(tmp_path: Path) -> None:
    report = json.loads((SAMPLES / "swe-bench" / "run-report.json").read_text())
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    found = [item for item in gather([path]) if isinstance(item, Finding)]
    # 1 resolved of 4 instances, one of them broken: 1/4 with it, 1/3 without
    assert "reported accuracy: 0.25 over 4 trials" in the("stated_accuracy", found).message
    assert the("stated_accuracy", found).message.endswith("counting unscored runs as failed reproduces it")
    path.write_text(json.dumps(report | {"resolved_instances": 2, "total_instances": 9}))
    found = [item for item in gather([path]) if isinstance(item, Finding)]
    assert "resolved instances as reported: 2; the file lists 1" in the("stated_count", found).message
    other = the("stated_accuracy", found)  # over nine instances, of which the file names four
    assert other.message.endswith(
        "counting unscored runs and 5 tasks without a run as failed reproduces it (the option tasks: 9)"
    )
    assert other.severity == "info"
    [rate] = [group.metrics["pass_rate"] for group in sy.measure(path, tasks="9", unscored="fail").groups]
    assert isinstance(rate, Statistics)
    assert rate.mean == 1 / 9


def harbor_job(folder: Path, mean: float) -> None:
    rewards = {"1.0": ["a", "b"], "0.0": ["c"]}
    evaluation = {"n_trials": 3, "n_errors": 1, "metrics": [{"mean": mean}], "reward_stats": {"reward": rewards}}
    write(folder / "result.json", {"n_total_trials": 4, "stats": {"evals": {"a__m__d": evaluation}}})


def inspect_log(folder: Path, accuracy: float) -> None:
    samples = [{"id": n, "epoch": 1, "scores": {"s": {"value": value}}} for n, value in enumerate("CCI")]
    scores = [{"name": "s", "metrics": {"accuracy": {"value": accuracy}}}]
    results = {"total_samples": 4, "completed_samples": 3, "scores": scores}
    about = {"eval_id": "e", "task": "q", "model": "m"}
    samples.append({"id": 9, "epoch": 1, "scores": {}})
    write(
        folder / "log.json",
        {"version": 2, "status": "success", "eval": about, "results": results, "samples": samples},
    )


def lm_eval_results(folder: Path, accuracy: float) -> None:
    time = "2026-03-01T10-00-00.000001"
    rows = [
        {
            "doc_id": n,
            "doc": {},
            "arguments": {},
            "resps": [["x"]],
            "filter": "f",
            "metrics": ["acc"],
            "acc": float(n < 2),
        }
        for n in range(4)
    ]
    (folder / f"samples_q_{time}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write(folder / f"results_{time}.json", {"results": {"q": {"acc,f": accuracy}}, "group_subtasks": {}})


def terminal_bench_run(folder: Path, accuracy: float) -> None:
    results(folder, accuracy=accuracy)


def swe_bench_report(folder: Path, share: float) -> None:
    report = {"total_instances": 4, "resolved_instances": round(share * 4), "resolved_ids": ["a", "b"]}
    write(folder / "report.json", {**report, "unresolved_ids": ["c"], "error_ids": ["d"], "empty_patch_ids": []})


def promptfoo_results(folder: Path, share: float) -> None:
    rows = [
        {
            "id": f"r{n}",
            "failureReason": int(n > 1),
            "success": n < 2,
            "provider": "echo",
            "vars": {"n": n},
            "latencyMs": 5,
        }
        for n in range(4)
    ]
    stats = {"successes": round(share * 4), "failures": 4 - round(share * 4), "errors": 0}
    write(folder / "out.json", {"evalId": "e", "results": {"version": 3, "results": rows, "stats": stats}})


def scylla_experiment(folder: Path, share: float) -> None:
    runs = [{"run_number": n, "exit_code": 0, "judge_score": 0.5, "judge_passed": n < 2} for n in range(4)]
    tiers = {"T0": {"subtest_results": {"00": {"runs": runs, "pass_rate": share}}}}
    write(folder / "result.json", {"config": {"experiment_id": "e"}, "tier_results": tiers})


def junit_report(folder: Path, share: float) -> None:
    cases = "".join(f'<testcase name="{n}">{"" if n < 2 else "<failure/>"}</testcase>' for n in range(4))
    (folder / "j.xml").write_text(
        f'<testsuite tests="4" failures="{4 - round(share * 4)}" errors="0">{cases}</testsuite>'
    )


def ctrf_report(folder: Path, share: float) -> None:
    passed = round(share * 4)
    tests = [{"name": str(n), "status": "passed" if n < 2 else "failed"} for n in range(4)]
    summary = {"tests": 4, "passed": passed, "failed": 4 - passed}
    write(folder / "ctrf.json", {"results": {"tool": {"name": "t"}, "summary": summary, "tests": tests}})


def pytest_report(folder: Path, share: float) -> None:
    passed = round(share * 4)
    tests = [{"nodeid": str(n), "outcome": "passed" if n < 2 else "failed"} for n in range(4)]
    summary = {"total": 4, "passed": passed, "failed": 4 - passed}
    write(folder / "r.json", {"created": 1.0, "duration": 1.0, "exitcode": 1, "summary": summary, "tests": tests})


def write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


STATED = {
    "harbor": (harbor_job, {0.5: "fail", 0.6666667: "exclude", 0.9: None}),  # 2 of 4, 2 of 3
    "inspect": (inspect_log, {0.5: "fail", 0.6666667: "exclude", 0.9: None}),
    "terminal-bench": (terminal_bench_run, {1 / 3: "fail", 0.4: "exclude", 0.9: None}),  # 2 of 6, 2 of 5
    "swe-bench": (swe_bench_report, {0.5: "fail", 0.75: None}),
    "lm-eval": (lm_eval_results, {0.5: "both", 0.9: None}),
    "scylla": (scylla_experiment, {0.5: "both", 0.9: None}),
    "promptfoo": (promptfoo_results, {0.5: "both", 0.75: None}),
    "junit": (junit_report, {0.5: "both", 0.75: None}),
    "ctrf": (ctrf_report, {0.5: "both", 0.75: None}),
    "pytest-json-report": (pytest_report, {0.5: "both", 0.75: None}),
}
"""By format: what states a figure, and which policy reproduces each figure."""
NO_FIGURE = {"aider", "openhands"}
"""Formats with verdicts that state no figure over several runs."""
SAID = {"fail": "counting unscored runs as failed reproduces it", "exclude": "excluding unscored runs reproduces it"}


@pytest.mark.parametrize(
    ("name", "figure"), [(name, figure) for name, (_, figures) in STATED.items() for figure in figures]
)
def test_a_stated_figure_is_reproduced_or_a_finding(name: str, figure: float, tmp_path: Path) -> None:
    make, figures = STATED[name]
    make(tmp_path, figure)
    stated = [item for item in gather([tmp_path]) if isinstance(item, Finding) and item.code.startswith("stated_")]
    policy = figures[figure]
    if policy is None:
        assert any("neither excluding" in item.message or "; the file lists " in item.message for item in stated)
    elif policy == "both":
        assert all(item.message.endswith("; the runs reproduce it") for item in stated)
    else:
        assert any(item.message.endswith(f"; {SAID[policy]}") for item in stated)


def test_every_format_with_verdicts_has_its_figures_checked() -> None:
    own_records = {"runs-csv", "runs-json", "runs-jsonl", "runs-parquet"}
    declared = {
        name for name, each in log_formats().items() if any(field.startswith("passed") for field in each.yields)
    }
    assert declared - own_records == STATED.keys() | NO_FIGURE


@pytest.mark.parametrize("policy", ["exclude", "fail"])
def test_every_pass_rate_states_its_denominator(policy: str, tmp_path: Path) -> None:
    for name, (make, figures) in STATED.items():
        folder = tmp_path / name
        folder.mkdir()
        make(folder, next(iter(figures)))
        if name == "harbor":
            continue  # a job without its trials has no run
        for group in sy.measure(folder, unscored=policy).groups:
            rate = group.metrics["pass_rate"]
            assert isinstance(rate, Statistics)
            assert rate.count + rate.missing == group.n
            assert policy == "exclude" or rate.missing == 0
            text = steelyard("measure", str(folder), "--unscored", policy, "--metrics", "pass_rate").stdout
            assert str(group.n) in text
            assert (f"({rate.count} of {group.n})" in text) == (rate.missing > 0)


@pytest.mark.skipif(not REAL.exists(), reason="the real samples are not beside this checkout")
def test_the_published_figures_come_out_with_unscored_runs_failed() -> None:
    result = sy.rank(REAL, metrics=["pass_rate"], unscored="fail")
    told = the("stated_pass_at_k", list(result.findings))
    assert "2: 0.2725, 4: 0.3575, 5: 0.3875; excluding unscored runs" in told.message
    assert told.message.endswith("; counting unscored runs as failed reproduces it")
    accuracy = the("stated_accuracy", list(result.findings))
    assert accuracy.message.endswith("; counting unscored runs as failed reproduces it")
    [place] = result.groups
    assert place.score.estimate == pytest.approx(0.1925, abs=1e-12)
    for k, published in ((2, 0.2725), (4, 0.3575), (5, 0.3875)):
        assert place.pass_at_k[str(k)].estimate == pytest.approx(published, abs=1e-9)


def scylla(folder: Path, *, judges: bool) -> list[Finding]:
    """Two runs: the first passed with a score below 0.6, the second agrees with its score."""
    head = "experiment,agent_model,tier,subtest,run_number,score,impl_rate,passed,grade,cost_usd,duration_seconds,"
    head += "input_tokens,output_tokens,cache_creation_tokens,cache_read_tokens,total_tokens,exit_code"
    rows = [
        "e-test-001,m,T0,00,1,0.55,0.9,True,C,0.1,5,1,1,1,1,4,0",
        "e-test-001,m,T0,00,2,0.9,0.5,True,A,0.1,5,1,1,1,1,4,0",
    ]
    (folder / "runs.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    if judges:
        head = "experiment,agent_model,tier,subtest,run_number,judge_model,judge_number,judge_score,judge_impl_rate,"
        head += "judge_passed,judge_grade,judge_is_valid,judge_reasoning"
        votes = [(1, 0.7, True), (1, 0.65, True), (1, 0.3, False), (2, 0.9, True)]
        rows = [
            f"e-test-001,m,T0,00,{run},j{n},{n},{score},,{vote},C,True,r" for n, (run, score, vote) in enumerate(votes)
        ]
        (folder / "judges.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return list(sy.measure(folder).findings)


@pytest.mark.parametrize("judges", [False, True])
def test_scyllas_own_score_is_checked_whether_judges_are_known(judges: bool, tmp_path: Path) -> None:
    found = the("score_contradicts_verdict", scylla(tmp_path, judges=judges))
    # 0.55 is below 0.6 and passed; the second run's impl_rate of 0.5 is no score
    assert [place.message for place in found.places] == ["score 0.55, stated_impl_rate 0.9, pass_rate 1.0"]
    assert sy.read(tmp_path).to_polars()["score"].to_list() == [0.55, 0.9]


def test_kruskal_wallis_of_any_metric_is_in_the_ranking() -> None:
    runs = [
        {"task": f"t{n}", "agent": agent, "passed": True, "duration_seconds": seconds, "cost_usd": 1.0}
        for agent, times in (("a", (1, 2)), ("b", (3, 4)))
        for n, seconds in enumerate(times)
    ]
    tests = sy.rank(runs, by="agent", metrics=["duration_seconds", "cost_usd"]).to_dict()["kruskal_wallis"]
    # 12 / (4 x 5) x (3² / 2 + 7² / 2) - 3 x 5
    assert tests["duration_seconds"]["h"] == pytest.approx(2.4)
    assert tests["cost_usd"]["p_value"] is None or tests["cost_usd"]["p_value"] == 1.0
