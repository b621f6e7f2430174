"""Free memory, and batches of rows on their way to a table: in memory while they are few, else on disk."""

from __future__ import annotations

import os
import weakref
from pathlib import Path

import polars as pl

from steelyard.scratch import make_scratch, remove_scratch

SPILL_ROWS = 250_000


class SpillFolder:
    """A temporary folder that goes when the last table that reads from it goes."""

    def __init__(self) -> None:
        self.path = make_scratch()
        weakref.finalize(self, remove_scratch, self.path)


class Spool:
    """Takes batches in order and gives them back as one lazy frame; memory stays bounded whatever their number."""

    def __init__(self) -> None:
        self._frames: list[pl.DataFrame] = []
        self._held = 0
        self._folder: SpillFolder | None = None
        self._parts: list[pl.LazyFrame] = []
        self._spilled = 0

    def add(self, frame: pl.DataFrame) -> None:
        """Take one batch."""
        self._frames.append(frame)
        self._held += frame.height
        if self._held >= SPILL_ROWS:
            self._spill()

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = SpillFolder()
        part = self._folder.path / f"part-{self._spilled:05}.parquet"
        pl.concat(self._frames, how="diagonal").write_parquet(part, compression="lz4")
        self._parts.append(pl.scan_parquet(part))
        self._spilled += 1
        self._frames, self._held = [], 0

    def add_lazy(self, frame: pl.LazyFrame) -> None:
        """Take a frame that holds its rows elsewhere; it comes after all that was taken before."""
        if self._frames:
            self._parts.append(pl.concat(self._frames, how="diagonal").lazy())
            self._frames, self._held = [], 0
        self._parts.append(frame)

    def frame(self) -> pl.LazyFrame | None:
        """All batches as one frame, in the order they were added; None when there are none."""
        lazy = list(self._parts)
        if self._frames:
            lazy.append(pl.concat(self._frames, how="diagonal").lazy())
        if len(lazy) < 2:
            return lazy[0] if lazy else None
        return pl.concat(lazy, how="diagonal")

    @property
    def keeps(self) -> SpillFolder | None:
        """The folder that must live as long as the frame does."""
        return self._folder


_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def free_bytes() -> int:
    """The memory that is free on this machine, within the limit that its container sets."""
    return min(_free_of_machine(), _free_of_container())


def _free_of_machine() -> int:
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        (known,) = (line for line in lines if line.startswith("MemAvailable:"))
        return int(known.split()[1]) * 1024
    except (OSError, ValueError, IndexError):  # not Linux: half of what is there
        names = getattr(os, "sysconf_names", {})
        if not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= names.keys():
            return 4 << 30
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _free_of_container() -> int:
    try:
        most, used = ((_CGROUP / name).read_text(encoding="ascii").strip() for name in ("memory.max", "memory.current"))
        return max(int(most) - int(used), 0)
    except (OSError, ValueError):  # no such limit
        return 1 << 62
