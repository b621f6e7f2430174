"""The library's options of compare, rank and gate as options of the command line."""

from __future__ import annotations

from dataclasses import dataclass

from cyclopts import Parameter

from steelyard.profiles import DEFAULT
from steelyard.surfaces.cli._options import ProfileOption, Whole
from steelyard.workflow import DifferenceOptions, StandingOptions


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Standing(StandingOptions):
    """On the command line a profile is always a name or a path."""

    seed: Whole | None = None
    resamples: Whole | None = None
    profile: ProfileOption = DEFAULT


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Differing(DifferenceOptions):
    """The same, with the choice of an interval."""

    seed: Whole | None = None
    resamples: Whole | None = None
    profile: ProfileOption = DEFAULT


STANDING = Standing()
DIFFERING = Differing()
