"""Gold labels: human verdicts from a CSV file, and the judges measured against them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from msgspec import structs

from steelyard.errors import InputError, UsageError
from steelyard.files import csv_rows
from steelyard.option_names import option
from steelyard.questions.judges._answer import CorrectedPassRate, Judges
from steelyard.questions.judges._examination import JudgedRun, Rating
from steelyard.records import Rejected, strict_majority
from steelyard.statistics import CorrectedRate, JudgeAccuracy, judge_accuracy, ppi_rate, rogan_gladen_rate

GoldSource: TypeAlias = Literal["sample", "other"]
WORDS = {
    **dict.fromkeys(("1", "true", "yes", "pass", "passed"), True),
    **dict.fromkeys(("0", "false", "no", "fail", "failed"), False),
}
"""Words for a verdict."""
COLUMNS = {"sample": ("run", "passed"), "other": ("run", "judge", "judged", "passed")}
"""Columns that a file of labels needs; `task` is optional where the labeled runs are others."""


@dataclass(frozen=True, slots=True)
class Label:
    """One row: the gold verdict of a run, with a judge's verdict if the run is not among the inputs."""

    where: str
    run: str
    passed: bool
    task: str
    judge: str = ""
    judged: bool = False


@dataclass(frozen=True, slots=True)
class _Labeled:
    """A run with a gold verdict and its judges' votes."""

    task: str
    gold: bool
    votes: Mapping[str, bool]


def read_labels(path: Path, source: GoldSource) -> list[Label]:
    """Return the labels, validated; two verdicts on one run must agree."""
    labels = list(_read_file(Path(path), source))
    if not labels:
        raise UsageError(f"no labels in {option('gold')}", hint=_form(source))
    known: dict[str, Label] = {}
    for label in labels:
        first = known.setdefault(label.run, label)
        if first.passed != label.passed:
            raise InputError(f"{label.where}: run {label.run!r} has another verdict at {first.where}")
    return labels


def _form(source: GoldSource) -> str:
    return f"a CSV file with the columns {', '.join(COLUMNS[source])}"


def _read_file(path: Path, source: GoldSource) -> Iterator[Label]:
    rows = csv_rows(path, column="run")
    header = next(rows)
    if isinstance(header, Rejected):
        raise InputError(f"{path}:{header.line}: {header.reason}", hint=header.hint)
    names = [cell.strip().lower() for cell in header.cells]
    lacking = [name for name in COLUMNS[source] if name not in names]
    if lacking:
        raise InputError(f"{path}: no column {lacking[0]!r}", hint=_form(source))
    for row in rows:
        if isinstance(row, Rejected):
            raise InputError(f"{path}:{row.line}: {row.reason}", hint=row.hint)
        where = f"{path}:{row.line}"
        if problem := row.problem(header):
            raise InputError(f"{where}: {problem}")
        cells = dict(zip(names, (cell.strip() for cell in row.cells), strict=True))
        if not cells["run"]:
            raise InputError(f"{where}: no run id")
        label = Label(where, cells["run"], _verdict(cells["passed"], where), cells.get("task") or cells["run"])
        if source == "other":
            label = Label(where, label.run, label.passed, label.task, cells["judge"], _verdict(cells["judged"], where))
        yield label


def _verdict(text: str, where: str) -> bool:
    found = WORDS.get(text.lower())
    if found is None:
        raise InputError(f"{where}: {text!r} is not a verdict", hint="use yes or no, true or false, 1 or 0")
    return found


def vote_of(rating: Rating, threshold: float) -> bool:
    """Return the judge's vote; without one, whether the score reaches the pass threshold."""
    return rating.score >= threshold if rating.passed is None else rating.passed


def _votes(run: JudgedRun, threshold: float) -> dict[str, bool]:
    return {rating.judge: vote_of(rating, threshold) for rating in run.ratings}


def _judged(run: JudgedRun, threshold: float) -> bool:
    """Return the judges' verdict as for the metric `pass_rate`; if no judge votes, by their scores."""
    by_votes = strict_majority(rating.passed for rating in run.ratings)
    return bool(strict_majority(_votes(run, threshold).values())) if by_votes is None else by_votes


def _labeled_runs(
    labels: Sequence[Label], runs: Sequence[JudgedRun], source: GoldSource, threshold: float
) -> dict[str, _Labeled]:
    """Return the labeled runs by id; labels of a sample must be of judged runs."""
    if source == "sample":
        judged = {run.run: run for run in runs}
        for label in labels:
            if label.run not in judged:
                hint = f"for labels of other runs: {option('gold_source', 'other')}"
                raise InputError(f"{label.where}: no judged run {label.run!r}", hint=hint)
        return {
            label.run: _Labeled(judged[label.run].task, label.passed, _votes(judged[label.run], threshold))
            for label in labels
        }
    votes: dict[str, dict[str, bool]] = {}
    for label in labels:
        if label.judge in votes.setdefault(label.run, {}):
            raise InputError(f"{label.where}: a second verdict of {label.judge!r} on run {label.run!r}")
        votes[label.run][label.judge] = label.judged
    return {label.run: _Labeled(label.task, label.passed, votes[label.run]) for label in labels}


def add_gold(
    answer: Judges, labels: Sequence[Label], runs: Sequence[JudgedRun], source: GoldSource, keys: Sequence[str]
) -> Judges:
    """Return the answer with the accuracy of each judge and the corrected pass rate of each group.

    `keys` are those of the runs' groups, which end with the tier scheme. A run's judged verdict is the strict majority
    of its judges' votes, or of their scores' votes if no judge states one.
    """
    threshold, level = answer.pass_threshold, answer.confidence
    labeled = _labeled_runs(labels, runs, source, threshold)
    records = {
        name: structs.replace(record, accuracy=_accuracy(name, labeled.values(), level))
        for name, record in answer.judges.items()
    }
    groups: dict[tuple[str | None, ...], list[JudgedRun]] = {}
    for run in sorted(runs, key=lambda run: (run.task, run.run)):
        groups.setdefault(run.group, []).append(run)
    rates = []
    for group in sorted(groups, key=lambda cells: [(cell is not None, cell or "") for cell in cells]):
        known = {"tier_scheme": group[-1]} | dict(zip(keys, group[:-1], strict=True))
        found = _corrected(groups[group], labeled, source=source, threshold=threshold, level=level)
        rates.append(
            CorrectedPassRate(
                keys={name: known[name] for name in answer.by},
                judged_rate=found.judged_rate,
                corrected=found.interval,
                labels=found.labels,
                tuning=found.tuning,
                label=found.label,
            )
        )
    return structs.replace(answer, judges=records, gold_source=source, pass_rates=tuple(rates))


def _accuracy(judge: str, labeled: Iterable[_Labeled], level: float) -> JudgeAccuracy:
    own = [run for run in labeled if judge in run.votes]
    return judge_accuracy(
        [float(run.votes[judge]) for run in own],
        [float(run.gold) for run in own],
        np.array([run.task for run in own], dtype=object),
        level=level,
    )


def _corrected(
    members: Sequence[JudgedRun],
    labeled: Mapping[str, _Labeled],
    *,
    source: GoldSource,
    threshold: float,
    level: float,
) -> CorrectedRate:
    judged = [float(_judged(run, threshold)) for run in members]
    tasks = np.array([run.task for run in members], dtype=object)
    if source == "other":
        return rogan_gladen_rate(
            judged,
            tasks,
            gold_judge=[float(bool(strict_majority(run.votes.values()))) for run in labeled.values()],
            gold=[float(run.gold) for run in labeled.values()],
            gold_tasks=np.array([run.task for run in labeled.values()], dtype=object),
            level=level,
        )
    gold = [float(labeled[run.run].gold) if run.run in labeled else np.nan for run in members]
    return ppi_rate(judged, gold, tasks, level=level)
