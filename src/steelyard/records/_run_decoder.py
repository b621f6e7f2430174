"""Strict decoding of runs, and the one rule for which records are the same run.

An id is given or derived from the content. The k-th of equal records without an id is attempt k, whichever file it is
in, so splitting a file changes nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, get_args

import msgspec

from steelyard.errors import NESTED_TOO_DEEPLY
from steelyard.records._findings import FilePlaces, Finding, Place, Rejected
from steelyard.records._record_types import fields_at, find_non_finite
from steelyard.records._run import ComponentType, FailureCause, Outcome, Provenance, Run
from steelyard.records._usage import Usage
from steelyard.suggestions import nearest

JSON_ERRORS = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
"""What is raised for a text that is not JSON, or not the JSON that is expected."""
ONE_OBJECT = "each line must be one JSON object"
_DECODER = msgspec.json.Decoder(Run)
_FIELDS = frozenset(Run.__struct_encode_fields__)
_OBJECT = msgspec.json.Decoder(dict[str, Any])  # Any: JSON values
_UNKNOWN_FIELD = re.compile(r"unknown field `(?P<name>.*?)`(?: - at `(?P<path>\$.*)`)?")
_MISSING_FIELD = re.compile(r"missing required field `(?P<name>.*?)`(?: - at `(?P<path>\$.*)`)?")
_AT_PATH = re.compile(r" - at `\$\.?(?P<path>.*)`$")


_WRONG_VALUE = re.compile(r"[Ii]nvalid enum value '(?P<value>.*?)'")
_CHOICES: dict[str, tuple[str, ...]] = {
    "outcome": get_args(Outcome),
    "failure.cause": get_args(FailureCause),
    "].type": tuple(ComponentType),
    "provenance[...]": get_args(Provenance),
}
"""The closed choices of a record, by the end of their place."""


class DecodeError(ValueError):
    """A record that cannot be a Run: what is wrong and what to do. The reader adds file and line."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


FREE_CONTAINERS, BYTES_PER_CONTAINER = 200_000, 10
"""A text may have so many objects and lists, and more only if it is long: an empty one takes 3 bytes of a text, and a
hundred times that in memory."""
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def check_density(data: bytes) -> None:
    """Reject a JSON text that consists of little but objects and lists."""

    def is_dense(text: bytes) -> bool:
        count = text.count(b"{") + text.count(b"[")
        return count > FREE_CONTAINERS and count * BYTES_PER_CONTAINER > len(data)

    if len(data) > FREE_CONTAINERS and is_dense(data) and is_dense(_STRING.sub(b"", data)):
        raise msgspec.ValidationError(f"more than one object or list per {BYTES_PER_CONTAINER} bytes")


def decode_run(line: bytes) -> Run:
    """The Run in one line of JSON."""
    try:
        check_density(line)
        run = _DECODER.decode(line)
    except msgspec.ValidationError as error:
        if "unknown field" not in str(error):
            raise _explained(error) from error
        return convert_run(_plain_values(line))
    except JSON_ERRORS as error:
        raise DecodeError(json_problem(error), ONE_OBJECT) from error
    if run.extra is not None:
        raise _nameless_key()
    return run


def _plain_values(line: bytes) -> dict[str, Any]:  # Any: JSON values
    try:
        return _OBJECT.decode(line)
    except JSON_ERRORS as error:
        raise DecodeError(json_problem(error), ONE_OBJECT) from error


def convert_run(values: dict[str, Any], *, from_text: bool = False) -> Run:  # Any: JSON values
    """The Run in plain values; with `from_text`, numbers and flags may be given as text, as in CSV."""
    if "x_" in values:
        raise _nameless_key()
    known = values
    if not values.keys() <= _FIELDS:
        others = values.keys() - _FIELDS
        plain = own_fields(values) if any(key[:2] != "x_" for key in others) else {}
        own = {plain.get(key, key): values[key] for key in values if key[:2] == "x_" or key in plain}
        known = {**{key: values[key] for key in values if key[:2] != "x_" and key not in plain}, "x_": own}
    try:
        return msgspec.convert(known, Run, strict=not from_text)
    except msgspec.ValidationError as error:
        raise _explained(error) from error


_NESTED_NAMES = frozenset(Usage.__struct_fields__)
_FIGURES = frozenset({
    "passed", "outcome", "impl_rate", "cost_usd", "usage", "calls", "tests", "judgments", "benchmarks", "tool_calls",
    "duration_seconds", "output", "snapshot", "files_created", "task_counts",
})  # fmt: skip
"""Fields by which a record is surely a run: a log of events has tasks too."""
_VERDICTS = frozenset(("passed", "outcome", "tests", "judgments"))
_CALLED_VERDICT = frozenset(
    ("result", "verdict", "status", "resolved", "correct", "solved", "pass", "ok", "correctness", "won")
)
"""Names that are no custom field where nothing else is the verdict."""
_EVENT_WORDS = frozenset(
    ("event", "evt", "event_type", "type", "trace_id", "span_id", "parent_id", "session_id", "turn", "level", "message")
)
"""Names that lines of a log have."""
_OWN_NAME = re.compile(r"[^\W\d][\w.-]*")
_WORDS = frozenset(word for name in (*_FIELDS, *_NESTED_NAMES) for word in name.split("_") if len(word) > 3)


def own_fields(names: Collection[str]) -> dict[str, str]:
    """Return the names that are custom fields without their prefix, with the prefix; none if it is hardly a run.

    A name like that of a field is a mistake, and not a custom field.

    >>> own_fields(["task", "passed", "prompt", "cost", "pased"])
    {'prompt': 'x_prompt'}
    """
    given = set(names)
    is_run = "task" in given and bool((_FIGURES | _NESTED_NAMES) & given) and not _EVENT_WORDS & given
    if not is_run or (_CALLED_VERDICT & given and not _VERDICTS & given):
        return {}
    return {name: f"x_{name}" for name in names if _is_own_name(name) and f"x_{name}" not in given}


@lru_cache(maxsize=4096)
def _is_own_name(name: str) -> bool:
    plain = name.lower()
    if name in _FIELDS or name in _NESTED_NAMES or name.startswith("x_") or not _OWN_NAME.fullmatch(name):
        return False
    if "." in name or plain in _WORDS:
        return False
    most = 2 if len(plain) > 5 else 1
    return not any(
        _distance(plain, known) <= most or sorted(plain) == sorted(known) for known in (*_FIELDS, *_NESTED_NAMES)
    )


def _distance(one: str, other: str) -> int:
    """The number of edits between two short names."""
    row = list(range(len(other) + 1))
    for at, char in enumerate(one, 1):
        before, row[0] = row[0], at
        for place, known in enumerate(other, 1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (char != known))
    return row[-1]


def checked_run(given: Run | Mapping[str, Any]) -> Run:  # Any: values of a record's fields
    """The run, held to the same types and ranges as one that is read: Python itself checks neither."""
    run = given if isinstance(given, Run) else convert_run(dict(given))
    try:
        again = decode_run(encode_run(run))
    except DecodeError:
        _refuse_infinite(run)
        raise
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DecodeError(f"invalid value in the record: {error}", "see: steelyard schema run") from error
    if again != run:
        _refuse_infinite(run)
    return again


def _refuse_infinite(run: Run) -> None:
    """Reject numbers that JSON cannot hold; it would write null for them."""
    non_finite = find_non_finite(msgspec.to_builtins(run))
    if non_finite is not None:
        raise DecodeError(f"{non_finite[0]}: must be a finite number (got {non_finite[1]})", "omit unknown values")


def encode_run(run: Run) -> bytes:
    """The run as one line of JSON without a line end; `decode_run` gives the same run back."""
    if run.extra is None:
        return msgspec.json.encode(run, order="deterministic")
    values = msgspec.to_builtins(run)
    own = values.pop("x_")
    return msgspec.json.encode(values | own, order="deterministic")


def content_digest(run: Run) -> bytes:
    """Return the SHA-256 of the record's content, without its id and file."""
    bare = run if run.source is None else msgspec.structs.replace(run, source=None)
    content = msgspec.json.encode(bare, order="deterministic")
    if run.id is not None:
        # The id is the first field; cutting it off is four times cheaper than making the record again without it.
        content = b"{" + content[len(b'{"id":') + len(msgspec.json.encode(run.id)) + 1 :]
    return hashlib.sha256(content).digest()


def content_id(digest: bytes, occurrence: int) -> str:
    """The id of a record that has none. The second of two equal records is another attempt and gets another id."""
    if occurrence == 0:
        return digest.hex()
    return hashlib.sha256(digest + occurrence.to_bytes(8, "big")).hexdigest()


def _nameless_key() -> DecodeError:
    return DecodeError("key 'x_' has no name after the underscore", "write x_name")


def json_problem(error: Exception) -> str:
    """What is wrong with the JSON, as a sentence."""
    if isinstance(error, RecursionError):
        return NESTED_TOO_DEEPLY
    if isinstance(error, UnicodeDecodeError):
        return "not JSON: the text is not UTF-8"
    text = str(error).replace("`", "'")
    return f"not JSON: {text.removeprefix('JSON is malformed: ')}"


def _explained(error: msgspec.ValidationError) -> DecodeError:
    text = str(error)
    unknown = _UNKNOWN_FIELD.search(text)
    if unknown:
        return _unknown_key(unknown["name"], unknown["path"])
    absent = _MISSING_FIELD.search(text)
    if absent:
        place = f" in {absent['path'].removeprefix('$.')}" if absent["path"] else ""
        return DecodeError(f"key {absent['name']!r} is missing{place}", f"add {absent['name']!r}")
    at = _AT_PATH.search(text)
    place = f"{at['path']}: " if at and at["path"] else ""
    reason = _AT_PATH.sub("", text).replace("`", "")
    hint = _known_values(place, text) or "see: steelyard schema run"
    return DecodeError(place + reason[:1].lower() + reason[1:], hint)


def _known_values(place: str, text: str) -> str | None:
    """The nearest of the values that a closed choice allows, or all of them."""
    wrong = _WRONG_VALUE.search(text)
    choices = next((known for end, known in _CHOICES.items() if place.rstrip(": ").endswith(end)), None)
    if wrong is None or choices is None:
        return None
    close = nearest(wrong["value"], choices)
    return f"did you mean {close!r}?" if close else f"known: {', '.join(choices)}"


def _unknown_key(name: str, path: str | None) -> DecodeError:
    place = (path or "$").removeprefix("$").strip(".")
    close = nearest(name, fields_at(Run, place) - {"x_"})
    within = f" in {place}" if place else ""
    own = "custom fields start with x_" + (" and are top-level" if place else "")
    return DecodeError(f"unknown key {name!r}{within}", f"did you mean {close!r}?" if close else own)


CONTENT_BYTES = 8
"""Bytes of a digest that compare two records with the same id; more would take memory."""


class RunIds:
    """Names for a stream of records, with those that were read before.

    >>> ids = RunIds()
    >>> [ids.admit(Run(id="a", task="t"), path="f", line=line) for line in (1, 2)]
    ['a', None]
    """

    def __init__(self, labels_of: Callable[[str], str] | None = None) -> None:
        """The labels of a path, as one text, tell records apart that are equal otherwise."""
        self._labels_of = labels_of
        self._labeled: set[tuple[bytes, str]] = set()
        self._content: dict[str, bytes | Run] = {}
        """The beginning of the digest of what was read under each id, or the record itself where it is held anyway."""
        self._paths: dict[str, str] = {}
        """Where each id was read first, kept where labels tell runs apart."""
        self._nameless: dict[bytes, int] = {}
        self._repeated = FilePlaces()
        self._alike = FilePlaces()

    def admit(self, run: Run, *, path: str, line: int | None, in_memory: bool = False) -> str | Rejected | None:
        """The run's id; None when it was read before, and the refusal when its id was read with other content.

        A record that is `in_memory` anyway is looked at closely only when its id comes again.
        """
        if in_memory and run.id is not None:
            name = self._name_under_labels(run.id, path)
            if self._content.setdefault(name, run) is run:
                return name
        return self.admit_digest(run.id, content_digest(run), path=path, line=line)

    def admit_digest(self, given: str | None, digest: bytes, *, path: str, line: int | None) -> str | Rejected | None:
        """The same for a record of which the id, if it has one, and the digest are known.

        Of a record with an id the first bytes of its digest are enough.
        """
        id_, again = (self._name_under_labels(given, path), 0) if given is not None else self._next_name(digest)
        content = digest[:CONTENT_BYTES]
        before = self._content.setdefault(id_, content)
        if before is content:
            if given is None and self._is_alike(digest, path, again):
                self._alike.add(path, line, f"attempt {again + 1}")
            return id_
        if content == (content_digest(before)[:CONTENT_BYTES] if isinstance(before, Run) else before):
            self._repeated.add(path, line, id_)
            return None
        return Rejected(
            path=path,
            line=line,
            reason=f"id {id_!r} is already used by a different run",
            hint="use a unique id per run",
            code="id_conflict",
        )

    def _is_alike(self, digest: bytes, path: str, again: int) -> bool:
        """Whether an equal record with the same labels was read before."""
        if self._labels_of is None:
            return again > 0
        key = digest, self._labels_of(path)
        is_known = key in self._labeled
        self._labeled.add(key)
        return is_known

    def _name_under_labels(self, given: str, path: str) -> str:
        """The id, with a number if a run with other labels has the same: that is one of another submission."""
        if self._labels_of is None:
            return given
        labels = self._labels_of(path)
        names = (given if number == 1 else f"{given}#{number}" for number in count(1))
        return next(name for name in names if self._labels_of(self._paths.setdefault(name, path)) == labels)

    def _next_name(self, digest: bytes) -> tuple[str, int]:
        """The name of a record without one: the second of two equal records is another attempt."""
        occurrence = self._nameless.get(digest, 0)
        self._nameless[digest] = occurrence + 1
        return content_id(digest, occurrence), occurrence

    def findings(self) -> list[Finding]:
        """Which records were counted once, and which equal ones each for itself."""
        findings = []
        if self._repeated:
            findings.append(repeated_finding(self._repeated.on_demand()))
        if self._alike:
            message = "records without an id have the same content; each is treated as a separate attempt"
            findings.append(Finding(code="alike", severity="info", message=message, places=self._alike.on_demand()))
        return findings


def repeated_finding(places: Sequence[Place]) -> Finding:
    """Return the findings about runs in more than one place; the places are those that add no run."""
    message = "duplicate run (same id); included once"
    return Finding(code="repeated", severity="info", message=message, places=places)
