"""Suggest a mapping for files of an unknown format, for the user to check and correct."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from steelyard.errors import UnreadableFileError, UsageError
from steelyard.files import Budget, piped
from steelyard.questions._run_input import PathInput
from steelyard.records import Rejected
from steelyard.scratch import scratch_folder
from steelyard.settings import PIPED, is_stdin, named_path
from steelyard.sources import GIVEN_FRAME, SuggestedMapping, frame_cells, is_frame, suggest


def suggest_mapping(files: PathInput | Sequence[PathInput]) -> SuggestedMapping:
    r"""Suggest a mapping for the first file, directory or workbook or for a data frame, and count the runs it reads.

    `questions` lists what the data does not decide, and `first` shows the first runs as the mapping reads them.
    Its `text` is the output of the command. Save it, correct it, and read the files with `map="mapping.toml"`.

    >>> import pathlib, tempfile
    >>> import steelyard as sy
    >>> file = pathlib.Path(tempfile.mkdtemp(), "results.csv")
    >>> _ = file.write_text("Ticket,Worked?,Minutes\nBUG-1,yes,3\nBUG-2,no,5\n")
    >>> sy.suggest_mapping(file)
    SuggestedMapping('results': 2 runs read, 0 rows rejected)
    """
    if is_frame(files):
        with scratch_folder() as scratch:
            return suggest([_written(files, scratch / f"{GIVEN_FRAME}.csv")])
    paths = [files] if isinstance(files, (str, PathLike)) else files
    if not paths:
        raise UsageError("no file given", hint="steelyard mapping suggest FILE")
    with scratch_folder() as scratch:
        return suggest([_file(named_path(path), scratch) for path in paths])


def _written(frame: object, path: Path) -> Path:
    """Write the frame as CSV, so that its headers and values are parsed like those of a table."""
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
    if not path.exists():
        raise UnreadableFileError(str(path), "no such file or directory", hint="check the path for a typo")
    return path
