"""Installs pinned agents by name into scratch folders, and runs one against the scripted model without any network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from agents.model_server import Script, ServedCall, Step, calls_of

HERE = Path(__file__).resolve().parent
PROMPT = "Write hello into the file hello.txt."
TOKEN = "sk-scripted-0000"  # noqa: S105 # no secret: the scripted model takes any
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TERM")


@dataclass(frozen=True)
class Agent:
    """What `agents.toml` says of one."""

    name: str
    program: str
    model: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    logs: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    npm: str | None = None
    pip: Sequence[str] = ()
    steps: Sequence[str] = ()
    """Commands in place of the script's own."""


@cache
def agents() -> dict[str, Agent]:
    declared = tomllib.loads((HERE / "agents.toml").read_text(encoding="utf-8"))
    return {name: Agent(name=name, **facts) for name, facts in declared.items()}


@dataclass(frozen=True)
class AgentRun:
    """What an agent left behind, and what the model counted."""

    folder: Path
    calls: list[ServedCall]
    exit_status: int
    stopped: bool
    """It did not end by itself."""
    seconds: float
    logs: Mapping[str, Path]

    @property
    def words(self) -> str:
        """What it said, for the message of a test that fails."""
        texts = [(self.folder / name).read_text(encoding="utf-8", errors="replace") for name in ("stdout", "stderr")]
        return "\n".join(text[-2000:] for text in texts)


def install(agent: Agent, folder: Path) -> Path:
    """The folder with the agent's program, which package managers put there last; one that has it is taken as it is."""
    place = folder / agent.name
    if (place / agent.program).exists():
        return place
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    if agent.npm is not None:
        npm = shutil.which("npm")
        assert npm is not None, "npm is not on PATH"
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(place), agent.npm]
        subprocess.run(command, check=True)
        return place
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *agent.pip], check=True)
    return place


def run_agent(agent: Agent, installed: Path, folder: Path, *, status: int = 200, seconds: float = 120) -> AgentRun:
    """One run in a fresh folder: its own HOME, an empty git work tree, and a model that is reached over loopback."""
    for name in ("home", "work", "tmp"):
        (folder / name).mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(folder / "work")], check=True)
    steps = [Step(run=command) for command in agent.steps] or list(Script().steps)
    job = {
        "run": str(folder),
        "command": [str(installed / agent.program), *agent.arguments],
        "environment": {**_environment(folder, installed), **agent.environment},
        "files": dict(agent.files),
        "filled": {
            "prompt": PROMPT,
            "model": agent.model,
            "token": TOKEN,
            "install": str(installed),
            "run": str(folder),
        },
        "steps": [asdict(step) for step in steps],
        "status": status,
        "seconds": seconds,
    }
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    inside = [sys.executable, "-m", "agents.inside", str(folder / "job.json")]
    done = subprocess.run(
        [*room(folder), *inside], cwd=HERE.parent, capture_output=True, text=True, timeout=seconds + 60, check=False
    )
    assert done.returncode == 0, done.stderr
    ending = json.loads((folder / "ending.json").read_text(encoding="utf-8"))
    logs = {name: folder / place for name, place in agent.logs.items()}
    return AgentRun(folder, calls_of((folder / "count.json").read_text(encoding="utf-8")), logs=logs, **ending)


def room(folder: Path) -> list[str]:
    """The beginning of a command that leaves it no network but loopback, and one folder to write to.

    Processes that an agent leaves behind end with the room. Where there is no bubblewrap, nothing keeps an agent from
    the network but its own settings.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return []
    alone = ["--unshare-net", "--unshare-pid", "--die-with-parent"]
    seen = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", str(folder), str(folder)]
    return [bwrap, *alone, *seen, "--"]


def _environment(folder: Path, installed: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    kept["PATH"] = f"{installed / 'bin'}{os.pathsep}{kept.get('PATH', '/usr/bin:/bin')}"
    return {**kept, "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), "DO_NOT_TRACK": "1"}
