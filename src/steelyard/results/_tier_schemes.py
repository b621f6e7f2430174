"""Scheme and meaning of the tiers in keys."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.records import tier_meaning


def scheme_dict(tier_scheme: str | None) -> dict[str, str]:
    """Return the scheme of all tiers, for keys that do not contain it."""
    return {} if tier_scheme is None else {"tier_scheme": tier_scheme}


def tier_name_dict(key: Mapping[str, str | int | None], tier_scheme: str | None) -> dict[str, str]:
    """Return the meaning of the tier of a key, if its scheme defines one."""
    scheme = key.get("tier_scheme", tier_scheme)
    meaning = tier_meaning(str(key.get("tier")), None if scheme is None else str(scheme))
    return {} if meaning is None else {"tier_name": meaning}
