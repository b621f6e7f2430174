"""`sy.connect`: an arena on a server has the verbs of one that is opened here, and gives the same."""

from __future__ import annotations

import http.server
import inspect
import random
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import steelyard as sy
from arena_makers import random_submission, random_task
from serving import Served, serving
from steelyard.arena import Receipt
from steelyard.client import RemoteArena
from steelyard.errors import (
    AuthenticationError,
    InputError,
    PermissionDeniedError,
    RequestError,
    StoreUnavailableError,
    TaskExistsError,
    UnknownNameError,
    UsageError,
)
from steelyard.questions import ArenaSource
from steelyard.records import Rejected
from steelyard.server import ServeOptions

LOCAL_ALONE = {
    "season_verify",
    *("policy", "read", "refresh", "rules", "tasks", "decide", "rescore_tasks"),
}
"""What only whoever keeps the store has."""
ApiFunction = Callable[[Any], Any]


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> sy.Arena:
    rng = random.Random(7)
    made = sy.init_arena(f"sqlite:///{tmp_path_factory.mktemp('connected')}/arena.db")
    for name in ("a/b ü?", "b", "c"):
        made.add_task(random_task(rng, name))
    tasks = ("a/b ü?", "b", "c")
    made.submit([random_submission(rng, f"s/{number}", tasks[number % 3], number) for number in range(60)])
    made.review_exclude("s/4", by="ada", reason="odd")
    made.review_accept("s/7", by="ada")
    return made


@pytest.fixture(scope="module")
def served(arena: sy.Arena) -> Iterator[Served]:
    sy.create_token("root", scopes=["admin"], store=arena)
    with serving(ArenaSource(arena), ServeOptions(write=True)) as server:
        yield server


@pytest.fixture(scope="module")
def remote(arena: sy.Arena, served: Served) -> RemoteArena:
    token = sy.create_token("tester", scopes=["admin"], store=arena).token
    return sy.connect(served.address, token=token)


REMOTE_ALONE = {"check", "ask"}
"""Methods of a connection: whether the server responds, and questions about runs that it serves."""


def verbs(kind: type[Any]) -> dict[str, Any]:
    return {name: verb for name, verb in inspect.getmembers(kind) if not name.startswith("_")}


def signature(verb: Any) -> list[tuple[str, Any, Any]]:
    """The parameters behind the arena itself, with their kinds and defaults."""
    parameters = list(inspect.signature(verb).parameters.values())[1:]
    return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]


def differences(remote: type[Any], local: type[Any]) -> list[str]:
    """Where the two differ in their verbs."""
    ours, theirs = verbs(local), verbs(remote)
    names = [f"{name} is only there" for name in theirs.keys() - ours.keys() - REMOTE_ALONE]
    names += [f"{name} is only here" for name in ours.keys() - theirs.keys() - LOCAL_ALONE]
    both = [name for name in ours.keys() & theirs.keys() if signature(ours[name]) != signature(theirs[name])]
    return sorted(names + [f"{name} takes {signature(theirs[name])}" for name in both])


def test_both_have_the_same_verbs_with_the_same_words() -> None:
    assert differences(RemoteArena, sy.Arena) == []


def test_the_law_can_fail() -> None:
    class Other(sy.Arena):
        def rank(self) -> None: ...

        def bias(self, task: str | None = "x") -> Any: ...

    assert [told.split(maxsplit=1)[0] for told in differences(RemoteArena, Other)] == ["bias", "rank"]


ASKED: dict[str, ApiFunction] = {
    "tasks": lambda arena: arena.task_list(),
    "tasks of a category": lambda arena: arena.task_list(category=("debugging", "a,b")),
    "task": lambda arena: arena.task_show("a/b ü?"),
    "task leaderboard": lambda arena: arena.task_leaderboard("a/b ü?"),
    "leaderboard by speed": lambda arena: arena.task_leaderboard(
        "b", score="speed", policy="as-submitted", confidence=0.9
    ),
    "first places": lambda arena: arena.task_leaderboard("b", top=3),
    "leaderboard": lambda arena: arena.leaderboard(),
    "leaderboard by model": lambda arena: arena.leaderboard(by=["model"], confidence=0.9, top=2),
    "show": lambda arena: arena.show("s/5"),
    "one score": lambda arena: arena.show("s/5", score="speed_score"),
    "outliers": lambda arena: arena.review_list(),
    "outliers of a task": lambda arena: arena.review_list("b"),
    "reviews": lambda arena: arena.review_log(),
    "reviews of a task": lambda arena: arena.review_log("b"),
    "history": lambda arena: arena.history(task="b"),
    "changes": lambda arena: arena.changes(since="2020-01-01"),
    "bias": lambda arena: arena.bias(confidence=0.9),
    "abilities": lambda arena: arena.model_abilities(),
    "predict": lambda arena: arena.model_predict("b"),
    "correctness": lambda arena: arena.model_correctness(),
}


@pytest.mark.parametrize("verb", ASKED.values(), ids=list(ASKED))
def test_both_say_the_same(arena: sy.Arena, remote: RemoteArena, verb: ApiFunction) -> None:
    assert verb(remote) == verb(arena)


def test_lists_are_whole_whatever_the_page(
    arena: sy.Arena, remote: RemoteArena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.client._remote_arena.PAGE", 3)
    assert remote.task_leaderboard("b") == arena.task_leaderboard("b")
    assert remote.task_leaderboard("b", top=5) == arena.task_leaderboard("b", top=5)


WRONG: dict[str, tuple[type[Exception], ApiFunction]] = {
    "an unknown task": (UnknownNameError, lambda arena: arena.task_leaderboard("bb")),
    "an unknown submission": (UnknownNameError, lambda arena: arena.show("nowhere")),
    "an unknown policy": (UsageError, lambda arena: arena.task_leaderboard("b", policy="curent")),
    "an unknown score": (UsageError, lambda arena: arena.task_leaderboard("b", score="sped")),
    "a changed task": (TaskExistsError, lambda arena: arena.add_task({"id": "b", "title": "another"})),
    "no task": (UsageError, lambda arena: arena.add_task({"titel": "b"})),
    "no reason": (UsageError, lambda arena: arena.review_exclude("s/5")),
    "no day": (UsageError, lambda arena: arena.changes(since="tomorrow")),
}


@pytest.mark.parametrize(("kind", "verb"), WRONG.values(), ids=list(WRONG))
def test_both_raise_the_same(arena: sy.Arena, remote: RemoteArena, kind: type[Exception], verb: ApiFunction) -> None:
    with pytest.raises(kind) as here:
        verb(arena)
    with pytest.raises(kind) as there:
        verb(remote)
    assert type(there.value) is type(here.value)
    assert there.value.message == here.value.message  # type: ignore[attr-defined] # both are ours
    assert there.value.hint == here.value.hint  # type: ignore[attr-defined] # as above


def good(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "task_id": "task", "total_tokens": 5, "tool_calls": 1, **fields}


def test_submitting_gives_what_it_gives_here(arena: sy.Arena, remote: RemoteArena) -> None:
    assert remote.add_task({"id": "task"}) is True
    assert remote.add_task({"id": "task"}) is False
    given: list[Any] = [
        good("x1"),
        {"id": "half"},
        3,
        sy.Submission(**good("x2", agent="ant")),
        good("x3", task_id="tusk"),
        good("x1"),
        good("x1", total_tokens=6),
        good("x4", execution_time=float("nan")),
        sy.Submission(id=None, task_id="task", total_tokens=1, tool_calls=1),  # type: ignore[arg-type]
    ]
    heard: list[Any] = []
    there = remote.submit(given, progress=heard.extend)
    assert heard == there
    assert [outcome.status if isinstance(outcome, Receipt) else outcome.code for outcome in there] == [
        *("accepted", "bad_submission", "bad_submission", "accepted", "unknown_task", "known"),
        *("id_with_other_content", "bad_submission", "bad_submission"),
    ]
    here = arena.submit(given)
    assert [outcome.reason for outcome in here if isinstance(outcome, Rejected)] == [
        outcome.reason for outcome in there if isinstance(outcome, Rejected)
    ]


def test_portions_are_put_together_again(remote: RemoteArena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.client._remote_arena.LINES_AT_ONCE", 7)
    remote.add_task({"id": "task"})
    outcomes = remote.submit(good(f"y{number}") for number in range(50))
    assert [outcome.submission_id for outcome in outcomes if isinstance(outcome, Receipt)] == [
        f"y{number}" for number in range(50)
    ]


def test_files_are_read_here_and_submitted_there(remote: RemoteArena, tmp_path: Path) -> None:
    remote.add_task({"id": "task"})
    (tmp_path / "given.jsonl").write_text('{"id": "f1", "task_id": "task", "total_tokens": 1, "tool_calls": 1}\n{\n')
    done = remote.submit_files([tmp_path / "given.jsonl"])
    assert [receipt.submission_id for receipt in done.receipts] == ["f1"]
    assert [rejected.where.rpartition("/")[2] for rejected in done.rejected] == ["given.jsonl:2"]
    run = '{"id": "f2", "task": "task", "usage": {"input_tokens": 1, "output_tokens": 1}, "tool_calls": 1}\n'
    (tmp_path / "runs.jsonl").write_text(run)
    assert [receipt.submission_id for receipt in remote.submit_runs([tmp_path / "runs.jsonl"]).receipts] == ["f2"]


def test_a_decision_is_the_token_s(remote: RemoteArena) -> None:
    remote.add_task({"id": "task"})
    remote.submit([good("z1"), good("z2", submitter="tester")])
    reviewed = remote.review_exclude("z1", reason="odd")
    assert reviewed.review is not None
    assert (reviewed.status, reviewed.review.by) == ("excluded", "tester")
    assert remote.withdraw("z2").status == "excluded"
    with pytest.raises(PermissionDeniedError):
        remote.withdraw("z1")
    with pytest.raises(PermissionDeniedError, match="the token belongs to 'tester', not to 'ada'"):
        remote.review_reinstate("z1", by="ada")


def test_a_token_is_needed_to_write(served: Served, monkeypatch: pytest.MonkeyPatch, arena: sy.Arena) -> None:
    with pytest.raises(AuthenticationError, match="token required"):
        sy.connect(served.address).submit([good("t1")])
    with pytest.raises(AuthenticationError, match="invalid token format"):
        sy.connect(served.address, token="wrong").add_task({"id": "x"})  # noqa: S106 - none
    reader = sy.create_token("reader", scopes=["read"], store=arena).token
    monkeypatch.setenv("STEELYARD_TOKEN", reader)
    with pytest.raises(PermissionDeniedError, match="has scope read; required: submit"):
        sy.connect(served.address).submit([good("t1")])


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8600",
        "ftp://127.0.0.1",
        "http://",
        "http://ada:pw@127.0.0.1",
        "http://127.0.0.1/?a",
        "http://a\nb",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="invalid server URL"):
        sy.connect(url)


def test_a_token_that_is_none_is_refused_before_it_is_sent(served: Served) -> None:
    with pytest.raises(UsageError, match="invalid token"):
        sy.connect(served.address, token="a\r\nX-Evil: 1")  # noqa: S106 - none


class Odd(http.server.BaseHTTPRequestHandler):
    """Answers what each test puts there, and counts."""

    answers: ClassVar[list[tuple[int, bytes] | None]] = []
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        answer = self.answers.pop(0) if self.answers else (200, b'{"status": "ok"}')
        if answer is None:
            self.connection.close()
            return
        self.send_response(answer[0])
        self.send_header("Content-Length", str(len(answer[1])))
        self.end_headers()
        self.wfile.write(answer[1])

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[type[Odd], str]]:
    monkeypatch.setattr("steelyard.client._transport.WAITS_SECONDS", (0.01, 0.01, 0.01))
    monkeypatch.setattr(Odd, "answers", [])
    monkeypatch.setattr(Odd, "asked", [])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield Odd, f"http://127.0.0.1:{server.server_port}/steelyard/"
    server.shutdown()
    thread.join()
    server.server_close()


RECEIPT = (
    b'{"submission_id":"a","task_id":"t","status":"known","overall_score":1.0,"efficiency_score":1.0,"speed_score":1.0,'
    b'"cost_score":1.0,"correctness_score":1.0,"adjusted_score":1.0,"overall_ranking":1,"percentile":0.0,'
    b'"baseline_version":1}\n'
)


def test_what_broke_off_is_sent_again(odd: tuple[type[Odd], str]) -> None:
    kind, url = odd
    remote = sy.connect(url)
    kind.answers[:] = [
        None,
        (503, b'{"kind": "store_unavailable", "detail": "busy"}'),
        (200, RECEIPT + b'{"totals":{}}\n'),
    ]
    (outcome,) = remote.submit([good("a")])
    assert isinstance(outcome, Receipt)
    assert kind.asked[1:] == ["/steelyard/api/v1/submissions"] * 3


def test_a_server_that_does_not_come_back_is_an_error(odd: tuple[type[Odd], str]) -> None:
    kind, url = odd
    remote = sy.connect(url)
    kind.answers[:] = [None] * 9
    with pytest.raises(StoreUnavailableError, match="does not respond"):
        remote.task_list()
    assert len(kind.asked) == 5  # the first is connect's own


@pytest.mark.parametrize(
    "answer",
    [(200, b"<html>"), (200, b"[]"), (200, b"\xff"), (404, b"<html>"), (302, b""), (500, b"{}"), (200, b"[" * 100_000)],
)
def test_what_is_no_server_of_ours_is_told(odd: tuple[type[Odd], str], answer: tuple[int, bytes]) -> None:
    kind, url = odd
    kind.answers[:] = [answer]
    with pytest.raises(RequestError, match="not a Steelyard server"):
        sy.connect(url)


def test_an_answer_that_lacks_lines_is_no_receipt(odd: tuple[type[Odd], str]) -> None:
    kind, url = odd
    remote = sy.connect(url)
    kind.answers[:] = [(200, RECEIPT)]
    with pytest.raises(StoreUnavailableError, match="sent 2 lines but received 0 results"):
        remote.submit([good("a"), good("b")])


def test_a_refusal_is_not_tried_again(odd: tuple[type[Odd], str]) -> None:
    kind, url = odd
    remote = sy.connect(url)
    kind.answers[:] = [(422, b'{"kind": "invalid_input", "detail": "no", "hint": null, "where": 3}')]
    with pytest.raises(InputError, match="no"):
        remote.add_task({"id": "t"})
    assert len(kind.asked) == 2


@pytest.mark.checkout
def test_the_page_s_example_runs(served: Served, arena: sy.Arena, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "api.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    token = sy.create_token("page", scopes=["admin"], store=arena).token
    example = example.replace("http://127.0.0.1:8600", served.address).replace("sytk_...", token)
    exec(compile(example, "docs/api.md", "exec"), {})  # noqa: S102 - our own page
    assert capsys.readouterr().out.split() == ["accepted", "1"]


@pytest.mark.checkout
def test_the_page_names_every_verb() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "api.md").read_text("utf-8")
    section = page.partition("## From Python")[2].partition("## ")[0]
    assert [name for name in verbs(RemoteArena) if name not in REMOTE_ALONE and f"`{name}`" not in section] == []
