"""Batches of rows on their way to a table: in memory while they are few, else on disk."""

from __future__ import annotations

import weakref

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
