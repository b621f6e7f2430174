"""Options of the commands, declared once: each field is a keyword in Python and an option of the command line.

The sentence under a field is its help in both. Shared options are in the base classes.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping, Sequence
from dataclasses import replace
from datetime import UTC, date
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from steelyard.errors import UsageError
from steelyard.option_names import option
from steelyard.prices import DEFAULT_PRICE_TABLE
from steelyard.profiles import Profile
from steelyard.questions._question import Options, doc
from steelyard.questions._run_input import (
    EngineName,
    PathInput,
    Reading,
    current_progress,
    open_mapping,
    reading_cluster,
)
from steelyard.records import (
    Labels,
    RunChoice,
    Selection,
    Zone,
    conditions_of,
    end_of,
    labels_of,
    moment_of,
    names_month,
)
from steelyard.settings import named_path

if TYPE_CHECKING:
    from pathlib import Path

    from steelyard.sources import Cluster, Mapping

Selections: TypeAlias = Selection | Sequence[Selection]
"""One filter or several; repeatable on the command line."""
FilePaths: TypeAlias = Annotated[PathInput | Sequence[PathInput], "files"]
"""One file or several."""
Count: TypeAlias = Annotated[int, "1 or more"]
"""A number of entries, 1 or more."""
Seconds: TypeAlias = float
"""A time to wait; see `check_seconds`."""
MAX_WAIT_SECONDS = 365 * 24 * 3600
Moment: TypeAlias = str | date | None
"""A date or a time."""
MapName: TypeAlias = str | PathLike[str] | AbstractMapping[str, Any] | None  # Any: TOML values
"""A built-in mapping, a TOML file, or the values of a mapping."""
ProfileName: TypeAlias = str | Profile
"""A profile, its name, or a TOML file."""


def paths_of(files: FilePaths) -> list[Path]:
    """Return the paths of one file or several."""
    return [named_path(path) for path in ([files] if isinstance(files, (str, PathLike)) else files)]


def check_seconds(value: Seconds, name: str) -> None:
    """Reject a time that is too long."""
    if not 0 < value <= MAX_WAIT_SECONDS:
        limits = f"more than 0 and at most {MAX_WAIT_SECONDS:,} seconds (one year)"
        raise UsageError(f"{option(name)} must be {limits} (got {value})")


class LabelOptions(Options):
    """Fields to set on every run."""

    set: Selections = doc(
        "Set a field on every run; repeatable. In VALUE, {file} is the file name, {stem} the file name "
        "without extension, {folder} the name of the directory that contains the file, and {folder[1]} the "
        "name of its parent directory.",
        default=(),
        local=True,
    )

    def labels(self) -> Labels:
        """Return the labels, validated."""
        return labels_of(self.set)


class MapOptions(LabelOptions):
    """Mapping for files of unknown formats."""

    map: MapName = doc(
        "Mapping for custom CSV/JSON: a TOML file or a built-in name (see: steelyard mapping).",
        default=None,
        local=True,
    )

    def mapping(self) -> Mapping | None:
        """Return the mapping, validated, or None."""
        return None if self.map is None else open_mapping(self.map)


class RunFilterOptions(MapOptions):
    """Filters for runs."""

    where: Selections = doc("KEY=VALUE or KEY!=VALUE; comma-separated or repeatable.", default=())
    since: Moment = doc(
        "Only runs started on or after this date or time (2026-10-01, 30d, yesterday). A month (2026-10) "
        "selects only that month.",
        default=None,
    )
    until: Moment = doc(
        "Only runs started up to and including this date or month, or before this time.",
        default=None,
    )

    def choice(self, zone: Zone = UTC) -> RunChoice:
        """Return the filter, validated; dates are in the given time zone."""
        since = None if self.since is None else moment_of(self.since, option=option("since"), zone=zone)
        last = self.since if self.until is None and self.since is not None and names_month(self.since) else self.until
        until = None if last is None else end_of(last, option=option("until"), zone=zone)
        if since and until and since >= until:
            raise UsageError(f"{option('until')} is before {option('since')}", hint="swap the two dates")
        return RunChoice(conditions_of(self.where, option=option("where")), since, until)

    def reading(self) -> Reading:
        """Return how the runs are read and filtered, validated."""
        return Reading(choice=self.choice(), labels=self.labels(), mapping=self.mapping(), progress=current_progress())


class PriceOptions(Options):
    """Price table for tokens."""

    prices: str = doc(
        "Price table: a built-in name (see: steelyard prices) or a TOML file (default: genai-prices).",
        default=DEFAULT_PRICE_TABLE,
        local=True,
    )


class PricedRunOptions(PriceOptions, RunFilterOptions):
    """Filters for runs, with prices."""

    def reading(self) -> Reading:
        """Return how the runs are read, priced and filtered, validated."""
        return replace(super().reading(), prices=self.prices)


class ReadOptions(PricedRunOptions):
    """Options of `read`."""

    format: str | None = doc("Only files of this format (see: steelyard formats).", default=None)
    engine: EngineName = doc(
        "local, spark, spark://HOST:PORT or sc://HOST:PORT; Spark workers must be able to read the files.",
        default="local",
        local=True,
    )

    def cluster(self) -> Cluster | None:
        """Return the cluster that reads the files, or None for this machine."""
        return reading_cluster(self.engine)

    def mapping(self) -> Mapping | None:
        """Return the mapping, validated, or None."""
        if self.map is not None and self.format is not None:
            raise UsageError(
                f"{option('map')} and {option('format')} are mutually exclusive", hint="remove one of them"
            )
        return super().mapping()
