"""Options that verbs share. The sentence under each field is also the help of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.prices import DEFAULT_BOOK
from steelyard.profiles import DEFAULT, Profile, load_profile
from steelyard.workflow._measure import check_profile

if TYPE_CHECKING:
    from steelyard.standings import StatisticsOptions

FEWEST_RESAMPLES, MOST_RESAMPLES = 100, 1_000_000


@dataclass(frozen=True, kw_only=True)
class StandingOptions:
    """How surely and by which constants agents are told apart; shared by compare, rank and gate."""

    level: float = 0.95
    """How often an interval is to hold the true value, as a share."""
    seed: int | None = None
    """Seed of the random draws; the same seed gives the same bytes."""
    resamples: int | None = None
    """How many random draws; 10,000 by default."""
    profile: str | Profile = DEFAULT
    """A shipped profile (steelyard profiles) or a TOML file."""
    prices: str = DEFAULT_BOOK
    """The price book: maintained, seed, or a TOML file."""

    def outcome_profile(self) -> Profile:
        """The profile, read and checked."""
        chosen = self.profile if isinstance(self.profile, Profile) else load_profile(self.profile)
        check_profile(chosen)
        return chosen

    def statistics(self) -> StatisticsOptions:
        """What the statistics take, checked, with the defaults filled in."""
        from steelyard.standings import StatisticsOptions  # brings numpy and scipy
        from steelyard.statistics import RESAMPLES, SEED, check_level

        if self.resamples is not None and not FEWEST_RESAMPLES <= self.resamples <= MOST_RESAMPLES:
            hint = f"give between {FEWEST_RESAMPLES} and {MOST_RESAMPLES:,}"
            raise UsageError(f"{self.resamples} resamples cannot be used", hint=hint)
        if self.seed is not None and self.seed < 0:
            raise UsageError("a seed is a whole number from 0 on")
        return StatisticsOptions(
            level=check_level(self.level),
            seed=SEED if self.seed is None else self.seed,
            resamples=RESAMPLES if self.resamples is None else self.resamples,
            method=self._method(),
        )

    def _method(self) -> str:
        return "auto"


@dataclass(frozen=True, kw_only=True)
class DifferenceOptions(StandingOptions):
    """The same for compare and gate, which also choose how the range of a difference is made."""

    interval: str = "auto"
    """How the range of a difference is made: auto, paired-t, percentile or bca."""

    def _method(self) -> str:
        return self.interval
