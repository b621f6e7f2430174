"""Routes about all runs: usage, completeness and the task matrix."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.questions import MatrixOptions, RunsSource
from steelyard.questions.completeness import CompletenessOptions, completeness
from steelyard.questions.matrix import matrix
from steelyard.results import CompletenessSummary, Matrix
from steelyard.server._question_routes import question_route
from steelyard.server._route import Query, Route, options_of, query_of

Values = Mapping[str, str]

CompletenessQuery = query_of(CompletenessOptions)
MatrixQuery = query_of(MatrixOptions)


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
    question_route("usage"),
    Route(
        path="/completeness",
        sentence="Number of runs in which each field is reported, derived, priced, a lower bound or missing.",
        command="completeness",
        result=CompletenessSummary,
        query=CompletenessQuery,
        over_runs=_completeness,
    ),
)
