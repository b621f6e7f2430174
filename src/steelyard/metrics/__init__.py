"""Every metric, importable by its name and callable by keyword with plain numbers, and the words to declare more.

>>> from steelyard.metrics import composite_score
>>> round(composite_score(pass_rate=1.0, impl_rate=0.85), 3)
0.925
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.metrics._catalog import (
        catalog as catalog,
        constants_of as constants_of,
        evaluate as evaluate,
    )
    from steelyard.metrics._declare import (
        CustomBool as CustomBool,
        CustomFloat as CustomFloat,
        Example as Example,
        Input as Input,
        Mean as Mean,
        Metric as Metric,
        Optional as Optional,
        Param as Param,
        Required as Required,
        Sum as Sum,
        metric as metric,
    )
    from steelyard.metrics._words import (
        INFINITY as INFINITY,
        ExpressionError as ExpressionError,
        Value as Value,
        clip as clip,
        exp as exp,
        first_known as first_known,
        log as log,
        missing as missing,
        number as number,
        power as power,
        ratio as ratio,
        when as when,
    )
    from steelyard.metrics.engines._attempt_checks import (
        Labeled as Labeled,
        identical_results as identical_results,
        skewed_groups as skewed_groups,
        unexpected_run_counts as unexpected_run_counts,
    )
    from steelyard.metrics.engines._grouping import Grouping as Grouping, KeyCoder as KeyCoder
    from steelyard.metrics.engines._local import LocalEngine as LocalEngine, complete_cases as complete_cases
    from steelyard.metrics.engines._opening import (
        check_engine as check_engine,
        choose_engine as choose_engine,
        engine_of as engine_of,
    )
    from steelyard.metrics.engines._protocol import (
        RUNS as RUNS,
        Engine as Engine,
        GroupedStatistics as GroupedStatistics,
        Key as Key,
    )
    from steelyard.metrics.engines._run_checks import run_findings as run_findings
    from steelyard.metrics.engines._spark import (
        SparkCluster as SparkCluster,
        SparkName as SparkName,
        is_spark as is_spark,
        quiet_spark as quiet_spark,
        spark_session as spark_session,
    )
    from steelyard.metrics.speedup import (
        geometric_mean as geometric_mean,
        harmonic_mean as harmonic_mean,
    )

    def __getattr__(name: str) -> Metric: ...

else:
    _door_name, _door_names, __all__ = open_door(__name__)

    def __getattr__(name):
        """A word of the door, else the metric of that name; the catalog is read only for the latter."""
        if name in __all__ or name.startswith("_"):
            return _door_name(name)
        from steelyard.metrics._catalog import catalog  # the catalog imports this package

        if name not in catalog():
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}: no such metric")
        return catalog()[name]

    def __dir__():
        from steelyard.metrics._catalog import catalog  # the catalog imports this package

        return sorted([*_door_names(), *catalog()])
