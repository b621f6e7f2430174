"""Unpacking what is not trusted: bounded in entries, ratio, size and depth, and never outside its own folder."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from steelyard.errors import UnreadableFile
from steelyard.records.finding import Rejected
from steelyard.sources._streams import CHUNK, BrokenOff, gz_chunks, zst_chunks

ENCRYPTED = 0x1
"""The bit of an entry's flags that says so."""
ZSTANDARD = 93
"""The number of this packing in zips; Inspect packs its logs so, and Python before 3.14 does not know it."""


@dataclass(frozen=True, slots=True)
class Limits:
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


LIMITS = Limits()


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
    if start[257:262] == b"ustar":
        return "tar"
    return None


class Meter:
    """Counts what comes out of an archive and refuses it when it is too much."""

    def __init__(self, path: str, packed: int, limits: Limits) -> None:
        self.path = path
        self.limits = limits
        self.out = 0
        self.entries = 0
        self.allowed = min(limits.bytes_in_all, max(limits.free_bytes, packed * limits.ratio))

    def entry(self, name: str) -> PurePosixPath:
        """One more entry; its safe relative path."""
        self.entries += 1
        if self.entries > self.limits.entries:
            raise self.refused(f"more than {self.limits.entries:,} entries")
        place = PurePosixPath(name.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts or ":" in (place.parts[0] if place.parts else "") or "\0" in name:
            raise self.refused(f"the entry {name[:200]!r} points outside the archive")
        if len(place.parts) > self.limits.folders:
            raise self.refused(f"the entry {name[:200]!r} lies more than {self.limits.folders} folders deep")
        return place

    def expects(self, size: int) -> None:
        """Refuses before unpacking what an entry's own header says is too much."""
        if self.out + size > self.allowed:
            raise self.refused(f"it expands to more than {self.allowed:,} bytes")

    def took(self, size: int) -> None:
        """Bytes that came out."""
        self.out += size
        if self.out > self.allowed:
            raise self.refused(f"it expands to more than {self.allowed:,} bytes")

    def refused(self, reason: str) -> UnreadableFile:
        """The error that names the archive."""
        return UnreadableFile(self.path, f"archive refused: {reason}", hint="unpack it yourself if you trust it")


ONE_FILE = ("gz", "zst")
"""Packings of a single file, which is then the one that the user speaks of."""


def packing(path: Path) -> str | None:
    """Which packing the file has."""
    with path.open("rb") as file:
        return archive_kind(file.read(512))


def unpack(path: Path, shown: str, into: Path, *, limits: Limits = LIMITS) -> Rejected | None:
    """Writes what the archive holds under `into`; refuses the whole archive when a bound is passed.

    `shown` is how the archive is named to the user. Of an archive that breaks off, what stands before the break is
    written and the place of the break given back.
    """
    kind = packing(path)
    meter = Meter(shown, path.stat().st_size, limits)
    unpackers: dict[str, Callable[[Path, Path, Meter], Rejected | None]] = {
        "zip": _zip,
        "tar": _tar,
        "gz": _stream,
        "zst": _stream,
    }
    try:
        return unpackers[str(kind)](path, into, meter)
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        EOFError,
        zlib.error,
        OSError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        # RuntimeError: an encrypted zip; NotImplementedError: a packing method that Python does not know
        raise UnreadableFile(shown, f"the archive is broken or cannot be unpacked: {error}") from error


def bounded_zip(path: Path, *, limits: Limits = LIMITS) -> zipfile.ZipFile:
    """The zip, once its list of entries is known to be short enough to hold in memory."""
    size = _directory_bytes(path)
    if size > limits.entries * 128:
        raise UnreadableFile(str(path), f"archive refused: its list of entries takes {size:,} bytes")
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
        raise UnreadableFile(str(path), f"not a readable zip: {error}") from error


def bounded_member(archive: zipfile.ZipFile, name: str, *, limit: int) -> bytes:
    """One entry's bytes; refused past the limit, whatever its header says."""
    shown = f"{archive.filename}!/{name}"
    allowed = min(limit, max(LIMITS.free_bytes, archive.getinfo(name).compress_size * LIMITS.ratio))
    found = bytearray()
    try:
        for chunk in _entry(archive, archive.getinfo(name), shown):
            found += chunk
            if len(found) > allowed:
                break
    except (zipfile.BadZipFile, EOFError, zlib.error, OSError, NotImplementedError, RuntimeError) as error:
        raise UnreadableFile(shown, f"the entry cannot be unpacked: {error}") from error
    if len(found) > allowed:
        raise UnreadableFile(shown, f"archive refused: the entry expands to more than {allowed:,} bytes")
    if zlib.crc32(found) != archive.getinfo(name).CRC:  # our own unpacking does not look, as the library's does
        raise UnreadableFile(shown, "the entry cannot be unpacked: its checksum is wrong")
    return bytes(found)


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
        infos = [info for info in archive.infolist() if not info.is_dir()]
        places = [(info, meter.entry(info.filename)) for info in infos]
        meter.expects(sum(info.file_size for info in infos))
        for info, place in places:
            _write(_entry(archive, info, f"{meter.path}!/{place}"), into, place, meter)
    return None


def _entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, shown: str) -> Iterator[bytes]:
    """One entry of a zip as it is unpacked."""
    if info.compress_type != ZSTANDARD:
        with archive.open(info) as file:
            yield from _chunks(file)
        return
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


def _tar(path: Path, into: Path, meter: Meter) -> Rejected | None:
    with tarfile.open(path, "r:") as archive:
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
    for ending in (".gz", ".zst", ".tgz"):
        name = name.removesuffix(ending) or name
    place = meter.entry(name)
    with path.open("rb") as packed:
        kind = archive_kind(packed.read(512))
        packed.seek(0)
        try:
            _write(gz_chunks(packed) if kind == "gz" else zst_chunks(packed, meter.path), into, place, meter)
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
    if not target.resolve().is_relative_to(into.resolve()):
        raise meter.refused(f"the entry {str(place)[:200]!r} points outside the archive")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        for chunk in chunks:
            meter.took(len(chunk))
            out.write(chunk)
