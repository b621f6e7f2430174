"""Options of repeatability and speedup."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from steelyard.profiles import Unscored
from steelyard.questions._declaration import Options, doc
from steelyard.questions._options import (
    MapOptions,
    Names,
    PriceOptions,
    ProfileName,
    Texts,
)


class RepeatabilityOptions(MapOptions):
    """Options of `repeatability`."""

    contract: Path | None = doc(
        "Contract: a TOML or JSON file with the requirements for outputs, or a directory of contracts matched "
        "to tasks by id.",
        default=None,
        local=True,
    )
    tau: float | None = doc(
        "Maximum distance at which an output counts as near the canon (default: the profile's, 0.10).",
        default=None,
    )
    normalize: str | None = doc(
        "Normalization: text, ast, tree or names (default: from the contract or language).",
        default=None,
    )
    language: str | None = doc("Default language of outputs that do not specify one.", default=None)
    repair: bool = doc("Repair outputs toward the canon.", default=True, local=True)
    by: Names = doc(
        "Comma-separated grouping keys; outputs in the same group are compared with each other.",
        default=("task", "agent", "model"),
    )
    profile: ProfileName = doc(
        "Scoring profile: a built-in name (see: steelyard profiles) or a TOML file.",
        default="repeatability-1",
    )
    store: str | None = doc(
        "Store URL for canons: sqlite:///FILE, postgresql://USER@HOST/NAME (default: none).",
        default=None,
        local=True,
    )
    no_sandbox: bool = doc(
        "If no sandbox is available, run code anyway, with only resource limits.",
        default=False,
        local=True,
    )


class TaskFileOptions(Options):
    """Files of one task."""

    baseline: Path | None = doc("Timings before a change.", default=None, short="-a")
    candidate: Texts = doc("Timings after the change: FILE or LABEL=FILE; repeatable.", default=(), short="-b")
    nop: Path | None = doc("Timings of the unchanged code.", default=None)
    oracle: Path | None = doc(
        "Timings of the reference solution; required to compute an agent's advantage.",
        default=None,
    )
    agent: Texts = doc("Timings of an agent's change: NAME:MODEL=FILE; repeatable.", default=())
    nop_repeat: Path | None = doc("Second measurement of the unchanged code, for the noise floor.", default=None)
    tests: Texts = doc(
        "Test results: FILE, NAME:MODEL=FILE or oracle=FILE; repeatable. JSON keyed by agent, or a JUnit XML report.",
        default=(),
    )
    snapshot: Path | None = doc("Snapshot-test results: JSON keyed by agent or oracle.", default=None)
    runs: Path | None = doc("JSON file with the cost_usd and trajectory_length of each agent.", default=None)
    log: Texts = doc("Agent log (JSON or .cast): NAME:MODEL=FILE; repeatable.", default=())
    task: str | None = doc("Task name.", default=None)


class SpeedupOptions(PriceOptions, TaskFileOptions):
    """Options of `speedup`."""

    profile: ProfileName = doc(
        "Scoring profile: a built-in name (see: steelyard profiles) or a TOML file.",
        default="speedup-1",
    )
    agent_only: Literal["drop", "baseline", "worst"] | None = doc(
        "How to score benchmarks that fail only with the agent's code (default: the profile's).",
        default=None,
    )
    interval: Literal["order", "bootstrap", "none"] | None = doc(
        "Interval method for speedups (default: the profile's).",
        default=None,
    )
    verdict: Literal["interval", "asv"] | None = doc(
        "Rule for faster and slower verdicts (default: the profile's).",
        default=None,
    )
    unscored: Unscored = doc(
        "Attempts without a verdict: count as fail (as FC-Eval does), or exclude from success rates.",
        default="fail",
    )
