"""Errors as RFC 9457 problem details, without local paths."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Callable
from http import HTTPStatus

import msgspec
from starlette.responses import Response

from steelyard.errors import RequestError, SteelyardError
from steelyard.option_names import Surface
from steelyard.pages import json_bytes
from steelyard.plain_text import clean
from steelyard.records import Redaction

LOG = logging.getLogger("steelyard.server")
PROBLEM_TYPE = "application/problem+json"
_FOLDERS = re.compile(r"(?<![\w.:/])(?:[A-Za-z]:\\|/(?!api/))(?:[^\s'\"<>:,;()/\\]+[/\\])+")
"""Absolute path up to the last separator; does not match URLs or API paths."""


class ProblemOption(msgspec.Struct, frozen=True, kw_only=True):
    """Option with a value that a problem mentions, for clients that spell it in another way."""

    name: str
    value: str


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Problem details (RFC 9457)."""

    type: str
    """`/problems/` and the kind."""
    title: str
    status: int
    detail: str
    instance: str
    """Requested path; for internal errors, with an id that is also in the log."""
    kind: str
    hint: str | None = None
    """How to fix it."""
    where: str | None = None
    """File or record that the problem refers to."""
    findings: tuple[str, ...] = ()
    options: tuple[ProblemOption, ...] = ()


def without_folders(text: str) -> str:
    """Return the text without the directories of paths; file names remain.

    >>> without_folders("cannot read /home/ada/runs/a.jsonl:3, see https://example.org/a/b")
    'cannot read a.jsonl:3, see https://example.org/a/b'
    >>> without_folders("did you mean /api/v1/runs?")
    'did you mean /api/v1/runs?'
    """
    return _FOLDERS.sub("", text)


def problem_of(error: Exception, instance: str, *, surface: Surface = "http") -> Problem:
    """Return the problem details of an error; log unexpected errors under an id."""
    if not isinstance(error, SteelyardError):
        identity = secrets.token_hex(8)
        LOG.error("error %s while handling %s", identity, clean(instance)[:500], exc_info=error)
        problem: SteelyardError = RequestError(
            500, "internal", "internal server error", hint=f"see {identity} in the server log"
        )
        instance = f"{instance}#{identity}"
    else:
        problem = error.shown_on(surface)
    texts = (problem.message, problem.hint, problem.where, *(value for _, value in problem.options))
    shown = Redaction().tree(texts)  # a suggested name may contain a key
    detail, hint, where, *values = (None if text is None else clean(without_folders(text))[:2_000] for text in shown)
    return Problem(
        type=f"/problems/{problem.kind}",
        title=HTTPStatus(problem.http_status).phrase,
        status=problem.http_status,
        detail=detail or "",
        instance=instance[:2_000],
        kind=problem.kind,
        hint=hint,
        where=where,
        options=tuple(
            ProblemOption(name=name, value=value or "")
            for (name, _), value in zip(problem.options, values, strict=True)
        ),
    )


def headers_of(error: Exception) -> dict[str, str]:
    """Return the headers for the status of an error."""
    headers = dict(error.headers) if isinstance(error, RequestError) else {}
    if getattr(error, "http_status", 500) == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="steelyard"'
    if getattr(error, "http_status", 500) == HTTPStatus.SERVICE_UNAVAILABLE:
        headers.setdefault("Retry-After", "2")
    return headers | {"Cache-Control": "no-store"}


def problem_response(
    error: Exception, instance: str, *, page: Callable[[Problem], str] | None = None, surface: Surface = "http"
) -> Response:
    """Return the error response: problem details or an HTML page."""
    problem = problem_of(error, instance, surface=surface)
    if page is not None:
        body, kind = page(problem).encode("utf-8", "replace"), "text/html; charset=utf-8"
    else:
        body, kind = json_bytes(msgspec.to_builtins(problem)), PROBLEM_TYPE
    return Response(body, status_code=problem.status, headers={**headers_of(error), "Content-Type": kind})
