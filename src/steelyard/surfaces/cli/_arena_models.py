"""The arena's commands about what it learns: learn, abilities, expected, correctness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from steelyard.results import AbilityRanking, CorrectnessEstimates, PredictedScores
from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli._arena_options import ResultFile, StoreOption, TaskName
from steelyard.surfaces.cli._arena_views import check_out, print_result
from steelyard.surfaces.cli._options import FigureName, FromOne, Json, NoCsvEscape
from steelyard.surfaces.cli._print import print_findings

if TYPE_CHECKING:
    from steelyard.reports import TextTable

VersionOption = Annotated[FromOne | None, Parameter(help="The version by its number; the latest by default.")]


def learn(*, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """Learn all that the profile switches on: abilities and difficulties, the chance of being right, dynamic weights.

    The first two come from all submissions (arena-models-1 switches them on), the weights from the ratings
    (arena-community does). The profile says at which counts of submissions the first two are learned without this
    command. Each time makes a numbered version, which is kept; no score depends on it. What was learned from the same
    under the same rules is not learned again.

    Example: steelyard arena learn
    """
    from steelyard.reports import fit_lines
    from steelyard.workflow import fit_models  # brings SQLAlchemy

    learned = fit_models(store)
    print_result(learned, fit_lines(learned), json=json)
    if not json:
        print_findings(learned.findings)
    return 0


def abilities(
    *,
    version: VersionOption = None,
    store: StoreOption = DEFAULT_STORE,
    out: ResultFile = None,
    figure: FigureName = None,
    no_csv_escape: NoCsvEscape = False,
    json: Json = False,
) -> int:
    """Tools ranked by learned ability, fair to who tried the hard tasks, beside the plain mean; tasks by difficulty.

    Example: steelyard arena abilities
    Example: steelyard arena abilities --version 3 --out abilities.html
    """
    from steelyard.reports import abilities_line, abilities_tables
    from steelyard.workflow import abilities as fitted_abilities  # brings SQLAlchemy

    check_out(AbilityRanking, figure, out, no_csv_escape=no_csv_escape)
    learned = fitted_abilities(store, version=version)
    parts: list[str | TextTable] = [abilities_line(learned), *abilities_tables(learned)]
    print_result(learned, parts, json=json, out=out, figure=figure, no_csv_escape=no_csv_escape)
    if not json:
        print_findings(learned.findings)
    return 0


def expected(
    task: TaskName,
    /,
    *,
    version: VersionOption = None,
    store: StoreOption = DEFAULT_STORE,
    out: ResultFile = None,
    figure: FigureName = None,
    no_csv_escape: NoCsvEscape = False,
    json: Json = False,
) -> int:
    """What every tool is expected to score on a task, tried or not, and between which limits.

    Example: steelyard arena expected fix-race
    """
    from steelyard.reports import prediction_line, prediction_table
    from steelyard.workflow import predict as predict_scores  # brings SQLAlchemy

    check_out(PredictedScores, figure, out, no_csv_escape=no_csv_escape)
    scores = predict_scores(store, task, version=version)
    parts: list[str | TextTable] = [prediction_line(scores), *([prediction_table(scores)] if scores.scores else [])]
    return print_result(scores, parts, json=json, out=out, figure=figure, no_csv_escape=no_csv_escape)


def correctness(
    task: Annotated[str | None, Parameter(help="A task without tests: the chance of each of its submissions.")] = None,
    /,
    *,
    version: VersionOption = None,
    store: StoreOption = DEFAULT_STORE,
    out: ResultFile = None,
    figure: FigureName = None,
    no_csv_escape: NoCsvEscape = False,
    json: Json = False,
) -> int:
    """The learned chance that a submission without tests is right: calibration, coefficients, and those of a task.

    Example: steelyard arena correctness
    Example: steelyard arena correctness write-docs
    """
    from steelyard.reports import correctness_lines, correctness_tables
    from steelyard.workflow import correctness as fitted_correctness  # brings SQLAlchemy

    check_out(CorrectnessEstimates, figure, out, no_csv_escape=no_csv_escape)
    learned = fitted_correctness(store, task, version=version)
    parts: list[str | TextTable] = [*correctness_lines(learned), *correctness_tables(learned)]
    return print_result(learned, parts, json=json, out=out, figure=figure, no_csv_escape=no_csv_escape)


COMMANDS = (
    (learn, "learn"),
    (abilities, "abilities"),
    (expected, "expected"),
    (correctness, "correctness"),
)
