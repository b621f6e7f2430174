"""The arena as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from rich import box
from rich.table import Table

from steelyard.plain_text import clean
from steelyard.reports._arena_lines import DASH
from steelyard.reports._plain_text import counted
from steelyard.reports._terminal_tables import add_row
from steelyard.results import Leader, Leaderboard, Standing, Standings, TaskDetails


def _table(title: str, columns: Sequence[tuple[str, bool]]) -> Table:
    table = Table(title=clean(title), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for name, is_number in columns:
        table.add_column(clean(name), justify="right" if is_number else "left", overflow="fold")
    return table


def standings_table(standings: Standings) -> Table:
    """The standings of a task with the ranks by the score that they are ordered by, best first."""
    by = standings.sorted_by
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
    for standing in standings.standings:
        scores = [f"{getattr(standing, f'{name}_score'):.2f}" for name in numbers]
        named = [standing.agent or DASH, standing.model or DASH, f"{standing.percentile:.1f}"]
        profile = [standing.profile] if len(standings.scored_by) > 1 else []
        rank = str(getattr(standing, f"{by}_ranking"))
        add_row(table, rank, standing.submission_id, *named, *scores, *profile, _notes(standing))
    return table


def standings_line(standings: Standings) -> str:
    """What stands under the table: the interval, and what made the standings."""
    interval = standings.confidence_interval
    enough = counted(standings.reliable_from, "submission")
    trust = "" if standings.reliable else f"; ranks are not reliable below {enough}"
    left_out = f" ({len(standings.excluded)} excluded)" if standings.excluded else ""
    mean = DASH if interval.estimate is None else f"{interval.estimate:.2f}"
    return (
        f"{counted(standings.n, 'submission')}{left_out}, mean score {mean}, {interval.low:.2f} to {interval.high:.2f}"
        f" ({_percent(interval.level)}, {interval.method}); {settings_named(standings)},"
        f" baseline version {standings.baseline_version}{trust}"
    )


def settings_named(ranking: Standings | Leaderboard) -> str:
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


def _percent(share: float) -> str:
    """The share in percent, with the digits that it was given with.

    >>> _percent(0.95), _percent(0.999), _percent(0.975)
    ('95%', '99.9%', '97.5%')
    """
    shown = f"{Decimal(repr(share)).scaleb(2):f}"
    return f"{_trimmed(shown)}%"


def _notes(standing: Standing) -> str:
    notes = [f"defaulted {', '.join(standing.defaulted)}"] if standing.defaulted else []
    notes += [f"claimed {', '.join(standing.claimed)}"] if standing.claimed else []
    notes += [f"lower bound of {', '.join(standing.lower_bounds)}"] if standing.lower_bounds else []
    notes += [*standing.flags, *standing.warnings]
    return "; ".join([*notes, *([standing.recommended_action] if standing.recommended_action else [])])


def leaders_tables(leaderboard: Leaderboard) -> Iterator[Table]:
    """Tools, models or submitters across all tasks, then within each category."""
    yield _leaders_table(leaderboard.overall, title=f"All tasks, {settings_named(leaderboard)}")
    for category, leaders in leaderboard.categories.items():
        yield _leaders_table(leaders, title=category)


def _leaders_table(leaders: Sequence[Leader], *, title: str) -> Table:
    keys = list(leaders[0].key) if leaders else []
    columns = [("rank", True), *((key, False) for key in keys)]
    columns += [
        ("mean score", True),
        ("interval", False),
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


def baselines_table(details: TaskDetails) -> Table:
    """A task's baseline beside those of each tool and model."""
    title = f"baseline version {details.baseline_version}, {counted(details.submissions, 'submission')}"
    heads = [f"{combination.agent or DASH} {combination.model or DASH}" for combination in details.combinations]
    table = _table(title, [("", False), ("all", True), *((head, True) for head in heads)])
    for name, value in details.baseline.items():
        own = [_number((combination.baseline or {}).get(name)) for combination in details.combinations]
        add_row(table, name, _number(value), *own)
    return table


def _number(value: float | str | None) -> str:
    r"""Whole numbers whole, others with six digits, and none with an exponent that can be read without; text as it is.

    >>> _number(1234567.0), _number(1234567.5), _number(0.0000125), _number(2.0**53)
    ('1,234,567', '1,234,567.5', '0.0000125', '9,007,199,254,740,992')
    """
    if value is None:
        return DASH
    if isinstance(value, str):
        return value
    if float(value).is_integer():
        return f"{int(value):,}"
    whole = len(str(int(abs(value))))
    return _trimmed(f"{value:,.1f}") if whole >= 6 else _trimmed(f"{Decimal(f'{value:.6g}'):,f}")


def _trimmed(shown: str) -> str:
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
