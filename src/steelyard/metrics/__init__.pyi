from ._catalog import (
    catalog as catalog,
    constants_of as constants_of,
    evaluate as evaluate,
    is_custom_metric as is_custom_metric,
    lower_bound_fact as lower_bound_fact,
)
from ._declare import (
    GEOMETRIC as GEOMETRIC,
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
from ._words import (
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
from .engines._attempt_checks import (
    LabeledGroups as LabeledGroups,
    identical_results as identical_results,
    skewed_groups as skewed_groups,
    unexpected_run_counts as unexpected_run_counts,
)
from .engines._engine_choice import check_engine as check_engine, choose_engine as choose_engine, engine_of as engine_of
from .engines._local import LocalEngine as LocalEngine, complete_cases as complete_cases
from .engines._protocol import RUNS as RUNS, Engine as Engine, GroupedStatistics as GroupedStatistics, Key as Key
from .engines._run_checks import run_findings as run_findings
from .engines._run_groups import Grouping as Grouping, KeyCoder as KeyCoder
from .engines._spark import (
    SparkCluster as SparkCluster,
    SparkName as SparkName,
    is_spark as is_spark,
    quiet_spark as quiet_spark,
    spark_session as spark_session,
)
from .speedup import geometric_mean as geometric_mean, harmonic_mean as harmonic_mean

def __getattr__(name: str) -> Metric: ...
