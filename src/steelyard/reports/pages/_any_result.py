"""The page of any result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from steelyard.formatting import counted
from steelyard.pages import (
    Column,
    Page,
    PageTable,
    count_column,
    counting_facts,
    key_columns,
    row_columns,
    text_column,
    with_figures,
)
from steelyard.reports._measurement_tables import cell_text, figure_format, heading, measurement_sentence, overview_of
from steelyard.reports.pages._catalog import api_page, metrics_page
from steelyard.reports.pages._compare import compare_page
from steelyard.reports.pages._completeness import completeness_page
from steelyard.reports.pages._history import changes_page, history_page
from steelyard.reports.pages._judges import judges_page
from steelyard.reports.pages._leaders import leaders_page
from steelyard.reports.pages._matrix import matrix_page
from steelyard.reports.pages._models import abilities_page, correctness_page, predictions_page
from steelyard.reports.pages._people import (
    assignments_page,
    ratings_page,
    registry_page,
    season_page,
    tool_page,
    weights_page,
)
from steelyard.reports.pages._profiles import profiles_page
from steelyard.reports.pages._repeatability import repeatability_page
from steelyard.reports.pages._review import bias_page, outliers_page, review_page
from steelyard.reports.pages._run import run_page
from steelyard.reports.pages._runs import run_list_page
from steelyard.reports.pages._speedup import speedup_page
from steelyard.reports.pages._submission import submission_page
from steelyard.reports.pages._task import all_tasks_page, baseline_page, task_page, tasks_page
from steelyard.results import (
    AbilityRanking,
    AllLeaderboards,
    ApiRoutes,
    Assignments,
    Comparison,
    CompletenessSummary,
    CorrectnessEstimates,
    Evaluation,
    GroupValue,
    Judges,
    Leaderboard,
    LeaderboardChanges,
    Matrix,
    Measurement,
    MetricList,
    Outliers,
    PeerReview,
    PredictedScores,
    ProfileComparison,
    Registry,
    Repeatability,
    Result,
    ReviewDesk,
    RunDetail,
    RunList,
    ScoreHistory,
    Season,
    SpeedupResult,
    TaskDetails,
    TaskLeaderboard,
    TaskList,
    ToolBias,
    ToolMetrics,
    WeightVersions,
)


def page_of(result: Any) -> Page:  # Any: a result, or an answer of a question
    """The result as a page; its rows where it has no page of its own."""
    if (declared := getattr(result, "page", None)) is not None:  # an answer of a question
        page: Page = declared()
        return page
    return PAGES.get(type(result), _rows_page)(result)


def measure_page(result: Measurement) -> Page:
    """What each group delivered and what it cost."""
    groups = result.groups
    columns = key_columns(result.by, [group.key for group in groups], result.tier_scheme)
    columns += [text_column("group", "", ["all"] * len(groups))] if not result.by else []
    columns.append(count_column("runs", "runs", [group.n for group in groups]))
    for declared in overview_of(result):
        values = [group.metrics[declared.name] for group in groups]
        numbers = [
            value.value if isinstance(value, GroupValue) else getattr(value, declared.figure) for value in values
        ]
        column = figure_format(groups, declared)
        texts = [
            cell_text(value, declared.figure, column, group.n).replace("\n", ", ")
            for value, group in zip(values, groups, strict=True)
        ]
        title = " ".join(heading(declared.name, declared.figure).split())
        columns.append(Column(name=declared.name, title=title, values=numbers, decimals=6, texts=texts))
    columns.append(text_column("grade", "grade", [group.grade for group in groups]))
    runs = counted(result.n, "run")
    page = Page(
        name="measure",
        title="What are the results, and what did they cost?",
        answer=measurement_sentence(result),
        table=PageTable(caption=f"{runs}, profile {result.profile}, prices {result.prices}", columns=tuple(columns)),
        facts=(*counting_facts(result), ("prices", result.prices)),
    )
    return with_figures(page, result, ("dots", "pareto"))


def _rows_page(result: Result) -> Page:
    rows = result.to_dicts()
    about = repr(result)
    return Page(
        name="result",
        title=type(result).__name__,
        answer=about,
        table=PageTable(caption=about, columns=tuple(row_columns(rows))) if rows else None,
    )


PAGES: Mapping[type[Result], Callable[[Any], Page]] = {  # Any: each result's own type
    AllLeaderboards: all_tasks_page,
    ApiRoutes: api_page,
    Assignments: assignments_page,
    Comparison: compare_page,
    CompletenessSummary: completeness_page,
    Evaluation: submission_page,
    PredictedScores: predictions_page,
    Judges: judges_page,
    Leaderboard: leaders_page,
    AbilityRanking: abilities_page,
    CorrectnessEstimates: correctness_page,
    Matrix: matrix_page,
    Measurement: measure_page,
    MetricList: metrics_page,
    Outliers: outliers_page,
    PeerReview: ratings_page,
    ProfileComparison: profiles_page,
    Registry: registry_page,
    Repeatability: repeatability_page,
    ReviewDesk: review_page,
    RunList: run_list_page,
    RunDetail: run_page,
    ScoreHistory: history_page,
    Season: season_page,
    SpeedupResult: speedup_page,
    LeaderboardChanges: changes_page,
    TaskLeaderboard: task_page,
    TaskDetails: baseline_page,
    TaskList: tasks_page,
    ToolBias: bias_page,
    ToolMetrics: tool_page,
    WeightVersions: weights_page,
}
"""The results that have a page of their own."""
