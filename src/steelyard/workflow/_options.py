"""The options of each verb, declared once: fields are keywords in Python and options of the command line.

The sentence under a field is its help in both. What several verbs share stands in the classes they are made from.
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
from steelyard.workflow._opening_runs import EngineName, Progress, Reading, open_mapping, reading_cluster

if TYPE_CHECKING:
    from steelyard.mappings import Mapping
    from steelyard.tables import Cluster

Names: TypeAlias = Annotated[Sequence[str], "separated by commas"]
"""Several names, or one text with commas as on the command line."""
ManyChosen: TypeAlias = Chosen | Sequence[Chosen]
"""One choice of runs or several; on the command line the option is repeated."""
Texts: TypeAlias = Annotated[Sequence[str], "repeated"]
"""Several texts, or one; on the command line the option is repeated."""
Moment: TypeAlias = str | date | None
"""A day or a time."""
MapName: TypeAlias = str | PathLike[str] | AbstractMapping[str, Any] | None  # Any: TOML values
"""A shipped mapping's name, a TOML file, or a mapping's own values."""
ProfileName: TypeAlias = str | Profile
"""A profile, or what names one."""


def split_names(text: str) -> list[str]:
    """Names separated by commas.

    >>> split_names("tier, agent")
    ['tier', 'agent']
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if text and not names:
        raise UsageError(f"{text!r} names nothing", hint="names separated by commas")
    return names


class Options:
    """Compares and shows by fields. Generated for each class, these methods took a tenth of a command's start."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Take one text for several names or texts, as the command line does: `by="tier,agent"`, `rule="..."`."""
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
    """What is set in every run that is read."""

    set: ManyChosen = ()
    """Set KEY=VALUE in every run; {folder}, {folder[1]}, {file} and {stem} are parts of its path; may be repeated."""

    def labels(self) -> Labels:
        """What these options say, checked."""
        return labels_of(self.set)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MapOptions(LabelOptions):
    """How files of no known format become runs."""

    map: MapName = None
    """Mapping for custom CSV/JSON: a TOML file or a built-in name (see: steelyard mapping)."""

    def mapping(self) -> Mapping | None:
        """The mapping, read and checked; None where none is given."""
        return None if self.map is None else open_mapping(self.map)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunOptions(MapOptions):
    """Which runs count."""

    where: ManyChosen = ()
    """Only runs with KEY=VALUE, or without it: KEY!=VALUE; may be repeated, or several separated by commas."""
    since: Moment = None
    """Only runs that started on this day (or at this time) or later; 30d and 1m work too. A month (2026-10, "last
    month") is that month alone unless --until is given."""
    until: Moment = None
    """Only runs that started on this day or earlier (a month counts whole), or before this time."""

    def choice(self, zone: Zone = UTC) -> RunChoice:
        """What these options say, checked; a day is one of the zone's."""
        since = None if self.since is None else moment_of(self.since, option="--since", zone=zone)
        last = self.since if self.until is None and self.since is not None and names_month(self.since) else self.until
        until = None if last is None else end_of(last, option="--until", zone=zone)
        if since and until and since >= until:
            raise UsageError("--until lies before --since, so no run can count", hint="--since names the earlier")
        return RunChoice(conditions_of(self.where, option="--where"), since, until)

    def reading(self, progress: Progress | None = None) -> Reading:
        """How the runs are read and which count, checked."""
        return Reading(choice=self.choice(), labels=self.labels(), mapping=self.mapping(), progress=progress)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PriceOptions(Options):
    """By which prices tokens are priced."""

    prices: str = DEFAULT_PRICE_TABLE
    """Price table: genai-prices, spec or a TOML file (default: genai-prices)."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PricedRunOptions(PriceOptions, RunOptions):
    """Which runs count, priced."""

    def reading(self, progress: Progress | None = None) -> Reading:
        """How the runs are read, priced and chosen, checked."""
        return replace(super().reading(progress), prices=self.prices)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReadOptions(PricedRunOptions):
    """What `read` reads."""

    format: str | None = None
    """Only files of this format (steelyard formats lists them)."""
    engine: EngineName = "local"
    """Where to read: local, or a cluster whose workers see the files: spark, spark://HOST:PORT or sc://HOST:PORT."""

    def cluster(self) -> Cluster | None:
        """Where files are read; None where this machine reads them."""
        return reading_cluster(self.engine)

    def mapping(self) -> Mapping | None:
        """The mapping, read and checked; None where none is given."""
        if self.map is not None and self.format is not None:
            raise UsageError("--map and --format both say how files are read", hint="leave one of them out")
        return super().mapping()
