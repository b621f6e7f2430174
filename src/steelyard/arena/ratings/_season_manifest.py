"""A season's manifest: all that its leaderboard was made from, and what follows from it when it is recomputed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.engine import Connection

from steelyard.arena.ingest import Arena, find_task, load_tasks
from steelyard.arena.scoring import (
    KEPT_SCORES,
    SCORE_INPUTS,
    BaselineBounds,
    BaselineInputs,
    Rules,
    RulesHistory,
    StoredTask,
    baseline_of,
    read_rules_history,
    scores_in_cents,
)
from steelyard.arena.views import View, ranked, view_task
from steelyard.records import Task, check_task, iso
from steelyard.results import FinalRank, Policy, VerifyCheck
from steelyard.store.schema import baselines, task_files

FORMAT = 1
"""The version of the manifest."""
KIND = "steelyard-season"
STORED_FIELDS = ("id", "ordinal", "agent", "model", "submitter", "submitted_at", "accepted_at", *SCORE_INPUTS)
"""Stored fields of a submission in a manifest; timestamps are microseconds since 1970."""
MAX_DIFFERENCES = 5
"""Differences that one check names."""

Document = dict[str, Any]  # Any: JSON values


def digest_of(value: Any) -> str:  # Any: JSON values
    """Return the SHA-256 of a value as JSON with sorted keys."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def manifest_of(connection: Connection, arena: Arena, name: str, task_ids: Sequence[str], now: int) -> Document:
    """Everything that counts at this moment, and every exclusion with its reason."""
    every = list(load_tasks(connection, arena.rules).values())
    chosen = [find_task(connection, task_id, arena.rules) for task_id in dict.fromkeys(task_ids)] or every
    history = read_rules_history(connection).behind(arena.policy)
    rules: list[Document] = [msgspec.to_builtins(arena.rules)]
    tasks = [_task(connection, stored_task, arena.policy, history, rules) for stored_task in chosen]
    return {
        "kind": KIND,
        "format": FORMAT,
        "name": name,
        "frozen_at": iso(now),
        "profile": arena.rules.name,
        "policy": arena.policy,
        "rules": rules,
        "tasks": tasks,
    }


def _task(
    connection: Connection, stored_task: StoredTask, policy: Policy, history: RulesHistory, rules: list[Document]
) -> Document:
    view = view_task(connection, stored_task, policy=policy)
    files = select(task_files.c.folder, task_files.c.path, task_files.c.sha256)
    own_files = files.where(task_files.c.task_key == stored_task.key).order_by(task_files.c.number)
    submissions = list(_submissions(view, history, rules))
    used = {row["baseline_version"] for row in submissions} | {view.version}
    return {
        "definition": msgspec.json.decode(check_task(stored_task.task)),
        "files": [list(row) for row in connection.execute(own_files)],
        "baseline_version": view.version,
        "baselines": _baselines(connection, stored_task.key, used),
        "submissions": submissions,
        "excluded": [
            {"submission_id": logged.review.submission_id, **_decision(logged.review)}
            for _, logged in sorted(view.decisions.excluded.items())
        ],
    }


def _decision(review: Any) -> Document:  # Any: a Review
    return {name: getattr(review, name) for name in ("decision", "by", "reason", "decided_at")}


def _baselines(connection: Connection, task_key: int, versions: set[int]) -> Document:
    own = select(baselines).where(baselines.c.task_key == task_key).order_by(baselines.c.version)
    return {
        str(row["version"]): {name: row[name] for name in BaselineBounds._fields}
        for row in connection.execute(own).mappings()
        if row["version"] in versions
    }


def _submissions(view: View, history: RulesHistory, rules: list[Document]) -> Iterator[Document]:
    """One object a submission in the order of entry: its digest, the numbers that count, its scores in cents."""
    for row in ranked(view).iter_rows(named=True):
        made_by = msgspec.to_builtins(history.of(view.stored_task.key, row["ordinal"]).rules)
        if made_by not in rules:
            rules.append(made_by)
        version = view.version if view.policy == "current" else row["baseline_version"]
        yield {
            "sha256": row["digest"],
            **{name: row[name] for name in STORED_FIELDS},
            "baseline_version": version,
            "rules": 0 if view.policy == "current" else rules.index(made_by),
            **{name: row[name] for name in KEPT_SCORES},
            "overall_ranking": row["overall_ranking"],
        }


def final_leaderboard(manifest: Document) -> tuple[FinalRank, ...]:
    """Return the submissions of a manifest, by task and rank."""
    return tuple(
        FinalRank(
            task_id=task["definition"]["id"],
            submission_id=row["id"],
            overall_ranking=row["overall_ranking"],
            overall_score=row["overall"] / 100,
            agent=row["agent"],
            model=row["model"],
            submitter=row["submitter"],
            sha256=row["sha256"],
        )
        for task in manifest["tasks"]
        for row in task["submissions"]
    )


def checks_of(manifest: Document) -> Iterator[VerifyCheck]:
    """Check the manifest by recomputing its values from its own numbers."""
    rules = [msgspec.convert(table, Rules) for table in manifest["rules"]]
    for entry in manifest["tasks"]:
        task = msgspec.convert(entry["definition"], Task)
        rows = entry["submissions"]
        if manifest["policy"] == "current":
            yield _check(task.id, "baseline", _wrong_baseline(entry, rows, task, rules[0]))
        yield _check(task.id, "scores", _wrong_scores(entry, rows, task, rules))
        yield _check(task.id, "ranks", _wrong_ranks(rows))
        both = {row["id"] for row in rows} & {row["submission_id"] for row in entry["excluded"]}
        yield _check(task.id, "exclusions", [f"{name} is both excluded and included" for name in sorted(both)])


def _check(task_id: str, what: str, wrong: list[str]) -> VerifyCheck:
    more = f" and {len(wrong) - MAX_DIFFERENCES:,} more" if len(wrong) > MAX_DIFFERENCES else ""
    reason = f"{'; '.join(wrong[:MAX_DIFFERENCES])}{more}" if wrong else None
    return VerifyCheck(what=what, task_id=task_id, holds=not wrong, reason=reason)


def _wrong_baseline(entry: Document, rows: list[Document], task: Task, rules: Rules) -> list[str]:
    ordered = sorted(rows, key=lambda row: row["ordinal"])
    inputs = BaselineInputs(*([row[name] for row in ordered] for name in BaselineInputs._fields))
    made = baseline_of(inputs, defaults=rules.defaults_of(task), least=rules.baseline.submissions)
    stated = entry["baselines"][str(entry["baseline_version"])]
    return [
        f"{name} is {stated[name]:g} in the manifest, but recomputing gives {made[name]:g}"
        for name in BaselineBounds._fields
        if made[name] != stated[name]
    ]


def _wrong_scores(entry: Document, rows: list[Document], task: Task, rules: list[Rules]) -> list[str]:
    bounds = {
        version: BaselineBounds(*(numbers[name] for name in BaselineBounds._fields))
        for version, numbers in entry["baselines"].items()
    }
    constants = [one.constants_of(task) for one in rules]
    wrong = []
    for row in rows:
        inputs = {name: row[name] for name in SCORE_INPUTS}
        cents = scores_in_cents(inputs, bounds[str(row["baseline_version"])], constants[row["rules"]])
        wrong += [
            f"{row['id']}: {name} is {row[name] / 100:g} in the manifest, but recomputing gives {cents[name] / 100:g}"
            for name in KEPT_SCORES
            if cents[name] != row[name]
        ]
    return wrong


def _wrong_ranks(rows: list[Document]) -> list[str]:
    """Competition ranks: one more than how many have a higher score."""
    scores = sorted((row["overall"] for row in rows), reverse=True)
    first: dict[int, int] = {}
    for place, score in enumerate(scores, start=1):
        first.setdefault(score, place)
    return [
        f"{row['id']}: rank is {row['overall_ranking']} in the manifest, but recomputing gives {first[row['overall']]}"
        for row in rows
        if row["overall_ranking"] != first[row["overall"]]
    ]
