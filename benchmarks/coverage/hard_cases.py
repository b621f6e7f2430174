"""Print the tables of the hard cases, or write them into the page that keeps them.

    python -m benchmarks.coverage.hard_cases [--share 0.1] [--write docs/statistics.md]

Exits with 1 when a setting falls under what its intervals promise, or a verdict is claimed too often. `--share` makes
fewer data sets.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.coverage.grid import SWEEPS, Seen, swept, worst
from benchmarks.coverage.verdicts import EFFECTS, LIMITS, NULLS, Claims, claims

TRIALS = 400
ALLOWED = {"better or worse": 0.055, "holds": 0.03, "fails": 0.03}
"""How often a verdict may be given that is not so: 5 %, 2.5 % on each side of a gate, and half a point of room."""
LEAST_POWER = 0.9
"""What is kept at least of the power that 0.1 had in friendly cases."""
POWER_BEFORE: tuple[float, ...] = ()
"""The power of 0.1's rule in each of `EFFECTS`."""

BEGIN, END = "<!-- hard cases: begin -->", "<!-- hard cases: end -->"


def noise(share: float, trials: int) -> float:
    """Three standard errors of a simulated share."""
    return 3 * float(np.sqrt(share * (1 - share) / trials))


def coverage_rows(share: float) -> Iterator[tuple[str, list[Seen]]]:
    """Each figure with all of its cells."""
    for sweep in SWEEPS:
        yield from swept(sweep, share=share).items()


def claim_rows(share: float) -> Iterator[tuple[str, str, list[tuple[Claims, float]]]]:
    """What is claimed of what, and how often in each cell."""
    trials = max(20, int(TRIALS * share))
    told = [claims(setting, trials=trials) for setting in NULLS]
    for metric in ("pass_rate", "cost_usd", "cost_of_pass"):
        own = [cell for cell in told if cell.setting.metric == metric]
        yield "better or worse", f"`{metric}`, no difference", [(cell, cell.share("better", "worse")) for cell in own]
    told = [claims(setting, trials=trials) for setting in LIMITS]
    for rule in dict.fromkeys(cell.setting.rule for cell in told):
        own = [cell for cell in told if cell.setting.rule == rule]
        for result in ("holds", "fails"):
            yield result, f"`{rule}`, exactly at the limit", [(cell, cell.share(result)) for cell in own]


def _coverage(share: float) -> Iterator[tuple[str, bool]]:
    yield "| figure | settings | the worst one | promised | seen | data sets |", True
    yield "|---|---|---|---|---|---|", True
    for figure, cells in coverage_rows(share):
        least = worst(cells)
        promised, seen = f"{least.promised * 100:.0f} %", f"{least.coverage * 100:.1f} %"
        line = f"| {figure} | {len(cells)} | {least.cell} | {promised} | {seen} | {least.trials:,} |"
        yield line, all(cell.holds for cell in cells)


def _claims(share: float) -> Iterator[tuple[str, bool]]:
    yield "| claim | of | settings | the worst one | allowed | seen | data sets |", True
    yield "|---|---|---|---|---|---|---|", True
    for claim, of, shares in claim_rows(share):
        cell, most = max(shares, key=lambda pair: pair[1])
        allowed = ALLOWED[claim]
        seen = f"{allowed * 100:g} % | {most * 100:.1f} % | {cell.trials:,}"
        line = f"| {claim} | {of} | {len(shares)} | {cell.setting} | {seen} |"
        yield line, most <= allowed + noise(allowed, cell.trials)


def _power(share: float) -> Iterator[tuple[str, bool]]:
    yield "| shown | setting | in 0.1 | now | data sets |", True
    yield "|---|---|---|---|---|", True
    for setting, before in zip(EFFECTS, POWER_BEFORE, strict=True):
        told = claims(setting, trials=max(20, int(TRIALS * share)))
        power = told.share(setting.right)
        name = f"`{setting.rule}` holds" if setting.rule else f"`{setting.metric}` {setting.right}"
        line = f"| {name} | {setting} | {before * 100:.0f} % | {power * 100:.0f} % | {told.trials:,} |"
        yield line, power + noise(power, told.trials) >= LEAST_POWER * before


def tables(share: float) -> tuple[str, bool]:
    """The three tables as Markdown, and whether everything is as promised."""
    text, kept = "", True
    for table in (_coverage, _claims, _power):
        for line, as_promised in table(share):
            print("" if as_promised else "FAIL", line, flush=True)
            text, kept = f"{text}{line}\n", kept and as_promised
        text += "\n"
    return text.rstrip(), kept


def main() -> int:
    parser = argparse.ArgumentParser(description="Coverage and claims in hard cases.")
    parser.add_argument("--share", type=float, default=1.0, help="make this share of the data sets")
    parser.add_argument("--write", type=Path, help="the page that keeps the tables")
    options = parser.parse_args()
    made, kept = tables(options.share)
    if options.write:
        head, rest = options.write.read_text(encoding="utf-8").split(BEGIN)
        day = datetime.now(UTC).date().isoformat()
        text = f"Made on {day} by `python -m benchmarks.coverage.hard_cases`.\n\n{made}\n"
        options.write.write_text(f"{head}{BEGIN}\n{text}{END}{rest.split(END)[1]}", encoding="utf-8")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
