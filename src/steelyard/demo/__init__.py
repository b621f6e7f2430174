"""Labeled synthetic data: runs of seven tiers, and files of every other input type. No agent ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.demo._examples import (
        EXAMPLES as EXAMPLES,
        demo_files as demo_files,
    )
    from steelyard.demo._runs import (
        EXPERIMENT as EXPERIMENT,
        demo_runs as demo_runs,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
