"""Steelyard weighs what AI coding agents deliver against what they cost.

>>> import steelyard as sy
>>> runs = sy.demo_runs()
>>> result = sy.measure(runs, by=["tier"])
>>> result.groups[0].key["tier"]
'T0'
"""

from __future__ import annotations

from steelyard.lazy_exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
