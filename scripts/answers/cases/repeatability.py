"""Repeatability and its canons."""

from __future__ import annotations

from collections.abc import Iterator

from answers import inputs
from answers.cases.asking import SHARED, TESTS, Samples, asked
from answers.running import Case

FOLDER = f"{TESTS}/repeatability"
RUNS = f"repeat {FOLDER}/clamp_runs.jsonl"
CONTRACT = f"--contract {FOLDER}/clamp.toml"
ANOTHER = """
id = "clamp"
prompt = "Another question."
language = "python"
entry_point = "clamp"
[[cases]]
arguments = [5, 0, 3]
expected = 3
"""


def cases(given: Samples) -> Iterator[Case]:
    """Repeat over run records, folders and experiments, then the canons that it set."""
    options = {
        "plain": "",
        "samples": "--samples",
        "csv": "--csv logs/",
        "tau": "--tau 0.3",
        "text": "--level text --samples",
        "ast": "--level ast",
        "names": "--level names --samples",
        "tree": "--level tree",
        "no-repair": "--no-repair --samples",
        "no-store": "--no-store",
        "by": "--by task",
        "own-profile": "--profile mine.toml",
    }
    files = {"mine.toml": inputs.REPEAT_PROFILE, **inputs.CLAMPS, "js.jsonl": inputs.SCRIPTS}
    for name, option in options.items():
        yield asked(f"repeat/clamp/{name}", f"{RUNS} {CONTRACT} {option}".strip(), files=files)
    yield asked("repeat/no-contract", f"{RUNS} --samples")
    yield asked("repeat/folder", f"repeat clamp {CONTRACT} --samples --csv logs/", files=files)
    yield asked("repeat/folder-language", "repeat clamp --language python --no-store", files=files)
    yield asked("repeat/other-language", "repeat js.jsonl --samples", files=files)
    yield asked("repeat/experiment", f"repeat {FOLDER}/clamp_experiment.json --samples --csv logs/")
    yield asked("repeat/experiment-stored", f"repeat {FOLDER}/clamp_experiment.json --no-repair --samples")
    for name in given.shared_folders("skyt"):
        yield asked(f"repeat/shared/{name}", f"repeat {SHARED}/{name} --samples --csv logs/")
        yield asked(f"repeat/shared/{name}-stored", f"repeat {SHARED}/{name} --no-repair --samples")
    wrong = {
        "missing-file": "repeat nowhere.jsonl",
        "missing-contract": f"{RUNS} --contract nowhere.toml",
        "contract": f"{RUNS} --contract bad.toml",
        "tau": f"{RUNS} --tau 2",
        "level": f"{RUNS} --level asst",
        "by": f"{RUNS} --by tsk",
        "no-output": f"repeat {TESTS}/outcome/example-3.jsonl",
        "store": f"{RUNS} {CONTRACT} --store mysql://x",
    }
    bad = {"bad.toml": 'id = "clamp"\nentry_pint = "clamp"\n'}
    for name, line in wrong.items():
        yield asked(f"repeat/errors/{name}", line, files=bad)
    yield from _canons()


def _canons() -> Iterator[Case]:
    yield asked(
        "canon",
        "canon show",
        f"{RUNS} {CONTRACT}",
        "canon show",
        "canon show clamp",
        f"{RUNS} {CONTRACT} --samples",
        f"{RUNS} {CONTRACT} --level text",
        f"{RUNS} --contract other.toml",
        "canon show nobody",
        "canon retire clamp",
        "canon retire clamp",
        "canon show clamp",
        "canon show clamp --history",
        f"{RUNS} {CONTRACT} --tau 0.2",
        "canon show --history",
        files={"other.toml": ANOTHER},
    )
    yield asked("canon/errors/retire-nobody", "canon retire")
    yield asked("canon/errors/action", "canon shw")
    yield asked("canon/errors/store", "canon show --store sqlite:///nowhere/x.db")
