"""Parts that several questions about an arena share."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, TypeVar

from steelyard.errors import UnreadableFileError
from steelyard.figures import Axis
from steelyard.pages import Column
from steelyard.questions._answer import Answer
from steelyard.questions._question import Options, doc
from steelyard.records import Finding, Rejected
from steelyard.settings import shown_path

Record = TypeVar("Record")


class ArenaAnswer(Answer, frozen=True, kw_only=True):
    """Base of answers about an arena, which contain names and texts from several people."""

    is_shared: ClassVar[bool] = True


class BlindedOptions(Options):
    """Whether names that are hidden from reviewers are shown."""

    unblind: bool = doc("Show the names hidden by blinding.", default=False, local=True)


def score_axis(title: str = "Overall score") -> Axis:
    """Return the axis of scores."""
    return Axis(title=f"{title}, higher is better", low=0, high=100)


def score_column(name: str, title: str, values: Sequence[float | None]) -> Column:
    """Return a column of scores, which have two decimals."""
    return Column(name=name, title=title, values=values, decimals=2)


def spared(column: Column, spare: int = 1) -> Column:
    """Return the column as one that a narrow terminal may drop; the largest number goes first."""
    return replace(column, spare=spare)


def time_from(text: str) -> datetime:
    """Return a time of an answer as a datetime."""
    return datetime.fromisoformat(text).astimezone(UTC)


def weights_text(weights: Mapping[str, float]) -> str:
    """Return the weights of the scores, each with its name."""
    return ", ".join(f"{name.removesuffix('_weight')} {weight:g}" for name, weight in weights.items())


def who(agent: str | None, model: str | None) -> str:
    """Return whose submission it is, in parentheses, to follow its id."""
    names = " / ".join(name for name in (agent, model) if name)
    return f" ({names})" if names else ""


def login_name() -> str | None:
    """Return the login name, or None if the system does not know it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None


def or_rejected(path: Path, items: Iterator[Record | Rejected]) -> Iterator[Record | Rejected]:
    """Yield the items; an unreadable file becomes one rejection."""
    try:
        yield from items
    except UnreadableFileError as error:
        yield Rejected(path=str(shown_path(path)), reason=error.message, hint=error.hint, code="unreadable_file")


def no_records(what: str, path: Path) -> Finding:
    """Return the finding for a file or directory without records."""
    kind = "directory" if path.is_dir() else "file"
    return Finding(code="no_records", message=f"the {kind} contains no {what}", where=str(shown_path(path)))
