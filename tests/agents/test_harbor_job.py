"""Harbor's own parser takes the job that we write, and our reader takes the job back: `make test-agents`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents.running import ONLY, python_named
from steelyard.questions.read import RunReading
from steelyard.runner import load_plan, write_harbor_job

pytestmark = [
    pytest.mark.long,
    pytest.mark.agents,
    pytest.mark.skipif(bool(ONLY) and "harbor" not in ONLY, reason="only other agents are tested"),
]

HARBOR = "harbor==0.24.0"
PLAN = """
[plan]
name = "tiers"
attempts = 2
[endpoints.anthropic]
kind = "messages"
url = "env:ANTHROPIC_BASE_URL"
key = "env:ANTHROPIC_API_KEY"
[[tasks]]
id = "fix-parser"
prompt = "Fix the parser."
work = "repo"
oracle = "solution.patch"
verify = { command = ["true"], hidden = "hidden" }
[[agents]]
use = "claude-code"
models = ["claude-sonnet-4-5"]
[[agents]]
use = "nop"
"""

PARSES = """
import json, sys
from datetime import datetime, timezone
from pathlib import Path
from uuid import uuid4
from harbor.models.agent.name import AgentName
from harbor.models.job.config import JobConfig
from harbor.models.task.task import Task
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.result import AgentInfo, ModelInfo, TrialResult
from harbor.models.verifier.result import VerifierResult

job = JobConfig.model_validate_json(Path("job.json").read_text())
for config in job.tasks:
    assert Task.is_valid_dir(config.path), config.path
    task = Task(config.path)
    assert task.instruction.strip() == "Fix the parser.", task.instruction
    for number, agent in enumerate(job.agents):
        assert agent.name in AgentName.values(), agent.name
        provider, _, model = (agent.model_name or "").partition("/")
        trial = TrialConfig(task=config, agent=agent, trials_dir=job.jobs_dir / job.job_name, trial_name=f"t{number}")
        now = datetime.now(timezone.utc)
        told = ModelInfo(name=model, provider=provider) if model else None
        result = TrialResult(
            task_name=task.name, trial_name=f"t{number}", trial_uri="file:///x", task_id=config.get_task_id(),
            task_checksum="0", config=trial, started_at=now, finished_at=now,
            agent_info=AgentInfo(name=agent.name, version="1", model_info=told),
            verifier_result=VerifierResult(rewards={"reward": number}),
        )
        place = job.jobs_dir / job.job_name / f"t{number}"
        place.mkdir(parents=True)
        (place / "result.json").write_text(result.model_dump_json())
"""


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter that has Harbor, which wants Python 3.12."""
    kept = os.environ.get("STEELYARD_AGENTS")
    place = Path(kept).resolve() / "harbor" if kept else tmp_path_factory.mktemp("harbor")
    python = place / "bin" / "python"
    if not (place / "bin" / "harbor").exists():
        newer = sys.executable if sys.version_info >= (3, 12) else python_named("python3.12")
        if newer is None:
            pytest.skip("Harbor needs Python 3.12")
        subprocess.run([newer, "-m", "venv", str(place)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", HARBOR], check=True)
    return python


def test_harbor_parses_the_job_and_we_read_its_trials(harbor: Path, tmp_path: Path) -> None:
    for name in ("repo/a.py", "hidden/test_a.py", "solution.patch"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    job = tmp_path / "job"
    write_harbor_job(load_plan(tmp_path / "plan.toml"), job)
    done = subprocess.run([str(harbor), "-c", PARSES], cwd=job, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    printed = subprocess.run(
        [str(harbor.parent / "harbor"), "run", "-c", "job.json", "--print-config"],
        cwd=job,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_API_KEY": "none"},
    )
    assert printed.returncode == 0, printed.stderr
    assert json.loads(printed.stdout)["n_attempts"] == 2
    runs = {run.agent: run for run in RunReading([job / "jobs"])}
    assert {run.task for run in runs.values()} == {"fix-parser"}
    assert {run.experiment for run in runs.values()} == {"tiers"}
    assert (runs["claude-code"].model, runs["claude-code"].passed) == ("claude-sonnet-4-5", False)
    assert runs["nop"].passed is True
