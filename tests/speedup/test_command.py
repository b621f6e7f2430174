"""`steelyard speedup` as a user runs it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import commands
from steelyard.errors import ProfileError, UnknownNameError, UnreadableFileError, UsageError
from steelyard.questions import TaskFiles
from steelyard.questions.read import RunReading
from steelyard.questions.speedup import agent_files, speedup
from timing_sides import at, trials

SAMPLES = Path(__file__).parent.parent / "samples" / "speedup"
ASV = SAMPLES / "asv"
ONE_TASK = (
    "--nop",
    str(ASV / "nop.json"),
    "--oracle",
    str(ASV / "oracle.json"),
    "--agent",
    f"tool:m={ASV / 'agent.json'}",
)


Command = Callable[..., commands.Done]


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def timings(**seconds: float) -> dict[str, Any]:
    return {"task": "t", "benchmarks": [{"name": f"m.{name}", "seconds": value} for name, value in seconds.items()]}


def test_one_task_as_json(command: Command) -> None:
    done = command(*ONE_TASK, "--json")
    assert done.status == 0
    found = json.loads(done.stdout)
    payload = found["attempts"][0]
    assert payload["num_benchmarks"] == 9  # four sorts, three of four broken ones, one small, one plain
    assert payload["num_valid_benchmarks"] == 8
    assert found["profile"] == "speedup-1"
    codes = {finding["code"] for finding in found["findings"]}
    assert {"agent_only_failures", "code_version_differs", "not_a_time"} <= codes
    assert "agent_only_failures" in done.stderr


def test_the_table_and_the_tree_are_shown(command: Command) -> None:
    done = command(*ONE_TASK)
    assert done.status == 0
    assert "tool:m" in done.stdout
    assert "time_sort" in done.stdout
    assert "█" in done.stdout


def test_csv_has_rows_of_agents_attempts_and_benchmarks(command: Command) -> None:
    agent, attempt, *rows = csv.DictReader(io.StringIO(command(*ONE_TASK, "--csv").stdout))
    assert (agent["agent"], agent["task"], attempt["agent"], attempt["task"]) == ("tool:m", "", "tool:m", "task")
    assert agent["mean_speedup"] == attempt["task_speedup"] != ""
    assert attempt["task_cost_usd"] == ""
    assert len(rows) == 9
    assert rows[0]["benchmark"].startswith("suite.")
    assert {(row["task"], row["task_speedup"]) for row in rows} == {("task", "")}
    assert {row["verdict"] for row in rows} <= {"faster", "slower", "unclear", "unknown"}


def test_a_malformed_file_is_refused_by_name(command: Command) -> None:
    arguments = [*ONE_TASK[:5], f"tool:m={ASV / 'malformed.json'}"]
    done = command(*arguments, "--json")
    assert done.status == 1
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "unreadable_file"
    assert error["where"].endswith("malformed.json")


def test_an_unreadable_file_that_nobody_named_breaks_nothing(command: Command, tmp_path: Path) -> None:
    (tmp_path / "benchmarks.json").write_text("not JSON")
    (tmp_path / "task").mkdir()
    for which in ("nop", "oracle", "agent"):
        (tmp_path / "task" / f"{which}.json").write_bytes((ASV / f"{which}.json").read_bytes())
    nop, oracle, agent = (str(tmp_path / "task" / f"{which}.json") for which in ("nop", "oracle", "agent"))
    done = command("--nop", nop, "--oracle", oracle, "--agent", f"tool:m={agent}", "--json")
    found = json.loads(done.stdout)
    assert (done.status, found["attempts"][0]["num_valid_benchmarks"]) == (0, 8)
    assert [finding["code"] for finding in found["findings"]].count("unreadable_benchmark_list") == 1  # not one a side


def test_an_unreadable_agent_is_set_aside_and_the_others_go_on(command: Command) -> None:
    arguments = (*ONE_TASK, "--agent", f"other:m={ASV / 'malformed.json'}", "--json")
    done = command(*arguments)
    assert done.status == 1
    assert list(json.loads(done.stdout)["summary"]) == ["tool:m"]
    assert command(*arguments, "--allow-rejected").status == 0


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--nop", "a"),
        (*ONE_TASK, "--json", "--csv"),
        (*ONE_TASK, "--agent", "no-model=x.json"),
        (*ONE_TASK, "--agent", "oracle:oracle=x.json"),
        (*ONE_TASK, "--profile", "speedup-2"),
        (*ONE_TASK, "--profile", "outcome-1"),
        ("folder", *ONE_TASK),
        (str(SAMPLES / "fceval-results.json"), "--task", "mine"),
        (*ONE_TASK, "--per-benchmark"),
        (*ONE_TASK, "--interval", "none", "--interval", "bootstrap"),
        (*ONE_TASK, "--interval", "none", "--verdict", "asv"),
        (*ONE_TASK, "--prices", "nope"),
    ],
)
def test_wrong_usage_exits_2(command: Command, arguments: tuple[str, ...]) -> None:
    assert command(*arguments).status == 2


def test_tests_and_snapshots_are_matched_by_the_exact_key(tmp_path: Path) -> None:
    tests = write(tmp_path / "tests.json", {"tool:m": {"passed": 3, "failed": 1}, "oracle": {"passed": 3, "failed": 1}})
    files = TaskFiles(
        nop=ASV / "nop.json", oracle=ASV / "oracle.json", agents={"tool:m": ASV / "agent.json"}, tests=tests
    )
    assert speedup(files).to_dict()["attempts"][0]["success"] is True  # no more failures than the expert
    write(tests, {"tool:M": {"passed": 3, "failed": 1}})
    result = speedup(files)
    assert result.rejected_count == 1
    assert "unmatched_agent_key" in {finding.code for finding in result.findings}
    assert result.to_dict()["attempts"][0]["success"] is None  # never the nearest


def test_a_log_of_nobody_is_an_error() -> None:
    agents, logs = {"tool:m": ASV / "agent.json"}, {"tool:M": [SAMPLES / "agent.cast"]}
    result = speedup(TaskFiles(nop=ASV / "nop.json", oracle=ASV / "oracle.json", agents=agents, logs=logs))
    assert "unmatched_agent_key" in {finding.code for finding in result.findings}


@pytest.mark.parametrize("name", ["nofile", "nofile.json", "notes.txt"])
def test_a_log_that_is_none_is_an_error_even_where_nothing_is_asked_of_it(
    command: Command, tmp_path: Path, name: str
) -> None:
    (tmp_path / "notes.txt").write_text("a log of another kind")
    runs = write(tmp_path / "runs.json", {"tool:m": {"cost_usd": 1.0, "trajectory_length": 3}})
    done = command(*ONE_TASK, "--runs", str(runs), "--log", f"tool:m={tmp_path / name}", "--json")
    assert done.status == 1
    (finding,) = [one for one in json.loads(done.stdout)["findings"] if one["severity"] == "error"]
    assert finding["where"].endswith(name)


def test_an_unknown_price_book_is_an_error_although_no_price_is_needed() -> None:
    with pytest.raises(UnknownNameError, match="nope"):
        speedup(SAMPLES / "fceval-results.json", prices="nope")


def test_a_folder_of_logs_of_nobody_is_an_error(tmp_path: Path) -> None:
    make_folder(tmp_path)
    write(tmp_path / "t1" / "logs" / "tool" / "org" / "model-2" / "log.json", [{}])
    findings = speedup(tmp_path).findings
    assert ["'tool:org/model-2'" in one.message for one in findings if one.code == "unmatched_agent_key"] == [True]


def test_a_results_file_of_one_agent_needs_no_key(tmp_path: Path) -> None:
    snapshot = write(tmp_path / "snapshot.json", {"status": "passed", "pass_to_fail": 2})
    both = {"tool:m": ASV / "agent.json", "other:m": ASV / "oracle.json"}
    one = TaskFiles(
        nop=ASV / "nop.json", oracle=ASV / "oracle.json", agents={"tool:m": both["tool:m"]}, snapshot=snapshot,
        tests=SAMPLES / "fceval.log",
    )  # fmt: skip
    payload = speedup(one).to_dict()["attempts"][0]
    assert (payload["pytest_failed"], payload["snapshot_failed"], payload["success"]) == (False, True, False)
    assert payload["pytest_summary"]["passed"] == 10
    with pytest.raises(UnreadableFileError, match="the file is for one agent"):
        speedup(TaskFiles(nop=one.nop, oracle=one.oracle, agents=both, snapshot=snapshot))


def make_folder(root: Path) -> Path:
    for task, speed in (("t1", 2.0), ("t2", 4.0)):
        write(root / task / "nop.json", timings(time_x=4.0, time_y=4.0))
        write(root / task / "oracle.json", timings(time_x=2.0, time_y=2.0))
        write(root / task / "agents" / "tool" / "org" / "model-1.5.json", timings(time_x=4.0 / speed, time_y=3.0))
        write(root / task / "agents" / "tool" / "org" / "model-1.5#2.json", timings(time_x=4.1 / speed, time_y=3.1))
    key = "tool:org/model-1.5"
    write(root / "t1" / "tests.json", {key: {"passed": ["a"]}, f"{key}#2": {"passed": ["a"], "failed": ["b"]}})
    write(root / "t1" / "runs.json", {key: {"cost_usd": 0.5}})
    write(root / "t1" / "logs" / "tool" / "org" / "model-1.5" / "log.json", [{}, {}, {}])
    write(root / "t1" / "nop-repeat.json", timings(time_x=4.0, time_y=4.4))
    return root


def test_a_folder_of_tasks(tmp_path: Path) -> None:
    found = speedup(make_folder(tmp_path)).to_dict()
    assert trials(found) == [("t1", 1), ("t1", 2), ("t2", 1), ("t2", 2)]
    key = "tool:org/model-1.5"
    first, second = (at(found, "t1", number, agent=key) for number in (1, 2))
    assert (first["success"], second["success"]) == (True, False)
    assert (first["task_cost_usd"], first["trajectory_length"]) == (0.5, 3)
    assert first["trajectory_origin"] == "json_log"
    assert first["measures"]["noise_floor"] > 0


def test_the_title_counts_the_attempts_of_all_agents(command: Command, tmp_path: Path) -> None:
    make_folder(tmp_path)
    write(tmp_path / "t1" / "agents" / "other" / "m.json", timings(time_x=2.0, time_y=3.0))
    assert "5 attempts on 2 tasks" in command(str(tmp_path)).stdout


def test_a_folder_named_twice_counts_once(tmp_path: Path) -> None:
    make_folder(tmp_path)
    assert speedup([tmp_path, str(tmp_path)]).to_dict() == speedup(tmp_path).to_dict()


@pytest.mark.parametrize(
    ("option", "values", "sentence"),
    [
        ("--tests", {"passed": 12, "failed": "2"}, "the entry for 'tool:m' contains no test results"),
        ("--tests", {"passed": -1, "failed": 0}, "the entry for 'tool:m' contains no test results"),
        ("--runs", {"cost": 0.5}, "the entry for 'tool:m' contains neither cost_usd nor trajectory_length"),
    ],
)
def test_an_entry_that_says_nothing_is_an_error_and_no_success(
    command: Command, tmp_path: Path, option: str, values: Any, sentence: str
) -> None:
    write(tmp_path / "about.json", {"tool:m": values})
    done = command(*ONE_TASK, option, str(tmp_path / "about.json"), "--json")
    found = json.loads(done.stdout)
    assert (done.status, found["attempts"][0]["success"]) == (1, None)
    assert any(sentence in finding["message"] for finding in found["findings"])


def test_a_task_that_cannot_be_read_is_set_aside(command: Command, tmp_path: Path) -> None:
    make_folder(tmp_path)
    (tmp_path / "t2" / "nop.json").unlink()
    done = command(str(tmp_path), "--json")
    assert done.status == 1
    found = json.loads(done.stdout)
    assert trials(found) == [("t1", 1), ("t1", 2)]
    assert any("no nop.json" in finding["message"] for finding in found["findings"])


def test_nothing_valid_at_all_exits_1(command: Command) -> None:
    other = f"tool:m={SAMPLES / 'pytest-benchmark.json'}"
    done = command(*ONE_TASK[:5], other, "--json")
    assert done.status == 1
    assert json.loads(done.stdout)["attempts"][0]["num_valid_benchmarks"] == 0


def test_an_empty_folder_is_an_error(command: Command, tmp_path: Path) -> None:
    assert command(str(tmp_path)).status == 1


def test_the_same_folder_gives_the_same_bytes(tmp_path: Path) -> None:
    make_folder(tmp_path)
    runs = [commands.steelyard("speedup", str(tmp_path), "--json", PYTHONHASHSEED=seed).stdout for seed in ("1", "2")]
    assert runs[0] == runs[1]


def test_fceval_files_are_read_alone(command: Command) -> None:
    for name in ("fceval-results.json", "fceval.log"):
        done = command(str(SAMPLES / name), "--json", "--allow-rejected")
        assert done.status == 0
        found = json.loads(done.stdout)
        assert found["attempts"][0]["task_speedup"] == 2.0


def test_a_timing_file_alone_is_refused_with_advice(command: Command) -> None:
    done = command(str(SAMPLES / "pyperf.json"))
    assert done.status == 1
    assert "--nop" in done.stderr


def test_options_change_single_constants(command: Command, tmp_path: Path) -> None:
    dropped, counted = (
        json.loads(command(*ONE_TASK, "--json", *more).stdout)["attempts"][0]["task_speedup"]
        for more in ((), ("--agent-only", "baseline"))
    )
    assert counted < dropped
    profile = tmp_path / "mine.toml"
    profile.write_text('name = "mine"\nspec = "speedup"\nextends = "speedup-1"\n[constants]\nasv_facter = 2\n')
    with pytest.raises(ProfileError, match=r"asv_facter.*did you mean 'asv_factor'"):
        speedup(SAMPLES / "fceval.log", profile=str(profile))


def test_a_key_ends_at_the_first_equals_sign() -> None:
    assert agent_files(["a:b=c=d.json"]) == {"a:b": Path("c=d.json")}
    assert agent_files(["a:b:7b=x"]) == {"a:b:7b": Path("x")}
    with pytest.raises(UsageError, match="duplicate agent"):
        agent_files(["a:b=x", "a:b=y"])


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf"), 1e300, "free", True])
def test_a_cost_that_is_none_is_set_aside(tmp_path: Path, cost: object) -> None:
    runs = write(tmp_path / "runs.json", {"tool:m": {"cost_usd": cost}})
    agents = {"tool:m": ASV / "agent.json"}
    result = speedup(TaskFiles(nop=ASV / "nop.json", oracle=ASV / "oracle.json", agents=agents, runs=runs))
    assert result.rejected_count == 1
    assert result.to_dict()["attempts"][0]["task_cost_usd"] is None


@pytest.mark.parametrize("method", ["order", "bootstrap"])
def test_absurd_times_never_break_the_output(tmp_path: Path, command: Command, method: str) -> None:
    values = (1e308, 5e-324, 0.0, 1e-24, 1.0, 1e20)
    sides = [
        write(
            tmp_path / f"{which}.json",
            {"task": "t", "benchmarks": [
                {"name": f"m.time_{at}", "samples": [value] * 7 + [values[(at + turn) % 6]] * 3}
                for at, value in enumerate(values[turn:] + values[:turn])
            ]},
        )
        for turn, which in enumerate(("nop", "oracle", "agent"))
    ]  # fmt: skip
    files = ("--nop", str(sides[0]), "--oracle", str(sides[1]), "--agent", f"a:m={sides[2]}")
    done = command(*files, "--json", "--interval", method)
    assert done.status == 0  # 1 second, 10^20 and 10^-24 can still be compared
    json.loads(done.stdout, parse_constant=lambda token: pytest.fail(f"{token} in JSON"))


def test_an_unstated_cost_is_priced_from_the_log(tmp_path: Path) -> None:
    tokens = {"prompt_tokens": 1_000_000, "completion_tokens": 100_000}
    log = write(tmp_path / "log.json", [{"llm_metrics": {"accumulated_token_usage": tokens}}])
    key = "tool:gpt-4o"
    files = TaskFiles(
        nop=ASV / "nop.json", oracle=ASV / "oracle.json", agents={key: ASV / "agent.json"}, logs={key: [log]}
    )
    found = speedup(files, prices="spec").to_dict()
    cost = found["attempts"][0]["task_cost_usd"]
    assert cost == pytest.approx(5.0 + 0.1 * 15.0)  # a million in at 5, a tenth of a million out at 15
    assert found["attempts"][0]["cost_origin"] == "priced"


def test_a_sum_above_a_context_tier_is_a_lower_bound_as_it_is_in_read(tmp_path: Path) -> None:
    started = "2026-01-01T00:00:00Z"
    usage = {"input_tokens": 300_000, "output_tokens": 1_000}
    record = {"id": "a", "task": "t", "model": "gemini-2.5-pro", "started_at": started, "usage": usage}
    sides = {which: write(tmp_path / f"{which}.json", timings(time_x=2.0)) for which in ("nop", "oracle")}
    agent = write(tmp_path / "agent.jsonl", record | {"benchmarks": timings(time_x=1.0)["benchmarks"]})
    tokens = {"prompt_tokens": 300_000, "completion_tokens": 1_000}
    entry = {"timestamp": started, "llm_metrics": {"accumulated_token_usage": tokens}}
    log = write(tmp_path / "log.json", [entry])
    bare = write(tmp_path / "bare.json", timings(time_x=1.0))
    agents = {"run:gemini-2.5-pro": agent, "log:gemini-2.5-pro": bare}
    logs = {"log:gemini-2.5-pro": [log]}
    found = speedup(TaskFiles(nop=sides["nop"], oracle=sides["oracle"], agents=agents, logs=logs)).to_dict()
    reading = RunReading([agent])
    assert len(list(reading)) == 1
    assert {attempt["agent"] for attempt in found["attempts"]} == set(agents)
    for attempt in found["attempts"]:
        assert attempt["task_cost_usd"] == reading.summary.total.cost_lower_bound_usd
        assert attempt["cost_origin"] == "lower_bound"
    assert {one["code"]: one["count"] for one in found["findings"]}["cost_lower_bound"] == 2


def test_the_table_over_tasks_names_agents_and_their_interval(tmp_path: Path, command: Command) -> None:
    done = command(str(make_folder(tmp_path)))
    assert done.status == 0
    assert "tool:org/model-1.5" in done.stdout
    assert " to " in done.stdout


def test_rows_become_frames(tmp_path: Path) -> None:
    result = speedup(make_folder(tmp_path))
    frame = result.to_polars()
    attempts = frame.filter(pl.col("task").is_not_null() & pl.col("benchmark").is_null())
    assert attempts.select("task", "number").rows() == [("t1", 1), ("t1", 2), ("t2", 1), ("t2", 2)]
    assert frame.filter(pl.col("benchmark").is_not_null()).height == 8
    assert frame.filter(pl.col("task").is_null())["agent"].to_list() == list(result.summary)


@pytest.mark.parametrize(
    "entry",
    [
        {"failed": 1},
        {"test_failed": 1, "test_error": 0},
        {"pytest_summary": {"failed": 0, "error": 1}},
        {"failed": ["a"]},
    ],
)
def test_results_are_understood_as_tools_spell_them(tmp_path: Path, entry: dict[str, Any]) -> None:
    tests = write(tmp_path / "tests.json", {"tool:m": entry})
    agents = {"tool:m": ASV / "agent.json"}
    result = speedup(TaskFiles(nop=ASV / "nop.json", oracle=ASV / "oracle.json", agents=agents, tests=tests))
    assert result.to_dict()["attempts"][0]["pytest_failed"] is True


def test_an_entry_without_results_is_set_aside(tmp_path: Path) -> None:
    tests = write(tmp_path / "tests.json", {"tool:m": {"faild": 1}})
    agents = {"tool:m": ASV / "agent.json"}
    result = speedup(TaskFiles(nop=ASV / "nop.json", oracle=ASV / "oracle.json", agents=agents, tests=tests))
    assert result.rejected_count == 1
