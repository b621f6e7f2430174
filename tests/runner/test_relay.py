"""The relay lets a command reach the metering proxy, and is otherwise not there."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from agents.model_server import Script
from runner.metered import TOKEN, Metered, metered
from steelyard.runner import _relay

ASK = """
import http.client, json, sys
from concurrent.futures import ThreadPoolExecutor

def ask(number):
    agent = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=20)
    body = json.dumps({"model": "m", "messages": [], "padding": "x" * 3_000_000 if number == 0 else ""})
    agent.request("POST", "/v1/messages", body, {"x-api-key": sys.argv[2]})
    answer = agent.getresponse()
    answer.read()  # to its end, when the metering proxy has counted it
    return answer.status

with ThreadPoolExecutor(8) as agents:
    print(sum(status == 200 for status in agents.map(ask, range(16))))
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def relayed(proxy: Metered, port: int, command: Sequence[str]) -> list[str]:
    return [sys.executable, "-I", "-S", str(_relay.__file__), str(proxy.admission.socket), str(port), "--", *command]


def test_a_command_reaches_the_endpoint_over_many_connections(tmp_path: Path) -> None:
    port = free_port()
    with metered(tmp_path, Script(has_many_calls=True)) as proxy:
        command = relayed(proxy, port, [sys.executable, "-c", ASK, str(port), TOKEN])
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
        assert (done.stdout, done.stderr, done.returncode) == (b"16\n", b"", 0)
        assert len(proxy.count().calls) == len(proxy.server.calls) == 16


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -9 $$"], 128 + 9),
        (["sh", "-c", "kill -PIPE $$; exit 3"], 128 + 13),  # not ignored, as it is in Python
        (["no-such-command"], 127),
    ],
)
def test_the_status_is_the_commands_own(command: list[str], status: int, tmp_path: Path) -> None:
    with metered(tmp_path) as proxy:
        done = subprocess.run(relayed(proxy, free_port(), command), capture_output=True, timeout=30, check=False)
    assert done.returncode == status
    if status == 127:
        assert done.stderr == b"no-such-command: No such file or directory\n"


def test_a_command_that_is_told_to_end_may_end_in_its_own_way(tmp_path: Path) -> None:
    script = "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    with (
        metered(tmp_path) as proxy,
        subprocess.Popen(relayed(proxy, free_port(), ["sh", "-c", script]), stdout=subprocess.PIPE) as relay,
    ):
        assert relay.stdout is not None
        assert relay.stdout.readline() == b"ready\n"
        relay.send_signal(signal.SIGINT)  # for the whole group, which is not the relay's to pass on
        time.sleep(0.2)
        assert relay.poll() is None
        relay.send_signal(signal.SIGTERM)
        assert relay.stdout.readline() == b"bye\n"
        assert relay.wait(10) == 5


def test_a_meter_that_is_gone_closes_connections_and_not_the_command(tmp_path: Path) -> None:
    port = free_port()
    asks = (
        "import socket, sys, time\n"
        "sys.stdin.readline()\n"
        f"print(socket.create_connection(('127.0.0.1', {port})).recv(1))\n"
    )
    with metered(tmp_path) as proxy:
        command = relayed(proxy, port, [sys.executable, "-c", asks])
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as relay:
            proxy.admission.close()
            assert relay.communicate(b"go\n", timeout=20)[0] == b"b''\n"
            assert relay.returncode == 0
