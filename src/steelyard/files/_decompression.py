"""Budget of one input, and decompression of single files (gz, zst, bz2, xz) in chunks, up to where they break off."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

from steelyard.errors import UnreadableFileError
from steelyard.settings import EXPANSION, FREE_BYTES, INPUT_BYTES, INPUT_ENTRIES, Limit


class Budget:
    """What is left of one input's bytes and entries. Archives within archives and the files of a folder share it.

    It limits the work, not the disk space: data decompressed from an archive that is then rejected counts too.
    """

    def __init__(self, size: Limit = INPUT_BYTES, entries: Limit = INPUT_ENTRIES) -> None:
        self._size, self._entries = size, entries
        self._bytes_left, self._entries_left = size.most, entries.most
        self._expansion = EXPANSION.most
        self._whole: Budget | None = None

    def for_compressed(self, size: int) -> Budget:
        """The part of it that a compressed file of this size may use up, with what is compressed within the file."""
        if self._whole is not None:
            return self
        part = Budget.__new__(Budget)
        vars(part).update(vars(self))  # a log has thousands of entries: settings are not looked up for each
        part._size, part._bytes_left, part._whole = EXPANSION, max(FREE_BYTES, size * self._expansion), self
        return part

    def expect(self, where: str, *, size: int = 0, entries: int = 0) -> None:
        """Reject what is more than is left; `where` names the file at which that shows."""
        if entries > self._entries_left:
            raise self._entries.passed(where)
        if self._whole is not None:
            self._whole.expect(where, size=size, entries=entries)
        if size > self._bytes_left:
            raise self._size.passed(where)

    def take(self, where: str, *, size: int = 0, entries: int = 0) -> None:
        """Use up what came out; if it is more than is left, reject it and use up nothing."""
        self.expect(where, size=size, entries=entries)
        part: Budget | None = self
        while part is not None:
            part._bytes_left -= size
            part._entries_left -= entries
            part = part._whole


CHUNK = 1 << 20
_GZIP = 31  # zlib's word for a window of 32 kB with gzip's header and checksum
_ZST_FRAME = 0xFD2FB528
_ZST_SKIPPED = range(0x184D2A50, 0x184D2A60)
_RLE = 1
_XZ_MEMORY = 1 << 28
"""Bytes that extraction xz may take: what its strongest setting asks for is a quarter of this."""


ONE_FILE = ("gz", "zst", "bz2", "xz")
"""Packings of a single file, which is then the one that the user speaks of."""


_BEGINNINGS = {
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"\x1f\x8b": "gz",
    b"\x28\xb5\x2f\xfd": "zst",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
}


class TruncatedStreamError(Exception):  # no error of ours: it ends the chunks, and what came before is used
    """The compressed file ends before its own end mark."""


def archive_kind(start: bytes) -> str | None:
    r"""Return the packing that the first bytes show; None when the file is not compressed.

    >>> archive_kind(b"PK\x03\x04...")
    'zip'
    """
    kind = next((kind for magic, kind in _BEGINNINGS.items() if start.startswith(magic)), None)
    return kind or ("tar" if start[257:262] == b"ustar" else None)


def decompressed_chunks(compressed: IO[bytes], shown: str) -> Iterator[bytes]:
    """What a single compressed file holds."""
    kind = archive_kind(compressed.read(512))
    compressed.seek(0)
    make = {"gz": _gz_decompressor, "bz2": bz2.BZ2Decompressor, "xz": _xz_decompressor}.get(str(kind))
    return _decompressed(compressed, make) if make is not None else zst_chunks(compressed, shown)


def _gz_decompressor() -> Any:  # Any: the standard library names no class for it
    return zlib.decompressobj(_GZIP)


def _xz_decompressor() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


def _decompressed(
    compressed: IO[bytes], make: Callable[[], Any]
) -> Iterator[bytes]:  # Any: one of the three extractors
    """What the file holds, at most `CHUNK` bytes at a time; several compressed parts in a row are one."""
    decompressor, waiting, fresh = make(), b"", True
    while True:
        if not waiting and getattr(decompressor, "needs_input", True):  # gzip's hands back what it did not take
            waiting = compressed.read(CHUNK)
            if not waiting:
                break
        if fresh:
            waiting = waiting.lstrip(b"\0")  # tapes pad with zeros
            fresh = not waiting
            if fresh:
                continue
        out = decompressor.decompress(waiting, CHUNK)
        waiting = getattr(decompressor, "unconsumed_tail", b"")
        if out:
            yield out
        if decompressor.eof:
            waiting, decompressor, fresh = decompressor.unused_data, make(), True
    if not fresh:
        if rest := getattr(decompressor, "flush", bytes)():
            yield rest
        raise TruncatedStreamError


def zst_chunks(compressed: IO[bytes], shown: str) -> Iterator[bytes]:
    """The same for Zstandard, whose library takes a file that breaks off for a whole one."""
    import zstandard  # only those who have such logs need it

    whole = _zst_is_whole(compressed)
    compressed.seek(0)
    try:
        reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(compressed, read_across_frames=True)
        while chunk := reader.read(CHUNK):
            yield chunk
    except zstandard.ZstdError as error:
        raise UnreadableFileError(shown, f"archive is corrupt or unsupported: {error}") from error
    if not whole:
        raise TruncatedStreamError


def _zst_is_whole(compressed: IO[bytes]) -> bool:
    """Whether every frame has its last block and its checksum (RFC 8878, section 3.1)."""
    size = compressed.seek(0, 2)
    compressed.seek(0)
    while start := compressed.read(4):
        magic = int.from_bytes(start, "little")
        if magic in _ZST_SKIPPED:
            compressed.seek(int.from_bytes(compressed.read(4), "little"), 1)
        elif magic != _ZST_FRAME:
            return len(start) == 4  # something else, which its reader complains of
        elif not _past_frame(compressed):
            return False
        if compressed.tell() > size:
            return False
    return True


def _past_frame(compressed: IO[bytes]) -> bool:
    """Goes to the end of a frame; False when the file ends before."""
    first = compressed.read(1)
    if not first:
        return False
    descriptor = first[0]
    single_segment = descriptor >> 5 & 1
    content_size = (single_segment, 2, 4, 8)[descriptor >> 6]
    compressed.seek((1 - single_segment) + (0, 1, 2, 4)[descriptor & 3] + content_size, 1)
    while len(header := compressed.read(3)) == 3:
        block = int.from_bytes(header, "little")
        compressed.seek(1 if block >> 1 & 3 == _RLE else block >> 3, 1)
        if block & 1:
            compressed.seek(4 * (descriptor >> 2 & 1), 1)
            return True
    return False
