"""The options of each verb, declared once: fields are keywords in Python and options of the command line.

The sentence under a field is its help in both. What several verbs share stands in the classes they are made from.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from steelyard.errors import UsageError
from steelyard.prices import DEFAULT_BOOK
from steelyard.profiles import DEFAULT, UNSCORED_FAILS, Profile, Unscored, load_profile
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
from steelyard.statistics import WeightBy
from steelyard.workflow._checking_profiles import check_profile
from steelyard.workflow._opening_runs import EngineName, Measurable, Progress, Reading, open_mapping, reading_cluster

if TYPE_CHECKING:
    from steelyard.mappings import Mapping
    from steelyard.standings import StatisticsOptions
    from steelyard.tables import Cluster

FEWEST_RESAMPLES, MOST_RESAMPLES = 100, 1_000_000
CONFIDENCE = 0.95

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
    """Read files by this mapping alone: a TOML file (steelyard map proposes one) or a shipped mapping's name."""

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
class ProfileOptions(Options):
    """By which constants runs are measured."""

    profile: ProfileName = DEFAULT
    """A shipped profile (steelyard profiles) or a TOML file."""

    def outcome_profile(self) -> Profile:
        """The profile, read and checked."""
        chosen = self.profile if isinstance(self.profile, Profile) else load_profile(self.profile)
        check_profile(chosen)
        return chosen


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VerdictOptions(ProfileOptions):
    """The same where runs without a verdict matter."""

    unscored: Unscored = "exclude"
    """What a run without a verdict counts as: left out, or failed as most benchmarks publish it."""

    def outcome_profile(self) -> Profile:
        """The profile, with what it makes of a run without a verdict."""
        chosen = super().outcome_profile()
        return chosen if self.unscored == "exclude" else chosen.with_constant(UNSCORED_FAILS, 1)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PriceOptions(Options):
    """By which prices tokens are priced."""

    prices: str = DEFAULT_BOOK
    """The price book: maintained, seed, or a TOML file."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PricedRunOptions(PriceOptions, RunOptions):
    """Which runs count, priced."""

    def reading(self, progress: Progress | None = None) -> Reading:
        """How the runs are read, priced and chosen, checked."""
        return replace(super().reading(progress), prices=self.prices)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EngineOptions(PricedRunOptions):
    """Which runs count, priced, and what evaluates metrics over them."""

    engine: EngineName = "auto"
    """The engine that evaluates metrics: local, duckdb (larger than memory), spark, spark://HOST:PORT or sc://HOST;
    auto takes DuckDB where the runs would not fit into memory."""

    def reading(self, progress: Progress | None = None) -> Reading:
        """How the runs are read, chosen and evaluated, checked."""
        if self.engine not in ("auto", "local"):
            from steelyard.engines import check_engine  # brings numpy and Polars

            check_engine(self.engine)
        return replace(super().reading(progress), engine=self.engine)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ConfidenceOptions(Options):
    """How sure the answer is to be."""

    confidence: float = CONFIDENCE
    """The confidence level of intervals, as a share."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DrawOptions(ConfidenceOptions):
    """The same where random draws are made."""

    seed: int | None = None
    """Seed of the random draws; the same seed gives the same bytes."""
    resamples: int | None = None
    """How many random draws; 10,000 by default."""
    weight_by: WeightBy = "tasks"
    """What counts once in means and shares: tasks, however often each was tried, or runs."""

    def statistics(self, method: str = "auto") -> StatisticsOptions:
        """What the statistics take, checked, with the defaults filled in."""
        from steelyard.standings import StatisticsOptions  # brings numpy and scipy
        from steelyard.statistics import RESAMPLES, SEED, check_level

        if self.resamples is not None and not FEWEST_RESAMPLES <= self.resamples <= MOST_RESAMPLES:
            hint = f"give between {FEWEST_RESAMPLES} and {MOST_RESAMPLES:,}"
            raise UsageError(f"{self.resamples} resamples cannot be used", hint=hint)
        if self.seed is not None and self.seed < 0:
            raise UsageError("a seed is a whole number from 0 on")
        return StatisticsOptions(
            level=check_level(self.confidence),
            seed=SEED if self.seed is None else self.seed,
            resamples=RESAMPLES if self.resamples is None else self.resamples,
            method=method,
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DifferenceOptions(DrawOptions):
    """The same where two sides are compared."""

    interval: str = "auto"
    """How the interval of a difference is computed: auto, paired-t, percentile or bca."""


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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MeasureOptions(VerdictOptions, ConfidenceOptions, EngineOptions):
    """What `measure` measures."""

    by: Names = ()
    """What to group by, separated by commas: tier, agent, model, task, experiment, ..."""
    metrics: Names = ()
    """Only these metrics, separated by commas."""
    interval: str = "none"
    """How each figure's interval is computed: auto, none, or a method (wilson, clustered, bca, ...)."""
    base_tier: str | None = None
    """The tier that uplift is measured against; T0 by default."""
    weight_by: WeightBy = "runs"
    """What counts once in means and shares: runs, or tasks however often each was tried."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompareOptions(VerdictOptions, DifferenceOptions, EngineOptions):
    """What `compare` compares."""

    a: Chosen
    """The runs to compare with: agent=NAME,model=NAME,tier=T0, ..."""
    b: ManyChosen
    """The runs compared with them; may be repeated."""
    metrics: Names = ()
    """Only these metrics, separated by commas."""
    correction: Literal["holm", "bh", "none"] = "holm"
    """How p-values account for the number of comparisons."""
    detect: float | None = None
    """Also say how many tasks a true difference of this size would take, in the metric's unit: 0.05 is five points."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RankOptions(VerdictOptions, DrawOptions, EngineOptions):
    """What `rank` ranks."""

    by: Names = ("agent", "model")
    """What to rank, separated by commas: agent, model, tier, experiment, ..."""
    metrics: Names = ()
    """The metric to rank by, then those to show beside it; by default the score that most runs have."""
    order: Literal["mean", "bradley-terry", "ranked-pairs"] = "mean"
    """By mean over tasks, or by who beats whom task by task."""
    min_coverage: float = 0.5
    """Leave out groups that tried a smaller share of the tasks."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MatrixOptions(VerdictOptions, EngineOptions):
    """What `matrix` shows."""

    by: Names = ("agent", "model")
    """The columns, separated by commas: agent, model, tier, experiment, ..."""
    metrics: Names = ("pass_rate",)
    """The metric of each cell, exactly one."""
    sort: Literal["difficulty", "discrimination", "disagreement", "task"] = "difficulty"
    """Which tasks come first: the hardest, those that agree most with the others about who is ahead, those on which
    two groups differ most, or by name."""
    a: Chosen | None = None
    """The group that differences are taken from: agent=NAME,model=NAME; where there are two groups, the first."""
    b: Chosen | None = None
    """The group that is compared with it."""
    weight_by: WeightBy = "tasks"
    """What counts once in a group's own value: tasks, however often each was tried, or runs."""


SECTIONS = (
    "board",
    "measure",
    "compare",
    "judges",
    "repeat",
    "speedup",
    "usage",
    "coverage",
    "findings",
    "runs",
    "outputs",
)
"""What a report may hold, in its order."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReportOptions(RankOptions):
    """What `report` holds."""

    by: Names = ()
    """What to rank and compare, separated by commas; by default those of agent, model and tier that differ."""
    metrics: Names = ()
    """The metric to rank by; by default the score that most runs have."""
    title: str | None = None
    """The title of the report."""
    sections: Names = ()
    """Only these: board, measure, compare, judges, repeat, speedup, usage, coverage, findings, runs, outputs."""
    with_outputs: bool = False
    """Show what the agents wrote, up to 64,000 characters each."""
    redact: bool = True
    """Remove keys and tokens from all text."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GateOptions(VerdictOptions, DifferenceOptions, EngineOptions):
    """What `gate` checks."""

    rule: Texts
    """A limit: "pass_rate >= 0.45", "pass_rate >= baseline - 0.02", "cost_usd <= baseline * 1.1"; may be repeated."""
    baseline: Measurable | None = None
    """Run records of the baseline, for rules that name it; may be repeated."""
    inconclusive: Literal["pass", "fail", "report"] = "report"
    """What an inconclusive gate is: passed (exit 0), failed (exit 3), or reported (exit 4)."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class JudgesOptions(ProfileOptions, ConfidenceOptions, RunOptions):
    """What `judges` examines."""

    by: Names = ("agent", "model")
    """Groups whose scores are compared, separated by commas: agent, model, tier, experiment, ..."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ExplainOptions(VerdictOptions, PricedRunOptions):
    """What `explain` explains."""

    metric: str = field(kw_only=False)
    """The metric to explain (steelyard metrics)."""
    run: str | None = None
    """The run's id, or the beginning of it; in a store, the submission's."""
    by: Names = ()
    """Explain the metric in each of these groups, separated by commas."""
    weight_by: WeightBy = "runs"
    """What counts once in a group's means and shares: runs, or tasks however often each was tried."""
