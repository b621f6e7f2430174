"""Laws of every profile that ships, and of those that users make from them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steelyard.errors import ProfileError
from steelyard.profiles import FindingLimits, Profile, load_profile, profile_text, shipped_profiles


def numbers_in(values: Any, *place: Any) -> Iterator[tuple[Any, ...]]:
    """Where in the profile a number stands."""
    if isinstance(values, bool):
        return
    if isinstance(values, (int, float)):
        yield place
    elif isinstance(values, (dict, list)):
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            yield from numbers_in(value, *place, key)


def toml_of(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml_of(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    return msgspec.json.encode(value).decode() if isinstance(value, str) else str(value)


def profile_with(name: str, place: tuple[Any, ...], number: float) -> str:
    """The shipped profile as TOML with this number in that place, under a name of its own."""
    values: dict[str, Any] = tomllib.loads(profile_text(name)) | {"name": "mine"}
    inner: Any = values
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = number
    return "\n".join(f"{key} = {toml_of(value)}" for key, value in values.items())


PLACES = [(name, place) for name in shipped_profiles() for place in numbers_in(tomllib.loads(profile_text(name)))]


def test_the_places_of_numbers_are_found() -> None:
    assert {name for name, _ in PLACES} == set(shipped_profiles())
    assert ("arena-1", ("constants", "baseline", "max_tokens")) in PLACES
    assert ("outcome-1", ("grades", 0, "at_least")) in PLACES


@pytest.mark.parametrize(("name", "place"), PLACES, ids=[".".join(map(str, (n, *p))) for n, p in PLACES])
def test_a_number_of_a_profile_is_finite(name: str, place: tuple[Any, ...], tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    for number in (float("nan"), float("inf"), float("-inf"), 10**400):
        path.write_text(profile_with(name, place, number))
        with pytest.raises(ProfileError, match="must be a finite number") as caught:
            load_profile(str(path))
        assert caught.value.where == str(path)
        assert [key for key in place if isinstance(key, str)][-1] in caught.value.message


def test_a_profile_made_by_a_program_is_held_to_the_same_rule() -> None:
    with pytest.raises(ProfileError, match=r"tau must be a finite number \(got nan\)"):
        Profile(name="mine", spec="repeatability", constants={"tau": float("nan")})
    held = load_profile("arena-1")
    with pytest.raises(ProfileError, match=r"baseline\.max_cost must be a finite number \(got inf\)"):
        msgspec.structs.replace(held, constants={"baseline": {"max_cost": float("inf")}})


@pytest.mark.parametrize("name", [name for name in shipped_profiles() if load_profile(name).grades])
def test_a_grade_begins_at_its_threshold(name: str) -> None:
    profile = load_profile(name)
    for grade, lower in zip(profile.grades, [*profile.grades[1:], profile.grades[-1]], strict=True):
        assert profile.grade_of(grade.at_least) == grade
        assert profile.grade_of(grade.at_least - 1e-9) == lower


def test_a_profile_that_extends_another_keeps_what_it_does_not_name(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('name = "mine"\nspec = "outcome"\nextends = "outcome-1"\n[constants]\npass_weight = 0.9\n')
    parent = load_profile("outcome-1")
    assert len(parent.constants) > 1
    assert load_profile(str(own)).constants == parent.constants | {"pass_weight": 0.9}
    assert load_profile(str(own)).grades == parent.grades


@pytest.mark.parametrize("name", shipped_profiles())
def test_finding_limits_of_built_in_profiles_are_the_defaults(name: str) -> None:
    assert load_profile(name).findings == FindingLimits()
