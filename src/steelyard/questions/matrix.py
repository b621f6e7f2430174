"""Matrix: one metric of every task by every agent, with task difficulty and discrimination."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from steelyard.errors import NoValidInputError, UsageError
from steelyard.metrics import Metric, catalog
from steelyard.option_names import option
from steelyard.questions._figure_options import MatrixOptions
from steelyard.questions._measured_tables import open_table
from steelyard.questions._opening_runs import Measurable
from steelyard.questions._question import question
from steelyard.questions._tiers import keys_with_scheme
from steelyard.questions.compare import table_findings
from steelyard.questions.measure import checked_keys
from steelyard.records import Chosen, Missing, key_label, key_text
from steelyard.results import Matrix, MatrixGroup

if TYPE_CHECKING:
    from steelyard.questions.analysis import Key, Mask, Samples
    from steelyard.tables import RunTable


@question(MatrixOptions)
def matrix(runs: Measurable, options: MatrixOptions) -> Matrix:
    """Compute one metric per task and group, with the hardest task first.

    >>> import steelyard as sy
    >>> sy.matrix(sy.demo_runs(), by=["tier"])
    Matrix(20 tasks x 7 groups by tier on pass_rate)
    """
    from steelyard.questions.analysis import groups_of, matrix_tasks, samples_of  # brings numpy and scipy

    keys_by, declared = _columns_by(options.by), _shown(options.metric)
    profile = options.outcome_profile()
    table = open_table(runs, [declared.name], options, keys=keys_by)
    keys_by, tier_scheme, scheme_findings = keys_with_scheme(keys_by, table.tier_schemes() if "tier" in keys_by else [])
    samples = samples_of(table, [declared.name], profile=profile, weight_by=options.weight_by, any_size=True)
    _check_any(samples, declared)
    keys, codes = groups_of(table, keys_by, profile=profile)
    pair = _pair(options, keys_by, keys)
    rows = matrix_tasks(
        samples, codes, declared.name, size=len(keys), errored=_errored(table), sort=options.sort, pair=pair
    )
    figures = samples.figures(declared.name, codes, len(keys)).tolist()
    cells = [[row.cells[place] for row in rows] for place in range(len(keys))]
    groups = tuple(
        MatrixGroup(
            key=dict(zip(keys_by, key, strict=True)),
            value=None if figure != figure else figure,  # noqa: PLR0124 # NaN alone is not itself
            tasks=sum(cell is not None and cell.value is not None for cell in column),
            runs=sum(cell.runs for cell in column if cell is not None),
        )
        for key, figure, column in zip(keys, figures, cells, strict=True)
    )
    return Matrix(
        by=tuple(keys_by),
        tier_scheme=tier_scheme,
        metric=declared.name,
        sort=options.sort,
        groups=groups,
        tasks=rows,
        baseline=None if pair is None else pair[0],
        candidate=None if pair is None else pair[1],
        n=table.n,
        profile=profile.name,
        findings=(*table_findings(table), *scheme_findings),
        rejected_count=table.rejected_count,
        weight_by=options.weight_by,
        unscored=profile.unscored,
    )


_BOTH = f"{option('baseline', 'agent=NAME')} {option('candidate', 'agent=NAME')}"


def _columns_by(by: Sequence[str]) -> list[str]:
    keys = checked_keys(by)
    if not keys:
        raise UsageError("no columns given", hint=option("by", "agent,model"))
    if "task" in keys:
        raise UsageError("cannot group by task: tasks are the rows of the matrix", hint=option("by", "agent,model"))
    return keys


def _shown(name: str) -> Metric:
    from steelyard.questions.analysis import comparable  # brings numpy and scipy

    comparable([name])
    return catalog()[name]


def _check_any(samples: Samples, declared: Metric) -> None:
    for values in samples.values.values():
        if isinstance(values, Missing):
            raise NoValidInputError(f"no run has a {declared.name}: {values.reason}")


def _errored(table: RunTable) -> Mask:
    """The runs that ended in an error."""
    import polars as pl  # heavy: --help does not need it

    if "outcome" not in table.frame.collect_schema().names():
        return pl.repeat(value=False, n=table.n, eager=True).to_numpy()
    return table.frame.select(pl.col("outcome").eq("errored").fill_null(value=False)).collect().to_series().to_numpy()


def _pair(options: MatrixOptions, by: Sequence[str], keys: Sequence[Key]) -> tuple[int, int] | None:
    """The two groups to take differences of: those that are named, or the only two."""
    if (options.baseline is None) != (options.candidate is None):
        raise UsageError(f"{option('baseline')} and {option('candidate')} must be given together", hint=_BOTH)
    if options.baseline is not None and options.candidate is not None:
        pair = _named(options.baseline, "baseline", by, keys), _named(options.candidate, "candidate", by, keys)
        if pair[0] == pair[1]:
            raise UsageError(f"{option('baseline')} and {option('candidate')} name the same group")
        return pair
    if len(keys) == 2:
        return 0, 1
    if options.sort == "disagreement":
        message = f"{option('sort', 'disagreement')} needs two groups (got {len(keys):,})"
        raise UsageError(message, hint=_BOTH)
    return None


def _named(chosen: Chosen, side: str, by: Sequence[str], keys: Sequence[Key]) -> int:
    """The one group that has these values."""
    from steelyard.questions.analysis import read_filter  # brings numpy and Polars

    asked = read_filter(chosen, option=side)
    for name in asked:
        if name not in by:
            raise UsageError(
                f"{option(side)} uses {name}, which is not in {option('by')}", hint=option("by", ",".join([*by, name]))
            )
    matching = [place for place, key in enumerate(keys) if _has(dict(zip(by, key, strict=True)), asked)]
    if len(matching) != 1:
        some = "; ".join(key_label(by, keys[place]) for place in (matching or range(len(keys)))[:6])
        raise UsageError(f"{option(side)} matches {len(matching)} groups", where=option(side), hint=f"one of: {some}")
    return matching[0]


def _has(key: Mapping[str, str | int | None], asked: Mapping[str, str]) -> bool:
    return all(key_text(key[name]) == value for name, value in asked.items())
