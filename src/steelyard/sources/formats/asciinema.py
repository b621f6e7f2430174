"""Terminal recordings of asciinema: version 1 (one object), 2 (absolute times) and 3 (times since the last event)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import document, label, numbered_lines, rejected_line
from steelyard.records import JSON_ERRORS, Rejected, SessionStep, moment, sum_in_order
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart
from steelyard.sources.formats._run_values import run_from

NAME = "asciinema"


class Header(msgspec.Struct):
    """The first line, or the whole of version 1."""

    version: int
    timestamp: float | None = None
    title: str | None = None
    command: str | None = None
    duration: float | None = None
    stdout: list[tuple[float, str]] | None = None


_HEADER = msgspec.json.Decoder(Header)
_EVENT = msgspec.json.Decoder(list[Any])  # Any: time, code, data


def recognizes(head: Head) -> bool:
    """A header with a version and the size of the terminal."""
    if head.shape.get("version") not in ("1", "2", "3"):
        return False
    return head.has("width", "height") or head.has("term", "term.cols")


def read(path: Path) -> Iterator[ReadItem]:
    """Duration of the recording and its number of inputs."""
    lines = numbered_lines(path)
    first = next(lines, (1, b""))[1]
    try:
        header = _HEADER.decode(first)
    except JSON_ERRORS:
        header = document(path, _HEADER)  # version 1 may be written over several lines
    if header.version == 1:
        seconds = (
            sum_in_order(delay for delay, _ in header.stdout or ()) if header.duration is None else header.duration
        )
        yield _part(header, path, seconds, None)
        return
    clock = 0.0
    inputs = 0
    for number, line in lines:
        if line.lstrip().startswith(b"#"):
            continue
        event = _event(path, number, line)
        if isinstance(event, Rejected):
            yield event
            continue
        time, code = event
        clock = clock + time if header.version == 3 else max(clock, time)
        inputs += code == "i"
    yield _part(header, path, clock, inputs)


MAX_OUTPUT = 16_000
"""Characters of the terminal's output in one step."""
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|[\x00-\x08\x0b-\x1a\x7f]"
)


def steps(path: Path, session: str | None) -> Iterator[SessionStep | Rejected]:  # noqa: ARG001 # a file holds one
    """Yield what was typed as messages of the user, and what the terminal showed as results."""
    held: list[str] = []
    code, first, size = "", 1, 0
    for number, line in numbered_lines(path):
        if line.lstrip()[:1] != b"[":
            continue  # the header, or a comment
        try:
            event = _EVENT.decode(line)
        except JSON_ERRORS as error:
            yield rejected_line(path, number, line, error)
            continue
        if len(event) < 3 or event[1] not in ("i", "o") or not isinstance(event[2], str):
            continue
        if held and (event[1] != code or size > MAX_OUTPUT):
            yield from _terminal_step(code, held, first)
            held, size = [], 0
        if not held:
            first = number
        code = event[1]
        held.append(event[2])
        size += len(event[2])
    yield from _terminal_step(code, held, first)


def _terminal_step(code: str, held: list[str], number: int) -> Iterator[SessionStep]:
    text = _ESCAPES.sub("", "".join(held)).replace("\r\n", "\n")
    if not text.strip():
        return
    if code == "i":
        yield SessionStep(kind="message", role="user", text=text, source_line=number)
    else:
        yield SessionStep(kind="tool_result", role="tool", result=text, source_line=number)


def _event(path: Path, number: int, line: bytes) -> tuple[float, str] | Rejected:
    try:
        event = _EVENT.decode(line)
    except JSON_ERRORS as error:
        return rejected_line(path, number, line, error)
    if (
        len(event) < 2
        or isinstance(event[0], bool)
        or not isinstance(event[0], int | float)
        or not isinstance(event[1], str)
    ):
        return Rejected(path=str(path), line=number, reason="not an event; expected [time, code, data]")
    if not 0 <= event[0] < 1e9:
        return Rejected(path=str(path), line=number, reason=f"invalid time {event[0]}")
    return float(event[0]), event[1]


def _part(header: Header, path: Path, seconds: float, inputs: int | None) -> RunPart:
    started = moment(header.timestamp)
    sane = 0 <= seconds < 1e9
    run = run_from(
        format=NAME,
        path=str(path),
        how={"usage": "unknown", "cost_usd": "unknown"},
        task=label(header.title) or label(header.command) or label(path.stem) or NAME,
        started_at=started,
        ended_at=started + timedelta(seconds=seconds) if started and sane else None,
        outcome="not_scored",
        extra={"recording_seconds": round(seconds, 6) if sane else None, "recorded_inputs": inputs},
    )
    return RunPart(run=run, path=str(path), role="recording")


FORMAT = LogFormat(
    name=NAME,
    title="asciinema recordings, versions 1 to 3",
    kind="recordings",
    yields=("times", "recording_seconds", "recorded_inputs"),
    recognizes=recognizes,
    read=read,
    steps=steps,
)
