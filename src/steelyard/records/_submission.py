"""Submission to an arena, with the field names of the arena specification."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, get_args

import msgspec

from steelyard.errors import NESTED_TOO_DEEPLY
from steelyard.records._custom_fields import is_custom_field
from steelyard.records._derived_fields import RUN_FIELDS
from steelyard.records._record_types import (
    MAX_NAME_BYTES,
    MAX_VALUE,
    Count,
    Name,
    Record,
    is_storable,
    is_too_long,
    unknown_field,
)
from steelyard.records._run import Judgment, Run
from steelyard.records._run_decoder import JSON_ERRORS, ONE_OBJECT, DecodeError, check_density, json_problem
from steelyard.records._times import as_utc
from steelyard.suggestions import nearest

BoundedAmount = Annotated[float, msgspec.Meta(ge=0, le=MAX_VALUE)]
Countable = Literal["total_tokens", "tool_calls", "iterations"]
FilePath = Annotated[str, msgspec.Meta(max_length=4096)]


class Submission(Record, frozen=True, kw_only=True, gc=False):
    """A submission to a task of an arena."""

    id: Name
    """Unique id, accepted once. By default, it is derived from the content."""
    task_id: Name
    """Id of the task."""
    total_tokens: Count
    """Total tokens of the run, including cache."""
    tool_calls: Count
    """Number of tool calls."""
    iterations: Annotated[int, msgspec.Meta(ge=1, le=MAX_VALUE)] | None = None
    """Number of turns; None is scored as 1 and listed in `defaulted`."""
    execution_time: BoundedAmount | None = None
    """Time in seconds. None and 0 mean unknown: the score is 50, and the field is listed in `defaulted`."""
    estimated_cost: BoundedAmount | None = None
    """Cost in USD. None and 0 mean unknown: the score is 50, and the field is listed in `defaulted`."""
    success: bool | None = None
    """Success as claimed by the submitter; None counts as true and is listed in `defaulted`."""
    files_created: Annotated[tuple[FilePath, ...], msgspec.Meta(max_length=10_000)] | None = None
    """Created files, as claimed by the submitter."""
    agent: Name | None = None
    """Agent that produced the output."""
    model: Name | None = None
    """Model that the agent used."""
    submitter: Name | None = None
    """Submitter id."""
    submitted_at: datetime | None = None
    """Submission time. Times without a time zone are in UTC, a date means midnight UTC; None is the acceptance time."""
    artifacts: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)] | None = None
    """Directory or archive (tar, zip) with the output; without artifacts, only claims are available."""
    judgments: Annotated[tuple[Judgment, ...], msgspec.Meta(max_length=1000)] | None = None
    """Judgments from the submitter; they are shown but never count."""
    lower_bounds: Annotated[tuple[Countable, ...], msgspec.Meta(max_length=3)] | None = None
    """Counts that are lower bounds. They are scored as given, and the score is marked."""

    inputs: Annotated[dict[Name, float | bool], msgspec.Meta(max_length=200)] | None = None
    """Run fields by name, the inputs of tool metrics. No score depends on them."""

    def __post_init__(self) -> None:
        if self.inputs is not None:
            _check_inputs(self.inputs)
        # Written out, since this is the only Python that runs for each of a batch's submissions while they are read.
        # Values are normalized, so that equal submissions have the same digest.
        if self.execution_time is not None:
            if not math.isfinite(self.execution_time):
                raise ValueError("execution_time is not a finite number")
            if type(self.execution_time) is int:
                msgspec.structs.force_setattr(self, "execution_time", float(self.execution_time))
        if self.estimated_cost is not None:
            if not math.isfinite(self.estimated_cost):
                raise ValueError("estimated_cost is not a finite number")
            if type(self.estimated_cost) is int:
                msgspec.structs.force_setattr(self, "estimated_cost", float(self.estimated_cost))
        if self.submitted_at is not None:
            try:
                moment = as_utc(self.submitted_at).astimezone(UTC)
            except OverflowError as error:
                raise ValueError("submitted_at is outside the years 1 to 9999 UTC") from error
            if self.submitted_at.tzinfo is not UTC:
                msgspec.structs.force_setattr(self, "submitted_at", moment)

    @property
    def defaulted(self) -> tuple[str, ...]:
        """Return the fields that are scored by a default: missing ones, and 0 where 0 means unknown."""
        unknown = [name for name in ("execution_time", "estimated_cost") if not getattr(self, name)]
        return tuple(unknown + [name for name in ("iterations", "success") if getattr(self, name) is None])


def _check_inputs(inputs: dict[str, float | bool]) -> None:
    for name, value in inputs.items():
        if name not in RUN_FIELDS and not is_custom_field(name):
            close = nearest(name[:200], RUN_FIELDS)
            advice = f"; did you mean {close!r}?" if close else ""
            raise ValueError(f"inputs: unknown field {name[:200]!r}{advice}")
        if not math.isfinite(value):
            raise ValueError(f"inputs: {name[:200]} must be a finite number")


def without_inputs(submission: Submission) -> Submission:
    """Return the submission without its inputs, which do not distinguish two submissions of the same id."""
    return submission if submission.inputs is None else msgspec.structs.replace(submission, inputs=None)


_NAMELESS = "-"
"""Placeholder id while a submission without an id is decoded."""
_COUNTS = get_args(Countable)
_TO_COMPLETE = {
    "Object missing required field `id`",
    "Expected `str`, got `null` - at `$.id`",
    "Invalid RFC3339 encoded datetime - at `$.submitted_at`",
    *(f"Expected `{kind}`, got `float` - at `$.{name}`" for kind in ("int", "int | null") for name in _COUNTS),
}
"""msgspec's errors for a submission that may lack only what can be derived: its name, the time of a day, or that a
count is whole although it is written with a decimal point."""
_OTHER_NAMES = {
    "duration_seconds": "execution_time",
    "duration": "execution_time",
    "seconds": "execution_time",
    "cost_usd": "estimated_cost",
    "cost": "estimated_cost",
    "passed": "success",
    "ended_at": "submitted_at",
    "usage": "total_tokens",
    "turns": "iterations",
}
"""Names of submission fields in runs and logs."""
_A_TIME = "2026-11-15 or 2026-11-15T12:00:00Z"
_DECODER = msgspec.json.Decoder(Submission)
_LINES = msgspec.json.Encoder()


class _IncompleteError(DecodeError):
    """A submission that lacks only values that can be derived."""


def decode_submission(line: bytes) -> Submission:
    """Decode a submission from one JSON object; without an id, its content hash is the id."""
    try:
        return _decoded(line)
    except _IncompleteError:
        try:
            return convert_submission(msgspec.json.decode(line))
        except RecursionError as error:
            raise DecodeError(NESTED_TOO_DEEPLY, ONE_OBJECT) from error


def _decoded(line: bytes) -> Submission:
    try:
        check_density(line)
        submission = _DECODER.decode(line)
    except msgspec.ValidationError as error:
        refusal = _not_json(line) or _explained(error)
        if str(error) in _TO_COMPLETE and not refusal.reason.startswith("not JSON"):
            raise _IncompleteError(refusal.reason, refusal.hint) from error
        raise refusal from error
    except JSON_ERRORS as error:
        raise DecodeError(json_problem(error), ONE_OBJECT) from error
    # JSON has NUL only as an escape, and ASCII as many bytes as characters: most records need no second look.
    if b"\\u" in line:
        return _checked(submission)
    return submission if line.isascii() else _briefly_named(submission)


def _not_json(line: bytes) -> DecodeError | None:
    """The refusal of a line that is no JSON further on: a field that looks wrong may be all that was left of it."""
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except RecursionError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return DecodeError(json_problem(error), ONE_OBJECT)
    return None


def convert_submission(values: Any, *, from_text: bool = False) -> Submission:  # Any: JSON or CSV values
    """The submission in plain values; with `from_text`, numbers and flags may be given as text, as in CSV.

    One without `id` is named by its content, so the same submission has the same name whenever and wherever it is read.
    A day alone is its midnight in UTC.
    """
    nameless = _states_no_id(values)
    try:
        whole = _at_midnight({**values, "id": _NAMELESS} if nameless else values)
        submission = msgspec.convert(_with_whole_counts(whole), Submission, strict=not from_text)
        return _named_by_content(_checked(submission)) if nameless else _checked(submission)
    except msgspec.ValidationError as error:
        raise _explained(error) from error
    except RecursionError as error:
        raise DecodeError(NESTED_TOO_DEEPLY) from error


def _states_no_id(values: Any) -> bool:  # Any: JSON or CSV values
    return isinstance(values, dict) and values.get("id") is None


def _at_midnight(values: Any) -> Any:  # Any: as above
    stated = values.get("submitted_at") if isinstance(values, dict) else None
    if type(stated) is date:
        return {**values, "submitted_at": datetime(stated.year, stated.month, stated.day, tzinfo=UTC)}
    is_day = isinstance(stated, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", stated, re.ASCII)
    return {**values, "submitted_at": f"{stated}T00:00:00Z"} if is_day else values


def _with_whole_counts(values: Any) -> Any:  # Any: as above
    """The values with counts as integers where they are whole: tables with gaps keep theirs as 3.0."""
    if not isinstance(values, dict):
        return values
    whole = {name for name in _COUNTS if type(values.get(name)) is float and values[name].is_integer()}
    return {name: int(value) if name in whole else value for name, value in values.items()} if whole else values


def _named_by_content(submission: Submission) -> Submission:
    """Return the submission with the SHA-256 of its content as its id."""
    return msgspec.structs.replace(submission, id=hashlib.sha256(msgspec.json.encode(submission)).hexdigest())


def check_submission(submission: Submission) -> bytes:
    """Return the submission as JSON, after the same validation as for a submission read from a file."""
    try:
        encoded = msgspec.json.encode(submission)
    except (TypeError, OverflowError, UnicodeEncodeError) as error:
        raise DecodeError(f"not a submission: {error}") from error
    _decoded(encoded)
    return encoded


def check_submissions(given: Sequence[Submission]) -> list[bytes | DecodeError]:
    """Apply `check_submission` to each; if all are valid, which is common, in one step."""
    try:
        lines = _LINES.encode_lines(given)
        _DECODER.decode_lines(lines)
    except (msgspec.MsgspecError, TypeError, OverflowError, UnicodeEncodeError, RecursionError):
        return [_checked_or_error(submission) for submission in given]
    # As in `_decoded`.
    if b"\\u" in lines or (not lines.isascii() and any(is_too_long(submission.id) for submission in given)):
        return [_checked_or_error(submission) for submission in given]
    return list(lines.splitlines())


def _checked_or_error(submission: Submission) -> bytes | DecodeError:
    try:
        return check_submission(submission)
    except DecodeError as error:
        return error


def submission_digest(submission: Submission, artifacts_digest: str | None) -> str:
    """Return the SHA-256 of the submission; artifacts enter by content, not by path."""
    content = msgspec.structs.replace(without_inputs(submission), artifacts=artifacts_digest)
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()


def submission_from_run(
    run: Run,
    *,
    task_id: str,
    estimated_cost: float | None,
    submitter: str | None = None,
    inputs: dict[str, float | bool] | None = None,
) -> Submission:
    """Convert a run to a submission, with the inputs that metrics need; DecodeError if a required one is missing."""
    usage = run.total_usage
    if usage is not None and usage.total_tokens is None and None in (usage.input_tokens, usage.output_tokens):
        usage = None  # a sum without one of the two would pass for the whole
    values: dict[str, Any] = {  # Any: the fields' own types
        "id": run.id,
        "task_id": task_id,
        "total_tokens": None if usage is None else usage.total,
        "tool_calls": run.tool_calls,
        "iterations": run.iterations,
        "execution_time": run.elapsed_seconds if run.duration_seconds is None else run.duration_seconds,
        "estimated_cost": estimated_cost,
        "success": _success(run),
        "files_created": run.files_created,
        "agent": run.agent,
        "model": run.model,
        "submitter": submitter,
        "submitted_at": run.ended_at,
        "judgments": run.judgments,
        "lower_bounds": _lower_bounds(run) or None,
        "inputs": inputs or None,
    }
    for name in ("id", "total_tokens", "tool_calls"):
        if values[name] is None:
            raise DecodeError(f"the run has no {name}", "the arena only scores runs with this field")
    return convert_submission(msgspec.to_builtins({key: value for key, value in values.items() if value is not None}))


def _success(run: Run) -> bool | None:
    """Return the verdict, or the agent's claim; a crashed run without either did not succeed."""
    if run.verdict is not None:
        return run.verdict
    broke_off = run.outcome == "errored" or run.failure is not None
    return False if run.success is None and broke_off else run.success


def _lower_bounds(run: Run) -> list[Countable]:
    """Return the counts that are lower bounds in the run."""
    marked = {name.partition(".")[0] for name, how in (run.provenance or {}).items() if how == "lower_bound"}
    if run.usage is None and any(
        call.usage is None or call.usage.input_tokens is None or call.usage.output_tokens is None
        for call in run.calls or ()
    ):
        marked.add("usage")
    counts: dict[str, Countable] = {"usage": "total_tokens", "tool_calls": "tool_calls", "iterations": "iterations"}
    return [field for name, field in counts.items() if name in marked]


def _checked(submission: Submission) -> Submission:
    for name in submission.__struct_fields__:
        if _holds_forbidden(getattr(submission, name)):
            raise DecodeError(f"{name} contains a NUL byte or a lone surrogate", "use valid UTF-8")
    return _briefly_named(submission)


def _briefly_named(submission: Submission) -> Submission:
    if is_too_long(submission.id):
        raise DecodeError(f"the id is longer than {MAX_NAME_BYTES} bytes in UTF-8", "use a shorter id")
    return submission


def _holds_forbidden(value: object) -> bool:
    if isinstance(value, str):
        return not is_storable(value)
    if isinstance(value, Judgment):
        return _holds_forbidden(value.judge) or _holds_forbidden(tuple(line.name for line in value.criteria or ()))
    return isinstance(value, tuple) and any(_holds_forbidden(item) for item in value)


def _explained(error: msgspec.ValidationError) -> DecodeError:
    text = str(error)
    unknown = unknown_field(error, Submission, other_names=_OTHER_NAMES)
    if unknown is not None:
        return DecodeError(*unknown)
    absent = re.search(r"missing required field `(.*?)`", text)
    if absent:
        return DecodeError(f"{absent[1]} is missing", f"add {absent[1]!r}")
    at = re.search(r" - at `\$\.?(.*)`$", text)
    place = f"{at[1]}: " if at and at[1] else ""
    reason = (text[: at.start()] if at else text).replace("`", "")
    hint = _A_TIME if "datetime" in reason else None
    return DecodeError(place + reason[:1].lower() + reason[1:], hint)
