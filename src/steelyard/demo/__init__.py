"""Labeled synthetic data: runs of seven tiers, and files for each of the other families. No agent ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.demo._families import (
        FAMILIES as FAMILIES,
        demo_files as demo_files,
    )
    from steelyard.demo._runs import (
        EXPERIMENT as EXPERIMENT,
        demo_runs as demo_runs,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
