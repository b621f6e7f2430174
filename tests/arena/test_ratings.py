"""Peer review: who rates what, what ratings say, and that they change no score unless a task names reviewers."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st
from sqlalchemy import select

from steelyard.arena import Arena, create_arena
from steelyard.arena._ratings import Entry, choose_reviewers, is_own
from steelyard.arena.notifications._events import read_events
from steelyard.errors import UnknownNameError, UsageError
from steelyard.profiles import load_profile
from steelyard.questions.arena.rating_add import arena_rating_add
from steelyard.questions.arena.rating_assign import arena_rating_assign
from steelyard.questions.arena.rating_list import arena_rating_list
from steelyard.questions.arena.rating_pending import arena_rating_pending
from steelyard.questions.arena.rescore import arena_rescore
from steelyard.questions.arena.review_exclude import arena_review_exclude
from steelyard.questions.arena.show import arena_show
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.questions.arena.user_add import arena_user_add
from steelyard.store import Store
from steelyard.store.schema import outbox

PEOPLE = ["ada", "bob", "cyd", "dan"]


def entry(number: int, task: str = "t", **more: object) -> dict[str, object]:
    tokens, calls = 900 + 700 * number, 1 + number
    return {"id": f"{task}{number}", "task_id": task, "total_tokens": tokens, "tool_calls": calls, **more}


@pytest.fixture
def arena(store: Store) -> Arena:
    arena = create_arena(store, load_profile("arena-community"))
    arena.add_task({"id": "t"})
    arena.submit([entry(number, submitter=PEOPLE[number % 4], agent="ant") for number in range(8)])
    return arena


class TestAssigning:
    @given(
        entries=st.lists(st.sampled_from([*"abcdef", None]), min_size=1, max_size=25),
        each=st.integers(1, 3),
        seed=st.integers(0, 9),
        order=st.randoms(use_true_random=False),
    )
    @settings(max_examples=60, deadline=None)
    def test_everybody_gets_as_much_and_nobody_their_own(
        self, entries: list[str | None], each: int, seed: int, order: object
    ) -> None:
        pool, teams = list("abcdef"), {"a": "x", "b": "x"}
        rows = [Entry(f"s{place}", submitter, frozenset()) for place, submitter in enumerate(entries)]
        chosen = choose_reviewers(rows, pool, per_submission=each, teams=teams, seed=seed)
        for row in rows:
            own = chosen[row.submission_id]
            assert len(set(own)) == len(own) == each
            assert not any(is_own(reviewer, row.submitter, teams) for reviewer in own)
        if not any(entries):  # nobody is kept from anything: loads differ by one at most
            load = Counter(reviewer for own in chosen.values() for reviewer in own)
            assert max(load.values()) - min(load[name] for name in pool) <= 1
        order.shuffle(rows)  # type: ignore[attr-defined] # hypothesis gives a random.Random
        order.shuffle(pool)  # type: ignore[attr-defined] # as above
        again = choose_reviewers(rows, pool, per_submission=each, teams=teams, seed=seed)
        assert {name: sorted(own) for name, own in again.items()} == {name: sorted(own) for name, own in chosen.items()}

    def test_too_few_who_may_is_an_error_and_assigns_nobody(self, arena: Arena) -> None:
        with pytest.raises(UsageError, match="not enough eligible reviewers"):
            arena_rating_assign(arena, "t", reviewers=["ada", "bob", "cyd"], per_submission=3)
        assert arena_rating_pending(arena).assignments == ()

    def test_who_is_assigned_stays_and_the_new_get_theirs(self, arena: Arena) -> None:
        first = arena_rating_assign(arena, "t", reviewers=PEOPLE, per_submission=2, unblind=True)
        arena.submit([entry(9)])
        second = arena_rating_assign(arena, "t", reviewers=PEOPLE, per_submission=2, unblind=True)
        kept = {(row.submission_id, row.reviewer) for row in first.assignments}
        now = {(row.submission_id, row.reviewer) for row in second.assignments}
        assert kept < now
        assert Counter(name for name, _ in now - kept) == {"t9": 2}

    def test_the_display_is_blinded_and_an_entry_can_be_rated(self, arena: Arena) -> None:
        arena_rating_assign(arena, "t", reviewers=PEOPLE, per_submission=2)
        blind = arena_rating_pending(arena, reviewer="ada").assignments
        assert {row.submission_id for row in blind} == {None}
        told = repr([row.entry for row in blind])
        assert not any(name in told for name in [*PEOPLE, "t0", "ant"])
        rated = arena_rating_add(arena, blind[0].entry, reviewer="ada", score=70)
        open_ = {row.entry: row for row in arena_rating_pending(arena, reviewer="ada", unblind=True).assignments}
        assert (open_[blind[0].entry].submission_id, open_[blind[0].entry].rated) == (rated.submission_id, True)
        with pytest.raises(UnknownNameError):
            arena_rating_add(arena, blind[0].entry, reviewer="eve", score=70)


class TestRating:
    def test_a_later_rating_replaces_and_the_log_grows(self, arena: Arena) -> None:
        arena_rating_add(arena, "t0", reviewer="bob", score=50)
        assert arena_rating_add(arena, "t0", reviewer="bob", score=60).replaces == 50
        arena_rating_add(arena, "t0", reviewer="bob", score=10, criterion="style")
        (rated,) = arena_rating_list(arena).submissions
        assert (rated.submission_id, rated.mean, rated.ratings) == ("t0", 60, 1)
        assert arena_rating_list(arena, criterion="style").submissions[0].mean == 10

    @pytest.mark.parametrize("score", [-0.1, 100.1, float("nan"), float("inf")])
    def test_a_rating_lies_within_0_and_100(self, arena: Arena, score: float) -> None:
        with pytest.raises(UsageError, match="not between 0 and 100"):
            arena_rating_add(arena, "t0", reviewer="bob", score=score)

    def test_nobody_rates_their_own_nor_their_team_s(self, arena: Arena) -> None:
        arena_user_add(arena, "team", "blue")
        for name in ("ada", "bob"):
            arena_user_add(arena, "person", name, team="blue")
        for reviewer in ("ada", "bob"):
            with pytest.raises(UsageError, match="own"):
                arena_rating_add(arena, "t0", reviewer=reviewer, score=1)
        arena_rating_add(arena, "t0", reviewer="cyd", score=1)

    def test_an_excluded_submission_is_not_rated_and_counts_in_no_estimate(self, arena: Arena) -> None:
        arena_rating_add(arena, "t0", reviewer="bob", score=50)
        arena_review_exclude(arena, "t0", reason="x")
        assert arena_rating_list(arena).n == 0
        with pytest.raises(UsageError, match="excluded"):
            arena_rating_add(arena, "t0", reviewer="bob", score=50)

    def test_without_a_profile_that_asks_for_ratings_there_are_none(self, arena: Arena) -> None:
        arena_rescore(arena, profile="arena-1")
        with pytest.raises(UsageError, match="does not enable peer review"):
            arena_rating_add(arena, "t0", reviewer="bob", score=50)


def test_severity_is_taken_out_and_who_deviates_is_named(arena: Arena) -> None:
    # cyd gives 20 less than ada and bob, who give the same: severity 13.33, -6.67, -6.67
    strict = {"xia": 0.0, "yan": 0.0, "zoe": 20.0}
    for number in range(8):
        for place, (reviewer, less) in enumerate(strict.items()):
            noise = ((number + place) % 3 - 1) * 0.5
            arena_rating_add(arena, f"t{number}", reviewer=reviewer, score=40 + 5 * number - less + noise)
    told = arena_rating_list(arena, "t", unblind=True)
    found = {row.reviewer: row.severity for row in told.reviewers}
    assert found == pytest.approx({"xia": -20 / 3, "yan": -20 / 3, "zoe": 40 / 3}, abs=0.5)
    assert {row.reviewer: row.deviates for row in told.reviewers}["zoe"] == ("strict",)
    blind = arena_rating_list(arena, "t")
    assert all(row.reviewer.startswith("reviewer-") for row in blind.reviewers)
    assert [row.estimate for row in blind.submissions] == [row.estimate for row in told.submissions]


def test_reviewers_without_a_common_submission_are_not_compared(arena: Arena) -> None:
    for number, reviewer in [(0, "bob"), (0, "cyd"), (1, "xia"), (1, "yan")]:
        arena_rating_add(arena, f"t{number}", reviewer=reviewer, score=50 + number)
    told = arena_rating_list(arena, unblind=True)
    assert "2 groups of reviewers have no submission in common" in told.page().notes[0]
    assert [row.group for row in told.reviewers] == [1, 1, 2, 2]


def test_ratings_leave_every_score_and_rank_to_the_bit(arena: Arena) -> None:
    before = arena_task_leaderboard(arena, "t").leaderboard
    for number in range(8):
        arena_rating_add(arena, f"t{number}", reviewer="eve", score=number)
    assert arena_task_leaderboard(arena, "t").leaderboard == before
    arena_rescore(arena, profile="arena-1")
    plain = arena_task_leaderboard(arena, "t").leaderboard
    assert [(row.overall_score, row.overall_ranking) for row in plain] == [
        (row.overall_score, row.overall_ranking) for row in before
    ]


@pytest.mark.parametrize("policy", ["current", "as-submitted"])
class TestJudgedByReviewers:
    @pytest.fixture
    def judged(self, arena: Arena, policy: str) -> Arena:
        arena_rescore(arena, policy=policy)
        judge = {"type": "judge", "threshold": 0.7, "reviewers": ["xia", "yan"]}
        arena.add_task({"id": "j", "success_criteria": [judge, {"type": "no_errors"}]})
        arena.submit([entry(number, "j") for number in range(3)])
        return arena

    def test_it_counts_once_all_who_are_named_have_rated(self, judged: Arena) -> None:
        def correctness() -> float:
            return {
                row.submission_id: row.correctness_score for row in arena_task_leaderboard(judged, "j").leaderboard
            }["j1"]

        assert correctness() == 50  # 1 of 2 criteria
        assert arena_rating_add(judged, "j1", reviewer="xia", score=80).counts
        assert correctness() == 50
        arena_rating_add(judged, "j1", reviewer="eve", score=0)
        arena_rating_add(judged, "j1", reviewer="yan", score=60)  # (80 + 60) / 2 / 100 = 0.7
        assert correctness() == 100
        reason = arena_show(judged, "j1").criteria[0].reason
        assert reason == "mean rating of 2 reviewers: 0.7; required: 0.7"
        arena_rating_add(judged, "j1", reviewer="yan", score=59)
        assert correctness() == 50

    def test_what_follows_is_what_a_rescore_makes(self, judged: Arena) -> None:
        for reviewer in ("xia", "yan"):
            arena_rating_add(judged, "j1", reviewer=reviewer, score=90)
        place = arena_show(judged, "j1").receipt
        shown = arena_task_leaderboard(judged, "j").leaderboard
        arena_rescore(judged)
        assert arena_task_leaderboard(judged, "j").leaderboard == shown
        assert arena_show(judged, "j1").receipt == place
        row = next(row for row in shown if row.submission_id == "j1")
        assert (place.overall_score, place.overall_ranking) == (row.overall_score, row.overall_ranking)

    def test_who_loses_a_rank_by_a_rating_is_told_of_it(self, judged: Arena) -> None:
        def lost() -> list[tuple[str, str, int | None, int, str]]:
            with judged.store.read() as connection:
                told = read_events(connection, list(connection.execute(select(outbox.c.seq)).scalars()))
            seen.update(event.event_id for _, event in told if event.rating_number)
            return [
                (event.kind, event.submission_id, event.previous_ranking, event.overall_ranking, event.sentence)
                for _, event in told
                if event.rating_number is not None and event.cause_submission_id == "j2"
            ]

        seen: set[str] = set()
        order = [row.submission_id for row in arena_task_leaderboard(judged, "j").leaderboard]
        assert order == ["j0", "j1", "j2"]  # more tokens each
        for score in (90, 10, 90):
            for reviewer in ("xia", "yan"):
                arena_rating_add(judged, "j2", reviewer=reviewer, score=score)
        assert arena_task_leaderboard(judged, "j").leaderboard[0].submission_id == "j2"
        up = [("submission.lead_lost", "j0", 1, 2), ("submission.rank_lost", "j1", 2, 3)]
        told = lost()
        assert [each[:4] for each in told] == [*up, ("submission.lead_lost", "j2", 1, 3), *up]
        assert len(seen) == len(told)  # the same rank lost twice is two events
        assert "by a rating of j2" in told[0][4]
        arena_rating_add(judged, "j2", reviewer="xia", score=90)  # the same again
        arena_rating_add(judged, "j2", reviewer="xia", score=95)  # nobody's rank moves
        assert lost() == told

    def test_a_task_that_names_reviewers_is_rated_under_any_profile(self, judged: Arena) -> None:
        arena_rescore(judged, profile="arena-1")
        assert arena_rating_add(judged, "j0", reviewer="xia", score=1).counts


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"reviewers": ["a"], "command": ["x"]}, "reviewers cannot be combined with judge or command"),
        ({"reviewers": ["a", "a"]}, "duplicate reviewer"),
        ({"reviewers": ["a"], "min_ratings": 2}, "min_ratings is 2, but the criterion has only 1 reviewer"),
        ({"criterion": "style"}, "criterion and min_ratings require reviewers"),
        ({"reviewers": []}, "length"),
    ],
)
def test_a_criterion_that_contradicts_itself_is_refused(arena: Arena, more: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        arena.add_task({"id": "x", "success_criteria": [{"type": "judge", "threshold": 0.5, **more}]})
