"""A plan as a job for Harbor: what is carried over, and that what is not is told."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from steelyard.cli import run
from steelyard.errors import UsageError
from steelyard.runner import PlanRead, load_plan, write_harbor_job

PLAN = """
[plan]
name = "tiers"
attempts = 5
parallel = 4
retries = 1
[endpoints.anthropic]
kind = "messages"
url = "env:ANTHROPIC_BASE_URL"
key = "env:MY_KEY"
[[tasks]]
id = "fix/parser"
prompt = "Fix the parser."
work = "repo"
oracle = "solution.patch"
verify = { command = ["python3", "-c", "print('a b')"], report = "report.xml", hidden = "hidden", time_limit = "90s" }
[[agents]]
use = "claude-code"
models = ["claude-sonnet-4-5", "me/own"]
tiers = { T0 = {}, T1 = { env = { DEPTH = "2" } } }
[[agents]]
use = "oracle"
"""


def read(tmp_path: Path, text: str) -> PlanRead:
    for name in ("repo/a.py", "hidden/test_a.py", "solution.patch", "overlay/NOTES.md", "rubric.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n")
    (tmp_path / "plan.toml").write_text(text)
    return load_plan(tmp_path / "plan.toml")


def test_tasks_agents_models_and_attempts_are_carried_over(tmp_path: Path) -> None:
    out = tmp_path / "job"
    assert write_harbor_job(read(tmp_path, PLAN), out) == []
    job = json.loads((out / "job.json").read_text())
    assert (job["job_name"], job["n_attempts"], job["n_concurrent_trials"]) == ("tiers", 5, 4)
    assert job["retry"] == {"max_retries": 1}
    assert job["tasks"] == [{"path": "tasks/fix-parser"}]
    env = {"ANTHROPIC_BASE_URL": "${ANTHROPIC_BASE_URL}", "ANTHROPIC_API_KEY": "${MY_KEY}"}
    deep = env | {"DEPTH": "2"}
    assert job["agents"] == [
        {"name": "claude-code", "model_name": "anthropic/claude-sonnet-4-5", "env": env},
        {"name": "claude-code", "model_name": "anthropic/claude-sonnet-4-5", "env": deep},
        {"name": "claude-code", "model_name": "me/own", "env": env},
        {"name": "claude-code", "model_name": "me/own", "env": deep},
        {"name": "oracle"},
    ]
    task = out / "tasks" / "fix-parser"
    assert (task / "instruction.md").read_text() == "Fix the parser.\n"
    assert "timeout_sec = 90.0" in (task / "task.toml").read_text()
    assert (task / "environment" / "work" / "a.py").is_file()
    assert (task / "tests" / "hidden" / "test_a.py").is_file()
    assert "COPY work/ /app/" in (task / "environment" / "Dockerfile").read_text()
    assert "solution.patch" in (task / "solution" / "solve.sh").read_text()


@pytest.mark.parametrize(
    ("command", "reward"), [('["true"]', "1"), ('["false"]', "0"), ('["sh", "-c", "exit $0"]', "0")]
)
def test_the_test_script_gives_1_for_success_and_0_for_anything_else(tmp_path: Path, command: str, reward: str) -> None:
    text = PLAN.replace("""["python3", "-c", "print('a b')"]""", command)
    write_harbor_job(read(tmp_path, text), tmp_path / "job")
    script = (tmp_path / "job" / "tasks" / "fix-parser" / "tests" / "test.sh").read_text()
    # the container's folders, moved here
    for inside in ("/app", "/tests", "/logs"):
        script = script.replace(inside, f"{tmp_path}{inside}")
    (tmp_path / "app").mkdir()
    (tmp_path / "tests" / "hidden").mkdir(parents=True)
    subprocess.run(["sh", "-c", script], check=True)
    assert (tmp_path / "logs" / "verifier" / "reward.txt").read_text().strip() == reward


def test_what_harbor_has_no_word_for_is_left_out_and_told(tmp_path: Path) -> None:
    text = (
        PLAN.replace("attempts = 5", "attempts = 5\nbudget = { tokens = 1000 }")
        .replace("T1 = { env", 'T2 = { overlay = "overlay" }, T1 = { env')
        .replace('url = "env:ANTHROPIC_BASE_URL"', 'url = "http://127.0.0.1:8000"')
        + '[[agents]]\nuse = "command"\ncommand = ["true"]\n'
    )
    findings = write_harbor_job(read(tmp_path, text), tmp_path / "job")
    told = " ".join(finding.message for finding in findings)
    for word in ("the budget", "tier 'T2'", "127.0.0.1", "'command'"):
        assert word in told, told
    names = [agent["name"] for agent in json.loads((tmp_path / "job" / "job.json").read_text())["agents"]]
    assert names == ["claude-code"] * 4 + ["oracle"]


def test_a_plan_without_an_agent_that_harbor_knows_is_refused(tmp_path: Path) -> None:
    text = PLAN.partition("[[agents]]")[0] + '[[agents]]\nuse = "command"\ncommand = ["true"]\n'
    with pytest.raises(UsageError, match="none of the plan's agents"):
        write_harbor_job(read(tmp_path, text), tmp_path / "job")


def test_a_folder_that_holds_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        write_harbor_job(read(tmp_path, PLAN), tmp_path / "job")


def test_two_tasks_never_share_a_folder(tmp_path: Path) -> None:
    other = '[[tasks]]\nid = "fix parser"\nprompt = "x"\noracle = "solution.patch"\nverify = { command = ["true"] }\n'
    second = PLAN.replace("[[agents]]", f"{other}[[agents]]", 1)
    write_harbor_job(read(tmp_path, second), tmp_path / "job")
    assert sorted(path.name for path in (tmp_path / "job" / "tasks").iterdir()) == ["fix-parser", "fix-parser-2"]


def test_the_command_writes_the_job_and_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(tmp_path, PLAN.replace("attempts = 5", "attempts = 5\nbudget = { tokens = 1000 }"))
    assert run(["run", "export", str(tmp_path / "plan.toml"), "--to", "harbor", "--out", str(tmp_path / "job")]) == 0
    said = capsys.readouterr()
    assert "harbor run -c job.json" in said.out
    assert "the budget" in said.err
    assert (
        run(["run", "export", str(tmp_path / "plan.toml"), "--to", "harbor", "--out", str(tmp_path / "two"), "--json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["folder"] == str(tmp_path / "two")
