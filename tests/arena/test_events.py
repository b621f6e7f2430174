"""What is told: ranks and leads that were lost, outliers, exclusions; by what, with which flags, and to whom."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from arena_makers import make_arena, random_submission
from steelyard.arena import Arena, ArenaEvent, Policy, notify_once, read_targets
from steelyard.arena.notifications._events import (
    EVALUATED,
    EXCLUDED,
    KINDS,
    LEAD_LOST,
    OUTLIER,
    RANK_LOST,
    REINSTATED,
    read_events,
)
from steelyard.arena.notifications._targets import Target
from steelyard.errors import UsageError
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.store import Store, open_store
from steelyard.store.schema import outbox


def events(arena: Arena, *kinds: str) -> list[ArenaEvent]:
    with arena.store.read() as connection:
        every = [
            event for _, event in read_events(connection, list(connection.execute(select(outbox.c.seq)).scalars()))
        ]
    return [event for event in every if event.kind in (kinds or KINDS)]


def row(name: str, tokens: int, **said: Any) -> dict[str, Any]:  # Any: fields of a submission
    return {"id": name, "task_id": "task", "total_tokens": tokens, "tool_calls": 5, **said}


@pytest.fixture
def arena(store: Store) -> Arena:
    made = make_arena(store)
    made.add_task({"id": "task"})
    return made


def test_whoever_is_overtaken_is_told_by_whom(arena: Arena) -> None:
    for name, tokens in (("a", 3000), ("b", 4000), ("c", 2000)):
        arena.submit([row(name, tokens, submitter=f"of-{name}")])
    lead, rank = events(arena, LEAD_LOST, RANK_LOST)
    assert (lead.kind, lead.submission_id, lead.previous_ranking, lead.overall_ranking) == (LEAD_LOST, "a", 1, 2)
    assert (rank.kind, rank.submission_id, rank.previous_ranking, rank.overall_ranking) == (RANK_LOST, "b", 2, 3)
    assert {lead.cause_submission_id, rank.cause_submission_id} == {"c"}
    assert (lead.submitter, lead.percentile, rank.percentile) == ("of-a", 33.3, 0.0)  # 1 and 0 of 3 lie below
    leaderboard = {entry.submission_id: entry for entry in arena_task_leaderboard(arena, "task").leaderboard}
    assert lead.overall_score == leaderboard["a"].overall_score
    assert len(events(arena, EVALUATED)) == 3
    assert lead.sentence.endswith("rank 2 (was 1)  percentile 33.3  lead lost")
    assert "lost" not in events(arena, EVALUATED)[0].sentence


def test_a_tie_takes_no_rank(arena: Arena) -> None:
    arena.submit([row("a", 3000)])
    arena.submit([row("b", 3000), row("c", 9000)])
    assert events(arena, LEAD_LOST, RANK_LOST) == []


def test_of_a_batch_the_best_is_the_cause(arena: Arena) -> None:
    arena.submit([row("a", 9000)])
    arena.submit([row("b", 8000), row("c", 2000), row("d", 10_000)])
    (lost,) = events(arena, LEAD_LOST)
    assert (lost.cause_submission_id, lost.overall_ranking) == ("c", 3)


def test_only_the_first_ranks_are_told_when_they_are_lost(arena: Arena) -> None:
    arena.submit([row(f"s{n:02}", 2000 + 1000 * n) for n in range(15)])
    arena.submit([row("best", 1500)])
    lost = events(arena, LEAD_LOST, RANK_LOST)
    assert [event.submission_id for event in lost] == [f"s{n:02}" for n in range(10)]


def test_an_outlier_is_told_with_its_flags(arena: Arena) -> None:
    arena.submit([row(f"s{n}", 50_000) for n in range(4)])
    arena.submit([row("odd", 9, execution_time=1.0)])
    (told,) = events(arena, OUTLIER)
    assert (told.submission_id, told.flags) == ("odd", ("extremely_efficient_tokens", "extremely_fast"))
    (evaluated,) = [event for event in events(arena, EVALUATED) if event.submission_id == "odd"]
    assert evaluated.flags == told.flags
    assert evaluated.event_id != told.event_id
    arena.submit([row("better", 8, execution_time=0.5)])
    (lead,) = [event for event in events(arena, LEAD_LOST) if event.cause_submission_id == "better"]
    assert (lead.submission_id, lead.flags) == ("odd", told.flags)


def test_a_decision_is_told_with_who_and_why_and_the_same_change_again_is_another_event(arena: Arena) -> None:
    arena.submit([row("a", 3000)])
    arena.submit([row("b", 2000)])
    arena.decide("b", "excluded", by="rev", reason="copied")
    arena.decide("b", "reinstated", by="chief")
    arena.decide("b", "withdrawn", by="bob")
    arena.decide("b", "reinstated", by="chief")
    excluded, withdrawn = events(arena, EXCLUDED)
    assert (excluded.decision, excluded.by, excluded.reason) == ("excluded", "rev", "copied")
    assert (withdrawn.decision, withdrawn.by, withdrawn.reason) == ("withdrawn", "bob", None)
    assert (excluded.overall_ranking, excluded.percentile) == (1, 50.0)  # before: 1 of 2 lies below
    back, again = events(arena, REINSTATED)
    assert (back.by, back.overall_ranking, back.percentile) == ("chief", 1, 50.0)
    lost = events(arena, LEAD_LOST)
    assert [(event.submission_id, event.previous_ranking, event.overall_ranking) for event in lost] == [("a", 1, 2)] * 3
    assert [(event.cause_submission_id, event.decision) for event in lost] == [
        ("b", None),
        (None, "reinstated"),
        (None, "reinstated"),
    ]
    every = events(arena)
    assert len({event.event_id for event in every}) == len(every) == 2 + 2 + 2 + 3
    assert events(arena) == every
    assert excluded.sentence.endswith("excluded  by rev: copied")
    assert back != again


def test_the_same_submissions_give_the_same_ids(arena: Arena, tmp_path: Path) -> None:
    other = open_store(f"sqlite:///{tmp_path}/again.db")
    again = make_arena(other)
    again.add_task({"id": "task"})
    for number in range(12):
        for each in (arena, again):
            each.submit([row(f"s{number}", 9000 - 500 * number)])
    ids = Counter(event.event_id for event in events(arena))
    assert ids == Counter(event.event_id for event in events(again))
    assert set(ids.values()) == {1}
    other.close()


@pytest.mark.parametrize("policy", ["current", "as-submitted"])
@pytest.mark.parametrize("seed", range(2))
def test_what_is_told_is_what_the_standings_show(store: Store, policy: Policy, seed: int) -> None:
    rng = random.Random(seed)
    arena = make_arena(store, policy=policy)
    arena.add_task({"id": "task"})
    before: dict[str, int] = {}
    told = 0
    for step in range(18):
        given = [random_submission(rng, f"{step}-{n}", "task", step) for n in range(rng.choice((1, 1, 5)))]
        if step % 5 == 4:
            arena.decide(rng.choice(sorted(before)), "excluded", reason="odd")
        else:
            arena.submit(given)
        after = {entry.submission_id: entry for entry in arena_task_leaderboard(arena, "task").leaderboard}
        expected = {
            (LEAD_LOST if rank == 1 else RANK_LOST, name, rank, after[name].overall_ranking, after[name].flags)
            for name, rank in before.items()
            if name in after and rank <= 10 and after[name].overall_ranking > rank
        }
        new = events(arena, LEAD_LOST, RANK_LOST)[told:]
        assert {
            (event.kind, event.submission_id, event.previous_ranking, event.overall_ranking, event.flags)
            for event in new
        } == expected
        for event in new:
            entry = after[event.submission_id]
            assert (event.overall_score, event.percentile) == (entry.overall_score, entry.percentile)
            assert event.baseline_version == entry.baseline_version
        told += len(new)
        before = {name: entry.overall_ranking for name, entry in after.items()}
    assert told > 20


def of_submitters(*names: str, **more: Any) -> Target:  # Any: fields of a target
    return Target(name="-".join(names), network="loopback", url="http://127.0.0.1:9/", submitters=names, **more)


class TestTargetsOfSubmitters:
    @pytest.fixture
    def sent(self) -> list[tuple[str, str]]:
        return []

    @pytest.fixture
    def sender(self, sent: list[tuple[str, str]]) -> Any:  # Any: as the sending takes it
        def send(target: Target, *, kind: str, body: bytes, **_: object) -> None:
            sent.append((target.name, f"{kind} {body.decode().split('submission_id')[1][3:4]}"))

        return send

    @pytest.fixture
    def filled(self, arena: Arena) -> Arena:
        for name, submitter in (("a", "ada"), ("b", "bob"), ("c", None)):
            arena.submit([row(name, 3000, submitter=submitter)])
        return arena

    def test_each_hears_of_its_own(self, filled: Arena, sender: Any, sent: list[tuple[str, str]]) -> None:
        everybody = Target(name="all", network="loopback", url="http://127.0.0.1:9/")
        done = notify_once(filled.store, [of_submitters("ada"), of_submitters("ada", "bob"), everybody], sender=sender)
        assert (done.sent, done.settled, done.waiting) == (6, 3, 0)
        assert sorted(name for name, _ in sent) == ["ada", "ada-bob", "ada-bob", "all", "all", "all"]
        assert ("ada", f"{EVALUATED} a") in sent

    def test_what_nobody_wants_is_settled(self, filled: Arena, sender: Any) -> None:
        done = notify_once(filled.store, [of_submitters("ada")], sender=sender)
        assert (done.sent, done.settled, done.waiting) == (1, 3, 0)

    def test_kinds_and_submitters_are_both_asked_for(
        self, filled: Arena, sender: Any, sent: list[tuple[str, str]]
    ) -> None:
        filled.submit([row("d", 2000)])  # a and b lose the lead, c too
        notify_once(filled.store, [of_submitters("bob", kinds=(LEAD_LOST,))], sender=sender)
        assert sent == [("bob", f"{LEAD_LOST} b")]

    def test_one_that_wants_more_submitters_than_before_does_not_wait(self, filled: Arena, sender: Any) -> None:
        def fails(target: Target, **_: Any) -> str | None:
            return "answered 500" if target.name == "down" else None

        down = Target(name="down", network="loopback", url="http://127.0.0.1:9/")
        wanting = Target(name="ci", network="loopback", url="http://127.0.0.1:9/", submitters=("ada",))
        assert notify_once(filled.store, [down, wanting], sender=fails).sent == 1
        more = Target(name="ci", network="loopback", url="http://127.0.0.1:9/", submitters=("ada", "bob"))
        assert notify_once(filled.store, [down, more], sender=fails).sent == 1

    def test_the_file_names_them(self, tmp_path: Path) -> None:
        path = tmp_path / "targets.toml"
        head = '[[targets]]\nname = "a"\nurl = "http://127.0.0.1:9/"\nnetwork = "loopback"\n'
        path.write_text(head + 'submitters = ["ada"]\nkinds = ["submission.lead_lost"]\n')
        (target,) = read_targets(path)
        assert (target.submitters, target.kinds) == (("ada",), (LEAD_LOST,))
        for wrong, problem in (("[]", "length >= 1"), ('["a\\u0000b"]', "NUL")):
            path.write_text(f"{head}submitters = {wrong}\n")
            with pytest.raises(UsageError, match=problem):
                read_targets(path)
