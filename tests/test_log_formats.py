"""What the sources make of real tools' habits: repeated lines, cumulative counters, copied history, placeholders."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_stores import opencode_store
from gathered import only, runs
from steelyard.prices import open_price_table, price_run
from steelyard.records import Failure, Finding, Judgment, Rejected, Usage
from steelyard.sources import PlacedRun, gather

SAMPLES = Path(__file__).parent / "samples" / "formats"


def findings(*paths: Path) -> list[Finding]:
    return [item for item in gather(list(paths)) if isinstance(item, Finding)]


def changed(source: Path, target: Path, **words: str) -> Path:
    """A copy of a sample with words replaced."""
    text = source.read_text(encoding="utf-8")
    for old, new in words.items():
        text = text.replace(old, new)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return target


class TestClaudeCode:
    SESSION = SAMPLES / "claude-code" / "session.jsonl"

    @pytest.mark.parametrize(
        ("last_output", "blocks", "provenance"),
        [
            (40, ("thinking", "text"), "counted"),
            (2, ("thinking", "text"), "lower_bound"),  # still the count of the stream's start
            (40, ("text", "tool_use"), "lower_bound"),
            (40, ("tool_use", "text"), "lower_bound"),
            (40, ("text", "thinking"), "lower_bound"),
        ],
    )
    def test_a_final_count_after_text_ends_a_session(
        self, tmp_path: Path, last_output: int, blocks: tuple[str, str], provenance: str
    ) -> None:
        # most versions write no reason to stop; the final count is stated when an answer is finished
        written = {
            "thinking": {"type": "thinking", "thinking": "short"},
            "text": {"type": "text", "text": "Prints 1."},
            "tool_use": {"type": "tool_use", "id": "toolu_9", "name": "Bash", "input": {}},
        }
        lines = [
            {
                "type": "assistant",
                "sessionId": "s-1",
                "parentUuid": None,
                "timestamp": f"2026-03-01T10:00:0{number}.000Z",
                "message": {
                    "id": "msg_A",
                    "model": "claude-sonnet-4-5-20250929",
                    "stop_reason": None,
                    "content": [written[block]],
                    "usage": {"input_tokens": 5, "output_tokens": output},
                },
            }
            for number, (block, output) in enumerate(zip(blocks, (2, last_output), strict=True))
        ]
        path = tmp_path / "session.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        assert (only(path).provenance or {})["usage"] == provenance

    def test_tokens_are_the_last_usage_of_each_message_id_not_the_sum_of_lines(self) -> None:
        # msg_A twice (output 3, then 61), msg_B 25, msg_C 7; the synthetic message is no call
        run = only(self.SESSION)
        assert run.usage == Usage(
            input_tokens=10 + 4 + 5,
            output_tokens=61 + 25 + 7,
            cache_read_tokens=0 + 210 + 310,
            cache_write_5m_tokens=200,
            cache_write_1h_tokens=100,
        )
        assert [call.id for call in run.calls or ()] == ["msg_A", "msg_B", "msg_C"]
        assert (run.provenance or {})["usage"] == "counted"

    def test_tools_files_and_times(self) -> None:
        run = only(self.SESSION)
        assert run.tool_calls == 2
        assert run.files_created == ("/work/parcel/count.py",)
        assert run.elapsed_seconds == 13

    def test_subagents_in_files_of_their_own_belong_to_their_session(self, tmp_path: Path) -> None:
        main = changed(self.SESSION, tmp_path / "s.jsonl")
        side = changed(SAMPLES / "claude-code" / "subagent.jsonl", tmp_path / "s" / "subagents" / "agent-1.jsonl")
        run = only(main, side)
        assert len(run.calls or ()) == 4
        assert run.usage is not None
        assert run.usage.output_tokens == 93 + 12
        assert run.tool_calls == 3
        assert run.iterations == 3  # the subagent's turns are not the session's
        assert run.model == "claude-sonnet-4-5-20250929"

    def test_a_session_whose_last_call_was_refused_broke_off(self, tmp_path: Path) -> None:
        lines = self.SESSION.read_text(encoding="utf-8").splitlines(keepends=True)
        refused = (
            '{"parentUuid":"u","type":"assistant","sessionId":"5e55a0aa-0000-4000-8000-000000000001","message":'
            '{"id":"x","model":"<synthetic>","role":"assistant","content":[{"type":"text","text":"API Error: no"}]},'
            '"isApiErrorMessage":true,"apiErrorStatus":429}\n'
        )
        ended, recovered = tmp_path / "ended.jsonl", tmp_path / "recovered.jsonl"
        ended.write_text("".join([*lines, refused]), encoding="utf-8")
        run = only(ended)
        assert (run.outcome, run.failure) == ("errored", Failure(cause="infrastructure", message="API Error: no"))
        assert run.usage == only(self.SESSION).usage
        recovered.write_text("".join([*lines[:2], refused, *lines[2:]]), encoding="utf-8")
        assert (only(recovered).outcome, only(recovered).failure) == ("not_scored", None)

    def test_placeholder_output_is_a_lower_bound(self) -> None:
        run = only(SAMPLES / "claude-code" / "placeholders.jsonl")
        assert (run.provenance or {})["usage"] == "lower_bound"

    def test_the_same_session_copied_twice_counts_once(self, tmp_path: Path) -> None:
        half = tmp_path / "early.jsonl"
        half.write_bytes(b"".join(self.SESSION.read_bytes().splitlines(keepends=True)[:3]))
        run = only(half, self.SESSION)
        assert run.usage == only(self.SESSION).usage

    def test_a_forked_session_does_not_count_its_copied_history(self, tmp_path: Path) -> None:
        lines = self.SESSION.read_text(encoding="utf-8").splitlines(keepends=True)
        own = lines[-2].replace("msg_C", "msg_D").replace("T10:00:12", "T11:00:00")
        text = "".join([*lines[:6], own]).replace("000000000001", "000000000009")
        fork = tmp_path / "fork.jsonl"
        fork.write_text(text, encoding="utf-8")
        found = runs(self.SESSION, fork)
        assert sorted(call.id or "" for run in found for call in run.calls or ()) == [
            "msg_A",
            "msg_B",
            "msg_C",
            "msg_D",
        ]
        assert any(finding.code == "copied_calls" for finding in findings(self.SESSION, fork))

    def test_several_objects_on_one_line_are_all_read(self, tmp_path: Path) -> None:
        glued = tmp_path / "glued.jsonl"
        lines = self.SESSION.read_text(encoding="utf-8").splitlines(keepends=True)
        glued.write_text("".join(lines[:5]) + lines[5].rstrip("\n") + lines[8] + lines[9], encoding="utf-8")
        assert only(glued).usage == only(self.SESSION).usage

    def test_a_result_wins_over_counted_lines_of_the_same_session(self, tmp_path: Path) -> None:
        result = changed(
            SAMPLES / "claude-json" / "result.json", tmp_path / "r.json", **{"00000000000a": "000000000001"}
        )
        run = only(self.SESSION, result)
        assert run.cost_usd == 0.0421
        assert run.usage is not None
        assert run.usage.output_tokens == 150
        assert run.tool_calls == 2
        assert (run.provenance or {})["usage"] == "reported"


class TestClaudeResults:
    def test_all_models_of_model_usage_count(self) -> None:
        run = only(SAMPLES / "claude-json" / "result.json")
        assert [(call.model, call.summed) for call in run.calls or ()] == [
            ("claude-haiku-4-5-20251001", True),
            ("claude-sonnet-4-5-20250929", True),
        ]
        assert run.usage is not None
        assert run.usage.output_tokens == 30 + 120
        assert run.cost_usd == 0.0421

    def test_a_run_out_of_turns_is_the_agents_failure(self) -> None:
        run = only(SAMPLES / "claude-json" / "result-line.log")
        assert run.outcome == "errored"
        assert run.failure is not None
        assert run.failure.cause == "agent"

    @pytest.mark.parametrize(
        ("said", "cause"),
        [
            ({"subtype": "error_max_turns"}, "agent"),
            ({"subtype": "error_max_budget_usd"}, "agent"),
            ({"subtype": "error_during_execution", "terminal_reason": "aborted_streaming"}, "cancelled"),
            ({"subtype": "success", "api_error_status": 429, "terminal_reason": "api_error"}, "infrastructure"),
            ({"subtype": "error_during_execution", "api_error_status": None}, "unknown"),
        ],
    )
    def test_a_claude_result_says_whose_fault_an_error_is(
        self, tmp_path: Path, said: dict[str, Any], cause: str
    ) -> None:
        result: dict[str, Any] = json.loads((SAMPLES / "claude-json" / "result.json").read_text(encoding="utf-8"))
        path = tmp_path / "result.json"
        path.write_text(json.dumps(result | said | {"is_error": True}), encoding="utf-8")
        run = only(path)
        assert run.failure is not None
        assert (run.outcome, run.failure.cause) == ("errored", cause)

    def test_a_result_that_names_no_model_has_the_streams(self, tmp_path: Path) -> None:
        *events, last = (SAMPLES / "claude-stream-json" / "stream.jsonl").read_text(encoding="utf-8").splitlines()
        result: dict[str, Any] = json.loads(last)
        result |= {"subtype": "error_during_execution", "is_error": True, "result": "", "errors": ["disk is full"]}
        result["modelUsage"] = {"claude-sonnet-4-6": {"input_tokens": 4}}  # names of fields that the client never had
        path = tmp_path / "stream.jsonl"
        path.write_text("\n".join([*events, json.dumps(result)]), encoding="utf-8")
        run = only(path)
        assert (run.model, {call.model for call in run.calls or ()}) == ("claude-sonnet-4-6", {"claude-sonnet-4-6"})
        assert run.usage is not None
        assert run.usage.output_tokens == result["usage"]["output_tokens"]
        assert run.failure is not None
        assert run.failure.message == "error_during_execution: disk is full"

    def test_qwens_log_is_not_taken_for_claudes(self, tmp_path: Path) -> None:
        around = {"sessionId": "q1", "timestamp": "2026-08-17T12:00:00Z", "cwd": "/work", "version": "0.21.13"}
        events: list[dict[str, Any]] = [
            {"uuid": "1", "parentUuid": None, "type": "system", "subtype": "ui_telemetry", **around},
            {"uuid": "2", "parentUuid": "1", "type": "user", "message": {"parts": [{"text": "go"}]}, **around},
            {"uuid": "3", "parentUuid": "2", "type": "assistant", "message": {"parts": [{"text": "ok"}]}, **around},
        ]
        path = tmp_path / "session.jsonl"
        path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
        assert only(path).agent == "qwen-code"

    def test_cursors_stream_is_not_taken_for_claudes(self, tmp_path: Path) -> None:
        told = {"session_id": "c1"}
        events: list[dict[str, Any]] = [
            {"type": "system", "subtype": "init", "model": "Claude 4.6 Opus", "cwd": "/work", **told},
            {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "go"}]}, **told},
            {
                "type": "assistant",
                "message": {"role": "assistant", "content": [{"type": "text", "text": "ok"}]},
                **told,
            },
            {"type": "result", "subtype": "success", "result": "ok", "duration_ms": 2500, "is_error": False, **told},
        ]
        path = tmp_path / "stream.jsonl"
        path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
        assert runs(path) == []

    def test_a_killed_stream_has_no_result_and_only_lower_bounds(self, tmp_path: Path) -> None:
        stream = SAMPLES / "claude-stream-json" / "stream.jsonl"
        killed = tmp_path / "killed.jsonl"
        killed.write_bytes(b"".join(stream.read_bytes().splitlines(keepends=True)[:-1]))
        run = only(killed)
        assert run.outcome == "errored"
        assert run.cost_usd is None
        assert (run.provenance or {})["usage"] == "lower_bound"
        assert only(stream).cost_usd == 0.0099

    def test_one_hour_cache_writes_are_told_apart(self) -> None:
        run = only(SAMPLES / "claude-stream-json" / "stream.jsonl")
        assert run.usage is not None
        assert (run.usage.cache_write_5m_tokens, run.usage.cache_write_1h_tokens) == (0, 120)


class TestCodex:
    def test_the_last_cumulative_total_counts_and_nothing_is_summed(self) -> None:
        run = only(SAMPLES / "codex" / "rollout.jsonl")
        # last total: input 2500 of which 1100 cached, output 90 of which 35 reasoning
        assert run.usage == Usage(input_tokens=1400, cache_read_tokens=1100, output_tokens=55, reasoning_tokens=35)
        assert len(run.calls or ()) == 2  # the repeated event is no call
        assert run.tool_calls == 2
        assert run.files_created == ("/work/parcel/new.py",)

    def test_two_logs_that_show_no_tool_call_leave_none(self, tmp_path: Path) -> None:
        session, stream = tmp_path / "rollout.jsonl", tmp_path / "stdout"
        session.write_text(
            '{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"id":"t-1","cwd":"/work/parcel"}}\n'
            '{"timestamp":"2026-03-01T10:00:06Z","type":"event_msg","payload":{"type":"task_complete","error":'
            '{"message":"unexpected status 401 Unauthorized"}}}\n',
            encoding="utf-8",
        )
        stream.write_text(
            '{"type":"thread.started","thread_id":"t-1"}\n{"type":"turn.started"}\n'
            '{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}\n',
            encoding="utf-8",
        )
        assert [only(session).tool_calls, only(stream).tool_calls, only(session, stream).tool_calls] == [0, 0, 0]

    def test_replayed_history_of_a_fork_is_not_counted(self) -> None:
        run = only(SAMPLES / "codex" / "fork.jsonl")
        # 3100 - 2500 input, 1600 - 1100 cached, 110 - 90 output, 40 - 35 reasoning
        assert run.usage == Usage(input_tokens=100, cache_read_tokens=500, output_tokens=15, reasoning_tokens=5)

    def test_a_replay_that_takes_seconds_is_told_by_when_its_turns_began(self) -> None:
        run = only(SAMPLES / "codex" / "fork-slow.jsonl")
        # as above; one tool was called in the thread's own turn, and the turn that was aborted is the other thread's
        assert run.usage == Usage(input_tokens=100, cache_read_tokens=500, output_tokens=15, reasoning_tokens=5)
        assert (run.tool_calls, run.failure) == (1, None)

    def test_a_turn_that_failed_says_why_until_a_later_one_succeeds(self, tmp_path: Path) -> None:
        lines = (SAMPLES / "codex" / "rollout.jsonl").read_text(encoding="utf-8")
        error = {"message": "too busy", "codex_error_info": {"server_overloaded": {"http_status_code": 529}}}
        ended: dict[str, Any] = {"type": "event_msg", "payload": {"type": "task_complete", "error": error}}
        path = tmp_path / "rollout.jsonl"
        path.write_text(lines + json.dumps(ended) + "\n", encoding="utf-8")
        run = only(path)
        assert (run.outcome, run.failure) == ("errored", Failure(cause="infrastructure", message="too busy"))
        del ended["payload"]["error"]
        path.write_text(path.read_text(encoding="utf-8") + json.dumps(ended) + "\n", encoding="utf-8")
        assert (only(path).outcome, only(path).failure) == ("not_scored", None)

    def test_tokens_that_are_stated_by_answer_count_once_an_answer(self, tmp_path: Path) -> None:
        run = only(SAMPLES / "codex" / "answers.jsonl")
        # 100 + 120 input of which 0 + 90 read and 90 + 20 written, 10 + 20 output of which 4 + 6 reasoning
        expected = Usage(
            input_tokens=20,
            cache_read_tokens=90,
            cache_write_5m_tokens=110,
            output_tokens=20,
            reasoning_tokens=10,
        )
        assert (run.usage, len(run.calls or ()), run.model) == (expected, 2, "gpt-5.3-codex")
        totals = changed(SAMPLES / "codex" / "answers.jsonl", tmp_path / "totals.jsonl", **{'"usage"': '"unread"'})
        assert only(totals).usage == expected
        assert [call.id for call in run.calls or ()] == ["resp_1", "resp_2"]

    def test_a_forks_own_turn_counts_however_soon_it_answers(self) -> None:
        run = only(SAMPLES / "codex" / "fork-own.jsonl")
        assert run.usage == Usage(input_tokens=600, cache_read_tokens=1400, output_tokens=70, reasoning_tokens=20)
        assert len(run.calls or ()) == 2

    def test_a_subagents_thread_belongs_to_its_parent(self, tmp_path: Path) -> None:
        child = changed(
            SAMPLES / "codex" / "fork.jsonl",
            tmp_path / "child.jsonl",
            **{'"forked_from_id"': '"parent_thread_id"'},
        )
        run = only(SAMPLES / "codex" / "rollout.jsonl", child)
        assert run.usage is not None
        assert run.usage.output_tokens == 55 + 15
        assert len(run.calls or ()) == 3

    def test_exec_states_the_threads_total_in_its_last_turn(self) -> None:
        run = only(SAMPLES / "codex-exec" / "stream.jsonl")
        assert run.usage == Usage(input_tokens=700, cache_read_tokens=1200, output_tokens=95)
        assert run.usage.reasoning_tokens is None  # absent, not 0
        assert run.files_created == ("b.py",)

    def test_a_compressed_rollout_reads_as_the_plain_one(self, tmp_path: Path) -> None:
        import zstandard

        packed = tmp_path / "rollout.jsonl.zst"
        packed.write_bytes(zstandard.compress((SAMPLES / "codex" / "rollout.jsonl").read_bytes()))
        run = only(packed)
        assert run.usage == only(SAMPLES / "codex" / "rollout.jsonl").usage
        assert run.source is not None
        assert run.source.path == f"{packed.as_posix()}!/rollout.jsonl"

    def test_older_rollouts_have_no_tokens(self) -> None:
        run = only(SAMPLES / "codex" / "legacy.jsonl")
        assert run.usage is None
        assert run.tool_calls == 1

    def test_older_rollouts_may_open_without_instructions(self, tmp_path: Path) -> None:
        first, *rest = (SAMPLES / "codex" / "legacy.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        opening = {key: value for key, value in json.loads(first).items() if key in ("id", "timestamp")}
        path = tmp_path / "rollout.jsonl"
        path.write_text(json.dumps(opening) + "\n" + "".join(rest), encoding="utf-8")
        assert only(path).tool_calls == 1


class TestOtherAgents:
    def test_an_exported_opencode_session_is_one_run(self) -> None:
        run = only(SAMPLES / "opencode" / "export.json")
        # 100 + 30 input, 20 + 10 output, 5 + 0 reasoning, 1000 + 1150 read, 50 + 0 written; two answers, one tool
        assert run.usage == Usage(
            input_tokens=130,
            output_tokens=30,
            reasoning_tokens=5,
            cache_read_tokens=2150,
            cache_write_5m_tokens=50,
        )
        assert run.cost_usd == pytest.approx(0.006)
        assert (run.model, run.iterations, run.tool_calls) == ("claude-sonnet-4-5", 2, 1)
        assert run.elapsed_seconds == 8

    def test_gemini_input_includes_cached_and_output_excludes_thoughts(self) -> None:
        run = only(SAMPLES / "gemini-cli" / "session.json")
        # input 1200 + 1300 + 7 for tools, of which 1100 cached; output 18 + 25; thoughts 31 + 12
        assert run.usage == Usage(input_tokens=1407, cache_read_tokens=1100, output_tokens=43, reasoning_tokens=43)

    def test_a_gemini_history_that_is_set_anew_adds_only_what_is_new(self, tmp_path: Path) -> None:
        path = tmp_path / "session.jsonl"
        messages = [
            {"id": "a1", "type": "gemini", "content": ""},  # known with its tokens, repeated without
            {"id": "a0", "type": "gemini", "model": "gemini-2.5-flash", "tokens": {"input": 7, "output": 3}},
        ]
        lines = (SAMPLES / "gemini-cli" / "session.jsonl").read_text(encoding="utf-8")
        path.write_text(lines + json.dumps({"$set": {"messages": messages}}) + "\n", encoding="utf-8")
        before = only(SAMPLES / "gemini-cli" / "session.jsonl").usage
        after = only(path).usage
        assert before is not None
        assert after is not None
        assert (after.input_tokens, after.output_tokens) == (60 + 7, 9 + 3)
        assert (before.input_tokens, before.output_tokens) == (60, 9)

    def test_a_later_gemini_record_replaces_the_earlier(self) -> None:
        run = only(SAMPLES / "gemini-cli" / "session.jsonl")
        assert len(run.calls or ()) == 1
        assert run.usage is not None
        assert run.usage.output_tokens == 9

    @pytest.mark.parametrize("has_stream", [False, True])
    def test_a_gemini_subagent_is_part_of_its_session(self, has_stream: bool, tmp_path: Path) -> None:
        def chat(path: str, session: str, kind: str, tools: int, tokens: int) -> Path:
            stated = {"input": tokens, "output": 1, "cached": 0, "thoughts": 0, "tool": 0, "total": tokens + 1}
            calls = [{"id": f"{session}-{number}", "name": "t", "args": {}} for number in range(tools)]
            message = {"id": session, "type": "gemini", "model": "m", "tokens": stated, "toolCalls": calls}
            lines = [{"sessionId": session, "projectHash": "ab", "kind": kind}, message]
            place = tmp_path / "chats" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            return place

        paths = [chat("session-1.jsonl", "main", "main", 2, 10), chat("main/sub.jsonl", "sub", "subagent", 3, 500)]
        if has_stream:  # its totals are of all
            total = {"total_tokens": 512, "input_tokens": 510, "output_tokens": 2, "cached": 0, "tool_calls": 5}
            events = [
                {"type": "init", "session_id": "main", "model": "m"},
                *({"type": "tool_use", "tool_id": f"main-{number}", "tool_name": "t"} for number in range(2)),
                {"type": "result", "status": "success", "stats": {**total, "models": {"m": total}}},
            ]
            paths.append(tmp_path / "stdout")
            paths[-1].write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
        run = only(*paths)
        assert run.total_usage is not None
        assert (run.id, run.tool_calls, run.total_usage.input_tokens, run.total_usage.output_tokens) == (
            "main",
            5,
            510,
            2,
        )

    def test_opencode_messages_on_disk_add_up_to_a_session(self, tmp_path: Path) -> None:
        first = SAMPLES / "opencode" / "message.json"
        second = changed(first, tmp_path / "m2.json", msg_9001="msg_9002")
        run = only(first, second)
        assert run.cost_usd == pytest.approx(0.006)
        assert run.iterations == 2
        assert run.usage is not None
        assert run.usage.output_tokens == 80

    def test_opencode_cost_zero_is_unknown_and_partly_zero_a_lower_bound(self, tmp_path: Path) -> None:
        run = SAMPLES / "opencode" / "run.jsonl"
        partly = only(changed(run, tmp_path / "a.jsonl", **{'"cost":0.002': '"cost":0'}))
        assert (partly.cost_usd, (partly.provenance or {})["cost_usd"]) == (0.001, "lower_bound")
        none = changed(run, tmp_path / "b.jsonl", **{'"cost":0.002': '"cost":0', '"cost":0.001': '"cost":0'})
        assert only(none).cost_usd is None

    def test_opencodes_store_reads_as_its_messages_do(self, tmp_path: Path) -> None:
        path = opencode_store(tmp_path / "opencode.db")
        before = sorted(one.name for one in tmp_path.iterdir()), path.read_bytes()
        found = runs(path)
        assert (sorted(one.name for one in tmp_path.iterdir()), path.read_bytes()) == before  # nothing is written
        first, second = found
        assert (first.id, first.experiment, first.tool_calls, first.iterations) == ("ses_1", "parcels", 2, 2)
        assert first.usage == Usage(  # 100 + 200 in the session, 5 in its subagent
            input_tokens=305, output_tokens=31, reasoning_tokens=2, cache_read_tokens=50, cache_write_5m_tokens=7
        )
        assert first.cost_usd == pytest.approx(0.03)
        assert [call.model for call in first.calls or ()] == ["claude-sonnet-4-5", "claude-sonnet-4-5", "haiku"]
        assert first.started_at == datetime(2026, 3, 1, tzinfo=UTC)
        assert first.elapsed_seconds == 30
        assert (second.id, second.outcome, second.cost_usd) == ("ses_3", "errored", None)
        assert (second.provenance or {})["cost_usd"] == "unknown"
        broken = [item for item in gather([path]) if isinstance(item, Rejected)]
        assert [one.reason for one in broken] == ["message 'msg_bad': not JSON: invalid character (byte 0)"]

    def test_opencodes_store_beside_its_older_files_counts_once(self, tmp_path: Path) -> None:
        path = opencode_store(tmp_path / "opencode.db")
        old = {"id": "msg_1", "sessionID": "ses_1", "role": "assistant", "time": {"created": 1772323200000}}
        old |= {"modelID": "claude-sonnet-4-5", "cost": 0.01, "tokens": {"input": 100, "output": 10}}
        (tmp_path / "msg_1.json").write_text(json.dumps(old), encoding="utf-8")
        together = runs(tmp_path)
        assert [run.id for run in together] == [run.id for run in runs(path)]
        assert len(together[0].calls or ()) == 3

    @pytest.mark.parametrize("pages", [1, 2])
    def test_a_cut_or_spoilt_store_is_an_error(self, tmp_path: Path, pages: int) -> None:
        path = opencode_store(tmp_path / "opencode.db")
        path.write_bytes(path.read_bytes()[: pages * 4096 - 50])
        items = list(gather([path]))
        assert [item for item in items if isinstance(item, Rejected)]
        assert not [item for item in items if isinstance(item, PlacedRun)]

    def test_openhands_cost_zero_beside_tokens_is_unknown(self) -> None:
        priced, unpriced = runs(SAMPLES / "openhands" / "output.jsonl")
        assert priced.cost_usd == 0.04
        assert unpriced.cost_usd is None
        assert unpriced.failure is not None
        assert unpriced.failure.cause == "agent"

    def test_agent_spans_do_not_count_the_tokens_of_model_spans_again(self) -> None:
        run = only(SAMPLES / "otel" / "spans.json")
        assert run.usage == Usage(
            input_tokens=700 + 1200, cache_read_tokens=300, output_tokens=30 + 20, reasoning_tokens=20
        )
        assert run.tool_calls == 1
        assert run.agent == "demo-agent"

    def test_spans_without_an_id_all_count(self, tmp_path: Path) -> None:
        export = json.dumps(json.loads((SAMPLES / "otel" / "spans.json").read_text()))
        twice, nameless = tmp_path / "twice.jsonl", tmp_path / "nameless.jsonl"
        twice.write_text(f"{export}\n" * 2)
        nameless.write_text(re.sub(r'"(spanId|gen_ai.tool.call.id|gen_ai.response.id)"', '"other"', f"{export}\n" * 2))
        assert (only(twice).iterations, only(twice).tool_calls) == (2, 1)  # the same spans again
        assert (only(nameless).iterations, only(nameless).tool_calls) == (4, 2)

    def test_a_trajectorys_copied_context_is_left_out(self) -> None:
        run = only(SAMPLES / "atif" / "trajectory.json")
        assert len(run.calls or ()) == 2
        assert run.cost_usd == 0.003
        assert run.iterations == 2

    def test_more_cached_than_input_is_a_contradiction(self, tmp_path: Path) -> None:
        path = changed(
            SAMPLES / "atif" / "trajectory.json",
            tmp_path / "t.json",
            **{'"total_prompt_tokens": 2200': '"total_prompt_tokens": 20'},
        )
        run = only(path)
        assert run.usage is not None
        assert run.usage.input_tokens is None
        assert (run.provenance or {})["usage"] == "lower_bound"
        assert [finding.code for finding in findings(path)] == ["token_contradiction"]


class TestHarnesses:
    def test_terminal_bench_keeps_null_false_and_true_apart(self) -> None:
        resolved, failed, broken = runs(SAMPLES / "terminal-bench" / "results.json")
        assert (resolved.outcome, failed.outcome, broken.outcome) == ("passed", "failed", "errored")
        assert resolved.failure is not None  # timed out and yet resolved: both are kept
        assert resolved.failure.cause == "agent"
        assert broken.failure is not None
        assert broken.failure.cause == "infrastructure"
        assert resolved.usage is not None
        assert failed.usage is None  # 0 and 0: the agent does not count
        assert resolved.elapsed_seconds == 230

    def test_stated_accuracy_stands_beside_ours_with_both_denominators(self) -> None:
        (finding,) = findings(SAMPLES / "terminal-bench" / "results.json")
        assert "0.333333 over 3 trials" in finding.message
        assert "1 of 2 scored runs = 0.5" in finding.message

    def test_a_trial_in_its_own_file_is_the_same_run(self, tmp_path: Path) -> None:
        shutil.copy(SAMPLES / "terminal-bench" / "results.json", tmp_path / "results.json")
        trial = tmp_path / "sort-parcels" / "sort-parcels.1-of-3.demo"
        changed(SAMPLES / "terminal-bench" / "trial.json", trial / "results.json")
        changed(SAMPLES / "asciinema" / "v2.cast", trial / "sessions" / "agent.cast")
        found = runs(tmp_path)
        assert len(found) == 3
        (resolved,) = [run for run in found if run.passed]
        assert (resolved.extra or {})["x_recordings"]["agent.cast"]["recording_seconds"] == 3.75

    def test_a_harbor_trial_of_several_steps_adds_them_up(self) -> None:
        run = only(SAMPLES / "harbor" / "trial-steps.json")
        # 1000 + 500 input of which 400 + 100 cached, 100 + 20 output
        assert run.usage == Usage(input_tokens=1000, cache_read_tokens=500, output_tokens=120)
        assert run.cost_usd == pytest.approx(0.012)
        assert run.elapsed_seconds == 130  # from the first step's start to the last one's end
        assert run.failure is not None
        assert (run.outcome, run.failure.cause) == ("passed", "infrastructure")

    def test_subagents_count_where_the_totals_of_a_trajectory_leave_them_out(self) -> None:
        run = only(SAMPLES / "atif" / "subagents.json")
        # 1000 + 300 input of which 200 cached; both agents have a second step of the same session
        assert run.usage == Usage(input_tokens=1100, cache_read_tokens=200, output_tokens=70)
        assert [call.model for call in run.calls or ()] == ["openai/gpt-5", "openai/gpt-5-mini"]
        assert (run.cost_usd, run.iterations) == (0.005, 1)  # the other answer is the subagent's

    def test_harbor_keeps_an_exception_and_a_reward(self) -> None:
        run = only(SAMPLES / "harbor" / "trial.json")
        assert run.passed is True
        assert run.failure is not None
        assert run.failure.cause == "agent"
        assert run.elapsed_seconds == 600  # the agent's time, not the trial's

    def test_harbors_recorded_cost_is_the_priced_one(self) -> None:
        run = only(SAMPLES / "harbor" / "trial.json")
        assert run.cost_usd == 0.125  # 20,000 x $5 and 1,000 x $25 per million
        assert price_run(run, open_price_table("genai-prices")) == pytest.approx(0.125, abs=1e-9)

    def test_what_lies_in_a_trials_folder_is_about_the_trial(self, tmp_path: Path) -> None:
        trial = tmp_path / "job" / "sort-parcels__x1"
        changed(SAMPLES / "harbor" / "trial.json", trial / "result.json")
        changed(SAMPLES / "atif" / "trajectory.json", trial / "agent" / "trajectory.json")
        changed(
            SAMPLES / "claude-code" / "session.jsonl", trial / "agent" / "sessions" / "projects" / "-app" / "s.jsonl"
        )
        changed(SAMPLES / "ctrf" / "seconds.json", trial / "verifier" / "ctrf.json")
        run = only(tmp_path)
        assert run.task == "sort-parcels"
        assert run.tool_calls == 2  # the agent's own log is asked before the derived trajectory
        assert run.tests is not None
        assert run.tests.failed == ("test_b",)
        assert run.usage is not None
        assert run.usage.input_tokens == 20000  # counted lines do not outweigh the harness's total

    def test_a_job_with_fewer_results_than_trials_has_a_finding(self, tmp_path: Path) -> None:
        job = changed(SAMPLES / "harbor" / "job.json", tmp_path / "result.json")
        changed(SAMPLES / "harbor" / "trial.json", tmp_path / "sort-parcels__x1" / "result.json")
        missing = [each for each in findings(tmp_path) if each.code == "missing_trials"]
        assert [(each.message, each.where) for each in missing] == [
            ("1 of 4 trials of the job have a result; the others are not counted, not even as failed", str(job))
        ]
        for number in range(2, 5):
            changed(SAMPLES / "harbor" / "trial.json", tmp_path / f"x{number}" / "result.json", sort=f"s{number}")
        assert "missing_trials" not in {each.code for each in findings(tmp_path)}

    def test_a_stated_total_of_the_agent_outweighs_the_harness(self, tmp_path: Path) -> None:
        changed(SAMPLES / "harbor" / "trial.json", tmp_path / "result.json")
        changed(SAMPLES / "claude-json" / "result.json", tmp_path / "agent" / "stdout.log")
        run = only(tmp_path)
        assert run.usage is not None
        assert run.usage.output_tokens == 150
        assert any(finding.code == "harness_tokens" for finding in findings(tmp_path))

    def test_scyllas_command_line_leaves_a_run_of_its_own(self, tmp_path: Path) -> None:
        path = SAMPLES / "scylla" / "cli_result.json"
        run = only(path)
        assert (run.task, run.tier, run.tier_scheme, run.attempt) == ("test-004", "T2", "scylla-2026", 2)
        assert (run.passed, run.impl_rate, run.cost_usd, run.iterations) == (True, 0.75, 0.0421, 4)
        assert run.usage == Usage(output_tokens=830)  # whether its input holds the cached one is not told
        assert (run.provenance or {})["usage"] == "lower_bound"
        late = only(changed(path, tmp_path / "a" / "result.json", **{'"timed_out": false': '"timed_out": true'}))
        assert (late.outcome, late.failure and late.failure.message) == ("passed", "timed out")
        (wrong,) = gather([changed(path, tmp_path / "b" / "result.json", T2="T9")])
        assert isinstance(wrong, Rejected)
        assert "tier 'T9' is not in scheme" in wrong.reason

    def test_scylla_in_three_forms_is_one_run(self) -> None:
        folder = SAMPLES / "scylla"
        found = runs(*(path for path in sorted(folder.iterdir()) if path.name != "cli_result.json"))
        assert [(run.tier, run.passed, run.cost_usd) for run in found] == [("T1", False, 0.09), ("T0", True, 0.1351)]
        first = found[1]
        assert first.tier_scheme == "scylla-2026"
        assert first.judgments is not None
        assert first.judgments[0].criteria is not None  # "N/A" is no criterion
        assert [line.name for line in first.judgments[0].criteria] == ["functional"]
        assert first.impl_rate == 0.86
        assert first.duration_seconds == 203.1  # the agent's 35.3 and the judges' 167.8

    def test_scyllas_table_alone_tells_score_and_duration(self, tmp_path: Path) -> None:
        shutil.copy(SAMPLES / "scylla" / "runs.csv", tmp_path)
        first, second = runs(tmp_path)
        assert (first.duration_seconds, second.duration_seconds) == (203.1, 180.0)
        assert first.judgments == (Judgment(judge="consensus", weighted_score=0.9, passed=True),)
        # impl_rate 1.028 is not a fraction and is left out, so the score is what is known of the requirements met
        assert (second.impl_rate, second.judgments) == (
            None,
            (Judgment(judge="consensus", weighted_score=0.4, passed=False),),
        )

    def test_a_scylla_score_that_its_judges_do_not_give_is_told(self, tmp_path: Path) -> None:
        for name in ("runs.csv", "judges.csv"):
            shutil.copy(SAMPLES / "scylla" / name, tmp_path)
        assert "stated_score" not in {finding.code for finding in findings(tmp_path)}
        changed(SAMPLES / "scylla" / "runs.csv", tmp_path / "runs.csv", **{"1,0.9,0.86": "1,0.7,0.86"})
        [told] = [finding for finding in findings(tmp_path) if finding.code == "stated_score"]
        assert "score 0.7 is not the mean of the judges' scores" in told.message

    @pytest.mark.parametrize(("cell", "duration"), [("", None), ("nan", None), ("0", 0.0)])
    def test_a_scylla_duration_that_is_not_known_stays_unknown(
        self, tmp_path: Path, cell: str, duration: float | None
    ) -> None:
        changed(SAMPLES / "scylla" / "runs.csv", tmp_path / "runs.csv", **{",203.1,": f",{cell},"})
        assert runs(tmp_path)[0].duration_seconds == duration

    def test_a_negative_scylla_duration_is_set_aside_with_its_line(self, tmp_path: Path) -> None:
        changed(SAMPLES / "scylla" / "runs.csv", tmp_path / "runs.csv", **{",203.1,": ",-1,"})
        [rejected] = [item for item in gather([tmp_path]) if isinstance(item, Rejected)]
        assert (rejected.line, "duration_seconds" in rejected.reason) == (2, True)

    def test_both_scylla_layouts_say_tier_and_run(self, tmp_path: Path) -> None:
        for layout in ("T0/00/run_01", "completed/T0/00/run_01"):
            record = json.loads((SAMPLES / "scylla" / "run_result.json").read_text(encoding="utf-8"))
            record["workspace_path"] = ""
            folder = tmp_path / layout.split("/")[0] / "2026-02-01T00-00-00-test-002" / layout
            folder.mkdir(parents=True)
            (folder / "run_result.json").write_text(json.dumps(record), encoding="utf-8")
            run = only(folder)
            assert (run.tier, run.experiment, run.task) == ("T0", "2026-02-01T00-00-00-test-002", "test-002")

    def test_an_aider_exercise_in_two_languages_is_two_tasks_and_one_that_broke_is_a_run(self, tmp_path: Path) -> None:
        result: dict[str, Any] = json.loads((SAMPLES / "aider" / "aider.results.json").read_text(encoding="utf-8"))
        broken = {"exception": 'File "benchmark.py", line 1, in run_test_real\nOSError: gone\n'}
        for language, name, content in (("go", "a", result), ("java", "a", result), ("java", "b", broken)):
            folder = tmp_path / "run-1" / language / "exercises" / "practice" / name
            folder.mkdir(parents=True)
            (folder / ".aider.results.json").write_text(json.dumps(content), encoding="utf-8")
        found = {run.task: run for run in runs(tmp_path)}
        assert sorted(found) == [f"go/{result['testcase']}", "java/b", f"java/{result['testcase']}"]
        assert {run.experiment for run in found.values()} == {"run-1"}
        assert (found["java/b"].outcome, found["java/b"].failure) == (
            "errored",
            Failure(cause="unknown", message="OSError: gone"),
        )

    def test_mini_swe_agents_answers_count_whatever_interface_gave_them(self) -> None:
        run = only(SAMPLES / "mini-swe-agent" / "v2-responses.traj.json")
        # 1000 + 1200 input of which 400 + 1000 cached, 80 + 20 output of which 30 reasoning; a third is lost
        assert run.usage == Usage(input_tokens=800, cache_read_tokens=1400, output_tokens=70, reasoning_tokens=30)
        assert (run.iterations, run.tool_calls, run.cost_usd) == (3, 1, 0.03)
        assert run.failure == Failure(cause="agent", message="TimeExceeded")
        assert (run.provenance or {})["usage"] == "lower_bound"

    def test_rows_of_openhands_version_1_read_with_their_attempts(self) -> None:
        found = sorted(runs(SAMPLES / "openhands" / "output-v1.jsonl"), key=lambda run: run.attempt or 0)
        assert [(run.attempt, run.cost_usd) for run in found] == [(1, 0.02), (2, 0.04)]
        # 3000 input of which 1000 cached, 200 output of which 120 reasoning; two answers, each with a tool
        assert found[0].usage == Usage(
            input_tokens=2000,
            cache_read_tokens=1000,
            cache_write_5m_tokens=0,
            output_tokens=80,
            reasoning_tokens=120,
        )
        assert (found[0].model, found[0].tool_calls, found[0].iterations) == ("litellm_proxy/gpt-5.2", 2, 2)
        assert found[0].elapsed_seconds == 19

    def test_a_swe_bench_report_says_what_the_environment_broke(self, tmp_path: Path) -> None:
        report: dict[str, Any] = json.loads((SAMPLES / "swe-bench" / "run-report.json").read_text(encoding="utf-8"))
        broken, error = report["unresolved_ids"][0], report["error_ids"][0]
        report |= {"infra_failure_ids": [broken], "failure_reasons": {broken: "disk full", error: "no log"}}
        (tmp_path / "report.json").write_text(json.dumps(report), encoding="utf-8")
        by_task = {run.task: run.failure for run in runs(tmp_path / "report.json")}
        assert by_task[broken] == Failure(cause="infrastructure", message="disk full")
        assert by_task[error] == Failure(cause="unknown", message="no log")

    def test_a_rate_above_one_is_left_out_with_a_finding(self) -> None:
        assert any(finding.code == "rate_out_of_range" for finding in findings(SAMPLES / "scylla" / "runs.csv"))

    def test_a_trajectory_with_its_prediction_and_verdict_is_one_run(self, tmp_path: Path) -> None:
        for name, file in (("trajs", "swe-agent/demo__parcels-1.traj"), ("results", "swe-bench/report.json")):
            (tmp_path / name).mkdir()
            shutil.copy(SAMPLES / file, tmp_path / name)
        run = only(tmp_path)
        assert (run.agent, run.passed, run.cost_usd) == ("swe-agent", True, 0.31)
        assert run.tests is not None
        assert run.tests.total == 2

    def test_a_swe_bench_report_tells_failed_from_broken(self) -> None:
        by_task = {run.task: run for run in runs(SAMPLES / "swe-bench" / "run-report.json")}
        outcomes = {task[-1]: run.outcome for task, run in by_task.items()}
        assert outcomes == {"1": "passed", "2": "failed", "3": "failed", "4": "errored"}

    def test_an_inspect_log_that_broke_off_reads_from_its_journal(self, tmp_path: Path) -> None:
        import zipfile

        broken = tmp_path / "broken.eval"
        with zipfile.ZipFile(SAMPLES / "inspect" / "log.eval") as whole, zipfile.ZipFile(broken, "w") as part:
            for name in whole.namelist():
                if name != "header.json":
                    part.writestr(name, whole.read(name))
        assert [run.passed for run in runs(broken)] == [True, False]
        assert runs(broken)[1].impl_rate == 0.5

    def test_inspects_accuracy_stands_over_the_samples_it_scored(self, tmp_path: Path) -> None:
        log: dict[str, Any] = json.loads((SAMPLES / "inspect" / "log.json").read_text(encoding="utf-8"))
        log["results"]["scores"][0]["scored_samples"] = 1
        (tmp_path / "log.json").write_text(json.dumps(log), encoding="utf-8")
        (said,) = (finding.message for finding in findings(tmp_path) if finding.code == "stated_accuracy")
        assert "over 1 trial (samples scored by Inspect, all epochs" in said

    def test_an_older_inspect_log_keeps_its_events_in_a_transcript(self, tmp_path: Path) -> None:
        log: dict[str, Any] = json.loads((SAMPLES / "inspect" / "log.json").read_text(encoding="utf-8"))
        for sample in log["samples"]:
            times = ("2024-10-01T10:00:07+00:00", "2024-10-01T10:00:00+00:00")
            sample.pop("events", None)
            sample |= {"started_at": None, "completed_at": None}
            sample["transcript"] = {"events": [{"timestamp": time} for time in times], "content": {}}
        (tmp_path / "log.json").write_text(json.dumps(log), encoding="utf-8")
        assert {run.elapsed_seconds for run in runs(tmp_path)} == {7.0}

    def test_a_number_that_python_could_not_work_out_is_unknown(self, tmp_path: Path) -> None:
        log = (SAMPLES / "inspect" / "log.json").read_text(encoding="utf-8")
        path = tmp_path / "log.json"
        path.write_text(log.replace('"status": "success"', '"status": "success", "x": ["\\"NaN", NaN, -Infinity]'))
        assert path.read_text() != log
        assert [run.passed for run in runs(path)] == [run.passed for run in runs(SAMPLES / "inspect" / "log.json")]

    def test_code_that_imports_a_task_is_no_table_of_runs(self, tmp_path: Path) -> None:
        (tmp_path / "evals.py").write_text("from inspect_ai import Task, task\n", encoding="utf-8")
        assert all(isinstance(item, Finding) for item in gather([tmp_path]))


class TestReports:
    def test_ctrf_in_seconds_and_in_milliseconds_give_the_same_seconds(self) -> None:
        one, other = (only(SAMPLES / "ctrf" / f"{unit}.json") for unit in ("seconds", "milliseconds"))
        assert (one.extra or {})["x_test_seconds"] == (other.extra or {})["x_test_seconds"] == 2.5
        assert one.elapsed_seconds == other.elapsed_seconds == 2.5

    def test_ctrf_without_times_is_told_by_its_durations(self, tmp_path: Path) -> None:
        for name, expected in (("seconds", 1.75), ("milliseconds", 1.75)):
            report: dict[str, Any] = json.loads((SAMPLES / "ctrf" / f"{name}.json").read_text(encoding="utf-8"))
            for key in ("start", "stop"):
                del report["results"]["summary"][key]
            path = tmp_path / f"{name}.json"
            path.write_text(json.dumps(report), encoding="utf-8")
            assert (only(path).extra or {})["x_test_seconds"] == expected

    def test_ctrf_times_of_a_clock_that_starts_at_the_run_are_no_dates(self, tmp_path: Path) -> None:
        report: dict[str, Any] = json.loads((SAMPLES / "ctrf" / "milliseconds.json").read_text(encoding="utf-8"))
        report["results"]["summary"] |= {"start": 1000, "stop": 3500}
        (tmp_path / "report.json").write_text(json.dumps(report), encoding="utf-8")
        run = only(tmp_path / "report.json")
        assert (run.started_at, run.ended_at, (run.extra or {})["x_test_seconds"]) == (None, None, 2.5)

    def test_recordings_of_all_versions_last_as_long(self) -> None:
        found = [only(SAMPLES / "asciinema" / name) for name in ("v1.json", "v2.cast", "v3.cast")]
        assert [(run.extra or {})["x_recording_seconds"] for run in found] == [3.75, 3.75, 3.75]
        assert [(run.extra or {}).get("x_recorded_inputs") for run in found] == [None, 2, 2]

    def test_a_junit_case_that_an_attribute_says_did_not_run_is_not_passed(self) -> None:
        run = only(SAMPLES / "junit" / "attributes.xml")
        assert run.tests is not None
        assert (run.tests.passed, run.tests.failed) == (("Parcel::Sums",), ("folds", "opens"))
        assert (run.extra or {})["x_tests_skipped"] == 2

    def test_junit_counts_cases_whatever_the_suite_states(self) -> None:
        run = only(SAMPLES / "junit" / "report.xml")
        assert run.tests is not None
        assert (run.tests.passed, run.tests.failed, run.tests.errors) == (
            ("test_parcels::test_sum",),
            ("test_parcels::test_sort",),
            ("test_parcels::test_io",),
        )

    def test_a_report_beside_one_session_is_that_sessions(self, tmp_path: Path) -> None:
        changed(SAMPLES / "codex" / "rollout.jsonl", tmp_path / "rollout.jsonl")
        changed(SAMPLES / "junit" / "report.xml", tmp_path / "junit.xml")
        run = only(tmp_path)
        assert run.agent == "codex"
        assert run.tests is not None
        assert run.outcome == "failed"

    def test_a_report_beside_two_sessions_is_nobodys(self, tmp_path: Path) -> None:
        changed(SAMPLES / "codex" / "rollout.jsonl", tmp_path / "rollout.jsonl")
        changed(SAMPLES / "gemini-cli" / "session.json", tmp_path / "session.json")
        changed(SAMPLES / "junit" / "report.xml", tmp_path / "junit.xml")
        assert len(runs(tmp_path)) == 3
        assert {finding.code for finding in findings(tmp_path)} == {"not_attached", "stated_count"}


def test_a_file_named_by_the_user_that_nobody_knows_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello", encoding="utf-8")
    (item,) = gather([path])
    assert isinstance(item, Rejected)
    (passed_over,) = gather([tmp_path])  # in a folder it is only told
    assert isinstance(passed_over, Finding)
    assert (passed_over.code, passed_over.severity, passed_over.where) == ("not_used", "info", str(path))
