"""Success criteria, really checked: on the artifacts and in the sandbox; without artifacts only claims remain."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple, TypeVar

from steelyard import sandbox
from steelyard.formatting import counted
from steelyard.grading._artifacts import StagedArtifacts
from steelyard.grading._criterion_result import CriterionResult
from steelyard.grading._grader import Grader
from steelyard.grading._split import Bounds, Interpreter
from steelyard.grading._task_files import TaskFiles
from steelyard.grading._tests import hidden_tests
from steelyard.records import (
    CodeCompiles,
    CommandSucceeds,
    FileExists,
    JudgeThreshold,
    NoErrors,
    Submission,
    SuccessCriterion,
    TestsPass,
)

NO_ARTIFACTS = "the submission has no artifacts"
MAX_OUTPUT = 300
"""Characters of a failed command's output that a reason shows."""
MAX_NAME_CHARS = 100
"""Characters of a program's or a judge's name that a reason shows."""
FORGEABLE = "; the code under test could have forged this"
"""Addition to the reason of a criterion that a command in the sandbox of the artifacts decided."""
MAX_JUDGMENTS = 5
"""Judgments that a reason shows."""

_COMPILE_ALL = """
import os, sys
count = 0
for folder, folders, names in os.walk('.'):
    for name in sorted(names):
        if name.endswith('.py'):
            path = os.path.join(folder, name)
            with open(path, 'rb') as file:
                try:
                    compile(file.read(), path, 'exec', dont_inherit=True)
                except (SyntaxError, ValueError) as error:
                    sys.exit(f'{path}: {error}')
            count += 1
sys.exit(0 if count else 'the artifacts contain no Python files')
"""


class Bench(NamedTuple):
    """Artifact directory of a submission; commands run on copies of it."""

    folder: Path
    files: TaskFiles
    """The task's own files, which replace those of the submission with the same names."""
    stop: Event | None

    def find(self, name: str) -> Path | None:
        """The artifact of that name; None when there is none, or the name leads out of the folder."""
        inside = _inside(name)
        path = None if inside is None else self.folder / inside
        try:
            return path if path is not None and path.is_file() else None
        except OSError:  # no file can have a name that is too long
            return None

    def own(self, folder: str | None) -> Mapping[str, bytes]:
        """The task's own files in the folder of that name; none when no folder is named."""
        return {} if folder is None else self.files[folder]

    def run(
        self,
        command: Sequence[str],
        *,
        seconds: float,
        files: Mapping[str, bytes] | None = None,
        program: Sequence[str] | None = None,
    ) -> sandbox.SandboxResult:
        """Run the command in the sandbox and return how it ended; with a program, apart from the artifacts."""
        limits = _limits(seconds)
        if program is None:
            return sandbox.run(_line(command), files=files, copy=self.folder, limits=limits, stop=self.stop)
        with sandbox.start(_line(program), copy=self.folder, limits=limits) as running:
            pipes = running.checker_pipes
            return sandbox.run(_line(command), files=files, pipes=pipes, limits=limits, stop=self.stop)


def check_all(
    criteria: Sequence[SuccessCriterion],
    submission: Submission,
    artifacts: StagedArtifacts | None,
    *,
    files: TaskFiles | None = None,
    stop: Event | None = None,
) -> tuple[CriterionResult, ...]:
    """The result of each criterion, in order. Nothing passes by default. `stop`, once set, ends what runs.

    `files` holds every folder that the criteria name; without artifacts, or with a folder that holds no file, none is
    needed.
    """
    bench = None if artifacts is None or artifacts.is_empty else Bench(artifacts.folder, files or {}, stop)
    return tuple(_check(criterion, submission, bench) for criterion in criteria)


def runs_commands(criteria: Sequence[SuccessCriterion]) -> bool:
    """Whether something is run to check these on artifacts, so that it may take long."""
    return any(
        not isinstance(criterion, FileExists | NoErrors)
        and not (isinstance(criterion, JudgeThreshold) and criterion.command is None)
        for criterion in criteria
    )


def _check(criterion: SuccessCriterion, submission: Submission, bench: Bench | None) -> CriterionResult:
    kind = str(criterion.__struct_config__.tag)
    met, claimed, reason = _CHECKS[type(criterion)](criterion, submission, bench)
    return CriterionResult(type=kind, met=met, claimed=claimed, reason=reason)


Verdict = tuple[bool, bool, str]
Kind = TypeVar("Kind", bound=SuccessCriterion)


def _inside(name: str) -> str | None:
    """The one way to write a path inside the artifacts; None when it leads out of them.

    >>> _inside("./src//a.py"), _inside("src/../../a.py")
    ('src/a.py', None)
    """
    path = posixpath.normpath(name.replace("\\", "/"))
    return None if path.startswith("/") or path.split("/")[0] == ".." else path


def _file_exists(criterion: FileExists, submission: Submission, bench: Bench | None) -> Verdict:
    name = criterion.file_path
    if bench is None:
        wanted = _inside(name)
        met = wanted is not None and any(_inside(path) == wanted for path in submission.files_created or ())
        return met, True, f"files_created {'lists' if met else 'does not list'} {name!r}"
    met = bench.find(name) is not None
    return met, False, f"the artifacts {'contain' if met else 'do not contain'} {name!r}"


def _no_errors(criterion: NoErrors, submission: Submission, bench: Bench | None) -> Verdict:
    if submission.success is False:  # overrides an empty log
        return False, True, "the submission reports success as false"
    if bench is not None and criterion.error_log is not None:
        name = criterion.error_log
        log = bench.find(name)
        if log is None:
            return False, False, f"the artifacts do not contain the error log {name!r}"
        is_empty = log.stat().st_size == 0
        return is_empty, False, f"the error log {name!r} {'is empty' if is_empty else 'contains errors'}"
    if submission.success is None:
        return True, True, "the submission does not report success, which is treated as true"
    return True, True, "the submission reports success as true"


def _tests_pass(criterion: TestsPass, _submission: Submission, bench: Bench | None) -> Verdict:
    if bench is None:
        return False, False, NO_ARTIFACTS
    files = bench.own(criterion.tests)
    if criterion.command is not None:
        result = bench.run(criterion.command, seconds=criterion.seconds, files=files)
        return result.ok, False, f"test command: {_ending(result)}{FORGEABLE if result.ok else ''}"
    return _run_unittest(bench, files, criterion.seconds)


def _run_unittest(bench: Bench, files: Mapping[str, bytes], seconds: float) -> Verdict:
    """Run the tests in a sandbox of their own; without any, those of the submission."""
    isolation = sandbox.active_isolation()
    own = files or {
        path.relative_to(bench.folder).as_posix(): path.read_bytes() for path in sorted(bench.folder.rglob("test*.py"))
    }
    if isolation.python is None:
        return False, False, "no Python interpreter that the sandbox's user can start"
    grader = Grader(
        tests=hidden_tests(own, "unittest"),
        modules=(),
        python=Interpreter(command=(isolation.python, "-I", "-B")),
        bounds=Bounds(limits=_limits(seconds), isolation=isolation, stop=bench.stop),
    )
    grade = grader.grade(bench.folder, None, None)
    if grade.problem is not None:
        return False, False, grade.problem
    weak = FORGEABLE if grade.is_weak and grade.is_passed else ""
    return grade.is_passed, False, f"{grade.ran} tests ran, {len(grade.failed)} did not pass{weak}"


def _code_compiles(criterion: CodeCompiles, _submission: Submission, bench: Bench | None) -> Verdict:
    if bench is None:
        return False, False, NO_ARTIFACTS
    command = criterion.command or ("python", "-I", "-c", _COMPILE_ALL)
    result = bench.run(command, seconds=criterion.seconds, files=bench.own(criterion.files))
    weak = FORGEABLE if result.ok and criterion.command is not None else ""
    return result.ok, False, f"compiling: {_ending(result)}{weak}"


def _command(criterion: CommandSucceeds, _submission: Submission, bench: Bench | None) -> Verdict:
    if bench is None:
        return False, False, NO_ARTIFACTS
    own = bench.own(criterion.files)
    result = bench.run(criterion.command, seconds=criterion.seconds, files=own, program=criterion.program)
    met = result.exit_status == criterion.exit_status and result.limit_hit is None and result.start_error is None
    weak = FORGEABLE if met and criterion.program is None else ""
    return met, False, f"{criterion.command[0][:MAX_NAME_CHARS]}: {result.ending if met else _ending(result)}{weak}"


def reviewers_result(criterion: JudgeThreshold, scores: Mapping[str, float]) -> CriterionResult:
    """Whether the ratings (0 to 100) of the reviewers that a criterion names meet it."""
    met, claimed, reason = _by_reviewers(criterion, scores)
    return CriterionResult(type=str(criterion.__struct_config__.tag), met=met, claimed=claimed, reason=reason)


def _by_reviewers(criterion: JudgeThreshold, scores: Mapping[str, float]) -> Verdict:
    named = criterion.reviewers or ()
    own = [scores[name] for name in sorted(named) if name in scores]
    least = criterion.min_ratings or len(named)
    if len(own) < least:
        return False, False, f"{len(own)} of {len(named)} reviewers have rated the submission; required: {least}"
    score = math.fsum(own) / len(own) / 100
    return (
        score >= criterion.threshold,
        False,
        f"mean rating of {counted(len(own), 'reviewer')}: {score:g}; required: {criterion.threshold:g}",
    )


def _judge(criterion: JudgeThreshold, submission: Submission, bench: Bench | None) -> Verdict:
    if criterion.reviewers:
        return _by_reviewers(criterion, {})
    if bench is None:
        return False, False, NO_ARTIFACTS
    if criterion.command is None:
        return False, False, f"the criterion has no judge command{_own_judgments(submission)}"
    own = bench.own(criterion.files)
    result = bench.run(criterion.command, seconds=criterion.seconds, files=own, program=criterion.program)
    try:
        score = float(_last_line(result.stdout)) if result.ok else None
    except ValueError:
        score = None
    if score is None or not 0 <= score <= 1:
        return False, False, f"the judge returned no score between 0 and 1 ({_ending(result)})"
    met = score >= criterion.threshold
    weak = FORGEABLE if met and criterion.program is None else ""
    return met, False, f"judge score {score:g}; required: {criterion.threshold:g}{weak}"


def _own_judgments(submission: Submission) -> str:
    """Return the unverified judgments in the submission, for display only."""
    given = submission.judgments or ()
    if not given:
        return ""
    shown = given[:MAX_JUDGMENTS]
    scores = [f"{(judgment.judge or 'unnamed')[:MAX_NAME_CHARS]!r} {judgment.score:g}" for judgment in shown]
    more = f" and {len(given) - len(shown)} more" if len(given) > len(shown) else ""
    return f"; judgments in the submission are ignored: {', '.join(scores)}{more}"


# Any: each check takes its own criterion class, and the table is looked up by that class
_CHECKS: dict[type[Any], Callable[[Any, Submission, Bench | None], Verdict]] = {
    FileExists: _file_exists,
    NoErrors: _no_errors,
    TestsPass: _tests_pass,
    CodeCompiles: _code_compiles,
    JudgeThreshold: _judge,
    **dict.fromkeys((CommandSucceeds, *CommandSucceeds.__subclasses__()), _command),
}


def _limits(seconds: float) -> sandbox.Limits:
    return sandbox.Limits(wall_seconds=seconds, cpu_seconds=max(1, round(seconds)))


def _line(command: Sequence[str]) -> list[str]:
    """Return the command line; `python` is an interpreter that exists in the sandbox."""
    python = sandbox.active_isolation().python or "python3"
    return [python if command[0] in ("python", "python3") else command[0], *command[1:]]


def _ending(result: sandbox.SandboxResult) -> str:
    """Return the exit status of a command and the end of its output, escaped because it is untrusted."""
    if result.ok:
        return result.ending
    output = (result.stderr.strip() or result.stdout.strip()).decode(errors="replace")
    if not output:
        return f"{result.ending}, no output"
    return f"{result.ending}, output ends with {output[-MAX_OUTPUT:]!r}"


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1][:MAX_OUTPUT] if lines else ""
