"""What agents are asked to do, and how a submission is checked."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from steelyard.records._allowed_values import MAX_NAME_BYTES, MAX_VALUE, find_non_finite, forbidden_text, is_too_long
from steelyard.records._known_fields import problem_text, unknown_field
from steelyard.records._record_types import Fraction, Name, Record
from steelyard.records._run import Step
from steelyard.suggestions import nearest

Argument = Annotated[str, msgspec.Meta(max_length=4096)]
CommandLine = Annotated[tuple[Argument, ...], msgspec.Meta(min_length=1, max_length=256)]
RelativePath = Annotated[str, msgspec.Meta(min_length=1, max_length=1024)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]
Bound = Annotated[float, msgspec.Meta(ge=0, le=MAX_VALUE)]


class FileExists(Record, frozen=True, kw_only=True, tag_field="type", tag="file_exists"):
    """A file that must be among the artifacts."""

    file_path: RelativePath
    """Path inside the artifacts, as the submission's `files_created` would name it."""


class NoErrors(Record, frozen=True, kw_only=True, tag_field="type", tag="no_errors"):
    """The workflow ended without an error: `success` is not false, and the error log, if named, is there and empty."""

    error_log: RelativePath | None = None
    """A file that holds something only when there were errors; None when the task has none."""


class TestsPass(Record, frozen=True, kw_only=True, tag_field="type", tag="tests_pass"):
    """The tests pass on the artifacts."""

    __test__ = False  # pytest must not take this for a test class

    command: CommandLine | None = None
    """What runs the tests; None discovers Python's unittest cases and wants at least one."""
    tests: str | None = None
    """A folder of the task's own tests, laid over the artifacts so that a submission cannot bring its own."""
    seconds: Seconds = 60.0
    """Time after which they have failed."""


class CodeCompiles(Record, frozen=True, kw_only=True, tag_field="type", tag="code_compiles"):
    """The code compiles."""

    command: CommandLine | None = None
    """What compiles it; None compiles every Python file and wants at least one."""
    files: str | None = None
    """A folder of the task's own files, laid over the artifacts so that a submission cannot bring its own."""
    seconds: Seconds = 60.0
    """Time after which it has failed."""


class CommandSucceeds(Record, frozen=True, kw_only=True, tag_field="type", tag="command"):
    """A command run in a copy of the artifacts ends with the expected status."""

    command: CommandLine
    """Program and arguments; no shell."""
    exit_status: Annotated[int, msgspec.Meta(ge=0, le=255)] = 0
    """The status that counts as met."""
    files: str | None = None
    """A folder of the task's own files, laid over the artifacts so that a submission cannot bring its own."""
    seconds: Seconds = 60.0
    """Time after which it has failed."""


class MinFunctionality(CommandSucceeds, frozen=True, kw_only=True, tag_field="type", tag="min_functionality"):
    """Another name for `command`."""


class JudgeThreshold(Record, frozen=True, kw_only=True, tag_field="type", tag="judge"):
    """A judge's score reaches a threshold."""

    threshold: Fraction
    """The least score that counts as met."""
    judge: Name | None = None
    """Which of the arena's judges has to give it; None takes any. What a submission says of itself never counts."""
    command: CommandLine | None = None
    """A judge of the task's own, run on the artifacts: the last line it prints is the score, 0 to 1."""
    files: str | None = None
    """A folder of the task's own files, laid over the artifacts so that a submission cannot bring its own."""
    seconds: Seconds = 60.0
    """Time after which the judge has given no score."""
    reviewers: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1, max_length=100)] | None = None
    """Ids of people whose ratings decide (`arena rating add`): the mean of their last ratings over 100 is the score."""
    criterion: Name | None = None
    """What they rate; None for the submission as a whole."""
    min_ratings: Annotated[int, msgspec.Meta(ge=1, le=100)] | None = None
    """How many of the reviewers must have rated; None waits for all of them."""

    def __post_init__(self) -> None:
        if self.reviewers is None:
            if self.criterion is not None or self.min_ratings is not None:
                raise ValueError("criterion and min_ratings are for a judge criterion that names reviewers")
            return
        if self.command is not None or self.judge is not None:
            raise ValueError("a judge criterion names either reviewers, or a judge or its command")
        if len(set(self.reviewers)) != len(self.reviewers):
            raise ValueError("a reviewer is named twice")
        if (self.min_ratings or 0) > len(self.reviewers):
            raise ValueError(f"min_ratings is {self.min_ratings}, with {len(self.reviewers)} reviewers named")


SuccessCriterion = (
    FileExists | NoErrors | TestsPass | CodeCompiles | CommandSucceeds | MinFunctionality | JudgeThreshold
)
CRITERION_TYPES = tuple(
    str(kind.__struct_config__.tag)
    for kind in (FileExists, NoErrors, TestsPass, CodeCompiles, CommandSucceeds, MinFunctionality, JudgeThreshold)
)


WEIGHTS_TOLERANCE = 1e-9
"""How far weights may add up to something else than 1: thirds are written with a few digits."""


class ScoreWeights(Record, frozen=True, kw_only=True):
    """A task's own weights of the four scores; they must add up to 1, so that scores stay within 0 and 100."""

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
    """A task's own numbers in place of the profile's default baseline; None keeps the profile's."""

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
    """What agents are asked to do."""

    id: Name
    """The name that a Run's `task` and a submission's `task_id` hold."""
    title: str | None = None
    """A line for people."""
    category: str | None = None
    """The kind of work, where tasks are weighed by it."""
    difficulty: str | None = None
    """How hard it is, in the profile's words; None adjusts nothing."""
    success_criteria: tuple[SuccessCriterion, ...] = ()
    """What a submission must meet; none means that correctness is 100."""
    tools: tuple[Name, ...] | None = None
    """Agents that may take part; None admits all."""
    models: tuple[Name, ...] | None = None
    """Models that may take part; None admits all."""
    weights: ScoreWeights | None = None
    """The task's own weights; None takes those of its category, else the profile's."""
    baseline: BaselineDefaults | None = None
    """The task's own default baseline; None takes the profile's."""
    expected_steps: tuple[Step, ...] | None = None
    """Steps on the way; runs of this task that state none of their own are measured against these."""

    def __post_init__(self) -> None:
        if "\0" in self.id:
            raise ValueError("the task id contains a NUL byte")


def convert_task(values: Any) -> Task:  # Any: JSON or TOML values
    """The task in plain values; ValueError says what is wrong, with the nearest right word."""
    criteria = values.get("success_criteria") if isinstance(values, dict) else None
    for number, criterion in enumerate(criteria if isinstance(criteria, list) else []):
        kind = criterion.get("type") if isinstance(criterion, dict) else None
        if kind not in CRITERION_TYPES:
            close = nearest(str(kind), CRITERION_TYPES)
            advice = f"did you mean {close!r}?" if close else f"known: {', '.join(CRITERION_TYPES)}"
            raise ValueError(f"success criterion {number + 1} has the unknown type {kind!r} ({advice})")
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
    """The task as JSON; one made by a program is held against all the rules that a read one has met."""
    non_finite = find_non_finite(task)
    if non_finite is not None:
        raise ValueError(f"{non_finite[0]} is {non_finite[1]}, not a finite number")
    # Not asked when a task is read from a store: an older version may have kept one that such a database took.
    place = forbidden_text(task)
    if place is not None:
        raise ValueError(f"{place} contains a NUL byte or a lone surrogate; use valid UTF-8")
    for name in ("tools", "models"):
        admitted = getattr(task, name)
        if admitted is not None and not admitted:
            raise ValueError(f"{name} is empty, so no one could participate (omit it to allow everyone)")
    try:
        definition = msgspec.json.encode(task, order="deterministic")
    except (TypeError, OverflowError, UnicodeEncodeError, RecursionError) as error:
        raise ValueError(f"invalid value in the task: {error}") from error
    convert_task(msgspec.json.decode(definition))
    if is_too_long(task.id):
        raise ValueError(f"the id is longer than {MAX_NAME_BYTES} bytes in UTF-8 (use a shorter id)")
    return definition.decode()
