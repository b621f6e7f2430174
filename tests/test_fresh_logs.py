"""What fresh logs of agents taught: defects of reading them, each in a file of the shape that showed it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gathered import only
from steelyard.records import Finding, Run, Usage
from steelyard.sources import PlacedRun, gather

SAMPLES = Path(__file__).parent / "samples" / "formats"
SONNET = "claude-sonnet-4-5-20250929"


def read(*paths: Path) -> tuple[list[Run], list[Finding]]:
    items = list(gather(list(paths)))
    return [item.run for item in items if isinstance(item, PlacedRun)], [i for i in items if isinstance(i, Finding)]


def how(run: Run, name: str) -> str | None:
    return (run.provenance or {}).get(name)


def lines(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def claude_usage(**more: Any) -> dict[str, Any]:
    return {
        "input_tokens": 500,
        "cache_read_input_tokens": 800,
        "cache_creation_input_tokens": 200,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 60,
    } | more


def claude_line(number: int, **more: Any) -> dict[str, Any]:
    message = {"id": f"msg_{number}", "model": SONNET, "stop_reason": "end_turn", "usage": claude_usage()}
    at = f"2026-11-15T10:00:0{number}.000Z"
    around = {"uuid": f"u{number}", "parentUuid": None, "sessionId": "s-1", "cwd": "/work/a", "version": "2.1.197"}
    return {"type": "assistant", "timestamp": at, "message": message, **around} | more


def claude_result(calls: int = 2, **more: Any) -> dict[str, Any]:
    used = {kind: count * calls for kind, count in claude_usage().items() if isinstance(count, int)}
    of_model = {
        "inputTokens": 500 * calls,
        "outputTokens": 60 * calls,
        "cacheReadInputTokens": 800 * calls,
        "cacheCreationInputTokens": 200 * calls,
    }
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 9000,
        "num_turns": calls,
        "session_id": "s-1",
        "total_cost_usd": 0.00339 * calls,
        "usage": used | {"cache_creation": claude_usage()["cache_creation"]},
        "modelUsage": {SONNET: of_model},
    } | more


def claude_stream(path: Path, **result: Any) -> Path:
    """Two calls as Claude Code prints them: output counts are placeholders, and only what a tool gave has a time."""
    told = {"session_id": "s-1"}
    answers = [
        {"type": "assistant", "message": claude_line(number)["message"] | {"usage": claude_usage(output_tokens=1)}}
        for number in (1, 2)
    ]
    given_back = {"type": "user", "timestamp": "2026-11-15T10:00:05.000Z", "message": {"role": "user", "content": []}}
    opening = {"type": "system", "subtype": "init", "tools": ["Bash"], "model": SONNET}
    events = [opening, answers[0], given_back, answers[1]]
    return lines(path, *(event | told for event in events), claude_result(**result))


class TestClaude:
    EXACT = Usage(
        input_tokens=1000,
        output_tokens=120,
        cache_read_tokens=1600,
        cache_write_5m_tokens=400,
        cache_write_1h_tokens=0,
    )

    def test_cache_writes_that_no_split_tells_of_are_five_minute_writes(self, tmp_path: Path) -> None:
        (tmp_path / "result.json").write_text(json.dumps(claude_result()), encoding="utf-8")
        session = lines(tmp_path / "session.jsonl", claude_line(1), claude_line(2))
        for path in (session, tmp_path / "result.json", claude_stream(tmp_path / "stream.jsonl")):
            (run,), findings = read(path)
            assert run.usage == self.EXACT, path.name
            (finding,) = [finding for finding in findings if finding.code == "token_contradiction"]
            assert "400 cache-write tokens" in finding.message

    def test_calls_stay_when_a_second_log_states_their_sum(self, tmp_path: Path) -> None:
        session = lines(tmp_path / "session.jsonl", claude_line(1), claude_line(2))
        run = only(session, claude_stream(tmp_path / "stream.jsonl"))
        assert [(call.id, call.summed) for call in run.calls or ()] == [("msg_1", False), ("msg_2", False)]
        assert run.usage == self.EXACT
        assert (run.cost_usd, how(run, "usage"), how(run, "cost_usd")) == (0.00678, "reported", "reported")

    def test_what_a_sum_has_beyond_the_calls_is_a_row_of_its_own(self, tmp_path: Path) -> None:
        session = lines(tmp_path / "session.jsonl", claude_line(1))
        run = only(session, claude_stream(tmp_path / "stream.jsonl"))
        # the stream shows msg_2 without its output: 60 tokens are left over
        assert [(call.id, call.summed) for call in run.calls or ()] == [
            ("msg_1", False),
            ("msg_2", False),
            (None, True),
        ]
        assert run.usage == self.EXACT
        helper = claude_result()["modelUsage"] | {"claude-haiku-4-5": {"inputTokens": 30, "outputTokens": 4}}
        run = only(session, claude_stream(tmp_path / "stream.jsonl", modelUsage=helper))
        assert (run.calls or ())[-2].model == "claude-haiku-4-5"
        assert (run.calls or ())[-2].usage == Usage(input_tokens=30, output_tokens=4)

    def test_a_sum_of_a_part_of_the_session_does_not_hide_the_other_calls(self, tmp_path: Path) -> None:
        session = lines(tmp_path / "session.jsonl", *(claude_line(number) for number in (1, 2, 3)))
        run = only(session, claude_stream(tmp_path / "stream.jsonl"))
        assert [call.id for call in run.calls or ()] == ["msg_1", "msg_2", "msg_3"]
        assert run.usage is not None
        assert run.usage.output_tokens == 180
        assert (run.cost_usd, how(run, "usage"), how(run, "cost_usd")) == (None, "counted", "unknown")

    def test_a_stream_states_how_long_it_took(self, tmp_path: Path) -> None:
        run = only(claude_stream(tmp_path / "stream.jsonl"))
        assert (run.duration_seconds, run.ended_at, len(run.calls or ())) == (9.0, None, 3)
        timed = only(claude_stream(tmp_path / "timed.jsonl", timestamp="2026-11-15T10:00:07.000Z"))
        assert timed.started_at is not None
        assert timed.started_at.isoformat() == "2026-11-15T09:59:58+00:00"  # the end, minus 9 s
        assert timed.elapsed_seconds == 9

    def test_a_killed_stream_names_its_model_before_the_first_answer(self, tmp_path: Path) -> None:
        opening = {"type": "system", "subtype": "init", "tools": [], "model": SONNET, "session_id": "s-1"}
        assert only(lines(tmp_path / "stream.jsonl", opening)).model == SONNET


class TestCostState:
    """`cost-state`: what Claude Code's session came to, helper models included; its counters go on when resumed."""

    @staticmethod
    def state(calls: int, *, cost: float, **more: Any) -> dict[str, Any]:
        models = claude_result(calls)["modelUsage"] | {"claude-haiku-4-5": {"inputTokens": 40, "outputTokens": 5}}
        return {"type": "cost-state", "sessionId": "s-1", "totalCostUSD": cost, "modelUsage": models} | more

    def test_it_states_the_cost_and_the_helpers_tokens(self, tmp_path: Path) -> None:
        after = {"type": "last-prompt", "sessionId": "s-1", "lastPrompt": "go"}
        path = lines(tmp_path / "s.jsonl", claude_line(1), claude_line(2), self.state(2, cost=0.007), after)
        run = only(path)
        assert (run.cost_usd, how(run, "cost_usd"), how(run, "usage")) == (0.007, "reported", "reported")
        assert [(call.id, call.model) for call in run.calls or ()] == [
            ("msg_1", SONNET),
            ("msg_2", SONNET),
            (None, "claude-haiku-4-5"),
        ]
        assert run.usage is not None
        assert (run.usage.input_tokens, run.usage.output_tokens) == (1040, 125)

    def test_the_last_one_counts_where_a_session_was_resumed(self, tmp_path: Path) -> None:
        path = lines(
            tmp_path / "s.jsonl",
            claude_line(1),
            self.state(1, cost=0.004),
            claude_line(2),
            self.state(2, cost=0.007),
        )
        assert only(path).cost_usd == 0.007

    def test_a_counter_that_falls_has_begun_anew(self, tmp_path: Path) -> None:
        path = lines(
            tmp_path / "s.jsonl",
            *(claude_line(number) for number in (1, 2)),
            self.state(2, cost=0.007),
            claude_line(3),
            self.state(1, cost=0.004),
        )
        run = only(path)
        assert run.cost_usd == pytest.approx(0.011)
        assert run.usage is not None
        assert run.usage.output_tokens == 3 * 60 + 2 * 5

    def test_calls_after_it_leave_the_cost_to_be_priced(self, tmp_path: Path) -> None:
        path = lines(tmp_path / "s.jsonl", claude_line(1), self.state(1, cost=0.004), claude_line(2))
        run = only(path)
        assert (run.cost_usd, how(run, "usage"), len(run.calls or ())) == (None, "counted", 2)
        # nor is it believed where it is of calls that stand in other files, and could hold the last one
        events = [claude_line(1), self.state(3, cost=0.011), claude_line(2), claude_line(4, sessionId="s-2")]
        runs, _ = read(lines(tmp_path / "t.jsonl", *events))
        assert [run.cost_usd for run in runs] == [None, None]

    def test_an_account_that_falls_short_of_the_calls_is_not_believed(self, tmp_path: Path) -> None:
        path = lines(tmp_path / "s.jsonl", *(claude_line(number) for number in (1, 2, 3)), self.state(2, cost=0.007))
        run = only(path)
        assert (run.cost_usd, how(run, "usage"), len(run.calls or ())) == (None, "counted", 3)

    def test_several_sessions_in_one_file_have_their_own(self, tmp_path: Path) -> None:
        second = [claude_line(2, sessionId="s-2"), self.state(1, cost=0.005, sessionId="s-2")]
        runs, _ = read(lines(tmp_path / "s.jsonl", claude_line(1), self.state(1, cost=0.004), *second))
        assert [run.cost_usd for run in runs] == [0.004, 0.005]

    def test_a_model_without_a_price_makes_it_a_lower_bound(self, tmp_path: Path) -> None:
        state = self.state(1, cost=0.004, hasUnknownModelCost=True)
        assert how(only(lines(tmp_path / "s.jsonl", claude_line(1), state)), "cost_usd") == "lower_bound"

    def test_it_is_not_added_to_what_the_command_printed(self, tmp_path: Path) -> None:
        session = lines(tmp_path / "s.jsonl", claude_line(1), claude_line(2), self.state(2, cost=0.007))
        (tmp_path / "first.json").write_text(json.dumps(claude_result(1)), encoding="utf-8")
        (tmp_path / "second.json").write_text(json.dumps(claude_result(1, uuid="b", num_turns=3)), encoding="utf-8")
        run = only(session, tmp_path / "first.json", tmp_path / "second.json")
        assert run.cost_usd == 0.007
        assert run.usage is not None
        assert run.usage.output_tokens == 125

    def test_a_fork_that_copies_calls_does_not_count_them_again(self, tmp_path: Path) -> None:
        session = lines(tmp_path / "s.jsonl", claude_line(1), claude_line(2), self.state(2, cost=0.007))
        copied = [claude_line(number, sessionId="s-2") for number in (1, 2)]
        own = claude_line(3, sessionId="s-2")
        fork = lines(tmp_path / "t.jsonl", *copied, own, self.state(3, cost=0.011, sessionId="s-2"))
        runs, _ = read(session, fork)
        calls = [call.id for run in runs for call in run.calls or () if call.id]
        assert sorted(calls) == ["msg_1", "msg_2", "msg_3"]
        assert [run.cost_usd for run in runs] == [0.007, None]

    def test_subagents_in_files_of_their_own_are_part_of_it(self, tmp_path: Path) -> None:
        main = lines(tmp_path / "s.jsonl", claude_line(1), self.state(2, cost=0.007))
        side = lines(tmp_path / "agent-1.jsonl", claude_line(2, isSidechain=True))
        run = only(main, side)
        assert {call.id for call in run.calls or ()} == {"msg_1", "msg_2", None}
        assert (run.cost_usd, how(run, "cost_usd"), how(run, "usage")) == (0.007, "reported", "reported")


class TestGemini:
    RESULT = SAMPLES / "gemini-cli" / "stream.jsonl"

    def stream(self, path: Path, **more: Any) -> Path:
        opening = {"type": "init", "timestamp": "2026-11-15T10:00:00Z", "session_id": "g-1", "model": "gemini-2.5-pro"}
        stats = {"total_tokens": 3160, "input_tokens": 3000, "output_tokens": 80, "cached": 2000, "tool_calls": 1}
        ended = {"type": "result", "timestamp": "2026-11-15T10:00:04Z", "status": "success", "stats": stats}
        return lines(path, opening, ended | more)

    def session(self, path: Path) -> Path:
        tokens = {"input": 1500, "output": 40, "cached": 1000, "thoughts": 40, "tool": 0, "total": 1580}
        messages = [
            {"id": f"g{number}", "type": "gemini", "model": "gemini-2.5-pro", "tokens": tokens} for number in (1, 2)
        ]
        document = {"sessionId": "g-1", "projectHash": "p", "startTime": "2026-11-15T10:00:00Z", "messages": messages}
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    USED = Usage(input_tokens=1000, cache_read_tokens=2000, output_tokens=80, reasoning_tokens=80)

    def test_the_stream_states_its_reasoning_as_the_rest_of_the_total(self, tmp_path: Path) -> None:
        assert only(self.stream(tmp_path / "a.jsonl")).usage == self.USED  # 3,160 - 3,000 - 80

    def test_calls_stay_beside_the_streams_sum(self, tmp_path: Path) -> None:
        run = only(self.stream(tmp_path / "a.jsonl"), self.session(tmp_path / "b.json"))
        assert [call.id for call in run.calls or ()] == ["g1", "g2"]
        assert run.usage == self.USED

    def test_an_error_is_told_in_words(self, tmp_path: Path) -> None:
        error = {"type": "FatalAuthenticationError", "message": "the key is not valid", "code": 401}
        run = only(self.stream(tmp_path / "a.jsonl", status="error", error=error))
        assert run.failure is not None
        assert run.failure.message == "FatalAuthenticationError: the key is not valid"
        assert run.failure.cause == "infrastructure"


class TestCodex:
    def test_calls_stay_beside_the_streams_sum(self, tmp_path: Path) -> None:
        rollout = SAMPLES / "codex" / "rollout.jsonl"
        thread = only(rollout)
        usage = {"input_tokens": 2500, "cached_input_tokens": 1100, "output_tokens": 90, "reasoning_output_tokens": 35}
        stream = lines(
            tmp_path / "exec.jsonl",
            {"type": "thread.started", "thread_id": thread.id},
            {"type": "turn.started"},
            {"type": "turn.completed", "usage": usage},
        )
        alone = only(stream)
        assert (alone.iterations, how(alone, "iterations")) == (1, "lower_bound")
        both = only(rollout, stream)
        assert both.calls == thread.calls
        assert (both.usage, both.model, both.iterations) == (thread.usage, thread.model, 2)
        assert how(both, "iterations") != "lower_bound"

    @pytest.mark.parametrize("completed", [True, False])
    def test_an_error_that_ended_the_last_turn_is_the_threads(self, tmp_path: Path, completed: bool) -> None:
        opening = (SAMPLES / "codex" / "rollout.jsonl").read_text(encoding="utf-8")
        said = "unexpected status 401 Unauthorized: no such key"
        error = {"type": "error", "message": said, "codex_error_info": "other"}
        events = [{"type": "task_started"}, error, *([{"type": "task_complete"}] if completed else [])]
        path = tmp_path / "rollout.jsonl"
        added = "".join(json.dumps({"type": "event_msg", "payload": event}) + "\n" for event in events)
        path.write_text(opening + added, encoding="utf-8")
        run = only(path)
        assert run.failure is not None
        assert (run.outcome, run.failure.cause, run.failure.message) == ("errored", "infrastructure", said)
        again = added + json.dumps({"type": "event_msg", "payload": {"type": "task_started"}}) + "\n"
        again += json.dumps({"type": "event_msg", "payload": {"type": "task_complete"}}) + "\n"
        path.write_text(opening + again, encoding="utf-8")
        assert only(path).failure is None

    def test_the_status_of_an_error_tells_whose_fault_it_is(self, tmp_path: Path) -> None:
        error = {"message": "try again", "codex_error_info": {"response_stream_failed": {"http_status_code": 503}}}
        ended = {"type": "event_msg", "payload": {"type": "task_complete", "error": error}}
        path = tmp_path / "rollout.jsonl"
        opening = (SAMPLES / "codex" / "rollout.jsonl").read_text(encoding="utf-8")
        path.write_text(opening + json.dumps(ended) + "\n", encoding="utf-8")
        failure = only(path).failure
        assert failure is not None
        assert failure.cause == "infrastructure"


class TestAider:
    @staticmethod
    def log(path: Path, *events: dict[str, Any]) -> Path:
        around = {"properties": {}, "user_id": "u", "time": 1755100000}
        return lines(path, around | {"event": "launched"}, *(around | event for event in events))

    @pytest.mark.parametrize("name", ["None", "REDACTED", "openai/REDACTED"])
    def test_a_blanked_model_is_unknown(self, tmp_path: Path, name: str) -> None:
        sent = {"main_model": name, "prompt_tokens": 2395, "completion_tokens": 15}
        run = only(self.log(tmp_path / "a.jsonl", {"event": "message_send", "properties": sent}))
        assert (run.model, [call.model for call in run.calls or ()]) == (None, [None])

    def test_tokens_are_a_lower_bound_and_a_finding_says_why(self) -> None:
        (run,), findings = read(SAMPLES / "aider" / "analytics.jsonl")
        assert (how(run, "usage"), how(run, "cost_usd")) == ("lower_bound", "lower_bound")
        assert [finding.code for finding in findings] == ["aider_counts"]

    def test_a_launch_without_an_answer_is_a_run_that_broke_off(self, tmp_path: Path) -> None:
        started = {"event": "message_send_starting"}
        run = only(self.log(tmp_path / "a.jsonl", started, {"event": "exit"}))
        assert (run.outcome, run.usage, how(run, "usage")) == ("errored", None, "unknown")
        told = {"event": "message_send_exception", "properties": {"exception": "litellm.AuthenticationError: no key"}}
        failure = only(self.log(tmp_path / "b.jsonl", started, told)).failure
        assert failure is not None
        assert failure.cause == "infrastructure"


def test_an_agent_that_created_no_file_is_known_to_have_created_none(tmp_path: Path) -> None:
    alone = lines(tmp_path / "s.jsonl", claude_line(1), claude_line(2))
    assert only(alone).files_created == ()
    assert only(alone, claude_stream(tmp_path / "t.jsonl")).files_created == ()
    assert only(claude_stream(tmp_path / "t.jsonl")).files_created is None  # the stream tells of none


REFUSALS = [
    "Failed to authenticate. API Error: 401 Invalid API key",
    "unexpected status 403 Forbidden: no access",
    "exceeded retry limit, last status: 429 Too Many Requests",
    "API Error: 529 overloaded",
    "litellm.RateLimitError: slow down",
    "HTTP/1.1 503",
    '{"type":"error","error":{"type":"overloaded_error"}}',
]
NOT_REFUSALS = ["the build took 500 s", "read 401 files", "maximum of 429 turns", "could not apply the edit"]


class TestWhoseFaultItIs:
    @pytest.mark.parametrize("said", [*REFUSALS, *NOT_REFUSALS])
    def test_a_refused_key_a_rate_limit_and_a_broken_server_are_infrastructure(self, tmp_path: Path, said: str) -> None:
        expected = "infrastructure" if said in REFUSALS else "unknown"
        broken = {"subtype": "error_during_execution", "is_error": True, "result": said}
        claude = tmp_path / "result.json"
        claude.write_text(json.dumps(claude_result() | broken), encoding="utf-8")
        codex = lines(
            tmp_path / "codex.jsonl",
            {"type": "thread.started", "thread_id": "t"},
            {"type": "turn.failed", "error": {"message": said}},
        )
        error = {"name": "APIError", "data": {"message": said}}
        opencode = lines(tmp_path / "oc.jsonl", {"type": "error", "sessionID": "ses_1", "timestamp": 1, "error": error})
        for path in (claude, codex, opencode):
            failure = only(path).failure
            assert failure is not None
            assert (failure.cause, said in (failure.message or "")) == (expected, True), path.name
