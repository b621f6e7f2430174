"""The options of the verbs over what agents wrote and how fast it runs, declared as all options are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from steelyard.profiles import Unscored
from steelyard.workflow._options import (
    MapOptions,
    Names,
    Options,
    PriceOptions,
    ProfileName,
    Texts,
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RepeatabilityOptions(MapOptions):
    """How `repeatability` compares the answers to a prompt."""

    contract: Path | None = None
    """What an answer must do: a TOML or JSON file, or a folder of them that tasks are matched with by id."""
    tau: float | None = None
    """Distance up to which an output counts as near the canon; the profile's (0.10) by default."""
    normalize: str | None = None
    """Normalization: text, ast, tree or names; the contract's or the language's own by default."""
    language: str | None = None
    """The language of the outputs, where nothing else says it."""
    repair: bool = True
    """Repair outputs toward the canon; otherwise use stored repairs, or none."""
    by: Names = ("task", "agent", "model")
    """What makes run records one prompt, separated by commas."""
    profile: ProfileName = "repeatability-1"
    """A shipped profile (steelyard profiles) or a TOML file."""
    store: str | None = None
    """Keep canons in this store: sqlite:///file or postgresql://user@host/name; none is kept without it."""
    unsafe: bool = False
    """Where nothing can isolate code, run it all the same, with resource limits only."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TaskFileOptions(Options):
    """The files of one task."""

    before: Path | None = None
    """Timings before a change."""
    after: Texts = ()
    """Timings after it, as FILE or LABEL=FILE; may be repeated."""
    nop: Path | None = None
    """Timings of the unchanged code."""
    oracle: Path | None = None
    """Timings of the expert's change; without them advantages are missing."""
    agent: Texts = ()
    """Timings of an agent's change, as NAME:MODEL=FILE; may be repeated."""
    nop_again: Path | None = None
    """The unchanged code measured again, for the noise floor."""
    tests: Texts = ()
    """Test results by agent and of oracle (JSON), or a test report such as JUnit XML: of the one agent as FILE, of
    several as NAME:MODEL=FILE and oracle=FILE; may be repeated."""
    snapshot: Path | None = None
    """Snapshot results by agent (JSON), and of oracle."""
    runs: Path | None = None
    """cost_usd and trajectory_length by agent (JSON)."""
    log: Texts = ()
    """An agent's JSON log or .cast, as NAME:MODEL=FILE; may be repeated."""
    task: str | None = None
    """The task's name."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SpeedupOptions(PriceOptions, TaskFileOptions):
    """How `speedup` weighs timings."""

    profile: ProfileName = "speedup-1"
    """A shipped profile (steelyard profiles) or a TOML file."""
    agent_only: Literal["drop", "baseline", "worst"] | None = None
    """What a benchmark that fails only under the agent counts as; the profile's by default."""
    interval: Literal["order", "bootstrap", "none"] | None = None
    """How intervals of speedups are computed, or none; the profile's by default."""
    verdict: Literal["interval", "asv"] | None = None
    """What decides between faster and slower; the profile's by default."""
    unscored: Unscored = "fail"
    """Count attempts without a verdict as failed, as FC-Eval does, or leave them out of success rates."""
