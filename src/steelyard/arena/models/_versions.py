"""When an arena learns, and what is kept of it: a version a time, learned outside of any transaction that writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from sqlalchemy.engine import Connection

from steelyard.arena.ingest import Arena
from steelyard.arena.models._abilities import learn_abilities
from steelyard.arena.models._correctness import learn_correctness
from steelyard.arena.models._submission_columns import SubmissionColumns, accepted_so_far, read_columns
from steelyard.arena.scoring import ABILITIES, LearningTable, learned_kind
from steelyard.errors import UsageError
from steelyard.records import Finding
from steelyard.results import Abilities, CorrectnessModel, Learned, LearnedKind, Policy, Surprise
from steelyard.store import KeptVersion, keep_learned, learned_seen, learned_version

CORRECTNESS = "correctness"
TYPES: dict[str, type[Abilities | CorrectnessModel]] = {ABILITIES: Abilities, CORRECTNESS: CorrectnessModel}
SWITCHED_OFF = "the arena's profile does not switch learning on"
HINT = "steelyard arena rescore --profile arena-learning-1, or a profile of yours with [constants.learning]"


def learn(arena: Arena) -> Learned:
    """Learn from all submissions that count, as they are scored now; what was learned from the same stands."""
    with arena.read() as connection:
        rules, policy, table = arena.rules, arena.policy, arena.rules.learning
        if table is None:
            raise UsageError(SWITCHED_OFF, hint=HINT)
        given = read_columns(connection, rules, policy, table.by)
        latest = {kind: learned_version(connection, kind) for kind in kinds_of(table)}
    versions: list[LearnedKind] = []
    findings: tuple[Finding, ...] = ()
    for kind, before in latest.items():
        digest = given.digest(kind, table, policy)
        if before is not None and before.digest == digest:
            version = KeptVersion(before, is_new=False)
        else:
            version = _keep(arena, kind, digest, given, table, policy)
        learned = msgspec.json.decode(version.version.content, type=TYPES[kind])
        versions.append(learned_kind(version, learned.reason))
        if isinstance(learned, Abilities):
            findings = surprise_findings(learned.surprises)
    return Learned(profile=rules.name, versions=tuple(versions), findings=findings)


def _keep(
    arena: Arena, kind: str, digest: str, given: SubmissionColumns, table: LearningTable, policy: Policy
) -> KeptVersion:
    """Learn and keep; another process may have kept the same by then."""
    learned: Abilities | CorrectnessModel | None = None
    if kind == ABILITIES and table.abilities is not None:
        learned = learn_abilities(given, table.by, table.abilities, policy)
    elif kind == CORRECTNESS and table.correctness is not None:
        learned = learn_correctness(given, table.by, table.correctness)
    content = msgspec.json.encode(learned).decode()

    def work(connection: Connection) -> KeptVersion:
        return keep_learned(connection, kind, digest=digest, seen=given.seen, content=content)

    return arena.store.in_transaction(work)


def kinds_of(table: LearningTable) -> list[str]:
    """What is switched on."""
    on = {ABILITIES: table.abilities, CORRECTNESS: table.correctness}
    return [kind for kind, own in on.items() if own is not None]


def surprise_findings(surprises: Sequence[Surprise]) -> tuple[Finding, ...]:
    """A finding for each surprise: a person should look at it."""
    return tuple(
        Finding(
            code="surprising_score",
            message=f"scored {each.overall_score:.2f} where {each.expected:.2f} was expected of"
            f" {' '.join(part for part in each.key.values() if part)} ({each.deviations:+.1f} deviations);"
            " recommended: manual_review",
            where=f"{each.task_id}: {each.submission_id}",
        )
        for each in surprises
    )


def stops(table: LearningTable) -> Callable[[int], tuple[int, int]]:
    """Of a number of submissions: the last count at or below it after which a version is due (0: none), and the next.

    They grow by a factor, so that learning costs a submission the same in the long run however many there are.
    """

    def around(accepted: int) -> tuple[int, int]:
        last, following = 0, table.first
        while following <= accepted:
            last, following = following, max(following + 1, int(following * table.growth))
        return last, following

    return around


def learn_if_due(arena: Arena) -> int | None:
    """Learn when a version is due; how many submissions may come before the next one is. None: none ever is.

    It is due when the arena has reached a stated count and no version has seen as many: whoever comes next learns it
    where somebody was killed after accepting the last submission and before learning.
    """
    if arena.rules.learning is None:
        return None
    with arena.store.read() as connection:
        accepted = accepted_so_far(connection)
        last, following = stops(arena.rules.learning)(accepted)
        is_due = last > arena.learned_up_to and any(
            learned_seen(connection, kind) < last for kind in kinds_of(arena.rules.learning)
        )
    if is_due:
        learn(arena)
    arena.learned_up_to = last
    return following - accepted
