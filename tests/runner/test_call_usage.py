"""The usage of an answer does not depend on how its bytes are cut, and one that breaks off never passes for whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from agents.answers import Answer
from agents.model_server import ANSWERS, Api, stream_event, usage_of
from agents.test_model_server import PATHS
from steelyard.records import Usage
from steelyard.runner._model_apis import MAX_KEPT, EventSplitter, UsageChunkFilter, UsageReader, error_code_of

CASES: list[tuple[Api, bool]] = [(api, streamed) for api in PATHS for streamed in (False, True)]
EXPECTED = {"input": "input_tokens", "cache_read": "cache_read_tokens", "output": "output_tokens"}
EXPECTED |= {"cache_write": "cache_write_5m_tokens", "reasoning": "reasoning_tokens"}


@cache
def answer(api: Api, streamed: bool, *, asked: bool = True) -> bytes:
    """The scripted answer as bytes."""
    options = {"stream_options": {"include_usage": asked}}
    told = ANSWERS[api](Answer("k", "m-1", usage_of(api, 1), "naïve ✓ usage\n\n", "bash", None, streamed), options)
    if isinstance(told, dict):
        return json.dumps(told).encode()
    assert isinstance(told, Sequence)
    return b"".join(stream_event(event, named=api in ("responses", "messages")) for event in told)


def stated(api: Api) -> Usage:
    kinds = {EXPECTED[kind]: count for kind, count in usage_of(api, 1).items()}
    return Usage(**kinds, **({"cache_write_1h_tokens": 0} if api == "messages" else {}))


def read(api: Api, pieces: Sequence[bytes]) -> UsageReader:
    reader = UsageReader(api)
    for piece in pieces:
        reader.feed(piece)
    reader.end()
    return reader


@pytest.mark.parametrize(("api", "streamed"), CASES)
def test_two_pieces_cut_anywhere_state_the_same(api: Api, streamed: bool) -> None:
    whole = answer(api, streamed)
    for cut in range(len(whole) + 1):
        reader = read(api, [whole[:cut], whole[cut:]])
        assert (reader.usage, reader.is_final, reader.model) == (stated(api), True, "m-1"), cut


@pytest.mark.parametrize(("api", "streamed"), CASES)
@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(0, 3_000), max_size=40), line_end=st.sampled_from([b"\n", b"\r\n"]))
def test_any_pieces_state_the_same(api: Api, streamed: bool, cuts: list[int], line_end: bytes) -> None:
    whole = answer(api, streamed).replace(b"\n", line_end)
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    reader = read(api, [whole[start:end] for start, end in pairwise(places)])
    assert (reader.usage, reader.is_final) == (stated(api), True)
    assert read(api, [bytes([byte]) for byte in whole]).usage == stated(api)


@pytest.mark.parametrize(("api", "streamed"), CASES)
def test_an_answer_that_breaks_off_is_final_only_with_all_its_usage(api: Api, streamed: bool) -> None:
    whole = answer(api, streamed)
    finals = 0
    for end in range(len(whole)):
        reader = read(api, [whole[:end]])
        finals += reader.is_final
        assert not reader.is_final or reader.usage == stated(api), end
    assert (finals > 0) == streamed  # after its last event but one; a whole answer is never final before its end


def test_a_message_that_breaks_off_states_its_input_as_a_lower_bound() -> None:
    start = answer("messages", streamed=True).split(b"\n\n")[0] + b"\n\n"
    reader = read("messages", [start])
    assert reader.usage is not None
    assert (reader.usage.input_tokens, reader.usage.output_tokens, reader.is_final) == (12_002, 1, False)


def test_gemini_streams_a_list_where_no_events_are_asked_for() -> None:
    part = json.loads(answer("gemini", streamed=False))
    first = {**part, "usageMetadata": {"promptTokenCount": 18_504}, "candidates": [{"content": {}}]}
    assert read("gemini", [json.dumps([first, part]).encode()]).usage == stated("gemini")


@pytest.mark.parametrize(
    ("kind", "usage", "expected"),
    [
        # reasoning beside the answer: 32 + 9 + 94 = 135
        (
            "chat",
            {
                "prompt_tokens": 32,
                "completion_tokens": 9,
                "total_tokens": 135,
                "completion_tokens_details": {"reasoning_tokens": 94},
            },
            Usage(input_tokens=32, output_tokens=9, reasoning_tokens=94),
        ),
        (
            "chat",
            {"prompt_tokens": 50, "completion_tokens": 3, "prompt_cache_hit_tokens": 40},
            Usage(input_tokens=10, output_tokens=3, cache_read_tokens=40),
        ),
        (
            "chat",
            {"prompt_tokens": 50, "completion_tokens": 3, "prompt_tokens_details": {"cache_write_tokens": 20}},
            Usage(input_tokens=30, output_tokens=3, cache_write_5m_tokens=20),
        ),
        ("chat", {"total_cost": 3}, None),
        ("chat", {"prompt_tokens": -1}, None),
    ],
)
def test_dialects_of_usage_are_told_apart(kind: Api, usage: dict[str, object], expected: Usage | None) -> None:
    assert read(kind, [json.dumps({"model": "m", "usage": usage}).encode()]).usage == expected


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"   ",
        b"<html>no</html>",
        b"{",
        b"[1, 2]",
        b"data: {\n\n",
        b"data: [DONE]\n\n",
        b"[" * 100_000,
        b'{"usage": 3}',
    ],
)
@pytest.mark.parametrize("api", PATHS)
def test_what_is_no_answer_states_nothing(api: Api, text: bytes) -> None:
    reader = read(api, [text])
    assert (reader.usage, reader.is_final) == (None, False)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b'{"type": "error", "error": {"type": "overloaded_error", "message": "x"}}', "overloaded_error"),
        (b'{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}', "429 RESOURCE_EXHAUSTED"),
        (b'{"error": {"type": "a\\u001b[2J' + b"y" * 500 + b'"}}', "a[2J" + "y" * 96),
        (b'{"error": "words"}', None),
        (b'{"detail": 1}', None),
        (b"<html>", None),
        (b"[" * 9_999, None),
    ],
)
def test_a_refusal_is_known_by_the_endpoints_own_name_for_it(body: bytes, name: str | None) -> None:
    assert error_code_of(body) == name


def test_usage_along_the_way_is_not_that_of_all() -> None:
    chunk = {"model": "m", "choices": [{"delta": {}}], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}
    event = stream_event(chunk, named=False)
    assert read("chat", [event]).is_final is False
    last = {
        **chunk,
        "choices": [{"delta": {}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 9},
    }
    reader = read("chat", [event, stream_event(last, named=False)])
    assert (reader.usage, reader.is_final) == (Usage(input_tokens=5, output_tokens=9), True)


def test_the_chunk_with_usage_goes_out_again_whole_wherever_the_stream_is_cut() -> None:
    seen, wanted = answer("chat", streamed=True), answer("chat", streamed=True, asked=False)
    assert len(seen) > len(wanted)
    for cut in range(len(seen) + 1):
        chosen = UsageChunkFilter()
        assert chosen.feed(seen[:cut]) + chosen.feed(seen[cut:]) + chosen.end() == wanted, cut


def test_an_endless_event_takes_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_KEPT == 64 << 20
    monkeypatch.setattr("steelyard.runner._model_apis.MAX_KEPT", 1_000)
    events = EventSplitter()
    passed = b"".join(b"".join(events.feed(b"x" * 600)) for _ in range(10))
    assert len(passed) + len(events.rest()) == 6_000
    assert len(passed) >= 4_800
    reader = UsageReader("chat")
    for piece in (b'{"model": "', b"x" * 3_000, b'", "usage": {"prompt_tokens": 3}}'):
        reader.feed(piece)
    reader.end()
    assert reader.usage is None
