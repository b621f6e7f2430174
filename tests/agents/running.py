"""Installs agents by name into scratch folders, and runs one as a plan would: sandbox, relay, proxy, scripted model."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from unittest import mock

import pytest

from agents.model_server import Script, ServedCall, Step
from runner.execution import Executed, bench, job_of
from steelyard import sandbox
from steelyard.runner import Tier
from steelyard.runner._adapters import Adapter, adapters
from steelyard.runner._execution import agent_version
from steelyard.runner._run_of_trial import log_files

HERE = Path(__file__).resolve().parent
ONLY = os.environ.get("STEELYARD_TESTED_AGENTS", "").split()
"""The agents to test; all where none is named."""
NEWEST = os.environ.get("STEELYARD_NEWEST_AGENTS", "").split()
"""Agents of which the newest version is taken in place of the pinned one, to see what has drifted."""
VERSIONS = pytest.StashKey[dict[str, str | None]]()
"""The versions that the agents stated, by name."""


@dataclass(frozen=True)
class Agent:
    """What `agents.toml` says of one."""

    name: str
    model: str
    npm: str | None = None
    pip: Sequence[str] = ()
    python: str | None = None
    """The Python that it needs, if not ours will do."""
    steps: Sequence[str] = ()
    """Commands in place of the script's own."""
    says: str | None = None
    """The model's words, for an agent that has no tools and takes edits from a text."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables for runs in which the model refuses."""

    @property
    def adapter(self) -> Adapter:
        return adapters(HERE)[self.name]

    @property
    def packages(self) -> list[str]:
        """What to install: the pinned version, or the newest."""
        pinned = [self.npm] if self.npm is not None else [*self.pip]
        return [_unpinned(package) for package in pinned] if self.name in NEWEST else pinned

    @property
    def pinned(self) -> str:
        """The version that is pinned."""
        return re.split("==|@", self.npm or self.pip[0])[-1]

    def place(self, folder: Path) -> Path:
        """Where it is installed; its newest version beside the pinned one."""
        return folder / (f"{self.name}-newest" if self.name in NEWEST else self.name)

    def programs(self, folder: Path) -> Path:
        """Where its program is once it is installed."""
        return self.place(folder) / ("bin" if self.npm is None else "node_modules/.bin")


def _unpinned(package: str) -> str:
    """
    >>> _unpinned("@openai/codex@0.166.0"), _unpinned("mini-swe-agent==2.4.6")
    ('@openai/codex@latest', 'mini-swe-agent')
    """
    if "==" in package:
        return package.partition("==")[0]
    name, at, _ = package.rpartition("@")
    return f"{name}@latest" if at and name else package


@cache
def agents() -> dict[str, Agent]:
    declared = tomllib.loads((HERE / "agents.toml").read_text(encoding="utf-8"))
    return {name: Agent(name=name, **facts) for name, facts in declared.items() if not ONLY or name in ONLY}


@dataclass(frozen=True)
class AgentRun:
    """A run of an agent, and what the model counted."""

    executed: Executed
    calls: list[ServedCall]
    version: str | None
    logs: Mapping[str, Sequence[Path]]
    """Its logs: what it printed, and what it keeps of its sessions."""

    @property
    def words(self) -> str:
        """What it said, for the message of a test that fails."""
        said = [self.executed.folder / name for name in ("stdout", "stderr")]
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in said]
        return "\n".join([str(self.executed.ending), *(text[-2000:] for text in texts)])


def python_named(name: str) -> str | None:
    """An interpreter such as python3.12 on PATH, where a version manager's stand-in may not start, or in pyenv."""
    root = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    found = [shutil.which(name), *map(str, sorted(root.glob(f"versions/{name.removeprefix('python')}.*/bin/{name}")))]
    for python in found:
        if python and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            return python
    return None


def install(agent: Agent, folder: Path) -> Path:
    """The folder with the agent's programs, which package managers fill last; one that has it is taken as it is."""
    programs = agent.programs(folder)
    if (programs / agent.adapter.command[0]).exists():
        return programs
    place = agent.place(folder)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    if agent.npm is not None:
        npm = shutil.which("npm")
        assert npm is not None, "npm is not on PATH"
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(place), *agent.packages]
        subprocess.run(command, check=True)
        return programs
    python = python_named(agent.python) if agent.python else sys.executable
    assert python is not None, f"{agent.python} is neither on PATH nor in pyenv"
    subprocess.run([python, "-m", "venv", str(place)], check=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *agent.packages], check=True)
    return programs


def run_agent(
    agent: Agent,
    programs: Path,
    folder: Path,
    *,
    status: int = 200,
    seconds: float = 120,
    script: Script | None = None,
) -> AgentRun:
    """One run in a fresh folder against a model that answers, refuses with the status, or does as the script says."""
    adapter = agent.adapter
    assert adapter.speaks in ("chat", "responses", "messages", "gemini")
    steps = [Step(run=command) for command in agent.steps] or list(Script().steps)
    no_sandbox = sandbox.active_isolation().name != "bubblewrap"
    tier = Tier(env=dict(agent.env)) if status != 200 else None
    script = script or Script(steps=tuple(steps), status=status, without_tools=agent.says or Script().without_tools)
    (folder / "plan").mkdir(parents=True)
    with (
        mock.patch.dict(os.environ, {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}),
        bench(script, kind=adapter.speaks) as scripted,
    ):
        job = job_of(adapter, folder / "plan", seconds=seconds, model=agent.model, kind=adapter.speaks, tier=tier)
        version = agent_version(adapter, no_sandbox=no_sandbox)
        executed = scripted.executed(job, folder / "retry-0", no_sandbox=no_sandbox)
        calls = list(scripted.server.calls)
    logs = list(log_files(executed.folder, adapter.logs))
    printed = [path for path in logs if path.parent == executed.folder]
    kept = [path for path in logs if path.parent != executed.folder]
    return AgentRun(executed, calls, version, {"stdout": printed, "session": kept})
