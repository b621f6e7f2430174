"""Figures: numbers in, SVG out. A kind of figure is a function that gives a `Figure`."""

from __future__ import annotations

from steelyard.lazy_exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
