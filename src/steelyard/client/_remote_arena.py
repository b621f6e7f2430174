"""Arena on a server, with the methods of a local arena."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from steelyard.arena import Receipt
from steelyard.client._transport import Transport
from steelyard.errors import InputError, RequestError, UsageError
from steelyard.option_names import option
from steelyard.questions import ArenaMethods, Options, Question, option_texts, read_answer
from steelyard.records import (
    DecodeError,
    Rejected,
    Submission,
    Task,
    check_submission,
    check_task,
    convert_submission,
    convert_task,
)
from steelyard.settings import TOKEN

LINES_AT_ONCE = 1_000
BYTES_AT_ONCE = 4 << 20
PAGE = 1_000
TIMEOUT_SECONDS = 120.0
TIMES_ANEW = 5
"""Attempts to read a list whose cursor expires."""
GONE = 410

Answer = TypeVar("Answer")
Outcome = Receipt | Rejected


def connect(url: str, *, token: str | None = None, timeout: float = TIMEOUT_SECONDS) -> RemoteArena:
    """Connect to the arena at a server URL. Writing requires a token: `token` or `STEELYARD_TOKEN`.

    Methods raise the same errors as on a local arena. `timeout` is in seconds.
    """
    arena = RemoteArena(Transport(url, token or os.environ.get(TOKEN) or None, timeout=timeout))
    arena.check()
    return arena


class RemoteArena(ArenaMethods):
    """Arena on a server, with the methods of `sy.open_arena()`."""

    def __init__(self, transport: Transport) -> None:
        self._server = transport

    def __repr__(self) -> str:
        return f"RemoteArena({self._server.url!r})"

    def ask(self, question: Question, options: Options) -> Any:  # Any: each question has its own answer
        """Return the server's answer to a question: `sy.measure(sy.connect(url), by="tier")`."""
        if question.sends:
            return question.compute(self, options)
        if not question.path:
            raise UsageError(f"{question.name} is not available on a server")
        path, stated = question.path, {}
        for declared, value in options.chosen():
            if declared.local:
                raise UsageError(f"{option(declared.name)} is not available on a server")
            if (part := f"{{{declared.name}}}") in path:
                path = path.replace(part, _segment(str(value)))
            else:
                stated[declared] = value
        if question.scope is not None:
            body = {declared.name: value for declared, value in stated.items()}
            return read_answer(question.answer, self._server.post(path, body))
        pairs = [
            (declared.name, text)
            for declared, value in stated.items()
            for text in option_texts(value, is_repeated=declared.is_repeated)
        ]
        if question.paged:
            return self._whole(path, pairs, question.paged, question.answer)
        return read_answer(question.answer, self._server.get(path, pairs))

    def check(self) -> None:
        """Check that the server responds."""
        self._server.get("/healthz")

    def add_task(
        self, given: Task | Mapping[str, Any], *, base_dir: Path | None = None
    ) -> bool:  # Any: the task's fields as JSON has them
        """Add a task; return False if an identical one exists. Local directories cannot be sent."""
        if base_dir is not None:
            raise UsageError(
                "a task with files cannot be added through the server",
                hint="run steelyard arena task add on the server",
            )
        try:
            task = given if isinstance(given, Task) else convert_task(given)
            check_task(task)
        except ValueError as error:
            raise UsageError(f"invalid task: {error}") from error
        added = self._server.post("/tasks", task)
        return bool(added["tasks"][0]["new"])

    def submit(
        self,
        given: Iterable[Submission | Mapping[str, Any] | Rejected],
        *,
        artifacts_root: Path | None = None,  # noqa: ARG002 # the server rejects submissions with artifacts
        progress: Callable[[Sequence[Outcome]], None] | None = None,
    ) -> list[Outcome]:  # Any: the submission's fields as JSON has them
        """Submit in batches and return the outcome of each submission, in order. Submissions are idempotent."""
        outcomes: list[Outcome] = []
        for portion in _portions(map(_line, given)):
            lines = [line for line in portion if isinstance(line, bytes)]
            answers = iter(self._server.post_lines("/submissions", lines)[:-1] if lines else ())
            settled = [line if isinstance(line, Rejected) else _outcome(next(answers)) for line in portion]
            if progress is not None:
                progress(settled)
            outcomes += settled
        return outcomes

    def _whole(
        self,
        path: str,
        query: Sequence[tuple[str, str]],
        rows: str,
        kind: type[Answer],
    ) -> Answer:
        """Read a paginated list at one version of the arena."""
        for attempt in range(TIMES_ANEW):
            try:
                return self._pages(path, query, rows, kind)
            except RequestError as error:
                if error.http_status != GONE or attempt == TIMES_ANEW - 1:
                    raise
        raise AssertionError("the last attempt either returns or raises")

    def _pages(
        self,
        path: str,
        query: Sequence[tuple[str, str]],
        rows: str,
        kind: type[Answer],
    ) -> Answer:
        whole: dict[str, Any] = {}  # Any: JSON values
        items: list[Any] = []  # Any: as above
        after: str | None = None
        while not whole or after is not None:
            whole = self._server.get(path, [*query, ("limit", PAGE), ("after", after)])
            items += whole.pop("items")
            after = whole.pop("next")
        return msgspec.convert({**whole, rows: items}, kind)


def _line(given: Submission | Mapping[str, Any] | Rejected) -> bytes | Rejected:  # Any: JSON values
    """Validate a submission and encode it as one line."""
    if isinstance(given, Rejected):
        return given
    identity = given.get("id") if isinstance(given, Mapping) else getattr(given, "id", None)
    try:
        return check_submission(given if isinstance(given, Submission) else convert_submission(given))
    except DecodeError as error:
        shown = identity[:200] if isinstance(identity, str) else ""
        return Rejected(path=shown, reason=error.reason, hint=error.hint, code="bad_submission")


def _portions(lines: Iterable[bytes | Rejected]) -> Iterator[list[bytes | Rejected]]:
    """Split the lines into batches of bounded number and size."""
    portion: list[bytes | Rejected] = []
    size = 0
    for line in lines:
        more = len(line) if isinstance(line, bytes) else 0
        if portion and (len(portion) == LINES_AT_ONCE or size + more > BYTES_AT_ONCE):
            yield portion
            portion, size = [], 0
        portion.append(line)
        size += more
    if portion:
        yield portion


def _outcome(line: dict[str, Any]) -> Outcome:  # Any: JSON values
    if "submission_id" in line:
        return msgspec.convert(line, Receipt)
    return Rejected(path=line.get("where") or "", reason=line["detail"], hint=line.get("hint"), code=line["kind"])


def _segment(name: str) -> str:
    """Percent-encode a name as one path segment."""
    try:
        return quote(name, safe="")
    except UnicodeEncodeError as error:
        raise InputError(f"{name[:200]!r} contains a lone surrogate", hint="use valid UTF-8") from error
