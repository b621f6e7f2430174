"""Figures stated by a harness, compared with those of its runs under either policy for runs without a verdict."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard import statistics
from steelyard.records import Finding, exact_mean

Verdicts = Sequence[bool | None]
Scores = Sequence[float | None]
"""Verdicts, or rewards between them."""
EXCLUDE, FAIL = "excluding unscored runs", "counting unscored runs as failed"
"""The two policies."""
_COUNT = re.compile(r"[1-9][0-9]{0,8}")
DECIMALS = 4
"""A figure with fewer decimals is taken to have ended there by chance; one with more is held to all of them."""


def stated_accuracy(
    where: str, *, stated: float, of: int, how: str, verdicts: Scores, what: str = "accuracy", by_task: bool = False
) -> Finding:
    """Compare a harness's own accuracy or mean reward with ours over the scored runs, both with their denominators.

    A figure over more trials than those listed may count the others as failed; with `by_task`, they are tasks.
    """
    scored = [verdict for verdict in verdicts if verdict is not None]
    total = math.fsum(scored)
    passed = f"{total:g}" if set(scored) <= {0, 1} else f"a total of {total:.6g}"
    ours = f"{passed} of {len(scored)} scored runs = {total / len(scored):.4g}" if scored else "no scored runs"
    reproducing = [
        policy
        for policy, count in ((EXCLUDE, len(scored)), (FAIL, len(verdicts)))
        if count and _same(total / count, stated)
    ]
    note = _reproduced(reproducing)
    if not reproducing and of > len(verdicts) and _same(total / of, stated):
        trials = f"{of - len(verdicts):,} {'tasks' if by_task else 'trials'} without a run"
        note = f"counting unscored runs and {trials} as failed reproduces it"
        note += f" (the option tasks: {of})" if by_task else ""
    message = f"reported {what}: {stated:.6g} over {of} trial{'' if of == 1 else 's'} ({how}); computed: {ours}; {note}"
    # a figure over other runs than those in the file is no contradiction
    contradicts = not reproducing and of == len(verdicts)
    return Finding(code="stated_accuracy", severity="warning" if contradicts else "info", message=message, where=where)


def stated_pass_at_k(where: str, stated: object, verdicts: Mapping[str, Verdicts]) -> Iterator[Finding]:
    """Compare a harness's own pass@k (by k as text) with ours; `verdicts` are those of each task's attempts."""
    figures = _figures(stated)
    if not figures:
        return
    scored = {task: [verdict for verdict in own if verdict is not None] for task, own in verdicts.items()}
    as_failed = {task: [bool(verdict) for verdict in own] for task, own in verdicts.items()}
    ours = {policy: _pass_at_k(own, list(figures)) for policy, own in ((EXCLUDE, scored), (FAIL, as_failed))}
    reproducing = [
        policy
        for policy, own in ours.items()
        if all(own[k] is not None and _same(own[k], value) for k, value in figures.items())
    ]
    given = "; ".join(f"{policy}: {_listed(own)}" for policy, own in ours.items())
    message = f"reported pass@k: {_listed(figures)}; {given}; {_reproduced(reproducing)}"
    yield Finding(code="stated_pass_at_k", severity="info" if reproducing else "warning", message=message, where=where)


def stated_count(where: str, what: str, *, stated: int | None, listed: int) -> Iterator[Finding]:
    """That a harness states another number of something than it lists."""
    if stated is not None and stated != listed:
        message = f"{what} as reported: {stated:,}; the file lists {listed:,}, and these are used"
        yield Finding(code="stated_count", message=message, where=where)


def _figures(stated: object) -> dict[int, float]:
    """The figures by k; what is no figure of a k is passed over, as all that a format does not know."""
    if not isinstance(stated, dict):
        return {}
    return {
        int(k): float(value)
        for k, value in sorted(stated.items(), key=lambda item: str(item[0]).rjust(9))
        if _COUNT.fullmatch(str(k)) and _is_fraction(value)
    }


def _is_fraction(value: Any) -> bool:  # Any: a value of the file
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _pass_at_k(verdicts: Mapping[str, Sequence[bool]], ks: Sequence[int]) -> dict[int, float | None]:
    """Return the mean over the tasks with at least k attempts; None without such a task."""
    means: dict[int, float | None] = {}
    for k in ks:
        chances = [
            chance for own in verdicts.values() if (chance := statistics.pass_at_k(len(own), sum(own), k)) is not None
        ]
        means[k] = exact_mean(chances) if chances else None
    return means


def _same(ours: float | None, stated: float) -> bool:
    """Whether the figures agree to the decimals that are stated."""
    decimals = max(DECIMALS, len(repr(stated).partition(".")[2]))
    return ours is not None and abs(ours - stated) <= 0.5 * 10.0**-decimals + 1e-9


def _listed(figures: Mapping[int, float | None]) -> str:
    return ", ".join(f"{k}: {'-' if value is None else f'{value:.6g}'}" for k, value in figures.items())


def _reproduced(policies: Sequence[str]) -> str:
    if len(policies) == 2:
        return "the runs reproduce it"
    if policies:
        return f"{policies[0]} reproduces it"
    return "neither excluding unscored runs nor counting them as failed reproduces it"
