"""Simulate the validation, and write its page.

    python -m benchmarks.coverage [--share 0.1] [--only GROUP ...] [--workers N] [--write]

`--write` updates the results of the simulated cells (benchmarks/coverage/results.csv) and generates
docs/methods/validation.md from all of them. Exits with 1 if a count misses its limit. `--share` simulates a fraction of
the data sets. Without `--only`, all groups are simulated.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from benchmarks.coverage import CELLS
from benchmarks.coverage._cells import Count, misses
from benchmarks.coverage._page import PAGE, RESULTS, Result, page, read_results, write_results


def _simulated(place: int, share: float) -> tuple[int, list[Count], float]:
    started = time.process_time()
    counts = CELLS[place].counts(share)
    return place, counts, time.process_time() - started


def main() -> int:
    parser = argparse.ArgumentParser(description="Coverage of intervals, error rates and power of verdicts.")
    parser.add_argument("--share", type=float, default=1.0, help="fraction of the data sets")
    parser.add_argument("--only", nargs="*", default=[], help="groups of cells, by the start of their names")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true", help="update the results and the page")
    options = parser.parse_args()
    chosen = [
        place for place, cell in enumerate(CELLS) if not options.only or cell.group.startswith(tuple(options.only))
    ]
    found: dict[int, list[Count]] = {}
    with ProcessPoolExecutor(options.workers) as pool:
        for place, counts, seconds in pool.map(_simulated, chosen, [options.share] * len(chosen)):
            found[place] = counts
            cell = CELLS[place]
            rates = "; ".join(f"{each.what} {each.rate:.1%}" for each in counts)
            print(f"{cell.group}: {cell.name}: {rates} ({seconds:.1f} s)", flush=True)
    results = [Result(CELLS[place].group, CELLS[place].name, count) for place in chosen for count in found[place]]
    if options.write:
        renewed = {(result.group, result.cell) for result in results}
        known = {(cell.group, cell.name): place for place, cell in enumerate(CELLS)}
        kept = [
            old for old in read_results() if (old.group, old.cell) not in renewed and (old.group, old.cell) in known
        ]
        results = sorted([*kept, *results], key=lambda each: known[each.group, each.cell])
        write_results(results)
        PAGE.write_text(page(results), encoding="utf-8")
    missed = [result for result, miss in zip(results, misses([each.count for each in results]), strict=True) if miss]
    for result in missed:
        count = result.count
        print(f"FAIL {result.group}: {result.cell}: {count.what} {count.rate:.2%}, limit {count.limit:.1%}")
    print(f"{len(results):,} counts, {len(missed):,} beyond their limits; {RESULTS.name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
