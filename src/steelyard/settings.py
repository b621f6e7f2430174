"""Settings from the environment with their defaults, and special paths."""

from __future__ import annotations

import os
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple

from steelyard.errors import InputLimitError, UsageError

METRICS_PATH = "STEELYARD_METRICS"
"""Folders (separated as in PATH) whose Python files declare metrics of the user's own."""
FORMATS_PATH = "STEELYARD_FORMATS"
"""Folders (separated as in PATH) whose Python files each declare a format of the user's own."""

FIGURE_ENDINGS = (".svg", ".png")
"""Extensions of files with a figure; to know them, a command need not load what draws."""

TOKEN = "STEELYARD_TOKEN"  # noqa: S105 - the variable's name
"""The token that `sy.connect` sends unless one is given."""

MEMORY_LIMIT = "STEELYARD_MEMORY_LIMIT"
"""The memory that DuckDB may use before it spills, such as 4GB; by default half of what is free."""
SPILL_FOLDER = "STEELYARD_SPILL_FOLDER"
"""The folder that engines write facts and spilled rows to; by default that for temporary files."""


class Limit(NamedTuple):
    """Limit on the size of an input; larger inputs are rejected with the same sentence everywhere."""

    excess: str
    """Message about such an input."""
    default: int
    setting: str = ""
    """The environment variable that sets another number; empty where no larger one would be safe."""

    @property
    def most(self) -> int:
        """The number that holds."""
        given = os.environ.get(self.setting, "") if self.setting else ""
        if not given:
            return self.default
        if not given.isdecimal() or len(given) > 18:
            raise UsageError(f"{self.setting} must be an integer (got {given[:40]!r})")
        return int(given)

    @property
    def reason(self) -> str:
        """The sentence."""
        return self.excess.format(self.most)

    @property
    def hint(self) -> str | None:
        """What to do about it."""
        return f"if you trust the input, set {self.setting} to a larger number" if self.setting else None

    def passed(self, where: str) -> InputLimitError:
        """The error that names the input."""
        return InputLimitError(where, self.reason, hint=self.hint)


INPUT_BYTES = Limit("the input is larger than {:,} bytes", 8 << 30, "STEELYARD_MAX_INPUT_BYTES")
"""Bytes that are decompressed from one input, archives within archives included, or piped in."""
INPUT_ENTRIES = Limit("the input contains more than {:,} files and directories", 200_000, "STEELYARD_MAX_INPUT_ENTRIES")
"""Entries of all archives of one input, and the folders that they make."""
MAX_ARCHIVE_DEPTH = Limit("nested in more than {} archives", 2, "STEELYARD_MAX_ARCHIVE_DEPTH")
MAX_DIRECTORY_DEPTH = Limit("more than {} directory levels", 100)
"""What removes a tree goes down it step by step, and Python's steps are bounded."""
EXPANSION = Limit("the archive expands to more than {} times its size", 100, "STEELYARD_MAX_EXPANSION")
"""Bytes out for each byte in, once `FREE_BYTES` are out: logs compress 5 to 30 times, bombs 1,000 times."""
FREE_BYTES = 16 << 20
XML_TOKEN_BYTES = Limit("a tag or comment is longer than {:,} bytes", 4 << 20)
"""What the parser of XML looks through from its start each time that more of it comes."""
MAX_NESTING = 200
"""How deeply tables of TOML and elements of XML may be nested, whatever the interpreter could follow."""
FILE_BYTES = Limit("the file is larger than {:,} bytes", 1 << 30, "STEELYARD_MAX_FILE_BYTES")
"""A document that is read whole: a log, a report, timings, a list of tasks or submissions."""
TEXT_BYTES = FILE_BYTES._replace(default=16 << 20, setting="STEELYARD_MAX_TEXT_BYTES")
"""A text that people or models write: a profile, a contract, targets, a price table, an answer."""
LINE_BYTES = Limit("the line is longer than {:,} bytes", 64 << 20, "STEELYARD_MAX_LINE_BYTES")
"""A line of JSON, a row of a table, a value in another tool's store."""


class ShortLines(NamedTuple):
    """Limit on the number of lines, unless they are long: an empty object takes 3 bytes of a file, 1,300 of memory."""

    limit: Limit
    min_bytes: int
    """Average length from which on there is no limit."""

    def check(self, where: str, *, lines: int, size: int) -> None:
        """Reject a file of too many short lines."""
        if size < lines * self.min_bytes and lines > self.limit.most:
            raise self.limit.passed(where)


SHORT_EVENTS = ShortLines(
    Limit("more than {:,} lines, of fewer than 32 bytes on average", 100_000, "STEELYARD_MAX_SHORT_LINES"), 32
)
"""Of a log, whose lines are events."""
SHORT_ROWS = ShortLines(
    Limit("more than {:,} rows, of fewer than 20 bytes on average", 150_000, "STEELYARD_MAX_SHORT_ROWS"), 20
)
"""Of a table, whose lines are records."""
BENCHMARKS = Limit("the file contains more than {:,} benchmarks", 50_000, "STEELYARD_MAX_BENCHMARKS")
"""Benchmarks of one side, each with its place, interval and levels."""
GROUP_VALUES = Limit("more than {:,} values of groups", 100_000, "STEELYARD_MAX_GROUP_VALUES")
"""Values that an answer has by group: one per metric and group, each a record of up to a kilobyte."""
ARTIFACT_BYTES = Limit("the artifacts are larger than {:,} bytes", 512 << 20, "STEELYARD_MAX_ARTIFACT_BYTES")
ARTIFACT_FILES = Limit(
    "the artifacts contain more than {:,} files and directories", 20_000, "STEELYARD_MAX_ARTIFACT_FILES"
)
TASK_BYTES = Limit("the task's files are larger than {:,} bytes", 64 << 20, "STEELYARD_MAX_TASK_BYTES")
TASK_FILES = Limit("the task has more than {:,} files", 2_000, "STEELYARD_MAX_TASK_FILES")

DEFAULT_STORE = "sqlite:///steelyard.db"
"""Where an arena and canons are kept unless another store is named."""

STDIN = "-"
"""The path of standard input."""
PIPED = "stdin"
"""How messages name it."""
INPUT_KEY = "x_file"
"""The key that names the input of a run if inputs are distinguished."""
GIVEN_RECORDS = "records"
"""How messages name records that Python code hands over."""


def is_stdin(path: Path) -> bool:
    """Return whether the path is standard input."""
    return str(path) == STDIN


def shown_path(path: Path) -> Path:
    """The path as messages name it."""
    return Path(PIPED) if is_stdin(path) else path


def is_store(text: str) -> bool:
    """Whether the text is the address of a store, not a path."""
    return text.startswith(("sqlite:", "postgresql:", "postgresql+")) and "://" in text


def named_path(given: str | PathLike[str]) -> Path:
    """Return the path that a user named; reject an empty one, which `Path` treats as the current folder."""
    if not fspath(given):
        raise UsageError("the path is empty", hint="use . for the current directory")
    if is_store(fspath(given)):
        message = "an arena store contains submissions and scores, not runs"
        raise UsageError(message, hint="use measure, matrix, compare, rank, gate or explain")
    return Path(given)
