"""Extraction of untrusted archives, with limits on entries, ratio, size and depth, and never outside its folder."""

from __future__ import annotations

import io
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
from threading import Event
from typing import IO, Self

from steelyard import files
from steelyard.errors import AbortedError, InputLimitError, SteelyardError, UnreadableFileError, error_message
from steelyard.files._decompression import (
    CHUNK,
    Budget,
    TruncatedStreamError,
    archive_kind,
    decompressed_chunks,
    zst_chunks,
)
from steelyard.files._found_files import packing
from steelyard.files._yaml_documents import yaml_as_json
from steelyard.records import Rejected
from steelyard.settings import FILE_BYTES, INPUT_ENTRIES, MAX_DIRECTORY_DEPTH

ENCRYPTED = 0x1
"""The bit of an entry's flags that marks it."""
MAX_CARRIER_BYTES = 1 << 20
_CARRIERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
ZSTANDARD = 93
"""The number of this packing in zips; Inspect packs its logs so, and Python before 3.14 does not know it."""


class Extraction:
    """One archive as it is decompressed: what came out of it so far, on the budget of the input that it came with."""

    def __init__(self, shown: str, budget: Budget, *, stop: Event | None, counted: int, keeps_empty: bool) -> None:
        self.shown = shown
        self.keeps_empty = keeps_empty
        self._budget = budget
        self._stop = stop
        self._counted_bytes, self._counted_entries = counted, int(counted > 0)
        self._folders: set[PurePosixPath] = set()

    def entry(self, name: str) -> PurePosixPath:
        """One more entry; its safe relative path."""
        self.take(entries=1)
        place = PurePosixPath(name.replace("\\", "/"))
        leads_out = place.is_absolute() or ".." in place.parts or PureWindowsPath(name).drive
        if leads_out or "\0" in name:
            raise self.rejection(f"entry {name[:200]!r} points outside the archive")
        if len(place.parts) > MAX_DIRECTORY_DEPTH.most:
            raise MAX_DIRECTORY_DEPTH.passed(self.shown)
        return place

    def fresh_folders(self, place: PurePosixPath) -> bool:
        """Whether the entry needs folders that no earlier one did. They count: a name of many costs no bytes."""
        if place.parent in self._folders:
            return False
        fresh = [parent for parent in place.parents[:-1] if parent not in self._folders]
        self._folders.update(fresh)
        self.take(entries=len(fresh))
        return bool(fresh)

    def expects(self, *, size: int, entries: int = 0) -> None:
        """Reject before extraction an archive whose own headers exceed the budget."""
        more_bytes, more_entries = max(0, size - self._counted_bytes), max(0, entries - self._counted_entries)
        self._budget.expect(self.shown, size=more_bytes, entries=more_entries)

    def take(self, *, size: int = 0, entries: int = 0) -> None:
        """Bytes or entries that came out."""
        if self._stop is not None and self._stop.is_set():
            raise AbortedError("extraction was canceled")
        bytes_before, entries_before = min(size, self._counted_bytes), min(entries, self._counted_entries)
        self._counted_bytes -= bytes_before
        self._counted_entries -= entries_before
        self._budget.take(self.shown, size=size - bytes_before, entries=entries - entries_before)

    def rejection(self, reason: str) -> UnreadableFileError:
        """Return the error that names the archive."""
        return UnreadableFileError(
            self.shown, f"archive rejected: {reason}", hint="if you trust the archive, extract it yourself"
        )


def extract(
    path: Path,
    shown: str,
    into: Path,
    *,
    budget: Budget,
    stop: Event | None = None,
    counted: int = 0,
    keep_empty: bool = True,
) -> Rejected | None:
    """Write the archive's content under `into`, a new folder; reject the whole when a bound is passed.

    `shown` is how the archive is named to the user. `counted` is what the budget was charged for an archive that came
    out of another one: what it holds takes its place and counts from there on. To make an empty file costs as much as
    a small one: `keep_empty` is whether they matter. Of a truncated archive, what comes before the break is
    written and the place of the break given back. `stop`, once set, ends the work (AbortedError).
    """
    extraction = Extraction(shown, budget, stop=stop, counted=counted, keeps_empty=keep_empty)
    extractors: dict[str, Callable[[Path, Path, Extraction], Rejected | None]] = {
        "zip": _zip,
        "tar": _tar,
        "yaml": _yaml,
    }
    try:
        into.mkdir(parents=True, exist_ok=True)
        with _Unreadable(shown, "archive is corrupt or unsupported"):
            return extractors.get(str(packing(path)), _stream)(path, into, extraction)
    except SteelyardError:
        shutil.rmtree(into, ignore_errors=True)  # nothing is kept of a rejected archive
        raise


class _Unreadable:
    """An error that names the file: broken bytes lead the libraries to raise anything, MemoryError too.

    A log has thousands of entries; as a generator it would take longer than to look an entry up.
    """

    __slots__ = ("_reason", "_shown")

    def __init__(self, shown: str, reason: str) -> None:
        self._shown, self._reason = shown, reason

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, SteelyardError):
            raise UnreadableFileError(self._shown, f"{self._reason}: {error_message(error)}") from error


class ZipLog:
    """A log that is a zip, read entry by entry without being decompressed on the disk; all entries share one budget."""

    def __init__(self, path: Path) -> None:
        self._archive = _open_zip(path)
        self._shown = str(path)
        self._budget = Budget().for_compressed(path.stat().st_size)
        self._most = FILE_BYTES.most

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._archive.close()

    @cached_property
    def names(self) -> list[str]:
        """The entries' names, sorted."""
        return sorted(set(self._archive.namelist()))

    def read(self, name: str) -> bytes:
        """Return one entry's bytes; reject more than the limit or its header's size, by which archives are counted."""
        shown = f"{self._shown}!/{name}"
        info = self._archive.getinfo(name)
        chunks: list[bytes] = []
        size = 0
        with _Unreadable(shown, "entry cannot be decompressed"):
            for chunk in _entry(self._archive, info, shown):
                chunks.append(chunk)
                size += len(chunk)
                self._budget.take(shown, size=len(chunk))
                if size > self._most:
                    raise FILE_BYTES.passed(shown)
                if size > info.file_size:
                    raise zipfile.BadZipFile(f"the size exceeds the stated {info.file_size:,} bytes")
        return b"".join(chunks)


def stated_bytes(path: Path, shown: str) -> int:
    """What the entries of a zip come to by their own headers, which its readers hold them to."""
    with _Unreadable(shown, "not a readable zip"), _open_zip(path) as archive:
        return sum(info.file_size for info in archive.infolist())


def _open_zip(path: Path) -> zipfile.ZipFile:
    """The zip, once its list of entries is known to be short enough to hold in memory and no two share their bytes."""
    size = _directory_bytes(path)
    if size > INPUT_ENTRIES.most * 128:
        reason = f"archive rejected: the entry list is {size:,} bytes long"
        raise InputLimitError(str(path), reason, hint=INPUT_ENTRIES.hint)
    with _Unreadable(str(path), "not a readable zip"):
        archive = zipfile.ZipFile(path)
    compressed = sum(info.compress_size for info in archive.infolist())
    if compressed > path.stat().st_size:  # each would be read again: many entries times all bytes
        archive.close()
        raise UnreadableFileError(
            str(path), f"archive rejected: the entries claim {compressed:,} bytes, more than the file size"
        )
    return archive


def _directory_bytes(path: Path) -> int:
    """How long the zip's list of entries is, by its end record; 0 when there is none, which its reader complains of."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 65_557))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        return 0
    (stated,) = struct.unpack_from("<L", tail, at + 12)
    return size if stated == 0xFFFFFFFF else int(stated)  # zip64 keeps the length elsewhere; the file's size bounds it


def _zip(path: Path, into: Path, extraction: Extraction) -> Rejected | None:
    with _open_zip(path) as archive:
        if files.is_workbook(archive):
            _workbook(archive, into, extraction)
            return None
        # A link would lead outside.
        infos = [
            info for info in archive.infolist() if not info.is_dir() and not stat.S_ISLNK(info.external_attr >> 16)
        ]
        extraction.expects(size=sum(info.file_size for info in infos), entries=len(infos))
        places = [(info, extraction.entry(info.filename)) for info in infos]
        for info, place in places:
            _write(_entry(archive, info, f"{extraction.shown}!/{place}"), into, place, extraction)
    return None


def _workbook(archive: zipfile.ZipFile, into: Path, extraction: Extraction) -> None:
    """Write each sheet as CSV. A short entry can be the text of many cells, so what is written counts as well."""
    infos = {info.filename: info for info in archive.infolist()}
    extraction.expects(size=sum(info.file_size for info in infos.values()))

    def read(name: str) -> Iterator[bytes]:
        left = infos[name].file_size
        for chunk in _entry(archive, infos[name], f"{extraction.shown}!/{name}"):
            left -= len(chunk)
            if left < 0:
                raise zipfile.BadZipFile(f"entry {name!r} exceeds its stated size")
            yield chunk

    for name, chunks in files.sheets(read, frozenset(infos), extraction.shown):
        _write(chunks, into, extraction.entry(name), extraction)


def _entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, shown: str) -> Iterator[bytes]:
    """One entry of a zip as it is decompressed.

    A log has thousands of small ones, for each of which Python's own reader takes longer than the extraction.
    """
    library = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if library and info.compress_size > CHUNK:
        with archive.open(info) as file:
            yield from _chunks(file)
        return
    if (
        not library and info.compress_type != ZSTANDARD
    ):  # Python's reader decompresses those in one piece, however large
        raise NotImplementedError(f"unsupported compression method {info.compress_type}; supported: deflate, zstandard")
    if info.flag_bits & ENCRYPTED:
        raise RuntimeError("the entry is encrypted")
    checksum = 0
    for chunk in _decompressed_entry(_compressed_entry(archive, info), info.compress_type, shown):
        checksum = zlib.crc32(chunk, checksum)
        yield chunk
    if checksum != info.CRC:
        raise zipfile.BadZipFile("wrong checksum")


def _compressed_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    assert archive.fp is not None  # only a closed archive has none
    archive.fp.seek(info.header_offset)
    header = archive.fp.read(30)
    if len(header) < 30 or not header.startswith(b"PK\x03\x04"):
        raise zipfile.BadZipFile("invalid entry header")
    archive.fp.seek(sum(struct.unpack_from("<HH", header, 26)), 1)
    return archive.fp.read(info.compress_size)


def _decompressed_entry(compressed: bytes, method: int, shown: str) -> Iterator[bytes]:
    if method == zipfile.ZIP_STORED:
        yield compressed
    elif method == ZSTANDARD:
        try:
            yield from zst_chunks(io.BytesIO(compressed), shown)
        except TruncatedStreamError as error:
            raise zipfile.BadZipFile("entry is truncated") from error
    else:
        decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
        while not decompressor.eof:
            chunk = decompressor.decompress(compressed, CHUNK)
            if not chunk and not decompressor.eof:
                raise zipfile.BadZipFile("entry is truncated")
            compressed = decompressor.unconsumed_tail
            yield chunk


class _Header(tarfile.TarInfo):
    """A header of a tar. Those that only carry a name for the next are read in one piece, so they must be short."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.type in _CARRIERS and not 0 <= member.size <= MAX_CARRIER_BYTES:
            raise RuntimeError(f"a header claims a name of {member.size:,} bytes")
        return member


def _tar(path: Path, into: Path, extraction: Extraction) -> Rejected | None:
    with tarfile.open(path, "r:", tarinfo=_Header) as archive:
        place: PurePosixPath | None = None
        try:
            for member in archive:
                place = extraction.entry(member.name)
                if member.isreg():  # links and devices lead outside; folders are made as files need them
                    extraction.expects(size=member.size)
                    file = archive.extractfile(member)
                    if file is not None:
                        _write(_chunks(file), into, place, extraction)
        except tarfile.ReadError:
            if place is None:
                raise
            (into / place).unlink(missing_ok=True)
            return _broken_off(f"{extraction.shown}!/{place}", None, "archive is truncated in this entry")
        if not _has_end_mark(path, archive.offset):
            after = f"after entry {str(place)[:200]!r}" if place else "at the start"
            return _broken_off(extraction.shown, None, f"archive is truncated {after}")
    return None


def _has_end_mark(path: Path, offset: int) -> bool:
    """Whether a block of zeros ends the tar; a reader takes one that ends between two entries for whole."""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(tarfile.BLOCKSIZE) == bytes(tarfile.BLOCKSIZE)


def _yaml(path: Path, into: Path, extraction: Extraction) -> Rejected | None:
    place = extraction.entry(f"{path.stem}.json")
    _write(iter([yaml_as_json(path, extraction.shown)]), into, place, extraction)
    return None


def _stream(path: Path, into: Path, extraction: Extraction) -> Rejected | None:
    """One compressed file. A tar inside is decompressed by the next step, which sees it as a file of its own."""
    name = path.name
    for ending in (".gz", ".zst", ".bz2", ".xz", ".tgz"):
        name = name.removesuffix(ending) or name
    place = extraction.entry(name)
    with path.open("rb") as compressed:
        chunks = decompressed_chunks(compressed, extraction.shown)
        try:
            _write(chunks, into, place, extraction)
        except TruncatedStreamError:
            return _cut_to_lines(into / place, f"{extraction.shown}!/{place}")
    return None


def _cut_to_lines(target: Path, shown: str) -> Rejected:
    """Remove an incomplete line from the end of a file, and return the place of the break."""
    with target.open("a+b") as file:  # it is not there yet when nothing came out before the break
        file.seek(0)
        if archive_kind(file.read(512)) is not None:  # what is compressed once more has no lines
            return _broken_off(shown, None, "compressed file is truncated")
        file.seek(0)
        lines = end = at = 0
        while chunk := file.read(CHUNK):
            lines += chunk.count(b"\n")
            last = chunk.rfind(b"\n")
            end = at + last + 1 if last >= 0 else end
            at += len(chunk)
        file.truncate(end)
    return _broken_off(shown, lines + 1, "compressed file is truncated at this line")


def _broken_off(shown: str, line: int | None, reason: str) -> Rejected:
    return Rejected(
        path=shown,
        line=line,
        reason=reason,
        hint="copy the file again; all data before this point was read",
        code="cut_off",
    )


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def _write(chunks: Iterable[bytes], into: Path, place: PurePosixPath, extraction: Extraction) -> None:
    rest = (chunk for chunk in chunks if chunk)
    chunk = next(rest, b"")
    if not chunk and not extraction.keeps_empty:
        return
    target = into / place  # a new folder without links in which no name leads upwards
    try:
        if extraction.fresh_folders(place):
            target.parent.mkdir(parents=True, exist_ok=True)
        out = target.open("wb")
    except OSError as error:
        raise extraction.rejection(f"entry {str(place)[:200]!r} cannot be written: {error.strerror}") from error
    with out:
        while chunk:
            extraction.take(size=len(chunk))
            out.write(chunk)
            chunk = next(rest, b"")
