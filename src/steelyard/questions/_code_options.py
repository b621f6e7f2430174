"""Options of repeatability."""

from __future__ import annotations

from pathlib import Path

from steelyard.questions._declaration import doc
from steelyard.questions._options import MapOptions, Names, ProfileName


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
