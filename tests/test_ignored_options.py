"""No option is silently ignored: what would have no effect, or matches nothing, is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cyclopts import Parameter, Token

import steelyard as sy
from commands import steelyard
from matchups import made_runs, write
from steelyard.cli import build_app, run
from steelyard.errors import UnknownNameError, UsageError
from steelyard.questions.analysis import read_filter
from steelyard.questions.gate._rules import read_rule
from steelyard.records import microseconds_of, moment_of

SAMPLES = Path(__file__).parent / "samples" / "repeatability"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["measure", "RUNS", "--confidence", "0.9"], "--interval auto --confidence 0.9"),
        (["measure", "RUNS", "--confidence", "95"], "--confidence 0.95"),
        (["measure", "RUNS", "--interval", "auto", "--confidence", "95"], "--confidence 0.95"),
        (["measure", "RUNS", "--interval", "auto", "--confidence", "-1"], "--confidence 0.95"),
        (["measure", "RUNS", "--interval", "auto", "--confidence", "nan"], "confidence level must be between 0 and 1"),
        (["measure", "RUNS", "--by", "tier", "--base-tier", "T9"], "unknown tier 'T9'"),
        (["measure", "RUNS", "--by", "agent", "--base-tier", "T0"], "--by tier"),
        (["measure", "RUNS", "--by", "tier", "--base-tier", "T0", "--metrics", "pass_rate"], "tier_uplift"),
        (["measure", "RUNS", "--metrics", "tier_uplift"], "--by tier"),
        (["measure", "RUNS", "--metrics", ","], "contains no name"),
        (["judges", "RUNS", "--profile", "speedup-1"], "is for the speedup specification"),
        (["judges", "RUNS", "--confidence", "90"], "--confidence 0.9"),
        (["compare", "RUNS", "-a", "tier=T0", "-b", "tier=T1", "--confidence", "95"], "--confidence 0.95"),
        (["rank", "RUNS", "--confidence", "99.5"], "--confidence 0.995"),
        (["gate", "RUNS", "--baseline", "RUNS", "--rule", "pass_rate >= -2"], "1 percentage point is 0.01: -0.02"),
        (["gate", "RUNS", "--baseline", "RUNS", "--rule", "cost_usd <= -150%"], "by 100% or more"),
        (["gate", "RUNS", "--rule", "pass_rate >= 45"], '"pass_rate >= 0.45" or "pass_rate >= 45%"'),
        (["gate", "RUNS", "--rule", "pass_rate >= 0"], 'to compare with the baseline: "pass_rate >= baseline"'),
        (["gate", "RUNS", "--rule", "pass_rate <= 1"], "is always true"),
        (["gate", "RUNS", "--rule", "cost_usd <= 10%"], '"cost_usd <= baseline * 1.1"'),
        (["gate", "RUNS", "--rule", "pass_rate >= baseline - 2%"], '"baseline - 0.02" for percentage points'),
        (["gate", "RUNS", "--rule", "pass_rate >= baseline - 0.02"], "--baseline main.jsonl"),
        (["gate", "RUNS", "--baseline", "RUNS", "--rule", "cost_usd <= 0.05"], "unused baseline"),
        (["explain", "RUNS", "task_speedup", "--by", "tier"], "the input contains no timings"),
        (["explain", "RUNS", "task_speedup", "--run", "demo"], "the input contains no timings"),
        (["explain", "RUNS", "mean_speedup"], "cannot be computed from runs alone"),
        (["explain", "RUNS", "pass_rate", "--run", "demo", "--by", "tier"], "cannot be combined"),
        (["explain", "RUNS", "tier_uplift", "--by", "agent"], "--by tier"),
        (["explain", "sqlite:///x.db", "speed_score", "--run", "x", "--profile", "outcome-2026"], "--profile"),
        (["repeatability", "OUTPUTS", "--by", "task,task"], "duplicate key"),
        (["repeatability", "OUTPUTS", "--tau", "10"], "between 0 and 1"),
        (["serve", "--store", "sqlite:///x.db", "--map", "evalplus"], "--map needs a file of runs"),
        (["serve", "RUNS", "--map", "evalplsu"], "did you mean 'evalplus'?"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"RUNS": write(tmp_path / "runs.jsonl", sy.demo_runs()), "OUTPUTS": str(SAMPLES / "clamp_runs.jsonl")}
    status = run([places.get(word, word) for word in arguments])
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert (status, shown.out) == (2, "")


@pytest.mark.parametrize(
    ("arguments", "option", "refused"),
    [
        (["arena", "watch"], "--poll-interval", ("-1", "0", "nan", "inf")),
        (["arena", "watch"], "--max-polls", ("-1", "0", "1.5")),
        (["arena", "notify", "--targets", "t.toml"], "--poll-interval", ("-1", "0", "nan", "inf")),
        (["arena", "compare-profiles", "arena-1", "arena-1"], "--movers", ("-1", "0.5")),
        (["arena", "leaderboard"], "--top", ("-1", "0")),
        (["arena", "leaderboard"], "--confidence", ("-1", "0", "nan")),
        (["arena", "bias"], "--confidence", ("-1", "0", "nan")),
        (["rank", "RUNS"], "--min-task-coverage", ("-1", "1.5", "nan")),
        (["rank", "RUNS"], "--resamples", ("-1", "0")),
        (["rank", "RUNS"], "--seed", ("-1", "1.5")),
        (["rank", "RUNS"], "--confidence", ("-1", "0", "nan")),
        (["judges", "RUNS"], "--confidence", ("-1", "0", "nan")),
        (["repeatability", "OUTPUTS"], "--tau", ("-1", "nan", "inf")),
    ],
)
def test_a_number_that_cannot_be_meant_is_refused(
    arguments: list[str],
    option: str,
    refused: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"RUNS": write(tmp_path / "runs.jsonl", sy.demo_runs()), "OUTPUTS": str(SAMPLES / "clamp_runs.jsonl")}
    assert run(["arena", "init"]) == 0
    (tmp_path / "t.toml").write_text("", encoding="utf-8")
    for number in refused:
        capsys.readouterr()
        status = run([*(places.get(word, word) for word in arguments), option, number])
        assert (status, capsys.readouterr().out) == (2, ""), number


def _parameters() -> list[tuple[str, type, Parameter]]:
    """Every parameter of every command."""
    found, waiting = [], [build_app()]
    while waiting:
        app = waiting.pop()
        named = [name for name in app if not name.startswith("-")]
        waiting += [app[name] for name in named]
        if app.default_command is not None:
            arguments = app.assemble_argument_collection()
            found += [(f"{app.name[0]} {one.name}", one.hint, one.parameter) for one in arguments]
    return found


def test_no_path_may_be_an_empty_text() -> None:
    paths = [(name, parameter) for name, hint, parameter in _parameters() if "Path" in str(hint)]
    assert len(paths) > 20
    for name, parameter in paths:
        assert callable(parameter.converter), name
        with pytest.raises(UsageError, match="the path is empty"):
            parameter.converter(object, [Token(value="")])


@pytest.mark.parametrize("command", [["read", ""], ["measure", ""], ["explain", "", "pass_rate", "--run", "a"]])
def test_an_empty_text_is_not_the_current_folder(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "runs.jsonl", sy.demo_runs())
    assert run(command) == 2
    assert "the path is empty" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["read", "RUNS"], ["arena", "changes"], ["arena", "notify", "--targets", "t"]])
@pytest.mark.parametrize("text", ["", "tomorrow", "2026-13-01"])
def test_what_is_no_date_is_refused_in_the_same_words_everywhere(
    command: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = write(tmp_path / "runs.jsonl", sy.demo_runs())
    assert run(["arena", "init"]) == 0
    assert run([*(runs if word == "RUNS" else word for word in command), "--since", text]) == 2
    assert f"--since {text!r} is not a date" in capsys.readouterr().err


def test_microseconds_are_those_of_the_moment_before_1970_too() -> None:
    half_a_second_before = moment_of("1969-12-31T23:59:59.5", option="since")
    assert microseconds_of(half_a_second_before) == -500_000
    assert microseconds_of(moment_of("1970-01-01T02:00+02:00", option="since")) == 0


def test_reading_nothing_is_an_error_in_python_too() -> None:
    for nothing in ([], "", [""], iter(())):
        with pytest.raises(UsageError):
            sy.read(nothing)


def test_a_folder_without_a_contract_is_refused_and_an_unused_contract_named(tmp_path: Path) -> None:
    outputs = str(SAMPLES / "clamp_runs.jsonl")
    empty = tmp_path / "contracts"
    empty.mkdir()
    done = steelyard("repeatability", outputs, "--contract", str(empty))
    assert done.status == 1
    assert "the folder contains no contract" in done.stderr
    assert (
        "no such file or directory"
        in steelyard("repeatability", outputs, "--contract", str(tmp_path / "x.toml")).stderr
    )
    for name in ("clamps", "other"):
        text = (SAMPLES / "clamp.toml").read_text(encoding="utf-8").replace('id = "clamp"', f'id = "{name}"')
        (empty / f"{name}.toml").write_text(text, encoding="utf-8")
    found = steelyard("repeatability", outputs, "--contract", str(empty), "--json", "--quiet")
    unused = [one["message"] for one in json.loads(found.stdout)["findings"] if one["code"] == "contract_unused"]
    assert len(unused) == 1
    assert "did you mean 'clamp' instead of 'clamps'?" in unused[0]


def test_json_of_repeat_tells_what_was_set_aside(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    bad = '{"id": "no-output", "task": "clamp"}\n{"task": 3}\n'
    file.write_text((SAMPLES / "clamp_runs.jsonl").read_text(encoding="utf-8") + bad, encoding="utf-8")
    done = steelyard("repeatability", str(file), "--json", "--quiet")
    assert done.status == 1
    told = json.loads(done.stdout)["findings"]
    (error,) = [one for one in told if one["severity"] == "error"]
    assert [place["where"] for place in error["places"]] == [f"{file}:6", f"{file}:7"]
    assert "no output.text" in error["message"]


def test_a_method_that_suits_no_figure_is_a_finding() -> None:
    result = sy.measure(sy.demo_runs(), metrics=["pass_rate"], interval="fieller")
    (told,) = [one.message for one in result.findings if one.code == "interval_method"]
    assert told.endswith("interval method fieller (ratio of means, clustered by task)")
    fitting = sy.measure(sy.demo_runs(), metrics=["cost_of_pass"], interval="fieller")
    assert not [one for one in fitting.findings if one.code == "interval_method"]


@pytest.mark.parametrize("method", ["paired-t", "percentile", "bca"])
def test_compare_uses_the_requested_method_for_every_metric(method: str) -> None:
    runs = made_runs({"one": 0.5, "two": 0.6}, tasks=12)
    result = sy.compare(runs, baseline="agent=one", candidate="agent=two", interval=method)
    metrics = result.pairs[0].metrics
    assert {"pass_rate", "cost_usd", "cost_of_pass"} <= metrics.keys()
    assert {name: one.difference.method for name, one in metrics.items()} == dict.fromkeys(metrics, method)
    assert not [one for one in result.findings if one.code == "interval_method"]


@pytest.mark.parametrize("rule", ["pass_rate >= -1", "pass_rate <= 0.9", "cost_usd <= 500", "cost_usd <= -99%"])
def test_a_limit_that_can_be_reached_is_a_rule(rule: str) -> None:
    assert read_rule(rule).text == rule


def test_names_with_commas_can_be_chosen() -> None:
    assert read_filter("agent=a,b, c,model=m=1", option="-a") == {"agent": "a,b, c", "model": "m=1"}
    assert read_filter("agent=a,team=b,c", option="-a") == {"agent": "a", "x_team": "b,c"}  # a custom field
    records = [{"task": f"t{number}", "agent": agent, "passed": True} for number in range(3) for agent in "ab"]
    with pytest.raises(UnknownNameError, match="unknown key 'agnt'"):
        sy.compare(records, baseline="agent=a,agnt=b", candidate="agent=b")
    with pytest.raises(UsageError, match="KEY=VALUE"):
        read_filter("agent", option="-a")
