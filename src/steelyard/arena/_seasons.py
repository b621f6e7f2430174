"""Seasons: frozen leaderboards with a public, verifiable manifest."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import insert, select
from sqlalchemy.engine import Connection, RowMapping
from sqlalchemy.exc import IntegrityError

from steelyard.arena._answer_parts import FinalRank, Policy, SeasonManifest, VerifyCheck
from steelyard.arena.ingest._arena import Arena
from steelyard.arena.ingest._parties import check_name
from steelyard.arena.ingest._tasks import find_task, load_tasks
from steelyard.arena.scoring._baseline import BaselineBounds, BaselineInputs, baseline_of
from steelyard.arena.scoring._rules import Rules
from steelyard.arena.scoring._scores import KEPT_SCORES, SCORE_INPUTS, scores_in_cents
from steelyard.arena.scoring._settings import RulesHistory, read_rules_history
from steelyard.arena.scoring._task_state import StoredTask
from steelyard.arena.views._task_leaderboard import ranked
from steelyard.arena.views._task_view import View, view_task
from steelyard.errors import InputError, UnknownNameError, UsageError
from steelyard.records import Task, check_task, is_storable, iso, now_microseconds
from steelyard.store import look_up
from steelyard.store.schema import baselines, seasons, submissions, task_files

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


def final_leaderboard(manifest: SeasonManifest) -> tuple[FinalRank, ...]:
    """Return the submissions of a manifest, by task and rank."""
    return tuple(
        FinalRank(
            task_id=task.definition.id,
            submission_id=row.id,
            overall_ranking=row.overall_ranking,
            overall_score=row.overall / 100,
            agent=row.agent,
            model=row.model,
            submitter=row.submitter,
            sha256=row.sha256,
        )
        for task in manifest.tasks
        for row in task.submissions
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


class StoredSeason(NamedTuple):
    """A frozen leaderboard."""

    name: str
    frozen_at: str
    sha256: str
    manifest: SeasonManifest


class VerifiedManifest(NamedTuple):
    """A manifest with the results of its checks."""

    manifest: Document
    sha256: str
    """The recomputed SHA-256."""
    checks: tuple[VerifyCheck, ...]


def freeze(arena: Arena, name: str, *, tasks: Sequence[str] = ()) -> StoredSeason:
    """Store the current leaderboard under a name, with all its inputs. A season never changes."""
    check_name("name of a season", name)

    def work(connection: Connection) -> StoredSeason:
        arena.refresh(connection)
        if connection.execute(select(seasons.c.name).where(seasons.c.name == name)).first() is not None:
            raise _taken(name)
        now = now_microseconds()
        manifest = msgspec.convert(manifest_of(connection, arena, name, tasks, now), SeasonManifest)
        document = msgspec.to_builtins(manifest)
        digest = digest_of(document)
        compressed = zlib.compress(msgspec.json.encode(document, order="deterministic"))
        connection.execute(insert(seasons).values(name=name, frozen_at=now, sha256=digest, manifest=compressed))
        return StoredSeason(name=name, frozen_at=iso(now), sha256=digest, manifest=manifest)

    try:
        return arena.store.in_transaction(work)
    except IntegrityError as error:  # another process took the name at the same time
        raise _taken(name) from error


def _taken(name: str) -> UsageError:
    return UsageError(f"season {name!r} already exists and cannot be changed", hint="choose another name")


def find_season(arena: Arena, name: str) -> StoredSeason:
    """Return the season of that name with its manifest."""
    with arena.read() as connection:
        row = _row(connection, name)
        if row is None:
            known = connection.execute(select(seasons.c.name)).scalars()
            raise UnknownNameError("season", name[:200], known)
    return StoredSeason(
        name=row["name"],
        frozen_at=iso(row["frozen_at"]),
        sha256=row["sha256"],
        manifest=msgspec.json.decode(zlib.decompress(row["manifest"]), type=SeasonManifest),
    )


def verify(document: Any, *, where: str, arena: Arena | None = None) -> VerifiedManifest:  # Any: a JSON value
    """Check the digest of a season, everything computed from its numbers, and the arena that stored it."""
    manifest, stated = _read(document, where)
    made = digest_of(manifest)
    checks = [VerifyCheck(what="digest", holds=made == stated, reason=None if made == stated else f"computed {made}")]
    try:
        checks += checks_of(manifest)
        checks += _leaderboard_checks(document)
        if arena is not None:
            checks += _kept_checks(arena, manifest, made)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise InputError(f"invalid manifest: {error!r}", where=where) from error
    return VerifiedManifest(manifest, made, tuple(checks))


def _leaderboard_checks(document: Document) -> Iterator[VerifyCheck]:
    """Check that the leaderboard outside the manifest, which the digest does not cover, is that of the manifest."""
    if "leaderboard" in document:
        manifest = msgspec.convert(document["manifest"], SeasonManifest)
        holds = document["leaderboard"] == list(msgspec.to_builtins(final_leaderboard(manifest)))
        reason = None if holds else "the leaderboard differs from that of the manifest"
        yield VerifyCheck(what="leaderboard", holds=holds, reason=reason)


def _read(document: Any, where: str) -> tuple[Document, str]:  # Any: a JSON value
    manifest = document.get("manifest") if isinstance(document, dict) else None
    if not isinstance(manifest, dict) or manifest.get("kind") != KIND or not isinstance(document.get("sha256"), str):
        hint = "create one with steelyard arena season create"
        raise InputError("not a season manifest", where=where, hint=hint)
    if manifest.get("format") != FORMAT:
        hint = "use the steelyard version that wrote it, or a newer one"
        raise InputError(
            f"unsupported manifest format {manifest.get('format')}; expected {FORMAT}", where=where, hint=hint
        )
    return manifest, document["sha256"]


def _kept_checks(arena: Arena, manifest: Document, digest: str) -> Iterator[VerifyCheck]:
    """Whether the arena kept this very season, and still has every submission with the content that it had."""
    with arena.read() as connection:
        row = _row(connection, manifest["name"])
        reason = "the store does not contain this season" if row is None else None
        if row is not None and row["sha256"] != digest:
            reason = f"the store has a different manifest for this season (SHA-256 {row['sha256']})"
        yield VerifyCheck(what="kept", holds=reason is None, reason=reason)
        for task in manifest["tasks"]:
            wanted = {entry["id"]: entry["sha256"] for entry in task["submissions"]}
            found = look_up(connection, submissions.c.id, submissions.c.digest, list(wanted))
            wrong = [
                f"{name} {'differs from the store' if name in found else 'is not in the store'}"
                for name, content in wanted.items()
                if found.get(name) != content
            ]
            yield VerifyCheck(
                what="submissions",
                task_id=task["definition"]["id"],
                holds=not wrong,
                reason="; ".join(wrong[:MAX_DIFFERENCES]) or None,
            )


def _row(connection: Connection, name: str) -> RowMapping | None:
    if not is_storable(name):
        return None
    return connection.execute(select(seasons).where(seasons.c.name == name)).mappings().first()
