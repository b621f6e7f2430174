"""What all runs together answer: what they used, what is known of them, and who solved which task."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.questions import MatrixOptions, RunsSource
from steelyard.questions.completeness import CompletenessOptions, completeness
from steelyard.questions.matrix import matrix
from steelyard.questions.usage import UsageOptions, UsageSummary, usage
from steelyard.results import CompletenessSummary, Matrix
from steelyard.server._route import Query, Route, options_of, query_of

Values = Mapping[str, str]

CompletenessQuery = query_of(CompletenessOptions)
MatrixQuery = query_of(MatrixOptions)
UsageQuery = query_of(UsageOptions)


def _usage(source: RunsSource, _values: Values, query: Query) -> UsageSummary:
    return usage(source.run_paths(), options=options_of(UsageOptions, query, map=source.map))


def _completeness(source: RunsSource, _values: Values, query: Query) -> CompletenessSummary:
    return completeness(source.run_paths(), options=options_of(CompletenessOptions, query, map=source.map))


def _matrix(source: RunsSource, _values: Values, query: Query) -> Matrix:
    return matrix(source.table(), options=options_of(MatrixOptions, query))


FIELD_ROUTES = (
    Route(
        path="/matrix",
        sentence="Results per task and agent, with task difficulty and discrimination.",
        command="matrix",
        result=Matrix,
        query=MatrixQuery,
        over_runs=_matrix,
    ),
    Route(
        path="/usage",
        sentence="Tokens and cost by day, model or any other field of a run.",
        command="usage",
        result=UsageSummary,
        query=UsageQuery,
        over_runs=_usage,
    ),
    Route(
        path="/completeness",
        sentence="Number of runs in which each field is reported, derived, priced, a lower bound or missing.",
        command="completeness",
        result=CompletenessSummary,
        query=CompletenessQuery,
        over_runs=_completeness,
    ),
)
