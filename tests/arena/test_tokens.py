"""Tokens: shown once, kept as a digest, refused as soon as they are foreign, expired, revoked or of another scope."""

from __future__ import annotations

import json
import re
import threading
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import select, update

import steelyard as sy
from arena_makers import make_arena
from steelyard.arena import Arena
from steelyard.cli import run
from steelyard.errors import (
    AuthenticationError,
    PermissionDeniedError,
    StoreUnavailableError,
    UnknownNameError,
    UsageError,
)
from steelyard.questions.token import check_token
from steelyard.records import SCOPES, Redaction, microseconds_of, now_microseconds
from steelyard.store import Store
from steelyard.store.schema import tokens

DAY = 24 * 3600 * 1_000_000


def everything_kept(store: Store) -> str:
    with store.read() as connection:
        return repr(connection.execute(select(tokens)).all())


def _microseconds(time: str) -> int:
    return microseconds_of(datetime.fromisoformat(time))


def _last_used(arena: Arena) -> int:
    time = sy.list_tokens(store=arena).tokens[0].last_used_at
    assert time is not None
    return _microseconds(time)


def test_the_store_keeps_no_token(store: Store) -> None:
    arena = make_arena(store)
    made = sy.create_token("ci", store=arena)
    assert re.fullmatch(r"sytk_[0-9a-f]{16}_[\w-]{43}", made.token)
    secret = made.token.split("_", 2)[2]
    assert secret not in everything_kept(store)
    assert secret not in repr(made) + repr(made.to_dicts()) + repr(sy.list_tokens(store=arena).to_dict())
    assert check_token(arena, made.token, "submit").name == "ci"


def test_what_is_like_a_token_is_refused(store: Store) -> None:
    arena = make_arena(store)
    made = sy.create_token("ci", store=arena).token
    swapped = made[:-1] + ("A" if made[-1] != "A" else "B")
    unknown = f"sytk_{'0' * 16}_{made.split('_', 2)[2]}"
    for other in (swapped, unknown, made + "x", made[:-1], "", "sytk_", "Bearer " + made, "\0", made.upper(), "ü" * 70):
        with pytest.raises(AuthenticationError):
            check_token(arena, other, "read")


@pytest.mark.parametrize("own", SCOPES)
@pytest.mark.parametrize("asked", SCOPES)
def test_a_token_allows_reading_and_its_own_scope_and_admin_all(store: Store, own: str, asked: Any) -> None:
    arena = make_arena(store)
    made = sy.create_token("ci", scopes=[own], store=arena).token
    if asked in ("read", own) or own == "admin":
        assert check_token(arena, made, asked).scopes == (own,)
    else:
        with pytest.raises(PermissionDeniedError, match=f"has scope {own}; required: {asked}"):
            check_token(arena, made, asked)


def test_a_token_of_two_scopes_allows_both(store: Store) -> None:
    arena = make_arena(store)
    made = sy.create_token("ci", scopes=["submit", "review"], store=arena).token
    assert check_token(arena, made, "review").id == check_token(arena, made, "submit").id
    with pytest.raises(PermissionDeniedError):
        check_token(arena, made, "admin")


def test_from_its_end_on_a_token_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    arena = make_arena(store)
    made = sy.create_token("ci", expires="1d", store=arena)
    (record,) = made.tokens
    expires_at, created_at = _microseconds(record.expires_at), _microseconds(record.created_at)
    assert expires_at - created_at == pytest.approx(DAY, abs=60_000_000)
    moment = [expires_at - 1]
    monkeypatch.setattr("steelyard.store._rows.now_microseconds", lambda: moment[0])
    check_token(arena, made.token, "submit")
    moment[0] += 1
    with pytest.raises(AuthenticationError, match="has expired"):
        check_token(arena, made.token, "read")


def test_a_revoked_token_is_refused_and_its_name_is_free(store: Store) -> None:
    arena = make_arena(store)
    first = sy.create_token("ci", store=arena).token
    with pytest.raises(UsageError, match="already"):
        sy.create_token("ci", store=arena)
    sy.revoke_token("ci", store=arena)
    with pytest.raises(AuthenticationError, match="was revoked"):
        check_token(arena, first, "read")
    second = sy.create_token("ci", store=arena).token
    assert check_token(arena, second, "submit").name == "ci"
    states = [row["state"] for row in sy.list_tokens(store=arena).to_dicts()]
    assert states == ["revoked", "active"]
    with pytest.raises(UnknownNameError, match="did you mean 'ci'"):
        sy.revoke_token("cii", store=arena)


def test_a_name_is_given_once_by_many_at_once(store: Store) -> None:
    arena = make_arena(store)
    outcomes: list[object] = []

    def make() -> None:
        try:
            outcomes.append(sy.create_token("ci", store=arena))
        except UsageError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(not isinstance(outcome, UsageError) for outcome in outcomes) == 1
    assert len(sy.list_tokens(store=arena).tokens) == 1


def test_a_use_is_noted_but_not_every_use(store: Store) -> None:
    arena = make_arena(store)
    made = sy.create_token("ci", store=arena).token
    assert sy.list_tokens(store=arena).tokens[0].last_used_at is None
    check_token(arena, made, "submit")
    first = _last_used(arena)
    assert abs(first - now_microseconds()) < 60_000_000
    check_token(arena, made, "submit")
    assert _last_used(arena) == first
    with store.write() as connection:
        connection.execute(update(tokens).values(last_used_at=first - DAY))
    check_token(arena, made, "submit")
    assert _last_used(arena) > first - DAY


def test_a_use_that_is_refused_is_not_noted(store: Store) -> None:
    arena = make_arena(store)
    made = sy.create_token("ci", store=arena).token
    with pytest.raises(AuthenticationError):
        check_token(arena, made[:-4] + "AAAA", "submit")
    assert sy.list_tokens(store=arena).tokens[0].last_used_at is None


def test_a_use_that_cannot_be_noted_is_a_use_all_the_same(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    arena = make_arena(store)
    made = sy.create_token("ci", store=arena).token

    def full(_work: object) -> None:
        raise StoreUnavailableError(store.address, "the disk is full")

    monkeypatch.setattr(store, "in_transaction", full)
    assert check_token(arena, made, "submit").name == "ci"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"expires": "0d"}, "not in the future"),
        ({"expires": "2020-01-01"}, "not in the future"),
        ({"expires": "3y"}, "neither a duration nor a date"),
        ({"expires": "999999w"}, "after the year 9999"),
        ({"expires": ""}, "neither a duration nor a date"),
        ({"scopes": []}, "requires at least one scope"),
        ({"scopes": ["write"]}, "unknown scope 'write'"),
        ({"name": ""}, "invalid token name"),
        ({"name": "a\nb"}, "invalid token name"),
        ({"name": "a\0"}, "invalid token name"),
        ({"name": "a" * 1025}, "longer than 1024 bytes"),
    ],
)
def test_what_cannot_be_a_token_is_refused_before_anything_is_written(
    store: Store, options: dict[str, Any], complaint: str
) -> None:
    arena = make_arena(store)
    with pytest.raises(UsageError, match=complaint):
        sy.create_token(options.pop("name", "ci"), store=arena, **options)
    assert sy.list_tokens(store=arena).tokens == ()


def test_the_last_day_of_a_date_is_included(store: Store) -> None:
    made = sy.create_token("ci", expires="2999-01-31", store=make_arena(store))
    assert made.tokens[0].expires_at == "2999-02-01T00:00:00+00:00"


def test_a_token_is_taken_out_of_reports(store: Store) -> None:
    made = sy.create_token("ci", store=make_arena(store)).token
    assert Redaction().text(f"curl -d {made}") == "curl -d [Steelyard token 1]"


class TestCommands:
    def test_create_prints_the_token_alone_on_stdout(
        self, store: Store, store_address: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arena = make_arena(store)
        assert run(["serve", "token", "create", "ci", "--scope", "submit, review", "--store", store_address]) == 0
        printed = capsys.readouterr()
        assert check_token(arena, printed.out.strip(), "review").name == "ci"
        assert "it is not shown again" in printed.err

    def test_list_and_revoke(self, store: Store, store_address: str, capsys: pytest.CaptureFixture[str]) -> None:
        arena = make_arena(store)
        assert run(["serve", "token", "list", "--store", store_address]) == 0
        assert "0 tokens, 0 active." in capsys.readouterr().out
        made = sy.create_token("ci", store=arena).token
        assert run(["serve", "token", "list", "--store", store_address]) == 0
        shown = capsys.readouterr().out
        assert "\nci  " in shown
        assert "submit  active" in shown
        assert made not in shown
        assert run(["serve", "token", "revoke", "ci", "--store", store_address, "--json"]) == 0
        (told,) = json.loads(capsys.readouterr().out)["tokens"]
        assert (told["name"], told["state"], told["scopes"]) == ("ci", "revoked", ["submit"])
        assert run(["serve", "token", "list", "--store", store_address]) == 0
        assert "submit  revoked" in capsys.readouterr().out

    def test_a_token_needs_a_store_that_is_there(self, capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
        assert run(["serve", "token", "create", "ci", "--store", f"sqlite:///{tmp_path}/none.db"]) == 2
        assert "store not found" in capsys.readouterr().err
        assert not list(tmp_path.iterdir())
