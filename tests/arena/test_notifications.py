"""Notifications: signed, at least once, never given up, and only to who was named."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event as Signal, Thread
from typing import Any, ClassVar

import pytest
from sqlalchemy import update

from arena_makers import as_submission, as_task, make_arena
from steelyard.arena import Arena, notify_once
from steelyard.arena.notifications._delivery import (
    LEASE_SECONDS,
    SECOND,
    SILENCES,
    Deliveries,
    NoAnswer,
    send,
    signature,
    waiting,
    waits_seconds,
)
from steelyard.arena.notifications._events import EVALUATED
from steelyard.arena.notifications._targets import Target
from steelyard.errors import MissingExtraError, UsageError
from steelyard.records import now_microseconds
from steelyard.store import Store
from steelyard.store.schema import outbox

DOCS = Path(__file__).parents[2] / "docs" / "arena.md"
HOOK = Target(name="hook", network="loopback", url="http://127.0.0.1:9/hook")
OTHER = Target(name="other", network="loopback", url="http://127.0.0.1:9/other")


@pytest.fixture
def arena(store: Store) -> Arena:
    made = make_arena(store)
    made.add_task(as_task({"id": "task"}))
    submit(made, 3)
    return made


def submit(arena: Arena, count: int) -> None:
    start = waiting(arena.store)
    rows = [{"id": f"s{start + n}", "task_id": "task", "total_tokens": 5, "tool_calls": 2} for n in range(count)]
    arena.submit([as_submission(row) for row in rows])


class Receiver:
    """Stands in for the network: remembers what it was sent and answers as it is told."""

    def __init__(self, *failing: str) -> None:
        self.failing = set(failing)
        self.seen: list[tuple[str, str]] = []

    def __call__(self, target: Target, *, event_id: str, **_: Any) -> str | None:
        self.seen.append((target.name, event_id))
        return "HTTP status 500" if target.name in self.failing else None


def later(seconds: float) -> int:
    return now_microseconds() + int(seconds * SECOND)


def test_every_event_goes_to_every_target_once_when_all_is_well(arena: Arena) -> None:
    receiver = Receiver()
    done = notify_once(arena.store, [HOOK, OTHER], sender=receiver)
    assert (done.sent, done.failed, done.settled, done.waiting) == (6, 0, 3, 0)
    assert len(set(receiver.seen)) == len(receiver.seen) == 6
    assert notify_once(arena.store, [HOOK, OTHER], sender=receiver).sent == 0


def test_a_failed_target_is_tried_again_later_and_the_other_is_left_in_peace(arena: Arena) -> None:
    receiver = Receiver("other")
    done = notify_once(arena.store, [HOOK, OTHER], sender=receiver)
    assert (done.sent, done.failed, done.waiting) == (3, 3, 3)
    assert done.errors == ("other: HTTP status 500",)
    assert notify_once(arena.store, [HOOK, OTHER], sender=receiver).failed == 0  # not due yet
    receiver.failing.clear()
    again = notify_once(arena.store, [HOOK, OTHER], sender=receiver, now=later(60))
    assert (again.sent, again.waiting) == (3, 0)
    assert sum(name == "hook" for name, _ in receiver.seen) == 3


def test_waits_double_up_to_an_hour_and_never_end() -> None:
    assert [waits_seconds(attempt) for attempt in (1, 2, 3, 10, 11, 1000)] == [5, 10, 20, 2560, 3600, 3600]


def test_two_senders_do_not_send_the_same_event_at_once(arena: Arena) -> None:
    inner: list[Deliveries] = []

    def sender(_target: Target, **_: Any) -> None:
        if not inner:
            inner.append(notify_once(arena.store, [HOOK], sender=Receiver()))

    notify_once(arena.store, [HOOK], sender=sender)
    assert inner[0].sent == 0


def test_an_event_whose_sender_died_is_sent_again_under_the_same_id(arena: Arena) -> None:
    dying = Receiver()

    def sender(target: Target, **message: Any) -> None:
        dying(target, **message)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        notify_once(arena.store, [HOOK], sender=sender)
    receiver = Receiver()
    assert notify_once(arena.store, [HOOK], sender=receiver).sent == 0  # the lease holds
    notify_once(arena.store, [HOOK], sender=receiver, now=later(LEASE_SECONDS + 1))
    assert set(dying.seen) < set(receiver.seen)
    assert waiting(arena.store) == 0


class TestTargetsInTrouble:
    """A target that is dead, hangs or is slow: it holds up neither the round nor the others."""

    def test_a_round_sends_what_was_due_when_it_began_and_ends(
        self, arena: Arena, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            "steelyard.arena.notifications._delivery.FIRST_WAIT_SECONDS", 0
        )  # all retries are due at once
        receiver = Receiver("hook")
        done = notify_once(arena.store, [HOOK], sender=receiver)
        assert (done.failed, len(receiver.seen)) == (3, 3)
        assert notify_once(arena.store, [HOOK], sender=receiver).failed == 3

    @pytest.mark.parametrize("order", [[HOOK, OTHER], [OTHER, HOOK]])
    def test_the_others_get_theirs_while_one_hangs(self, arena: Arena, order: list[Target]) -> None:
        receiver = Receiver()
        all_there = Signal()

        def sender(target: Target, **message: Any) -> str | None:
            if target is HOOK:
                assert all_there.wait(30)  # it hangs until the other has all of them
                return NoAnswer("timed out")
            receiver(target, **message)
            if len(receiver.seen) == 3:
                all_there.set()
            return None

        done = notify_once(arena.store, order, sender=sender)
        assert (done.sent, done.failed, done.put_off, done.waiting) == (3, SILENCES, 3 - SILENCES, 3)

    def test_a_silent_target_is_tried_twice_a_round_and_gets_everything_when_it_is_back(self, arena: Arena) -> None:
        submit(arena, 2500)
        seen: list[str] = []

        def silent(_target: Target, *, event_id: str, **_: Any) -> str:
            seen.append(event_id)
            return NoAnswer("timed out")

        moment = later(86_400)  # so far ahead that the rounds' own time does not count
        for attempt in range(1, 4):
            done = notify_once(arena.store, [HOOK], sender=silent, now=moment)
            assert (done.failed, done.put_off) == (SILENCES, 2503 - SILENCES)
            moment += waits_seconds(attempt) * SECOND
            # none of them is due before the wait after so many attempts is over
            assert notify_once(arena.store, [HOOK], sender=silent, now=moment - SECOND).failed == 0
        assert len(set(seen)) == SILENCES  # the same two each time: the others have had no attempt
        receiver = Receiver()
        done = notify_once(arena.store, [HOOK], sender=receiver, now=moment)
        assert (done.sent, done.settled, done.waiting) == (2503, 2503, 0)
        assert len(set(receiver.seen)) == 2503

    def test_one_target_does_not_wait_for_the_retries_of_another(self, arena: Arena) -> None:
        dead = Receiver("other")
        moment = 0.0
        for attempt in range(1, 6):
            assert notify_once(arena.store, [OTHER], sender=dead, now=later(moment)).failed == 3
            moment += waits_seconds(attempt) + 1
        both = Receiver("hook", "other")
        assert notify_once(arena.store, [HOOK, OTHER], sender=both, now=later(moment)).failed == 6
        moment += waits_seconds(1) + 1  # the other has failed six times and waits longer
        again = Receiver("other")
        done = notify_once(arena.store, [HOOK, OTHER], sender=again, now=later(moment))
        assert (done.sent, done.failed, done.waiting) == (3, 0, 3)
        assert {name for name, _ in again.seen} == {"hook"}

    def test_a_slow_target_has_no_more_under_lease_than_it_can_take(self, arena: Arena) -> None:
        slow = Target(name="slow", network="loopback", url="http://127.0.0.1:9/", seconds=300)
        another = Receiver()

        def sender(target: Target, **message: Any) -> None:
            if not another.seen:
                notify_once(arena.store, [slow], sender=another)  # another sender, while this one waits
                assert len(another.seen) == 2
            else:
                another(target, **message)

        assert notify_once(arena.store, [slow], sender=sender).sent == 1
        assert waiting(arena.store) == 0

    def test_a_target_that_is_added_later_gets_what_is_not_settled(self, arena: Arena) -> None:
        submit(arena, 1)  # before any is settled, since it counts on from those
        first = Receiver()

        def sender(target: Target, **message: Any) -> str | None:
            return first(target, **message) if len(first.seen) < 3 else "HTTP status 500"

        assert notify_once(arena.store, [HOOK], sender=sender).settled == 3
        assert notify_once(arena.store, [HOOK, OTHER], sender=Receiver(), now=later(60)).sent == 2


def test_a_target_gets_only_the_kinds_it_wants(arena: Arena) -> None:
    with arena.store.write() as connection:
        connection.execute(update(outbox).where(outbox.c.ordinal == 1).values(kind="something.else"))
    receiver = Receiver()
    choosy = Target(name="choosy", network="loopback", url="http://127.0.0.1:9/", kinds=(EVALUATED,))
    done = notify_once(arena.store, [choosy], sender=receiver)
    assert (done.sent, done.settled, done.waiting) == (2, 3, 0)


class _Server(BaseHTTPRequestHandler):
    got: ClassVar[list[tuple[dict[str, str], bytes]]] = []
    answers: ClassVar[list[int]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((dict(self.headers), body))
        status = self.answers.pop(0) if self.answers else 204
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    _Server.got.clear()
    _Server.answers.clear()
    made = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    thread = Thread(target=made.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{made.server_address[1]}/hook"
    made.shutdown()
    thread.join()
    made.server_close()


def test_a_webhook_is_signed_so_that_its_receiver_can_check_it(
    arena: Arena, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", "hush")
    target = Target(name="hook", network="loopback", url=server, secret_env="HOOK_SECRET")  # noqa: S106 - the name of a variable
    assert notify_once(arena.store, [target]).sent == 3
    headers, body = _Server.got[0]
    expected = hmac.new(b"hush", headers["Steelyard-Timestamp"].encode() + b"." + body, hashlib.sha256).hexdigest()
    assert headers["Steelyard-Signature"] == f"sha256={expected}"
    told = json.loads(body)
    assert told["event_id"] == headers["Steelyard-Event-Id"]
    assert (told["kind"], told["task_id"], told["submission_id"]) == ("submission.evaluated", "task", "s0")
    assert set(told) >= {"overall_score", "overall_ranking", "percentile", "baseline_version", "submitter"}


@pytest.mark.checkout
def test_a_receiver_that_checks_as_the_docs_say_refuses_forged_and_old_messages() -> None:
    (code,) = re.findall(r"```python\n(.*?def is_genuine.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    scope: dict[str, Any] = {}
    exec(code, scope)  # noqa: S102 - the example in our own docs
    now = int(time.time())
    for sent_at, body, is_genuine in ((now, b"{}", True), (now, b"[]", False), (now - 301, b"{}", False)):
        headers = {"Steelyard-Timestamp": str(sent_at), "Steelyard-Signature": signature(b"hush", sent_at, b"{}")}
        assert scope["is_genuine"](headers, body, b"hush") is is_genuine


def test_a_redirect_is_not_followed_and_a_refusal_is_an_error(server: str) -> None:
    _Server.answers[:] = [302, 500]
    target = Target(name="hook", network="loopback", url=server)
    message: dict[str, Any] = {"event_id": "e", "kind": "k", "body": b"{}", "timestamp": 1}
    assert send(target, **message) == "HTTP status 302"
    assert send(target, **message) == "HTTP status 500"
    assert send(target, **message) is None
    assert len(_Server.got) == 3


def test_nobody_listening_is_an_error_and_not_a_crash() -> None:
    target = Target(name="hook", network="loopback", url="http://127.0.0.1:1/", seconds=1.0)
    assert "refused" in str(send(target, event_id="e", kind="k", body=b"{}", timestamp=1))


def test_a_target_that_answers_byte_by_byte_is_given_up_in_its_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        given_up = Signal()

        def trickle() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                for _ in range(300):
                    if given_up.wait(0.05):
                        break
                    connection.sendall(b"X-More: x\r\n")
                connection.sendall(b"Content-Length: 0\r\n\r\n")

        thread = Thread(target=trickle)
        thread.start()
        target = Target(
            name="hook", network="loopback", url=f"http://127.0.0.1:{server.getsockname()[1]}/", seconds=0.3
        )
        answer = send(target, event_id="e", kind="k", body=b"{}", timestamp=1)
        given_up.set()
        thread.join()
    assert isinstance(answer, NoAnswer)
    assert answer == "no response within 0.3 seconds"


def test_a_secret_that_is_not_set_is_an_error() -> None:
    target = Target(name="a", url="https://x/", secret_env="NO_SUCH_VARIABLE")  # noqa: S106 - the name of a variable
    with pytest.raises(UsageError, match="NO_SUCH_VARIABLE"):
        _ = target.secret


def test_a_target_that_cannot_be_sent_to_takes_no_event(arena: Arena) -> None:
    unset = Target(name="a", url="https://x/", secret_env="NO_SUCH_VARIABLE")  # noqa: S106 - the name of a variable
    for target in (unset, Target(name="b", apprise_env="NO_SUCH_VARIABLE")):
        with pytest.raises(UsageError, match="NO_SUCH_VARIABLE"):
            notify_once(arena.store, [HOOK, target], sender=Receiver())
    assert notify_once(arena.store, [HOOK], sender=Receiver()).sent == 3  # all of them are due as before


def test_apprise_is_an_extra_with_a_kind_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)  # as if it were not installed
    with pytest.raises(MissingExtraError, match="apprise"):
        send(Target(name="a", apprise_env="X"), event_id="e", kind="k", body=b"{}", timestamp=1)
    monkeypatch.setenv("X", "json://localhost")
    with pytest.raises(MissingExtraError, match="apprise"):  # before any event is taken
        Target(name="a", apprise_env="X").check_environment()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Apprise's own imports
def test_apprise_delivers_to_the_address_in_the_environment(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("apprise")
    monkeypatch.setenv("ARENA_APPRISE_URL", server.replace("http://", "json://"))
    target = Target(name="a", apprise_env="ARENA_APPRISE_URL")
    assert send(target, event_id="e", kind="submission.evaluated", body=b'{"a": 1}', timestamp=1) is None
    (told,) = _Server.got
    assert json.loads(told[1])["message"] == '{"a": 1}'
    monkeypatch.setenv("ARENA_APPRISE_URL", "no such scheme")
    assert send(target, event_id="e", kind="k", body=b"{}", timestamp=1) is not None
