"""Every setting that comes from the environment, what stands where none is named, and what a path may be."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from steelyard.errors import UsageError

METRICS_PATH = "STEELYARD_METRICS"
"""Folders (separated as in PATH) whose Python files declare metrics of the user's own."""
FORMATS_PATH = "STEELYARD_FORMATS"
"""Folders (separated as in PATH) whose Python files each declare a format of the user's own."""
CACHE_FOLDER = "STEELYARD_CACHE"
"""Where answers that can be worked out again are kept, by default the user's cache folder; empty keeps none."""

DEFAULT_STORE = "sqlite:///steelyard.db"
"""Where an arena and canons are kept unless another store is named."""

STDIN = "-"
"""The path that stands for what is piped in."""
PIPED = "stdin"
"""How messages name it."""


def is_stdin(path: Path) -> bool:
    """Whether the path stands for what is piped in."""
    return str(path) == STDIN


def shown_path(path: Path) -> Path:
    """The path as messages name it."""
    return Path(PIPED) if is_stdin(path) else path


def named_path(given: str | PathLike[str]) -> Path:
    """The path that a user named; an empty text is refused, of which `Path` would make the current folder."""
    if not fspath(given):
        raise UsageError("an empty text names no file or folder", hint=". is the current folder")
    return Path(given)
