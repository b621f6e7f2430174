"""The arena as tables and lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from steelyard.reports.plain import clean
from steelyard.reports.tables import add_row
from steelyard.surfaces.cli._print import counted

if TYPE_CHECKING:
    from steelyard.arena.explaining import Evaluation
    from steelyard.arena.history import Changes, History
    from steelyard.arena.leaders import Board as Leaders
    from steelyard.arena.leaders import Leader
    from steelyard.arena.profiles import Comparison
    from steelyard.arena.standings import Standings

DASH = "-"


def _table(title: str, columns: Sequence[tuple[str, bool]]) -> Table:
    table = Table(title=clean(title), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for name, is_number in columns:
        table.add_column(clean(name), justify="right" if is_number else "left", overflow="fold")
    return table


def standings_table(found: Standings, rows: Sequence[dict[str, Any]], *, by: str) -> Table:  # Any: JSON values
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
    columns += [("profile", False)] if len(found.scored_by) > 1 else []
    columns.append(("notes", False))
    table = _table(f"{found.task_id}  {found.category or ''}".rstrip(), columns)
    for row in rows:
        scores = [f"{row[f'{name}_score']:.2f}" for name in numbers]
        named = [row["agent"] or DASH, row["model"] or DASH, f"{row['percentile']:.1f}"]
        profile = [row["profile"]] if len(found.scored_by) > 1 else []
        add_row(table, str(row[f"{by}_ranking"]), row["submission_id"], *named, *scores, *profile, _notes(row))
    return table


def standings_line(found: Standings, *, least: int) -> str:
    """What stands under the table: the interval, and what made the standings."""
    interval = found.confidence_interval
    trust = "" if found.reliable else f"; ranks are not reliable below {counted(least, 'submission')}"
    return (
        f"{counted(found.n, 'submission')}, mean score within {interval.low:.2f} and {interval.high:.2f}"
        f" ({percent(interval.level)}, {interval.method}); {settings_named(found)},"
        f" baseline version {found.baseline_version}{trust}"
    )


def settings_named(found: Standings | Leaders) -> str:
    """The profile and the policy; where other profiles made scores, those with how many each made.

    Two that have one name are told apart by when they came into force.
    """
    in_force = f"{found.profile}, policy {found.policy}"
    made = found.scored_by
    if found.policy == "current" or (len(made) <= 1 and all(one.profile == found.profile for one in made)):
        return in_force
    is_twice = len({one.profile for one in made}) < len(made)
    names = [f"{one.profile} of {one.since}" if is_twice and one.since else one.profile for one in made]
    shown = [f"{name} ({counted(one.submissions, 'submission')})" for name, one in zip(names, made, strict=True)]
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


def leaders_table(found: Sequence[Leader], *, title: str) -> Table:
    """Tools, models or submitters across tasks."""
    keys = list(found[0].key) if found else []
    columns = [("rank", True), *((key, False) for key in keys)]
    columns += [
        ("mean score", True),
        ("interval of all scores", False),
        ("tasks", True),
        ("submissions", True),
        ("", False),
    ]
    table = _table(title, columns)
    for one in found:
        interval = f"{one.confidence_interval.low:.2f} to {one.confidence_interval.high:.2f}"
        named = [one.key[key] or DASH for key in keys]
        counts = [str(one.tasks), str(one.submissions)]
        doubt = "" if one.reliable else "too few to be reliable"
        add_row(table, str(one.rank), *named, f"{one.mean_score:.2f}", interval, *counts, doubt)
    return table


def baselines_table(shown: dict[str, Any]) -> Table:  # Any: JSON values
    """A task's baseline beside those of each tool and model."""
    combinations = shown["combinations"]
    title = f"baseline version {shown['baseline_version']}, {counted(shown['submissions'], 'submission')}"
    heads = [f"{one['agent'] or DASH} {one['model'] or DASH}" for one in combinations]
    table = _table(title, [("", False), ("all", True), *((head, True) for head in heads)])
    for name, value in shown["baseline"].items():
        own = [_number((one["baseline"] or {}).get(name)) for one in combinations]
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


def evaluation_lines(found: Evaluation) -> Iterator[str]:
    """One evaluation with the way to each score."""
    receipt = found.receipt
    yield f"{receipt.submission_id}  task {receipt.task_id}  submitted {found.submitted_at}"
    yield (
        f"rank {receipt.overall_ranking}, percentile {receipt.percentile}; {found.profile}, policy {found.policy},"
        f" baseline version {receipt.baseline_version}"
    )
    for score in found.scores:
        yield f"{score.name} = {score.value:.2f}   ({score.unrounded!r})"
        yield f"    {score.formula}"
        for name, value in score.inputs.items():
            source = f" ({found.sources[name]})" if name in found.sources else ""
            yield f"    {name} = {'unknown' if value is None else value}{source}"
        for name, value in score.constants.items():
            yield f"    {name} = {value} ({found.sources[name]})"
    for one in found.criteria:
        yield f"{'met' if one.met else 'not met'}{' (claimed)' if one.claimed else ''}: {one.type}: {one.reason}"
    for what, names in (
        ("defaulted", receipt.defaulted),
        ("lower bounds", receipt.lower_bounds),
        ("flags", receipt.flags),
        ("warnings", receipt.warnings),
    ):
        if names:
            yield f"{what}: {', '.join(names)}"


def history_lines(found: History) -> Iterator[str]:
    """Scores of the day, their trend, and the versions of the baseline."""
    is_by_several = len({one.profile for one in found.moments}) > 1
    for one in found.moments:
        yield (
            f"{one.submitted_at}  {one.task_id}  {one.submission_id}  {one.overall_score:.2f}"
            f"  best {one.best_so_far:.2f}  baseline {one.baseline_version}"
            f"{f'  {one.profile}' if is_by_several else ''}"
        )
    trend = (
        f"no trend: {found.reason}" if found.trend_per_day is None else f"trend {found.trend_per_day:+.4g} points a day"
    )
    yield f"{counted(found.n, 'submission')}; {trend}"
    for version in found.baselines:
        since = counted(int(version["from_n"]), "submission")
        yield f"baseline {version['version']} from {since} ({version['created_at']})"


def change_lines(found: Sequence[Changes], since: str) -> Iterator[str]:
    """What changed in each task."""
    if not found:
        yield f"nothing changed since {since}"
    for task in found:
        yield (
            f"{task.task_id}: {task.then_n} -> {counted(task.now_n, 'submission')}, baseline {task.then_version} ->"
            f" {task.now_version}, leader {task.then_leader or DASH} -> {task.now_leader or DASH}"
        )
        if (task.then_profile, task.then_policy) != (task.now_profile, task.now_policy):
            yield (
                f"    in force: {task.then_profile}, policy {task.then_policy} ->"
                f" {task.now_profile}, policy {task.now_policy}"
            )
        for one in task.moved:
            if one.then_ranking is None:
                yield f"    {one.submission_id}  new at rank {one.now_ranking} with {one.now_score:.2f}"
            else:
                yield (
                    f"    {one.submission_id}  rank {one.then_ranking} -> {one.now_ranking},"
                    f" score {one.then_score:.2f} -> {one.now_score:.2f}"
                )


def comparison_lines(found: Comparison) -> Iterator[str]:
    """How ranks move between two profiles."""
    shown = DASH if found.mean_kendall_tau is None else f"{found.mean_kendall_tau:.4f}"
    yield f"{found.first} -> {found.second}: {counted(found.submissions, 'submission')}, mean Kendall tau {shown}"
    for task in found.tasks:
        tau = f"no tau ({task.reason})" if task.kendall_tau is None else f"tau {task.kendall_tau:.4f}"
        lead = ", another leader" if task.leader_changes else ""
        yield f"    {task.task_id}: {tau}, {task.changed} of {task.n} ranks change{lead}"
    for one in found.movers:
        yield (
            f"    {one.task_id}  {one.submission_id}  rank {one.first_ranking} -> {one.second_ranking},"
            f" score {one.first_score:.2f} -> {one.second_score:.2f}"
        )
