from __future__ import annotations

from steelyard.records._record_types import Record


class Canon(Record, frozen=True, kw_only=True):
    """The one reference of a prompt: its first compliant output, with all that the comparison depends on."""

    prompt: str
    """The prompt's name: the contract's id."""
    code: str
    """The program as it was extracted from its answer."""
    normalized: str
    """The program in normal form; distances are measured to it."""
    signature: str
    """SHA-256 of the normal form."""
    contract: str
    """The contract as it was then, as JSON."""
    normalization_version: str
    """The normal form's level and version."""
    oracle_version: str
    """The version of the checks that the output passed."""
    distance_version: str
    """The version of the distance."""
    origin: str | None = None
    """The run or file it came from; None when it is not known."""
    set_at: int | None = None
    """When it was set, in microseconds since 1970; None for one that is not in a store."""
    retired_at: int | None = None
    """When it was retired; None while it is in force."""
