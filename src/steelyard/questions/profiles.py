"""List scoring profiles, or print one as TOML.

To define a profile, copy a built-in one to a TOML file and change its name and constants. If NAME is a TOML file, the
output includes inherited values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import counted
from steelyard.profiles import Constant, FindingLimits, Grade, Profile, load_profile, profile_text, shipped_profiles
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._options import ProfileName
from steelyard.questions._question import Options, doc, plain_question

if TYPE_CHECKING:
    from steelyard.pages import Page


class ProfilesOptions(Options):
    """Options of `profiles`."""

    name: ProfileName | None = doc("Profile to print: a built-in name or a TOML file.", default=None, kw_only=False)


class ProfileInfo(Part, frozen=True, kw_only=True):
    """A profile with the values that it inherits."""

    name: str
    specification: str
    title: str
    extends: str | None
    """Profile whose values apply where this one has none; None if there is none."""
    expected_runs: int | None
    """Expected runs per task and group; None if any number is."""
    base_tier: str
    """Tier that uplift is measured against."""
    std_dev: str
    """Standard deviation that is shown: population or sample."""
    constants: dict[str, Constant]
    """Constants of metric formulas."""
    findings: FindingLimits
    """Differences from which a finding is reported."""
    grades: tuple[Grade, ...]
    """Grades from the highest threshold down."""


class Profiles(Answer, frozen=True, kw_only=True):
    """Scoring profiles."""

    rows: ClassVar[Rows] = Rows("profiles", without=("constants",))
    profiles: tuple[ProfileInfo, ...]
    """Built-in profiles by name; only the requested one if a name was given."""

    @property
    def about(self) -> str:
        """Number of profiles."""
        return counted(len(self.profiles), "profile")


@plain_question(ProfilesOptions, examples=({}, {"name": "outcome-1"}))
def profiles(options: ProfilesOptions) -> Profiles:
    """Return the built-in scoring profiles, or one profile.

    >>> profiles("outcome-1").profiles[0].constants["pass_weight"]
    0.5
    """
    chosen = shipped_profiles() if options.name is None else (options.name,)
    return Profiles(profiles=tuple(_info(each) for each in chosen))


def _info(named: ProfileName) -> ProfileInfo:
    profile = named if isinstance(named, Profile) else load_profile(named)
    return ProfileInfo(
        name=profile.name,
        specification=profile.spec,
        title=profile.title,
        extends=profile.extends,
        expected_runs=profile.expected_runs,
        base_tier=profile.base_tier,
        std_dev=profile.std_dev,
        constants=profile.constants,
        findings=profile.findings,
        grades=profile.grades,
    )


def page(answer: Profiles) -> Page:
    """Return one row per profile, the TOML of a built-in one, or the values of another one."""
    made = pages.catalog_page(
        "profiles",
        title="Which constants do the metrics use?",
        answer=f"{answer.about}.",
        entries=answer.to_dict()["profiles"],
        columns={"name": 0, "specification": 1, "title": 0},
    )
    (first, *others) = answer.profiles
    if others or first.name not in shipped_profiles() or made.table is None:
        return made
    # The text in a terminal is the file, so that it can be redirected to one.
    toml = pages.LongText(heading=f"# {first.name}.toml", text=profile_text(first.name), is_open=True)
    return replace(made, answer="", table=replace(made.table, is_folded=True), texts=(toml,))
