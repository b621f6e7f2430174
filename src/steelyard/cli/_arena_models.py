"""`steelyard arena model`: models fitted to submissions and ratings."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from steelyard.cli._arena_options import StoreOption
from steelyard.cli._arena_views import print_result
from steelyard.cli._nested import add_question
from steelyard.cli._options import Json
from steelyard.cli._print import print_findings
from steelyard.settings import DEFAULT_STORE

model = App(name="model", help="Fit models and show their results.", help_format="plaintext")


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


add_question(model, "arena_model_abilities")
add_question(model, "arena_model_predict")
add_question(model, "arena_model_correctness")


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
