"""Profiles: the versioned constants of a specification. Built-in profiles never change."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from steelyard.errors import ProfileError, UnknownNameError
from steelyard.files import errors_as, parse_toml, read_text
from steelyard.records import find_non_finite, problem_text
from steelyard.settings import TEXT_BYTES

DEFAULT = "outcome-1"
Unscored: TypeAlias = Literal["exclude", "fail"]
"""What a run, or an attempt, without a verdict counts as: nothing, or not passed."""
_Scalar: TypeAlias = str | int | float | bool | None
Constant: TypeAlias = _Scalar | list[_Scalar] | dict[str, _Scalar | list[_Scalar] | dict[str, _Scalar | list[_Scalar]]]
"""A constant, or a table of constants that a specification names itself."""
UNSCORED_FAILS = "unscored_fails"
"""The constant that says whether a run without a verdict counts as failed."""
_SHIPPED = Path(__file__).parent


class Grade(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A letter, the score from which it is given, and what it means."""

    grade: str
    at_least: float
    meaning: str


class FindingLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From where on a difference is worth a finding."""

    judge_pass_threshold: float = 0.6
    """A judge's pass below this score, or fail from it on, contradicts itself."""
    judge_score_tolerance: float = 0.01
    """Largest difference between a judge's stated and recomputed score that goes unmentioned."""
    cost_tolerance: float = 0.01
    """Largest relative difference between reported and priced cost that goes unmentioned."""
    duration_tolerance: float = 0.01
    """Largest relative difference between a stated duration and end minus start that goes unmentioned."""


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The constants that made a result."""

    name: str
    """The name a result carries."""
    spec: str
    """The specification whose constants it holds."""
    title: str = ""
    """One line for people."""
    extends: str | None = None
    """A profile whose values hold where this one has none."""
    expected_runs: int | None = None
    """Runs a task should have in a group; another number is a finding. None expects nothing."""
    base_tier: str = "T0"
    """The tier that uplift is measured against."""
    std_dev: Literal["population", "sample"] = "population"
    """Which standard deviation is shown."""
    constants: dict[str, Constant] = {}
    """Constants of metric formulas, by the name of the parameter."""
    findings: FindingLimits = FindingLimits()
    """From where on a difference is mentioned."""
    grades: tuple[Grade, ...] = ()
    """Letters from the highest threshold down."""

    def __post_init__(self) -> None:
        _reject_non_finite(self, self.name)

    def constant(self, name: str, default: float) -> float:
        """The profile's value of a constant, else the declared default."""
        value = self.constants.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ProfileError(f"constant {name!r} must be a number", where=self.name)
        return value

    def with_constant(self, name: str, value: float) -> Profile:
        """The same profile with one constant set."""
        return msgspec.structs.replace(self, constants={**self.constants, name: value})

    @property
    def unscored(self) -> Unscored:
        """What becomes of a run without a verdict: it is left out, or counts as failed."""
        return "fail" if self.constants.get(UNSCORED_FAILS) else "exclude"

    def grade_of(self, score: float) -> Grade:
        """The grade of a score; the lowest one below all thresholds.

        >>> load_profile("outcome-1").grade_of(0.925).grade
        'B'
        """
        if not self.grades:
            raise ProfileError("the profile has no grades", where=self.name)
        return next((grade for grade in self.grades if score >= grade.at_least), self.grades[-1])


@cache
def shipped_profiles() -> tuple[str, ...]:
    """Names of the profiles that come with the package."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.toml")))


def profile_text(name: str) -> str:
    """A shipped profile's file, to be copied and changed."""
    if name not in shipped_profiles():
        raise UnknownNameError("profile", name, shipped_profiles())
    return (_SHIPPED / f"{name}.toml").read_text(encoding="utf-8")


@cache
def _shipped(name: str) -> Profile:
    return _profile(tomllib.loads(profile_text(name)), name)


def default_profile(spec: str) -> Profile | None:
    """The shipped profile that holds where none is named, the first of the specification; None where none is shipped.

    >>> default_profile("outcome").name
    'outcome-1'
    """
    name = f"{spec}-1"
    return _shipped(name) if name in shipped_profiles() else None


def load_profile(name_or_path: str) -> Profile:
    """The profile of that name, or the one in that TOML file.

    >>> load_profile("outcome-1").spec
    'outcome'
    """
    if name_or_path in shipped_profiles():
        return _shipped(name_or_path)
    path = Path(name_or_path)
    if path.suffix != ".toml":
        raise UnknownNameError("profile", name_or_path, shipped_profiles())
    with errors_as(ProfileError):
        values = parse_toml(read_text(path, limit=TEXT_BYTES), path)
    profile = _profile(values, name_or_path)
    if profile.name in shipped_profiles() and profile != _shipped(profile.name):
        message = f"{profile.name!r} is the name of a built-in profile with other values"
        raise ProfileError(message, where=name_or_path, hint='choose another name, such as name = "mine"')
    return profile


def _profile(values: dict[str, Any], where: str) -> Profile:  # Any: TOML values
    parent = values.get("extends")
    if parent is not None:
        if parent not in shipped_profiles():
            raise UnknownNameError("profile to extend", str(parent), shipped_profiles(), where=where)
        values = _merged(_whole(parent), values)
    _reject_non_finite(values, where)
    try:
        profile = msgspec.convert(values, Profile)
    except msgspec.ValidationError as error:
        raise ProfileError(problem_text(error), where=where, hint="steelyard profiles outcome-1") from error
    thresholds = [grade.at_least for grade in profile.grades]
    if thresholds != sorted(thresholds, reverse=True):
        raise ProfileError("grades must be in descending order of at_least", where=where)
    return profile


def _whole(name: str) -> dict[str, Any]:  # Any: TOML values
    """A shipped profile with what it takes from the one that it extends."""
    values = tomllib.loads(profile_text(name))
    parent = values.pop("extends", None)
    return values if parent is None else _merged(_whole(parent), values)


def _reject_non_finite(values: Any, where: str) -> None:  # Any: TOML values, or a profile
    non_finite = find_non_finite(values)
    if non_finite is not None:
        raise ProfileError(f"{non_finite[0]} must be a finite number (got {non_finite[1]})", where=where)


def _merged(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:  # Any: TOML values
    merged = dict(base)
    for key, value in own.items():
        inherited = merged.get(key)
        merged[key] = _merged(inherited, value) if isinstance(inherited, dict) and isinstance(value, dict) else value
    return merged
