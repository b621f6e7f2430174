"""Whether a profile is one for runs."""

from __future__ import annotations

from typing import Any

from steelyard.errors import UnknownNameError, UsageError
from steelyard.profiles import Profile
from steelyard.records import sum_in_order


def check_profile(profile: Profile) -> None:
    """Reject a profile of another specification, or with a constant that no formula has."""
    if profile.spec != "outcome":
        raise UsageError(
            f"profile {profile.name!r} is for the {profile.spec} specification",
            hint="use an outcome profile (see: steelyard profiles)",
        )
    from steelyard.metrics import catalog, constants_of  # half the time it takes to start, and `read` needs neither

    known: dict[str, Any] = catalog().constants()
    for name in profile.constants:
        if name not in known:
            raise UnknownNameError("constant", name, known, where=profile.name)
    weights = constants_of(catalog()["composite_score"], profile).values()
    if min(weights) < 0 or sum_in_order(weights) <= 0:
        message = "pass_weight and impl_weight must be non-negative and have a positive sum"
        raise UsageError(message, where=profile.name)
