"""The arena's command of dynamic weights."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli._arena_options import StoreOption
from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import print_json, show_results


def weights(
    *,
    fit: Annotated[bool, Parameter(help="Fit a new version to the ratings first.", negative="")] = False,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """List versions of the weights fitted to ratings.

    Example: steelyard arena weights --fit
    """
    from steelyard.reports import weights_lines
    from steelyard.workflow import weights as versions  # brings SQLAlchemy

    told = versions(store, fit=fit)
    if json:
        print_json(told.to_dict())
    else:
        show_results(weights_lines(told))
    return 0


COMMANDS = ((weights, "weights"),)
