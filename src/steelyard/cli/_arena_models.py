"""`steelyard arena model`: models fitted to submissions and ratings."""

from __future__ import annotations

from cyclopts import App

from steelyard.cli._arena_options import StoreOption
from steelyard.cli._arena_views import print_result
from steelyard.cli._nested import add_question
from steelyard.cli._options import Json
from steelyard.settings import DEFAULT_STORE

model = App(name="model", help="Fit models and show their results.", help_format="plaintext")


add_question(model, "arena_model_fit")
add_question(model, "arena_model_abilities")
add_question(model, "arena_model_predict")
add_question(model, "arena_model_correctness")


@model.command
def weights(
    *,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Show score weights fitted to peer ratings, by version.

    The fitted weights are shown next to the profile's weights and do not change scores.

    Example: steelyard arena model weights
    """
    from steelyard.questions import weights as weight_versions  # brings SQLAlchemy
    from steelyard.reports import weights_lines

    versions = weight_versions(store)
    return print_result(versions, weights_lines(versions), json=json)
