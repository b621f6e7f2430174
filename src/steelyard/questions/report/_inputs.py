"""Inputs of a report, each with a digest of its content."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from steelyard.errors import UnreadableFileError
from steelyard.files import file_chunks
from steelyard.formats import PlacedRun
from steelyard.questions.report._answer import ReportInput
from steelyard.records import encode_run
from steelyard.settings import shown_path


def described_inputs(given: Sequence[Path | PlacedRun]) -> tuple[ReportInput, ...]:
    """Each path with its digest, and all records together."""
    described = [
        ReportInput(name=str(shown_path(path)), sha256=_path_digest(path)) for path in given if isinstance(path, Path)
    ]
    records = [each for each in given if not isinstance(each, Path)]
    if records:
        digest = hashlib.sha256(b"".join(encode_run(each.run) + b"\n" for each in records))
        described.append(ReportInput(name=f"{len(records):,} records", sha256=digest.hexdigest()))
    return tuple(described)


def _path_digest(path: Path) -> str | None:
    """Of a file's bytes; of a folder's files with their names, in the order of names."""
    try:
        if path.is_file():
            return _file_digest(path)
        if not path.is_dir():
            return None
        whole = hashlib.sha256()
        for file in sorted(each for each in path.rglob("*") if each.is_file()):
            whole.update(f"{_file_digest(file)}  {file.relative_to(path).as_posix()}\n".encode("utf-8", "replace"))
        return whole.hexdigest()
    except (OSError, UnreadableFileError):
        return None  # the reader reports the error


def _file_digest(path: Path) -> str:
    digest = hashlib.sha256()
    for chunk in file_chunks(path):
        digest.update(chunk)
    return digest.hexdigest()
