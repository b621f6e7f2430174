"""Gate: whether runs keep rules against a baseline, for a build that must stop or go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.records import Finding
from steelyard.workflow._compare import table_findings
from steelyard.workflow._measure import nothing_usable
from steelyard.workflow._opening_runs import Progress, RunsInput, open_runs
from steelyard.workflow._options import DifferenceOptions

if TYPE_CHECKING:
    from steelyard.profiles import Profile
    from steelyard.standings import Gate, Mask, Samples
    from steelyard.tables import RunTable


def gate(
    runs: RunsInput | RunTable,
    *,
    baseline: RunsInput | RunTable,
    rules: Sequence[str],
    where: str | Mapping[str, str] = "",
    options: DifferenceOptions | None = None,
    progress: Progress | None = None,
) -> Gate:
    """Hold the runs against the baseline's on the tasks both tried.

    A rule limits candidate minus baseline: `pass_rate >= -0.02` allows a loss of two points, `cost_usd <= +10%` a tenth
    more. It holds when the whole interval keeps it and fails when the whole interval breaks it. `where` chooses runs of
    both by `key=value`, or by a dict of the same.
    """
    from steelyard.standings import Gate, Rule, check, joined, needed_columns, read_filter  # brings numpy and scipy

    if not rules:
        raise UsageError("there is no rule to keep", hint='--rule "pass_rate >= -0.02"')
    asked = options or DifferenceOptions()
    profile, judging = asked.outcome_profile(), asked.statistics()
    read = [Rule.read(text) for text in rules]
    columns = needed_columns([rule.metric for rule in read])
    chosen = read_filter(where, option="--where") if where else {}
    tables = [open_runs(given, prices=asked.prices, progress=progress) for given in (baseline, runs)]
    sides = [
        _side(table, columns, profile=profile, chosen=chosen, name=name)
        for table, name in zip(tables, ("the baseline", "the candidate"), strict=True)
    ]
    samples, from_new = joined(sides[0].samples, sides[1].samples)
    a, b = ~from_new, from_new.copy()
    a[~from_new] &= sides[0].rows
    b[from_new] &= sides[1].rows
    common = samples.attempted(a) & samples.attempted(b)
    lost = int((samples.attempted(a) & ~common).sum())
    findings = [finding for side in sides for finding in side.findings]
    if lost:
        message = f"{lost:,} tasks of the baseline were not tried again; the rules say nothing of them"
        findings.append(Finding(code="coverage", message=message))
    return Gate(
        checks=tuple(check(rule, samples, a, b, options=judging) for rule in read),
        tasks=int(common.sum()),
        options=judging,
        profile=profile.name,
        findings=tuple(findings),
        rejected_count=sum(table.rejected_count for table in tables),
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """The runs of one side, which of them are chosen, and what was found about them."""

    samples: Samples
    rows: Mask
    findings: list[Finding]


def _side(table: RunTable, columns: Sequence[str], *, profile: Profile, chosen: Mapping[str, str], name: str) -> _Side:
    import numpy as np  # heavy: a gate needs it, its --help does not

    from steelyard.standings import chosen_rows, pooled, samples_of

    if table.n == 0:
        raise nothing_usable(table)
    rows = chosen_rows(table, chosen, where=f"--where, {name}") if chosen else np.ones(table.n, dtype=bool)
    findings = table_findings(table, rows)
    mixed = pooled(table, rows, chosen)
    if mixed:
        message = f"{name} pools runs of {mixed}; choose one configuration with --where agent=NAME,model=NAME"
        findings.append(Finding(code="pooled", message=message))
    return _Side(samples_of(table, columns, profile=profile), rows, findings)
