"""Requests and responses that a plan keeps: whole, redacted, bounded, and readable after a crash."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agents.model_server import Api, Script, model_server
from agents.test_model_server import PATHS, body_of
from runner.execution import needs_bubblewrap
from runner.metered import KEY, TOKEN, metered
from runner.planned import started, written_plan
from steelyard.runner import _call_transcript
from steelyard.runner._call_transcript import TRANSCRIPT, KeptCall

SECRET = "sk-proj-0123456789abcdefghijklmnop"  # noqa: S105 # of these tests


def kept(path: Path) -> list[KeptCall]:
    return [msgspec.json.decode(line, type=KeptCall) for line in gzip.decompress(path.read_bytes()).splitlines()]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("api", PATHS)
def test_requests_and_responses_are_kept(api: Api, streamed: bool, tmp_path: Path) -> None:
    path = tmp_path / TRANSCRIPT
    with metered(tmp_path, Script(statuses=(200, 429)), api=api, transcript=path) as proxy:
        answers = [proxy.ask(streamed=streamed) for _ in range(2)]
        proxy.admission.close()
        metered_calls = proxy.count().calls
    found = kept(path)
    assert [(call.number, call.status) for call in found] == [(1, 200), (2, 429)]
    assert [(call.path, call.started, call.ended) for call in found] == [
        (call.path, call.started, call.ended) for call in metered_calls
    ]
    assert [call.response for call in found] == [answer.body.decode() for answer in answers]
    asked = json.loads(found[0].request or "")
    assert {**asked, "stream_options": None} == {**body_of(api, results=0, streamed=streamed), "stream_options": None}
    assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_is_kept_unless_asked_for(tmp_path: Path) -> None:
    with metered(tmp_path) as proxy:
        proxy.ask()
    assert not (tmp_path / TRANSCRIPT).exists()


def test_keys_and_secrets_are_not_kept(tmp_path: Path) -> None:
    body: dict[str, Any] = body_of("messages", results=0)
    body["system"] = f'export OPENAI_API_KEY="{SECRET}"\npassword = hunter2-hunter2'
    path = tmp_path / TRANSCRIPT
    with metered(tmp_path, Script(statuses=(401,), echoes_key=True), transcript=path) as proxy:
        proxy.ask(body)
    (call,) = kept(path)
    text = gzip.decompress(path.read_bytes()).decode()
    for secret in (SECRET, "hunter2", KEY, TOKEN):
        assert secret not in text
    assert json.loads(call.request or "")["system"].startswith('export OPENAI_API_KEY="[')
    assert "*" * len(KEY) in (call.response or "")


def test_an_interrupted_response_is_kept_as_far_as_it_came(tmp_path: Path) -> None:
    path = tmp_path / TRANSCRIPT
    with metered(tmp_path, Script(cut_after=470), transcript=path) as proxy:
        answer = proxy.ask(streamed=True)
    (call,) = kept(path)
    assert (call.response, call.status) == (answer.body.decode(), 200)


def test_long_bodies_are_truncated_and_many_are_omitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_call_transcript, "MAX_KEPT_BODY_BYTES", 100)
    monkeypatch.setattr(_call_transcript, "MAX_TRANSCRIPT_BYTES", 1)
    path = tmp_path / TRANSCRIPT
    with metered(tmp_path, transcript=path) as proxy:
        for _ in range(2):
            proxy.ask()
    first, second = kept(path)
    assert (len(first.request or ""), len(first.response or ""), first.is_truncated) == (100, 100, True)
    assert (second.request, second.response, second.is_omitted) == (None, None, True)


def test_calls_that_cannot_be_written_in_time_are_omitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_call_transcript, "MAX_WAITING_BYTES", 1)
    path = tmp_path / TRANSCRIPT
    with metered(tmp_path, transcript=path) as proxy:
        proxy.ask()
    assert [(call.number, call.request, call.is_omitted) for call in kept(path)] == [(1, None, True)]


def test_a_file_cut_anywhere_has_all_earlier_calls(tmp_path: Path) -> None:
    path = tmp_path / TRANSCRIPT
    with metered(tmp_path, transcript=path) as proxy:
        for _ in range(3):
            proxy.ask()
    whole = path.read_bytes()
    numbers = set()
    for size in range(0, len(whole), 11):
        rest, calls = whole[:size], 0
        while rest:
            part = zlib.decompressobj(wbits=31)
            part.decompress(rest)
            calls += part.eof
            rest = part.unused_data
        numbers.add(calls)
    assert numbers == {0, 1, 2}


@needs_bubblewrap
def test_a_plan_keeps_transcripts_of_further_trials(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with model_server() as server:
        for trials, settings in ((1, {}), (2, {"keep": "transcript"})):
            plan = written_plan(tmp_path, server.url, trials=trials, marker="1", **settings)
            with started(plan, out) as process:
                process.communicate()
            assert process.returncode == 0
        served = len(server.calls)
    files = list(out.glob(f"trials/*/retry-0/{TRANSCRIPT}"))
    assert len(list(out.glob("trials/*/retry-0/metering.jsonl"))) == 2
    (path,) = files
    calls = kept(path)
    assert 2 * len(calls) == served
    assert all(call.request and call.response for call in calls)
