"""What a tool states, as values of a run: disjoint kinds of tokens, cost, times, verdict and failure."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import astuple

from steelyard.files import label, number, records
from steelyard.records import (
    MAX_VALUE,
    Call,
    Conditions,
    DecodeError,
    Failure,
    FailureCause,
    Finding,
    Origin,
    Outcome,
    Provenance,
    Rejected,
    Run,
    Usage,
    add_usage,
    convert_run,
    first_and_last,
    kinds_of,
    model_group,
)

T = TypeVar("T")


def disjoint_usage(
    *,
    input_with_cache: int | None,
    cache_read: int | None = None,
    cache_write: int | None = None,
    output_with_reasoning: int | None = None,
    reasoning: int | None = None,
) -> Usage:
    """Tokens of a tool whose input includes cached input and whose output includes reasoning.

    A part larger than its whole contradicts itself: the part is kept and the rest is unknown.

    >>> disjoint_usage(input_with_cache=100, cache_read=60, output_with_reasoning=9, reasoning=4)
    Usage(input_tokens=40, output_tokens=5, cache_read_tokens=60, reasoning_tokens=4)
    >>> disjoint_usage(input_with_cache=10, cache_read=60)
    Usage(cache_read_tokens=60)
    """
    return Usage(
        input_tokens=_rest(input_with_cache, cache_read, cache_write),
        cache_read_tokens=cache_read,
        cache_write_5m_tokens=cache_write,
        output_tokens=_rest(output_with_reasoning, reasoning),
        reasoning_tokens=reasoning,
    )


def _rest(whole: int | None, *parts: int | None) -> int | None:
    if whole is None:
        return None
    rest = whole - sum(filter(None, parts))
    return rest if rest >= 0 else None


def token_contradiction(where: str, usage: Usage, *, stated_input: int | None) -> tuple[Finding, ...]:
    """The finding for a tool that states more cached input than input."""
    if stated_input is None or usage.input_tokens is not None:
        return ()
    cached = (usage.cache_read_tokens or 0) + (usage.cache_write_5m_tokens or 0)
    counts = f"more cached tokens ({cached:,}) than input tokens ({stated_input:,})"
    message = f"the log reports {counts}; uncached input is unknown"
    return (Finding(code="token_contradiction", message=message, where=where),)


def busiest_model(calls: Iterable[Call]) -> str | None:
    """The model that handled most tokens; ties give the first name."""
    all_calls = list(calls)
    models = {call.model for call in all_calls if call.model}
    if len(models) < 2:
        return next(iter(models), None)
    totals: dict[str, int] = {}
    for call in all_calls:
        if call.model:
            totals[call.model] = totals.get(call.model, 0) + tokens_in(call.usage)
    return min(totals, key=lambda name: (-totals[name], name)) if totals else None


_TOGETHER = (
    ("input_tokens",),
    ("output_tokens",),
    ("cache_read_tokens",),
    ("cache_write_5m_tokens", "cache_write_1h_tokens"),  # a total may lack the lifetime of a cache write
    ("reasoning_tokens",),
)
_WITH_REASONING = (*(kinds for kinds in _TOGETHER if "output" not in kinds[0]), ("output_tokens", "reasoning_tokens"))
"""Of a total that does not say how much of its output is reasoning."""


def itemized(calls: Sequence[Call], totals: Sequence[Call]) -> tuple[Call, ...] | None:
    """The calls, and a summed row for what each model's stated total has beyond them; None when they exceed it.

    A total that names no model is of all of them.

    >>> seen = [Call(id="a", model="m", usage=Usage(input_tokens=3, output_tokens=1))]
    >>> rows = itemized(seen, [Call(model="m", usage=Usage(input_tokens=3, output_tokens=9), summed=True)])
    >>> [(row.id, row.usage.output_tokens) for row in rows]
    [('a', 1), (None, 8)]
    """
    if any(total.model is None for total in totals):
        whole = add_usage(total.usage for total in totals)
        totals = [Call(model=busiest_model(calls), usage=whole, summed=True)]
        by_model = {_plain(totals[0].model): list(calls)}
    else:
        by_model = {}
        for call in calls:
            by_model.setdefault(_plain(call.model), []).append(call)
    rows = list(calls)
    names = {_plain(total.model) for total in totals}
    if not by_model.keys() <= names:
        return None
    for name in sorted(names):
        stated = [total for total in totals if _plain(total.model) == name]
        parts = add_usage(call.usage for call in by_model.get(name, ()))
        rest = _beyond(add_usage(total.usage for total in stated) or Usage(), parts or Usage())
        if rest is None:
            return None
        if tokens_in(rest):
            rows.append(Call(model=stated[0].model, usage=rest, summed=True))
    return tuple(rows)


def _plain(model: str | None) -> str:
    """A model's name without its provider, and without the window that Claude Code writes behind it (`[1m]`)."""
    return (model_group(model) or "").partition("[")[0]


def _beyond(total: Usage, parts: Usage) -> Usage | None:
    rest: dict[str, int] = {}
    together = _TOGETHER if total.reasoning_tokens is not None else _WITH_REASONING
    for kinds in together:
        stated = [count for kind in kinds if (count := getattr(total, kind)) is not None]
        more = sum(stated) - sum(getattr(parts, kind) or 0 for kind in kinds)
        if stated and more < 0:
            return None
        if stated:
            rest[kinds[0]] = more
    return Usage(**rest)


def tokens_in(usage: Usage | None) -> int:
    """All known tokens together."""
    return 0 if usage is None else usage.total or 0


def run_from(
    *,
    format: str,  # noqa: A002 # the word that Origin has for it
    path: str,
    how: Mapping[str, Provenance | None] | None = None,
    **fields: Any,
) -> Run:  # Any: the values of a Run's fields, checked here
    """A Run whose every value is checked, with its origin and how each number came; empty fields are left out.

    An empty list of files is kept: the agent created none. Any other empty list means that the log has no such data.
    """
    values = {
        name: value
        for name, value in fields.items()
        if value is not None and (value or type(value) is not tuple or name == "files_created")
    }
    extra = values.pop("extra", None)
    if extra:
        values |= {f"x_{name}": value for name, value in extra.items() if value is not None}
    if how:
        provenance = {name: word for name in sorted(how) if (word := how[name]) is not None}
        if provenance:
            values["provenance"] = provenance
    values["source"] = Origin(format=format, path=path)
    _check_counts(values.get("usage"), [call.usage for call in values.get("calls") or () if call.usage is not None])
    return convert_run(values)


def conditions_from(**stated: Any) -> Conditions | None:  # Any: what a log has where a condition should be
    """The conditions that a log states, None where it states none; what is no condition is left out."""
    known: dict[str, Any] = {}
    for name, value in stated.items():
        if name == "settings":
            scalars = {key: each for key, each in (value or {}).items() if isinstance(each, (str, int, float))}
            known[name] = scalars or None
        elif name in _NAMED_CONDITIONS:
            known[name] = label(value)
        else:
            known[name] = each if (each := number(value)) is not None and 0 < each <= MAX_VALUE else None
    known = {name: value for name, value in known.items() if value is not None}
    return Conditions(**known) if known else None


_NAMED_CONDITIONS = ("network", "harness", "harness_version", "agent_version", "endpoint")


def _check_counts(usage: Usage | None, calls: Sequence[Usage]) -> None:
    """Reject impossible counts of a call, of all calls together and of the run, such as negative ones."""
    everything = map(astuple, calls if usage is None else (usage, *calls))
    if sum(filter(None, chain.from_iterable(everything))) <= MAX_VALUE:
        return  # so each of them is less, as it is in every log but a forged one
    stated = [] if usage is None else [*kinds_of(usage), usage.total_tokens]
    stated += [call.total_tokens for call in calls]
    stated.append(sum(filter(None, chain.from_iterable(map(kinds_of, calls)))))
    if max(filter(None, stated), default=0) > MAX_VALUE:
        raise DecodeError(f"the total of its calls exceeds {MAX_VALUE:,} tokens")


def span_of(times: Iterable[Any]) -> tuple[datetime | None, datetime | None]:  # Any: times as a log writes them
    """Return the first and the last of the times; no last one where they are the same."""
    first, last = first_and_last(times)
    return first, last if last != first else None


def folder_name(path: str | None) -> str | None:
    """Return the name of a folder on any system, as the name of an experiment."""
    return label(path.replace("\\", "/").rstrip("/").rpartition("/")[2]) if path else None


def outcome_of(passed: bool | None, *, errored: bool = False) -> Outcome:  # the verdict itself
    """Return the outcome of a run with this verdict; `errored` matters only where there is none."""
    if passed is None:
        return "errored" if errored else "not_scored"
    return "passed" if passed else "failed"


def all_records(path: Path, decoder: msgspec.json.Decoder[T]) -> Generator[Rejected | Finding, None, list[T]]:
    """Return the records of all lines, and yield what was rejected; for files whose run is known only at the end."""
    found: list[T] = []
    for item in records(path, decoder):
        if isinstance(item, tuple):
            found.append(item[1])
        else:
            yield item
    return found


def stated_cost(cost: float | None, usage: Usage | None) -> tuple[float | None, Provenance]:
    """The cost a tool states; 0 for a run that used tokens means that the tool had no price, so it is unknown."""
    if cost is None or (cost == 0 and tokens_in(usage) > 0):
        return None, "unknown"
    return cost, "reported"


MAX_MESSAGE = 500
"""Characters of a message that are kept."""
_STATUS = "401|403|429|5[0-9][0-9]"
_INFRASTRUCTURE = (
    rf"(?i)(?:status|error|http|code|exception)[^a-z0-9\n]{{0,4}}(?:code|/[0-9.]+)?[^a-z0-9\n]{{0,4}}(?:{_STATUS})\b"
    rf"|^\W*(?:{_STATUS})\b"
    rf"|\b(?:{_STATUS})\W{{1,3}}(?:unauthorized|forbidden|too many|internal|bad gateway|service|gateway|overloaded)"
    r"|(?:authentication|permissiondenied|ratelimit|internalserver|serviceunavailable|apiconnection|apitimeout)_?error"
    r"|\boverloaded(?:_error)?\b|connection error|fetch failed|econnrefused|econnreset|enotfound"
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
    >>> failure_of("API Error: Overloaded").cause
    'infrastructure'
    >>> failure_of("read 500 files").cause
    'unknown'
    """
    message = error_text(trouble)
    stated = _stated_status(trouble) if status is None else status
    ours = re.fullmatch(_STATUS, str(stated)) or (message and re.search(_INFRASTRUCTURE, message))
    return Failure(cause="infrastructure" if ours else otherwise, message=message)


def error_text(trouble: Any) -> str | None:  # Any: an error as a provider or a tool writes it
    """Return an error's name and message as text."""
    if isinstance(trouble, dict):
        inner = next((value for key in ("data", "error") if isinstance(value := trouble.get(key), dict)), {})
        name = next((value for key in ("name", "type") if isinstance(value := trouble.get(key), str)), None)
        message = trouble.get("message") or inner.get("message")
        return ": ".join(part[:MAX_MESSAGE] for part in (name, message) if isinstance(part, str) and part) or None
    return str(trouble).strip()[:MAX_MESSAGE] or None if trouble is not None else None


def _stated_status(trouble: Any) -> Any:  # Any: as above, and a number or text
    places = [trouble, *(trouble.get(key) for key in ("data", "error"))] if isinstance(trouble, dict) else []
    keys = ("statusCode", "status_code", "status", "code")
    return next((place[key] for place in places if isinstance(place, dict) for key in keys if key in place), None)
