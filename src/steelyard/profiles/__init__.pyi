from ._profile_files import (
    DEFAULT as DEFAULT,
    UNSCORED_FAILS as UNSCORED_FAILS,
    Constant as Constant,
    FindingLimits as FindingLimits,
    Grade as Grade,
    Profile as Profile,
    Unscored as Unscored,
    default_profile as default_profile,
    load_profile as load_profile,
    profile_text as profile_text,
    shipped_profiles as shipped_profiles,
)
