"""Suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

CUTOFF, SHORT_CUTOFF = 0.7, 0.65
"""Similarity from which a name is suggested; a typo changes more of a name with three characters."""
MIN_PREFIX_LENGTH = 3
"""Length from which a name is suggested because it starts with the unknown one."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to `name`, or None if no name is close.

    Case, spaces and hyphens do not matter. A name that starts with `name` or has it as a word is preferred to one
    that is only spelled alike.

    >>> nearest("cost_of_pas", ["cost_usd", "cost_of_pass"])
    'cost_of_pass'
    >>> nearest("Prompt A", ["Prompt A (current)", "Prompt B (new)"])
    'Prompt A (current)'
    >>> nearest("ts", ["task"])
    >>> nearest("nope", ["r_anchor_pre"])
    """
    wanted, names = _plain(name), {_plain(each): each for each in sorted(known, reverse=True)}
    if wanted in names:
        return names[wanted]
    if len(wanted) < MIN_PREFIX_LENGTH:
        close = get_close_matches(wanted, [each for each in names if len(each) < 2 * len(wanted)], n=1, cutoff=CUTOFF)
    else:
        alike = [each for each in names if each.startswith(wanted)] or [
            each for each in names if wanted in each.split("_")
        ]
        cutoff = SHORT_CUTOFF if len(wanted) == MIN_PREFIX_LENGTH else CUTOFF
        close = get_close_matches(wanted, alike or names, n=1, cutoff=0 if alike else cutoff)
    return names[close[0]] if close else None


def _plain(name: str) -> str:
    return name.strip().casefold().replace(" ", "_").replace("-", "_")
