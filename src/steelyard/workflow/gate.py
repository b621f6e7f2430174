"""Gate: whether runs keep rules against a baseline, for a build that must stop or go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.prices import DEFAULT_BOOK
from steelyard.profiles import DEFAULT, Profile, load_profile
from steelyard.records.finding import Finding
from steelyard.workflow._open import Progress, RunsInput, open_runs
from steelyard.workflow.compare import make_options, table_findings
from steelyard.workflow.measure import check_profile, nothing_usable

if TYPE_CHECKING:
    from steelyard.standings.gating import Gate
    from steelyard.standings.samples import Mask, Samples
    from steelyard.tables.build import RunTable


def gate(
    runs: RunsInput | RunTable,
    *,
    baseline: RunsInput | RunTable,
    rules: Sequence[str],
    where: str | Mapping[str, str] = "",
    profile: str | Profile = DEFAULT,
    interval: str = "auto",
    level: float = 0.95,
    seed: int | None = None,
    resamples: int | None = None,
    prices: str = DEFAULT_BOOK,
    progress: Progress | None = None,
) -> Gate:
    """Hold the runs against the baseline's on the tasks both tried.

    A rule limits candidate minus baseline: `pass_rate >= -0.02` allows a loss of two points, `cost_usd <= +10%` a tenth
    more. It holds when the whole interval keeps it and fails when the whole interval breaks it. `where` chooses runs of
    both by `key=value`, or by a dict of the same.
    """
    from steelyard.standings.gating import Gate, Rule, check  # brings numpy and scipy
    from steelyard.standings.samples import joined
    from steelyard.workflow._samples import needed_columns

    if not rules:
        raise UsageError("there is no rule to keep", hint='--rule "pass_rate >= -0.02"')
    chosen_profile = profile if isinstance(profile, Profile) else load_profile(profile)
    check_profile(chosen_profile)
    read = [Rule.read(text) for text in rules]
    columns = needed_columns([rule.metric for rule in read])
    options = make_options(level=level, seed=seed, resamples=resamples, method=interval)
    old, old_rows, old_notes = _opened(baseline, columns, chosen_profile, where, "the baseline", prices, progress)
    new, new_rows, new_notes = _opened(runs, columns, chosen_profile, where, "the candidate", prices, progress)
    samples, from_new = joined(old, new)
    a, b = ~from_new, from_new.copy()
    a[~from_new] &= old_rows
    b[from_new] &= new_rows
    common = samples.attempted(a) & samples.attempted(b)
    lost = int((samples.attempted(a) & ~common).sum())
    findings = [*old_notes[0], *new_notes[0]]
    if lost:
        message = f"{lost:,} tasks of the baseline were not tried again; the rules say nothing of them"
        findings.append(Finding(code="coverage", message=message))
    return Gate(
        checks=tuple(check(rule, samples, a, b, options=options) for rule in read),
        tasks=int(common.sum()),
        options=options,
        profile=chosen_profile.name,
        findings=tuple(findings),
        rejected_count=old_notes[1] + new_notes[1],
    )


def _opened(
    runs: RunsInput | RunTable,
    columns: Sequence[str],
    profile: Profile,
    where: str | Mapping[str, str],
    name: str,
    prices: str,
    progress: Progress | None,
) -> tuple[Samples, Mask, tuple[list[Finding], int]]:
    """The runs, which of them are chosen, and what was found while reading."""
    import numpy as np  # heavy: a gate needs it, its --help does not

    from steelyard.workflow._samples import chosen_rows, pooled, read_filter, samples_of

    table = open_runs(runs, prices=prices, progress=progress)
    if table.n == 0:
        raise nothing_usable(table)
    chosen = read_filter(where, option="--where") if where else {}
    rows = chosen_rows(table, chosen, where=f"--where, {name}") if chosen else np.ones(table.n, dtype=bool)
    findings = table_findings(table)
    mixed = pooled(table, rows, chosen)
    if mixed:
        message = f"{name} pools runs of {mixed}; choose one configuration with --where agent=NAME,model=NAME"
        findings.append(Finding(code="pooled", message=message))
    return samples_of(table, columns, profile=profile), rows, (findings, table.rejected_count)
