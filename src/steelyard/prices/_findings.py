"""What a reader of costs should know: reported and priced ones that disagree, and runs that could not be priced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from steelyard.prices._book import PriceBook, Priced
from steelyard.records.finding import Finding
from steelyard.records.missing import Missing

TOLERANCE = 0.01
"""Reported and priced cost may differ by this share of the larger one before it is a finding."""


def cost_differs(
    reported: float | None, priced: Priced, *, book: PriceBook, where: str | None = None, tolerance: float = TOLERANCE
) -> Finding | None:
    """The finding that a tool reports another cost than its tokens have; None where they agree or one is not known."""
    if reported is None or isinstance(priced, Missing):
        return None
    larger = max(reported, priced)
    if abs(reported - priced) <= tolerance * larger:
        return None
    share = abs(reported - priced) / larger
    return Finding(
        code="cost_differs",
        message=f"the reported cost is ${reported:.6f}, its tokens cost ${priced:.6f} by the price book {book.name!r} "
        f"({book.version}): {share:.1%} apart",
        where=where,
    )


def not_priced(reasons: Iterable[str]) -> tuple[Finding, ...]:
    """One finding for each reason why runs could not be priced, with how many they are, the most frequent first."""
    counted = sorted(Counter(reasons).items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        Finding(
            code="cost_not_priced", message=f"{count} run{'s' if count > 1 else ''} without a priced cost: {reason}"
        )
        for reason, count in counted
    )
