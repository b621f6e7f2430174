"""Figures: numbers in, SVG out. A kind of figure is a function that gives a `Figure`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.figures._dots import (
        Estimate as Estimate,
        dots as dots,
    )
    from steelyard.figures._figure import (
        FIGURE_ENDINGS as FIGURE_ENDINGS,
        Figure as Figure,
    )
    from steelyard.figures._pareto import (
        PricedEstimate as PricedEstimate,
        pareto as pareto,
    )
    from steelyard.figures._scales import (
        Axis as Axis,
    )
    from steelyard.figures._style import (
        STYLE as STYLE,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
