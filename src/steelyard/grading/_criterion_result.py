"""Result of one success criterion; imported without the sandbox."""

from __future__ import annotations

import msgspec


class CriterionResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of one success criterion."""

    type: str
    """The criterion's type."""
    met: bool
    """Whether it is met."""
    claimed: bool = False
    """True if it is based only on a claim of the submitter."""
    reason: str
    """The reason as text."""
