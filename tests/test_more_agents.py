"""Agents whose logs state tokens in their own ways: Copilot CLI, telemetry of Claude Code, Qwen Code, Cline, Goose."""

from __future__ import annotations

import json
from pathlib import Path

from gathered import only, runs
from steelyard.records import Run, Usage

SAMPLES = Path(__file__).parent / "samples" / "formats"


def how(run: Run, name: str) -> str | None:
    return (run.provenance or {}).get(name)


class TestCopilot:
    FOLDER = SAMPLES / "copilot-cli"

    def test_each_usage_record_is_a_call_and_the_totals_at_the_end_are_not_added(self) -> None:
        run = only(self.FOLDER / "events.jsonl")
        # 1,000 + 1,300 in, of which 400 + 1,000 cached; 70 + 60 out, of which 30 + 20 reasoning
        assert run.usage == Usage(
            input_tokens=900, cache_read_tokens=1400, cache_write_5m_tokens=0, output_tokens=80, reasoning_tokens=50
        )
        assert [call.id for call in run.calls or ()] == ["resp-1", "resp-2"]
        assert (run.experiment, run.model, run.tool_calls, run.iterations) == ("parcels", "gpt-5.1", 1, 2)
        assert (run.cost_usd, how(run, "usage")) == (None, "reported")  # premium requests are no money
        assert run.elapsed_seconds == 4

    def test_a_killed_session_counts_what_it_recorded(self, tmp_path: Path) -> None:
        path = tmp_path / "events.jsonl"
        path.write_bytes(b"".join((self.FOLDER / "events.jsonl").read_bytes().splitlines(keepends=True)[:-1]))
        assert only(path).usage == only(self.FOLDER / "events.jsonl").usage

    def test_what_is_printed_has_no_tokens_and_joins_its_session(self, tmp_path: Path) -> None:
        printed = self.FOLDER / "output.jsonl"
        assert (only(printed).usage, how(only(printed), "usage"), only(printed).success) == (None, "unknown", True)
        text = printed.read_text(encoding="utf-8").replace("000000000002", "000000000001")
        (tmp_path / "output.jsonl").write_text(text, encoding="utf-8")
        both = only(self.FOLDER / "events.jsonl", tmp_path / "output.jsonl")
        assert (both.success, both.usage) == (True, only(self.FOLDER / "events.jsonl").usage)

    def test_an_older_session_states_its_tokens_when_it_ends(self) -> None:
        run = only(self.FOLDER / "ended-by-error.jsonl")
        assert run.usage == Usage(input_tokens=300, cache_read_tokens=500, cache_write_5m_tokens=100, output_tokens=40)
        assert [call.summed for call in run.calls or ()] == [True]
        assert run.failure is not None
        assert (run.outcome, run.failure.cause) == ("errored", "infrastructure")

    def test_its_telemetry_counts_models_alone_and_joins_its_session(self, tmp_path: Path) -> None:
        telemetry = SAMPLES / "otel" / "copilot-file.jsonl"
        run = only(telemetry)
        assert run.usage == Usage(input_tokens=600, cache_read_tokens=400, output_tokens=40, reasoning_tokens=30)
        assert (run.agent, run.tool_calls, run.cost_usd) == ("copilot-cli", 1, None)
        text = telemetry.read_text(encoding="utf-8").replace("000000000009", "000000000001")
        (tmp_path / "otel.jsonl").write_text(text, encoding="utf-8")
        alone = only(self.FOLDER / "events.jsonl")
        assert only(self.FOLDER / "events.jsonl", tmp_path / "otel.jsonl") == alone


class TestClaudeTelemetry:
    EVENTS = SAMPLES / "otel" / "claude-events.jsonl"
    METRICS = SAMPLES / "otel" / "claude-metrics.jsonl"

    def test_events_are_calls_with_their_cost(self) -> None:
        run = only(self.EVENTS)
        assert run.usage == Usage(input_tokens=140, output_tokens=30, cache_read_tokens=650, cache_write_5m_tokens=50)
        assert (run.agent, run.cost_usd) == ("claude-code", 0.0015)
        assert (how(run, "usage"), how(run, "cost_usd")) == ("lower_bound", "lower_bound")  # no event is the last
        assert (run.tool_calls, run.iterations, run.elapsed_seconds) == (1, 2, 3)

    def test_deltas_of_several_exports_add_up(self) -> None:
        run = only(self.METRICS)
        assert run.usage == Usage(input_tokens=147, output_tokens=33, cache_read_tokens=300, cache_write_5m_tokens=50)
        assert run.cost_usd == 0.0031
        assert run.tool_calls is None  # counters do not tell

    def test_the_last_point_of_a_cumulative_counter_counts(self, tmp_path: Path) -> None:
        path = tmp_path / "metrics.jsonl"
        text = self.METRICS.read_text(encoding="utf-8").replace('Temporality":1', 'Temporality":2')
        path.write_text(text, encoding="utf-8")
        run = only(path)
        assert run.usage == Usage(  # of 100 and 40 input 100, of 20 and 10 output 20, and the other model's
            input_tokens=107, output_tokens=23, cache_read_tokens=300, cache_write_5m_tokens=50
        )

    def test_events_and_counters_of_a_session_count_once(self, tmp_path: Path) -> None:
        path = tmp_path / "metrics.jsonl"
        text = self.METRICS.read_text(encoding="utf-8").replace("000000000002", "000000000001")
        path.write_text(text, encoding="utf-8")
        assert len(runs(self.EVENTS, path)) == 1
        together = tmp_path / "together.jsonl"
        together.write_text(self.EVENTS.read_text(encoding="utf-8") + text, encoding="utf-8")
        assert only(together).usage == only(self.EVENTS).usage

    def test_telemetry_adds_calls_to_the_printed_result_and_no_second_run(self, tmp_path: Path) -> None:
        used = {"inputTokens": 140, "outputTokens": 30, "cacheReadInputTokens": 650, "cacheCreationInputTokens": 50}
        result = {"type": "result", "is_error": False, "num_turns": 2, "session_id": only(self.EVENTS).id}
        result |= {"total_cost_usd": 0.0015, "modelUsage": {"claude-sonnet-4-5-20250929": used}}
        (tmp_path / "result.json").write_text(json.dumps(result), encoding="utf-8")
        run = only(tmp_path / "result.json", self.EVENTS)
        assert run.calls == only(self.EVENTS).calls
        assert (run.cost_usd, run.tool_calls, how(run, "usage")) == (0.0015, 1, "reported")

    def test_a_request_that_failed_for_good_is_told(self, tmp_path: Path) -> None:
        text = self.EVENTS.read_text(encoding="utf-8").replace("api_request", "api_error")
        (tmp_path / "events.jsonl").write_text(text.replace('"key":"model"', '"key":"error"'), encoding="utf-8")
        run = only(tmp_path / "events.jsonl")
        assert (run.outcome, run.usage) == ("errored", None)


class TestQwen:
    FOLDER = SAMPLES / "qwen-code"
    USED = Usage(input_tokens=500, cache_read_tokens=1400, output_tokens=60, reasoning_tokens=30)

    def test_input_includes_cache_and_output_includes_thoughts(self) -> None:
        # 900 + 1,000 in, of which 600 + 800 cached; 50 + 40 out, of which 10 + 20 thoughts; telemetry repeats them
        run = only(self.FOLDER / "chat.jsonl")
        assert run.usage == self.USED
        assert (run.experiment, run.model, run.tool_calls, len(run.calls or ())) == (
            "letters",
            "qwen3-coder-plus",
            1,
            2,
        )

    def test_a_total_with_thoughts_on_top_says_that_output_excludes_them(self, tmp_path: Path) -> None:
        text = (self.FOLDER / "chat.jsonl").read_text(encoding="utf-8")
        text = text.replace('"totalTokenCount":950', '"totalTokenCount":960')
        (tmp_path / "chat.jsonl").write_text(text, encoding="utf-8")
        first = (only(tmp_path / "chat.jsonl").calls or ())[0]
        assert first.usage == Usage(input_tokens=300, cache_read_tokens=600, output_tokens=50, reasoning_tokens=10)

    def test_what_is_printed_joins_its_chat(self, tmp_path: Path) -> None:
        printed = self.FOLDER / "output.json"
        assert (only(printed).usage, only(printed).duration_seconds, only(printed).success) == (self.USED, 5.4, True)
        text = printed.read_text(encoding="utf-8").replace("000000000002", "000000000001")
        (tmp_path / "output.json").write_text(text, encoding="utf-8")
        both = only(self.FOLDER / "chat.jsonl", tmp_path / "output.json")
        assert (both.usage, [call.id for call in both.calls or ()]) == (self.USED, ["q-4", "q-7"])

    def test_a_success_without_an_answer_is_a_run_that_broke_off(self) -> None:
        run = only(self.FOLDER / "stream-failed.jsonl")
        assert (run.outcome, run.success, run.usage, how(run, "usage")) == ("errored", False, None, "unknown")
        assert run.failure is not None
        assert run.failure.cause == "infrastructure"

    def test_a_chat_that_opens_with_the_clients_own_lines_is_qwens(self, tmp_path: Path) -> None:
        lines = (self.FOLDER / "chat.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / "chat.jsonl").write_text("".join(lines[1:2]), encoding="utf-8")
        assert only(tmp_path / "chat.jsonl").agent == "qwen-code"


class TestCline:
    FOLDER = SAMPLES / "cline"

    def test_a_session_and_its_messages_are_one_run(self) -> None:
        run = only(self.FOLDER / "session.json", self.FOLDER / "session.messages.json")
        # 1,900 in, of which 1,400 cached; 90 out
        assert run.usage == Usage(input_tokens=500, cache_read_tokens=1400, cache_write_5m_tokens=0, output_tokens=90)
        assert [call.id for call in run.calls or ()] == ["m-1", "m-3"]
        assert (run.cost_usd, run.success, run.tool_calls, run.experiment) == (0.0123, True, 1, "letters")

    def test_what_is_printed_belongs_to_the_session_whose_tool_calls_it_shows(self, tmp_path: Path) -> None:
        session = [self.FOLDER / "session.json", self.FOLDER / "session.messages.json"]
        assert len(runs(*session, self.FOLDER / "printed.jsonl")) == 2
        text = (self.FOLDER / "printed.jsonl").read_text(encoding="utf-8").replace("call-8", "call-7")
        (tmp_path / "printed.jsonl").write_text(text, encoding="utf-8")
        both = only(*session, tmp_path / "printed.jsonl")
        assert (both.id, both.usage) == (only(*session).id, only(*session).usage)

    def test_zero_cost_is_unknown(self) -> None:
        assert (only(self.FOLDER / "printed.jsonl").cost_usd, only(self.FOLDER / "printed.jsonl").success) == (
            None,
            True,
        )

    def test_a_failed_start_has_no_tokens(self, tmp_path: Path) -> None:
        ended = {"finishReason": "error", "text": "401 no such key", "usage": {"inputTokens": 0, "outputTokens": 0}}
        event = {"ts": "2026-06-01T08:00:00Z", "type": "run_result"} | ended
        (tmp_path / "printed.jsonl").write_text(json.dumps(event) + "\n", encoding="utf-8")
        run = only(tmp_path / "printed.jsonl")
        assert (run.outcome, run.usage, run.success) == ("errored", None, False)
        assert run.failure is not None
        assert run.failure.cause == "infrastructure"

    def test_the_extensions_input_includes_cache_as_the_protocol_has_it(self, tmp_path: Path) -> None:
        run = only(self.FOLDER / "ui_messages.json")
        first, second = [call.usage for call in run.calls or ()]
        assert first == Usage(  # Anthropic's: 200 beside 600 cached
            input_tokens=200, cache_read_tokens=500, cache_write_5m_tokens=100, output_tokens=30
        )
        assert second == Usage(  # OpenAI's: 900, of which 600 cached
            input_tokens=300, cache_read_tokens=600, cache_write_5m_tokens=0, output_tokens=20
        )
        assert run.cost_usd == 0.006
        folder = tmp_path / "rooveterinaryinc.roo-cline" / "tasks" / "t-1"
        folder.mkdir(parents=True)
        (folder / "ui_messages.json").write_bytes((self.FOLDER / "ui_messages.json").read_bytes())
        assert (only(folder).agent, only(folder).task) == ("roo-code", "t-1")


class TestOpenHandsConversations:
    STATE = SAMPLES / "openhands" / "base_state.json"

    def test_every_use_of_a_model_counts(self) -> None:
        run = only(self.STATE)
        # 2,100 + 300 in, of which 1,000 cached; 120 + 20 out, of which 45 reasoning
        assert run.usage == Usage(
            input_tokens=1400, cache_read_tokens=1000, cache_write_5m_tokens=0, output_tokens=95, reasoning_tokens=45
        )
        assert [call.model for call in run.calls or ()] == ["openai/gpt-5.1", "openai/gpt-5.1", "openai/gpt-5-mini"]
        assert (run.experiment, run.success, run.tool_calls, run.cost_usd) == ("letters", True, None, None)

    def test_tools_and_times_come_from_the_events_beside_it(self, tmp_path: Path) -> None:
        (tmp_path / "base_state.json").write_bytes(self.STATE.read_bytes())
        (tmp_path / "events").mkdir()
        events = [
            {"kind": "MessageEvent", "source": "user", "timestamp": "2026-06-01T08:00:00"},
            {"kind": "ActionEvent", "source": "agent", "timestamp": "2026-06-01T08:00:05", "tool_call_id": "c-1"},
            {
                "kind": "ObservationEvent",
                "source": "environment",
                "timestamp": "2026-06-01T08:00:06",
                "tool_call_id": "c-1",
            },
        ]
        for number, event in enumerate(events):
            (tmp_path / "events" / f"event-{number:05}-x.json").write_text(json.dumps(event), encoding="utf-8")
        (tmp_path / "events" / "event-00009-x.json").write_text("{", encoding="utf-8")
        run = only(tmp_path)
        assert (run.tool_calls, run.elapsed_seconds) == (1, 6)

    def test_a_conversation_that_broke_off_says_why(self, tmp_path: Path) -> None:
        state = json.loads(self.STATE.read_text(encoding="utf-8")) | {"execution_status": "error"}
        (tmp_path / "base_state.json").write_text(json.dumps(state), encoding="utf-8")
        (tmp_path / "events").mkdir()
        error = {"kind": "ConversationErrorEvent", "source": "environment", "detail": "litellm.RateLimitError: later"}
        (tmp_path / "events" / "event-00000-x.json").write_text(json.dumps(error), encoding="utf-8")
        run = only(tmp_path)
        assert run.failure is not None
        assert (run.outcome, run.success, run.failure.cause) == ("errored", None, "infrastructure")
