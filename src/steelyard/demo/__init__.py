"""Labeled synthetic data: runs of seven tiers, and files of every other input type. No agent ran."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
