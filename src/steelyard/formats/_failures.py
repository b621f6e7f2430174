"""Failure causes, derived from a status or the tool's own error message."""

from __future__ import annotations

import re
from typing import Any

from steelyard.records import Failure, FailureCause

WORDS = 500
"""How much of a message is kept."""
_STATUS = "401|403|429|5[0-9][0-9]"
_INFRASTRUCTURE = (
    rf"(?i)(?:status|error|http|code|exception)[^a-z0-9\n]{{0,4}}(?:code|/[0-9.]+)?[^a-z0-9\n]{{0,4}}(?:{_STATUS})\b"
    rf"|^\W*(?:{_STATUS})\b"
    rf"|\b(?:{_STATUS})\W{{1,3}}(?:unauthorized|forbidden|too many|internal|bad gateway|service|gateway|overloaded)"
    r"|(?:authentication|permissiondenied|ratelimit|internalserver|serviceunavailable|apiconnection|apitimeout)_?error"
    r"|overloaded_error|connection error|fetch failed|econnrefused|econnreset|enotfound"
)
"""A rejected key, a rate limit, a broken server or none at all: the agent could do nothing about it."""


def failure_of(
    trouble: Any, *, status: Any = None, otherwise: FailureCause = "unknown"
) -> Failure:  # Any: an error as a tool writes it, and a number or text
    """Return the failure in a tool's error, text or object; `status` is an HTTP status stated elsewhere.

    >>> failure_of("unexpected status 401 Unauthorized: no such key").cause
    'infrastructure'
    >>> failure_of({"name": "APIError", "data": {"message": "slow down", "statusCode": 429}})
    Failure(cause='infrastructure', message='APIError: slow down')
    >>> failure_of("read 500 files").cause
    'unknown'
    """
    message = words_of(trouble)
    stated = _stated_status(trouble) if status is None else status
    ours = re.fullmatch(_STATUS, str(stated)) or (message and re.search(_INFRASTRUCTURE, message))
    return Failure(cause="infrastructure" if ours else otherwise, message=message)


def words_of(trouble: Any) -> str | None:  # Any: an error as a provider or a tool writes it
    """Return an error's name and message as text."""
    if isinstance(trouble, dict):
        inner = next((value for key in ("data", "error") if isinstance(value := trouble.get(key), dict)), {})
        name = next((value for key in ("name", "type") if isinstance(value := trouble.get(key), str)), None)
        message = trouble.get("message") or inner.get("message")
        return ": ".join(part[:WORDS] for part in (name, message) if isinstance(part, str) and part) or None
    return str(trouble).strip()[:WORDS] or None if trouble is not None else None


def _stated_status(trouble: Any) -> Any:  # Any: as above, and a number or text
    places = [trouble, *(trouble.get(key) for key in ("data", "error"))] if isinstance(trouble, dict) else []
    keys = ("statusCode", "status_code", "status", "code")
    return next((place[key] for place in places if isinstance(place, dict) for key in keys if key in place), None)
