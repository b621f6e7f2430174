"""The arena as tables for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from steelyard.formatting import counted, decimal_bounds, interval_name, quantity
from steelyard.metrics import catalog
from steelyard.pages import DASH, TextTable, add_row, plain_table
from steelyard.reports._arena_lines import (
    REPORTS_FAILURE,
    leader_unreported_text,
    unreported_text,
)
from steelyard.results import (
    NO_CRITERIA,
    UNSTATED,
    Leader,
    Leaderboard,
    LeaderboardEntry,
    Receipt,
    TaskLeaderboard,
    ToolBias,
)

NOTES_SHOWN = 5
REVIEW_MARK = " !"
"""Marks a submission that waits for a review, also where there is no room for notes."""


def arena_table(title: str, columns: Sequence[tuple[str, int]], *, texts: Sequence[str] = ()) -> TextTable:
    """A table of numbers, save in the columns of `texts`; each column with how far it can be spared."""
    table = plain_table(title)
    for name, spare in columns:
        table.add_column(name, justify="left" if name in texts else "right", spare=spare)
    return table


def leaderboard_table(leaderboard: TaskLeaderboard) -> TextTable:
    """The leaderboard of a task with the ranks by the score that they are ordered by, best first."""
    by = leaderboard.sorted_by
    numbers = {"overall": 0, "efficiency": 2, "speed": 1, "cost": 1, "correctness": 1, "adjusted": 5}
    columns = [("rank" if by == "overall" else f"{by} rank", 0), ("submission", 0), ("agent", 0), ("model", 0)]
    columns += [("percentile", 3), *((name, 0 if name == by else spare) for name, spare in numbers.items())]
    extra = leaderboard.extra_score_names()
    columns += [(name, 3) for name in extra]
    columns += [("profile", 0)] if len(leaderboard.scored_by) > 1 else []
    texts = ("submission", "agent", "model", "profile")
    table = arena_table(f"{leaderboard.task_id}  {leaderboard.category or ''}".rstrip(), columns, texts=texts)
    table.add_column("notes", spare=4, instead=_notes_in_short(leaderboard.leaderboard))
    for entry in leaderboard.leaderboard:
        scores = [_score(entry, name) for name in numbers]
        scores += [_extra_text(name, entry.extra_scores[name]) for name in extra]
        named = [entry.agent or DASH, entry.model or DASH, f"{entry.percentile:.1f}"]
        profile = [entry.profile] if len(leaderboard.scored_by) > 1 else []
        name = f"{entry.submission_id}{REVIEW_MARK if entry.recommended_action else ''}"
        rank = str(getattr(entry, f"{by}_ranking"))
        add_row(table, rank, name, *named, *scores, *profile, "; ".join(_notes(entry)))
    return table


def _extra_text(name: str, value: float | None) -> str:
    if value is None:
        return DASH
    if name in catalog():
        return quantity(value, catalog()[name].unit)
    return f"{value:.0f}" if name.endswith("_ranking") else f"{value:.2f}"


def _score(entry: LeaderboardEntry, name: str) -> str:
    """The score, with a star where the submission does not state what it is made of."""
    of = {"cost": "estimated_cost", "speed": "execution_time"}.get(name)
    return f"{getattr(entry, f'{name}_score'):.2f}{' *' if of in entry.defaulted else ''}"


def bias_table(bias: ToolBias) -> TextTable:
    """One row a tool: its mean difference from the others, the interval, and whether it is systematic."""
    columns = [("agent", 0), ("mean difference", 0), ("interval", 0), ("tasks", 1), ("systematic", 0)]
    table = arena_table("Score difference from other tools on the same tasks", columns, texts=("agent", "systematic"))
    for tool in bias.advantages:
        if tool.low is None or tool.high is None or tool.mean_difference is None:
            add_row(table, tool.agent, DASH, DASH, f"{tool.tasks:,}", f"no interval: {tool.reason}")
        else:
            interval = decimal_bounds(tool.low, tool.high, signed=True)
            verdict = "systematic" if tool.systematic else "inconclusive"
            add_row(table, tool.agent, f"{tool.mean_difference:+.2f}", interval, f"{tool.tasks:,}", verdict)
    return table


def leaderboard_line(leaderboard: TaskLeaderboard) -> str:
    """Return the line above the table: the interval and the settings of the leaderboard."""
    interval = leaderboard.confidence_interval
    enough = counted(leaderboard.reliable_from, "submission")
    trust = "" if leaderboard.reliable else f"; ranks are unreliable below {enough}"
    left_out = f" ({len(leaderboard.excluded)} excluded)" if leaderboard.excluded else ""
    mean = DASH if interval.estimate is None else f"{interval.estimate:.2f}"
    criteria = f"; {NO_CRITERIA}" if leaderboard.criteria == 0 else ""
    first = leaderboard.leaderboard[:1]
    unreported = [
        f"; {each.submission_id} leads without a {text}" for each in first if (text := unreported_text(each.defaulted))
    ]
    return (
        f"{counted(leaderboard.n, 'submission')}{left_out}, mean score {mean}"
        f" ({interval_name(interval.level)} {decimal_bounds(interval.low, interval.high)}, {interval.method});"
        f" {settings_named(leaderboard)},"
        f" baseline version {leaderboard.baseline_version}{trust}{criteria}{''.join(unreported)}."
    )


def settings_named(ranking: TaskLeaderboard | Leaderboard) -> str:
    """The profile and the policy; where other profiles made scores, those with how many each made.

    Profiles with the same name are distinguished by the time they came into force.
    """
    in_force = f"{ranking.profile}, policy {ranking.policy}"
    made = ranking.scored_by
    if ranking.policy == "current" or (len(made) <= 1 and all(scorer.profile == ranking.profile for scorer in made)):
        return in_force
    is_twice = len({scorer.profile for scorer in made}) < len(made)
    names = [f"{scorer.profile} of {scorer.since}" if is_twice and scorer.since else scorer.profile for scorer in made]
    shown = [f"{name} ({counted(scorer.submissions, 'submission')})" for name, scorer in zip(names, made, strict=True)]
    return f"scored by {', '.join(shown)}; current {in_force}"


def _unreported(fields: Sequence[str]) -> str:
    """What was not stated, and what the specification puts in its place."""
    return "; ".join(text for field, text in UNSTATED.items() if field in fields)


def _notes_in_short(leaderboard: Sequence[LeaderboardEntry]) -> str:
    """Return each note with its number of rows, for tables without room for a notes column."""
    counts = Counter(note for entry in leaderboard for note in _notes(entry))
    notes = [f"{note} ({counted(count, 'row')})" for note, count in counts.most_common(NOTES_SHOWN)]
    notes += [f"{len(counts) - NOTES_SHOWN:,} more"] if len(counts) > NOTES_SHOWN else []
    return f"Notes: {'; '.join(notes)}" if notes else ""


def _notes(entry: LeaderboardEntry | Receipt) -> list[str]:
    notes = [f"{entry.recommended_action}{REVIEW_MARK}"] if entry.recommended_action else []
    notes += entry.flags
    notes += [REPORTS_FAILURE] if isinstance(entry, LeaderboardEntry) and entry.hides_failure else []
    notes += [_unreported(entry.defaulted)] if entry.defaulted else []
    notes += [f"unverified: {', '.join(entry.claimed)}"] if entry.claimed else []
    notes += [f"lower bound of {', '.join(entry.lower_bounds)}"] if entry.lower_bounds else []
    return [*notes, *entry.warnings]


def leaders_line(leaderboard: Leaderboard) -> str:
    """Who leads over all tasks."""
    if not leaderboard.overall:
        return "No submissions yet. Add some: steelyard arena submit FILE"
    first = [leader for leader in leaderboard.overall if leader.rank == 1]
    names = [_leader_name(leaderboard, leader) for leader in first]
    lead = "leads" if len(names) == 1 else "share the lead"
    doubt = "" if all(leader.reliable for leader in first) else "; too few submissions for reliable ranks"
    doubt += "".join(f"; {text}" for leader in first if (text := leader_unreported_text(leader)))
    return f"{' and '.join(names)} {lead} with a mean score of {first[0].mean_score:.2f}{doubt}."


def leaders_tables(leaderboard: Leaderboard) -> Iterator[TextTable]:
    """Tools, models or submitters across all tasks, then within each category."""
    yield _leaders_table(leaderboard, leaderboard.overall, title=f"All tasks, {settings_named(leaderboard)}")
    for category, leaders in leaderboard.categories.items():
        yield _leaders_table(leaderboard, leaders, title=category)


def _leader_name(leaderboard: Leaderboard, leader: Leader) -> str:
    shown = [leaderboard.shown(key, identity) for key, identity in leader.key.items()]
    return " ".join(name for name in shown if name) or DASH


def _leaders_table(leaderboard: Leaderboard, leaders: Sequence[Leader], *, title: str) -> TextTable:
    keys = list(leaders[0].key) if leaders else []
    columns = [("rank", 0), *((key, 0) for key in keys)]
    columns += [("mean score", 0), ("interval", 0), ("tasks", 2), ("submissions", 3), ("note", 1)]
    table = arena_table(title, columns, texts=(*keys, "note"))
    for leader in leaders:
        interval = decimal_bounds(leader.confidence_interval.low, leader.confidence_interval.high)
        named = [leaderboard.shown(key, leader.key[key]) or DASH for key in keys]
        counts = [str(leader.tasks), str(leader.submissions)]
        doubts = ["" if leader.reliable else "too few for reliable ranks", leader_unreported_text(leader)]
        note = "; ".join(filter(None, doubts))
        add_row(table, str(leader.rank), *named, f"{leader.mean_score:.2f}", interval, *counts, note)
    return table
