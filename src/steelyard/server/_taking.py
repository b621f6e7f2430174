"""Bulk requests: NDJSON in and out, one result per line in order, and totals at the end.

Lines are taken while they come in, portion by portion, so that memory stays bounded; answers wait on disk until the
request has been read, since most clients read nothing before they have sent everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING

import anyio.to_thread
import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from steelyard.errors import RequestError
from steelyard.questions import Intake, NumberedLine, refusal_status
from steelyard.results import Receipt
from steelyard.server._guard import BODY_BYTES, JSON, NDJSON, too_large
from steelyard.server._problems import Problem, problem_of

if TYPE_CHECKING:
    from steelyard.records import Rejected
    from steelyard.server._site import Call

LINES_AT_ONCE = 1_000
BYTES_AT_ONCE = 1 << 20
MAX_LINES = 100_000
MAX_LINE_BYTES = BODY_BYTES[JSON]
IN_MEMORY = 4 << 20
_PIECE = 64 << 10


class LineProblem(Problem, frozen=True, kw_only=True):
    """Problem details of a rejected line."""

    line: int
    """Line number, from 1."""


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Number of lines by outcome."""

    lines: int
    accepted: int
    known: int
    """Lines that had been accepted before; they are not counted again."""
    excluded: int
    """Lines that had been accepted before and were excluded since."""
    rejected: int


class LastLine(msgspec.Struct, frozen=True, kw_only=True):
    """Last line of a response; if it is missing, the response is truncated."""

    totals: Totals


def refusal_of(rejected: Rejected) -> RequestError:
    """Return the error of a rejected record."""
    error = RequestError(refusal_status(rejected), rejected.code, rejected.reason, hint=rejected.hint)
    error.where = rejected.path or None
    return error


async def lines_response(call: Call, intake: Intake) -> Response:
    """Yield the result of each line of a request."""
    answers: IO[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 # closed when it has been sent
    counts: Counter[str] = Counter()
    try:
        async for portion in _portions(call.request.stream()):
            await anyio.to_thread.run_sync(_take, call, intake, portion, answers, counts)
    except (RequestError, ClientDisconnect) as error:
        answers.close()
        if isinstance(error, RequestError) and counts:
            error.hint = f"{counts.total():,} lines were processed; send the request again (accepted lines count once)"
        raise
    except BaseException:
        answers.close()
        raise
    statuses = {status: counts[status] for status in ("accepted", "known", "excluded", "rejected")}
    last = LastLine(totals=Totals(lines=counts.total(), **statuses))
    answers.write(msgspec.json.encode(last) + b"\n")
    answers.seek(0)
    headers = {"Content-Type": NDJSON, "Cache-Control": "no-store"}
    return StreamingResponse(_sent(answers), headers=headers)


def _take(call: Call, intake: Intake, portion: list[NumberedLine], answers: IO[bytes], counts: Counter[str]) -> None:
    for (number, _), outcome in zip(portion, intake.take(portion), strict=True):
        if isinstance(outcome, Receipt):
            counts[outcome.status] += 1
            answers.write(msgspec.json.encode(outcome) + b"\n")
        else:
            counts["rejected"] += 1
            problem = problem_of(refusal_of(outcome), call.request.scope["raw_path"].decode("ascii", "replace"))
            answers.write(msgspec.json.encode(LineProblem(line=number, **msgspec.structs.asdict(problem))) + b"\n")


def _sent(answers: IO[bytes]) -> Iterator[bytes]:
    with answers:
        while piece := answers.read(_PIECE):
            yield piece


async def _portions(pieces: AsyncIterator[bytes]) -> AsyncIterator[list[NumberedLine]]:
    """Yield non-empty lines with their numbers, in batches of bounded number and size."""
    portion: list[NumberedLine] = []
    rest = b""
    number = size = 0
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            number += 1
            if number > MAX_LINES:
                hint = f"send at most {MAX_LINES:,} lines per request"
                raise RequestError(413, "too_large", "too many lines in the request", hint=hint)
            if line.strip():
                portion.append((number, line))
                size += len(line)
            if len(portion) >= LINES_AT_ONCE or size >= BYTES_AT_ONCE:
                yield portion
                portion, size = [], 0
        if len(rest) > MAX_LINE_BYTES:
            raise too_large(MAX_LINE_BYTES)
    if rest.strip():
        portion.append((number + 1, rest))
    if portion:
        yield portion
