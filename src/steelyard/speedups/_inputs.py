"""The constants of a speedup profile, checked once."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from steelyard.errors import ProfileError
from steelyard.option_names import option
from steelyard.profiles import Profile
from steelyard.records import problem_text
from steelyard.suggestions import nearest

AgentOnlyRule = Literal["drop", "baseline", "worst"]
IntervalMethod = Literal["order", "bootstrap"]
VerdictRule = Literal["interval", "asv"]

_Fraction = Annotated[float, msgspec.Meta(gt=0, lt=1)]
_Factor = Annotated[float, msgspec.Meta(ge=1)]


class SpeedupConstants(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a speedup profile sets."""

    agent_only_failures: AgentOnlyRule = "drop"
    """Treatment of benchmarks that fail only with the agent's code."""
    interval_level: _Fraction = 0.95
    """Level of every interval."""
    interval_method: IntervalMethod = "order"
    """Interval method for medians."""
    verdict: VerdictRule = "interval"
    """Rule for faster and slower benchmarks."""
    asv_p: _Fraction = 0.002
    """Significance level of asv's rule."""
    asv_factor: _Factor = 1.1
    """Smallest factor that asv's rule calls a change."""
    resamples: Annotated[int, msgspec.Meta(ge=100, le=1_000_000)] = 2000
    """How often processes or tasks are resampled."""
    seed: int = 20261115
    """Where resampling starts."""
    noise_quantile: _Fraction = 0.95
    """Quantile used as the noise floor."""
    noisy_factor: _Factor = 1.1
    """An interval that extends beyond this factor on both sides is too noisy."""
    max_fraction_limit: _Fraction = 0.2
    """Fraction of the largest item from which on it is a finding."""
    fast_p_points: tuple[float, ...] = (0.5, 1.0, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0)
    """Where the fast_p curve is taken."""
    opt_p_points: tuple[float, ...] = (0.5, 0.75, 0.9, 0.95, 1.0, 1.1)
    """Where the opt_p curve is taken."""
    opt_p_at: float = 0.95
    """Fraction of the reference solution's speed that counts as reaching it."""
    opt_min_speedup: float = 1.2
    """Speedup that counts as clearly faster."""


def options_of(profile: Profile) -> SpeedupConstants:
    """Return the profile's constants; raise for another specification or an unknown constant."""
    if profile.spec != "speedup":
        raise ProfileError(
            f"the profile is for the {profile.spec} specification, not speedup",
            where=profile.name,
            hint=f"use {option('profile', 'speedup-1')}",
        )
    for name in profile.constants:
        if name not in SpeedupConstants.__struct_fields__:
            close = nearest(name, SpeedupConstants.__struct_fields__)
            hint = f"did you mean {close!r}?" if close else None
            raise ProfileError(f"unknown constant {name!r}", where=profile.name, hint=hint)
    try:
        return msgspec.convert(profile.constants, SpeedupConstants)
    except msgspec.ValidationError as error:
        raise ProfileError(problem_text(error), where=profile.name) from error
