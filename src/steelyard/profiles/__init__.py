"""The versioned constants of each specification."""

from steelyard.profiles._read import DEFAULT, Profile, load_profile, profile_text, shipped_profiles

__all__ = ["DEFAULT", "Profile", "load_profile", "profile_text", "shipped_profiles"]
