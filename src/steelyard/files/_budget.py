"""What one input may come to: a path that the user named or what is piped in, with every archive in it."""

from __future__ import annotations

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
