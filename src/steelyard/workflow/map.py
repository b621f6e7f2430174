"""Map: a mapping proposed for files of no known format, for the user to check and correct."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from steelyard.errors import UnreadableFileError, UsageError
from steelyard.files import Budget, piped
from steelyard.formats import GIVEN_FRAME, frame_cells, is_frame
from steelyard.mappings import Proposal, propose
from steelyard.records import Rejected
from steelyard.scratch import scratch_folder
from steelyard.settings import PIPED, is_stdin, named_path
from steelyard.workflow._opening_runs import PathInput


def map(files: PathInput | Sequence[PathInput]) -> Proposal:  # noqa: A001 # the user's word for it
    r"""A mapping for the first file or for a data frame, and what it reads of each; nothing is applied.

    Its `text` is what the command prints: save it, correct it, and read with `map="mapping.toml"`.

    >>> import pathlib, tempfile
    >>> import steelyard as sy
    >>> file = pathlib.Path(tempfile.mkdtemp(), "results.csv")
    >>> _ = file.write_text("Ticket,Worked?,Minutes\nBUG-1,yes,3\nBUG-2,no,5\n")
    >>> sy.map(file)
    Proposal('results': 2 runs read, 0 rows rejected)
    """
    if is_frame(files):
        with scratch_folder() as scratch:
            return propose([_written(files, scratch / f"{GIVEN_FRAME}.csv")])
    paths = [files] if isinstance(files, (str, PathLike)) else files
    if not paths:
        raise UsageError("there is no file to propose a mapping for", hint="steelyard map FILE")
    with scratch_folder() as scratch:
        return propose([_file(named_path(path), scratch) for path in paths])


def _written(frame: object, path: Path) -> Path:
    """The frame as a file: its headers and texts are understood as those of a table are."""
    cells = frame_cells(frame)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(cells)
        rows.writerows(zip(*cells.values(), strict=True))
    return path


def _file(path: Path, scratch: Path) -> Path:
    if is_stdin(path):
        kept = piped(scratch / PIPED, Budget())
        if isinstance(kept, Rejected):
            raise UnreadableFileError(PIPED, kept.reason, hint=kept.hint)
        return kept.path
    if path.is_dir():
        raise UnreadableFileError(str(path), "it is a folder", hint="name one of its files")
    if not path.is_file():
        raise UnreadableFileError(str(path), "there is no such file", hint="check the path for a typo")
    return path
