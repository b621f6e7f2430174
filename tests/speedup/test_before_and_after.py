"""Speedup without an expert: timings before and after a change, under labels, in every timing format."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.cli import run
from steelyard.errors import SteelyardError, UsageError
from steelyard.pages import page_lines
from steelyard.questions.speedup import SpeedupResult

SAMPLES = Path(__file__).parent.parent / "samples" / "speedup"
FORMATS: dict[str, tuple[Path, float]] = {
    "asv": (SAMPLES / "asv" / "nop.json", 1.0),
    "pyperf": (SAMPLES / "pyperf.json", 1.0),
    "pytest-benchmark": (SAMPLES / "pytest-benchmark.json", 1.0),
    "google-benchmark": (SAMPLES / "google-benchmark.json", 1.0),
    "go-bench": (SAMPLES / "go-bench.txt", 1.0),
    "go-bench, JSON": (SAMPLES / "go-bench.jsonl", 1.0),
    "hyperfine": (SAMPLES / "hyperfine.json", 1.0),
    "criterion": (SAMPLES / "criterion", 1.0),
    "plain CSV": (SAMPLES / "plain.csv", 1.0),
    "plain JSON": (SAMPLES / "plain.json", 1.0),
}


def timed(path: Path, *seconds: float, name: str = "m.time_x") -> str:
    """A file of one benchmark with these samples."""
    record = {"task": "t", "benchmarks": [{"name": name, "samples": list(seconds)}]}
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def sides(tmp_path: Path) -> dict[str, str]:
    return {
        "before": timed(tmp_path / "main.jsonl", *(4.0, 4.1, 3.9) * 4),
        "after": timed(tmp_path / "branch.jsonl", *(2.0, 2.05, 1.95) * 4),
        "other": timed(tmp_path / "other.jsonl", *(8.0, 8.2, 7.8) * 4),
    }


@pytest.mark.parametrize("name", FORMATS)
def test_every_timing_format_is_compared_with_itself(name: str, tmp_path: Path) -> None:
    before, speedup = FORMATS[name]
    after = tmp_path / before.name
    shutil.copytree(before, after) if before.is_dir() else shutil.copy(before, after)
    result = sy.speedup(baseline=before, candidate=[f"branch={after}"])
    (attempt,) = result.attempts
    assert (attempt.agent, attempt.task_speedup) == ("branch", speedup)
    assert attempt.num_valid_benchmarks > 0
    assert not {"no_oracle", "success_unknown"} & {finding.code for finding in result.findings}


def test_a_label_is_enough_and_without_one_the_file_names_itself(sides: dict[str, str]) -> None:
    result = sy.speedup(baseline=sides["before"], candidate=[sides["after"], f"slow={sides['other']}"])
    speedups = {attempt.agent: attempt.task_speedup for attempt in result.attempts}
    assert speedups == {"branch": 2.0, "slow": 0.5}
    assert sy.speedup(baseline=sides["before"], candidate=sides["after"]).attempts[0].agent == "branch"
    files = sy.TaskFiles(nop=Path(sides["before"]), agents={"branch": Path(sides["after"])})
    of_files = sy.speedup(files)
    assert of_files.attempts == sy.speedup(baseline=sides["before"], candidate=[sides["after"]]).attempts
    assert "no_oracle" in {finding.code for finding in of_files.findings}


def test_no_warning_speaks_of_sides_that_the_user_did_not_name(sides: dict[str, str], tmp_path: Path) -> None:
    both = tmp_path / "both.jsonl"
    timed = [{"name": name, "samples": [4.0, 4.1, 3.9]} for name in ("m.time_x", "m.time_y")]
    both.write_text(json.dumps({"task": "t", "benchmarks": timed}) + "\n", encoding="utf-8")
    lost = sy.speedup(baseline=both, candidate=sides["after"])
    same = sy.speedup(baseline=sides["before"], candidate=f"same={sides['before']}")
    told = {finding.code: finding.message for finding in (*lost.findings, *same.findings)}
    assert told["agent_only_failures"] == "1 benchmark valid for the unchanged code but not after the change: m.time_y"
    assert told["duplicate_results"].startswith(
        "the results of same (attempt 1) and the unchanged code are bit-identical"
    )
    assert not [message for message in told.values() if "nop" in message]


def test_the_sentence_has_the_experts_own_speedup(sides: dict[str, str]) -> None:
    result = sy.speedup(nop=sides["other"], oracle=sides["after"], agent=[f"ant:m={sides['before']}"])
    # 8 s to 4 s is 2 times as fast, the expert's 8 s to 2 s is 4 times
    assert result.page().answer.endswith(", 2.000 less than the reference solution (4.000).")


def test_the_command_says_how_many_times_as_fast(sides: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["speedup", "--baseline", sides["before"], "--candidate", sides["after"]]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(
        "branch is 2.000 times as fast (interval 1.849 to 2.163) over 1 of 1 benchmark (1 faster)."
    )
    assert "dvantage" not in printed.out
    assert "expert" not in printed.out + printed.err
    assert (
        run(["speedup", "--baseline", sides["before"], "--candidate", f"slow={sides['other']}", "--json", "--quiet"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["attempts"][0]["task_speedup"] == 0.5


def timed_pair(folder: Path, *benchmarks: tuple[str, tuple[float, ...], tuple[float, ...]]) -> dict[str, str]:
    """The two files of benchmarks, each with its samples before and after."""
    paths = {}
    for side, place in (("baseline", 1), ("candidate", 2)):
        samples = [{"name": each[0], "samples": each[place]} for each in benchmarks]
        (folder / f"{side}.jsonl").write_text(json.dumps({"task": "t", "benchmarks": samples}) + "\n", "utf-8")
        paths[side] = str(folder / f"{side}.jsonl")
    return paths


NOISY = ("m.time_noisy", (1.0, 1.3, 0.8, 1.1) * 3, (1.05, 1.35, 0.8, 1.15) * 3)
SLOWER = ("m.time_slower", (1.0, 1.01, 0.99) * 4, (2.0, 2.01, 1.99) * 4)


def test_the_tree_draws_noise_neither_red_nor_at_full_length(tmp_path: Path) -> None:
    lines = level_lines(sy.speedup(**timed_pair(tmp_path, NOISY, SLOWER)), color=True)
    noisy, slower = (next(line for line in lines if name in line) for name in ("time_noisy", "time_slower"))
    assert "within noise" in noisy
    assert "\x1b[31m" not in noisy
    assert noisy.count("█") < 4  # 1.05 of a doubling in 20 cells is 1 or 2
    assert "\x1b[31m" in slower
    assert slower.count("█") == 20
    assert "█" not in "".join(level_lines(sy.speedup(**timed_pair(tmp_path, NOISY))))


def test_one_attempt_of_each_agent_at_one_task_is_one_table(
    sides: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--nop", sides["before"], "--oracle", sides["after"], "--quiet"]
    assert run(["speedup", *given, "--agent", f"ant:m={sides['after']}", "--agent", f"bee:m={sides['other']}"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("valid") == 1
    assert "Over tasks" not in shown


def level_lines(result: SpeedupResult, *, color: bool = False) -> list[str]:
    """The tables of benchmarks, with the legend."""
    lines = "\n".join(page_lines(result.page(), 100, color=color))
    return lines[lines.index("Speedup by benchmark") :].splitlines()


def test_all_bars_share_one_scale_and_begin_below_each_other(tmp_path: Path) -> None:
    before = timed(tmp_path / "before.jsonl", *(4.0, 4.01, 3.99) * 4, name="m.time_long_enough")
    fast = timed(tmp_path / "fast.jsonl", *(1.0, 1.01, 0.99) * 4, name="m.time_long_enough")
    slow = timed(tmp_path / "slow.jsonl", *(8.0, 8.01, 7.99) * 4, name="m.time_long_enough")
    lines = level_lines(sy.speedup(baseline=before, candidate=[fast, slow]))
    bars = [line for line in lines if "█" in line]
    assert [line.count("█") for line in bars] == [20, 20, 20, 10, 10, 10]  # ln 2 is half of ln 4
    for table, mark in ((bars[:3], "▶"), (bars[3:], "◀")):
        assert len({line.index(mark) for line in table}) == 1
    assert lines[-1] == "Bars: log scale, ▶ faster, ◀ slower; longest bar: 4.000x."


def test_a_benchmark_shows_the_interval_of_its_speedup(tmp_path: Path) -> None:
    result = sy.speedup(**timed_pair(tmp_path, NOISY, SLOWER))
    (attempt,) = result.attempts
    (line,) = (line for line in level_lines(result) if "time_slower" in line)
    figures = attempt.per_benchmark_speedups["m.time_slower"]
    assert figures.log_speedup_low is not None
    assert figures.log_speedup_high is not None
    low, high = math.exp(figures.log_speedup_low), math.exp(figures.log_speedup_high)
    assert f"{low:.3f} to {high:.3f}" in line
    assert "0.500x" in line
    overall, module = attempt.levels[:2]
    assert overall.agent_speedup is not None
    assert overall.low is not None
    assert overall.high is not None
    assert overall.low < overall.agent_speedup < overall.high < 1
    assert not overall.is_noise  # its own test decides, not those of the benchmarks
    assert module.low is None  # a geometric mean over some of the benchmarks has none


def test_without_tests_success_is_unknown_and_not_zero(tmp_path: Path) -> None:
    paths = timed_pair(tmp_path, SLOWER)
    result = sy.speedup(baseline=paths["baseline"], candidate=[paths["candidate"]], oracle=paths["candidate"])
    (summary,) = result.to_dict()["summary"].values()
    for name in ("mean_success_rate", "accuracy", "pass@k"):
        assert summary[name] is None, name
        assert summary["missing"][name], name
    assert result.run.accuracy is None
    assert result.unscored == "exclude"


def test_the_answer_says_slower_and_within_noise(tmp_path: Path) -> None:
    noise = sy.speedup(**timed_pair(tmp_path, NOISY)).page().answer
    assert noise.startswith("candidate is within noise: 0.9")
    slower = sy.speedup(**timed_pair(tmp_path, SLOWER)).page().answer
    pattern = r"candidate is slower: 0.500 times as fast \(interval (.+) to (.+)\) over 1 of 1 benchmark \(1 slower\)."
    limits = re.fullmatch(pattern, slower)
    assert limits is not None
    assert float(limits[1]) < 0.5 < float(limits[2]) < 1


def test_the_figure_names_neither_a_task_nor_an_expert_that_nobody_gave(sides: dict[str, str]) -> None:
    alone = sy.speedup(baseline=sides["before"], candidate=sides["after"]).figure("waterfall").svg
    assert "Speedup by benchmark: branch<" in alone
    assert "expert" not in alone
    several = sy.speedup(baseline=sides["before"], candidate=[sides["after"], sides["other"]]).figure("waterfall").svg
    assert " on t" not in several
    beside = sy.speedup(baseline=sides["before"], candidate=sides["after"], oracle=sides["other"]).figure("waterfall")
    assert "tick: reference solution" in beside.svg


def test_an_expert_may_stand_beside_before_and_after(sides: dict[str, str]) -> None:
    result = sy.speedup(baseline=sides["before"], candidate=[sides["after"]], oracle=sides["other"])
    assert result.attempts[0].agent_advantage == 1.5  # 2.0 - 0.5


def test_tests_and_logs_are_given_by_label(sides: dict[str, str], tmp_path: Path) -> None:
    report = tmp_path / "branch.xml"
    report.write_text('<testsuite><testcase name="a"/></testsuite>', encoding="utf-8")
    for tests in (str(report), f"branch={report}"):
        result = sy.speedup(baseline=sides["before"], candidate=[sides["after"]], tests=[tests])
        assert result.attempts[0].success is True


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "speedup needs"),
    ({"baseline": "before"}, "speedup needs"),
    ({"candidate": ["after"]}, "speedup needs"),
    ({"baseline": "before", "nop": "before", "candidate": ["after"]}, "both name the unchanged code"),
    ({"baseline": "before", "candidate": ["after", "after"]}, "duplicate label .branch."),
    ({"baseline": "before", "candidate": ["nop=after"]}, "is not LABEL=FILE"),
    ({"baseline": "before", "candidate": ["after"], "log": ["nobody=x.json"]}, "is not NAME:MODEL=FILE"),
    ({"baseline": "before", "candidate": ["x=nofile.json"]}, "No such file or directory"),
]


@pytest.mark.parametrize(("given", "said"), BAD)
def test_what_cannot_be_compared_is_an_error(given: dict[str, Any], said: str, sides: dict[str, str]) -> None:
    def named(text: str) -> str:
        label, sign, place = text.rpartition("=")
        return label + sign + sides.get(place, place)

    asked = {
        name: [named(text) for text in value] if isinstance(value, list) else named(value)
        for name, value in given.items()
    }
    with pytest.raises(SteelyardError, match=said):
        sy.speedup(**asked)


def test_the_first_of_several_files_is_the_baseline(sides: dict[str, str], tmp_path: Path) -> None:
    files = [sides["before"], sides["after"], sides["other"]]
    result = sy.speedup(files)
    assert [(each.agent, each.task_speedup) for each in result.attempts] == [("branch", 2.0), ("other", 0.5)]
    assert result == sy.speedup(baseline=files[0], candidate=files[1:])
    with pytest.raises(UsageError, match="candidate cannot be combined with a baseline and candidates as inputs"):
        sy.speedup(files[:2], candidate=[sides["other"]])
    with pytest.raises(SteelyardError, match="contains timings of one side"):
        sy.speedup([sides["before"], tmp_path])  # a folder is no side


def test_one_file_alone_and_a_folder_beside_files_are_refused(sides: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(SteelyardError, match="contains timings of one side"):
        sy.speedup(SAMPLES / "pyperf.json")
    with pytest.raises(UsageError, match="baseline cannot be combined"):
        sy.speedup(tmp_path, baseline=sides["before"])


@pytest.mark.parametrize(("count", "enough"), [(3, False), (6, True)])
def test_too_few_samples_for_an_interval_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int, enough: bool
) -> None:
    before = timed(tmp_path / "b.jsonl", *[1.07 + 0.01 * number for number in range(count)])
    after = timed(tmp_path / "a.jsonl", *[1.0 + 0.01 * number for number in range(count)])
    assert run(["speedup", "--baseline", before, "--candidate", after]) == 0
    printed = capsys.readouterr()
    # the range of 3 samples holds the median in 1 - 2 / 2^3 = 75% of all cases, of 6 in 97%
    assert ("(1 without an interval)" not in printed.out) == enough
    warning = "1 benchmark with too few samples to distinguish a change from noise; a 95% CI needs 6 samples per side"
    assert (warning not in printed.err) == enough
    # who asks for no intervals gets no warning
    assert run(["speedup", "--baseline", before, "--candidate", after, "--interval", "none"]) == 0
    assert "interval" not in (printed := capsys.readouterr()).out + printed.err


def test_a_benchmark_under_another_name_is_named_with_the_remedy(tmp_path: Path) -> None:
    before = timed(tmp_path / "b.jsonl", 1.0, 1.1, name="./run old")
    after = timed(tmp_path / "a.jsonl", 1.0, 1.2, name="./run new")
    told = {finding.code: finding.message for finding in sy.speedup(baseline=before, candidate=after).findings}
    assert told["agent_only_failures"] == (
        "1 benchmark valid for the unchanged code but not after the change: ./run old; only after the change: "
        "./run new. Benchmarks are matched by name (hyperfine: -n NAME)"
    )
