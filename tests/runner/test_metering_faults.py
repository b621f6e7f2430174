"""An endpoint whose connection ends early: the agent's connection through proxy and relay ends in the same way."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import pytest

from agents.model_server import Fault, FaultKind, Script, model_server
from agents.test_model_server import body_of
from processes import until
from runner.metered import KEY, TOKEN, call_path, metered
from runner.test_relay import free_port, relayed

SILENT_SECONDS = 1.0
ENDS = {"reset": "reset", "close": "close", "hang": "silence", "bad_chunk": "close"}


def asked(port: int, token: str, *, streamed: bool) -> tuple[bytes, bytes, str]:
    """First line and body of the answer to a raw request, and how the connection ended."""
    body = json.dumps(body_of("messages", results=0, streamed=streamed)).encode()
    head = (
        f"POST {call_path('messages')} HTTP/1.1\r\nhost: m\r\nx-api-key: {token}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as agent:
        agent.sendall(head.encode() + body)
        agent.settimeout(SILENT_SECONDS)
        try:
            while piece := agent.recv(65_536):
                received += piece
            end = "close"
        except ConnectionResetError:
            end = "reset"
        except TimeoutError:
            end = "silence"
    answer, _, content = received.partition(b"\r\n\r\n")
    is_chunked = b"chunked" in answer.lower()
    return answer.split(b"\r\n")[0], without_chunks(content) if is_chunked else content, end


def without_chunks(content: bytes) -> bytes:
    """The data of all chunks, also of the last one that is not whole."""
    data = b""
    while content:
        size, _, content = content.partition(b"\r\n")
        length = int(size or b"0", 16)
        data, content = data + content[:length], content[length + 2 :]
    return data


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("is_early", [True, False])
@pytest.mark.parametrize("kind", ENDS)
def test_a_connection_ends_as_that_of_the_endpoint(
    kind: FaultKind, is_early: bool, streamed: bool, tmp_path: Path
) -> None:
    script = Script(faults={0: Fault(kind, is_early=is_early)})
    with model_server(script) as server:
        direct = asked(server.server_port, KEY, streamed=streamed)
    assert direct[2] == ENDS[kind]
    assert bool(direct[0]) is not is_early
    for is_relayed in (False, True):
        folder = tmp_path / str(is_relayed)
        folder.mkdir()
        with metered(folder, script) as proxy:
            port = int(proxy.admission.url_outside.rpartition(":")[2])
            relay = None
            if is_relayed:
                port = free_port()
                relay = subprocess.Popen(relayed(proxy, port, ["sleep", "60"]))
                until(lambda port=port: is_open(port))
            try:
                through = asked(port, TOKEN, streamed=streamed)
            finally:
                if relay is not None:
                    relay.terminate()
                    relay.wait()
            until(lambda proxy=proxy: proxy.admission.count().calls[0].ended is not None)
            (call,) = proxy.count().calls
        assert through == direct
        assert call.is_lower_bound
        assert call.was_aborted is (kind == "hang")  # by this client, which waits no longer
        assert call.error is not None


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
