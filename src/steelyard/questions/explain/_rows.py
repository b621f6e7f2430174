"""Explain a metric of one prompt, attempt, benchmark or submission."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from steelyard.errors import UnknownNameError, UsageError
from steelyard.metrics import catalog, constants_of
from steelyard.option_names import option
from steelyard.profiles import default_profile
from steelyard.questions._measured_tables import arena_of, attempt_id, benchmark_figures, measured_result
from steelyard.questions._run_input import Measurable
from steelyard.questions.explain._answer import ExplainedValue, Explanation, explanation_of, value_fields
from steelyard.questions.repeatability import PromptResult, Repeatability
from steelyard.questions.speedup._answer import SpeedupAttempt, SpeedupResult
from steelyard.records import Missing

if TYPE_CHECKING:
    from steelyard.questions.explain import ExplainOptions

_MEANINGS = {
    "signatures": "Signature of each output before repair.",
    "digests": "SHA-256 of each output as extracted.",
    "d_pre": "Distance from each output to the canon before repair.",
    "d_post": "Distance from each output to the canon after repair.",
    "agent_speedups": "Speedup of the agent's code, for each included benchmark.",
    "oracle_speedups": "Speedup of the reference solution, for each included benchmark.",
}
KnownValues = Mapping[str, Any]  # Any: numbers and lists of them


def explain_row(inputs: Measurable, options: ExplainOptions, wanted: str) -> Explanation:
    """Explain the metric of one row, found by its id or a unique prefix."""
    declared = catalog()[options.metric]
    if declared.row == "submission":
        return _submission(inputs, options, wanted)
    result = measured_result(inputs, declared.row or "", options)
    rows = dict(_rows(result, declared.row or ""))
    id_ = _one_of(rows, wanted, declared.row or "")
    profile = default_profile(declared.spec)
    root = _tree(declared.name, rows[id_], {} if profile is None else constants_of(declared, profile))
    return explanation_of(
        root,
        run=id_,
        row_kind=declared.row or "",
        where=None,
        profile=None if profile is None else profile.name,
        prices=options.prices,
    )


def _rows(result: Repeatability | SpeedupResult, kind: str) -> Iterator[tuple[str, KnownValues]]:
    if isinstance(result, Repeatability):
        for prompt in result.prompts:
            yield prompt.prompt, _of_prompt(prompt)
        return
    for attempt in result.attempts:
        id_ = attempt_id(attempt.task, attempt.agent, attempt.number)
        if kind == "attempt":
            yield id_, _of_attempt(attempt)
            continue
        for name, speedups in attempt.per_benchmark_speedups.items():
            yield f"{id_}, {name}", benchmark_figures(msgspec.to_builtins(speedups))


def _of_prompt(prompt: PromptResult) -> KnownValues:
    return {
        "signatures": [sample.signature_pre for sample in prompt.samples],
        "digests": [sample.digest for sample in prompt.samples],
        "d_pre": [sample.d_pre for sample in prompt.samples],
        "d_post": [sample.d_post for sample in prompt.samples],
        **{name: Missing(reason) for name, reason in prompt.reasons.items()},
        **{name: value for name, value in prompt.metrics.items() if value is not None},
    }


def _of_attempt(attempt: SpeedupAttempt) -> KnownValues:
    counted = [each for each in attempt.per_benchmark_speedups.values() if each.agent_speedup is not None]
    figures: dict[str, Any] = {  # Any: numbers, flags and lists
        "pass_rate": attempt.success,
        "agent_speedups": [each.agent_speedup for each in counted],
        "oracle_speedups": [each.oracle_speedup for each in counted if each.oracle_speedup is not None],
        "num_agent_only_failures": attempt.num_agent_only_failures,
        **{declared.name: getattr(attempt, declared.name, None) for declared in catalog().at("task")},
        **attempt.measures,
    }
    return figures | {name: Missing(reason) for name, reason in attempt.missing.items()}


def _tree(name: str, known: KnownValues, constants: Mapping[str, float]) -> ExplainedValue:
    declared = catalog()[name] if name in catalog() else None  # noqa: SIM401 # an unknown name is no KeyError
    value = known.get(declared.mean_of if declared is not None and declared.mean_of else name)
    shown = Missing("unknown") if value is None else value
    if declared is None:
        return ExplainedValue(name=name, title=_MEANINGS.get(name, name.replace("_", " ")), **value_fields(shown))
    parts = [spec.of or parameter for parameter, spec in declared.inputs.items()]
    inputs = tuple(_tree(part, known, {}) for part in parts if part in known and part != name)
    return ExplainedValue(
        name=name,
        title=declared.title,
        unit=declared.unit,
        formula=declared.formula,
        constants=dict(constants),
        inputs=inputs,
        **value_fields(shown),
    )


def _one_of(rows: Mapping[str, KnownValues], wanted: str, kind: str) -> str:
    if wanted in rows:
        return wanted
    starts = [id_ for id_ in rows if id_.startswith(wanted)]
    if len(starts) > 1:
        raise UsageError(f"ambiguous {kind} id {wanted!r}: {'; '.join(sorted(starts)[:10])}")
    if not starts:
        raise UnknownNameError(kind, wanted, list(rows))
    return starts[0]


def _submission(inputs: Measurable, options: ExplainOptions, wanted: str) -> Explanation:
    """Explain a stored score and the scores it is computed from."""
    from steelyard.arena import evaluation  # brings SQLAlchemy

    if given := [option(each.name) for each, _ in options.chosen() if each.name not in ("metric", "run")]:
        message = "stored scores were computed with the store's profile"
        raise UsageError(message, hint=f"remove {', '.join(given)}")
    arena = arena_of(inputs)
    evaluated = evaluation(arena, wanted)
    reasons = {reason.name: reason for reason in evaluated.scores}

    def tree(name: str) -> ExplainedValue:
        reason = reasons[name]
        return ExplainedValue(
            name=name,
            title=reason.title,
            value=reason.value,
            unit=catalog()[name].unit,
            formula=reason.formula,
            constants=dict(reason.constants),
            inputs=tuple(tree(part) if part in reasons else fact(part, value) for part, value in reason.inputs.items()),
        )

    def fact(name: str, value: float | None) -> ExplainedValue:
        known = Missing("not reported") if value is None else value
        return ExplainedValue(
            name=name, title=name.replace("_", " "), provenance=evaluated.sources.get(name), **value_fields(known)
        )

    return explanation_of(
        tree(options.metric),
        run=wanted,
        row_kind="submission",
        where=arena.store.address,
        profile=evaluated.profile,
        prices=options.prices,
    )
