"""Verification of an execution's work: the task's check runs on a copy, in a sandbox, after the agent has ended.

The work was made by the agent, so nothing in it decides. A report that it brings along is deleted, the exit status and
the report must agree, and the tests must be those of the reference solution. If a check breaks on the agent's work and
passes on the reference solution, the agent broke it.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import msgspec

from steelyard import sandbox
from steelyard.errors import UnreadableFileError
from steelyard.formatting import counted
from steelyard.grading import Bounds as GradingBounds, Grader, Interpreter, ReferenceGrade, hidden_tests, top_modules
from steelyard.records import Record, TestResults
from steelyard.runner._adapters import adapters
from steelyard.runner._execution import AGENT_LIMITS, Job, execute_trial, files_below
from steelyard.runner._plan_records import AgentUse, Bounds, Verify, seconds_of
from steelyard.runner._programs import program_named
from steelyard.sandbox import Content, LimitName, SandboxResult, Stay
from steelyard.scratch import scratch_folder
from steelyard.sources import tests_in

TIME_LIMIT = "10m"
"""Default time limit of checks and measurements."""
ANSWER = "answer.txt"
"""File with the response of the agent `model`, for the check."""
_CANNOT_START = (126, 127)
"""What a shell returns for a command that cannot be run, or is not there."""
_MAX_NAMES = 3
"""Test names that a message lists."""


class VerifyEvidence(Record, frozen=True, kw_only=True):
    """Evidence of the verification."""

    exit_status: int | None = None
    """Exit status of the command; None if it was stopped or did not start."""
    limit_hit: LimitName | None = None
    """Limit that ended it."""
    tests: TestResults | None = None
    """Test results, if the task has a report."""
    problem: str | None = None
    """Why there is no verdict; None if there is one."""
    is_host: bool = True
    """Whether the problem is known not to be the agent's: the program is not installed, or the reference solution
    has the same problem."""
    rejected: str | None = None
    """Why the work failed although tests and exit status alone do not say so."""
    is_weak: bool = False
    """Whether the agent's code could have forged the verdict, such as the exit status or report of a command."""
    shared_tests: int | None = None
    """Number of tests that ran in the process of the agent's code; None for a command."""
    object_operators: int | None = None
    """How often an object of the agent's code decided an operator in a test; None for a command."""
    ending: str
    """How the command ended, as text."""

    @property
    def passed(self) -> bool | None:
        """The verdict; None if the check failed to run."""
        if self.problem is not None:
            return None
        if self.rejected is not None:
            return False
        return not self.tests.not_passed if self.tests is not None else self.exit_status == 0


class References:
    """Evidence of the check on the reference solution of each task. It runs when it is first needed."""

    def __init__(self) -> None:
        self._known: dict[str, VerifyEvidence] = {}
        self._grades: dict[str, ReferenceGrade] = {}
        self._lock = threading.Lock()

    def of(self, job: Job, *, stop: threading.Event, no_sandbox: bool, is_fresh: bool = False) -> VerifyEvidence | None:
        """Return the evidence on the reference solution; None without one. `is_fresh` runs the check again."""
        if job.task.oracle is None:
            return None
        with self._lock:
            known = self._known.get(job.task.id)
            if known is None or is_fresh:
                with _reference_work(job, stop, no_sandbox=no_sandbox) as work:
                    known = work if isinstance(work, VerifyEvidence) else _check(*work, stop, no_sandbox=no_sandbox)
                self._known[job.task.id] = known
            return known

    def grade(self, job: Job, grader: Grader, *, no_sandbox: bool, is_fresh: bool = False) -> ReferenceGrade | None:
        """Return how the tests run on the reference solution; None without one."""
        stop = grader.bounds.stop
        if job.task.oracle is None or stop is None:
            return None
        with self._lock:
            known = self._grades.get(job.task.id)
            if known is None or is_fresh:
                with _reference_work(job, stop, no_sandbox=no_sandbox) as work:
                    if isinstance(work, VerifyEvidence):
                        known = ReferenceGrade(split={}, objects={}, failed={"": work.ending})
                    else:
                        known = grader.reference(_work(*work[:2]))
                self._grades[job.task.id] = known
            return known


def verify(
    job: Job,
    folder: Path,
    *,
    stop: threading.Event,
    no_sandbox: bool = False,
    references: References | None = None,
) -> VerifyEvidence | None:
    """Run the task's check on the work of an execution; return None for a task without one.

    To be called when nothing of the execution is left running. What the check prints, and its report, go to `verify/`.
    """
    declared = job.task.verify
    if declared is None:
        return None
    references = references or References()
    if declared.tests is not None:
        return _verify_tests(job, folder, declared, stop, references, no_sandbox=no_sandbox)
    found = _check(job, folder, stop, no_sandbox=no_sandbox)
    if found.problem is not None:
        again = references.of(job, stop=stop, no_sandbox=no_sandbox, is_fresh=True)
        return _blamed(found, again)
    if declared.report is None or not found.passed:
        return found
    reference = references.of(job, stop=stop, no_sandbox=no_sandbox)
    if reference is None:
        return found
    if not reference.passed:
        return _blamed(msgspec.structs.replace(found, problem="no tests to compare with"), reference)
    return msgspec.structs.replace(found, rejected=_missing_tests(found.tests, reference.tests))


def _blamed(found: VerifyEvidence, reference: VerifyEvidence | None) -> VerifyEvidence:
    """Return the evidence of a check that broke, with what the check of the reference solution says about the cause."""
    if reference is None:
        return found
    if reference.passed:
        reason = f"{found.problem}; the reference solution passes the same check"
        return msgspec.structs.replace(found, problem=None, rejected=reason)
    why = f"{found.problem}; the reference solution fails it too: {reference.problem or reference.ending}"
    return msgspec.structs.replace(found, problem=why, is_host=True)


def _missing_tests(found: TestResults | None, reference: TestResults | None) -> str | None:
    """Return why the tests are not those of the reference solution; None if they are.

    Further tests do not count against the work: agents add tests of their own, and these passed too.
    """
    assert found is not None  # the check declares a report
    assert reference is not None
    if not isinstance(found.passed, tuple) or not isinstance(reference.passed, tuple):
        if found.total >= reference.total:
            return None
        return f"{counted(found.total, 'test')} ran; with the reference solution, {reference.total:,}"
    missing = sorted((Counter(reference.passed) - Counter(found.passed)).elements())
    if not missing:
        return None
    names = ", ".join(missing[:_MAX_NAMES]) + (" ..." if len(missing) > _MAX_NAMES else "")
    return f"{counted(len(missing), 'test')} of the reference solution did not run: {names}"


@contextlib.contextmanager
def _reference_work(
    job: Job, stop: threading.Event, *, no_sandbox: bool
) -> Iterator[tuple[Job, Path] | VerifyEvidence]:
    """Apply the reference solution to the task's work, while the block runs; the evidence if that fails."""
    trial = msgspec.structs.replace(job.trial, agent="oracle", model=None, tier=None, setting={})
    job = replace(job, trial=trial, use=AgentUse(use="oracle"), adapter=adapters()["oracle"], endpoint=None)
    with scratch_folder() as folder:
        evidence = execute_trial(job, folder, stop=stop, no_sandbox=no_sandbox)
        if evidence.exit_status != 0:
            problem = f"the reference solution could not be applied: {evidence.last_words or evidence.start_error}"
            yield VerifyEvidence(problem=problem, ending=problem)
        else:
            yield job, folder


def _verify_tests(
    job: Job, folder: Path, declared: Verify, stop: threading.Event, references: References, *, no_sandbox: bool
) -> VerifyEvidence:
    """Grade the work with the task's tests, which run as they do with the reference solution."""
    assert declared.tests is not None  # asked by verify
    python = program_named("python3")
    if python is None:
        return VerifyEvidence(problem="no python3 on PATH to run the tests with", ending="check: not run")
    limits = (declared.limits or Bounds()).limits(seconds_of(declared.time_limit or TIME_LIMIT), default=AGENT_LIMITS)
    work = job.plan_folder / job.task.work if job.task.work else None
    solution = job.plan_folder / job.task.oracle if job.task.oracle else None
    grader = Grader(
        tests=hidden_tests(files_below(job.plan_folder / declared.tests), declared.framework),
        modules=top_modules(work, solution),
        python=Interpreter(command=(python.path, "-I", "-B"), readable=python.readable, search_path=python.search_path),
        bounds=GradingBounds(limits=limits, no_sandbox=no_sandbox, stop=stop),
    )
    reference = references.grade(job, grader, no_sandbox=no_sandbox)
    grade = grader.grade(_work(job, folder), _answer(job, folder), reference)
    if grade.problem is not None and reference is not None and not reference.failed:
        reference = references.grade(job, grader, no_sandbox=no_sandbox, is_fresh=True)
    problem = None
    if reference is not None and reference.failed:
        name, reason = next(iter(reference.failed.items()))
        problem = f"the reference solution fails its own tests: {name or 'no test'}: {reason}"
    elif reference is None and grade.problem is not None:
        problem = grade.problem
    is_inconsistent = not grade.is_passed and not grade.failed
    place = folder / "verify"
    place.mkdir(exist_ok=True)
    (place / "grade.json").write_bytes(msgspec.json.encode(grade))
    (place / "stdout").write_text(f"{grade.reason}\n", encoding="utf-8")  # judges see it
    return VerifyEvidence(
        tests=TestResults(passed=grade.passed, failed=grade.failed),
        problem=problem,
        is_host=reference is not None,
        rejected=(grade.problem or "no test passed") if is_inconsistent or grade.problem else None,
        is_weak=grade.is_weak or (reference is None and problem is not None),
        shared_tests=grade.shared,
        object_operators=grade.operators,
        ending=f"tests: {grade.reason}",
    )


@dataclass(frozen=True)
class _Report:
    tests: TestResults | None = None
    problem: str | None = None


def _check(job: Job, folder: Path, stop: threading.Event, *, no_sandbox: bool) -> VerifyEvidence:
    declared = job.task.verify
    assert declared is not None  # asked by verify
    assert declared.command is not None  # as above
    place = folder / "verify"
    place.mkdir(exist_ok=True)
    checker = _found(declared.command)
    limits = (declared.limits or Bounds()).limits(seconds_of(declared.time_limit or TIME_LIMIT), default=AGENT_LIMITS)
    under_test: SandboxResult | None = None
    with contextlib.ExitStack() as started:
        running = None
        if declared.program is not None:
            program = _found(declared.program)
            running = started.enter_context(
                sandbox.start(
                    program.line,
                    copy=_work(job, folder),
                    files=_answer(job, folder),
                    variables=program.variables,
                    limits=limits,
                    readable=program.readable,
                    no_sandbox=no_sandbox,
                )
            )
        result = sandbox.run(
            checker.line,
            copy=_work(job, folder) if running is None else None,
            files=_laid_over(job, folder, declared),
            absent=[declared.report] if declared.report else [],
            pipes=running.checker_pipes if running is not None else None,
            variables=checker.variables,
            limits=limits,
            readable=checker.readable,
            collect=[declared.report] if declared.report else [],
            stay=Stay(place, kept=()),
            no_sandbox=no_sandbox,
            stop=stop,
        )
    if running is not None:
        under_test = running.result()
    problem, report = None, _Report()
    if under_test is not None and under_test.start_error is not None:
        problem = f"the program under test did not start: {under_test.start_error}"
    elif result.start_error is not None:
        problem = f"the check did not start: {result.start_error}"
    elif result.limit_hit is not None:
        problem = f"the check was {result.ending}"
    elif result.exit_status is None:
        problem = f"the check was {result.ending}" if result.signal else f"the check {result.ending}"
    elif result.exit_status in _CANNOT_START:
        problem = f"the check could not run its command ({result.ending})"
    elif declared.report is not None:
        report = _reported(result.collected.get(declared.report), declared.report, place, result.ending)
        problem = report.problem
        if report.tests is not None and not report.tests.not_passed and result.exit_status != 0:
            problem = f"all tests in the check's report passed, but it ended with {result.ending}"
    return VerifyEvidence(
        exit_status=result.exit_status,
        limit_hit=result.limit_hit,
        tests=report.tests,
        problem=problem,
        is_host=checker.is_missing,
        is_weak=declared.program is None,
        ending=f"check: {result.ending}",
    )


@dataclass(frozen=True)
class _CheckCommand:
    """Command line of a check, with what its program needs in the sandbox."""

    line: list[str]
    variables: dict[str, str]
    readable: Sequence[Path]
    is_missing: bool
    """Whether the program is neither installed nor a path."""


def _found(command: Sequence[str]) -> _CheckCommand:
    program = program_named(command[0])
    if program is None:
        return _CheckCommand(list(command), {}, (), is_missing="/" not in command[0])
    return _CheckCommand(
        [program.path, *command[1:]], {"PATH": program.search_path}, program.readable, is_missing=False
    )


def _work(job: Job, folder: Path) -> Path | None:
    if (folder / "work").is_dir():
        return folder / "work"
    return job.plan_folder / job.task.work if job.task.work else None


def _laid_over(job: Job, folder: Path, declared: Verify) -> dict[str, Content]:
    hidden = files_below(job.plan_folder / declared.hidden) if declared.hidden else {}
    return {**_answer(job, folder), **hidden}


def _answer(job: Job, folder: Path) -> dict[str, Content]:
    return {ANSWER: folder / "stdout"} if job.adapter.name == "model" else {}


def _reported(content: bytes | None, name: str, place: Path, ending: str) -> _Report:
    """The results in the check's report, or why there are none."""
    if content is None:
        return _Report(problem=f"the check wrote no report {name!r} ({ending})")
    report = place / f"report{PurePosixPath(name).suffix}"
    report.write_bytes(content)
    try:
        tests = tests_in(report)
    except UnreadableFileError as error:
        return _Report(problem=f"the check's report {name!r} cannot be read: {error.message}")
    if tests is None:
        return _Report(problem=f"the check's report {name!r} contains no tests ({ending})")
    return _Report(tests)
