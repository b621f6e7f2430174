"""What many runs cost, priced in columns: a call at a time would take longer than reading the logs."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence

from msgspec.structs import astuple

from steelyard.prices import PriceBook, open_book, price_columns, price_run
from steelyard.records.missing import Missing
from steelyard.records.run import TOKEN_KINDS, Run, Usage, as_utc


class Costs:
    """Opens the price book while files are still being read, and prices runs by the list."""

    def __init__(self, prices: str) -> None:
        self._prices = prices
        self._book: PriceBook | None = None
        self._failure: Exception | None = None
        self._opening = threading.Thread(target=self._open, daemon=True)
        self._opening.start()

    def _open(self) -> None:
        try:
            self._book = open_book(self._prices)
            self._book.price(Usage(input_tokens=0), model="gpt-5", at=None)  # any name: the book reads its prices now
            importlib.import_module("numpy")  # heavy, like the book's prices: best done while files are read
        except Exception as error:  # noqa: BLE001 # raised again where the book is needed
            self._failure = error

    @property
    def book(self) -> PriceBook:
        """The book, once it is open."""
        self._opening.join()
        if self._failure is not None:
            raise self._failure
        assert self._book is not None
        return self._book

    def of(self, runs: Sequence[Run]) -> list[float | None]:
        """What each run's tokens cost by the book; None where that cannot be told."""
        whole = [index for index, run in enumerate(runs) if _by_calls(run)]
        found: list[float | None] = [None] * len(runs)
        for index, cost in zip(whole, self._in_columns([runs[index] for index in whole]), strict=True):
            found[index] = cost
        by_calls = frozenset(whole)
        for index, run in enumerate(runs):
            if index not in by_calls:
                priced = price_run(run, self.book)
                found[index] = None if isinstance(priced, Missing) else priced
        return found

    def _in_columns(self, runs: Sequence[Run]) -> list[float | None]:
        if not runs:
            return []
        import numpy as np  # heavy: only this needs it

        calls = [(run, call) for run in runs for call in run.calls or ()]
        moments = [run.started_at if call.at is None else call.at for run, call in calls]
        seconds = np.array([np.nan if at is None else as_utc(at).timestamp() for at in moments])
        known = ~np.isnan(seconds)
        at = np.full(len(calls), "NaT", "datetime64[us]")
        at[known] = np.rint(seconds[known] * 1e6).astype(np.int64).astype("datetime64[us]")
        usages = [astuple(call.usage or Usage()) for _, call in calls]
        tokens = {
            kind: np.array(counts if None not in counts else [np.nan if n is None else n for n in counts], np.float64)
            for kind, counts in zip(TOKEN_KINDS, zip(*usages, strict=True), strict=True)
            if any(n is not None for n in counts)
        }
        priced = price_columns(
            self.book,
            models=[call.model or run.model for run, call in calls],
            at=at,
            tokens=tokens,
        )
        rows = np.repeat(np.arange(len(runs)), [len(run.calls or ()) for run in runs])
        # a cost that is not known is NaN, and makes its run's NaN
        totals = np.bincount(rows, weights=priced.cost_usd, minlength=len(runs))
        return [None if np.isnan(total) else float(total) for total in totals]


def _by_calls(run: Run) -> bool:
    """Whether the run's tokens are those of its calls, each of which can be priced by itself."""
    for call in run.calls or ():
        if call.usage is None or call.id is None or call.summed:
            return False
    return bool(run.calls)
