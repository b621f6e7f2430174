from ._amounts import (
    CallAmount as CallAmount,
    DayAmount as DayAmount,
    StackedRow as StackedRow,
    calls as calls,
    days as days,
    stacked as stacked,
)
from ._axes import NARROW as NARROW, WIDTH as WIDTH, Axis as Axis
from ._cells import (
    MAX_CELLS as MAX_CELLS,
    PassCell as PassCell,
    ValueCell as ValueCell,
    distances as distances,
    heatmap as heatmap,
)
from ._distributions import StripValue as StripValue, histogram as histogram, strip as strip
from ._dots import Estimate as Estimate, dots as dots
from ._figure import (
    STYLE as STYLE,
    Figure as Figure,
    check_figure_file as check_figure_file,
    check_figure_options as check_figure_options,
    figure_named as figure_named,
)
from ._paired import Change as Change, TaskPair as TaskPair, dumbbells as dumbbells, flips as flips, slopes as slopes
from ._pareto import PricedEstimate as PricedEstimate, pareto as pareto
from ._reliability import ScoreBin as ScoreBin, reliability as reliability
from ._trend import TrendMark as TrendMark, TrendPoint as TrendPoint, trend as trend
from ._waterfall import BenchmarkRatio as BenchmarkRatio, waterfall as waterfall
