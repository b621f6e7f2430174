"""Evaluate a metric from facts, going down through the metrics it needs: on one run's values or on columns."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from steelyard.metrics._catalog import catalog
from steelyard.metrics._declare import Metric
from steelyard.metrics._words import Value, as_column, library_of
from steelyard.profiles import Profile
from steelyard.records import FACTS, Missing


def constants_of(declared: Metric, profile: Profile) -> dict[str, float]:
    """The metric's constants as the profile sets them."""
    return {name: profile.constant(name, default) for name, default in declared.constants.items()}


def evaluate(name: str, facts: Mapping[str, Any], profile: Profile, known: MutableMapping[str, Value]) -> Value:
    """The value of a fact or run metric. `known` keeps what was evaluated on the way, to be shown or shared.

    A fact that `facts` does not hold is missing; a metric that needs it is missing with that reason.
    """
    if name in known:
        return known[name]
    if name in FACTS:
        value = facts.get(name)
        known[name] = Missing(FACTS[name].absent) if value is None else value
        return known[name]
    declared = catalog()[name]
    inputs = {
        parameter: evaluate(spec.of or parameter, facts, profile, known) for parameter, spec in declared.inputs.items()
    }
    constants = constants_of(declared, profile)
    known[name] = _applied(declared, inputs, constants)
    return known[name]


def _applied(declared: Metric, inputs: dict[str, Value], constants: dict[str, float]) -> Value:
    library = library_of(*inputs.values())
    if library is None:
        return declared(**inputs, **constants)
    for parameter, spec in declared.inputs.items():
        if isinstance(inputs[parameter], Missing) and not spec.optional:
            return inputs[parameter]
    columns = {parameter: as_column(value, library) for parameter, value in inputs.items()}
    return declared.expression(columns, constants)
