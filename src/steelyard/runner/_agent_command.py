"""What an agent is started with: its adapter's command, variables and files, filled in for one trial."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.runner._adapters import PLACES, filled
from steelyard.runner._execution_records import Job
from steelyard.sandbox import Content

_MAX_ARGUMENT_LENGTH = 128 * 1024 - 1
"""What Linux takes as one argument."""
_MASKED = "***"


@dataclass(frozen=True)
class AgentCommand:
    """All that the sandbox is given of an agent."""

    line: list[str]
    variables: dict[str, str]
    work: dict[str, Content]
    """Files copied over the work tree."""
    home: dict[str, Content]
    """Files of its HOME."""
    stdin: bytes


def command_of(job: Job, *, endpoint: str, token: str) -> AgentCommand:
    """The agent's command with every placeholder filled; UsageError when the prompt is too long for it."""
    adapter = job.adapter
    values = _values(job, endpoint=endpoint, token=token)
    declared = _declared(job)
    line = [filled(word, values) for word in declared]
    for name, value in job.trial.setting.items():
        line += [word.replace("{value}", str(value)) for word in adapter.settings.get(name, ())]
    if max(len(word.encode()) for word in line) > _MAX_ARGUMENT_LENGTH:
        raise UsageError(
            f"the prompt of task {job.task.id!r} is too long for a command line",
            hint=f"write an adapter like {adapter.name} that reads it from {{prompt_file}} or stdin",
        )
    variables = {**adapter.env, **job.tier.env}
    names_prompt = any("{prompt" in word for word in declared)
    work, home = _files(job, values)
    return AgentCommand(
        line=line,
        variables={name: filled(value, values) for name, value in variables.items()},
        work=work,
        home=home,
        stdin=b"" if names_prompt else job.prompt.encode(),
    )


def shown_command(job: Job) -> list[str]:
    """The command as `--dry-run` shows it: the token masked, prompt, address and folders by their placeholders."""
    shown = {name: f"{{{name}}}" for name in ("prompt", "endpoint", *PLACES)}
    values = {**_values(job, endpoint="", token=_MASKED), **shown}
    return [filled(word, values) for word in _declared(job)]


def _declared(job: Job) -> tuple[str, ...]:
    if job.adapter.name == "oracle" and _solution(job).is_dir():
        return ("true",)  # it is copied over the work
    return job.use.command or job.adapter.command


def _solution(job: Job) -> Path:
    return (job.plan_folder / (job.task.oracle or "")).resolve()


def _values(job: Job, *, endpoint: str, token: str) -> dict[str, str]:
    return {
        **job.adapter.options,
        **{name: str(value) for name, value in job.use.options.items()},
        **PLACES,
        "prompt": job.prompt,
        "model": job.trial.model or "",
        "endpoint": endpoint,
        "token": token,
        "oracle": str(_solution(job)),
    }


def _files(job: Job, values: Mapping[str, str]) -> tuple[dict[str, Content], dict[str, Content]]:
    """Return the files copied over work and HOME: prompt, adapter's files, tier's files, solution."""
    work: dict[str, Content] = {}
    home: dict[str, Content] = {"prompt.md": job.prompt.encode()}
    for path, text in job.adapter.files.items():
        side, _, name = path.partition("/")
        (home if side == "home" else work)[name] = filled(text, values).encode()
    if job.tier.overlay:
        over = job.plan_folder / job.tier.overlay
        sides = [(over / "work", work), (over / "home", home)]
        for folder, files in sides if any(folder.is_dir() for folder, _ in sides) else [(over, work)]:
            files.update(files_below(folder))
    if job.adapter.name == "oracle" and job.task.oracle:
        work |= files_below(_solution(job))
    return work, home


def files_below(folder: Path) -> dict[str, Path]:
    """Every file and link below the folder by its relative path; none where there is no folder."""
    return {
        str(Path(place, name).relative_to(folder)): Path(place, name)
        for place, folders, files in os.walk(folder)
        for name in (*files, *(inner for inner in folders if Path(place, inner).is_symlink()))
    }


def seen_by(job: Job) -> list[Path]:
    """What the agent's sandbox must show besides its program: the oracle its patch."""
    is_patch = job.adapter.name == "oracle" and job.task.oracle and _solution(job).is_file()
    return [_solution(job)] if is_patch else []
