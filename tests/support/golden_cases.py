"""Cases of the golden files: what every command, answer and page prints or writes.

`tests/test_golden.py` compares them with `tests/golden/`. `python tests/support/golden_cases.py --update [PATTERN]`
rewrites the files of the cases whose name contains PATTERN, such as `compare`. Review the change with `git diff`.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import contextlib
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import struct
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

import msgspec
import polars as pl

import steelyard as sy
from arena_results import learning, rated_arena
from command_cases import APPS, GIVEN, SAMPLES, UNENDING, arguments_of, made_files
from matchups import made_runs, write
from steelyard.cli import run
from steelyard.demo import demo_files
from steelyard.questions import Answer, ArenaSource, RunsSource
from steelyard.questions.arena.review_exclude import arena_review_exclude
from steelyard.questions.arena.season_create import arena_season_create
from steelyard.questions.arena.user_add import arena_user_add
from steelyard.records import Call, Judgment, Run, Usage
from steelyard.server import ROUTES, Route, ServeOptions
from steelyard.server._server_process import guarded, site_of

GOLDEN = Path(__file__).parents[1] / "golden"
UPDATE = "python tests/support/golden_cases.py --update"
NOW = 1_767_600_000_000_000_000
"""Time on the clock of every case, in nanoseconds: 2026-01-05 08:00 UTC."""
WIDTHS = ("80", "160")
SUMMARY = "summary.md"
ENDINGS = ("csv", "json", "html", "md", "svg", "png", "parquet")
EXCLUDED = {
    **dict.fromkeys(UNENDING, "does not end"),
    "doctor": "describes the machine",
    "serve token create": "prints a random token",
    "serve token revoke": "needs a token, whose id is random",
    "run trial": "runs an agent in the sandbox of the machine",
    "run list": "reads results of agents that ran",
    "run show": "reads results of agents that ran",
}
"""Commands without golden files, with the reason. Of `repeatability`, cases that run code are left out too."""
Files = dict[str, str]
"""Recorded texts by file name."""


@contextlib.contextmanager
def steady(folder: Path) -> Iterator[None]:
    """Set the directory, the clock, the time zone, the width and the environment of a case."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STEELYARD_")}
    fixed = {"TZ": "UTC", "COLUMNS": WIDTHS[0], "HOME": str(folder)}
    with contextlib.ExitStack() as stack:
        stack.callback(time.tzset)  # after the environment is restored
        stack.enter_context(contextlib.chdir(folder))
        stack.enter_context(patch.dict(os.environ, {**kept, **fixed}, clear=True))
        stack.enter_context(patch("steelyard.records._times.time_ns", lambda: NOW))
        time.tzset()
        yield


@cache
def workspace() -> Path:
    """Create the input files of all cases, once per process."""
    folder = Path(tempfile.mkdtemp(prefix="steelyard-golden-")).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with steady(folder), contextlib.redirect_stdout(io.StringIO()):
        made_files(Path())
        shutil.copytree(SAMPLES, "samples")
        for name, content in demo_files():
            if name.startswith(("logs/", "timings/", "plans/")):
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_bytes(content)
        write(Path("demo.jsonl"), _demo_runs())
        agents = _agent_runs()
        write(Path("agents.jsonl"), agents)
        for agent in ("ant", "bee"):
            write(Path(f"{agent}.jsonl"), [each for each in agents if each.agent == agent])
        write(Path("calls.jsonl"), _call_runs())
        Path("new.jsonl").write_text(
            '{"id": "new-1", "task_id": "fix-race", "total_tokens": 900, "tool_calls": 4, "agent": "ant"}\n'
            '{"id": "new-2", "task_id": "nowhere", "total_tokens": 1, "tool_calls": 1}\n'
        )
        _make_arenas(Path("arena"))
    return folder


def _demo_runs() -> list[Run]:
    """Return two runs of each of ten tasks of the demonstration in each of four tiers."""
    tiers, tasks = ("T0", "T1", "T2", "T5"), sorted({each.task for each in sy.demo_runs()})[:10]
    found = (each for each in sy.demo_runs() if each.tier in tiers and each.task in tasks)
    return [each for each in found if each.attempt in (1, 2)]


def _agent_runs() -> list[Run]:
    """Return runs of four agents with two judges; some lack a verdict, a cost or a judgment; one skips most tasks."""
    runs = []
    made = made_runs({"ant": 0.8, "bee": 0.5, "cat": 0.3, "dog": 0.6}, tasks=12, attempts=3)
    for place, each in enumerate(made[:120]):
        scores = [round(0.2 + 0.6 * bool(each.passed) + place * step % 7 / 35, 3) for step in (2, 3)]
        judgments = [Judgment(judge=name, weighted_score=score) for name, score in zip("pq", scores, strict=True)]
        changed = {
            "passed": each.passed if place % 13 else None,
            "cost_usd": each.cost_usd if place % 11 else None,
            "judgments": tuple(judgments[: 1 + bool(place % 5)]),
            "model": ("small", "large")[place % 2],
            "duration_seconds": 30.0 + place % 17,
        }
        runs.append(msgspec.structs.replace(each, **changed))
    return runs


def _call_runs() -> list[Run]:
    """Return runs with calls on several days: priced, without a price, without usage, as a lower bound."""
    runs = []
    for place in range(8):
        model = ("claude-sonnet-4", "claude-opus-4-5", "no-such-model")[place % 3]
        usage = Usage(input_tokens=100_000 * (place + 1), output_tokens=10_000 * place)
        at = datetime(2026, 1, 10 + place, 12, tzinfo=UTC)
        call = Call(model=model, at=at, usage=None if place == 4 else usage)
        told = {"usage": "lower_bound"} if place == 7 else None
        runs.append(Run(id=f"c{place}", task=f"t{place % 2}", agent="ant", calls=(call,), provenance=told))
    return runs


def _make_arenas(folder: Path) -> None:
    """Create an arena with ratings, reviews, people and a season, and one with fitted models."""
    folder.mkdir()
    arena = rated_arena(folder)
    arena_user_add(arena, "team", "blue")
    arena_user_add(arena, "person", "ada", name="Ada Lovelace", team="blue")
    arena_review_exclude(arena, "odd-1", by="ada", reason="odd")
    arena_season_create(arena, "2026-11").save(folder / "manifest.json")
    arena.store.close()
    learned = learning(folder)
    learned.store.close()


# Texts that are the same on every machine


def normalized(text: str) -> str:
    """Return the text without versions, directories and the last digits of numbers."""
    text = text.replace(str(workspace()), "FOLDER")
    for number in (sy.__version__, version("genai-prices")):
        text = re.sub(rf"(?<![\d.]){re.escape(number)}(?![\d.]*\d)", "VERSION", text)
    # The last digits depend on the processor.
    return re.sub(r"(?<![\w.])-?\d+\.\d{9,}(?:[eE][-+]?\d+)?", lambda found: f"{float(found[0]):.9g}", text)


def markup(text: str) -> str:
    """Return HTML or SVG with one element per line, without styles, scripts and digests."""
    text = re.sub(r"(<(style|script)\b[^>]*>).*?(</\2>)", r"\1\3", text, flags=re.DOTALL)
    text = re.sub(r"sha(256|384)-[\w+/=]+", "DIGEST", text)
    return re.sub(r">(?=<)", ">\n", normalized(text)) + "\n"


def page(text: str) -> str:
    """Return HTML with the title, the description and a digest of each figure; other files contain its SVG."""
    return markup(re.sub(r"<svg\b.*?</svg>", _figure_digest, text, flags=re.DOTALL))


def _figure_digest(svg: re.Match[str]) -> str:
    words = re.findall(r"<(?:title|desc)\b[^>]*>(.*?)</", svg[0], re.DOTALL)
    return f"<svg {hashlib.sha256(markup(svg[0]).encode()).hexdigest()[:16]}>{' | '.join(words[:2])}</svg>"


def _json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the keys of the rows, then the values of each row."""
    rows = list(rows)
    assert all(row.keys() == rows[0].keys() for row in rows)
    lines = [*(list(row) for row in rows[:1]), *(list(row.values()) for row in rows)]
    return "".join(json.dumps(line, ensure_ascii=False, default=str) + "\n" for line in lines)


def _written(path: Path) -> tuple[str, str]:
    """Return the name and the text of the golden file for a file that a command wrote."""
    if path.suffix == ".png":
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG")
        return f"{path.name}.txt", "PNG of {} x {}\n".format(*struct.unpack(">II", content[16:24]))
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path)
        columns = "".join(f"{name}: {kind}\n" for name, kind in frame.schema.items())
        return f"{path.name}.txt", normalized(f"{columns}\n{_json_lines(frame.iter_rows(named=True))}")
    text = path.read_text("utf-8")
    return path.name, {".html": page, ".svg": markup}.get(path.suffix, normalized)(text)


# Commands


@cache
def _arguments(command: str) -> set[str]:
    return set(arguments_of(APPS[command]))


def typed(words: Sequence[str]) -> tuple[str, str, int]:
    """Run a command and return its stdout, its stderr and its exit status."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(list(words))
    return normalized(out.getvalue()), normalized(err.getvalue()), status


def transcript(words: Sequence[str], out: str, err: str, status: int) -> str:
    """Return what a terminal would show."""
    shown = f"$ steelyard {shlex.join(words)}\n{out}"
    return f"{shown}{f'[stderr]{chr(10)}{err}' if err else ''}[exit status {status}]\n"


def command_files(words: Sequence[str], endings: Sequence[str] = ENDINGS) -> Files:
    """Run a command at both widths, with `--json`, with `--csv` and with `--out` for each ending."""
    command = max((name for name in APPS if words[: len(name.split())] == name.split()), key=len)
    arguments = _arguments(command)
    place = partial(fresh_folder, with_stores="--store" in arguments)
    files: Files = {}
    usual = ""
    for width in WIDTHS:
        with place(), patch.dict(os.environ, COLUMNS=width):
            out, err, status = typed(words)
            if Path(SUMMARY).exists():
                files[SUMMARY] = normalized(Path(SUMMARY).read_text("utf-8"))
        files[f"{width}.txt"] = transcript(words, out, err, status)
        usual = usual or err
    printed = [flag for flag in ("--json", "--csv") if flag in arguments]
    writes_file = "--out" in arguments and not command.startswith("run")  # those write a directory
    outs = [ending for ending in endings if writes_file]
    # With both flags, one run prints a format and writes another one.
    pairs = (
        list(zip_longest(printed, outs)) if len(printed) == 2 else [*zip_longest(printed, ()), *zip_longest((), outs)]
    )
    others = ""
    for flag, ending in pairs:
        path = Path(f"out.{ending}")
        added = [*([flag] if flag else []), *(["--out", path.name] if ending else [])]
        with place():
            out, err, status = typed([*words, *added])
            if path.is_file():
                name, text = _written(path)
                files[name] = text
        if flag:
            files[f"stdout.{flag[2:]}"] = out
        others += transcript(["...", *added], "" if flag else out, "" if err == usual else err, status)
    return files | ({"other.txt": others} if others else {})


@contextlib.contextmanager
def fresh_folder(*, with_stores: bool) -> Iterator[None]:
    """Change to a directory with links to the input files, and copies of the stores if a command may change them."""
    with tempfile.TemporaryDirectory() as folder:
        for path in workspace().iterdir():
            if with_stores and path.is_dir() and path.name == "arena":
                shutil.copytree(path, Path(folder) / path.name)
            else:
                (Path(folder) / path.name).symlink_to(path)
        with contextlib.chdir(folder):
            yield


ARENA = ("--store", "sqlite:///arena/arena.db")
MODELS = ("--store", "sqlite:///arena/learning.db")
QUICK = ("--resamples", "500")
COMMAND_WORDS: dict[str, Sequence[str]] = {
    "arena init": ("--store", "sqlite:///new.db"),
    "arena task show": ("fix-race", *ARENA),
    "arena user add": ("team", "red", "--name", "The Red Team", *ARENA),
    "arena submit": ("new.jsonl", *ARENA),
    "arena withdraw": ("ant-2", "--reason", "wrong model", "--as", "ada", *ARENA),
    "arena show": ("ant-1", *ARENA),
    "arena compare-profiles": ("arena-1", "arena-community", *ARENA),
    "arena review accept": ("cat-1", "--reason", "checked", "--as", "ada", *ARENA),
    "arena review exclude": ("cat-1", "--reason", "odd", "--as", "ada", *ARENA),
    "arena review reinstate": ("odd-1", "--as", "ada", *ARENA),
    "arena rating assign": ("fix-race", "--reviewers", "xia,yan,zoe,una", *ARENA),
    "arena rating add": ("ant-1", "--reviewer", "xia", "--score", "77.5", "--comment", "clear", *ARENA),
    "arena rating list": ("fix-race", *ARENA),
    "arena model fit": MODELS,
    "arena model abilities": MODELS,
    "arena model predict": ("task-1", *MODELS),
    "arena model correctness": ("task-0", *MODELS),
    "arena model weights": ARENA,
    "arena changes": ("--since", "2026-01-01", *ARENA),
    "arena season create": ("2026-12", *ARENA),
    "arena season show": ("2026-11", *ARENA),
    "arena season verify": ("arena/manifest.json", *ARENA),
    "compare": (*GIVEN["compare"], *QUICK),
    "gate": (*GIVEN["gate"], *QUICK),
    "rank": ("{runs}", *QUICK),
    "report": ("{runs}", *QUICK),
    "run": ("plans/tiers.toml", "--dry-run"),
    "run export": ("plans/faster.toml", "--to", "harbor"),
}
"""Words of commands that need others than those of `GIVEN`."""
MORE_COMMANDS = {
    "arena leaderboard of a task": ["arena", "leaderboard", "fix-race", *ARENA],
    "arena leaderboard by cost": ["arena", "leaderboard", "fix-race", "--score", "cost", "--top", "2", *ARENA],
    "arena leaderboard by agent": ["arena", "leaderboard", "--by", "agent", *ARENA],
    "arena history of a submitter": ["arena", "history", "--submitter", "ada", *ARENA],
    "arena rescore with a profile": ["arena", "rescore", "--profile", "arena-1", *ARENA],
    "arena model correctness of all": ["arena", "model", "correctness", *MODELS],
    "read logs": ["read", "logs"],
    "read rejected": ["read", "table.csv"],
    "metrics of one": ["metrics", "cost_of_pass"],
    "metrics of a specification": ["metrics", "--spec", "repeatability"],
    "formats of one": ["formats", "codex"],
    "profiles of one": ["profiles", "outcome-1"],
    **{f"schema {name}": ["schema", name] for name in ("task", "submission", "mapping", "plan")},
    "prices of a table": ["prices", "claude-opus-4-5", "--prices", "spec"],
    "gate with a summary": ["gate", "ant.jsonl", "--rule", "pass_rate >= 0.3", "--summary", SUMMARY, *QUICK],
    "error of an unknown metric": ["measure", "demo.jsonl", "--metrics", "pass_rat"],
    "error of a missing file": ["rank", "nowhere.jsonl"],
    "error of an unknown option": ["compare", "demo.jsonl", "--baselin", "tier=T0"],
    "error of a filter": ["measure", "demo.jsonl", "--where", "tier=T9"],
}


def command_words(command: str) -> list[str]:
    """Return the words of a command case with relative paths."""
    arguments = _arguments(command)
    files = {name: f"{name}.jsonl" for name in ("runs", "submissions")} | {
        "tasks": "tasks.toml",
        "targets": "targets.toml",
        "table": "table.csv",
        "timings": "samples/speedup/pyperf.json",
        "outputs": "samples/repeatability/clamp_runs.jsonl",
        "folder": ".",
    }
    takes_runs = bool({"FILES", "PATHS", "RUNS"} & arguments)
    given = COMMAND_WORDS.get(command, GIVEN.get(command, ["{runs}"] if takes_runs else []))
    words = [*command.split(), *(word.format(**files) for word in given)]
    return words if "--store" not in arguments or "--store" in words else [*words, *ARENA]


# Answers, on the command line and in Python


def question_files(verb: str, inputs: Sequence[str], flags: Sequence[str], options: dict[str, Any]) -> Files:
    """Ask on the command line and in Python; `flags` are options that only the command has."""
    files = command_files(question_words(verb, inputs, flags, options), ("html", "md"))
    ask: Callable[..., Answer] = getattr(sy, verb)
    try:
        result = ask(inputs[0] if len(inputs) == 1 else list(inputs), **options)
    except sy.SteelyardError as error:
        return files | {"print.txt": normalized(f"{type(error).__name__}: {error}\n")}
    files |= {
        "print.txt": normalized(f"{result}\n"),
        "repr.txt": normalized(f"{result!r}\n"),
        "notebook.html": page(result._repr_html_()),
        "rows.jsonl": normalized(_json_lines(result.to_dicts())),
    }
    for name in type(result).figure_names():
        with contextlib.suppress(sy.SteelyardError):
            files[f"figure-{name}.svg"] = markup(result.figure(name).svg)
    return files


def question_words(verb: str, inputs: Sequence[str], flags: Sequence[str], options: dict[str, Any]) -> list[str]:
    """Return the command for keywords of the Python function."""
    words = [verb, *inputs]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if (verb, name) == ("explain", "metric"):
            words.append(value)
        elif isinstance(value, bool):
            words.append(option if value else f"--no-{option[2:]}")
        else:
            for each in value if isinstance(value, list) else [value]:
                words += [option, str(each)]
    return [*words, *flags]


def question(verb: str, *inputs: str, flags: Sequence[str] = (), **options: Any) -> Callable[[], Files]:
    """Return a case of a question, with the keywords of its Python function."""
    return partial(question_files, verb, inputs, flags, options)


FEW = {"resamples": 500}
T1 = {"baseline": "tier=T0", "candidate": "tier=T1", **FEW}
ANT = {"baseline": "agent=bee", "candidate": "agent=ant", **FEW}
SPEEDUP = "samples/speedup"
CLAMP = "samples/repeatability"
QUESTIONS: dict[str, Callable[[], Files]] = {
    "measure of all runs": question("measure", "demo.jsonl"),
    "measure by tier": question("measure", "demo.jsonl", by="tier"),
    "measure every statistic": question("measure", "agents.jsonl", flags=["--all"], by="agent"),
    "measure with intervals": question("measure", "agents.jsonl", by="agent", interval="auto"),
    "measure every statistic with intervals": question(
        "measure", "agents.jsonl", flags=["--all"], by="agent", interval="auto", confidence=0.9
    ),
    "measure process metrics": question(
        "measure", "demo.jsonl", by="tier", metrics="r_prog,strategic_drift,cfp,pr_revert_rate,sub_agent_fraction"
    ),
    "measure components": question(
        "measure",
        "demo.jsonl",
        by="tier",
        metrics="pass_rate,component_tokens,component_token_fraction,component_cost_usd",
    ),
    "measure metrics of several kinds": question(
        "measure", "demo.jsonl", by="tier", metrics="pass_rate,total_tokens_all_kinds,tier_uplift,cost_of_pass"
    ),
    "measure across groups": question(
        "measure",
        "demo.jsonl",
        by="tier",
        metrics="pass_rate,tier_uplift,cost_delta,pass_rate_variance",
        base_tier="T2",
    ),
    "measure by two keys": question("measure", "agents.jsonl", by="agent,model"),
    "measure by task": question("measure", "agents.jsonl", by="task", metrics="pass_rate,cost_usd"),
    "measure weighted by task": question(
        "measure", "agents.jsonl", by="agent", weight_by="tasks", unscored="fail", interval="auto"
    ),
    "measure logs": question("measure", "logs", by="model"),
    "measure selected runs": question("measure", "demo.jsonl", by="tier", where="tier!=T0", since="2026-06-01"),
    "compare one candidate": question("compare", "demo.jsonl", **T1),
    "compare two candidates": question("compare", "demo.jsonl", **{**T1, "candidate": ["tier=T2", "tier=T5"]}),
    "compare flips": question("compare", "agents.jsonl", **ANT, metrics="pass_rate"),
    "compare with bh": question(
        "compare", "agents.jsonl", **{**ANT, "candidate": ["agent=ant", "agent=cat"]}, correction="bh"
    ),
    "compare with an effect size": question("compare", "agents.jsonl", **ANT, effect_size=0.05, metrics="pass_rate"),
    "compare with missing values": question("compare", "agents.jsonl", **ANT, metrics="cost_usd,impl_rate,r_prog"),
    "compare weighted by runs": question("compare", "agents.jsonl", **ANT, weight_by="runs", unscored="fail"),
    "rank by tier": question("rank", "demo.jsonl", by="tier", **FEW),
    "rank agents": question("rank", "agents.jsonl", **FEW),
    "rank with bradley-terry": question("rank", "agents.jsonl", by="agent", order="bradley-terry", **FEW),
    "rank with ranked pairs": question("rank", "agents.jsonl", by="agent", order="ranked-pairs", **FEW),
    "rank by pass rate with pass at k": question("rank", "agents.jsonl", by="agent", metrics="pass_rate", **FEW),
    "rank with more metrics": question(
        "rank", "agents.jsonl", by="agent", metrics="pass_rate,cost_usd,duration_seconds", **FEW
    ),
    "rank with low coverage": question("rank", "agents.jsonl", by="agent", min_task_coverage=0.1, **FEW),
    "gate passes": question("gate", "ant.jsonl", rule=["pass_rate >= 0.3", "cost_usd <= 5"], **FEW),
    "gate fails": question("gate", "ant.jsonl", rule=["pass_rate >= 0.99", "cost_usd <= 0.01"], **FEW),
    "gate is inconclusive": question("gate", "ant.jsonl", rule="pass_rate >= 0.8", **FEW),
    "gate against a baseline": question(
        "gate",
        "ant.jsonl",
        baseline="bee.jsonl",
        rule=["pass_rate >= baseline - 0.02", "cost_usd <= baseline * 1.1"],
        **FEW,
    ),
    "gate allows inconclusive": question(
        "gate", "bee.jsonl", baseline="ant.jsonl", rule="cost_usd <= baseline * 1.0", inconclusive="pass", **FEW
    ),
    "usage by day": question("usage", "calls.jsonl", by="day", prices="spec", tz="UTC"),
    "usage by model": question("usage", "calls.jsonl", by="model", prices="spec", tz="UTC", budget=5),
    "usage of logs": question("usage", "logs", by="day,model", tz="Europe/Berlin"),
    "usage of all": question("usage", "logs", tz="UTC"),
    "usage over budget": question("usage", "logs", tz="UTC", by="model", budget=0.01),
    "usage of an empty range": question("usage", "calls.jsonl", since="2027-01-01", prices="spec", tz="UTC"),
    "matrix by agent": question("matrix", "agents.jsonl", by="agent"),
    "matrix by discrimination": question("matrix", "demo.jsonl", by="tier", order="discrimination"),
    "matrix of cost": question("matrix", "agents.jsonl", by="agent", metric="cost_usd"),
    "matrix of two groups": question(
        "matrix", "agents.jsonl", by="agent", order="disagreement", baseline="agent=bee", candidate="agent=ant"
    ),
    "judges of agents": question("judges", "agents.jsonl"),
    "judges by tier": question("judges", "demo.jsonl", by="tier"),
    "completeness of agents": question("completeness", "agents.jsonl", by="agent"),
    "completeness of logs": question("completeness", "logs", "calls.jsonl"),
    "show a run": question("show", "demo.jsonl", run="demo-T2-add-flag-01"),
    "show two runs": question("show", "demo.jsonl", run="demo-T2-add-flag-01", diff="demo-T5-add-flag-01"),
    "show a run with an output": question("show", "samples/repeatability/clamp_runs.jsonl", run="r2"),
    "explain a run": question("explain", "agents.jsonl", metric="composite_score", run="ant-0-2"),
    "explain groups": question("explain", "demo.jsonl", metric="cost_of_pass", by="tier"),
    "explain an uplift": question("explain", "demo.jsonl", metric="tier_uplift", by="tier"),
    "explain a component": question("explain", "demo.jsonl", metric="component_token_fraction", by="tier"),
    "explain a grade": question("explain", "demo.jsonl", metric="grade"),
    "repeatability of an experiment": question("repeatability", f"{CLAMP}/clamp_experiment.json"),
    "repeatability of runs": question(
        "repeatability", f"{CLAMP}/clamp_runs.jsonl", flags=["--all"], repair=False, by="task"
    ),
    "speedup of tasks": question("speedup", "timings"),
    "speedup of one task": question("speedup", "timings", task="speed-up-join"),
    "speedup of fc-eval": question("speedup", f"{SPEEDUP}/fceval-results.json", f"{SPEEDUP}/fceval.log"),
    "report of agents": question("report", "agents.jsonl", title="Three agents", **FEW),
    "report by tier": question("report", "demo.jsonl", by="tier", sections="rank,measure,usage,judges", **FEW),
    "report of everything": question(
        "report", "agents.jsonl", f"{CLAMP}/clamp_experiment.json", f"{SPEEDUP}/fceval-results.json", **FEW
    ),
}


# Pages and routes of the server


@cache
def application(kind: str) -> Any:  # Any: an ASGI application
    """Return the server over run files, over an arena, or over an arena with fitted models."""
    runs = ["agents.jsonl", "calls.jsonl", f"{CLAMP}/clamp_experiment.json", f"{SPEEDUP}/fceval-results.json"]
    stores = {"arena": ARENA, "models": MODELS}
    if kind == "runs":
        source: ArenaSource | RunsSource = RunsSource([Path(name) for name in runs])
    else:
        source = ArenaSource(sy.open_arena(stores[kind][1]))
    options = ServeOptions()
    return guarded(site_of(source, options), options)


def requested(kind: str, address: str) -> tuple[str, str]:
    """Send a request to the server; return its status with the headers that do not vary, and the body."""
    path, _, query = address.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1:8600")],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8600),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:  # as ASGI calls it
        sent.append(message)

    asyncio.run(application(kind)(scope, receive, send))
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    kept = "".join(f"{name}: {told[name]}\n" for name in ("content-type", "cache-control") if name in told)
    body = b"".join(message.get("body", b"") for message in sent[1:]).decode()
    return f"GET {address}\nstatus: {sent[0]['status']}\n{kept}\n", body


VALUES = {
    "task": "fix-race",
    "submission": "ant-1",
    "season": "2026-11",
    "agent": "ant",
    "prompt": "clamp_temp0.5_20260101_000000",
    "run": "ant-0-1",
}
QUERIES = {
    "/history": "submitter=ada",
    "/changes": "since=2026-01-01",
    "/rank": "by=agent",
    "/compare": "baseline=agent%3Dbee&candidate=agent%3Dant",
    "/gate": "rule=pass_rate+%3E%3D+0.3&where=agent%3Dant",
    "/judges": "by=agent",
    "/matrix": "by=agent&order=discrimination",
    "/usage": "by=model&tz=UTC",
    "/runs": "limit=20&sort=-cost_usd",
}
OF_MODELS = ("/abilities", "/tasks/{task}/predictions", "/correctness")
"""Routes that an arena without models answers with an explanation."""
BAD_REQUESTS = {
    "an unknown page": "/rnk",
    "an unknown route": "/api/v1/rnk",
    "an unknown parameter": "/api/v1/rank?metric=pass_rate",
    "an unknown run": "/runs/nobody",
    "an unknown metric": "/?metrics=pass_rat",
}


def route_files(kind: str, route: Route) -> Files:
    """Request the JSON, the CSV and the page of a route."""
    values = VALUES | ({"task": "t1"} if route.path.startswith("/speedup") else {})
    values |= {"task": "task-1"} if kind == "models" else {}

    def asked(path: str, ending: str = "") -> tuple[str, str]:
        filled = re.sub(r"\{(\w+)\}", lambda name: quote(values[name[1]], safe=""), path)
        query = QUERIES.get(route.path)
        return requested(kind, f"{filled}{ending}{f'?{query}' if query else ''}")

    head, body = asked(f"/api/v1{route.path}")
    files = {"api.json": json.dumps(json.loads(body), indent=1, ensure_ascii=False) + "\n"}
    if route.respond is None:
        csv_head, files["api.csv"] = asked(f"/api/v1{route.path}", ".csv")
        head += csv_head
        if route.page_path is not None:
            page_head, text = asked(route.page_path)
            files["page.html"] = page(text)
            head += page_head
    return {name: served(text) for name, text in files.items()} | {"answers.txt": head}


def bad_request_files(address: str) -> Files:
    """Request what the server rejects."""
    head, body = requested("runs", address)
    return {"answer.txt": head + served(page(body))}


def served(text: str) -> str:
    """Return the text of an answer without times, versions of the source, cursors and digests of assets."""
    for varies, fixed in (
        (r'("(?:as_of|version|next)": )"[^"]*"', r'\1"VARIES"'),
        (r"As of <time .*?</time>", "As of TIME"),
        (r'data-version="\w[^"]*"', 'data-version="VARIES"'),
        (r"after=[^\"&]+", "after=CURSOR"),
        (r"\.[0-9a-f]{16}\.(css|js)", r".DIGEST.\1"),
    ):
        text = re.sub(varies, fixed, text)
    return normalized(text)


def _server_cases() -> dict[str, Callable[[], Files]]:
    cases: dict[str, Callable[[], Files]] = {}
    for route in ROUTES:
        if route.method == "GET" and route.path != "/events":  # it does not end
            kinds = [kind for kind in ("arena", "runs") if route.builder(kind) is not None]
            if route.over_arena is route.over_runs:  # nothing of the source is in the answer
                kinds = ["runs"]
            for kind in [*kinds, *(["models"] if route.path in OF_MODELS else [])]:
                name = re.sub(r"[{}]|\.json", "", route.path).strip("/").replace("/", "-")
                cases[f"{kind}/{name}"] = partial(route_files, kind, route)
    return cases | {f"errors/{name}": partial(bad_request_files, address) for name, address in BAD_REQUESTS.items()}


# Recording


def _cases() -> dict[str, Callable[[], Files]]:
    commands = {name: command_words(name) for name in APPS if name not in EXCLUDED} | MORE_COMMANDS
    return {
        **{f"commands/{name}": partial(command_files, words) for name, words in commands.items()},
        **{f"questions/{name}": ask for name, ask in QUESTIONS.items()},
        **{f"server/{name}": make for name, make in _server_cases().items()},
    }


CASES = {name.replace(" ", "-"): make for name, make in _cases().items()}
"""Every case by its directory below `tests/golden/`."""
LONG = {
    "commands/demo",
    "questions/measure-of-all-runs",
    "questions/measure-every-statistic-with-intervals",
    "questions/measure-weighted-by-task",
    "questions/measure-selected-runs",
    "questions/measure-by-task",
    "questions/compare-weighted-by-runs",
    "questions/compare-with-an-effect-size",
    "questions/compare-with-bh",
    "questions/rank-with-low-coverage",
    "questions/gate-allows-inconclusive",
    "questions/explain-an-uplift",
    "questions/explain-a-component",
    "questions/explain-a-grade",
    "questions/report-by-tier",
    "questions/report-of-everything",
}
"""Cases that `make long` compares and `make test` does not."""
SAME = {"out.json": "stdout.json", "out.csv": "stdout.csv", "160.txt": "80.txt"}
"""A file that is recorded only if it differs from the other one."""


def recorded(case: str) -> Files:
    """Return what the case gives now, by file name."""
    with steady(workspace()):
        files = CASES[case]()
    return {name: text for name, text in files.items() if text != files.get(SAME.get(name, ""))}


def golden(case: str) -> Files:
    """Return the golden files of the case."""
    return {path.name: path.read_bytes().decode() for path in sorted((GOLDEN / case).glob("*"))}


def update(pattern: str) -> None:
    """Rewrite the golden files of the cases whose name contains the pattern, and delete files without a case."""
    for case in (case for case in CASES if pattern in case):
        shutil.rmtree(GOLDEN / case, ignore_errors=True)
        (GOLDEN / case).mkdir(parents=True)
        for name, text in recorded(case).items():
            (GOLDEN / case / name).write_bytes(text.encode())
    for folder in {path.parent for path in GOLDEN.rglob("*") if path.is_file()}:
        if folder.relative_to(GOLDEN).as_posix() not in CASES:
            shutil.rmtree(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", nargs="?", const="", metavar="PATTERN", required=True)
    update(parser.parse_args().update)
