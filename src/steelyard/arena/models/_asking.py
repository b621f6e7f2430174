"""What was learned, asked for: the version that is named or the latest one, and what it says about tools and tasks."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.ingest import Arena, find_task
from steelyard.arena.models._correctness import chances_of, has_tests
from steelyard.arena.models._submission_columns import read_columns
from steelyard.arena.models._versions import CORRECTNESS, HINT, SWITCHED_OFF, surprise_findings
from steelyard.arena.scoring import (
    ABILITIES,
    SHRUNKEN_SCORE,
    decoded_abilities,
    shrunken_score,
    sparse_task,
    version_of,
)
from steelyard.errors import UsageError
from steelyard.results import (
    Abilities,
    Between,
    CorrectnessModel,
    ExpectedScore,
    ExpectedScores,
    LearnedAbilities,
    LearnedAbout,
    LearnedCorrectness,
    TaskDifficulty,
    ToolAbility,
)
from steelyard.statistics import student_quantile
from steelyard.store import LearnedVersion, learned_version
from steelyard.store.schema import submissions, tasks

MIN_SCORE, MAX_SCORE = 0.0, 100.0


def learned_abilities(arena: Arena, version: int | None = None) -> LearnedAbilities:
    """Tools by ability and tasks by difficulty, of the latest version or the one of that number."""
    with arena.read() as connection:
        kept = learned_version(connection, ABILITIES, version)
    learned = _abilities(arena, kept)
    return LearnedAbilities(version=version_of(kept), learned=learned, findings=surprise_findings(learned.surprises))


def expected_scores(arena: Arena, task_id: str, version: int | None = None) -> ExpectedScores:
    """What every tool is expected to score on the task, tried or not, the best first."""
    with arena.read() as connection:
        find_task(connection, task_id, arena.rules)
        kept = learned_version(connection, ABILITIES, version)
        learned = _abilities(arena, kept)
        tried = {} if kept is None else _tried(connection, task_id, learned.by, kept)
    task = next((each for each in learned.tasks if each.task_id == task_id), None)
    scores = [
        ExpectedScore(
            key=tool.key,
            expected=_expected(learned, tool, task),
            correctness=_correctness(tool, task),
            submissions=tried.get(tuple(tool.key.values()), 0),
        )
        for tool in learned.tools
    ]
    scores.sort(key=lambda score: -score.expected.estimate)
    return ExpectedScores(
        version=version_of(kept),
        task_id=task_id,
        task=task,
        confidence=learned.confidence,
        scores=tuple(scores),
        reason=learned.reason,
    )


def _tried(
    connection: Connection, task_id: str, by: Sequence[str], kept: LearnedVersion
) -> dict[tuple[str | None, ...], int]:
    """How many submissions of each tool to the task counted when the version was learned."""
    chosen = select(*(submissions.c[name] for name in by)).join(tasks, tasks.c.task_key == submissions.c.task_key)
    there = (tasks.c.id == task_id) & (submissions.c.accepted_at <= kept.made_at) & submissions.c.excluded_at.is_(None)
    counts: dict[tuple[str | None, ...], int] = {}
    for row in connection.execute(chosen.where(there)):
        counts[tuple(row)] = counts.get(tuple(row), 0) + 1
    return counts


def learned_correctness(arena: Arena, task_id: str | None = None, version: int | None = None) -> LearnedCorrectness:
    """The model of correctness; with a task that has no tests, the chance of each of its submissions."""
    with arena.read() as connection:
        kept = learned_version(connection, CORRECTNESS, version)
        model = CorrectnessModel(reason=_why_none(arena, CORRECTNESS))
        if kept is not None:
            model = msgspec.json.decode(kept.content, type=CorrectnessModel)
        columns = None
        if task_id is not None:
            task = find_task(connection, task_id, arena.rules).task
            if has_tests(task):
                raise UsageError("the task has tests, which say what is right", where=task_id, hint="name another")
            if model.reason is None:
                columns = read_columns(connection, arena.rules, arena.policy, model.by, task_id=task_id)
    chances = () if columns is None else tuple(chances_of(model, columns, np.arange(len(columns.task))))
    return LearnedCorrectness(version=version_of(kept), model=model, chances=chances, task_id=task_id)


def learned_about(arena: Arena, submission_id: str, *, overall_score: float, task_id: str) -> LearnedAbout | None:
    """What the latest versions say about a submission; None in an arena that learns nothing."""
    if arena.rules.learning is None:
        return None
    about = LearnedAbout()
    with arena.read() as connection:
        abilities = learned_version(connection, ABILITIES)
        correctness = learned_version(connection, CORRECTNESS)
        task = find_task(connection, task_id, arena.rules).task
        row = connection.execute(select(submissions).where(submissions.c.id == submission_id)).mappings().one()
        if correctness is not None:
            model = msgspec.json.decode(correctness.content, type=CorrectnessModel)
            about = msgspec.structs.replace(about, correctness_version=correctness.number, reason=model.reason)
            if has_tests(task):
                about = msgspec.structs.replace(about, reason="the task has tests, which say what is right")
            elif model.reason is None:
                columns = read_columns(connection, arena.rules, arena.policy, model.by, task_id=task_id)
                ids: list[str] = columns.columns["id"]
                if submission_id in ids:  # one that is excluded is not
                    chance = chances_of(model, columns, np.array([ids.index(submission_id)]))[0]
                    about = msgspec.structs.replace(about, chance=chance)
    if abilities is not None:
        learned = decoded_abilities(abilities.content)
        about = msgspec.structs.replace(about, abilities_version=abilities.number)
        key = tuple(row[name] for name in learned.by)
        return _with_abilities(about, learned, submission_id, key, overall_score=overall_score, task_id=task_id)
    return about


def _with_abilities(
    about: LearnedAbout,
    learned: Abilities,
    submission_id: str,
    key: tuple[str | None, ...],
    *,
    overall_score: float,
    task_id: str,
) -> LearnedAbout:
    task = next((each for each in learned.tasks if each.task_id == task_id), None)
    tool = next((each for each in learned.tools if tuple(each.key.values()) == key), None)
    surprise = next((each for each in learned.surprises if each.submission_id == submission_id), None)
    told: dict[str, object] = {"deviations": None if surprise is None else surprise.deviations}
    if tool is not None:
        told["expected"] = _expected(learned, tool, task)
    sparse = sparse_task(learned, task_id)
    if sparse is not None:
        reach = (sparse.level.high - sparse.level.low) / 2
        ends = {SHRUNKEN_SCORE: 0.0, "shrunken_low": -reach, "shrunken_high": reach}
        told |= {name: shrunken_score(sparse, overall_score, further=further) for name, further in ends.items()}
    return msgspec.structs.replace(about, **told)


def _abilities(arena: Arena, kept: LearnedVersion | None) -> Abilities:
    if kept is None:
        return Abilities(reason=_why_none(arena, ABILITIES))
    return decoded_abilities(kept.content)


def _why_none(arena: Arena, kind: str) -> str:
    """Why there is no version, and what makes one."""
    if arena.rules.learning is None or getattr(arena.rules.learning, kind) is None:
        return f"{SWITCHED_OFF} ({HINT})"
    return f"no version of {kind} has been learned yet (steelyard arena learn)"


def _expected(learned: Abilities, tool: ToolAbility, task: TaskDifficulty | None) -> Between:
    """The score of a further submission; of a task that the version has not seen, on an average one."""
    level = float(np.mean([each.level.estimate for each in learned.tasks]))
    spread = float(np.std([each.level.estimate for each in learned.tasks]))
    middle = tool.ability.estimate + (0.0 if task is None else task.level.estimate - level)
    of_tool = _error(tool.ability, learned.confidence, len(learned.tools))
    of_task = spread if task is None else _error(task.level, learned.confidence, len(learned.tasks))
    width = float(np.sqrt(learned.deviation**2 + of_tool**2 + of_task**2))
    ends = (middle, middle + learned.reach[0] * width, middle + learned.reach[1] * width)
    return Between(*(round(_inside(end), 2) for end in ends))


def _error(between: Between, confidence: float, count: int) -> float:
    """The standard error that an interval was made with."""
    return (between.high - between.low) / 2 / float(student_quantile(confidence, count - 1))


def _correctness(tool: ToolAbility, task: TaskDifficulty | None) -> float | None:
    if tool.correctness_ability is None or task is None or task.difficulty is None or task.discrimination is None:
        return None
    above = task.discrimination.estimate * (tool.correctness_ability.estimate - task.difficulty.estimate)
    return round(float(100 / (1 + np.exp(-above))), 2)


def _inside(score: float) -> float:
    return min(max(score, MIN_SCORE), MAX_SCORE)
