"""Figures: numbers in, SVG out. A kind of figure is a function that gives a `Figure`."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
