"""Figures: numbers in, SVG out. A kind of figure is a function that gives a `Figure`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.figures._amounts import (
        CallAmount as CallAmount,
        DayAmount as DayAmount,
        StackedRow as StackedRow,
        calls as calls,
        days as days,
        stacked as stacked,
    )
    from steelyard.figures._axes import (
        WIDTH as WIDTH,
        Axis as Axis,
    )
    from steelyard.figures._cells import (
        MAX_CELLS as MAX_CELLS,
        Tried as Tried,
        Valued as Valued,
        distances as distances,
        heatmap as heatmap,
    )
    from steelyard.figures._distributions import (
        StripValue as StripValue,
        histogram as histogram,
        strip as strip,
    )
    from steelyard.figures._dots import (
        Estimate as Estimate,
        dots as dots,
    )
    from steelyard.figures._figure import (
        FIGURE_ENDINGS as FIGURE_ENDINGS,
        STYLE as STYLE,
        Figure as Figure,
        check_figure_file as check_figure_file,
        check_figure_options as check_figure_options,
        figure_named as figure_named,
    )
    from steelyard.figures._paired import (
        Change as Change,
        TaskPair as TaskPair,
        dumbbells as dumbbells,
        flips as flips,
        slopes as slopes,
    )
    from steelyard.figures._pareto import (
        PricedEstimate as PricedEstimate,
        pareto as pareto,
    )
    from steelyard.figures._reliability import (
        ScoreBin as ScoreBin,
        reliability as reliability,
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
