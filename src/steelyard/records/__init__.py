"""The records: a Run and its parts, tasks, submissions, findings, and the rules of identity and missing values."""

from __future__ import annotations

from steelyard.lazy_exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
