"""`steelyard arena model`: models fitted to submissions and ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from steelyard.cli._arena_options import ResultFile, StoreOption, TaskName
from steelyard.cli._arena_views import check_out, print_result
from steelyard.cli._options import FigureName, FromOne, Json, NoCsvEscape
from steelyard.cli._print import print_findings
from steelyard.results import AbilityRanking, CorrectnessEstimates, PredictedScores
from steelyard.settings import DEFAULT_STORE

if TYPE_CHECKING:
    from steelyard.pages import TextTable

model = App(name="model", help="Fit models and show their results.", help_format="plaintext")

VersionOption = Annotated[FromOne | None, Parameter(help="Model version (default: the latest).")]


@model.command
def fit(*, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """Fit the models enabled by the profile.

    Profile arena-models-1 enables the ability and correctness models, fitted to submissions. Profile arena-community
    enables the weight model, fitted to ratings. The arena's profile sets how often the ability and correctness models
    are fitted automatically. Each fit is stored as a numbered version and does not change scores. If the data
    and the profile are unchanged, no new version is fitted.

    Example: steelyard arena model fit
    """
    from steelyard.questions import fit_models  # brings SQLAlchemy
    from steelyard.reports import fit_lines

    fitted = fit_models(store)
    print_result(fitted, fit_lines(fitted), json=json)
    if not json:
        print_findings(fitted.findings)
    return 0


@model.command
def abilities(
    *,
    version: VersionOption = None,
    store: StoreOption = DEFAULT_STORE,
    out: ResultFile = None,
    figure: FigureName = None,
    no_csv_escape: NoCsvEscape = False,
    json: Json = False,
) -> int:
    """Rank agents by ability, adjusted for task difficulty.

    Example: steelyard arena model abilities
    Example: steelyard arena model abilities --version 3 --out abilities.html
    """
    from steelyard.questions import abilities as fitted_abilities  # brings SQLAlchemy
    from steelyard.reports import abilities_line, abilities_tables

    check_out(AbilityRanking, figure, out, no_csv_escape=no_csv_escape)
    fitted = fitted_abilities(store, version=version)
    parts: list[str | TextTable] = [abilities_line(fitted), *abilities_tables(fitted)]
    print_result(fitted, parts, json=json, out=out, figure=figure, no_csv_escape=no_csv_escape)
    if not json:
        print_findings(fitted.findings)
    return 0


@model.command
def predict(
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
    """Predict the next score of each agent.

    Each prediction has a prediction interval at the confidence level of the profile.

    Example: steelyard arena model predict fix-race
    """
    from steelyard.questions import predict as predict_scores  # brings SQLAlchemy
    from steelyard.reports import prediction_line, prediction_table

    check_out(PredictedScores, figure, out, no_csv_escape=no_csv_escape)
    scores = predict_scores(store, task, version=version)
    parts: list[str | TextTable] = [prediction_line(scores), *([prediction_table(scores)] if scores.scores else [])]
    return print_result(scores, parts, json=json, out=out, figure=figure, no_csv_escape=no_csv_escape)


@model.command
def correctness(
    task: Annotated[str | None, Parameter(help="Id of a task without tests.")] = None,
    /,
    *,
    version: VersionOption = None,
    store: StoreOption = DEFAULT_STORE,
    out: ResultFile = None,
    figure: FigureName = None,
    no_csv_escape: NoCsvEscape = False,
    json: Json = False,
) -> int:
    """Show the probability that untested submissions are correct.

    The result includes calibration, coefficients and, for a task, the probability that each submission is correct.

    Example: steelyard arena model correctness
    Example: steelyard arena model correctness write-docs
    """
    from steelyard.questions import correctness as fitted_correctness  # brings SQLAlchemy
    from steelyard.reports import correctness_lines, correctness_tables

    check_out(CorrectnessEstimates, figure, out, no_csv_escape=no_csv_escape)
    fitted = fitted_correctness(store, task, version=version)
    parts: list[str | TextTable] = [*correctness_lines(fitted), *correctness_tables(fitted)]
    return print_result(fitted, parts, json=json, out=out, figure=figure, no_csv_escape=no_csv_escape)


@model.command
def weights(
    *,
    fit: Annotated[bool, Parameter(help="Fit a new version to the ratings first.", negative="")] = False,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Show score weights fitted to peer ratings, by version.

    The fitted weights are shown next to the profile's weights and do not change scores.

    Example: steelyard arena model weights --fit
    """
    from steelyard.questions import weights as weight_versions  # brings SQLAlchemy
    from steelyard.reports import weights_lines

    versions = weight_versions(store, fit=fit)
    return print_result(versions, weights_lines(versions), json=json)
