"""Calls of every question that is declared once, for the laws over all of them."""

from __future__ import annotations

import json
import shutil
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import steelyard as sy
from arena_results import filled, learning, measured, rated_arena
from steelyard.demo import demo_files
from steelyard.questions import Answer, Question, question_named
from steelyard.questions.arena.model_fit import arena_model_fit
from steelyard.questions.arena.review_exclude import arena_review_exclude
from steelyard.questions.arena.season_create import arena_season_create
from steelyard.questions.arena.user_add import arena_user_add
from steelyard.questions.canon import show_canons
from steelyard.questions.read import RunReading
from steelyard.records import Canon, encode_run
from steelyard.store import open_store, retire_canon, set_canon

SAMPLES = Path(__file__).parents[1] / "samples"


@dataclass(frozen=True, eq=False)
class Case:
    """One call: a question with options."""

    question: str
    options: dict[str, Any]  # Any: values of options
    source: str | None = "runs.jsonl"
    """Input, below the folder of `write_inputs`; None for a question without one, `arena.db` for an arena."""

    @property
    def name(self) -> str:
        return " ".join([self.question, *(f"{name}={value}" for name, value in self.options.items())])

    @property
    def declared(self) -> Question:
        return question_named(self.question)

    @property
    def is_remote(self) -> bool:
        """Whether a server can be asked: the question has a route, and no option is for local use only."""
        return bool(self.declared.path) and not any(self.declared.options.declared[name].local for name in self.options)

    def inputs(self, folder: Path) -> list[Path | str]:
        if self.source is None:
            return []
        return [store_address(folder, self.source) if self.declared.has_store_option else folder / self.source]

    def ask(self, *source: object) -> Answer:
        answer = self.declared.function(*source, **self.options)
        assert isinstance(answer, Answer)
        return answer

    def words(self, folder: Path) -> list[str]:
        """The command line."""
        store = ["--store"] if self.declared.has_store_option else []
        command = [word.format_map(self.options) for word in self.declared.command.split()]
        inputs = list(map(str, self.inputs(folder)))
        words = [*command, *store, *([] if self.declared.input_last else inputs)]
        in_command = [name for name in self.options if f"{{{name}}}" in self.declared.command]
        declared = self.declared.options.declared.items()
        places = [name for name, option in declared if option.positional and name not in in_command]
        words += [str(self.options[name]) for name in places if name in self.options]
        words += inputs if self.declared.input_last else []
        for name, value in self.options.items():
            if name in (*places, *in_command):
                continue
            for text in [value] if not isinstance(value, list) else value:
                flag = name.replace("_", "-")
                words += [f"--no-{flag}"] if text is False else [f"--{flag}", *([] if text is True else [str(text)])]
        return words


def store_address(folder: Path, name: str) -> str:
    return f"sqlite:///{folder}/{name}"


SESSION = "5e55a0aa-0000-4000-8000-000000000001"
"""Id of the session in `session.jsonl`."""
TRIAL = "707a15fb24e761a4"
"""Id of the trial that is done, which depends on the plan alone."""

CASES = [
    Case("usage", {"tz": "UTC"}),
    Case("usage", {"by": "model", "tz": "UTC", "budget": 1}),
    Case("usage", {"by": "month,agent", "tz": "UTC", "since": "2026-01-01"}),
    Case("measure", {}),
    Case("measure", {"by": "tier"}),
    Case("measure", {"by": "tier", "interval": "auto", "weight_by": "tasks"}),
    Case("measure", {"by": "tier", "metrics": "pass_rate,r_prog,tier_uplift,component_cost_usd"}),
    Case("report", {"resamples": 200}),
    Case("report", {"metrics": "composite_score,r_prog", "sections": "measure,runs,findings", "title": "Progress"}),
    Case("compare", {"baseline": "tier=T0", "candidate": "tier=T1"}),
    Case("compare", {"baseline": "tier=T0", "candidate": ["tier=T1", "tier=T2"], "correction": "bh"}),
    Case("compare", {"baseline": "tier=T0", "candidate": "tier=T6", "metrics": "pass_rate", "effect_size": 0.05}),
    Case("rank", {"by": "tier"}),
    Case("rank", {"by": "tier", "metrics": "pass_rate,cost_usd", "order": "bradley-terry"}),
    Case("matrix", {"by": "tier"}),
    Case("matrix", {"by": "tier", "order": "disagreement", "baseline": "tier=T0", "candidate": "tier=T6"}),
    Case("matrix", {"by": "tier", "metric": "cost_usd"}),
    Case("completeness", {}),
    Case("completeness", {"by": "tier"}),
    Case("show", {"run": "demo-T3-fix-race-01"}),
    Case("show", {"run": "a", "diff": "b"}, source="outputs.jsonl"),
    Case("show_steps", {"run": SESSION, "steps": "2:5"}, "session.jsonl"),
    Case("show_steps", {"run": SESSION, "step": 3}, "session.jsonl"),
    Case("find", {"pattern": "count"}, "session.jsonl"),
    Case("find", {"pattern": "print", "tool": "Write,Bash", "context": 5}, "session.jsonl"),
    Case("integrity", {}, "violations.jsonl"),
    Case("integrity", {"by": "agent", "severity": "violation", "confidence": 0.9}, "violations.jsonl"),
    Case("failures", {}),
    Case("failures", {"by": "tier"}),
    Case("failures", {"by": "agent"}, "session.jsonl"),
    Case("judges", {}),
    Case("judges", {"by": "tier", "confidence": 0.9}),
    Case("explain", {"metric": "composite_score", "run": "demo-T3-fix-race-01"}),
    Case("explain", {"metric": "cost_of_pass", "by": "tier"}),
    Case("explain", {"metric": "grade"}),
    Case("explain", {"metric": "tier_uplift", "by": "tier"}),
    Case("explain", {"metric": "component_token_fraction", "by": "tier"}),
    Case("speedup", {}, "timings"),
    Case("speedup", {"task": "speed-up-join", "unscored": "exclude"}, "timings"),
    Case("speedup", {"interval": "none"}, "fceval-results.json"),
    Case("repeatability", {}, "clamp_runs.jsonl"),
    Case("repeatability", {"by": "task", "prompt": "clamp", "code": True}, "clamp_runs.jsonl"),
    Case("repeatability", {"repair": False}, "clamp_experiment.json"),
    Case("run_list", {}, source="plan-results"),
    Case("run_list", {"pending": True}, source="plan-results"),
    Case("run_show", {"trial": TRIAL}, source="plan-results"),
    Case("gate", {"rule": "pass_rate >= 0.3"}),
    Case("gate", {"rule": ["pass_rate >= 0.99", "cost_usd <= 100"]}),
    Case("gate", {"rule": "pass_rate >= 0.65"}),
    Case("mapping_list", {}, None),
    Case("formats", {}, None),
    Case("formats", {"name": "codex-exec"}, None),
    Case("arena_leaderboard", {}, "arena.db"),
    Case("arena_leaderboard", {"by": "submitter,team", "confidence": 0.9, "top": 2}, "arena.db"),
    Case("arena_task_leaderboard", {"task": "fix-race"}, "arena.db"),
    Case("arena_task_leaderboard", {"task": "fix-race", "score": "cost", "top": 2}, "arena.db"),
    Case(
        "arena_task_leaderboard",
        {"task": "fix-race", "agent": ["ant", "cat"], "submitter": "ada", "top": 1, "until": "2030-01-01"},
        "arena.db",
    ),
    Case("arena_task_leaderboard", {"task": "fix-race", "metrics": "pr_revert_rate"}, "tools/arena.db"),
    Case("arena_all_leaderboards", {"policy": "as-submitted"}, "arena.db"),
    Case("arena_agent", {"agent": "ant"}, "tools/arena.db"),
    Case("arena_agent", {"agent": "bee"}, "arena.db"),
    Case("arena_bias", {}, "arena.db"),
    Case("arena_compare_profiles", {"first": "arena-1", "second": "arena-community"}, "arena.db"),
    Case("arena_history", {}, "arena.db"),
    Case("arena_history", {"task": "fix-race", "submitter": "ada"}, "arena.db"),
    Case("arena_changes", {"since": "2026-01-01"}, "arena.db"),
    Case("arena_review_list", {}, "rated/arena.db"),
    Case("arena_review_list", {"task": "fix-race"}, "rated/arena.db"),
    Case("arena_review_log", {}, "arena.db"),
    Case("arena_review_log", {"task": "fix-race"}, "arena.db"),
    Case("arena_user_list", {}, "arena.db"),
    Case("arena_user_list", {"kind": "person"}, "arena.db"),
    Case("arena_rating_pending", {}, "arena.db"),
    Case("arena_rating_pending", {"reviewer": "xia", "task": "fix-race"}, "arena.db"),
    Case("arena_rating_list", {}, "arena.db"),
    Case("arena_rating_list", {"task": "fix-race", "confidence": 0.9}, "arena.db"),
    Case("arena_season_list", {}, "arena.db"),
    Case("arena_season_show", {"season": "2026-11"}, "arena.db"),
    Case("arena_season_verify", {}, "manifest.json"),
    Case("arena_task_list", {}, "arena.db"),
    Case("arena_task_list", {"category": ["debugging", "writing"]}, "arena.db"),
    Case("arena_task_show", {"task": "fix-race"}, "arena.db"),
    Case("arena_task_show", {"task": "task-1"}, "learning.db"),
    Case("arena_show", {"submission": "ant-1"}, "arena.db"),
    Case("arena_show", {"submission": "odd-1", "score": "speed_score"}, "arena.db"),
    Case("arena_show", {"submission": "s-0"}, "learning.db"),
    Case("metrics", {"spec": "repeatability"}, None),
    Case("metrics", {"name": "cost_of_pass"}, None),
    Case("doctor", {}, None),
    Case("power", {"pass_rate": 0.6, "attempts": 3, "icc": 0.3}, None),
    Case("power", {"pass_rate": 0.97}, None),
    Case("profiles", {}, None),
    Case("profiles", {"name": "outcome-1"}, None),
    Case("prices", {}, None),
    Case("prices", {"model": "claude-opus-4-6"}, None),
    Case("prices", {"model": "deepseek-chat", "on": "2026-01-01"}, None),
    Case("arena_model_abilities", {}, "learning.db"),
    Case("arena_model_predict", {"task": "task-1"}, "learning.db"),
    Case("arena_model_correctness", {}, "learning.db"),
    Case("arena_model_weights", {}, "rated/arena.db"),
    Case("arena_model_correctness", {"task": "task-0"}, "learning.db"),
]
"""At least one per question; together they show every part of an answer."""


@dataclass(frozen=True, eq=False)
class CommandCase:
    """A command whose function is not declared as a question, because it writes or reads more than runs."""

    words: tuple[str, ...]
    """Words of the command; `{folder}` is the folder of `write_inputs`."""
    function: Callable[[Path], Answer]
    everything: bool = False
    """Whether the command prints folded parts of the page too."""

    @property
    def name(self) -> str:
        return " ".join(self.words)

    def inputs(self, folder: Path) -> list[Path]:
        return [folder]

    def ask(self, folder: Path) -> Answer:
        return self.function(folder)

    def words_in(self, folder: Path) -> list[str]:
        return [word.format(folder=folder) for word in self.words]


def read_summary(*names: str) -> Callable[[Path], Answer]:
    """The summary of `read` of files."""

    def summary(folder: Path) -> Answer:
        reading = RunReading([folder / name for name in names])
        deque(reading, maxlen=0)
        return reading.summary

    return summary


COMMAND_CASES = [
    CommandCase(("read", "{folder}/runs.jsonl"), read_summary("runs.jsonl")),
    CommandCase(
        ("read", "{folder}/runs.jsonl", "{folder}/timings", "{folder}/rejected.jsonl", "{folder}/plan.toml"),
        read_summary("runs.jsonl", "timings", "rejected.jsonl", "plan.toml"),
    ),
    CommandCase(
        ("repeatability", "canon", "list", "--history", "--store", "sqlite:///{folder}/canons.db"),
        lambda folder: show_canons(store_address(folder, "canons.db"), None, history=True),
    ),
    CommandCase(
        ("repeatability", "canon", "show", "clamp", "--store", "sqlite:///{folder}/canons.db"),
        lambda folder: show_canons(store_address(folder, "canons.db"), "clamp", history=False),
        everything=True,
    ),
    CommandCase(
        ("serve", "token", "list", "--store", "sqlite:///{folder}/arena.db"),
        lambda folder: sy.list_tokens(store=store_address(folder, "arena.db")),
    ),
]
"""Calls of the commands that print an answer and are not questions."""


TASKS = sorted({run.task for run in sy.demo_runs()})[:10]


@cache
def demo_records() -> str:
    """Two demo runs per tier of ten tasks, as JSON Lines."""
    seen: Counter[tuple[str, str | None]] = Counter()
    lines = []
    for run in sorted(sy.demo_runs(), key=lambda run: run.id or ""):
        seen[run.task, run.tier] += 1
        if run.task in TASKS and seen[run.task, run.tier] <= 2:
            lines.append(encode_run(run).decode())
    return "\n".join(lines) + "\n"


PLAN = """
[plan]
name = "p"
[[tasks]]
id = "done"
prompt = "Do it."
[[tasks]]
id = "pending"
prompt = "Do it too."
[[agents]]
use = "nop"
"""


VIOLATIONS = "".join(
    json.dumps(row) + "\n"
    for row in (
        {
            "type": "user",
            "uuid": "1",
            "parentUuid": None,
            "sessionId": "5e55a0aa-0000-4000-8000-00000000000f",
            "version": "2.1.0",
            "timestamp": "2026-01-05T10:00:00.000Z",
            "message": {"role": "user", "content": "Fix the bug. Hidden tests check your change."},
        },
        {
            "type": "assistant",
            "uuid": "2",
            "parentUuid": "1",
            "sessionId": "5e55a0aa-0000-4000-8000-00000000000f",
            "version": "2.1.0",
            "timestamp": "2026-01-05T10:00:01.000Z",
            "requestId": "req_1",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "claude-sonnet-4-5",
                "content": [
                    {
                        "type": "tool_use",
                        "id": "toolu_1",
                        "name": "Bash",
                        "input": {"command": "git show origin/main:core.py"},
                    }
                ],
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 100, "output_tokens": 20},
            },
        },
    )
)
"""A session of Claude Code in which an integrity rule is broken."""


def write_canons(address: str) -> None:
    """Create a store with a retired and an active canon."""
    opened = open_store(address, create=True)
    for code in ("return x", "return max(x, 0)"):
        if code != "return x":
            retire_canon(opened, "clamp")
        canon = Canon(
            prompt="clamp",
            code=f"def clamp(x):\n    {code}\n",
            normalized=f"def clamp(x):\n    {code}\n",
            signature=sha256(code.encode()).hexdigest(),
            contract='{"id": "clamp"}',
            normalization_version="ast-1",
            oracle_version="oracle-1",
            distance_version="levenshtein-1",
        )
        set_canon(opened, canon)
    opened.close()


def write_inputs(folder: Path) -> Path:
    """Write the inputs that the cases are asked about."""
    (folder / "plan.toml").write_text(PLAN, "utf-8")
    sy.run(folder / "plan.toml", out=folder / "plan-results", only="done")
    (folder / "runs.jsonl").write_text(demo_records(), "utf-8")
    outputs = [{"id": id_, "task": "t", "output": {"text": f"one\n\tif {id_}:\n"}} for id_ in "ab"]
    rejected = [{"task": "t"}, {"task": "t", "cost_usd": -1}, {"task": "t", "usge": {}}]
    (folder / "rejected.jsonl").write_text("\n".join(map(json.dumps, rejected)), "utf-8")
    (folder / "outputs.jsonl").write_text("\n".join(map(json.dumps, outputs)), "utf-8")
    (folder / "violations.jsonl").write_text(VIOLATIONS, "utf-8")
    write_canons(store_address(folder, "canons.db"))
    arena = rated_arena(folder)
    arena_user_add(arena, "team", "blue")
    arena_user_add(arena, "person", "ada", name="Ada Lovelace", team="blue")
    arena_review_exclude(arena, "odd-1", by="ada", reason="odd")
    arena_season_create(arena, "2026-11").save(folder / "manifest.json")
    sy.create_token("ci", scopes=["submit", "review"], store=arena)
    arena.store.close()
    (folder / "rated").mkdir()
    weighted = rated_arena(folder / "rated")
    arena_model_fit(weighted)
    weighted.store.close()
    learning(folder).store.close()
    (folder / "tools").mkdir()
    measured(filled(folder / "tools"), folder / "tools").store.close()
    for name, content in demo_files():
        if name.startswith("timings/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    for name in (
        "speedup/fceval-results.json",
        "repeatability/clamp_runs.jsonl",
        "repeatability/clamp_experiment.json",
        "formats/claude-code/session.jsonl",
    ):
        shutil.copy(SAMPLES / name, folder)
    return folder
