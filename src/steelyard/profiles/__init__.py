"""The versioned constants of each specification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.profiles._profile_files import (
        DEFAULT as DEFAULT,
        UNSCORED_FAILS as UNSCORED_FAILS,
        FindingLimits as FindingLimits,
        Grade as Grade,
        Profile as Profile,
        Unscored as Unscored,
        default_profile as default_profile,
        load_profile as load_profile,
        profile_text as profile_text,
        shipped_profiles as shipped_profiles,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
