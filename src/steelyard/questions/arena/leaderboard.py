"""Rank submissions to a task, or agents across tasks.

With a task, shows the ranks, percentiles and flags of its submissions, and marks default values and unverified
claims. Without one, ranks agents and models by their mean score over tasks, overall and per category.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, get_args

import msgspec

from steelyard import pages  # its names are imported on first use
from steelyard.arena import (
    Arena,
    LeaderKey,
    Policy,
    Rules,
    RulesInForce,
    ScoredBy,
    ScoreInterval,
    read_parties,
    score_interval,
    scored_by,
    scored_views,
    teams_of,
)
from steelyard.errors import UnknownNameError
from steelyard.figures import Estimate, Figure, dots
from steelyard.formatting import counted, decimal_bounds, interval_name
from steelyard.questions._answer import Drawing, Part, Rows
from steelyard.questions._question import Names, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, score_axis, score_column, spared
from steelyard.questions.arena._rankings import (
    RankingOptions,
    mean_facts,
    mean_interval_column,
    settings_text,
    unreported_text,
)
from steelyard.records import Party

if TYPE_CHECKING:
    from steelyard.pages import Page, PageTable

Key = tuple[str | None, ...]
KEYS: tuple[LeaderKey, ...] = get_args(LeaderKey)


class LeaderboardOptions(RankingOptions):
    """Options of `arena leaderboard` across tasks."""

    by: Names = doc("Comma-separated keys: agent, model, submitter, team.", default=("agent", "model"))


class Leader(Part, frozen=True, kw_only=True):
    """An agent, model or submitter across tasks."""

    rank: int
    key: dict[str, str | None]
    mean_score: float
    """Mean over tasks of the mean overall score per task."""
    tasks: int
    submissions: int
    unreported: int
    """Number of submissions without a cost or time, which score 50 by the specification."""
    reliable: bool
    """Whether it has enough submissions for a reliable rank."""
    confidence_interval: ScoreInterval
    """Interval of the mean score over tasks, rounded like the mean."""

    @property
    def note(self) -> str:
        """What limits its rank; empty if nothing does."""
        notes = [] if self.reliable else ["too few submissions for a reliable rank"]
        if self.unreported:
            missing = unreported_text(["estimated_cost", "execution_time"])
            notes.append(f"{self.unreported:,} of {counted(self.submissions, 'submission')} without a {missing}")
        return "; ".join(notes)


class CategoryLeaders(Part, frozen=True, kw_only=True):
    """Leaders within a category."""

    category: str
    leaders: tuple[Leader, ...]


class Leaderboard(ArenaAnswer, frozen=True, kw_only=True):
    """Leaders across all tasks and within each category."""

    rows: ClassVar[Rows] = Rows("overall", "categories.leaders")

    profile: str
    """The current profile, which determines intervals."""
    scored_by: tuple[ScoredBy, ...]
    """The profiles of the scores; under `current`, the current one."""
    policy: Policy
    by: tuple[LeaderKey, ...]
    overall: tuple[Leader, ...]
    categories: tuple[CategoryLeaders, ...]
    names: dict[str, dict[str, str]]
    """Display names by id, for each key in `by`."""

    @property
    def about(self) -> str:
        """Number of groups, keys and settings."""
        return f"{counted(len(self.overall), 'group')} by {','.join(self.by)}; {self.profile}, {self.policy}"

    def shown(self, key: str, identity: str | None) -> str | None:
        """Return the id, preceded by its display name if it has one."""
        name = self.names.get(key, {}).get(identity or "")
        return identity if name is None else f"{name} ({identity})"

    def named(self, leader: Leader) -> str:
        """Return the name of a leader."""
        names = [self.shown(key, identity) for key, identity in leader.key.items()]
        return " / ".join(name for name in names if name) or "unnamed"


@arena_question(
    LeaderboardOptions,
    path="/leaderboard",
    variants={"task": "arena_task_leaderboard", "agent": "arena_agent", "all_tasks": "arena_all_leaderboards"},
    examples=({"by": "agent"},),
)
def arena_leaderboard(arena: Arena, options: LeaderboardOptions) -> Leaderboard:
    """Return the leaders across all tasks and within each category."""
    by = _keys(options.by)
    scores: dict[str | None, dict[Key, dict[str, Counter[int]]]] = defaultdict(lambda: defaultdict(dict))
    unreported: dict[str | None, Counter[Key]] = defaultdict(Counter)
    made: Counter[RulesInForce] = Counter()
    with arena.read() as connection:
        teams, names = teams_of(connection), _display_names(read_parties(connection), by)
    for view, rules_history in scored_views(arena, options.policy):
        made.update(rules_history.of(view.stored_task.key, ordinal) for ordinal in view.rows["ordinal"].to_list())
        columns = [
            list(map(teams.get, view.rows["submitter"].to_list())) if name == "team" else view.rows[name].to_list()
            for name in by
        ]
        columns += [view.rows[name].to_list() for name in ("execution_time", "estimated_cost", "overall")]
        for *key, time, cost, value in zip(*columns, strict=True):
            for category in {None, view.stored_task.task.category}:
                counts = scores[category][tuple(key)].setdefault(view.stored_task.task.id, Counter())
                counts[value] += 1
                unreported[category][tuple(key)] += not (time and cost)
    ranked = {
        category: _ranked(scores_by_key, unreported[category], by, arena.rules, options.confidence)[: options.top]
        for category, scores_by_key in scores.items()
    }
    return Leaderboard(
        profile=arena.rules.name,
        scored_by=scored_by(made),
        policy=options.policy or arena.policy,
        by=by,
        overall=ranked.pop(None, ()),
        categories=tuple(CategoryLeaders(category=name, leaders=ranked[name]) for name in sorted(filter(None, ranked))),
        names=names,
    )


def _keys(names: Sequence[str]) -> tuple[LeaderKey, ...]:
    """Return the keys of these names."""
    known = {str(key): key for key in KEYS}
    for name in names:
        if name not in known:
            raise UnknownNameError("key", name, known)
    return tuple(known[name] for name in names)


def _display_names(registered: Iterable[Party], by: Sequence[LeaderKey]) -> dict[str, dict[str, str]]:
    """What the ids of each key are shown as, where they were registered with a name."""
    kinds = {"agent": "tool", "submitter": "person", "team": "team"}
    names: dict[str, dict[str, str]] = {key: {} for key in by}
    for party in registered:
        for key in by:
            if kinds.get(key) == party.kind and party.display_name is not None:
                names[key][party.id] = party.display_name
    return {key: own for key, own in names.items() if own}


def _ranked(
    scores: dict[Key, dict[str, Counter[int]]],
    unreported: Counter[Key],
    by: Sequence[LeaderKey],
    rules: Rules,
    confidence: float | None,
) -> tuple[Leader, ...]:
    intervals = {
        key: _rounded(
            score_interval(Counter(map(_mean, tasks.values())), rules.interval, confidence=confidence, over_tasks=True)
        )
        for key, tasks in scores.items()
    }
    means = {key: interval.estimate or 0.0 for key, interval in intervals.items()}  # every key has a score
    made = []
    for key in sorted(scores, key=lambda key: (-means[key], tuple(part or "" for part in key))):
        submissions = sum(counts.total() for counts in scores[key].values())
        made.append(
            Leader(
                rank=1 + sum(other > means[key] for other in means.values()),
                key=dict(zip(by, key, strict=True)),
                mean_score=means[key],
                tasks=len(scores[key]),
                submissions=submissions,
                unreported=unreported[key],
                reliable=submissions >= rules.leaderboard.reliable_from,
                confidence_interval=intervals[key],
            )
        )
    return tuple(made)


def _mean(counts: Counter[int]) -> Fraction:
    return Fraction(sum(value * n for value, n in counts.items()), counts.total())


def _rounded(interval: ScoreInterval) -> ScoreInterval:
    """The interval to two decimals, as its mean is shown: rounding keeps the order, so it still holds the mean."""
    ends = {"low": round(interval.low, 2), "high": round(interval.high, 2)}
    estimate = None if interval.estimate is None else round(interval.estimate, 2)
    return msgspec.structs.replace(interval, estimate=estimate, **ends)


def page(answer: Leaderboard) -> Page:
    """Return one row per agent, model or submitter over all tasks, then within each category."""
    overall = answer.overall
    caption = f"Mean overall score over tasks, {settings_text(answer)}"
    made = pages.Page(
        name="rank",
        title="Who leads, and how certain is that?",
        answer=_sentence(answer),
        notes=_category_notes(answer),
        table=_table(answer, overall, name="table", caption=caption),
        also=tuple(
            _table(answer, each.leaders, name=f"category-{place}", caption=each.category)
            for place, each in enumerate(answer.categories)
        ),
        facts=(
            ("scored by", settings_text(answer)),
            ("mean", "mean per task, averaged over tasks"),
            *(mean_facts(overall[0].confidence_interval) if overall else ()),
        ),
    )
    return pages.with_figures(made, answer, ("dots",))


def _table(answer: Leaderboard, leaders: Sequence[Leader], *, name: str, caption: str) -> PageTable:
    columns = (
        pages.count_column("rank", "rank", [leader.rank for leader in leaders]),
        *(pages.text_column(key, key, [answer.shown(key, leader.key[key]) for leader in leaders]) for key in answer.by),
        score_column("mean_score", "mean score", [leader.mean_score for leader in leaders]),
        mean_interval_column([leader.confidence_interval for leader in leaders]),
        spared(pages.count_column("tasks", "tasks", [leader.tasks for leader in leaders]), 2),
        spared(pages.count_column("submissions", "submissions", [leader.submissions for leader in leaders]), 3),
        spared(pages.text_column("note", "note", [leader.note for leader in leaders])),
    )
    return pages.PageTable(name=name, caption=caption, columns=columns)


def _sentence(answer: Leaderboard) -> str:
    """Return the leaders with their interval, and whose intervals overlap with it."""
    if not answer.overall:
        return "No submissions yet. Add some: steelyard arena submit FILE"
    first = [leader for leader in answer.overall if leader.rank == 1]
    leader, others = first[0], answer.overall[len(first) :]
    interval = leader.confidence_interval
    names = " and ".join(map(answer.named, first))
    sentence = (
        f"{names} {'leads' if len(first) == 1 else 'share the lead'} with a mean score of {leader.mean_score:.2f} over"
        f" {counted(leader.tasks, 'task')} ({interval_name(interval.level)}"
        f" {decimal_bounds(interval.low, interval.high)})."
    )
    near = [other for other in others if other.confidence_interval.high >= interval.low]
    if near:
        more = f" and {counted(len(near) - 1, 'other')}" if len(near) > 1 else ""
        sentence += f" {answer.named(near[0])}{more} cannot be distinguished from it (overlapping intervals)."
    notes = dict.fromkeys(each.note for each in first if each.note)
    return sentence + "".join(f" {note[0].upper()}{note[1:]}." for note in notes)


def _category_notes(answer: Leaderboard) -> tuple[str, ...]:
    led = {each.category: each.leaders[0] for each in answer.categories if each.leaders}
    return tuple(
        f"{category}: {answer.named(leader)} leads with {leader.mean_score:.2f}."
        for category, leader in led.items()
        if len(led) > 1
    )


def _dots(answer: Leaderboard, width: int) -> Figure:
    """Draw mean scores over tasks with their intervals."""
    rows = [
        Estimate(
            label=pages.key_name(leader.key, None),
            value=leader.mean_score,
            low=leader.confidence_interval.low,
            high=leader.confidence_interval.high,
            rank=str(leader.rank),
            note=f"{counted(leader.tasks, 'task')}, {counted(leader.submissions, 'submission')}",
            text=f"{leader.mean_score:.2f}",
            faint=not leader.reliable,
        )
        for leader in answer.overall
    ]
    level = pages.confidence_text(answer.overall[0].confidence_interval.level) if answer.overall else "no intervals"
    note = f"{level} over tasks; hollow: too few submissions; profile {answer.profile}, {answer.policy}"
    title = f"Mean score by {', '.join(answer.by)}"
    return dots(rows, title=title, axis=score_axis("Mean overall score"), note=note, width=width)


DRAWINGS: Mapping[str, Drawing] = {"dots": _dots}
"""Figures of the answer."""
