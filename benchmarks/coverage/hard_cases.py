"""Print the tables of the hard cases, or write them into the page that keeps them.

    python -m benchmarks.coverage.hard_cases [--share 0.1] [--write docs/statistics.md]

Exits with 1 when a setting falls under what its intervals promise, or a verdict is claimed too often. `--share` makes
fewer data sets.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.coverage.grid import SWEEPS, Coverage, swept, worst
from benchmarks.coverage.verdicts import EFFECTS, LIMITS, NULLS, Setting, claims

TRIALS = 1_000
ALLOWED = {"better or worse": 0.055, "pass": 0.03, "fail": 0.03}
"""How often a verdict may be given that is not so: 5%, 2.5% on each side of a gate, and half a point of room."""
MIN_POWER = 0.9
"""What is kept at least of the power that 0.1 had in friendly cases."""
POWER_BEFORE = (0.325, 0.685, 0.56, 0.99, 0.95, 1.0, 0.98, 1.0, 0.92, 1.0, 0.975, 1.0)
"""The power of 0.1's rule in each of `EFFECTS`."""

DIFFERENCES = {
    "pass_rate": "difference of pass rates",
    "cost_usd": "difference of mean costs",
    "cost_of_pass": "difference of costs of pass",
}

BEGIN, END = "<!-- hard cases: begin -->", "<!-- hard cases: end -->"


def noise(share: float, trials: int) -> float:
    """Three standard errors of a simulated share."""
    return 3 * float(np.sqrt(share * (1 - share) / trials))


def _coverage(share: float) -> Iterator[tuple[str, bool]]:
    yield "| estimate | settings | worst setting | required | observed | datasets |", True
    yield "|---|---|---|---|---|---|", True
    for sweep in SWEEPS:
        for figure, cells in swept(sweep, share=share).items():
            least = worst(sweep, figure, cells, share=share)
            kept = all(cell.coverage.holds for cell in cells)
            yield _covered(figure, len(cells), str(least.cell), least.coverage, kept=kept)
    for metric, figure in DIFFERENCES.items():
        own = [claims(setting, trials=_trials(share)) for setting in NULLS if setting.metric == metric]
        given = [told for told in own if told.coverage.trials]
        lowest = sorted(given, key=lambda told: told.coverage.room)[:3]
        again = [claims(told.setting, trials=4 * _trials(share), seed=14) for told in lowest]
        told = min(again, key=lambda told: told.coverage.room)
        kept = all(told.coverage.holds for told in given)
        yield _covered(figure, len(given), str(told.setting), told.coverage, kept=kept)


def _covered(figure: str, settings: int, worst_one: str, coverage: Coverage, *, kept: bool) -> tuple[str, bool]:
    promised, seen = f"{coverage.promised * 100:.0f}%", f"{coverage.share * 100:.1f}%"
    line = f"| {figure} | {settings} | {worst_one} | {promised} | {seen} | {coverage.trials:,} |"
    return line, coverage.holds and kept


def _trials(share: float) -> int:
    return max(20, int(TRIALS * share))


def _claims(share: float) -> Iterator[tuple[str, bool]]:
    yield "| verdict | metric or rule | settings | worst setting | allowed | observed | datasets |", True
    yield "|---|---|---|---|---|---|---|", True
    for metric in DIFFERENCES:
        own = [setting for setting in NULLS if setting.metric == metric]
        yield _claim("better or worse", f"`{metric}`, no difference", own, share)
    for rule in dict.fromkeys(setting.rule for setting in LIMITS):
        own = [setting for setting in LIMITS if setting.rule == rule]
        for result in ("pass", "fail"):
            yield _claim(result, f"`{rule}`, exactly at the limit", own, share)


def _claim(claim: str, of: str, settings: Sequence[Setting], share: float) -> tuple[str, bool]:
    """A row: the setting in which the claim is made most often, tried again with four times as many fresh data sets."""
    trials, verdicts = _trials(share), ("better", "worse") if claim == "better or worse" else (claim,)
    first = sorted(settings, key=lambda setting: -claims(setting, trials=trials).share(*verdicts))
    again = [claims(setting, trials=4 * trials, seed=14) for setting in first[:2]]
    most = max(again, key=lambda told: told.share(*verdicts))
    seen, allowed = most.share(*verdicts), ALLOWED[claim]
    figures = f"{allowed * 100:g}% | {seen * 100:.1f}% | {most.trials:,}"
    line = f"| {claim} | {of} | {len(settings)} | {most.setting} | {figures} |"
    return line, seen <= allowed + noise(allowed, most.trials)


def _power(share: float) -> Iterator[tuple[str, bool]]:
    yield "| detected | setting | earlier method | now | datasets |", True
    yield "|---|---|---|---|---|", True
    for setting, before in zip(EFFECTS, POWER_BEFORE, strict=True):
        told = claims(setting, trials=_trials(share))
        power = told.share(setting.right)
        name = f"`{setting.rule}` passes" if setting.rule else f"`{setting.metric}` {setting.right}"
        line = f"| {name} | {setting} | {before * 100:.0f}% | {power * 100:.0f}% | {told.trials:,} |"
        yield line, power + noise(power, told.trials) >= MIN_POWER * before


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
    parser.add_argument("--share", type=float, default=1.0, help="make this fraction of the data sets")
    parser.add_argument("--write", type=Path, help="the page that keeps the tables")
    options = parser.parse_args()
    made, kept = tables(options.share)
    if options.write:
        head, rest = options.write.read_text(encoding="utf-8").split(BEGIN)
        day = datetime.now(UTC).date().isoformat()
        fewer = "" if options.share == 1 else f" --share {options.share:g}"
        text = f"Generated on {day} by `python -m benchmarks.coverage.hard_cases{fewer}`.\n\n{made}\n"
        options.write.write_text(f"{head}{BEGIN}\n{text}{END}{rest.split(END)[1]}", encoding="utf-8")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
