"""Grading: success criteria, checked on artifacts and in the sandbox."""

from __future__ import annotations

from steelyard.lazy_exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
