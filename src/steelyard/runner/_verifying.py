"""Verify an execution's work on a copy, in a separate sandbox, with hidden files."""

from __future__ import annotations

import threading
from pathlib import Path, PurePosixPath

from steelyard import sandbox
from steelyard.errors import UnreadableFileError
from steelyard.formats import tests_in
from steelyard.records import TestResults
from steelyard.runner._agent_command import files_below
from steelyard.runner._execution import AGENT_LIMITS
from steelyard.runner._execution_records import Job, VerifyEvidence
from steelyard.runner._plan_records import Bounds, Verify, seconds_of
from steelyard.runner._programs import program_named
from steelyard.sandbox import Content, Stay

TIME_LIMIT = "10m"
ANSWER = "answer.txt"
"""File with the response of the agent `model`, for the check."""
_CANNOT_START = (126, 127)
"""What a shell returns for a command that cannot be run, or is not there."""


def verify(job: Job, folder: Path, *, stop: threading.Event, no_sandbox: bool = False) -> VerifyEvidence | None:
    """Run the task's check on the work of an execution; return None for a task without one.

    To be called when nothing of the execution is left running. What the check prints, and its report, go to `verify/`.
    """
    declared = job.task.verify
    if declared is None:
        return None
    place = folder / "verify"
    place.mkdir(exist_ok=True)
    program = program_named(declared.command[0])
    command = list(declared.command)
    bounds = declared.limits or Bounds()
    result = sandbox.run(
        [program.path, *command[1:]] if program else command,
        copy=_work(job, folder),
        files=_laid_over(job, folder, declared),
        variables={"PATH": program.search_path} if program else {},
        limits=bounds.limits(seconds_of(declared.time_limit or TIME_LIMIT), default=AGENT_LIMITS),
        readable=program.readable if program else (),
        collect=[declared.report] if declared.report else [],
        stay=Stay(place, kept=()),
        no_sandbox=no_sandbox,
        stop=stop,
    )
    problem = f"the check did not start: {result.start_error}" if result.start_error else None
    if result.exit_status in _CANNOT_START and problem is None:
        problem = f"the check could not run its command ({result.ending})"
    tests = None
    if declared.report is not None and problem is None and result.limit_hit is None:
        tests, problem = _reported(result.collected.get(declared.report), declared.report, place, result.ending)
    return VerifyEvidence(
        exit_status=result.exit_status,
        limit_hit=result.limit_hit,
        tests=tests,
        problem=problem,
        ending=f"check: {result.ending}",
    )


def _work(job: Job, folder: Path) -> Path | None:
    if (folder / "work").is_dir():
        return folder / "work"
    return job.plan_folder / job.task.work if job.task.work else None


def _laid_over(job: Job, folder: Path, declared: Verify) -> dict[str, Content]:
    files: dict[str, Content] = {}
    if job.adapter.name == "model":
        files[ANSWER] = folder / "stdout"
    if declared.hidden:
        files |= files_below(job.plan_folder / declared.hidden)
    return files


def _reported(content: bytes | None, name: str, place: Path, ending: str) -> tuple[TestResults | None, str | None]:
    """The results in the check's report, or why there are none."""
    if content is None:
        return None, f"the check wrote no report {name!r} ({ending})"
    report = place / f"report{PurePosixPath(name).suffix}"
    report.write_bytes(content)
    try:
        tests = tests_in(report)
    except UnreadableFileError as error:
        return None, f"the check's report {name!r} cannot be read: {error.message}"
    return (tests, None) if tests is not None else (None, f"the check's report {name!r} contains no tests ({ending})")
