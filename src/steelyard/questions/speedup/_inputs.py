"""Inputs of `speedup`: the constants of a profile and the files of a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from steelyard.errors import ProfileError, UsageError
from steelyard.option_names import option
from steelyard.profiles import Profile, load_profile
from steelyard.records import problem_text
from steelyard.settings import is_stdin, named_path
from steelyard.suggestions import nearest

AgentOnlyRule = Literal["drop", "baseline", "worst"]
IntervalMethod = Literal["order", "bootstrap"]
VerdictRule = Literal["interval", "asv"]
BUILT_IN = "speedup-1"
"""Profile with the constants that another profile does not set."""

_Fraction = Annotated[float, msgspec.Meta(gt=0, lt=1)]
_Factor = Annotated[float, msgspec.Meta(ge=1)]


class SpeedupConstants(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Constants of a speedup profile. The values are in `profiles/speedup-1.toml`."""

    agent_only_failures: AgentOnlyRule
    """Treatment of benchmarks that fail only with the agent's code."""
    interval_level: _Fraction
    """Level of every interval."""
    interval_method: IntervalMethod
    """Interval method for medians."""
    verdict: VerdictRule
    """Rule for faster and slower benchmarks."""
    minimum_effect: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Relative change that a verdict must exceed; without it 5%, or 2% with two or more processes per side."""
    asv_p: _Fraction
    """Significance level of asv's rule."""
    asv_factor: _Factor
    """Smallest factor that asv's rule calls a change."""
    resamples: Annotated[int, msgspec.Meta(ge=100, le=1_000_000)]
    """Number of resamples of processes or tasks."""
    seed: int
    """Random seed."""
    noise_quantile: _Fraction
    """Quantile used as the noise floor."""
    noisy_factor: _Factor
    """An interval that extends beyond this factor on both sides is too noisy."""
    max_fraction_limit: _Fraction
    """Fraction of the largest item at or above which it is a finding."""
    fast_p_points: tuple[float, ...]
    """Thresholds of the fast_p curve."""
    opt_p_points: tuple[float, ...]
    """Thresholds of the opt_p curve."""
    opt_p_at: float
    """Fraction of the reference solution's speed that counts as reaching it."""
    opt_min_speedup: float
    """Speedup that counts as clearly faster."""


def speedup_constants(**changes: Any) -> SpeedupConstants:  # Any: values of constants
    """Return the constants of the built-in profile, with changes."""
    return msgspec.convert(load_profile(BUILT_IN).constants | changes, SpeedupConstants)


def options_of(profile: Profile) -> SpeedupConstants:
    """Return the profile's constants; raise for another specification or an unknown constant."""
    if profile.spec != "speedup":
        raise ProfileError(
            f"the profile is for the {profile.spec} specification, not speedup",
            where=profile.name,
            hint=f"use {option('profile', BUILT_IN)}",
        )
    for name in profile.constants:
        if name not in SpeedupConstants.__struct_fields__:
            close = nearest(name, SpeedupConstants.__struct_fields__)
            hint = f"did you mean {close!r}?" if close else None
            raise ProfileError(f"unknown constant {name!r}", where=profile.name, hint=hint)
    try:
        return speedup_constants(**profile.constants)
    except msgspec.ValidationError as error:
        raise ProfileError(problem_text(error), where=profile.name) from error


@dataclass(frozen=True, kw_only=True)
class TaskFiles:
    """The files of one task."""

    nop: Path
    """Timings of the unchanged code."""
    agents: Mapping[str, Path]
    """Timings under each agent's change, by `agent:model`."""
    oracle: Path | None = None
    """Timings of the reference solution; advantages are missing without it."""
    nop_repeat: Path | None = None
    """Second measurement of the unchanged code, for the noise floor."""
    tests: Path | None = None
    """Test results by `agent:model` and `oracle` (JSON); or one agent's test report (JUnit XML and others)."""
    test_reports: Mapping[str, Path] = field(default_factory=dict)
    """Test reports by `agent:model` and `oracle`."""
    snapshot: Path | None = None
    """Snapshot results by `agent:model` and `oracle`."""
    runs: Path | None = None
    """`cost_usd` and `trajectory_length` by `agent:model`."""
    logs: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    """Logs and recordings of each agent, to count its interactions in."""
    task: str = "task"
    """The task's name."""

    def __post_init__(self) -> None:
        """Convert paths given as strings."""
        for name in ("nop", "oracle", "nop_repeat", "tests", "snapshot", "runs"):
            if isinstance(given := getattr(self, name), str):
                object.__setattr__(self, name, named_path(given))
        for name in ("agents", "test_reports"):
            object.__setattr__(self, name, {key: named_path(path) for key, path in getattr(self, name).items()})
        object.__setattr__(
            self, "logs", {key: [named_path(path) for path in paths] for key, paths in self.logs.items()}
        )
        given = (
            *(self.nop, self.oracle, self.nop_repeat, self.tests, self.snapshot, self.runs),
            *(*self.agents.values(), *self.test_reports.values()),
        )
        if sum(path is not None and is_stdin(path) for path in given) > 1:
            raise UsageError("only one file can be read from stdin", hint="pass the others as files")
