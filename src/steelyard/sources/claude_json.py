"""The one object that `claude -p --output-format json` prints at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from steelyard.sources._base import Head, Part, Reading, Source
from steelyard.sources._claude import Result, result_fields
from steelyard.sources._documents import document

FORMAT = "claude-json"
_RESULT = msgspec.json.Decoder(Result)


def recognises(head: Head) -> bool:
    """A lone object of type `result` with a session."""
    return head.shape.get("type") == "result" and head.has("session_id", "num_turns") and len(head.records) <= 1


def read(path: Path) -> Iterator[Reading]:
    """The run that the object sums up."""
    result = document(path, _RESULT)
    yield Part(run=result_fields(result, format=FORMAT, path=str(path)), path=str(path), role="session")


SOURCE = Source(
    name=FORMAT,
    title="`claude -p --output-format json`",
    yields=("cost_usd", "usage by kind and model", "iterations", "success"),
    recognises=recognises,
    read=read,
)
