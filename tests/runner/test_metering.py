"""The metering proxy passes on and back what it was given, counts it, keeps the key, and stops where a limit is."""

from __future__ import annotations

import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from agents.model_server import Api, Script, model_server
from agents.test_model_server import PATHS, body_of
from runner.metered import KEY, TOKEN, call_path, metered
from steelyard.errors import RecordError, UnknownNameError, UsageError
from steelyard.records import Usage
from steelyard.runner._metering_proxy import MeteringProxy
from steelyard.runner._metering_records import (
    CallLimits,
    EndpointPriceTable,
    MeteredCalls,
    ResolvedEndpoint,
    read_call_log,
)
from steelyard.runner._plan_records import EndpointPrice
from steelyard.runner._upstream import address_of

CARRIED: dict[Api, dict[str, str]] = {
    "chat": {"Authorization": f"Bearer {TOKEN}"},
    "responses": {"Authorization": f"bearer {TOKEN}"},
    "messages": {"x-api-key": TOKEN},
    "gemini": {"x-goog-api-key": TOKEN},
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("api", PATHS)
def test_the_bytes_are_those_that_the_server_sent_and_the_count_is_its_count(
    api: Api, streamed: bool, tmp_path: Path
) -> None:
    for number, script in enumerate(
        (Script(), Script(is_chunked=True), Script(is_chunked=True, piece_bytes=1), Script(piece_bytes=7))
    ):
        (tmp_path / str(number)).mkdir()
        with metered(tmp_path / str(number), script, api=api) as proxy:
            answers = [proxy.ask(streamed=streamed, headers=CARRIED[api]) for _ in range(2)]
            calls = proxy.count().calls
            assert [answer.body for answer in answers] == proxy.server.sent
            assert [answer.status for answer in answers] == [200, 200]
            assert answers[0].headers["content-type"] == ("text/event-stream" if streamed else "application/json")
            assert [sum((call.usage and call.usage.total) or 0 for call in calls)] == [
                sum(sum(served.usage.values()) for served in proxy.server.calls)
            ]
            assert [(call.number, call.status, call.model_asked, call.model_answered) for call in calls] == [
                (1, 200, "m", "m"),
                (2, 200, "m", "m"),
            ]
            assert [(call.is_streamed, call.is_lower_bound, call.error) for call in calls] == [
                (streamed, False, None)
            ] * 2
            assert all(
                call.ended and call.first_byte and call.started <= call.first_byte <= call.ended for call in calls
            )


def test_what_was_really_sent_is_kept(tmp_path: Path) -> None:
    with metered(tmp_path, api="chat") as proxy:
        proxy.ask({**body_of("chat", results=0), "temperature": 0.5, "seed": 7})
        proxy.ask({**body_of("chat", results=0), "temperature": "hot", "seed": 1 << 70})
        first, second = proxy.count().calls
    assert (first.temperature, first.seed, second.temperature, second.seed) == (0.5, 7, None, None)
    (tmp_path / "g").mkdir()
    with metered(tmp_path / "g", api="gemini") as proxy:
        proxy.ask({**body_of("gemini", results=0), "generationConfig": {"temperature": 1, "seed": 3}})
        assert [(call.temperature, call.seed) for call in proxy.count().calls] == [(1.0, 3)]


def test_a_chat_stream_is_asked_for_its_usage_and_the_agent_sees_nothing_of_it(tmp_path: Path) -> None:
    quiet = {**body_of("chat", results=0, streamed=True), "stream_options": {"other": 1.50}}
    with metered(tmp_path, api="chat") as proxy:
        answer = proxy.ask(quiet)
        (call,) = proxy.count().calls
        (sent,) = proxy.server.sent
    assert call.usage == Usage(
        input_tokens=12_001, output_tokens=2_401, cache_read_tokens=6_501, reasoning_tokens=1_201
    )
    assert b'"choices": []' in sent
    events = sent.split(b"\n\n")
    assert answer.body == b"\n\n".join(event for event in events if b'"choices": []' not in event)
    assert answer.body.endswith(b"data: [DONE]\n\n")


def test_a_line_is_there_before_a_call_is_passed_on(tmp_path: Path) -> None:
    seen: list[MeteredCalls] = []
    with metered(tmp_path) as proxy:
        proxy.server.on_call = lambda: seen.append(read_call_log(proxy.log))
        proxy.ask()
    (at_arrival,) = seen
    assert [(call.number, call.ended, call.usage, call.is_lower_bound) for call in at_arrival.calls] == [
        (1, None, None, True)
    ]


def test_a_file_that_breaks_off_anywhere_never_counts_too_much_and_says_what_is_missing(tmp_path: Path) -> None:
    with metered(tmp_path) as proxy:
        for _ in range(2):
            proxy.ask()
        proxy.admission.reject("time_limit")
        whole = proxy.count()
    text = (tmp_path / "metering.jsonl").read_bytes()
    cut = tmp_path / "cut.jsonl"
    ends = [place + 1 for place, byte in enumerate(text) if byte == 10]
    for size in range(0, len(text), 7):
        cut.write_bytes(text[:size])
        count = read_call_log(cut)
        lines = sum(end <= size for end in ends)  # started, ended, started, ended, rejected
        assert len(count.calls) == (lines + 1) // 2 if lines < 4 else 2
        assert count.is_lower_bound == (lines in (1, 3))
        assert count.rejection is None
        for part, all_of_it in zip(count.calls, whole.calls, strict=False):
            assert part.usage in (None, all_of_it.usage)
    cut.write_bytes(b"no line\n" + text)
    with pytest.raises(RecordError, match=r"cut\.jsonl:1: invalid metering record"):
        read_call_log(cut)
    assert read_call_log(tmp_path / "nothing.jsonl") == MeteredCalls()


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500, 503, 529])
def test_a_refusal_of_the_endpoint_is_passed_back_and_costs_nothing(status: int, tmp_path: Path) -> None:
    with metered(tmp_path, Script(statuses=(status,), retry_after="0")) as proxy:
        refused, answered = proxy.ask(), proxy.ask()
        first, second = proxy.count().calls
        assert refused.body == proxy.server.sent[0]
    assert (refused.status, refused.headers["retry-after"], answered.status) == (status, "0", 200)
    assert (first.status, first.usage, first.is_lower_bound, first.is_successful) == (status, None, False, False)
    assert (second.status, second.is_successful) == (200, True)
    assert (first.error_code, second.error_code) == (f"scripted {status}", None)


@pytest.mark.parametrize("api", PATHS)
def test_the_key_reaches_the_endpoint_and_nothing_else(api: Api, tmp_path: Path) -> None:
    with metered(tmp_path, Script(statuses=(401,), echoes_key=True), api=api) as proxy:
        told, well = proxy.ask(headers=CARRIED[api]), proxy.ask(headers=CARRIED[api], streamed=True)
        assert all(KEY in call.key and TOKEN not in call.key for call in proxy.server.calls)
        shown = [told.body, str(told.headers).encode(), well.body, proxy.log.read_bytes()]
        shown.append(repr((proxy.admission.count(), vars(proxy.admission))).encode())
        assert len(told.body) == len(proxy.server.sent[0])  # covered byte for byte
    assert KEY.encode() in proxy.server.sent[0]
    assert all(KEY.encode() not in text for text in shown)
    for path in tmp_path.rglob("*"):
        assert KEY.encode() not in path.read_bytes(), path


def test_a_token_of_nobody_or_of_somebody_else_is_refused(tmp_path: Path) -> None:
    with metered(tmp_path, api="gemini") as proxy:
        strangers: list[dict[str, str]] = [
            {},
            {"x-api-key": "other"},
            {"x-api-key": KEY},
            {"x-api-key": TOKEN, "Authorization": "Bearer x"},
            {"x-api-key": ""},
        ]
        assert [proxy.ask(headers=given).status for given in strangers] == [401] * 5
        assert proxy.ask(headers={}, path=f"{PATHS['gemini']}?key=other").status == 401
        assert proxy.server.calls == []
        assert proxy.ask(headers={}, path=f"{PATHS['gemini']}?alt=sse&key={TOKEN}").status == 200
        assert [call.key for call in proxy.server.calls] == [KEY]
        assert len(proxy.count().calls) == 1


def test_an_endpoint_without_a_key_is_asked_without_one(tmp_path: Path) -> None:
    with metered(tmp_path, key=None) as proxy:
        assert proxy.ask().status == 200
        assert [call.key for call in proxy.server.calls] == [""]


def test_only_paths_of_the_api_reach_the_endpoint(tmp_path: Path) -> None:
    arrived: list[str] = []
    with metered(tmp_path, api="chat") as proxy:
        proxy.server.on_call = lambda: arrived.append("call")
        for method, path in [
            ("GET", "/v1/files"),
            ("POST", "/v1/files"),
            ("DELETE", "/v1/models/m"),
            ("PUT", "/v1/chat/completions"),
            ("GET", "/v1/chat/completions"),
            ("POST", "/v1/messages"),
            ("POST", "/v1/chat/completions/../files"),
            ("GET", "/v1/models/../files"),
            ("GET", "/v1/models/..%2ffiles"),
            ("POST", "/v2/chat/completions"),
            ("GET", "http://127.0.0.1:1/v1/models"),
            ("CONNECT", "127.0.0.1:1"),
        ]:
            assert proxy.ask(b"{}", method=method, path=path).status == 404, path
        assert (arrived, proxy.count().calls) == ([], ())
        assert proxy.ask(b"", method="GET", path="/v1/models").status == 200
        assert proxy.count().calls == ()  # a question that costs nothing is no call
        assert proxy.ask(path="/chat/completions").status == 200
        assert [call.path for call in proxy.count().calls] == ["/chat/completions"]


@pytest.mark.parametrize("status", [200, 429])
def test_limits_of_an_endpoint_hold_for_all_tries_together(status: int, tmp_path: Path) -> None:
    open_now, most = 0, 0
    lock = threading.Lock()

    def arrive() -> None:
        nonlocal open_now, most
        with lock:
            open_now += 1
            most = max(most, open_now)
        time.sleep(0.05)
        with lock:
            open_now -= 1

    with model_server(Script(status=status)) as server:
        server.on_call = arrive
        endpoint = ResolvedEndpoint("e", "messages", server.url, None, parallel=2)
        with MeteringProxy({"e": endpoint}) as proxy, ThreadPoolExecutor(6) as agents:
            executions = []
            for name in ("a", "b", "c"):
                (tmp_path / name).mkdir()
                executions.append(proxy.admit(name, "e", log=tmp_path / name / "log", socket_folder=tmp_path / name))
            statuses = list(agents.map(lambda n: ask(executions[n % 3].url_outside, "abc"[n % 3]), range(9)))
            waited = [call.waited_seconds for each in executions for call in each.count().calls]
    assert statuses == [status] * 9
    assert most == 2
    assert max(waited) > 0.1  # nine calls, two at a time, 0.05 s each: the last waits for four before it


def ask(url: str, token: str) -> int:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
    try:
        connection.request("POST", PATHS["messages"], json.dumps(body_of("messages", results=0)), {"x-api-key": token})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def test_calls_a_minute_are_spread_over_the_minute(tmp_path: Path) -> None:
    with metered(tmp_path, requests_per_minute=600) as proxy:
        for _ in range(4):
            proxy.ask()
        starts = [call.started for call in proxy.count().calls]
    assert all((after - before).total_seconds() >= 0.095 for before, after in pairwise(starts))


def test_an_endpoint_that_asks_for_a_pause_gets_it(tmp_path: Path) -> None:
    with metered(tmp_path, Script(statuses=(429,), retry_after="1")) as proxy:
        proxy.ask()
        assert proxy.ask().status == 200
        assert proxy.count().calls[1].waited_seconds > 0.8


def test_a_budget_of_tokens_stops_in_mid_run(tmp_path: Path) -> None:
    # a call of these messages has about 24,000 tokens: the second reaches 40,000, the third is refused
    with metered(tmp_path, limits=CallLimits(tokens=40_000)) as proxy:
        answers = [proxy.ask() for _ in range(4)]
        count = proxy.count()
        assert proxy.admission.rejection == "trial_tokens"
        assert len(proxy.server.calls) == len(count.calls) == 2
    assert [answer.status for answer in answers] == [200, 200, 400, 400]
    assert "the token budget of this trial is used up" in answers[2].message
    assert answers[2].headers["x-should-retry"] == "false"
    assert count.rejection == "trial_tokens"


def test_a_budget_that_is_used_up_to_the_token_is_used_up(tmp_path: Path) -> None:
    with metered(tmp_path) as proxy:
        proxy.ask()
        (call,) = proxy.count().calls
        assert call.usage is not None
        total = call.usage.total
    (tmp_path / "again").mkdir()
    with metered(tmp_path / "again", limits=CallLimits(tokens=total)) as proxy:
        assert [proxy.ask().status for _ in range(2)] == [200, 400]


def test_a_budget_of_dollars_stops_in_mid_run(tmp_path: Path) -> None:
    # $1 a million for input of all kinds, $10 for output: 0.021503 + 0.024010, so the second call passes $0.06
    price_table = EndpointPriceTable("model", EndpointPrice(input_usd=1, output_usd=10))
    with metered(tmp_path, limits=CallLimits(usd=0.06), price_table=price_table) as proxy:
        assert [proxy.ask().status for _ in range(3)] == [200, 200, 400]
        assert proxy.count().rejection == "trial_usd"


def test_an_endpoints_price_holds_for_every_model_and_kind() -> None:
    price = EndpointPrice(input_usd=1, output_usd=10, cache_read_usd=0.1)
    usage = Usage(
        input_tokens=100, output_tokens=10, reasoning_tokens=1, cache_read_tokens=1_000, cache_write_1h_tokens=50
    )
    # 100 + 50 of input at 1, 11 of output at 10, 1,000 cached at 0.1
    assert EndpointPriceTable("e", price).price(usage, model="any", at=None) == pytest.approx(360e-6)


def test_a_budget_that_cannot_be_kept_stops_too(tmp_path: Path) -> None:
    (tmp_path / "usd").mkdir()
    with metered(tmp_path / "usd", limits=CallLimits(usd=1)) as proxy:  # no price is known
        assert [proxy.ask().status for _ in range(2)] == [200, 400]
        assert proxy.count().rejection == "price_unknown"
    with metered(tmp_path, limits=CallLimits(tokens=10**9), api="chat") as proxy:
        body = b'{"model": "m", "messages": []}'
        assert proxy.ask(body, path="/v1/chat/completions").status == 200
        proxy.server.script = Script(cut_after=3)  # an answer that breaks off might have told
        with pytest.raises(http.client.IncompleteRead):
            proxy.ask()
        assert proxy.count().rejection is None
        assert proxy.count().is_lower_bound


def test_refusing_lets_open_calls_end(tmp_path: Path) -> None:
    with metered(tmp_path, Script(delay_seconds=0.3)) as proxy, ThreadPoolExecutor(1) as agent:
        under_way = agent.submit(proxy.ask)
        while not proxy.server.calls:
            time.sleep(0.01)
        proxy.admission.reject("time_limit")
        proxy.admission.reject("cancelled")  # the first reason stays
        assert "time limit" in proxy.ask().message
        assert under_way.result().status == 200
        assert (proxy.count().rejection, len(proxy.count().calls)) == ("time_limit", 1)


def test_an_endpoint_that_hangs_is_given_up_and_may_have_used_something(tmp_path: Path) -> None:
    with metered(tmp_path, Script(hangs_from=0), patience_seconds=0.2) as proxy:
        answer = proxy.ask()
        (call,) = proxy.count().calls
    assert (answer.status, call.status, call.is_lower_bound, call.was_aborted) == (504, None, True, False)
    assert call.error == "timeout while waiting for the endpoint"


def test_an_endpoint_that_is_not_there_has_used_nothing(tmp_path: Path) -> None:
    with metered(tmp_path, url="http://127.0.0.1:9") as proxy:
        answer = proxy.ask()
        (call,) = proxy.count().calls
    assert (answer.status, call.status, call.is_lower_bound) == (502, None, False)
    assert call.error == "the endpoint cannot be reached: Connection refused"


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_that_breaks_off_breaks_off_for_the_agent(streamed: bool, is_chunked: bool, tmp_path: Path) -> None:
    with metered(tmp_path, Script(cut_after=470, is_chunked=is_chunked)) as proxy:
        if streamed and not is_chunked:  # ended by the end of the connection: nobody can tell
            assert proxy.ask(streamed=True).body == proxy.server.sent[0]
        else:
            with pytest.raises(http.client.IncompleteRead):
                proxy.ask(streamed=streamed)
        (call,) = proxy.count().calls
    assert (call.status, call.is_lower_bound) == (200, True)
    assert call.error == (
        "the endpoint ended the stream without its last event"
        if streamed and not is_chunked
        else "the connection to the endpoint was lost: connection closed by the endpoint"
    )
    assert (call.usage is not None) == streamed  # the beginning of a message tells its input


def test_an_agent_that_leaves_ends_its_call(tmp_path: Path) -> None:
    with metered(tmp_path, Script(hangs_from=0)) as proxy:
        connection = http.client.HTTPConnection(proxy.admission.url_outside.removeprefix("http://"))
        connection.request("POST", PATHS["messages"], json.dumps(body_of("messages", results=0)), {"x-api-key": TOKEN})
        while not proxy.server.calls:
            time.sleep(0.01)
        connection.close()
        deadline = time.monotonic() + 10
        while proxy.admission.count().calls[0].ended is None and time.monotonic() < deadline:
            time.sleep(0.02)
        (call,) = proxy.count().calls
    assert (call.error, call.is_lower_bound) == ("the agent disconnected before the end of the response", True)
    assert call.was_aborted


def test_closing_cuts_what_is_open_and_gives_the_whole_count(tmp_path: Path) -> None:
    with metered(tmp_path, Script(hangs_from=1)) as proxy, ThreadPoolExecutor(1) as agent:
        proxy.ask()
        under_way = agent.submit(proxy.ask)
        while len(proxy.server.calls) < 2:
            time.sleep(0.01)
        count = proxy.admission.close()
        assert isinstance(under_way.exception(), (ConnectionError, http.client.HTTPException))
        assert proxy.admission.close() == count == read_call_log(proxy.log)
        assert not proxy.admission.socket.exists()
        proxy.admission.reject("late")
    assert [(call.status, call.is_lower_bound) for call in count.calls] == [(200, False), (None, True)]
    assert count.calls[1].error == "the execution ended before the response"
    assert [call.was_aborted for call in count.calls] == [False, True]


def test_an_unknown_endpoint_and_an_address_that_is_none_are_told(tmp_path: Path) -> None:
    with (
        metered(tmp_path) as proxy,
        pytest.raises(UnknownNameError, match=r"'modle' .did you mean 'model'"),
    ):
        proxy.admission._proxy.admit("t", "modle", log=tmp_path / "x", socket_folder=tmp_path)
    for url in ("ftp://h", "h:80", "http://", "http://u:p@h/", "http://h/?key=1", "http://h:x/", "http://h/a b", ""):
        with pytest.raises(UsageError, match=r"endpoint e: (invalid endpoint URL|the URL has an invalid path).*"):
            address_of(ResolvedEndpoint("e", "chat", url))
    assert address_of(ResolvedEndpoint("e", "chat", "https://[::1]:8443/v1/")).authority == "[::1]:8443"


def test_a_socket_may_lie_as_deep_as_folders_go(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    with metered(deep) as proxy:
        assert proxy.admission.socket.is_socket()
        assert proxy.ask().status == 200


def test_a_connection_serves_one_request_after_another(tmp_path: Path) -> None:
    with metered(tmp_path, Script(is_chunked=True)) as proxy:
        connection = http.client.HTTPConnection(proxy.admission.url_outside.removeprefix("http://"), timeout=20)
        for number in range(4):
            body = json.dumps(body_of("messages", results=0, streamed=number % 2 == 1))
            connection.request("POST", call_path("messages"), body, {"x-api-key": TOKEN})
            assert connection.getresponse().read() == proxy.server.sent[number]
        connection.close()
