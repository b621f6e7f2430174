"""Labeled synthetic data: runs of seven tiers, and files of every other input type. No agent ran."""

from __future__ import annotations

from steelyard.lazy_exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
