"""What an arena learned, as sentences and tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from steelyard.formatting import confidence_level, counted, decimal_bounds
from steelyard.reports._plain_text import DASH
from steelyard.reports._terminal_tables import TextTable, add_row, plain_table
from steelyard.results import (
    Between,
    ExpectedScores,
    Learned,
    LearnedAbilities,
    LearnedAbout,
    LearnedCorrectness,
    version_text,
)

TASKS_SHOWN = 50
"""Rows of a terminal; --out and --json have all."""


def learned_lines(learned: Learned) -> Iterator[str]:
    """What each kind came to."""
    for each in learned.versions:
        is_new = "learned" if each.is_new else "learned from the same before"
        why = f"; {each.reason}" if each.reason else ""
        seen = counted(each.seen, "rating" if each.kind == "weights" else "submission")
        yield f"{each.kind}: version {each.number}, {is_new}, {seen} seen{why}"


def tool_text(key: Mapping[str, str | None]) -> str:
    """A tool in one text."""
    return " ".join(part or DASH for part in key.values())


def estimate_of(between: Between | None) -> float | None:
    """The estimate alone."""
    return None if between is None else between.estimate


def between_text(between: Between | None, digits: int = 2) -> str:
    """An interval's ends."""
    return DASH if between is None else decimal_bounds(between.low, between.high, decimals=digits)


def abilities_line(learned: LearnedAbilities) -> str:
    """What the version rests on, or why there is none."""
    told = learned.learned
    if told.reason is not None:
        return f"{version_text(learned.version)}: {told.reason}."
    left_out = f", {told.unnamed:,} without a named tool left out" if told.unnamed else ""
    return (
        f"{version_text(learned.version)}: {counted(told.submissions, 'submission')}{left_out},"
        f" {counted(len(told.tools), 'tool')}, {counted(len(told.tasks), 'task')}; beside the scores, in none of them."
    )


def abilities_tables(learned: LearnedAbilities) -> Iterator[TextTable]:
    """Tools by rank, and the hardest tasks."""
    told = learned.learned
    if told.reason is not None:
        return
    table = plain_table("Tools by ability: the score expected on an average task")
    for name, spare in (("rank", 0), *((key, 0) for key in told.by), ("ability", 0), ("interval", 0)):
        table.add_column(name, justify="left" if name in told.by else "right", spare=spare)
    for name, spare in (("mean", 1), ("rank by mean", 1), ("correctness", 2), ("tasks", 2), ("submissions", 2)):
        table.add_column(name, justify="right", spare=spare)
    for tool in told.tools:
        right = tool.correctness_ability
        add_row(
            table,
            f"{tool.rank}",
            *(part or DASH for part in tool.key.values()),
            f"{tool.ability.estimate:.2f}",
            between_text(tool.ability),
            f"{tool.mean_score:.2f}",
            f"{tool.mean_rank}",
            DASH if right is None else f"{right.estimate:+.2f}",
            f"{tool.tasks:,}",
            f"{tool.submissions:,}",
        )
    yield table
    hardest = sorted(told.tasks, key=lambda task: task.level.estimate)[:TASKS_SHOWN]
    table = plain_table("Tasks, the hardest first: the score expected of an average tool")
    for name, spare in (("task", 0), ("level", 0), ("interval", 0), ("difficulty", 1), ("discrimination", 1)):
        table.add_column(name, justify="left" if name == "task" else "right", spare=spare)
    table.add_column("submissions", justify="right", spare=2)
    for task in hardest:
        add_row(
            table,
            task.task_id,
            f"{task.level.estimate:.2f}",
            between_text(task.level),
            DASH if task.difficulty is None else f"{task.difficulty.estimate:+.2f}",
            DASH if task.discrimination is None else f"{task.discrimination.estimate:.2f}",
            f"{task.submissions:,}",
        )
    yield table


def expected_line(scores: ExpectedScores) -> str:
    """Of which task, and by which version."""
    if scores.reason is not None:
        return f"{version_text(scores.version)}: {scores.reason}."
    unseen = "" if scores.task else "; the version has not seen the task, an average one is expected"
    return f"{scores.task_id}, {version_text(scores.version)}, limits at {confidence_level(scores.confidence)}{unseen}."


def expected_table(scores: ExpectedScores) -> TextTable:
    """One row a tool, the best first."""
    table = plain_table("Expected overall score of a further submission")
    table.add_column("tool", spare=0)
    for name, spare in (("expected", 0), ("limits", 0), ("correctness", 1), ("submissions so far", 1)):
        table.add_column(name, justify="right", spare=spare)
    for score in scores.scores:
        right = DASH if score.correctness is None else f"{score.correctness:.1f}"
        tried = f"{score.submissions:,}" if score.submissions else "not tried"
        ends = between_text(score.expected)
        add_row(table, tool_text(score.key), f"{score.expected.estimate:.2f}", ends, right, tried)
    return table


def correctness_lines(learned: LearnedCorrectness) -> Iterator[str]:
    """How well it is told, or why it cannot be."""
    model = learned.model
    if model.reason is not None:
        yield f"{version_text(learned.version)}: {model.reason}."
        return
    yield (
        f"{version_text(learned.version)}: {counted(model.examples, 'submission')} with tests,"
        f" {counted(model.tasks, 'task')};"
        f" Brier score {model.brier:.3f} ({model.brier_of_base:.3f} for always {model.right:.2f}),"
        f" calibration error {model.calibration_error:.3f}, on tasks left out of the fit."
    )


def correctness_tables(learned: LearnedCorrectness) -> Iterator[TextTable]:
    """The coefficients; of a task, the chance of each submission."""
    if learned.model.reason is not None:
        return
    if learned.task_id is not None:
        table = plain_table(f"{learned.task_id}: the learned chance of being right, in no score")
        table.add_column("submission", spare=0)
        table.add_column("chance", justify="right", spare=0)
        table.add_column("most telling", spare=1)
        for told in learned.chances:
            add_row(table, told.submission_id, f"{told.chance:.3f}", parts_text(told.parts))
        yield table
        return
    table = plain_table("Coefficients: what one standard deviation adds to the logit of being right")
    table.add_column("feature", spare=0)
    table.add_column("coefficient", justify="right", spare=0)
    table.add_column("known", justify="right", spare=1)
    table.add_column("meaning", spare=2)
    for each in sorted(learned.model.coefficients, key=lambda each: -abs(each.coefficient)):
        add_row(table, each.feature, f"{each.coefficient:+.3f}", f"{each.known:,}", each.meaning)
    yield table


def parts_text(parts: Mapping[str, float], most: int = 3) -> str:
    """The parts that move a chance most."""
    told = sorted((part for part in parts.items() if part[0] != "intercept"), key=lambda part: -abs(part[1]))
    return ", ".join(f"{name} {value:+.2f}" for name, value in told[:most])


def learned_about_lines(about: LearnedAbout) -> Iterator[str]:
    """What was learned about a submission, each with its version."""
    if about.abilities_version is not None:
        by = f"abilities version {about.abilities_version}"
        if about.shrunken_score is not None:
            ends = decimal_bounds(about.shrunken_low, about.shrunken_high)
            yield f"shrunken_score = {about.shrunken_score:.2f} ({ends}; {by}; beside the overall score, not in it)"
        if about.expected is not None:
            yield f"expected of its tool: {about.expected.estimate:.2f} ({between_text(about.expected)}; {by})"
        if about.deviations is not None:
            yield f"surprise: {about.deviations:+.1f} deviations from that; recommended: manual_review ({by})"
    if about.correctness_version is not None:
        by = f"correctness version {about.correctness_version}"
        if about.chance is not None:
            parts = ", ".join(f"{name} {value:+.2f}" for name, value in about.chance.parts.items())
            yield f"chance of being right: {about.chance.chance:.3f} ({by}; logit: {parts}; in no score)"
        elif about.reason is not None:
            yield f"chance of being right: none, {about.reason} ({by})"
