"""The command line: light, helpful, and clear about what went wrong."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from commands import steelyard
from steelyard.cli import build_app
from steelyard.questions import question_named, question_names
from steelyard.questions.doctor import EXTRAS

COMMANDS = sorted(name for name in build_app() if not name.startswith("-"))


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys, json; print(); print(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


HEAVY = {"numpy", "polars", "scipy", "pandas", "sqlalchemy", "genai_prices", "narwhals"}


def test_importing_the_package_is_light() -> None:
    assert not HEAVY & modules_after("import steelyard")
    assert "rich" not in modules_after("import steelyard")


def test_help_is_light() -> None:
    assert not HEAVY & modules_after("from steelyard.cli import run; run(['--help'])")


def test_importing_questions_about_runs_is_light() -> None:
    names = [name for name in question_names() if question_named(name).takes in ("files", "file", "logs")]
    asked = [name for name in names if not name.startswith("arena")]
    assert len(asked) > 10
    assert not HEAVY & modules_after(f"from steelyard.questions import question_named; [*map(question_named, {asked})]")


@pytest.mark.parametrize("verb", ["read", "usage"])
def test_adding_up_logs_is_light(verb: str) -> None:
    logs = Path(__file__).parent / "samples" / "formats" / "claude-code"
    command = [verb, str(logs), "--json"]
    found = modules_after(f"from steelyard.cli import run; assert run({command!r}) == 0")
    assert not (HEAVY - {"genai_prices"}) & found


@pytest.mark.parametrize("verb", ["measure", "matrix", "completeness"])
def test_questions_without_intervals_are_light(verb: str, tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    runs.write_text(
        "".join(f'{{"id": "{agent}", "task": "t", "agent": "{agent}", "passed": true}}\n' for agent in "ab")
    )
    command = [verb, str(runs), "--by", "agent", "--json"]
    found = modules_after(f"from steelyard.cli import run; assert run({command!r}) == 0")
    assert not {"scipy.special", "scipy.optimize", "scipy.stats", "sqlalchemy"} & found


def test_metrics_on_plain_numbers_are_light() -> None:
    code = "from steelyard.metrics import composite_score; composite_score(pass_rate=1.0, impl_rate=0.5)"
    assert not (HEAVY - {"narwhals"}) & modules_after(code)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    done = steelyard(command, "--help")
    assert done.status == 0
    assert f"Examples:\n  steelyard {command}" in done.stdout or "COMMAND" in done.stdout


def test_without_a_command_the_commands_are_listed() -> None:
    done = steelyard()
    assert done.status == 0
    for command in COMMANDS:
        assert command in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["mesure"], "measure"),
        (["measure"], "FILES"),
        (["measure", "x.jsonl", "--nonsense"], "--nonsense"),
        (["metrics", "cost_of_pas"], "cost_of_pass"),
        (["profiles", "outcome-3"], "outcome-"),
        (["schema", "rnu"], "'run'"),
        (["metrics", "--spec", "outcom"], "'outcome'"),
        (["measure", "x.jsonl", "--metrics", "mean_speedup"], "speedup"),
    ],
)
def test_wrong_usage_exits_2_and_says_what_to_do(arguments: list[str], sentence: str) -> None:
    done = steelyard(*arguments)
    assert done.status == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_profile_shows_itself_as_json_too() -> None:
    shown = json.loads(steelyard("profiles", "outcome-1", "--json").stdout)
    assert shown["profiles"][0]["constants"]["pass_weight"] == 0.5


def test_errors_under_json_are_json(tmp_path: Path) -> None:
    done = steelyard("measure", str(tmp_path / "absent.jsonl"), "--json")
    assert done.status == 1
    error = json.loads(done.stdout)["error"]
    assert set(error) == {"kind", "message", "where", "hint"}
    usage = steelyard("measure", "--nonsense", "--json")
    assert usage.status == 2
    assert json.loads(usage.stdout)["error"]["kind"] == "usage"


def test_the_demonstration_shows_seven_graded_tiers() -> None:
    done = steelyard("demo")
    assert done.status == 0
    for word in ("T0 vanilla", "T6 hybrid", "Cost of pass", "uplift", "SCHEMA", "synthetic", "steelyard explain"):
        assert word in done.stdout
    result = json.loads(steelyard("demo", "--json").stdout)
    assert len(result["groups"]) == 7
    assert all(group["n"] == 200 and group["grade"] for group in result["groups"])
    missing = {
        name
        for group in result["groups"]
        for name, value in group["metrics"].items()
        if value.get("median", value.get("value")) is None
    }
    assert missing <= {
        "skill_efficiency",
        "summary_pass_rate",
        "skill_efficiency_per_run",
        "token_efficiency_ratio",
        "token_efficiency_ratio_per_run",
    }


def test_the_demonstration_is_always_the_same(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert (
            steelyard(
                "demo", "--write", str(tmp_path / name), PYTHONHASHSEED=name.replace("a", "1").replace("b", "2")
            ).status
            == 0
        )
    written = [
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in "ab"
    ]
    assert len(written[0]) == 62
    assert written[0] == written[1]


def test_doctor_tells_what_is_there() -> None:
    found = json.loads(steelyard("doctor", "--json").stdout)["checks"]
    assert {"steelyard", "python", "polars", "metrics", "sandbox"} <= {one["what"] for one in found}
    assert all(one["status"] in ("ok", "absent", "broken") for one in found)


@pytest.mark.checkout
def test_doctor_and_the_page_about_installing_know_every_extra() -> None:
    root = Path(__file__).parent.parent
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    packages = {(re.split(r"[\[<>=]", wanted)[0], extra) for extra, several in extras.items() for wanted in several}
    assert {(package, extra) for package, (extra, _) in EXTRAS.items()} == packages
    page = (root / "docs" / "installing.md").read_text(encoding="utf-8")
    assert all(f"| `{extra}` |" in page for extra in extras)


def test_the_schema_describes_every_field() -> None:
    schema = json.loads(steelyard("schema", "run").stdout)
    fields = schema["$defs"]["Run"]["properties"]
    assert fields["task"]["description"]
    assert all(field.get("description") for field in fields.values())
    assert schema["$defs"]["Run"]["additionalProperties"] is False
    assert "^x_.+" in schema["$defs"]["Run"]["patternProperties"]


def test_a_closed_pipe_is_no_error() -> None:
    for arguments in ("metrics --json", "metrics"):
        code = f"{sys.executable} -m steelyard {arguments} | head -c 10; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        assert "BrokenPipe" not in done.stderr
        assert done.stdout.endswith("0\n")


@pytest.mark.parametrize("form", ["", "--json"])
def test_a_closed_pipe_does_not_hide_a_failed_gate(tmp_path: Path, form: str) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps({"task": f"t{n}", "passed": False}) + "\n" for n in range(40)))
    rules = " ".join(f'--rule "pass_rate >= 0.{n}"' for n in range(500, 590))  # more than a pipe's buffer holds
    gate = f"{sys.executable} -m steelyard gate {path} {rules} {form}"
    done = subprocess.run(
        ["bash", "-c", f"{gate} | true; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert done.stdout == "3\n"


def test_names_from_logs_are_shown_as_they_are_and_do_not_drive_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    agent = "[red]evil[/red]\x1b]0;title\x07"
    record = {"id": "a\x1b[31m", "task": "t", "agent": agent, "passed": True, "outcome": "failed"}
    path.write_text(json.dumps(record) + "\n")
    done = steelyard("measure", str(path), "--by", "agent")
    assert "[red]evil[/red]" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--write", "/nonexistent/runs.jsonl"],
        ["arena", "init", "--store", "sqlite:////nonexistent/x.db"],
    ],
)
def test_a_place_that_cannot_be_written_is_named(arguments: list[str]) -> None:
    done = steelyard(*arguments)
    assert done.status != 0
    assert "/nonexistent" in done.stderr
    assert "Traceback" not in done.stderr
