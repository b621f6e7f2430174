"""Keys of groups: the default, how many groups an answer may have, and tiers of two schemes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.formatting import counted
from steelyard.option_names import option
from steelyard.records import Finding, tier_meaning, tier_text
from steelyard.settings import GROUP_VALUES

if TYPE_CHECKING:
    from steelyard.sources import RunTable

VARYING = ("agent", "model", "tier")
"""Keys that identify a configuration."""


def default_keys(table: RunTable) -> tuple[str, ...]:
    """Return the keys to group by if the user names none: those of a configuration that vary, else the experiment."""
    present = [name for name in (*VARYING, "experiment") if name in table.frame.collect_schema().names()]
    columns = table.frame.select(present).collect()
    varying = [name for name in present if columns[name].n_unique() > 1]
    return tuple(name for name in VARYING if name in varying) or tuple(varying) or ("agent", "model")


def check_group_values(groups: int, values: int, what: str) -> None:
    """Reject more groups than fit in memory: each value of a group is one record."""
    if groups > 1 and groups * values > GROUP_VALUES.most:
        raise UsageError(
            f"too many groups: {groups:,} groups x {counted(values, what)} (at most {GROUP_VALUES.most:,} values)",
            hint=f"group by fewer keys, or set {GROUP_VALUES.setting} to a larger number",
        )


def keys_with_scheme(by: Sequence[str], schemes: Sequence[str]) -> tuple[list[str], str | None, list[Finding]]:
    """Return the keys, with the scheme added if tiers belong to several; else the only scheme."""
    keys = list(by)
    if "tier" not in keys or "tier_scheme" in keys or not schemes:
        return keys, None, []
    if len(schemes) == 1:
        return keys, schemes[0], []
    position = keys.index("tier")
    message = f"tiers belong to {len(schemes)} schemes ({', '.join(schemes)}); each scheme is reported separately"
    return (
        [*keys[:position], "tier_scheme", *keys[position:]],
        None,
        [Finding(code="tier_schemes", message=message)],
    )


def tier_name(key: Mapping[str, str | int | None], tier_scheme: str | None) -> str | None:
    """Return the meaning of the tier of a key; None without a tier or in a scheme that does not define it."""
    scheme = key.get("tier_scheme", tier_scheme)
    return tier_meaning(str(key.get("tier")), None if scheme is None else str(scheme))


def compared_schemes(sides: Iterable[tuple[Mapping[str, str], Sequence[str]]]) -> list[Finding]:
    """Reject sides chosen by tier whose runs are of several schemes, unless every side names its scheme.

    Each side is what chose its runs, and the schemes of their tiers.
    """
    by_tier = [(chosen, schemes) for chosen, schemes in sides if "tier" in chosen]
    schemes = sorted({scheme for _, own in by_tier for scheme in own})
    if len(schemes) < 2:
        return []
    names = ", ".join(schemes)
    unnamed = next((chosen["tier"] for chosen, _ in by_tier if "tier_scheme" not in chosen), None)
    if unnamed is None:
        message = f"the sides use {len(schemes)} tier schemes ({names})"
        return [Finding(code="tier_schemes", message=message)]
    means = " and ".join(f"{tier_text(unnamed, scheme)} in {scheme}" for scheme in schemes)
    raise UsageError(
        f"the tiers belong to {len(schemes)} schemes: {means}",
        hint=f"add {option('where', f'tier_scheme={schemes[0]}')}, or use tier={unnamed},tier_scheme={schemes[0]}",
    )
