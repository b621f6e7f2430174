"""Speedup: timing files of nop, oracle and agents to advantages, for one task or a folder of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from steelyard.errors import BadInput, MissingExtra, NothingUsable, UsageError
from steelyard.prices import DEFAULT_BOOK, open_book
from steelyard.profiles import Profile, load_profile
from steelyard.records import Finding
from steelyard.settings import named_path
from steelyard.speedups import TaskFiles

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from steelyard.speedups import SpeedupConstants, Speedups, TimingReading

DEFAULT_PROFILE = "speedup-1"

__all__ = ["DEFAULT_PROFILE", "SpeedupResult", "TaskFiles", "agent_files", "speedup"]


@dataclass(frozen=True)
class SpeedupResult:
    """Speedups with what reading found; `many` when the input was a folder or an FC-Eval file."""

    speedups: Speedups
    many: bool
    rejected: int
    """How many records or files were set aside."""

    @property
    def findings(self) -> list[Finding]:
        """All findings."""
        return self.speedups.findings

    @property
    def usable(self) -> bool:
        """Whether any benchmark of any attempt could be compared."""
        return bool(self.speedups.table.valid.any())

    def trees(self) -> Iterator[tuple[str, dict[str, Any]]]:  # Any: JSON values
        """The tree of benchmarks of each attempt, under its agent's key."""
        for index, attempt in enumerate(self.speedups.table.attempts):
            yield attempt.agent, self.speedups.tree(index).as_dict()

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The JSON shape."""
        return self.speedups.as_dict(many=self.many)

    def to_json(self) -> str:
        """The same as JSON text, as `--json` prints it."""
        return self.speedups.as_json(many=self.many).decode()

    def to_dicts(self, *, benchmarks: bool = False) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row an attempt, or with `benchmarks` one a benchmark."""
        from steelyard.reports import speedup_rows  # brings rich

        return speedup_rows(self.to_dict(), benchmarks=benchmarks)

    def to_polars(self, *, benchmarks: bool = False) -> pl.DataFrame:
        """The same rows as a Polars frame."""
        import polars as pl  # heavy: not every caller wants a frame

        return pl.DataFrame(self.to_dicts(benchmarks=benchmarks), infer_schema_length=None)

    def to_pandas(self, *, benchmarks: bool = False) -> pd.DataFrame:
        """The same rows as a pandas frame."""
        try:
            import pandas as pd  # heavy and optional
        except ImportError as error:
            raise MissingExtra("pandas", extra="pandas", purpose="to_pandas()") from error
        return pd.DataFrame(self.to_dicts(benchmarks=benchmarks))


def speedup(
    inputs: TaskFiles | Path | str | Iterable[Path | str],
    *,
    profile: str | Profile = DEFAULT_PROFILE,
    intervals: bool = True,
    prices: str = DEFAULT_BOOK,
    overrides: Mapping[str, Any] | None = None,  # Any: values of SpeedupConstants
) -> SpeedupResult:
    """Speedups of one task's files, of a folder of tasks, or of FC-Eval's results.json or log.

    `overrides` sets single constants of the profile; without `intervals` only the specification's figures are exact
    work, and nothing says how sure they are.
    """
    from steelyard.speedups import (
        TimingReading,
        read_folder,
        read_task,
        read_trial_file,
        speedups_of,  # brings numpy and SciPy
    )

    chosen = profile if isinstance(profile, Profile) else load_profile(profile)
    options = _options(chosen, overrides or {})
    reading = TimingReading(book=open_book(prices))
    if isinstance(inputs, TaskFiles):
        read_task(inputs, reading)
    else:
        given = [named_path(path) for path in ([inputs] if isinstance(inputs, (str, Path)) else inputs)]
        for path in dict.fromkeys(given):
            read_folder(path, reading) if path.is_dir() else read_trial_file(path, reading)
    if not reading.attempts:
        raise _nothing(reading)
    speedups = speedups_of(
        reading.attempts, options, profile=chosen.name, intervals=intervals, earlier=reading.findings
    )
    return SpeedupResult(speedups, not isinstance(inputs, TaskFiles), reading.rejected)


def _options(profile: Profile, overrides: Mapping[str, Any]) -> SpeedupConstants:  # Any: values of SpeedupConstants
    from steelyard.speedups import options_of  # brings nothing heavy, but its package does

    known = {name: value for name, value in overrides.items() if value is not None}
    return options_of(msgspec.structs.replace(profile, constants=profile.constants | known))


def _nothing(reading: TimingReading) -> BadInput:
    if reading.errors:
        return reading.errors[0]
    return NothingUsable("there is no attempt to measure", hint="docs/speedup.md shows the layout of a folder of tasks")


def agent_files(pairs: Sequence[str]) -> dict[str, Path]:
    """Files by agent from `NAME:MODEL=FILE`; the first "=" ends the key, so file names may hold others.

    >>> agent_files(["openhands:gpt-5=a.json"])
    {'openhands:gpt-5': PosixPath('a.json')}
    """
    files: dict[str, Path] = {}
    for pair in pairs:
        key, sign, path = pair.partition("=")
        agent, colon, model = key.partition(":")
        if not (sign and colon and agent and model and path):
            raise UsageError(f"{pair!r} does not name an agent, a model and a file", hint="--agent NAME:MODEL=FILE")
        if agent.lower() in ("nop", "oracle"):
            raise UsageError(f"{key!r} is a baseline, not an agent", hint="give it with --nop or --oracle")
        if key in files:
            raise UsageError(f"agent {key!r} is given twice")
        files[key] = Path(path)
    return files
