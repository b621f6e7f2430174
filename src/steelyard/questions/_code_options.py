"""Options of repeatability and speedup."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from steelyard.profiles import Unscored
from steelyard.questions._options import (
    MapOptions,
    Names,
    Options,
    PriceOptions,
    ProfileName,
    Texts,
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RepeatabilityOptions(MapOptions):
    """Options of `repeatability`."""

    contract: Path | None = None
    """Contract: a TOML or JSON file with the requirements for outputs, or a directory of contracts matched to tasks by
    id."""
    tau: float | None = None
    """Maximum distance at which an output counts as near the canon (default: the profile's, 0.10)."""
    normalize: str | None = None
    """Normalization: text, ast, tree or names (default: from the contract or language)."""
    language: str | None = None
    """Default language of outputs that do not specify one."""
    repair: bool = True
    """Repair outputs toward the canon."""
    by: Names = ("task", "agent", "model")
    """Comma-separated grouping keys; outputs in the same group are compared with each other."""
    profile: ProfileName = "repeatability-1"
    """Scoring profile: a built-in name (see: steelyard profiles) or a TOML file."""
    store: str | None = None
    """Store URL for canons: sqlite:///FILE, postgresql://USER@HOST/NAME (default: none)."""
    no_sandbox: bool = False
    """If no sandbox is available, run code anyway, with only resource limits."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TaskFileOptions(Options):
    """Files of one task."""

    baseline: Path | None = None
    """Timings before a change."""
    candidate: Texts = ()
    """Timings after the change: FILE or LABEL=FILE; repeatable."""
    nop: Path | None = None
    """Timings of the unchanged code."""
    oracle: Path | None = None
    """Timings of the reference solution; required to compute an agent's advantage."""
    agent: Texts = ()
    """Timings of an agent's change: NAME:MODEL=FILE; repeatable."""
    nop_repeat: Path | None = None
    """Second measurement of the unchanged code, for the noise floor."""
    tests: Texts = ()
    """Test results: FILE, NAME:MODEL=FILE or oracle=FILE; repeatable. JSON keyed by agent, or a JUnit XML report."""
    snapshot: Path | None = None
    """Snapshot-test results: JSON keyed by agent or oracle."""
    runs: Path | None = None
    """JSON file with the cost_usd and trajectory_length of each agent."""
    log: Texts = ()
    """Agent log (JSON or .cast): NAME:MODEL=FILE; repeatable."""
    task: str | None = None
    """Task name."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SpeedupOptions(PriceOptions, TaskFileOptions):
    """Options of `speedup`."""

    profile: ProfileName = "speedup-1"
    """Scoring profile: a built-in name (see: steelyard profiles) or a TOML file."""
    agent_only: Literal["drop", "baseline", "worst"] | None = None
    """How to score benchmarks that fail only with the agent's code (default: the profile's)."""
    interval: Literal["order", "bootstrap", "none"] | None = None
    """Interval method for speedups (default: the profile's)."""
    verdict: Literal["interval", "asv"] | None = None
    """Rule for faster and slower verdicts (default: the profile's)."""
    unscored: Unscored = "fail"
    """Attempts without a verdict: count as fail (as FC-Eval does), or exclude from success rates."""
