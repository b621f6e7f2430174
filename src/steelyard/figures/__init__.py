"""Figures: numbers in, SVG out. A kind of figure is a function that gives a `Figure`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.figures._calls import (
        CallAmount as CallAmount,
        calls as calls,
    )
    from steelyard.figures._days import (
        DayAmount as DayAmount,
        days as days,
    )
    from steelyard.figures._distances import (
        distances as distances,
    )
    from steelyard.figures._dots import (
        Estimate as Estimate,
        dots as dots,
    )
    from steelyard.figures._dumbbells import (
        TaskPair as TaskPair,
        dumbbells as dumbbells,
    )
    from steelyard.figures._figure import (
        FIGURE_ENDINGS as FIGURE_ENDINGS,
        Figure as Figure,
        check_figure_file as check_figure_file,
    )
    from steelyard.figures._flips import (
        flips as flips,
    )
    from steelyard.figures._heatmap import (
        MAX_CELLS as MAX_CELLS,
        Tried as Tried,
        Valued as Valued,
        heatmap as heatmap,
    )
    from steelyard.figures._histogram import (
        histogram as histogram,
    )
    from steelyard.figures._layout import (
        WIDTH as WIDTH,
    )
    from steelyard.figures._pareto import (
        PricedEstimate as PricedEstimate,
        pareto as pareto,
    )
    from steelyard.figures._reliability import (
        ScoreBin as ScoreBin,
        reliability as reliability,
    )
    from steelyard.figures._scales import (
        Axis as Axis,
    )
    from steelyard.figures._slopes import (
        Change as Change,
        slopes as slopes,
    )
    from steelyard.figures._stacked import (
        StackedRow as StackedRow,
        stacked as stacked,
    )
    from steelyard.figures._strip import (
        StripValue as StripValue,
        strip as strip,
    )
    from steelyard.figures._style import (
        STYLE as STYLE,
    )
    from steelyard.figures._trend import (
        TrendMark as TrendMark,
        TrendPoint as TrendPoint,
        trend as trend,
    )
    from steelyard.figures._waterfall import (
        BenchmarkRatio as BenchmarkRatio,
        waterfall as waterfall,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
