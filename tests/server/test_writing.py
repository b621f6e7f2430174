"""Writing over HTTP: an id once, receipts in order, decisions under the token's name."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import steelyard as sy
from serving import Served, serving
from steelyard.questions import ArenaSource
from steelyard.server import ServeOptions

JSON, NDJSON = "application/json", "application/x-ndjson"


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> sy.Arena:
    made = sy.init_arena(f"sqlite:///{tmp_path_factory.mktemp('written')}/arena.db")
    made.add_task({"id": "task"})
    return made


@pytest.fixture(scope="module")
def tokens(arena: sy.Arena) -> dict[str, str]:
    return {scope: sy.create_token(scope, scopes=[scope], store=arena).token for scope in ("submit", "review", "admin")}


@pytest.fixture(scope="module")
def served(arena: sy.Arena, tokens: dict[str, str]) -> Iterator[Served]:
    with serving(ArenaSource(arena), ServeOptions(write=True)) as server:
        yield server


@pytest.fixture(scope="module")
def post(served: Served, tokens: dict[str, str]) -> Any:
    def send(path: str, body: Any, *, scope: str = "submit", kind: str = JSON) -> Any:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {tokens[scope]}", "Content-Type": kind}
        return served.ask(f"/api/v1{path}", "POST", headers=headers, body=content)

    return send


def good(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "task_id": "task", "total_tokens": 5, "tool_calls": 1, **fields}


def lines(*records: Any) -> bytes:
    return b"".join(
        (record if isinstance(record, bytes) else json.dumps(record).encode()) + b"\n" for record in records
    )


def test_an_id_is_accepted_once(post: Any, served: Served) -> None:
    first, again, other = (post("/submissions", good("once", total_tokens=tokens)) for tokens in (5, 5, 6))
    assert [answer.status for answer in (first, again, other)] == [201, 200, 409]
    assert (first.json["status"], again.json["status"]) == ("accepted", "known")
    assert first.json["schema_version"] == 1
    assert other.headers["content-type"] == "application/problem+json"
    assert (other.json["kind"], other.json["where"]) == ("id_with_other_content", "once")
    assert served.ask(first.headers["location"]).json["receipt"]["submission_id"] == "once"


def test_a_submission_without_an_id_can_be_sent_again(post: Any) -> None:
    nameless = good("x", total_tokens=77)
    del nameless["id"]
    assert [post("/submissions", nameless).status for _ in range(3)] == [201, 200, 200]


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (good("a", task_id="tusk"), "unknown_task", "did you mean 'task'?"),
        (good("a", total_tokens=-1), "bad_submission", None),
        (good("a", titel=1), "bad_submission", None),
        (good("a", artifacts="/etc"), "invalid_artifacts", "on the server"),
        ([good("a")], "bad_submission", None),
        (b"{", "bad_submission", None),
    ],
)
def test_what_is_refused_says_why(post: Any, body: Any, kind: str, words: str | None) -> None:
    answer = post("/submissions", body)
    assert (answer.status, answer.json["kind"]) == (422, kind)
    assert words is None or words in answer.json["hint"]


def test_many_are_answered_in_their_order_with_totals(post: Any) -> None:
    sent = lines(good("m1"), b"", b"{", good("m2", task_id="tusk"), good("m3"), good("m1"), good("m1", total_tokens=6))
    answer = post("/submissions", sent.rstrip(b"\n"), kind=NDJSON)
    assert (answer.status, answer.headers["content-type"]) == (200, NDJSON)
    told = [json.loads(line) for line in answer.body.splitlines()]
    shown = [(entry.get("submission_id"), entry.get("status"), entry.get("line")) for entry in told[:-1]]
    assert shown == [
        ("m1", "accepted", None),
        (None, 422, 3),  # line 2 is empty
        (None, 422, 4),
        ("m3", "accepted", None),
        ("m1", "known", None),
        (None, 409, 7),
    ]
    assert told[-1] == {"totals": {"lines": 6, "accepted": 2, "known": 1, "excluded": 0, "rejected": 3}}


def test_ten_thousand_in_one_request_are_all_there(post: Any, arena: sy.Arena) -> None:
    arena.add_task({"id": "many"})
    sent = lines(*(good(f"n{number}", task_id="many", total_tokens=number) for number in range(10_000)))
    told = post("/submissions", sent, kind=NDJSON).body.splitlines()
    assert json.loads(told[-1])["totals"]["accepted"] == 10_000
    assert [json.loads(line)["submission_id"] for line in told[:-1]] == [f"n{number}" for number in range(10_000)]
    assert arena.task_leaderboard("many", top=1).n == 10_000


def test_a_client_that_reads_nothing_before_it_has_sent_all_is_served(served: Served, tokens: dict[str, str]) -> None:
    sent = lines(*(good(f"p{number}") for number in range(5_000)))
    head = f"POST /api/v1/submissions HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer "
    head += f"{tokens['submit']}\r\nContent-Type: {NDJSON}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as client:
        client.sendall(head.encode())
        for start in range(0, len(sent), 10_000):
            piece = sent[start : start + 10_000]
            client.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
        client.sendall(b"0\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/1.1 200")
    assert b'"accepted":5000' in answer


def test_what_came_before_a_break_is_kept_and_can_be_sent_again(
    served: Served, tokens: dict[str, str], post: Any, arena: sy.Arena
) -> None:
    arena.add_task({"id": "broken"})
    sent = lines(*(good(f"b{number}", task_id="broken") for number in range(3_000)))
    head = f"POST /api/v1/submissions HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nAuthorization: Bearer "
    head += f"{tokens['submit']}\r\nContent-Type: {NDJSON}\r\nContent-Length: {len(sent)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as client:
        client.sendall(head.encode() + sent[: len(sent) // 2])
    told = json.loads(post("/submissions", sent, kind=NDJSON).body.splitlines()[-1])["totals"]
    assert (told["accepted"] + told["known"], told["rejected"]) == (3_000, 0)
    assert arena.task_leaderboard("broken", top=1).n == 3_000


def test_many_at_once_from_many_clients_count_once(post: Any, arena: sy.Arena) -> None:
    arena.add_task({"id": "raced"})
    statuses: list[int] = []

    def send() -> None:
        statuses.extend(post("/submissions", good(f"r{number}", task_id="raced")).status for number in range(20))

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 60 + [201] * 20
    assert arena.task_leaderboard("raced").n == 20


def test_runs_are_submitted_to_the_task_of_their_name(post: Any, served: Served) -> None:
    run = {
        "id": "run-1",
        "task": "task",
        "usage": {"input_tokens": 9, "output_tokens": 1},
        "tool_calls": 2,
        "passed": True,
    }
    assert [post("/runs?submitter=ada", run).status for _ in range(2)] == [201, 200]
    told = served.api("/submissions/run-1")
    assert (told["submitter"], told["receipt"]["task_id"]) == ("ada", "task")
    assert post("/runs", {**run, "task": "tusk", "id": "run-2"}).json["kind"] == "unknown_task"
    last = post("/runs", lines({**run, "id": "run-3"}, b"[]"), kind=NDJSON).body.splitlines()[-1]
    assert json.loads(last)["totals"] == {"lines": 2, "accepted": 1, "known": 0, "excluded": 0, "rejected": 1}


def test_a_task_is_added_and_never_changed(post: Any, served: Served) -> None:
    first, again, other = (post("/tasks", {"id": "a/b", "title": title}, scope="admin") for title in ("x", "x", "y"))
    assert [answer.status for answer in (first, again, other)] == [201, 200, 409]
    assert first.json["tasks"] == [{"id": "a/b", "new": True, "criteria": 0}]
    assert first.headers["location"] == "/api/v1/tasks/a%2Fb"
    assert served.ask(first.headers["location"]).json["task"]["title"] == "x"
    assert post("/tasks", {"id": "c", "titel": "x"}, scope="admin").status == 422
    assert post("/tasks", b"{", scope="admin").status == 400
    folder = {"id": "d", "success_criteria": [{"type": "tests_pass", "tests": "/etc"}]}
    assert post("/tasks", folder, scope="admin").status == 422


def test_a_decision_is_logged_under_the_token_and_can_be_taken_back(post: Any, served: Served) -> None:
    post("/submissions", good("odd"))
    path = "/submissions/odd"
    excluded = post(f"{path}/exclude", {"reason": "reads the answer"}, scope="review")
    assert (excluded.status, excluded.json["status"], excluded.json["review"]["by"]) == (200, "excluded", "review")
    assert post("/submissions", good("odd")).json["status"] == "excluded"
    assert post(f"{path}/exclude", {"reason": "again", "by": "review"}, scope="review").json["changed"] is False
    assert post(f"{path}/accept", {}, scope="review").status == 400
    assert post(f"{path}/reinstate", {}, scope="review").json["status"] == "counted"
    log = served.api("/reviews?task=task")
    told = [
        (entry["decision"], entry["by"], entry["reason"]) for entry in log["items"] if entry["submission_id"] == "odd"
    ]
    assert told == [("excluded", "review", "reads the answer"), ("reinstated", "review", None)]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"reason": " "}, 400),
        ({"reason": 5}, 400),
        ({"reason": "odd", "decision": "exclude"}, 400),
        ({"reason": "odd", "submission": "another"}, 400),
        ({"reason": "odd", "by": "somebody else"}, 403),
        ([], 400),
        (b"", 400),
        (b"[" * 100_000, 400),
        ({"reason": "\0"}, 400),
        ({"reason": "x" * 10_001}, 400),
    ],
)
def test_a_decision_that_is_none_is_refused(post: Any, body: Any, status: int) -> None:
    post("/submissions", good("steady"))
    assert post("/submissions/steady/exclude", body, scope="review").status == status
    assert post("/submissions/nowhere/accept", {}, scope="review").status == 404


def test_only_the_submitter_withdraws(post: Any, served: Served) -> None:
    post("/submissions", good("mine", submitter="submit"))
    post("/submissions", good("theirs", submitter="ada"))
    assert post("/submissions/theirs/withdraw", {}).status == 403
    answer = post("/submissions/mine/withdraw", {"reason": "wrong log"})
    assert (answer.json["status"], answer.json["review"]["decision"]) == ("excluded", "withdrawn")
    assert [entry["submission_id"] for entry in served.api("/reviews")["items"]].count("mine") == 1


def test_a_line_that_is_too_long_and_lines_that_are_too_many_end_the_request(
    post: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.server._routes.MAX_LINES", 3)
    answer = post("/submissions", lines(*(good(f"l{number}") for number in range(5))), kind=NDJSON)
    assert (answer.status, answer.json["kind"]) == (413, "too_large")
    long = lines(good("long", agent="x" * (8 << 20)))
    assert post("/submissions", long + b"{" * (9 << 20), kind=NDJSON).status == 413


def test_what_is_written_shows_in_the_next_answer(post: Any, served: Served, arena: sy.Arena) -> None:
    arena.add_task({"id": "live"})
    for number in range(5):
        assert post("/submissions", good(f"live-{number}", task_id="live")).status == 201
    assert arena.task_leaderboard("live").n == 5
    with serving(ArenaSource(arena)) as other:
        assert other.api("/tasks/live/leaderboard")["total"] == 5


def test_a_server_without_write_refuses_it(arena: sy.Arena, tokens: dict[str, str]) -> None:
    with serving(ArenaSource(arena)) as other:
        headers = {"Authorization": f"Bearer {tokens['admin']}", "Content-Type": JSON}
        answer = other.ask("/api/v1/submissions", "POST", headers=headers, body=b"{}")
        assert (answer.status, answer.json["kind"]) == (403, "read_only")
        assert "--write" in answer.json["hint"]


def test_serving_is_refused_where_nobody_could_write_or_read(tmp_path: Any) -> None:
    from steelyard.errors import UsageError
    from steelyard.questions import RunsSource
    from steelyard.server import site_of

    bare = ArenaSource(sy.init_arena(f"sqlite:///{tmp_path}/bare.db"))
    (tmp_path / "runs.jsonl").write_text('{"task": "t"}\n')
    runs = RunsSource([tmp_path / "runs.jsonl"])
    for source, options, words in (
        (bare, ServeOptions(write=True), "--write requires a token"),
        (bare, ServeOptions(host="0.0.0.0"), "requires a token"),  # noqa: S104 - nothing is bound
        (runs, ServeOptions(host="0.0.0.0"), "without a token"),  # noqa: S104 - as above
        (runs, ServeOptions(write=True), "run files are read-only"),
    ):
        with pytest.raises(UsageError, match=words):
            site_of(source, options)
    sy.create_token("reader", scopes=["read"], store=bare.arena)  # type: ignore[arg-type] # an arena all the same
    with pytest.raises(UsageError, match="--write requires a token"):
        site_of(bare, ServeOptions(write=True))
    assert not site_of(bare, ServeOptions(host="0.0.0.0")).access.public_read  # noqa: S104 - as above
    bare.close()
