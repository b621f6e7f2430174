"""The arena as tables and lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from steelyard.reports import add_row, clean
from steelyard.surfaces.cli._print import counted

if TYPE_CHECKING:
    from steelyard.arena import (
        Changes,
        Evaluation,
        History,
        Leader,
        Leaderboard as Leaders,
        ProfileComparison,
        Standings,
    )

DASH = "-"


def _table(title: str, columns: Sequence[tuple[str, bool]]) -> Table:
    table = Table(title=clean(title), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for name, is_number in columns:
        table.add_column(clean(name), justify="right" if is_number else "left", overflow="fold")
    return table


def standings_table(standings: Standings, rows: Sequence[dict[str, Any]], *, by: str) -> Table:  # Any: JSON values
    """The standings of a task with the ranks by one score, best first."""
    numbers = ("overall", "efficiency", "speed", "cost", "correctness", "adjusted")
    columns = [
        ("rank" if by == "overall" else f"{by} rank", True),
        ("submission", False),
        ("agent", False),
        ("model", False),
        ("percentile", True),
    ]
    columns += [(name, True) for name in numbers]
    columns += [("profile", False)] if len(standings.scored_by) > 1 else []
    columns.append(("notes", False))
    table = _table(f"{standings.task_id}  {standings.category or ''}".rstrip(), columns)
    for row in rows:
        scores = [f"{row[f'{name}_score']:.2f}" for name in numbers]
        named = [row["agent"] or DASH, row["model"] or DASH, f"{row['percentile']:.1f}"]
        profile = [row["profile"]] if len(standings.scored_by) > 1 else []
        add_row(table, str(row[f"{by}_ranking"]), row["submission_id"], *named, *scores, *profile, _notes(row))
    return table


def standings_line(standings: Standings, *, least: int) -> str:
    """What stands under the table: the interval, and what made the standings."""
    interval = standings.confidence_interval
    trust = "" if standings.reliable else f"; ranks are not reliable below {counted(least, 'submission')}"
    return (
        f"{counted(standings.n, 'submission')}, mean score within {interval.low:.2f} and {interval.high:.2f}"
        f" ({percent(interval.level)}, {interval.method}); {settings_named(standings)},"
        f" baseline version {standings.baseline_version}{trust}"
    )


def settings_named(ranking: Standings | Leaders) -> str:
    """The profile and the policy; where other profiles made scores, those with how many each made.

    Two that have one name are told apart by when they came into force.
    """
    in_force = f"{ranking.profile}, policy {ranking.policy}"
    made = ranking.scored_by
    if ranking.policy == "current" or (len(made) <= 1 and all(scorer.profile == ranking.profile for scorer in made)):
        return in_force
    is_twice = len({scorer.profile for scorer in made}) < len(made)
    names = [f"{scorer.profile} of {scorer.since}" if is_twice and scorer.since else scorer.profile for scorer in made]
    shown = [f"{name} ({counted(scorer.submissions, 'submission')})" for name, scorer in zip(names, made, strict=True)]
    return f"scores of their day by {', '.join(shown)}; now {in_force}"


def percent(share: float) -> str:
    """The share in percent, with the digits that it was given with.

    >>> percent(0.95), percent(0.999), percent(0.975)
    ('95%', '99.9%', '97.5%')
    """
    shown = f"{Decimal(repr(share)).scaleb(2):f}"
    return f"{_trimmed(shown)}%"


def _notes(row: dict[str, Any]) -> str:  # Any: JSON values
    notes = [f"defaulted {', '.join(row['defaulted'])}"] if row["defaulted"] else []
    notes += [f"claimed {', '.join(row['claimed'])}"] if row["claimed"] else []
    notes += [f"lower bound of {', '.join(row['lower_bounds'])}"] if row["lower_bounds"] else []
    notes += [*row["flags"], *row["warnings"]]
    return "; ".join([*notes, *([row["recommended_action"]] if row["recommended_action"] else [])])


def leaders_table(leaders: Sequence[Leader], *, title: str) -> Table:
    """Tools, models or submitters across tasks."""
    keys = list(leaders[0].key) if leaders else []
    columns = [("rank", True), *((key, False) for key in keys)]
    columns += [
        ("mean score", True),
        ("interval of all scores", False),
        ("tasks", True),
        ("submissions", True),
        ("", False),
    ]
    table = _table(title, columns)
    for leader in leaders:
        interval = f"{leader.confidence_interval.low:.2f} to {leader.confidence_interval.high:.2f}"
        named = [leader.key[key] or DASH for key in keys]
        counts = [str(leader.tasks), str(leader.submissions)]
        doubt = "" if leader.reliable else "too few to be reliable"
        add_row(table, str(leader.rank), *named, f"{leader.mean_score:.2f}", interval, *counts, doubt)
    return table


def baselines_table(shown: dict[str, Any]) -> Table:  # Any: JSON values
    """A task's baseline beside those of each tool and model."""
    combinations = shown["combinations"]
    title = f"baseline version {shown['baseline_version']}, {counted(shown['submissions'], 'submission')}"
    heads = [f"{combination['agent'] or DASH} {combination['model'] or DASH}" for combination in combinations]
    table = _table(title, [("", False), ("all", True), *((head, True) for head in heads)])
    for name, value in shown["baseline"].items():
        own = [_number((combination["baseline"] or {}).get(name)) for combination in combinations]
        add_row(table, name, _number(value), *own)
    return table


def _number(value: float | None) -> str:
    r"""Whole numbers whole, others with six digits, and none with an exponent that can be read without.

    >>> _number(1234567.0), _number(1234567.5), _number(0.0000125), _number(2.0**53)
    ('1,234,567', '1,234,567.5', '0.0000125', '9,007,199,254,740,992')
    """
    if value is None:
        return DASH
    if float(value).is_integer():
        return f"{int(value):,}"
    whole = len(str(int(abs(value))))
    return _trimmed(f"{value:,.1f}") if whole >= 6 else _trimmed(f"{Decimal(f'{value:.6g}'):,f}")


def _trimmed(shown: str) -> str:
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def evaluation_lines(evaluation: Evaluation) -> Iterator[str]:
    """One evaluation with the way to each score."""
    receipt = evaluation.receipt
    yield f"{receipt.submission_id}  task {receipt.task_id}  submitted {evaluation.submitted_at}"
    yield (
        f"rank {receipt.overall_ranking}, percentile {receipt.percentile}; {evaluation.profile},"
        f" policy {evaluation.policy}, baseline version {receipt.baseline_version}"
    )
    for score in evaluation.scores:
        yield f"{score.name} = {score.value:.2f}   ({score.unrounded!r})"
        yield f"    {score.formula}"
        for name, value in score.inputs.items():
            source = f" ({evaluation.sources[name]})" if name in evaluation.sources else ""
            yield f"    {name} = {'unknown' if value is None else value}{source}"
        for name, value in score.constants.items():
            yield f"    {name} = {value} ({evaluation.sources[name]})"
    for criterion in evaluation.criteria:
        yield (
            f"{'met' if criterion.met else 'not met'}{' (claimed)' if criterion.claimed else ''}:"
            f" {criterion.type}: {criterion.reason}"
        )
    for what, names in (
        ("defaulted", receipt.defaulted),
        ("lower bounds", receipt.lower_bounds),
        ("flags", receipt.flags),
        ("warnings", receipt.warnings),
    ):
        if names:
            yield f"{what}: {', '.join(names)}"


def history_lines(history: History) -> Iterator[str]:
    """Scores of the day, their trend, and the versions of the baseline."""
    is_by_several = len({moment.profile for moment in history.moments}) > 1
    for moment in history.moments:
        yield (
            f"{moment.submitted_at}  {moment.task_id}  {moment.submission_id}  {moment.overall_score:.2f}"
            f"  best {moment.best_so_far:.2f}  baseline {moment.baseline_version}"
            f"{f'  {moment.profile}' if is_by_several else ''}"
        )
    trend = (
        f"no trend: {history.reason}"
        if history.trend_per_day is None
        else f"trend {history.trend_per_day:+.4g} points a day"
    )
    yield f"{counted(history.n, 'submission')}; {trend}"
    for version in history.baselines:
        since = counted(int(version["from_n"]), "submission")
        yield f"baseline {version['version']} from {since} ({version['created_at']})"


def change_lines(changes: Sequence[Changes], since: str) -> Iterator[str]:
    """What changed in each task."""
    if not changes:
        yield f"nothing changed since {since}"
    for task in changes:
        yield (
            f"{task.task_id}: {task.then_n} -> {counted(task.now_n, 'submission')}, baseline {task.then_version} ->"
            f" {task.now_version}, leader {task.then_leader or DASH} -> {task.now_leader or DASH}"
        )
        if (task.then_profile, task.then_policy) != (task.now_profile, task.now_policy):
            yield (
                f"    in force: {task.then_profile}, policy {task.then_policy} ->"
                f" {task.now_profile}, policy {task.now_policy}"
            )
        for move in task.moved:
            if move.then_ranking is None:
                yield f"    {move.submission_id}  new at rank {move.now_ranking} with {move.now_score:.2f}"
            else:
                yield (
                    f"    {move.submission_id}  rank {move.then_ranking} -> {move.now_ranking},"
                    f" score {move.then_score:.2f} -> {move.now_score:.2f}"
                )


def comparison_lines(comparison: ProfileComparison) -> Iterator[str]:
    """How ranks move between two profiles."""
    shown = DASH if comparison.mean_kendall_tau is None else f"{comparison.mean_kendall_tau:.4f}"
    yield (
        f"{comparison.first} -> {comparison.second}: {counted(comparison.submissions, 'submission')},"
        f" mean Kendall tau {shown}"
    )
    for task in comparison.tasks:
        tau = f"no tau ({task.reason})" if task.kendall_tau is None else f"tau {task.kendall_tau:.4f}"
        lead = ", another leader" if task.leader_changes else ""
        yield f"    {task.task_id}: {tau}, {task.changed} of {task.n} ranks change{lead}"
    for mover in comparison.movers:
        yield (
            f"    {mover.task_id}  {mover.submission_id}  rank {mover.first_ranking} -> {mover.second_ranking},"
            f" score {mover.first_score:.2f} -> {mover.second_score:.2f}"
        )
