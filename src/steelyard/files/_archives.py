"""Unpacking what is not trusted: bounded in entries, ratio, size and depth, and never outside its own folder."""

from __future__ import annotations

import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from threading import Event
from typing import IO, Self

from steelyard.errors import Interrupted, SteelyardError, UnreadableFile, said_by
from steelyard.files._packed_streams import CHUNK, BrokenOff, bz2_chunks, gz_chunks, xz_chunks, zst_chunks
from steelyard.records import Rejected

ENCRYPTED = 0x1
"""The bit of an entry's flags that says so."""
LONGEST_CARRIER = 1 << 20
_CARRIERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
ZSTANDARD = 93
"""The number of this packing in zips; Inspect packs its logs so, and Python before 3.14 does not know it."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much an archive may expand to before it is refused."""

    entries: int = 200_000
    bytes_in_all: int = 8 << 30
    ratio: int = 100
    """Bytes out for each byte in, once `free_bytes` are out: logs compress 5 to 30 times, bombs 1,000 times."""
    free_bytes: int = 16 << 20
    depth: int = 2
    """Archives within archives."""
    folders: int = 100
    """Folders within folders: what removes a tree goes down it step by step, and Python's steps are bounded."""


LIMITS = ArchiveLimits()


def archive_kind(start: bytes) -> str | None:
    r"""Which packing the first bytes tell of; None when the file is not packed.

    >>> archive_kind(b"PK\x03\x04...")
    'zip'
    """
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if start.startswith(b"\x1f\x8b"):
        return "gz"
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return "zst"
    if start.startswith(b"BZh"):
        return "bz2"
    if start.startswith(b"\xfd7zXZ\0"):
        return "xz"
    if start[257:262] == b"ustar":
        return "tar"
    return None


class Meter:
    """Counts what comes out of an archive and refuses it when it is too much."""

    def __init__(self, path: str, packed: int, limits: ArchiveLimits, stop: Event | None) -> None:
        self.path = path
        self.limits = limits
        self.stop = stop
        self.out = 0
        self.entries = 0
        self.folders: set[PurePosixPath] = set()
        self.allowed = min(limits.bytes_in_all, max(limits.free_bytes, packed * limits.ratio))

    def entry(self, name: str) -> PurePosixPath:
        """One more entry; its safe relative path."""
        self._count(1)
        place = PurePosixPath(name.replace("\\", "/"))
        leads_out = place.is_absolute() or ".." in place.parts or PureWindowsPath(name).drive
        if leads_out or "\0" in name:
            raise self.refused(f"the entry {name[:200]!r} points outside the archive")
        if len(place.parts) > self.limits.folders:
            raise self.refused(f"the entry {name[:200]!r} lies more than {self.limits.folders} folders deep")
        return place

    def makes_folders_of(self, place: PurePosixPath) -> None:
        """Counts the folders that the entry needs and no earlier one did: a name of many folders costs no bytes."""
        fresh = [parent for parent in place.parents[:-1] if parent not in self.folders]
        self.folders.update(fresh)
        self._count(len(fresh))

    def _count(self, entries: int) -> None:
        self._go_on()
        self.entries += entries
        if self.entries > self.limits.entries:
            raise self.refused(f"more than {self.limits.entries:,} entries and folders")

    def _go_on(self) -> None:
        if self.stop is not None and self.stop.is_set():
            raise Interrupted("unpacking was stopped")

    def expects(self, size: int) -> None:
        """Refuses before unpacking what an entry's own header says is too much."""
        if self.out + size > self.allowed:
            raise self.refused(f"it expands to more than {self.allowed:,} bytes")

    def took(self, size: int) -> None:
        """Bytes that came out."""
        self._go_on()
        self.out += size
        if self.out > self.allowed:
            raise self.refused(f"it expands to more than {self.allowed:,} bytes")

    def refused(self, reason: str) -> UnreadableFile:
        """The error that names the archive."""
        return UnreadableFile(self.path, f"archive refused: {reason}", hint="unpack it yourself if you trust it")


ONE_FILE = ("gz", "zst", "bz2", "xz")
"""Packings of a single file, which is then the one that the user speaks of."""


def packing(path: Path) -> str | None:
    """Which packing the file has."""
    with path.open("rb") as file:
        return archive_kind(file.read(512))


def unpack(
    path: Path, shown: str, into: Path, *, limits: ArchiveLimits = LIMITS, stop: Event | None = None
) -> Rejected | None:
    """Writes what the archive holds under `into`; refuses the whole archive when a bound is passed.

    `shown` is how the archive is named to the user. Of an archive that breaks off, what stands before the break is
    written and the place of the break given back. `stop`, once set, ends the work (Interrupted).
    """
    kind = packing(path)
    meter = Meter(shown, path.stat().st_size, limits, stop)
    unpackers: dict[str, Callable[[Path, Path, Meter], Rejected | None]] = {"zip": _zip, "tar": _tar}
    with _whatever_it_raises(shown, "the archive is broken or cannot be unpacked"):
        return unpackers.get(str(kind), _stream)(path, into, meter)


@contextmanager
def _whatever_it_raises(shown: str, reason: str) -> Iterator[None]:
    """An error that names the file: broken bytes lead the libraries to raise anything, MemoryError too."""
    try:
        yield
    except SteelyardError:
        raise
    except Exception as error:
        raise UnreadableFile(shown, f"{reason}: {said_by(error)}") from error


def bounded_zip(path: Path, *, limits: ArchiveLimits = LIMITS) -> zipfile.ZipFile:
    """The zip, once its list of entries is known to be short enough to hold in memory."""
    size = _directory_bytes(path)
    if size > limits.entries * 128:
        raise UnreadableFile(str(path), f"archive refused: its list of entries takes {size:,} bytes")
    with _whatever_it_raises(str(path), "not a readable zip"):
        return zipfile.ZipFile(path)


def bounded_member(archive: zipfile.ZipFile, name: str, *, limit: int) -> bytes:
    """One entry's bytes; refused past the limit, whatever its header says."""
    shown = f"{archive.filename}!/{name}"
    allowed = min(limit, max(LIMITS.free_bytes, archive.getinfo(name).compress_size * LIMITS.ratio))
    content = bytearray()
    with _whatever_it_raises(shown, "the entry cannot be unpacked"):
        for chunk in _entry(archive, archive.getinfo(name), shown):
            content += chunk
            if len(content) > allowed:
                break
    if len(content) > allowed:
        raise UnreadableFile(shown, f"archive refused: the entry expands to more than {allowed:,} bytes")
    if zlib.crc32(content) != archive.getinfo(name).CRC:  # our own unpacking does not look, as the library's does
        raise UnreadableFile(shown, "the entry cannot be unpacked: its checksum is wrong")
    return bytes(content)


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


def _zip(path: Path, into: Path, meter: Meter) -> Rejected | None:
    with bounded_zip(path, limits=meter.limits) as archive:
        # A link would lead outside.
        infos = [
            info for info in archive.infolist() if not info.is_dir() and not stat.S_ISLNK(info.external_attr >> 16)
        ]
        places = [(info, meter.entry(info.filename)) for info in infos]
        meter.expects(sum(info.file_size for info in infos))
        for info, place in places:
            _write(_entry(archive, info, f"{meter.path}!/{place}"), into, place, meter)
    return None


def _entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, shown: str) -> Iterator[bytes]:
    """One entry of a zip as it is unpacked."""
    if info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with archive.open(info) as file:
            yield from _chunks(file)
        return
    if info.compress_type != ZSTANDARD:  # Python's reader unpacks those in one piece, however large it becomes
        raise NotImplementedError(f"an entry is packed by method {info.compress_type}, not by deflate or zstandard")
    if info.flag_bits & ENCRYPTED:
        raise RuntimeError("the entry is encrypted")
    assert archive.fp is not None  # only a closed archive has none
    archive.fp.seek(info.header_offset)
    header = archive.fp.read(30)
    if len(header) < 30 or not header.startswith(b"PK\x03\x04"):
        raise zipfile.BadZipFile("bad magic number for the entry's header")
    archive.fp.seek(sum(struct.unpack_from("<HH", header, 26)), 1)
    try:
        yield from zst_chunks(io.BytesIO(archive.fp.read(info.compress_size)), shown)
    except BrokenOff as error:
        raise zipfile.BadZipFile("the entry breaks off") from error


class _Header(tarfile.TarInfo):
    """A header of a tar. Those that only carry a name for the next are read in one piece, so they must be short."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.type in _CARRIERS and not 0 <= member.size <= LONGEST_CARRIER:
            raise RuntimeError(f"a header says that {member.size:,} bytes of names follow")
        return member


def _tar(path: Path, into: Path, meter: Meter) -> Rejected | None:
    with tarfile.open(path, "r:", tarinfo=_Header) as archive:
        place: PurePosixPath | None = None
        try:
            for member in archive:
                place = meter.entry(member.name)
                if member.isreg():  # links and devices lead outside; folders are made as files need them
                    meter.expects(member.size)
                    file = archive.extractfile(member)
                    if file is not None:
                        _write(_chunks(file), into, place, meter)
        except tarfile.ReadError:
            if place is None:
                raise
            (into / place).unlink(missing_ok=True)
            return _broken_off(f"{meter.path}!/{place}", None, "the archive breaks off in this entry")
        if not _has_end_mark(path, archive.offset):
            after = f"after the entry {str(place)[:200]!r}" if place else "at its start"
            return _broken_off(meter.path, None, f"the archive breaks off {after}")
    return None


def _has_end_mark(path: Path, offset: int) -> bool:
    """Whether a block of zeros ends the tar; a reader takes one that ends between two entries for whole."""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(tarfile.BLOCKSIZE) == bytes(tarfile.BLOCKSIZE)


def _stream(path: Path, into: Path, meter: Meter) -> Rejected | None:
    """One packed file. A tar inside is unpacked by the next step, which sees it as a file of its own."""
    name = path.name
    for ending in (".gz", ".zst", ".bz2", ".xz", ".tgz"):
        name = name.removesuffix(ending) or name
    place = meter.entry(name)
    with path.open("rb") as packed:
        kind = archive_kind(packed.read(512))
        packed.seek(0)
        unpacked = {"gz": gz_chunks, "bz2": bz2_chunks, "xz": xz_chunks}
        chunks = unpacked[kind](packed) if kind in unpacked else zst_chunks(packed, meter.path)
        try:
            _write(chunks, into, place, meter)
        except BrokenOff:
            return _cut_to_lines(into / place, f"{meter.path}!/{place}")
    return None


def _cut_to_lines(target: Path, shown: str) -> Rejected:
    """Takes a line that is not whole from the end of a file, and tells the place of the break."""
    with target.open("r+b") as file:
        if archive_kind(file.read(512)) is not None:  # what is packed once more has no lines
            return _broken_off(shown, None, "the packed file breaks off")
        file.seek(0)
        lines = end = at = 0
        while chunk := file.read(CHUNK):
            lines += chunk.count(b"\n")
            last = chunk.rfind(b"\n")
            end = at + last + 1 if last >= 0 else end
            at += len(chunk)
        file.truncate(end)
    return _broken_off(shown, lines + 1, "the packed file breaks off in this line")


def _broken_off(shown: str, line: int | None, reason: str) -> Rejected:
    return Rejected(
        path=shown, line=line, reason=reason, hint="copy the file again; what stands before is read", code="cut_off"
    )


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def _write(chunks: Iterable[bytes], into: Path, place: PurePosixPath, meter: Meter) -> None:
    target = into / place
    meter.makes_folders_of(place)
    try:
        if not target.resolve().is_relative_to(into.resolve()):
            raise meter.refused(f"the entry {str(place)[:200]!r} points outside the archive")
        target.parent.mkdir(parents=True, exist_ok=True)
        out = target.open("wb")
    except OSError as error:
        raise meter.refused(f"the entry {str(place)[:200]!r} cannot be kept: {error.strerror}") from error
    with out:
        for chunk in chunks:
            meter.took(len(chunk))
            out.write(chunk)
