"""Who evaluates metrics over a table of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.engines._attempt_checks import (
        Labeled as Labeled,
        identical_results as identical_results,
        skewed_groups as skewed_groups,
        unexpected_run_counts as unexpected_run_counts,
    )
    from steelyard.engines._grouping import (
        Grouping as Grouping,
        KeyCoder as KeyCoder,
    )
    from steelyard.engines._local import (
        LocalEngine as LocalEngine,
        complete_cases as complete_cases,
    )
    from steelyard.engines._opening import (
        ENGINES as ENGINES,
        check_engine as check_engine,
        choose_engine as choose_engine,
        engine_of as engine_of,
    )
    from steelyard.engines._protocol import (
        RUNS as RUNS,
        Engine as Engine,
        GroupedStatistics as GroupedStatistics,
        Key as Key,
    )
    from steelyard.engines._run_checks import (
        run_findings as run_findings,
    )
    from steelyard.engines._spark import (
        SparkCluster as SparkCluster,
        SparkName as SparkName,
        is_spark as is_spark,
        quiet_spark as quiet_spark,
        spark_session as spark_session,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
