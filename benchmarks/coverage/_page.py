"""Results of the validation as CSV, and the page generated from them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.coverage._cells import Count, Side, misses
from steelyard.statistics import clopper_pearson

RESULTS = Path(__file__).with_name("results.csv")
PAGE = Path(__file__).parents[2] / "docs" / "methods" / "validation.md"
FIELDS = ("group", "cell", "counted", "hits", "datasets", "side", "limit")

INTRODUCTION = """\
# Validation

This page shows how often intervals cover the true value, how often verdicts are wrong, and how often they detect a
true difference. The data are simulated, and the product's own rule is applied to them, including its choice of the
method. `python -m benchmarks.coverage --write` generates the page and `benchmarks/coverage/results.csv`, which lists
every cell. `make long` uses the full number of data sets. Every test run simulates a few cells with fewer. The
confidence level is 95%.

A *cell* is one simulated design. A rate misses its limit if its two-sided 99% Clopper-Pearson interval excludes the
limit, with Holm's correction over all rates. The limits are:

- Intervals without a label cover at least 93%. Labeled intervals cover at least the coverage that the label states,
  minus 1 pp, for data within the tail and the assumptions that the label names
  ([labels](../statistics.md#intervals-measure---interval)).
- A difference is claimed in at most 5.5% of the data sets without a difference (6.5% with at most 12 tasks).
- A gate passes, and fails, in at most 3% of the data sets if the true value is exactly at the limit (6% for costs).
- The power is at most 5 pp below that of a paired t test, from 9 tasks on and where the coverage of that test is at
  least 93%.

The column *data sets* is the number that a rate comes from. A full run uses 10,000 for most cells. Stored results with
fewer come from a shorter run (`--share`), and detect only larger deviations.

"""


class Result(NamedTuple):
    """A count of a cell."""

    group: str
    cell: str
    count: Count


def read_results(path: Path = RESULTS) -> list[Result]:
    """Return the stored results; none if there is no file."""
    if not path.exists():
        return []
    sides: dict[str, Side] = {"least": "least", "most": "most", "none": "none"}
    with path.open(encoding="utf-8", newline="") as lines:
        return [
            Result(
                row["group"],
                row["cell"],
                Count(row["counted"], int(row["hits"]), int(row["datasets"]), sides[row["side"]], float(row["limit"])),
            )
            for row in csv.DictReader(lines)
        ]


def write_results(results: Iterable[Result], path: Path = RESULTS) -> None:
    """Store the results."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for group, cell, count in results:
            writer.writerow([group, cell, count.what, count.hits, count.sets, count.side, round(count.limit, 4)])


def page(results: Sequence[Result]) -> str:
    """Return the page: the worst cell of each rate, rates beyond limits, all power, and cells outside the tail."""
    missed = misses([each.count for each in results])
    beyond = [result for result, miss in zip(results, missed, strict=True) if miss]
    limited = [each for each in results if each.count.side != "none"]
    cells = len({(each.group, each.cell) for each in results})
    parts = [
        INTRODUCTION,
        f"{cells:,} cells with {len(limited):,} limited rates; {len(beyond):,} of them miss their limits.\n",
        "\n## Worst cells\n\n",
        "For each rate, the cell closest to its limit or beyond it. The last column counts the cells that miss.\n\n",
        *_lines(_worst(limited, set(map(id, beyond)))),
    ]
    if beyond:
        parts += ["\n## Rates beyond their limits\n\n", *_lines(_each(beyond))]
    parts += ["\n## Power\n\n", "Observed power next to that of other tests on the same data.\n\n"]
    power = [each for each in results if each.group in POWER_GROUPS]
    parts += _lines(_each(power, are_limits_shown=False))
    outside = [each for each in results if each.count.side == "none" and each.group not in POWER_GROUPS]
    parts += [
        "\n## Not covered\n\n",
        "Data outside the tail or the assumption that a label names, and rates for information, without a limit.\n",
        "For each rate, the lowest coverage or the highest error rate is shown.\n\n",
        *_lines(_worst(outside, set(), is_limited=False)),
    ]
    return "".join(parts)


POWER_GROUPS = ("power", "mixed model", "repeated looks, savings", "unscored runs, power")


def _lines(rows: Iterable[Sequence[str]]) -> list[str]:
    made = [f"| {' | '.join(row)} |\n" for row in rows]
    if made:
        made.insert(1, f"|{'---|' * (made[0].count(' | ') + 1)}\n")
    return made


def _kind(count: Count) -> str:
    """Return what was counted without the label."""
    return re.sub(r", label \d+%|saved in the median: .*", "", count.what)


def _interval(count: Count) -> str:
    if "computed exactly" in count.what:
        return "exact"
    found = clopper_pearson(count.hits, count.sets, level=0.99)
    return f"{found.low:.1%} to {found.high:.1%}"


def _datasets(count: Count) -> str:
    return "exact" if "computed exactly" in count.what else f"{count.sets:,}"


def _limit(count: Count) -> str:
    return {"least": "at least ", "most": "at most ", "none": ""}[count.side] + f"{count.limit:.1%}"


def _worst(results: Sequence[Result], beyond: set[int], *, is_limited: bool = True) -> Iterator[Sequence[str]]:
    by_kind: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        by_kind.setdefault((result.group, _kind(result.count)), []).append(result)
    limit, missed = (["limit"], ["beyond"]) if is_limited else ([], [])
    yield ["design", "rate", "cells", "worst cell", *limit, "observed", "99% CI", "data sets", *missed]
    for (group, kind), own in by_kind.items():
        is_error = kind.startswith(("false", "gate", "overall", "any benchmark"))
        sign = -1 if is_error and not is_limited else 1
        worst = min(own, key=lambda each: each.count.room if is_limited else sign * each.count.rate)
        count = worst.count
        if is_limited:
            limit, missed = [_limit(count)], [str(sum(id(each) in beyond for each in own))]
        seen = [f"{count.rate:.1%}", _interval(count), _datasets(count)]
        yield [group, kind, f"{len(own):,}", worst.cell, *limit, *seen, *missed]


def _each(results: Sequence[Result], *, are_limits_shown: bool = True) -> Iterator[Sequence[str]]:
    yield ["design", "cell", "rate", *(["limit"] if are_limits_shown else []), "observed", "99% CI", "data sets"]
    for group, cell, count in results:
        limit = [_limit(count)] if are_limits_shown else []
        yield [group, cell, count.what, *limit, f"{count.rate:.1%}", _interval(count), _datasets(count)]
