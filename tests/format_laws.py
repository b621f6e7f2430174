"""What reading any bytes must give, for property tests and for the fuzzer."""

from __future__ import annotations

from pathlib import Path

from steelyard.files import archive_kind
from steelyard.formats import PlacedRun
from steelyard.records import TOKEN_KINDS, Finding, Rejected, Run, decode_run, encode_run
from steelyard.tables import gather


def check_reading(path: Path) -> None:
    """Reading may set everything aside, but gives only valid runs with their place, and names what it set aside."""
    runs: list[Run] = []
    for item in gather([path], workers=1):
        if isinstance(item, PlacedRun):
            assert item.path.startswith(path.as_posix())
            check_run(item.run)
            runs.append(item.run)
        elif isinstance(item, Rejected):
            assert item.path.startswith(path.as_posix()), item
            assert item.line is None or item.line >= 1
            assert item.reason.strip()
            assert item.advice.strip()
        else:
            assert isinstance(item, Finding)
            assert item.code
            assert item.message.strip()
            assert item.severity in ("info", "warning", "error")
    check_counts(runs, path.read_bytes())


def check_run(run: Run) -> None:
    """The run is one that a file of ours could hold, and none of its numbers is impossible."""
    assert decode_run(encode_run(run)) == run  # decoding refuses what is out of range
    for usage in (run.total_usage, *(call.usage for call in run.calls or ())):
        for kind in TOKEN_KINDS if usage is not None else ():
            assert (getattr(usage, kind) or 0) >= 0
    assert (run.elapsed_seconds or 0) >= 0
    assert (run.cost_usd or 0) >= 0


def check_counts(runs: list[Run], data: bytes) -> None:
    """Nothing comes from nothing: a run or a call needs an object, an element or a line of its own."""
    if archive_kind(data[:512]) is not None or data.startswith(b"PAR1"):
        return  # what is packed shows neither
    places = data.count(b"{") + data.count(b"<") + data.count(b"\n") + 1
    assert len(runs) <= places
    assert sum(len(run.calls or ()) for run in runs) <= places
