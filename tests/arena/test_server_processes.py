"""Several servers over one store: what one acknowledges the others show, each id counts once, a token ends for all."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from arena_makers import make_arena
from steelyard.arena import Receipt
from steelyard.client import RemoteArena
from steelyard.errors import AuthenticationError, RequestError
from steelyard.store import Store

SERVERS, WRITERS, EACH = 2, 4, 60
STARTED_WITHIN = 60.0


@contextmanager
def server(store_address: str, log: Path) -> Iterator[str]:
    """A server process of its own; its address."""
    command = [sys.executable, "-m", "steelyard", "serve", "--store", store_address, "--write", "--port", "0"]
    with log.open("wb") as told, subprocess.Popen(command, stderr=told) as process:
        try:
            yield _address(process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < end and process.poll() is None:
        match = re.search(r"http://127\.0\.0\.1:\d+", log.read_text())
        if match is not None:
            return match[0]
        time.sleep(0.05)
    raise AssertionError(f"the server did not start: {log.read_text()}")


@pytest.fixture
def arena(store: Store) -> sy.Arena:
    made = make_arena(store)
    arena = sy.Arena(store, rules=made.rules, policy=made.policy)
    arena.add_task({"id": "task"})
    return arena


@pytest.fixture
def clients(arena: sy.Arena, store_address: str, tmp_path: Path) -> Iterator[list[RemoteArena]]:
    token = sy.create_token("writer", scopes=["admin"], store=arena).token
    with ExitStack() as stack:
        logs = [tmp_path / f"{number}.log" for number in range(SERVERS)]
        addresses = [stack.enter_context(server(store_address, log)) for log in logs]
        yield [sy.connect(address, token=token) for address in addresses]


def record(number: int) -> dict[str, Any]:
    return {
        "id": f"s{number}",
        "task_id": "task",
        "total_tokens": 10 + number * 7 % 50,
        "tool_calls": 1,
        "agent": "ant",
    }


def test_servers_over_one_store_agree(arena: sy.Arena, clients: list[RemoteArena]) -> None:
    outcomes: list[Any] = []

    def write(client: RemoteArena) -> None:
        for start in range(0, EACH, 6):
            outcomes.extend(client.submit([record(number) for number in range(start, start + 6)]))

    threads = [threading.Thread(target=write, args=[clients[number % SERVERS]]) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(outcome, Receipt) for outcome in outcomes), [
        outcome for outcome in outcomes if not isinstance(outcome, Receipt)
    ][:3]
    statuses = [outcome.status for outcome in outcomes]
    assert (statuses.count("accepted"), statuses.count("known")) == (EACH, (WRITERS - 1) * EACH)
    local = arena.task_leaderboard("task")
    assert local.n == EACH
    _until_all_say(clients, lambda client: client.task_leaderboard("task"), local)
    _go_through(clients, arena)
    assert clients[0].show("s3") == clients[1].show("s3") == arena.show("s3")

    clients[1].review_exclude("s3", reason="odd")
    _until_all_say(clients, lambda client: client.review_log(), arena.review_log())
    _until_all_say(clients, lambda client: client.task_leaderboard("task").n, EACH - 1)
    assert clients[0].review_reinstate("s3").changed
    _until_all_say(clients, lambda client: client.task_leaderboard("task").n, EACH)

    sy.revoke_token("writer", store=arena)
    for client in clients:
        with pytest.raises(AuthenticationError, match="was revoked"):
            client.submit([record(999)])


def _until_all_say(clients: list[RemoteArena], ask: Any, expected: object) -> None:
    """A server shows what another wrote after the rest it takes between builds, not at once."""
    end = time.monotonic() + 20
    answers = [ask(client) for client in clients]
    while answers != [expected] * len(clients) and time.monotonic() < end:
        time.sleep(0.1)
        answers = [ask(client) for client in clients]
    assert answers == [expected] * len(clients)


def _go_through(clients: list[RemoteArena], arena: sy.Arena) -> None:
    """Behind a proxy the next page may be asked of another process: the cursor holds there too."""
    expected = [place.submission_id for place in arena.task_leaderboard("task").leaderboard]
    transports = [client._server for client in clients]
    end = time.monotonic() + 20
    rows = _rows(transports)
    while rows is None and time.monotonic() < end:  # a list that was built while somebody wrote is its server's own
        time.sleep(0.1)
        rows = _rows(transports)
    assert rows == expected


def _rows(transports: list[Any]) -> list[str] | None:
    """Every row, each page asked of the next server; None where one does not have the list."""
    rows: list[str] = []
    after: str | None = None
    for page in range(EACH // 10):
        try:
            told = transports[page % SERVERS].get("/tasks/task/leaderboard", {"limit": 10, "after": after})
        except RequestError as refused:
            if refused.http_status != 410:
                raise
            return None
        rows += [row["submission_id"] for row in told["items"]]
        after = told["next"]
    assert after is None
    return rows
