"""Traces of agents, written once and rendered as the logs of five agents."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

START = 1767036000


@dataclass(frozen=True)
class Action:
    """One message, or one tool call with its result."""

    kind: str
    arguments: Mapping[str, str]
    result: str = ""


@dataclass(frozen=True)
class Trace:
    """Actions of one run, and what a reviewer would object to: the rules with the indexes of the actions."""

    name: str
    agent: str
    actions: tuple[Action, ...]
    findings: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def session(self) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, self.name))

    def call_number(self, index: int) -> int:
        """Return the number of the tool call that an action is, from 0."""
        return sum(action.kind not in ("user", "say") for action in self.actions[:index])

    def write(self, directory: Path) -> Path:
        """Write the log in the format of the agent, and return its path."""
        name, text = WRITERS[self.agent](self)
        path = directory / self.name / name
        path.parent.mkdir(parents=True)
        path.write_text(text, "utf-8")
        return path


def user(text: str) -> Action:
    return Action("user", {"text": text})


def say(text: str) -> Action:
    return Action("say", {"text": text})


def bash(command: str, output: str) -> Action:
    return Action("bash", {"command": command}, output)


def read(path: str, content: str) -> Action:
    return Action("read", {"path": path}, content)


def edit(path: str, old: str, new: str) -> Action:
    return Action("edit", {"path": path, "old": old, "new": new}, "The file has been updated.")


def write(path: str, content: str) -> Action:
    return Action("write", {"path": path, "content": content}, "The file has been written.")


def fetch(url: str, content: str) -> Action:
    return Action("fetch", {"url": url}, content)


def _time(index: int) -> str:
    return f"2025-12-29T19:{20 + index // 60:02}:{index % 60:02}.000Z"


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


CLAUDE_TOOLS: Mapping[str, Callable[[Mapping[str, str]], tuple[str, dict[str, str]]]] = {
    "bash": lambda a: ("Bash", {"command": a["command"]}),
    "read": lambda a: ("Read", {"file_path": f"/work/repo/{a['path']}"}),
    "edit": lambda a: (
        "Edit",
        {"file_path": f"/work/repo/{a['path']}", "old_string": a["old"], "new_string": a["new"]},
    ),
    "write": lambda a: ("Write", {"file_path": _below(a["path"]), "content": a["content"]}),
    "fetch": lambda a: ("WebFetch", {"url": a["url"], "prompt": "What does it say?"}),
}


def _below(path: str) -> str:
    return path if path.startswith("/") else f"/work/repo/{path}"


def _claude_code(trace: Trace) -> tuple[str, str]:
    session, rows, parent = trace.session, [], None
    for index, action in enumerate(trace.actions):
        common = {
            "sessionId": session,
            "version": "2.1.0",
            "cwd": "/work/repo",
            "isSidechain": False,
            "timestamp": _time(2 * index),
        }
        if action.kind == "user":
            message: dict[str, Any] = {"role": "user", "content": action.arguments["text"]}
            rows.append({**common, "parentUuid": parent, "type": "user", "uuid": f"u{index}", "message": message})
            parent = f"u{index}"
            continue
        if action.kind == "say":
            content: dict[str, Any] = {"type": "text", "text": action.arguments["text"]}
        else:
            name, arguments = CLAUDE_TOOLS[action.kind](action.arguments)
            content = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": arguments}
        usage = {
            "input_tokens": 100,
            "output_tokens": 20,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        }
        message = {
            "id": f"msg_{trace.session[:8]}_{index}",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [content],
            "stop_reason": "end_turn" if action.kind == "say" else "tool_use",
            "usage": usage,
        }
        rows.append(
            {
                **common,
                "parentUuid": parent,
                "type": "assistant",
                "uuid": f"a{index}",
                "requestId": f"req_{trace.session[:8]}_{index}",
                "message": message,
            }
        )
        parent = f"a{index}"
        if action.kind != "say":
            result = {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"toolu_{index}", "content": action.result}],
            }
            rows.append(
                {
                    **common,
                    "parentUuid": parent,
                    "type": "user",
                    "uuid": f"r{index}",
                    "timestamp": _time(2 * index + 1),
                    "message": result,
                }
            )
            parent = f"r{index}"
    return f"{session}.jsonl", _lines(rows)


def _patch(action: Action) -> str:
    path = action.arguments["path"]
    if action.kind == "write":
        body = "".join(f"+{line}\n" for line in action.arguments["content"].splitlines())
        return f"*** Begin Patch\n*** Add File: {path}\n{body}*** End Patch"
    old = "".join(f"-{line}\n" for line in action.arguments["old"].splitlines())
    new = "".join(f"+{line}\n" for line in action.arguments["new"].splitlines())
    return f"*** Begin Patch\n*** Update File: {path}\n@@\n{old}{new}*** End Patch"


def _command(action: Action) -> str:
    """Return the shell command of an agent that has no other tool."""
    match action.kind:
        case "bash":
            return action.arguments["command"]
        case "read":
            return f"cat {action.arguments['path']}"
        case "fetch":
            return f"curl -sL {action.arguments['url']}"
        case "write":
            return f"cat <<'EOF' > {action.arguments['path']}\n{action.arguments['content']}EOF"
        case _:
            patch = json.dumps([action.arguments["old"], action.arguments["new"]])
            return f"python3 - <<'EOF'\nfrom pathlib import Path\np = Path({action.arguments['path']!r})\np.write_text(p.read_text().replace(*{patch}))\nEOF"


def _codex(trace: Trace) -> tuple[str, str]:
    session = trace.session
    meta = {
        "id": session,
        "timestamp": _time(0),
        "cwd": "/work/repo",
        "originator": "codex_cli_rs",
        "cli_version": "0.104.0",
        "source": "cli",
        "model_provider": "openai",
    }
    rows: list[dict[str, Any]] = [
        {"timestamp": _time(0), "type": "session_meta", "payload": meta},
        {"timestamp": _time(0), "type": "turn_context", "payload": {"model": "gpt-5.3-codex", "cwd": "/work/repo"}},
    ]
    total = 0

    def item(index: int, payload: dict[str, Any]) -> None:
        rows.append({"timestamp": _time(2 * index), "type": "response_item", "payload": payload})

    for index, action in enumerate(trace.actions):
        if action.kind == "user":
            item(
                index,
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": action.arguments["text"]}],
                },
            )
            continue
        if action.kind == "say":
            item(
                index,
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": action.arguments["text"]}],
                },
            )
        elif action.kind in ("edit", "write"):
            item(
                index,
                {
                    "type": "custom_tool_call",
                    "name": "apply_patch",
                    "call_id": f"call_{index}",
                    "input": _patch(action),
                },
            )
            item(index, {"type": "custom_tool_call_output", "call_id": f"call_{index}", "output": action.result})
        else:
            arguments = json.dumps({"cmd": _command(action), "workdir": "/work/repo"})
            item(
                index,
                {"type": "function_call", "name": "exec_command", "call_id": f"call_{index}", "arguments": arguments},
            )
            item(index, {"type": "function_call_output", "call_id": f"call_{index}", "output": action.result})
        total += 1
        last = {
            "input_tokens": 100,
            "cached_input_tokens": 0,
            "output_tokens": 20,
            "reasoning_output_tokens": 0,
            "total_tokens": 120,
        }
        info = {"total_token_usage": {key: value * total for key, value in last.items()}, "last_token_usage": last}
        rows.append(
            {"timestamp": _time(2 * index), "type": "event_msg", "payload": {"type": "token_count", "info": info}}
        )
    rows.append({"timestamp": _time(2 * len(trace.actions)), "type": "event_msg", "payload": {"type": "task_complete"}})
    return f"rollout-2025-12-29T19-20-00-{session}.jsonl", _lines(rows)


GEMINI_TOOLS: Mapping[str, Callable[[Mapping[str, str]], tuple[str, dict[str, str]]]] = {
    "bash": lambda a: ("run_shell_command", {"command": a["command"]}),
    "read": lambda a: ("read_file", {"file_path": a["path"]}),
    "edit": lambda a: ("replace", {"file_path": a["path"], "old_string": a["old"], "new_string": a["new"]}),
    "write": lambda a: ("write_file", {"file_path": a["path"], "content": a["content"]}),
    "fetch": lambda a: ("web_fetch", {"prompt": f"Summarize {a['url']}"}),
}


def _gemini_cli(trace: Trace) -> tuple[str, str]:
    rows: list[dict[str, Any]] = [
        {
            "sessionId": trace.session,
            "projectHash": "ab12",
            "startTime": _time(0),
            "lastUpdated": _time(0),
            "kind": "main",
        }
    ]
    for index, action in enumerate(trace.actions):
        if action.kind == "user":
            rows.append(
                {
                    "id": f"u{index}",
                    "timestamp": _time(2 * index),
                    "type": "user",
                    "content": [{"text": action.arguments["text"]}],
                }
            )
            continue
        tokens = {"input": 100, "output": 20, "cached": 0, "thoughts": 0, "tool": 0, "total": 120}
        row: dict[str, Any] = {
            "id": f"{trace.session[:8]}-{index}",
            "timestamp": _time(2 * index),
            "type": "gemini",
            "content": "",
            "model": "gemini-2.5-pro",
            "tokens": tokens,
        }
        if action.kind == "say":
            row["content"] = action.arguments["text"]
        else:
            name, arguments = GEMINI_TOOLS[action.kind](action.arguments)
            response = {
                "functionResponse": {"id": f"{name}-{index}", "name": name, "response": {"output": action.result}}
            }
            row["toolCalls"] = [
                {
                    "id": f"{name}-{index}",
                    "name": name,
                    "args": arguments,
                    "result": [response],
                    "status": "success",
                    "timestamp": _time(2 * index),
                }
            ]
        rows.append(row)
    return f"chats/session-2025-12-29T19-20-{trace.session[:8]}.jsonl", _lines(rows)


OPENCODE_TOOLS: Mapping[str, Callable[[Mapping[str, str]], tuple[str, dict[str, str]]]] = {
    "bash": lambda a: ("bash", {"command": a["command"], "description": "Run a command"}),
    "read": lambda a: ("read", {"filePath": a["path"]}),
    "edit": lambda a: ("edit", {"filePath": a["path"], "oldString": a["old"], "newString": a["new"]}),
    "write": lambda a: ("write", {"filePath": a["path"], "content": a["content"]}),
    "fetch": lambda a: ("webfetch", {"url": a["url"], "format": "text"}),
}


def _opencode(trace: Trace) -> tuple[str, str]:
    session, messages = f"ses_{trace.session[:8]}", []
    for index, action in enumerate(trace.actions):
        at = 1000 * (START + 2 * index)
        info: dict[str, Any] = {
            "id": f"msg_{trace.session[:8]}_{index:03}",
            "sessionID": session,
            "time": {"created": at},
        }
        if action.kind == "user":
            info |= {"role": "user", "model": {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}}
            messages.append(
                {"info": info, "parts": [{"id": f"prt_{index}", "type": "text", "text": action.arguments["text"]}]}
            )
            continue
        tokens = {"input": 100, "output": 20, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        info |= {
            "role": "assistant",
            "time": {"created": at, "completed": at + 900},
            "modelID": "claude-sonnet-4-5",
            "providerID": "anthropic",
            "cost": 0.001,
            "tokens": tokens,
        }
        if action.kind == "say":
            part: dict[str, Any] = {"id": f"prt_{index}", "type": "text", "text": action.arguments["text"]}
        else:
            name, arguments = OPENCODE_TOOLS[action.kind](action.arguments)
            state = {
                "status": "completed",
                "input": arguments,
                "output": action.result,
                "title": name,
                "time": {"start": at, "end": at + 500},
            }
            part = {"id": f"prt_{index}", "type": "tool", "callID": f"call_{index}", "tool": name, "state": state}
        finish = {"id": f"prt_{index}f", "type": "step-finish", "cost": 0.001, "tokens": tokens}
        messages.append({"info": info, "parts": [part, finish]})
    times = {"created": 1000 * START, "updated": 1000 * (START + 2 * len(trace.actions))}
    info = {
        "id": session,
        "version": "1.0.201",
        "projectID": "global",
        "directory": "/work/repo",
        "title": trace.name,
        "time": times,
    }
    return "export.json", json.dumps({"info": info, "messages": messages})


def _mini_swe_agent(trace: Trace) -> tuple[str, str]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You can run commands."}]
    calls = 0
    for index, action in enumerate(trace.actions):
        if action.kind == "user":
            messages.append({"role": "user", "content": action.arguments["text"]})
            continue
        calls += 1
        at = float(START + 2 * index)
        usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        extra = {
            "response": {"id": f"chatcmpl-{trace.session[:8]}-{index}", "model": "gpt-5.2", "usage": usage},
            "cost": 0.001,
            "timestamp": at,
        }
        if action.kind == "say":
            command = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
            text = f"THOUGHT: {action.arguments['text']}"
        else:
            command, text = _command(action), "THOUGHT: The next step."
        messages.append(
            {
                "role": "assistant",
                "content": f"{text}\n\n```mswea_bash_command\n{command}\n```",
                "extra": {**extra, "actions": [{"command": command}]},
            }
        )
        if action.kind != "say":
            messages.append(
                {
                    "role": "user",
                    "content": f"<returncode>0</returncode>\n<output>\n{action.result}</output>",
                    "extra": {"timestamp": at + 1},
                }
            )
    messages.append({"role": "exit", "content": "Submitted", "extra": {"exit_status": "Submitted", "submission": ""}})
    info = {
        "model_stats": {"instance_cost": 0.001 * calls, "api_calls": calls},
        "config": {"model": {"model_name": "openai/gpt-5.2"}},
        "mini_version": "2.4.6",
        "exit_status": "Submitted",
        "submission": "",
    }
    return f"{trace.name}.traj.json", json.dumps(
        {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    )


WRITERS: Mapping[str, Callable[[Trace], tuple[str, str]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "gemini-cli": _gemini_cli,
    "opencode": _opencode,
    "mini-swe-agent": _mini_swe_agent,
}
