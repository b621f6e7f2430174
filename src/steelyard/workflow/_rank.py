"""Rank: who leads on a metric, as bands where the data cannot tell, with cost beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.metrics import Metric, catalog
from steelyard.workflow._compare import table_findings
from steelyard.workflow._measure import checked_keys, nothing_usable
from steelyard.workflow._opening_runs import Progress, RunsInput, open_runs
from steelyard.workflow._options import StandingOptions

if TYPE_CHECKING:
    from steelyard.standings import Order, Ranking
    from steelyard.tables import RunTable


def rank(
    runs: RunsInput | RunTable,
    *,
    by: Sequence[str] = ("agent", "model"),
    on: str = "composite_score",
    order: Order = "mean",
    min_coverage: float = 0.5,
    options: StandingOptions | None = None,
    progress: Progress | None = None,
) -> Ranking:
    """Rank the groups on one metric over the tasks they share.

    Groups that tried less than `min_coverage` of all tasks are left out, so that one short run does not shrink what
    all others are judged on.
    """
    from steelyard.standings import (  # brings numpy and scipy
        Ranking,
        bands,
        enter,
        groups_of,
        needed_columns,
        places,
        samples_of,
    )

    keys_by, declared = _ranked_by(by), _ranked_on(on)
    asked = options or StandingOptions()
    profile, judging = asked.outcome_profile(), asked.statistics()
    if not 0 <= min_coverage <= 1:
        raise UsageError(f"--min-coverage {min_coverage} is not a share", hint="give a number from 0 to 1")
    table = open_runs(runs, prices=asked.prices, progress=progress)
    if table.n == 0:
        raise nothing_usable(table)
    samples = samples_of(table, needed_columns([on, "pass_rate", "cost_usd"]), profile=profile)
    keys, codes = groups_of(table, keys_by, profile=profile)
    field = enter(samples, keys, codes, on, by=keys_by, min_coverage=min_coverage)
    direction = 1.0 if declared.better == "higher" else -1.0
    order_by, best, worst, test = bands(direction * field.scores, order=order, options=judging)
    standing = places(samples, field, on, (order_by, best, worst), by=keys_by, order=order, options=judging)
    return Ranking(
        by=tuple(keys_by),
        on=on,
        order=order,
        test=test,
        places=standing,
        tasks=int(field.common.sum()),
        all_tasks=len(samples.task_names),
        options=judging,
        profile=profile.name,
        findings=(*table_findings(table), *field.findings),
        rejected_count=table.rejected_count,
    )


def _ranked_by(by: Sequence[str]) -> list[str]:
    """The keys that make a competitor."""
    keys = checked_keys(by)
    if not keys:
        raise UsageError("there is nothing to rank", hint="--by agent,model")
    if "task" in keys:
        message = "nobody can be ranked by task: ranks stand on the tasks that all tried"
        raise UsageError(message, hint="--by agent,model")
    return keys


def _ranked_on(name: str) -> Metric:
    """The metric, if somebody can lead on it."""
    declared = catalog()[name]
    if declared.better == "neither":
        raise UsageError(f"{name} has no better direction, so nobody leads on it")
    if declared.level != "run":
        hint = "rank on composite_score, pass_rate, cost_usd, ..."
        raise UsageError(f"{name} is not a metric of single runs", hint=hint)
    return declared
