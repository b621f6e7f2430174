"""The runs of an input, one row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steelyard.results._base import Result, Row, json_numbers


@dataclass(frozen=True, kw_only=True, repr=False)
class RunList(Result):
    """Runs with their verdict, score, cost and time."""

    runs: tuple[Row, ...]
    """One row per run, all with the same keys."""
    sentence: str
    """Summary of the runs in one sentence."""
    profile: str
    prices: str

    def _about(self) -> str:
        return f"{len(self.runs):,} runs"

    def to_dicts(self) -> list[Row]:
        """Return one row per run."""
        return [dict(row) for row in self.runs]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "profile": self.profile,
            "prices": self.prices,
            "sentence": self.sentence,
            "runs": [json_numbers(row) for row in self.runs],
        }
