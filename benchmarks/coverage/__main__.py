"""Print the table of coverage, or write it into the page that keeps it.

    python -m benchmarks.coverage [--quick] [--only METHOD] [--write docs/statistics.md]

`--write` puts the table, with the date, between the coverage marks of the page.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.coverage import SCENARIOS, Row, run


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = ["| method | what | regime | required | observed | datasets |", "|---|---|---|---|---|---|"]
    for row in rows:
        least, most = row.scenario.promise
        if row.scenario.kind in ("interval", "test"):
            promised = f"{least:.0%} to {most:.0%}"
        else:
            promised = f"at least {least:.0%}" if least else "at most 5%"
        counted = f"{row.trials:,}" if row.trials else "exact"
        lines.append(
            f"| {row.scenario.method} | {row.scenario.kind} | {row.scenario.regime} | {promised} "
            f"| {row.share * 100:.2f}% | {counted} |"
        )
    return "\n".join(lines)


def write(page: Path, rows: list[Row], *, day: str) -> None:
    """Put the table between the page's coverage marks."""
    begin, end = "<!-- coverage: begin -->", "<!-- coverage: end -->"
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    made = f"Generated on {day} by `python -m benchmarks.coverage`.\n\n{table(rows)}\n"
    page.write_text(f"{head}{begin}\n{made}{end}{tail}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Coverage of every interval and size of every test.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the trials")
    parser.add_argument("--write", type=Path, help="the page that keeps the table")
    parser.add_argument("--only", help="rows whose method contains this")
    options = parser.parse_args()
    rows = []
    for scenario in SCENARIOS:
        if options.only and options.only not in scenario.method:
            continue
        started = time.perf_counter()
        row = run(scenario, quick=options.quick)
        rows.append(row)
        mark = "ok  " if row.holds or (options.quick and row.near) else "FAIL"
        print(
            f"{mark} {row.share * 100:6.2f}%  {scenario.kind:17} {scenario.method:22} {scenario.regime}"
            f"  ({time.perf_counter() - started:.1f} s)",
            flush=True,
        )
    if options.write:
        write(options.write, rows, day=datetime.now(UTC).date().isoformat())
    return 0 if all(row.holds or (options.quick and row.near) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
