"""Speedups, from every kind of timing file."""

from __future__ import annotations

import json
from collections.abc import Iterator

from answers import inputs
from answers.cases.asking import SHARED, TESTS, Samples, asked
from answers.running import Case

FOLDER = f"{TESTS}/speedup"
ASV = f"{FOLDER}/asv"
SIDES = f"speedup --nop {ASV}/nop.json --oracle {ASV}/oracle.json"
ONE = f"{SIDES} --agent tool:m={ASV}/agent.json"
FINE = {"passed": 12, "failed": 0, "errors": 0}
BROKEN = {"passed": 10, "failed": 2, "errors": 0}
FACTS = {
    "tests.json": json.dumps({"tool:m": FINE, "oracle": FINE}),
    "failing.json": json.dumps({"tool:m": BROKEN, "oracle": FINE}),
    "astray.json": json.dumps({"tool:M": BROKEN}),
    "snapshot.json": '{"tool:m": {"status": "passed", "pass_to_fail": 0}}',
    "runs.json": '{"tool:m": {"cost_usd": 0.42, "trajectory_length": 31}}',
    "mine.toml": inputs.SPEEDUP_PROFILE,
}


def cases(given: Samples) -> Iterator[Case]:
    """One task with all its options, folders of tasks, and the shared samples."""
    options = {
        "plain": "",
        "named": "--task sorting",
        "facts": "--tests tests.json --snapshot snapshot.json --runs runs.json",
        "failing": "--tests failing.json",
        "unmatched-key": "--tests astray.json",
        "log": f"--log tool:m={FOLDER}/agent-log.json",
        "cast": f"--log tool:m={FOLDER}/agent.cast",
        "output-only": f"--log tool:m={FOLDER}/output-only.cast",
        "nop-again": f"--nop-again {ASV}/nop.json",
        "drop": "--agent-only drop",
        "baseline": "--agent-only baseline",
        "worst": "--agent-only worst",
        "order": "--interval order",
        "bootstrap": "--interval bootstrap",
        "verdict-interval": "--verdict interval",
        "verdict-asv": "--verdict asv",
        "no-intervals": "--no-intervals",
        "own-profile": "--profile mine.toml",
        "csv": "--csv",
        "csv-benchmarks": "--csv --benchmarks",
        "two-agents": f"--agent other:m={ASV}/oracle.json --agent third:m={ASV}/nop.json",
        "one-unreadable": f"--agent other:m={ASV}/malformed.json",
        "skip-bad": f"--agent other:m={ASV}/malformed.json --skip-bad",
    }
    for name, option in options.items():
        yield asked(f"speedup/asv/{name}", f"{ONE} {option}".strip(), files=FACTS)
    yield from _formats()
    yield from _folders()
    yield from _shared(given)
    wrong = {
        "malformed": f"{SIDES} --agent tool:m={ASV}/malformed.json",
        "missing-file": f"{SIDES} --agent tool:m=nowhere.json",
        "no-sides": "speedup",
        "no-model": f"{SIDES} --agent tool={ASV}/agent.json",
        "choice": f"{ONE} --agent-only keep",
        "profile": f"{ONE} --profile outcome-1",
        "both-outputs": f"{ONE} --json --csv",
        "folder-and-sides": f"speedup {FOLDER} --nop {ASV}/nop.json",
        "nothing-valid": f"speedup --nop {ASV}/nop.json --oracle {ASV}/oracle.json --agent a:m={FOLDER}/pyperf.json",
    }
    for name, line in wrong.items():
        yield asked(f"speedup/errors/{name}", line)


def _formats() -> Iterator[Case]:
    alone = {
        "asv-1": f"{ASV}/format-1.json",
        "pyperf": f"{FOLDER}/pyperf.json",
        "pyperf-two": f"{FOLDER}/pyperf-two.json",
        "pytest-benchmark": f"{FOLDER}/pytest-benchmark.json",
        "pytest-benchmark-saved": f"{FOLDER}/pytest-benchmark-saved.json",
    }
    for name, place in alone.items():
        yield asked(f"speedup/format/{name}", f"speedup --nop {place} --oracle {place} --agent a:m={place}")
    yield asked("speedup/format/fceval-results", f"speedup {FOLDER}/fceval-results.json")
    yield asked("speedup/format/fceval-log", f"speedup {FOLDER}/fceval.log")
    yield asked("speedup/format/fceval-both", f"speedup {FOLDER}/fceval-results.json {FOLDER}/fceval.log")
    yield asked("speedup/format/fceval-csv", f"speedup {FOLDER}/fceval-results.json --csv")


def _folders() -> Iterator[Case]:
    files = inputs.task_folder()
    options = {
        "plain": "",
        "skip-bad": "--skip-bad",
        "bootstrap": "--interval bootstrap",
        "asv": "--verdict asv",
        "worst": "--agent-only worst",
        "csv": "--csv",
        "csv-benchmarks": "--csv --benchmarks",
        "no-intervals": "--no-intervals",
    }
    for name, option in options.items():
        yield asked(f"speedup/folder/{name}", f"speedup tasks {option}".strip(), files=files)
    baselines = "speedup --nop tasks/first/nop.json --oracle tasks/first/oracle.json"
    agents = "--agent ant:m=tasks/first/agents/ant/m.json --agent bee:l=tasks/first/agents/bee/m/large.json"
    yield asked("speedup/run-records", f"{baselines} {agents} --nop-again tasks/first/nop-again.json", files=files)
    yield asked("speedup/errors/empty-folder", "speedup tasks/first/logs", files=files)


def _shared(given: Samples) -> Iterator[Case]:
    for name in given.shared_folders("asv"):
        folder = f"{SHARED}/{name}"
        first, second, third = (f"{folder}/{start}-existing.json" for start in ("27c9d6c1", "a3e71f57", "3bca8b4e"))
        for number, (nop, oracle, agent) in enumerate(((first, second, third), (third, first, second))):
            yield asked(f"speedup/shared/{name}-{number}", f"speedup --nop {nop} --oracle {oracle} --agent a:m={agent}")
    for name in given.shared_folders("asv-v1"):
        before, after, failed, malformed = (
            f"{SHARED}/{name}/{start}-py2.7-Cython-numpy1.8.json"
            for start in ("07d10557", "05d283b9", "05d4f83d", "aaaaaaaa")
        )
        for key, agent in (("stated", after), ("failed", failed), ("malformed", malformed)):
            yield asked(f"speedup/shared/{name}-{key}", f"speedup --nop {before} --oracle {before} --agent a:m={agent}")
    places = {"pyperf": "out.json", "pytest-benchmark": "pytest_benchmark.json", "hyperfine": "hf.json"}
    for name in given.shared_folders(*places):
        place = f"{SHARED}/{name}/{places[name]}"
        yield asked(f"speedup/shared/{name}", f"speedup --nop {place} --oracle {place} --agent a:m={place}")
