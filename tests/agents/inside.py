"""Runs one agent beside the scripted model, in whatever room it was started: `python -m agents.inside JOB.json`.

Server and agent share the room, so that it needs no network but its own loopback device.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from agents.model_server import Script, Step, model_server

PATIENCE_SECONDS = 10
"""An agent is asked to end before it is made to."""


def main(job_path: str) -> None:
    job = json.loads(Path(job_path).read_text(encoding="utf-8"))
    run = Path(job["run"])
    steps = tuple(Step(**step) for step in job["steps"])
    with model_server(Script(steps=steps, status=job["status"])) as server:
        filled = {**job["filled"], "endpoint": server.url}
        for name, text in job["files"].items():
            path = run / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(fill(text, filled), encoding="utf-8")
        ending = _run(job, [fill(word, filled) for word in job["command"]], filled, run)
        (run / "count.json").write_text(server.count(), encoding="utf-8")
    (run / "ending.json").write_text(json.dumps(ending), encoding="utf-8")


def fill(text: str, filled: dict[str, str]) -> str:
    """The text with its places filled; other braces stay."""
    for name, value in filled.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _run(job: dict[str, Any], command: list[str], filled: dict[str, str], run: Path) -> dict[str, Any]:
    environment = {name: fill(value, filled) for name, value in job["environment"].items()}
    start = time.monotonic()
    with (run / "stdout").open("wb") as out, (run / "stderr").open("wb") as err:
        agent = subprocess.Popen(
            command,
            cwd=run / "work",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        is_stopped = False
        try:
            agent.wait(job["seconds"])
        except subprocess.TimeoutExpired:
            is_stopped = True
            _stop(agent)
    return {"exit_status": agent.returncode, "stopped": is_stopped, "seconds": time.monotonic() - start}


def _stop(agent: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        os.killpg(agent.pid, number)
        try:
            agent.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        return


if __name__ == "__main__":
    main(sys.argv[1])
