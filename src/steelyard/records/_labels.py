"""Labels that a user puts on runs with `--set`, for data that is only in a path or missing.

A label is what a run belongs to, not which run it is: ids and duplicates depend on the files' own content.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import UnknownNameError, UsageError
from steelyard.option_names import option
from steelyard.records._custom_fields import custom_value
from steelyard.records._findings import FilePlaces, Finding, Rejected
from steelyard.records._run import Run
from steelyard.records._run_choice import Selection, each_pair, key_named
from steelyard.records._run_decoder import DecodeError, convert_run
from steelyard.settings import GIVEN_RECORDS, PIPED
from steelyard.suggestions import nearest

LABELS = ("experiment", "task", "agent", "model", "tier", "tier_scheme", "attempt")
"""The fields that can be set, besides the user's own `x_` keys: none of them is a measurement."""
OPTION = option("set")
_PART = re.compile(r"\{([^{}]*)\}")
_FOLDER = re.compile(r"folder\[(\d{1,3})\]")
_PARTS = ("folder", "folder[1]", "file", "stem")
_ALWAYS_STATED = ("task", "tier_scheme")
"""Fields that every run has; setting one replaces it without a finding."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Texts to set in every run, by key; `{folder}` and the like are replaced by parts of the run's path."""

    texts: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.texts)

    def values(self, path: str) -> dict[str, Any]:  # Any: values of a record's fields
        """Return the fields of a run that was read from the path; raise DecodeError if the path lacks a part."""
        values: dict[str, Any] = {key: _PART.sub(partial(_part_of, path, key), text) for key, text in self.texts}
        own = {key: custom_value(values.pop(key)) for key in tuple(values) if key.startswith("x_")}
        if "attempt" in values:
            values["attempt"] = _whole(values["attempt"], path)
        try:
            checked = convert_run({"task": "any", **values, **own})
        except DecodeError as error:
            raise DecodeError(f"label: {error.reason}", error.hint) from error
        labels = {key: getattr(checked, key) for key in values}
        return labels | ({"extra": checked.extra} if own else {})

    def key(self, path: str) -> str:
        """Return the labels of the path as one text: files that differ in it are never one another's copy."""
        if not self.texts:
            return ""
        try:
            return repr(sorted(self.values(path).items()))
        except DecodeError:
            return ""


NO_LABELS = Labels()


def labels_of(given: Selection | Sequence[Selection]) -> Labels:
    """`model=X,experiment={folder}`, several of them, or mappings; every key and part of a path is known.

    >>> labels_of("experiment={folder}, agent=codex").texts
    (('experiment', '{folder}'), ('agent', 'codex'))
    """
    texts: dict[str, str] = {}
    for pair in each_pair(given, option=OPTION):
        if not pair.equal:
            raise UsageError(
                f"{OPTION} {pair.key}!={pair.value} is not an assignment", hint=option("set", f"{pair.key}=VALUE")
            )
        key = key_named(pair.key, known=LABELS, what="label", where=OPTION)
        if key != pair.key and (pair.key in Run.__struct_encode_fields__ or nearest(pair.key, LABELS)):
            raise UnknownNameError("label", pair.key, (*LABELS, "x_..."), where=OPTION)
        if key in texts:
            raise UsageError(f"{OPTION}: duplicate key {pair.key!r}")
        for name in _PART.findall(pair.value):
            if name not in _PARTS and not _FOLDER.fullmatch(name):
                raise UnknownNameError("path variable", name, _PARTS, where=option("set", f"{pair.key}={pair.value}"))
        texts[key] = pair.value
    return Labels(tuple(texts.items()))


def _part_of(path: str, key: str, match: re.Match[str]) -> str:
    """The part of the path; an archive counts as a folder."""
    name = match[1]
    whole = Path(path.replace("!/", "/")).absolute()
    parts = {"file": whole.name, "stem": whole.stem, "folder": whole.parent.name}
    parts |= {f"folder[{above}]": folder.name for above, folder in enumerate(whole.parents)}
    part = "" if path in (PIPED, GIVEN_RECORDS) else parts.get(name)
    if part:
        return part
    raise DecodeError(f"label {key}: no {{{name}}} in {path}", f"set {key} to a fixed value")


def _whole(text: str, path: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise DecodeError(f"label attempt: {text[:200]!r} is not an integer ({path})", "use 1, 2, 3, ...")
    return int(text[:20])


def _stated(run: Run, key: str) -> object:
    return (run.extra or {}).get(key) if key.startswith("x_") else getattr(run, key)


class Labeler:
    """Labels for a stream of runs, with findings at the end about replaced values."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self._values: dict[str, dict[str, Any] | DecodeError] = {}  # Any: values of a record's fields
        self._replaced = FilePlaces()

    def values(self, path: str) -> dict[str, Any]:  # Any: as above
        """Return the labels of the path's runs, each path looked at once; raise DecodeError if one is missing."""
        if path not in self._values:
            try:
                self._values[path] = self.labels.values(path)
            except DecodeError as error:
                self._values[path] = error
        values = self._values[path]
        if isinstance(values, DecodeError):
            raise values
        return values

    def label(self, run: Run, path: str, line: int | None) -> Run | Rejected:
        """The run with its labels; rejected where they do not fit it."""
        if not self.labels:
            return run
        try:
            values = dict(self.values(path))
            if "extra" in values:
                values["extra"] = {**(run.extra or {}), **values["extra"]}
            labeled = msgspec.structs.replace(run, **values)
        except DecodeError as error:
            return Rejected(path=path, line=line, reason=error.reason, hint=error.hint)
        except ValueError as error:  # a tier that the run's own scheme does not have
            return Rejected(path=path, line=line, reason=f"label: {error}")
        for key, _ in self.labels.texts:
            before, now = _stated(run, key), _stated(labeled, key)
            if before not in (None, now) and key not in _ALWAYS_STATED:
                self._replaced.add(path, line, f"the label replaces {key} {str(before)[:80]!r} with {str(now)[:80]!r}")
        return labeled

    def findings(self) -> list[Finding]:
        """Which runs stated another value than the one that was set."""
        if not self._replaced:
            return []
        places = self._replaced.on_demand()
        message = places[0].message or ""
        return [Finding(code="label_replaced", severity="info", message=message, places=places)]
