"""Repeatability for a terminal: a table over prompts, and the distances before and after repair as bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich import box
from rich.table import Table

from steelyard.reports._terminal_tables import add_row
from steelyard.results import PromptResult

SHOWN = ("r_raw", "r_bytes", "r_anchor_pre", "r_anchor", "rescue_rate", "mu_pre", "mu_post", "p_tau_pre", "p_tau_post")
_BAR = 30
MOST_BARS = 8
"""With more prompts than this, the table alone is shown."""
_EDGES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def repeatability_table(results: Sequence[PromptResult]) -> Table:
    """One row a prompt; three places, a dash for what is missing."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("prompt", overflow="fold")
    for title in ("n", "unique", *SHOWN, "canon"):
        table.add_column(title, justify="right" if title != "canon" else "left")
    for result in results:
        values = [_shown(result.metrics.get(name)) for name in SHOWN]
        unique = result.metrics.get("unique_signatures")
        canon = "no canon" if result.canon is None else f"{result.canon.signature[:12]} ({result.canon.origin})"
        add_row(table, result.prompt, str(result.n), "-" if unique is None else f"{unique:.0f}", *values, canon)
    return table


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def distance_bars(result: PromptResult) -> Iterator[str]:
    """How many outputs lie how far from the canon, before (left) and after (right) repair; empty rows are left out."""
    yield f"distance to the canon: {result.prompt} (n {result.n}, tau {result.tau:g})"
    before = _counts([sample.d_pre for sample in result.samples])
    after = _counts([sample.d_post for sample in result.samples])
    most = max([*before, *after, 1])
    yield f"  {'':>9}  {'before repair':<{_BAR + 6}}after repair"
    for label, pre, post in zip(_labels(), before, after, strict=True):
        if pre or post:
            left, right = (f"{mark * round(_BAR * count / most)} {count}" for mark, count in (("░", pre), ("█", post)))
            yield f"  {label:>9}  {left:<{_BAR + 6}}{right}"


def _labels() -> list[str]:
    return ["0", *(f"{low:g}-{high:g}" for low, high in pairwise(_EDGES))]


def _counts(distances: Sequence[float]) -> list[int]:
    """Outputs at 0 exactly, then in each interval up to and with its upper end."""
    counts = [sum(distance == 0 for distance in distances)]
    for low, high in pairwise(_EDGES):
        counts.append(sum(low < distance <= high for distance in distances))
    return counts
