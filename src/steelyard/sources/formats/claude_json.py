"""The one object that `claude -p --output-format json` prints at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from steelyard.files import document
from steelyard.records import SessionStep
from steelyard.sources.formats._claude import Result, result_fields, split_contradiction
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart
from steelyard.sources.formats._step_values import flat_text

NAME = "claude-json"
_RESULT = msgspec.json.Decoder(Result)


def recognizes(head: Head) -> bool:
    """A lone object of type `result` with a session."""
    return head.shape.get("type") == "result" and head.has("session_id", "num_turns") and len(head.records) <= 1


def read(path: Path) -> Iterator[ReadItem]:
    """The run that the object sums up."""
    result = document(path, _RESULT)
    run = result_fields(result, format=NAME, path=str(path))
    notes = split_contradiction(str(path), result.usage.unsplit if result.usage else 0)
    yield RunPart(run=run, path=str(path), role="session", notes=notes)


def steps(path: Path, session: str | None) -> Iterator[SessionStep]:  # noqa: ARG001 # a file holds one
    """Yield the answer, which is the only text of the object."""
    result = document(path, _RESULT)
    if (text := flat_text(result.result)) is not None:
        yield SessionStep(kind="error" if result.is_error else "message", role="assistant", text=text)


FORMAT = LogFormat(
    name=NAME,
    title="`claude -p --output-format json`",
    kind="sessions",
    yields=("cost_usd", "usage by kind and model", "iterations", "success"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    family="claude",
    precedence="first",
    totals_add_up=True,
)
