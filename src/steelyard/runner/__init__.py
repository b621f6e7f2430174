"""Runner of plans: a plan expands to trials; a trial has one or more executions and produces one Run."""

from __future__ import annotations

from steelyard.lazy_exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
