"""Plans of the shell agent against the scripted model, run by a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from runner.execution import SHELL_AGENT

KEY_VARIABLE = "SCRIPTED_KEY"
KEY = "key-of-the-endpoint"
MODEL = "m-{}"
"""Each trial has a model of its own, so that the model's count says which trial a call was of."""


def written_plan(
    folder: Path,
    url: str,
    *,
    trials: int,
    marker: str,
    mode: str = "agent",
    parallel: int = 4,
    time_limit: str = "60s",
    **settings: object,
) -> Path:
    """A plan of so many trials of the shell agent; the marker stands among its arguments."""
    work = folder / "repository"
    work.mkdir(exist_ok=True)
    (work / "agent.sh").write_bytes(SHELL_AGENT)
    models = ", ".join(f'"{MODEL.format(number)}"' for number in range(trials))
    more = "\n".join(f"{name} = {_toml(value)}" for name, value in settings.items())
    path = folder / "plan.toml"
    path.write_text(
        f"""
[plan]
name = "shell"
parallel = {parallel}
time_limit = "{time_limit}"
retry_wait = "0.1s"
{more}
[endpoints.scripted]
kind = "chat"
url = "{url}"
key = "env:{KEY_VARIABLE}"
price = {{ input_usd = 1.0, output_usd = 1.0 }}
[[tasks]]
id = "hello"
prompt = "Write hello into the file hello.txt."
work = "repository"
verify = {{ command = ["grep", "-qx", "hello", "hello.txt"] }}
[[agents]]
use = "command"
name = "shell"
models = [{models}]
command = ["bash", "agent.sh", "{mode}", "{marker}"]
"""
    )
    return path


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name} = {_toml(inner)}' for name, inner in value.items())} }}"
    return repr(value)


def started(plan: Path, out: Path, *words: str, command: str = "run") -> subprocess.Popen[bytes]:
    """The command that runs the plan, in a process of its own."""
    place = "--results" if command == "run list" else "--out"
    line = [sys.executable, "-m", "steelyard", *command.split(), str(plan), place, str(out), *words]
    env = {**os.environ, KEY_VARIABLE: KEY}
    return subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
