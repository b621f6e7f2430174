"""A plan as a job for Harbor, for tasks that need containers: `cd FOLDER && harbor run -c job.json`.

Harbor runs the trials and keeps their results in `jobs/`, which all our commands read. Features that Harbor does
not support (budgets, overlays of tiers, judges, custom adapters) are omitted and reported.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError
from steelyard.grading import hidden_tests
from steelyard.records import Finding
from steelyard.runner._execution import files_below
from steelyard.runner._plan import PlanRead
from steelyard.runner._plan_records import ENVIRONMENT, AgentUse, ApiKind, Endpoint, PlanTask, Tier, Verify, seconds_of
from steelyard.runner._scripted import SCRIPTED

IMAGE = "python:3.12-slim"
"""What containers are made from unless the user writes another image into `environment/Dockerfile`."""
KNOWN_AGENTS = {
    "nop": "nop",
    "oracle": "oracle",
    "aider": "aider",
    "claude-code": "claude-code",
    "codex": "codex",
    "gemini-cli": "gemini-cli",
    "mini-swe-agent": "mini-swe-agent",
    "opencode": "opencode",
    "openhands": "openhands",
}
"""Our adapters, and Harbor's names for the same agents."""
_PROVIDERS: dict[ApiKind, str] = {"chat": "openai", "responses": "openai", "messages": "anthropic", "gemini": "google"}
_VARIABLES: dict[ApiKind, tuple[str, str]] = {
    "chat": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "responses": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "messages": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
}
_LOOPBACK = re.compile(r"^[a-z]+://(?:127\.|localhost|\[::1\])", re.IGNORECASE)
_WORK = "/app"
Json = dict[str, Any]  # Any: JSON values


def write_harbor_job(read: PlanRead, out: Path) -> list[Finding]:
    """Write the job and its tasks into a new directory; return findings about unsupported features."""
    if out.exists() and any(out.iterdir()):
        raise UsageError(f"directory {out} is not empty", hint="choose an empty or new directory")
    findings = list(_left_out(read))
    agents = [agent for use in read.plan.agents for agent in _agents(read, use, findings)]
    if not agents:
        known = ", ".join(sorted(KNOWN_AGENTS))
        raise UsageError("Harbor supports none of the plan's agents", where=str(read.path), hint=f"supported: {known}")
    tasks = read.plan.tasks
    is_verified = any(task.verify for task in tasks)
    if is_verified and (task := next((task for task in tasks if task.verify is None), None)):
        hint = "add `verify` to every task, or to none"
        raise UsageError(f"task {task.id!r} has no `verify`, which Harbor needs", where=str(read.path), hint=hint)
    names = _folder_names([task.id for task in tasks])
    for task in tasks:
        _write_task(read, task, out / "tasks" / names[task.id])
    settings = read.plan.plan
    job: Json = {
        "job_name": settings.name,
        "jobs_dir": "jobs",
        "n_attempts": settings.attempts,
        "n_concurrent_trials": settings.parallel,
        "retry": {"max_retries": settings.retries},
        "agents": agents,
        "tasks": [{"path": f"tasks/{names[task.id]}"} for task in tasks],
        **({} if is_verified else {"verifier": {"disable": True}}),
    }
    (out / "job.json").write_text(json.dumps(job, indent=2) + "\n", encoding="utf-8")
    return findings


def _left_out(read: PlanRead) -> Iterator[Finding]:
    settings = read.plan.plan
    missing = {
        "the budget": settings.budget,
        "judges": read.plan.judges,
        "speed measurements": settings.measure,
        "delivery to an arena": settings.deliver,
        "requests per minute": any(endpoint.requests_per_minute for endpoint in read.plan.endpoints.values()),
        "verifier limits": any(task.verify and task.verify.limits for task in read.plan.tasks),
    }
    for what, is_there in missing.items():
        if is_there:
            yield _note(f"Harbor does not support {what}; omitted from the job")


def _note(message: str) -> Finding:
    return Finding(code="not_in_harbor", message=message)


def _agents(read: PlanRead, use: AgentUse, findings: list[Finding]) -> Iterator[Json]:
    """The agent's configurations in Harbor's words: one for each model and tier."""
    name = KNOWN_AGENTS.get(use.use)
    if name is None:
        findings.append(_note(f"Harbor does not support the agent {use.label!r} ({use.use}); omitted"))
        return
    if any(use.settings):
        findings.append(_note(f"Harbor does not set temperature or seed; the settings of {use.label!r} are omitted"))
    endpoint = read.endpoint_of(use) if use.models else None
    variables = _variables(read.plan.endpoints[endpoint], findings) if endpoint else {}
    kind = read.plan.endpoints[endpoint].kind if endpoint else None
    for model in use.models or (None,):
        for label, tier in (use.tiers or {"": Tier()}).items():
            if tier.overlay:
                findings.append(_note(f"Harbor does not support overlays; tier {label!r} of {use.label!r} is omitted"))
                continue
            env = variables | tier.env
            yield {
                "name": name,
                **({"model_name": _model(model, kind)} if model else {}),
                **({"env": env} if env else {}),
                **({"override_timeout_sec": seconds_of(use.time_limit)} if use.time_limit else {}),
            }


def _model(model: str, kind: ApiKind | None) -> str:
    """The model with its provider before it, as most of Harbor's agents want it."""
    return model if "/" in model or kind is None else f"{_PROVIDERS[kind]}/{model}"


def _variables(endpoint: Endpoint, findings: list[Finding]) -> dict[str, str]:
    """Where the agent finds the endpoint; Harbor fills `${NAME}` in from its own environment."""
    if endpoint.url.startswith(SCRIPTED) or _LOOPBACK.match(endpoint.url):
        message = f"{endpoint.url} is not reachable from a container; Harbor's agents use their default endpoints"
        findings.append(_note(message))
        return {}
    url, key = _VARIABLES[endpoint.kind]
    variables = {url: endpoint.url} | ({key: endpoint.key} if endpoint.key else {})
    return {
        name: f"${{{value.removeprefix(ENVIRONMENT)}}}" if value.startswith(ENVIRONMENT) else value
        for name, value in variables.items()
    }


def _folder_names(ids: Iterable[str]) -> dict[str, str]:
    """A folder for each task, by its id where that can be one: Harbor takes the folder's name for the task's."""
    names: dict[str, str] = {}
    for id_ in ids:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", id_).strip("-.") or "task"
        choices = itertools.chain([plain], (f"{plain}-{number}" for number in itertools.count(2)))
        names[id_] = next(choice for choice in choices if choice not in names.values())
    return names


def _write_task(read: PlanRead, task: PlanTask, folder: Path) -> None:
    environment, tests = folder / "environment", folder / "tests"
    environment.mkdir(parents=True)
    (folder / "instruction.md").write_text(read.prompt_of(task) + "\n", encoding="utf-8")
    limit = seconds_of(task.time_limit or read.plan.plan.time_limit)
    lines = ['version = "1.0"', "", "[agent]", f"timeout_sec = {limit}"]
    if task.verify is not None:
        seconds = seconds_of(task.verify.time_limit or "10m")
        lines += ["", "[verifier]", f"timeout_sec = {seconds}"]
        tests.mkdir()
        hidden = task.verify.tests or task.verify.hidden
        line = task.verify.command
        if hidden:
            shutil.copytree(read.path_of(hidden), tests / "hidden", symlinks=True)
        if line is None:  # one process: Harbor has no other
            declared = hidden_tests(files_below(tests / "hidden"), task.verify.framework)
            line = ("python3", "-m", declared.framework, "-q")
        _script(tests / "test.sh", _test_script(task.verify, line, has_hidden=hidden is not None))
    (folder / "task.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if task.work:
        shutil.copytree(read.path_of(task.work), environment / "work", symlinks=True)
    copied = f"COPY work/ {_WORK}/\n" if task.work else ""
    (environment / "Dockerfile").write_text(f"FROM {IMAGE}\nWORKDIR {_WORK}\n{copied}", encoding="utf-8")
    if task.oracle:
        _write_solution(read.path_of(task.oracle), folder / "solution")


def _script(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")
    path.chmod(0o755)


def _test_script(verify: Verify, line: Sequence[str], *, has_hidden: bool) -> str:
    """What runs the task's command and writes the reward: 1 for status 0, else 0."""
    hidden = f"cp -R /tests/hidden/. {_WORK}/\n" if has_hidden else ""
    kept = f"cp -R {shlex.quote(verify.report)} /logs/verifier/ 2>/dev/null\n" if verify.report else ""
    return (
        f"#!/bin/sh\n{hidden}cd {_WORK} || exit 1\nmkdir -p /logs/verifier\n"
        f"{shlex.join(line)}\nstatus=$?\n{kept}"
        'if [ "$status" -eq 0 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n'
    )


def _write_solution(oracle: Path, folder: Path) -> None:
    folder.mkdir()
    if oracle.is_dir():
        shutil.copytree(oracle, folder / "files", symlinks=True)
        command = f"cp -R /solution/files/. {_WORK}/"
    else:
        shutil.copyfile(oracle, folder / "solution.patch")
        command = f"cd {_WORK} && patch -p1 < /solution/solution.patch"
    _script(folder / "solve.sh", f"#!/bin/sh\nset -e\n{command}\n")
