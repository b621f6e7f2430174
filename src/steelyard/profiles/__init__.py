"""The versioned constants of each specification."""

from steelyard.profiles._read import (
    DEFAULT,
    FindingLimits,
    Grade,
    Profile,
    load_profile,
    profile_text,
    shipped_profiles,
)

__all__ = ["DEFAULT", "FindingLimits", "Grade", "Profile", "load_profile", "profile_text", "shipped_profiles"]
