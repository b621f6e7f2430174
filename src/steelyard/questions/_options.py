"""Options of the commands, declared once: each field is a keyword in Python and an option of the command line.

The sentence under a field is its help in both. Shared options are in the base classes.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from steelyard.errors import UsageError
from steelyard.prices import DEFAULT_PRICE_TABLE
from steelyard.profiles import Profile
from steelyard.questions._opening_runs import EngineName, Progress, Reading, open_mapping, reading_cluster
from steelyard.records import (
    Chosen,
    Labels,
    RunChoice,
    Zone,
    conditions_of,
    end_of,
    labels_of,
    moment_of,
    names_month,
)

if TYPE_CHECKING:
    from steelyard.mappings import Mapping
    from steelyard.tables import Cluster

Names: TypeAlias = Annotated[Sequence[str], "comma-separated"]
"""Several names, or one comma-separated string."""
ManyChosen: TypeAlias = Chosen | Sequence[Chosen]
"""One filter or several; repeatable on the command line."""
Texts: TypeAlias = Annotated[Sequence[str], "repeated"]
"""One string or several; repeatable on the command line."""
Moment: TypeAlias = str | date | None
"""A date or a time."""
MapName: TypeAlias = str | PathLike[str] | AbstractMapping[str, Any] | None  # Any: TOML values
"""A built-in mapping, a TOML file, or the values of a mapping."""
ProfileName: TypeAlias = str | Profile
"""A profile, its name, or a TOML file."""


def split_names(text: str) -> list[str]:
    """Split comma-separated names.

    >>> split_names("tier, agent")
    ['tier', 'agent']
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if text and not names:
        raise UsageError(f"{text!r} contains no name", hint="use comma-separated names")
    return names


class Options:
    """Base of options: equality, hash and repr by fields. Generating them per class slows down every start."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Accept one string for several names, as the command line does: `by="tier,agent"`, `rule="..."`."""
        for option in fields(self):  # type: ignore[arg-type] # every options class is a dataclass
            value = vars(self)[option.name]
            if option.type in ("Names", "Texts") and isinstance(value, (str, PathLike)):
                several = split_names(str(value)) if option.type == "Names" else [value]
                object.__setattr__(self, option.name, tuple(several))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LabelOptions(Options):
    """Fields to set on every run."""

    set: ManyChosen = ()
    """Set a field on every run; repeatable. In VALUE, {file} is the file name, {stem} the file name without extension,
    {folder} the name of the directory that contains the file, and {folder[1]} the name of its parent directory."""

    def labels(self) -> Labels:
        """Return the labels, validated."""
        return labels_of(self.set)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MapOptions(LabelOptions):
    """Mapping for files of unknown formats."""

    map: MapName = None
    """Mapping for custom CSV/JSON: a TOML file or a built-in name (see: steelyard mapping)."""

    def mapping(self) -> Mapping | None:
        """Return the mapping, validated, or None."""
        return None if self.map is None else open_mapping(self.map)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunOptions(MapOptions):
    """Filters for runs."""

    where: ManyChosen = ()
    """KEY=VALUE or KEY!=VALUE; comma-separated or repeatable."""
    since: Moment = None
    """Only runs started on or after this date or time (2026-10-01, 30d, yesterday). A month (2026-10)
    selects only that month."""
    until: Moment = None
    """Only runs started up to and including this date or month, or before this time."""

    def choice(self, zone: Zone = UTC) -> RunChoice:
        """Return the filter, validated; dates are in the given time zone."""
        since = None if self.since is None else moment_of(self.since, option="--since", zone=zone)
        last = self.since if self.until is None and self.since is not None and names_month(self.since) else self.until
        until = None if last is None else end_of(last, option="--until", zone=zone)
        if since and until and since >= until:
            raise UsageError("--until is before --since", hint="swap the two dates")
        return RunChoice(conditions_of(self.where, option="--where"), since, until)

    def reading(self, progress: Progress | None = None) -> Reading:
        """Return how the runs are read and filtered, validated."""
        return Reading(choice=self.choice(), labels=self.labels(), mapping=self.mapping(), progress=progress)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PriceOptions(Options):
    """Price table for tokens."""

    prices: str = DEFAULT_PRICE_TABLE
    """Price table: a built-in name (see: steelyard prices) or a TOML file (default: genai-prices)."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PricedRunOptions(PriceOptions, RunOptions):
    """Filters for runs, with prices."""

    def reading(self, progress: Progress | None = None) -> Reading:
        """Return how the runs are read, priced and filtered, validated."""
        return replace(super().reading(progress), prices=self.prices)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReadOptions(PricedRunOptions):
    """Options of `read`."""

    format: str | None = None
    """Only files of this format (see: steelyard formats)."""
    engine: EngineName = "local"
    """local, spark, spark://HOST:PORT or sc://HOST:PORT; Spark workers must be able to read the files."""

    def cluster(self) -> Cluster | None:
        """Return the cluster that reads the files, or None for this machine."""
        return reading_cluster(self.engine)

    def mapping(self) -> Mapping | None:
        """Return the mapping, validated, or None."""
        if self.map is not None and self.format is not None:
            raise UsageError("--map and --format are mutually exclusive", hint="remove one of them")
        return super().mapping()
