"""Weights fitted to peer ratings."""

from __future__ import annotations

from steelyard.arena import Arena, weight_versions
from steelyard.questions._arena import opened
from steelyard.results import WeightVersions


def weights(arena: Arena | str) -> WeightVersions:
    """Return the versions of the weights fitted to ratings."""
    return weight_versions(opened(arena))
