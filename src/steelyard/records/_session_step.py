"""One step of a session: what its log shows of a message, a tool call, a result or an event."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec.structs import force_setattr

from steelyard.records._redaction import Redaction
from steelyard.records._usage import Usage

StepKind = Literal["message", "tool_call", "tool_result", "subagent", "compaction", "error"]
StepRole = Literal["system", "user", "assistant", "reasoning", "tool"]


class SessionStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One step of a session, as its log states it; a `Step` is an expected step of a task."""

    index: int = 0
    """Position among the steps of the run, counted from 1; 0 before it is known."""
    at: datetime | None = None
    """Time of the step; UTC if there is no time zone."""
    kind: StepKind
    """`subagent`: a tool call that starts a subagent. `compaction`: the context was summarized. `error`: a model call
    failed or was aborted."""
    role: StepRole
    """Author of the text: `reasoning` is what the model wrote to itself, `tool` the result of a tool."""
    model: str | None = None
    """Model that wrote it, where the log names one."""
    text: str | None = None
    """Text of a message, compaction or error."""
    tool: str | None = None
    """Name of the tool, on its call; on its result where the log repeats it."""
    call: str | None = None
    """Id of the tool call, on the call and on its result."""
    arguments: dict[str, Any] | None = None  # Any: JSON values
    """Arguments of a tool call; free text is under `input`."""
    result: str | None = None
    """Output of the tool."""
    is_error: bool = False
    """Whether the log marks the result of the tool as an error."""
    subagent: str | None = None
    """Id of the subagent that made the step; None for the main agent."""
    usage: Usage | None = None
    """Tokens that the log states with this step, so that over all steps they add up to those of the model calls."""
    source_path: str | None = None
    """File that contains the step: the log, or a file that belongs to it."""
    source_line: int | None = None
    """Line of the file; None in a format that is one document or a database."""

    @property
    def content(self) -> Iterator[str]:
        """Each text of the step: its text, the texts in its arguments, its result."""
        if self.text:
            yield self.text
        if self.arguments:
            yield from texts_in(self.arguments)
        if self.result:
            yield self.result

    @property
    def where(self) -> str | None:
        """File and line."""
        return self.source_path if self.source_line is None else f"{self.source_path}:{self.source_line}"


MAX_CHECK_CHARACTERS = 16_000
"""Maximum length of the text of a check; of a longer one the beginning and the end are kept."""


class CheckMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a test, an assertion or a grader says of its verdict."""

    name: str
    """Test, assertion or grader."""
    kind: Literal["test", "grader"]
    passed: bool | None = None
    """None if it gives a score alone."""
    score: float | None = None
    text: str
    """Message of the failure, or reasoning of the grader."""
    source_path: str | None = None
    """File that contains it."""
    source_line: int | None = None


def bounded_check_text(*parts: str | None) -> str:
    """Return the parts as one text of bounded length; a part that another one contains is left out.

    >>> bounded_check_text("assert 1 == 2", None, "E   assert 1 == 2")
    'E   assert 1 == 2'
    """
    known = [part.strip() for part in parts if part and part.strip()]
    kept = [part for at, part in enumerate(known) if not any(part in other for other in known[at + 1 :])]
    text = "\n".join(kept)
    if len(text) <= MAX_CHECK_CHARACTERS:
        return text
    half = MAX_CHECK_CHARACTERS // 2
    return f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"


def texts_in(value: Any) -> Iterator[str]:  # Any: JSON values
    """Yield each text of a JSON value, in order; keys are not among them.

    >>> list(texts_in({"command": "ls", "files": ["a", 1]}))
    ['ls', 'a']
    """
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += reversed(each.values())
        elif isinstance(each, list):
            waiting += reversed(each)


_TEXTS = ("model", "text", "tool", "call", "result", "subagent", "source_path")


def placed_step(step: SessionStep, index: int, path: str, redaction: Redaction | None) -> SessionStep:
    """Return the step with its position and file, and without keys and tokens."""
    force_setattr(step, "index", index)
    if step.source_path is None:
        force_setattr(step, "source_path", path)
    if redaction is not None:
        for name in _TEXTS:
            value = getattr(step, name)
            if value is not None and (text := redaction.text(value)) is not value:
                force_setattr(step, name, text)
        if step.arguments is not None:
            force_setattr(step, "arguments", redaction.tree(step.arguments))
    return step
