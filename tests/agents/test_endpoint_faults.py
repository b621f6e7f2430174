"""A connection that ends early has the same outcome for an agent behind the metering proxy as without it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from agents.model_server import Fault, FaultKind, ModelServer, Script, model_server
from agents.running import Agent, agents, install, run_agent
from runner.execution import KEY, job_of
from steelyard.runner._execution import command_of

pytestmark = [pytest.mark.long, pytest.mark.agents]

NAMES = [name for name in ("claude-code", "codex", "gemini-cli") if name in agents()]
FAULTS: list[tuple[FaultKind, bool]] = [
    ("reset", True),
    ("reset", False),
    ("close", True),
    ("close", False),
    ("bad_chunk", False),
    ("hang", False),
]
"""How the second call ends, and whether nothing of its answer was sent."""
SECONDS = 40.0


@dataclass(frozen=True)
class Outcome:
    """What became of a run."""

    is_ended: bool
    """Whether the agent ended by itself before the time limit."""
    is_success: bool | None
    """Whether its exit status was 0; None if it did not end."""
    content: str | None
    """What it wrote; None without a file."""
    answered: int
    """Number of calls that it had a whole answer to."""
    is_retried: bool
    """Whether it made another call after the one that was cut."""


def outcome(server: ModelServer, work: Path, status: int | None) -> Outcome:
    written = work / "hello.txt"
    calls = len(server.calls)
    return Outcome(
        is_ended=status is not None,
        is_success=None if status is None else status == 0,
        content=written.read_text(encoding="utf-8") if written.exists() else None,
        answered=calls - 1,
        is_retried=calls > 2,
    )


def direct(agent: Agent, programs: Path, folder: Path, script: Script) -> Outcome:
    """The agent's own command, with the address of the model in place of that of the proxy."""
    kind = agent.adapter.speaks
    assert kind in ("chat", "responses", "messages", "gemini")
    work, home = folder / "work", folder / "home"
    for place in (folder / "plan", work, home):
        place.mkdir(parents=True)
    with model_server(script) as server:
        job = job_of(agent.adapter, folder / "plan", model=agent.model, kind=kind)
        command = command_of(job, endpoint=server.url, token=KEY)
        for name, content in command.home.items():
            assert isinstance(content, bytes)
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(content)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        variables = {**command.variables, "HOME": str(home), "PATH": path, "NO_PROXY": "127.0.0.1"}
        process = subprocess.Popen(
            command.line,
            cwd=work,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
            process.wait()
        return outcome(server, work, status)


@pytest.fixture(scope="module")
def installs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = os.environ.get("STEELYARD_AGENTS")
    return Path(kept).resolve() if kept else tmp_path_factory.mktemp("installs")


@pytest.mark.parametrize(("kind", "is_early"), FAULTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_broken_call_has_the_same_outcome_as_without_the_proxy(
    name: str, kind: FaultKind, is_early: bool, installs: Path, tmp_path: Path
) -> None:
    agent = agents()[name]
    programs = install(agent, installs)
    script = Script(faults={1: Fault(kind, is_early=is_early)}, has_many_calls=True)
    expected = direct(agent, programs, tmp_path / "direct", script)
    made = run_agent(agent, programs, tmp_path / "metered", script=script, seconds=SECONDS)
    evidence = made.executed.evidence
    status = None if evidence.ended_by == "time_limit" else evidence.exit_status
    assert outcome(made.executed.server, made.executed.folder / "work", status) == expected, made.words
