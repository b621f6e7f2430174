"""What every command needs to be run, and small files that it can be run with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cyclopts import App

from steelyard.cli import build_app, run

SAMPLES = Path(__file__).parents[1] / "samples"
UNENDING = {"serve", "arena watch"}
"""What does not end by itself; `serve` reads its runs as `report` does."""


def _commands(app: App, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], App]]:
    for name in app:
        if not name.startswith("-"):
            yield from _commands(app[name], (*words, name))
    if words and app.default_command is not None:
        yield words, app


def arguments_of(app: App) -> dict[str, str]:
    """The arguments of a command, and their types."""
    arguments = app.assemble_argument_collection(parse_docstring=False)
    return {argument.name: str(argument.hint) for argument in arguments if argument.parameter.parse is not False}


APPS = {" ".join(words): app for words, app in _commands(build_app())}
"""Every command by its words."""
GIVEN: dict[str, list[str]] = {
    "arena task add": ["{tasks}"],
    "arena submit": ["{submissions}"],
    "arena notify": ["--targets", "{targets}", "--once"],
    "arena show": ["s"],
    "arena changes": ["--since", "2026-01-01"],
    "arena compare-profiles": ["arena-1", "arena-1"],
    "compare": ["{runs}", "-a", "tier=T0", "-b", "tier=T1"],
    "explain": ["{runs}", "pass_rate"],
    "gate": ["{runs}", "--baseline", "{runs}", "--rule", "pass_rate >= -1"],
    "mapping suggest": ["{table}"],
    "mapping show": ["evalplus"],
    "power": ["--pass-rate", "0.6", "--effect-size", "0.2"],
    "prices": ["gpt-4o"],
    "profiles": [],
    "repeatability": ["{outputs}", "--no-repair"],
    "repeatability canon retire": ["clamp"],
    "repeatability canon show": ["clamp"],
    "report": ["{runs}", "--out", "{folder}/report.html"],
    "run export": ["{folder}/plan.toml", "--to", "harbor"],
    "run trial": ["{folder}", "0f3a9c1d2e4b5a67"],
    "run show": ["{folder}", "0f3a"],
    "show": ["{runs}", "--run", "r0"],
    "speedup": ["--nop", "{timings}", "--oracle", "{timings}", "--agent", "a:m={timings}"],
}
"""What a command needs; one that is not listed takes the runs."""


def made_files(folder: Path) -> dict[str, str]:
    """Small files in the folder, by name, and an arena with a submission."""
    contents = {
        "runs.jsonl": "".join(
            f'{{"id": "r{n}", "task": "t", "tier": "T{n % 2}", "agent": "a", "passed": true, "usage": '
            '{"input_tokens": 9, "output_tokens": 9}, "model": "gpt-4o", "tool_calls": 1}\n'
            for n in range(4)
        ),
        "tasks.toml": 'id = "t"\n',
        "submissions.jsonl": '{"id": "s", "task_id": "t", "total_tokens": 1, "tool_calls": 1, "agent": "a"}\n',
        "targets.toml": '[[targets]]\nname = "a"\nurl = "https://127.0.0.1:9/"\n',
        "table.csv": "job,ok\na,yes\nb,no\n",
    }
    for name, content in contents.items():
        (folder / name).write_text(content)
    store = f"sqlite:///{folder}/arena.db"
    assert run(["arena", "init", "--store", store]) == 0
    assert run(["arena", "task", "add", str(folder / "tasks.toml"), "--store", store]) == 0
    assert run(["arena", "submit", str(folder / "submissions.jsonl"), "--store", store]) == 0
    return {name.split(".")[0]: str(folder / name) for name in contents} | {
        "timings": str(SAMPLES / "speedup" / "pyperf.json"),
        "outputs": str(SAMPLES / "repeatability" / "clamp_runs.jsonl"),
        "folder": str(folder),
        "store": store,
    }
