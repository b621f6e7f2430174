"""The GitHub Action: its steps, run as a runner runs them, with inputs in the environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from commands import Done
from matchups import made_runs, write

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
INSTALL, GATE = ACTION["runs"]["steps"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runner's folder with runs, and `steelyard` and `python` on its path."""
    folder = tmp_path_factory.mktemp("runner")
    write(folder / "main.jsonl", made_runs({"x": 0.9}, tasks=60, attempts=4))
    write(folder / "worse runs.jsonl", made_runs({"x": 0.1}, tasks=60, attempts=4))
    write(folder / "few.jsonl", made_runs({"x": 0.5}, tasks=3))
    for name, words in (("steelyard", "-m steelyard"), ("python", "")):
        program = folder / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    return folder


def gated(folder: Path, **inputs: str) -> tuple[Done, dict[str, str], str]:
    """The step done with these inputs: how it ended, its outputs, and the summary of the job."""
    assert inputs.keys() <= ACTION["inputs"].keys()
    values = {name: inputs.get(name, declared.get("default", "")) for name, declared in ACTION["inputs"].items()}
    environment = {
        name: re.sub(r"\$\{\{ inputs\.([a-z]+) \}\}", lambda named: values[named[1]], text)
        for name, text in GATE["env"].items()
    }
    files = {"GITHUB_OUTPUT": folder / "output", "GITHUB_STEP_SUMMARY": folder / "summary"}
    for file in files.values():
        file.unlink(missing_ok=True)
    environment |= {name: str(file) for name, file in files.items()}
    environment |= {"RUNNER_TEMP": str(folder), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    # as a runner calls a step whose shell is bash
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", GATE["run"]]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    outputs = dict(line.split("=", 1) for line in _text(files["GITHUB_OUTPUT"]).splitlines())
    return Done(done.returncode, done.stdout, done.stderr), outputs, _text(files["GITHUB_STEP_SUMMARY"])


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def test_a_gate_that_holds_passes_the_build(folder: Path) -> None:
    rules = "pass_rate >= 0.5\n\n  cost_usd <= baseline * 1.1  \n"
    done, outputs, summary = gated(folder, runs="main.jsonl", baseline="main.jsonl", rules=rules)
    assert (done.status, outputs["status"]) == (0, "pass"), done.stderr
    assert len(json.loads(Path(outputs["report"]).read_text(encoding="utf-8"))["rules"]) == 2
    assert "## ✅ Steelyard gate: passed" in summary
    assert "::" not in done.stdout


def test_a_gate_that_fails_stops_the_build(folder: Path) -> None:
    done, outputs, summary = gated(folder, runs="worse runs.jsonl", rules="pass_rate >= 0.5")
    assert (done.status, outputs["status"]) == (3, "fail"), done.stderr
    assert "::error::" in done.stdout
    assert "Steelyard gate: failed" in summary


@pytest.mark.parametrize(("inconclusive", "status"), [("pass", 0), ("report", 4)])
def test_an_inconclusive_gate_warns(folder: Path, inconclusive: str, status: int) -> None:
    done, outputs, _ = gated(folder, runs="few.jsonl", rules="pass_rate >= 0.5", inconclusive=inconclusive)
    assert (done.status, outputs["status"]) == (status, "inconclusive"), done.stderr
    assert "::warning::" in done.stdout


def test_the_warning_of_an_inconclusive_gate_names_runs_that_broke_off(folder: Path) -> None:
    runs = [
        run if run.passed else msgspec.structs.replace(run, passed=None, outcome="errored")
        for run in made_runs({"x": 0.6}, tasks=60)
    ]
    broken = sum(run.passed is None for run in runs)
    write(folder / "broken.jsonl", runs)
    done, outputs, _ = gated(folder, runs="broken.jsonl", rules="pass_rate >= 0.85")
    assert (done.status, outputs["status"]) == (0, "inconclusive"), done.stderr
    (warning,) = (line for line in done.stdout.splitlines() if line.startswith("::warning::"))
    assert f"the candidate: {broken} of 60 runs crashed" in warning
    assert "the option unscored can count them as failed" in warning
    assert "100.0%25 (pass)" in warning


def test_inputs_are_no_commands_and_further_options_are_words(folder: Path) -> None:
    hostile = 'pass_rate >= 0.5"; touch pwned; $(touch pwned) `touch pwned`'
    done, outputs, summary = gated(folder, runs="few.jsonl", rules=hostile)
    assert (done.status, outputs, summary) == (2, {}, "")
    assert not (folder / "pwned").exists()
    asked = "--where\nagent=x\n--confidence\n0.9"
    done, outputs, _ = gated(folder, runs="main.jsonl", rules="pass_rate >= 0.5", arguments=asked)
    assert json.loads(Path(outputs["report"]).read_text(encoding="utf-8"))["confidence"] == 0.9


def test_every_input_is_used_and_none_stands_in_a_script() -> None:
    text = json.dumps([INSTALL, GATE])
    assert all(f"inputs.{name}" in text for name in ACTION["inputs"])
    assert all("${{" not in step["run"] for step in (INSTALL, GATE))


def test_the_action_installs_its_own_files_and_dependencies_by_hash() -> None:
    done = subprocess.run(
        ["bash", "-c", INSTALL["run"].replace("python", "echo")],
        env={"PATH": os.environ["PATH"], "GITHUB_ACTION_PATH": "/action"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split()[3:] for line in done.stdout.splitlines()] == [
        ["--quiet", "--require-hashes", "-r", "/action/requirements/action.lock"],
        ["--quiet", "--no-deps", "--no-build-isolation", "/action"],
    ]
    lock = (ROOT / "requirements" / "action.lock").read_text(encoding="utf-8")
    locked = {name.lower() for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    assert {re.match(r"[\w.-]+", text)[0].lower() for text in needed} <= locked  # type: ignore[index] # each has a name
    assert lock.count("==") <= lock.count("--hash=sha256:")


WORKFLOW: dict[str, Any] = next(
    yaml.safe_load(block)
    for block in re.findall(
        r"```yaml\n(.*?)```", (Path(__file__).parent.parent / "docs" / "gate.md").read_text(encoding="utf-8"), re.DOTALL
    )
    if "jobs:" in block
)

GH = """#!/bin/sh
[ "$2" = list ] && { printf '%s' "$RUN_ID"; exit 0; }
[ -n "$3" ] && [ "$STORED" = yes ] || exit 1
mkdir -p baseline && touch baseline/new.jsonl
"""


@pytest.mark.parametrize(("run_id", "stored"), [("", "no"), ("12", "no"), ("12", "yes")])
def test_the_workflow_of_the_docs_goes_on_without_a_baseline(tmp_path: Path, run_id: str, stored: str) -> None:
    steps = WORKFLOW["jobs"]["gate"]["steps"]
    fetch = next(step for step in steps if step.get("name") == "Fetch the baseline")
    program = tmp_path / "gh"
    program.write_text(GH, encoding="utf-8")
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", fetch["run"]],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "RUN_ID": run_id, "STORED": stored},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ("::notice::" in done.stdout) == (stored == "no")
    assert (tmp_path / "baseline" / "new.jsonl").exists() == (stored == "yes")
    gated_step = next(step for step in steps if "steelyard" in step.get("uses", ""))
    assert gated_step["uses"].startswith("./")  # an action of the user's own repository, which needs no other
    assert gated_step["with"]["install"] == "false"  # a copy of action.yml has no requirements beside it
    assert any(step.get("run") == "pip install steelyard" for step in steps[: steps.index(gated_step)])
    assert "hashFiles('baseline/new.jsonl') != ''" in gated_step["if"]
    assert ".[0].databaseId // empty" in fetch["run"]  # without it gh prints null where there is no run
