"""Tasks and the success criteria of submissions."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from steelyard.formatting import counted
from steelyard.records._record_types import (
    MAX_NAME_BYTES,
    MAX_VALUE,
    Fraction,
    Name,
    Record,
    find_non_finite,
    forbidden_text,
    is_too_long,
    problem_text,
    unknown_field,
)
from steelyard.records._run import Step
from steelyard.suggestions import nearest

Argument = Annotated[str, msgspec.Meta(max_length=4096)]
CommandLine = Annotated[tuple[Argument, ...], msgspec.Meta(min_length=1, max_length=256)]
RelativePath = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]
Bound = Annotated[float, msgspec.Meta(ge=0, le=MAX_VALUE)]


class FileExists(Record, frozen=True, kw_only=True, tag_field="type", tag="file_exists"):
    """The artifacts contain a file."""

    file_path: RelativePath
    """Path in the artifacts, as in `files_created`."""


class NoErrors(Record, frozen=True, kw_only=True, tag_field="type", tag="no_errors"):
    """No errors occurred: `success` is not false, and the error log, if specified, exists and is empty."""

    error_log: RelativePath | None = None
    """Path of the error log, which is empty if there were no errors; None if the task has no error log."""


class TestsPass(Record, frozen=True, kw_only=True, tag_field="type", tag="tests_pass"):
    """The tests pass on the artifacts."""

    __test__ = False  # pytest must not take this for a test class

    command: CommandLine | None = None
    """Command that runs the tests; None runs Python's unittest discovery and requires at least one test."""
    tests: str | None = None
    """Directory of test files. They overwrite submitted files of the same name."""
    seconds: Seconds = 60.0
    """Timeout of the tests, in seconds."""


class CodeCompiles(Record, frozen=True, kw_only=True, tag_field="type", tag="code_compiles"):
    """The code compiles."""

    command: CommandLine | None = None
    """Command that compiles the code; None compiles all Python files and requires at least one."""
    files: str | None = None
    """Directory of task files. They overwrite submitted files of the same name."""
    seconds: Seconds = 60.0
    """Timeout of the command, in seconds."""


class CommandSucceeds(Record, frozen=True, kw_only=True, tag_field="type", tag="command"):
    """A command exits with the expected status. Without a `program`, it runs in a copy of the artifacts."""

    command: CommandLine
    """Program and arguments, run without a shell."""
    program: CommandLine | None = None
    """Command that starts the program under test, in a separate sandbox with the artifacts. The checking command then
    has only `files`, reads the program's output from descriptor 3 and writes its input to descriptor 4."""
    exit_status: Annotated[int, msgspec.Meta(ge=0, le=255)] = 0
    """Expected exit status."""
    files: str | None = None
    """Directory of task files. They overwrite submitted files of the same name."""
    seconds: Seconds = 60.0
    """Timeout of the command, in seconds."""


class MinFunctionality(CommandSucceeds, frozen=True, kw_only=True, tag_field="type", tag="min_functionality"):
    """Another name for `command`."""


class JudgeThreshold(Record, frozen=True, kw_only=True, tag_field="type", tag="judge"):
    """A judge's score reaches a threshold."""

    threshold: Fraction
    """Minimum score."""
    judge: Name | None = None
    """Name of the arena's judge; None accepts any. Judgments in the submission never count."""
    command: CommandLine | None = None
    """Judge command, run on the artifacts. The last line of its output is the score, from 0 to 1."""
    program: CommandLine | None = None
    """Command that starts the program under test in a separate sandbox, as for `command` criteria."""
    files: str | None = None
    """Directory of task files. They overwrite submitted files of the same name."""
    seconds: Seconds = 60.0
    """Timeout of the judge, in seconds."""
    reviewers: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1, max_length=100)] | None = None
    """Ids of the reviewers. The score is the mean of their latest ratings (`arena rating add`) divided by 100."""
    criterion: Name | None = None
    """Criterion that the reviewers rate; None for the whole submission."""
    min_ratings: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None
    """Number of reviewers who must have rated; None requires all of them."""

    def __post_init__(self) -> None:
        if self.program is not None and self.command is None:
            raise ValueError("program requires command")
        if self.reviewers is None:
            if self.criterion is not None or self.min_ratings is not None:
                raise ValueError("criterion and min_ratings require reviewers")
            return
        if self.command is not None or self.judge is not None:
            raise ValueError("reviewers cannot be combined with judge or command")
        if len(set(self.reviewers)) != len(self.reviewers):
            raise ValueError("duplicate reviewer")
        if (self.min_ratings or 0) > len(self.reviewers):
            only = counted(len(self.reviewers), "reviewer")
            raise ValueError(f"min_ratings is {self.min_ratings}, but the criterion has only {only}")


SuccessCriterion = (
    FileExists | NoErrors | TestsPass | CodeCompiles | CommandSucceeds | MinFunctionality | JudgeThreshold
)
CRITERION_TYPES = tuple(
    str(kind.__struct_config__.tag)
    for kind in (FileExists, NoErrors, TestsPass, CodeCompiles, CommandSucceeds, MinFunctionality, JudgeThreshold)
)


WEIGHTS_TOLERANCE = 1e-9
"""Tolerance for the sum of weights, because thirds are written with a few digits."""


class ScoreWeights(Record, frozen=True, kw_only=True):
    """Weights of the four scores for this task. They must sum to 1, so that scores are between 0 and 100."""

    efficiency: Fraction
    """Weight of the efficiency score."""
    speed: Fraction
    """Weight of the speed score."""
    cost: Fraction
    """Weight of the cost score."""
    correctness: Fraction
    """Weight of the correctness score."""

    def __post_init__(self) -> None:
        total = self.efficiency + self.speed + self.cost + self.correctness
        if abs(total - 1) > WEIGHTS_TOLERANCE:
            raise ValueError(f"the four weights sum to {total:g}, not 1")


class BaselineDefaults(Record, frozen=True, kw_only=True):
    """Default baseline of a task. A number that is None comes from the profile."""

    median_tokens: Bound | None = None
    min_tokens: Bound | None = None
    max_tokens: Bound | None = None
    median_tool_calls: Bound | None = None
    min_tool_calls: Bound | None = None
    max_tool_calls: Bound | None = None
    median_execution_time: Bound | None = None
    min_execution_time: Bound | None = None
    max_execution_time: Bound | None = None
    median_cost: Bound | None = None
    min_cost: Bound | None = None
    max_cost: Bound | None = None
    median_iterations: Bound | None = None

    def __post_init__(self) -> None:
        for name in ("tokens", "tool_calls", "execution_time", "cost"):
            low, high = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            if low is not None and high is not None and low > high:
                raise ValueError(f"min_{name} is above max_{name}")


class Task(Record, frozen=True, kw_only=True):
    """A task for agents."""

    id: Name
    """Unique id, used as `task` in runs and as `task_id` in submissions."""
    title: str | None = None
    """Title, for display."""
    category: str | None = None
    """Category, which selects weights if the profile has weights for it."""
    difficulty: str | None = None
    """Difficulty, one of the profile's levels; None applies no adjustment."""
    success_criteria: tuple[SuccessCriterion, ...] = ()
    """Criteria for correctness; without criteria, correctness is 100."""
    tools: tuple[Name, ...] | None = None
    """Allowed agents; None allows all."""
    models: tuple[Name, ...] | None = None
    """Allowed models; None allows all."""
    weights: ScoreWeights | None = None
    """Weights for this task; None uses the weights of its category, or the general weights of the profile."""
    baseline: BaselineDefaults | None = None
    """Default baseline of this task; None uses the profile's."""
    expected_steps: tuple[Step, ...] | None = None
    """Expected steps, for runs of this task that do not specify any."""

    def __post_init__(self) -> None:
        if "\0" in self.id:
            raise ValueError("the task id contains a NUL byte")


def convert_task(values: Any) -> Task:  # Any: JSON or TOML values
    """Convert plain values to a task; ValueError gives the reason and a suggestion."""
    criteria = values.get("success_criteria") if isinstance(values, dict) else None
    for number, criterion in enumerate(criteria if isinstance(criteria, list) else []):
        kind = criterion.get("type") if isinstance(criterion, dict) else None
        if kind not in CRITERION_TYPES:
            close = nearest(str(kind), CRITERION_TYPES)
            advice = f"did you mean {close!r}?" if close else f"known: {', '.join(CRITERION_TYPES)}"
            raise ValueError(f"unknown type {kind!r} of success criterion {number + 1} ({advice})")
        if kind == "min_functionality" and "command" not in criterion:
            raise ValueError(f"success criterion {number + 1} (min_functionality) needs a command")
    non_finite = find_non_finite(values)
    if non_finite is not None:
        raise ValueError(f"{non_finite[0]} is {non_finite[1]}, not a finite number")
    try:
        return msgspec.convert(values, Task)
    except msgspec.ValidationError as error:
        unknown = unknown_field(error, Task)
        reason = f"{unknown[0]} ({unknown[1]})" if unknown is not None else problem_text(error)
        raise ValueError(reason) from error


def check_task(task: Task) -> str:
    """Return the task as JSON, after the same validation as for a task read from a file."""
    non_finite = find_non_finite(task)
    if non_finite is not None:
        raise ValueError(f"{non_finite[0]} is {non_finite[1]}, not a finite number")
    # Tasks read from a store are not checked, because an older version may have stored such a task.
    place = forbidden_text(task)
    if place is not None:
        raise ValueError(f"{place} contains a NUL byte or a lone surrogate; use valid UTF-8")
    for name in ("tools", "models"):
        admitted = getattr(task, name)
        if admitted is not None and not admitted:
            raise ValueError(f"{name} is empty, so no submission would be allowed (omit it to allow all)")
    try:
        definition = msgspec.json.encode(task, order="deterministic")
    except (TypeError, OverflowError, UnicodeEncodeError, RecursionError) as error:
        raise ValueError(f"invalid value in the task: {error}") from error
    convert_task(msgspec.json.decode(definition))
    if is_too_long(task.id):
        raise ValueError(f"the id is longer than {MAX_NAME_BYTES} bytes in UTF-8 (use a shorter id)")
    return definition.decode()
