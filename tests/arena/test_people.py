"""People, teams and tools: who they are, whose submissions are whose, and that a display name never identifies."""

from __future__ import annotations

import json

import pytest

import steelyard as sy
from steelyard.arena import Arena, Receipt, create_arena
from steelyard.cli import run
from steelyard.errors import PermissionDeniedError, UnknownNameError, UsageError
from steelyard.profiles import load_profile
from steelyard.questions import Intake
from steelyard.questions.arena.history import arena_history
from steelyard.questions.arena.leaderboard import arena_leaderboard
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.questions.arena.user_add import arena_user_add
from steelyard.questions.arena.user_list import arena_user_list
from steelyard.questions.arena.withdraw import WithdrawOptions, check_submitter
from steelyard.records import Rejected, Token
from steelyard.store import Store, authenticate


def entry(identity: str, tokens: int, **more: object) -> dict[str, object]:
    return {"id": identity, "task_id": "t", "total_tokens": tokens, "tool_calls": 3, **more}


@pytest.fixture
def people(store: Store) -> Arena:
    arena = create_arena(store, load_profile("arena-1"))
    arena.add_task({"id": "t"})
    arena_user_add(arena, "team", "blue", name="The Blue Team")
    arena_user_add(arena, "person", "ada", name="Ada Lovelace", team="blue")
    arena_user_add(arena, "person", "bob", name="Ada Lovelace", team="blue")
    arena_user_add(arena, "person", "cyd")
    arena.submit(
        [
            entry("a", 1_000, submitter="ada"),
            entry("b", 50_000, submitter="bob"),
            entry("c", 9_000, submitter="cyd"),
            entry("d", 9_000, submitter="Ada Lovelace"),
        ]
    )
    return arena


def token_of(arena: Arena, name: str, *, person: str | None = None, scope: str = "submit") -> Token:
    return authenticate(arena.store, sy.create_token(name, scopes=[scope], person=person, store=arena).token)


def taken(arena: Arena, token: Token, **more: object) -> Receipt | Rejected:
    line = json.dumps(entry("new", 500, **more)).encode()
    (outcome,) = Intake(arena, "submissions", token=token).take([(1, line)])
    return outcome


def test_a_display_name_never_identifies(people: Arena) -> None:
    assert [party.shown for party in arena_user_list(people, "person").users] == [
        "Ada Lovelace (ada)",
        "Ada Lovelace (bob)",
        "cyd",
    ]
    board = arena_leaderboard(people, by=["submitter"])
    assert {leader.key["submitter"] for leader in board.overall} == {"ada", "bob", "cyd", "Ada Lovelace"}
    assert board.names == {"submitter": {"ada": "Ada Lovelace", "bob": "Ada Lovelace"}}
    assert board.shown("submitter", "bob") == "Ada Lovelace (bob)"


def test_a_team_leads_by_the_mean_of_its_people(people: Arena) -> None:
    rows = {leader.key["team"]: leader for leader in arena_leaderboard(people, by=["team"]).overall}
    assert {team: leader.submissions for team, leader in rows.items()} == {"blue": 2, None: 2}
    scores = {place.submission_id: place.overall_score for place in arena_task_leaderboard(people, "t").leaderboard}
    assert rows["blue"].mean_score == pytest.approx((scores["a"] + scores["b"]) / 2, abs=0.005)


def test_history_and_standings_are_of_a_person_or_a_team(people: Arena) -> None:
    assert [moment.submission_id for moment in arena_history(people, team="blue").moments] == ["a", "b"]
    mine = arena_task_leaderboard(people, "t", submitter="bob")
    assert [(place.submission_id, place.overall_ranking) for place in mine.leaderboard] == [("b", 4)]
    assert mine.n == 4
    with pytest.raises(UnknownNameError, match="blue"):
        arena_history(people, team="blu")


def test_registering_again_changes_what_is_told_and_nothing_else(people: Arena) -> None:
    arena_user_add(people, "person", "ada", team="")
    arena_user_add(people, "person", "cyd", name="Cyd")
    told = {party.id: (party.display_name, party.team) for party in arena_user_list(people, "person").users}
    assert told == {"ada": ("Ada Lovelace", None), "bob": ("Ada Lovelace", "blue"), "cyd": ("Cyd", None)}


@pytest.mark.parametrize(
    ("kind", "identity", "more", "error"),
    [
        ("persn", "x", {}, "person"),
        ("person", "x", {"team": "blu"}, "blue"),
        ("tool", "x", {"team": "blue"}, "cannot have a team"),
        ("person", " ", {}, "invalid id"),
        ("person", "a\nb", {}, "invalid id"),
        ("person", "x" * 2_000, {}, "longer than"),
        ("person", "x", {"name": "n" * 300}, "longer than"),
    ],
)
def test_what_cannot_be_registered_is_refused(
    people: Arena, kind: str, identity: str, more: dict[str, str], error: str
) -> None:
    with pytest.raises((UsageError, UnknownNameError), match=error):
        arena_user_add(people, kind, identity, **more)


class TestTokens:
    def test_a_token_is_of_a_registered_person_or_of_none(self, people: Arena) -> None:
        assert token_of(people, "laptop", person="ada").holder == "ada"
        assert token_of(people, "ci").holder == "ci"
        with pytest.raises(UnknownNameError, match="ada"):
            sy.create_token("x", person="adaa", store=people)

    def test_a_person_s_token_submits_as_that_person_alone(self, people: Arena) -> None:
        token = token_of(people, "laptop", person="ada")
        refused = taken(people, token, submitter="bob")
        assert isinstance(refused, Rejected)
        assert refused.code == "other_submitter"
        assert isinstance(taken(people, token), Receipt)
        assert [moment.submission_id for moment in arena_history(people, submitter="ada").moments] == ["a", "new"]

    def test_another_token_does_not_speak_for_registered_people(self, people: Arena) -> None:
        assert isinstance(taken(people, token_of(people, "ci"), submitter="ada"), Rejected)
        assert isinstance(taken(people, token_of(people, "eve"), submitter="eve"), Receipt)
        assert isinstance(taken(people, token_of(people, "keeper", scope="admin"), submitter="ada"), Receipt | Rejected)

    def test_withdrawing_goes_by_the_person_not_by_a_name_that_reads_the_same(self, people: Arena) -> None:
        with pytest.raises(PermissionDeniedError):
            check_submitter(people, WithdrawOptions(submission="a", by=token_of(people, "Ada Lovelace").holder))
        check_submitter(people, WithdrawOptions(submission="a", by=token_of(people, "laptop", person="ada").holder))


def test_the_commands_register_and_list(people: Arena, capsys: pytest.CaptureFixture[str]) -> None:
    store = people.store.address
    assert run(["arena", "user", "add", "tool", "ant", "--name", "The Ant", "--store", store]) == 0
    assert run(["arena", "user", "list", "tool", "--json", "--store", store]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1 tool.")
    assert json.loads(out[out.index("{") :])["users"] == [{"kind": "tool", "id": "ant", "display_name": "The Ant"}]
