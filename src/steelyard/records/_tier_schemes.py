"""Tier schemes: the same "T2" means skills in one and tooling in another, so a tier is never compared across them."""

from __future__ import annotations

DEFAULT_SCHEME = "spec"

SCHEMES: dict[str, dict[str, str]] = {
    "spec": {
        "T0": "vanilla",
        "T1": "prompted",
        "T2": "skills",
        "T3": "tooling",
        "T4": "delegation",
        "T5": "hierarchy",
        "T6": "hybrid",
    },
    "scylla-2026": {
        "T0": "prompts",
        "T1": "skills",
        "T2": "tooling",
        "T3": "delegation",
        "T4": "hierarchy",
        "T5": "hybrid",
        "T6": "super",
    },
}


def tier_problem(tier: str, scheme: str) -> str | None:
    """Return why `tier` is not in `scheme`; None when it can. A scheme of the user's own holds any names.

    >>> tier_problem("T9", "spec")
    "tier 'T9' is not in scheme 'spec' (T0 to T6)"
    >>> tier_problem("gold", "our-tiers") is None
    True
    """
    known = SCHEMES.get(scheme)
    if known is None or tier in known:
        return None
    names = list(known)
    return f"tier {tier!r} is not in scheme {scheme!r} ({names[0]} to {names[-1]})"


def tier_meaning(tier: str, scheme: str | None) -> str | None:
    """Return the meaning of the tier in its scheme; None in a scheme of the user's or an unknown one."""
    return None if scheme is None else SCHEMES.get(scheme, {}).get(tier)


def tier_text(tier: str, scheme: str | None) -> str:
    """The tier as people read it, with its meaning.

    >>> tier_text("T2", "spec"), tier_text("T2", "scylla-2026"), tier_text("gold", "our-tiers")
    ('T2 skills', 'T2 tooling', 'gold')
    """
    meaning = tier_meaning(tier, scheme)
    return f"{tier} {meaning}" if meaning else tier
