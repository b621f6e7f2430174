"""What a declaration says is checked where it stands, and what follows from it is derived."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest

import steelyard as sy
from matchups import made_runs
from steelyard.errors import DeclarationError
from steelyard.metrics import (
    INFINITY,
    Example,
    Input,
    Mean,
    Metric,
    Optional,
    Param,
    Required,
    Sum,
    Value,
    catalog,
    clip,
    constants_of,
    log,
    metric,
    missing,
    ratio,
    when,
)
from steelyard.metrics._catalog import Catalog
from steelyard.metrics._declare import check_example
from steelyard.plugins import plug_ins
from steelyard.profiles import Profile, load_profile, shipped_profiles
from steelyard.records import Component, ComponentType
from steelyard.settings import METRICS_PATH

Median = Annotated[Any, Input(reduce="median")]
GIVEN: dict[str, Any] = {
    "level": "group",
    "title": "Tried",
    "unit": "s",
    "better": "lower",
    "bounds": (0, INFINITY),
    "spec": "outcome",
    "formula": "-",
    "example": Example({}, None),
}


def declared(function: Callable[..., Value], **changes: Any) -> Metric:
    return metric(**(GIVEN | changes))(function)


# A group metric is a ratio of means because its formula is one


def quotient(*, cost_usd: Mean, pass_rate: Mean) -> Value:
    return ratio(cost_usd, pass_rate, at_zero=missing("no pass"))


def plain_division(*, cost_usd: Mean, pass_rate: Mean) -> Value:
    return cost_usd / pass_rate


def of_sums(*, skill_tokens: Sum, schema_tokens: Sum) -> Value:
    return ratio(skill_tokens, skill_tokens + schema_tokens, at_zero=when(schema_tokens > 0, 1.0, 0.0))


def percent_left(*, cost_usd: Mean, pass_rate: Mean) -> Value:
    return 100 * (1 - ratio(cost_usd, pass_rate, at_zero=0.0))


def weighed(*, cost_usd: Mean, duration_seconds: Mean, pass_rate: Mean) -> Value:
    return ratio(cost_usd * 2 + duration_seconds / 60 + 1, pass_rate, at_zero=INFINITY)


def mean_alone(*, cost_usd: Mean) -> Value:
    return cost_usd * 1000


def total(*, cost_usd: Sum, priced_cost_usd: Sum) -> Value:
    return cost_usd + 2 * priced_cost_usd


def sum_and_one(*, skill_tokens: Sum, schema_tokens: Sum) -> Value:
    return ratio(skill_tokens, schema_tokens + 1, at_zero=0.0)


def mixed(*, cost_usd: Sum, pass_rate: Mean) -> Value:
    return ratio(cost_usd, pass_rate, at_zero=0.0)


def of_medians(*, cost_usd: Median, pass_rate: Median) -> Value:
    return ratio(cost_usd, pass_rate, at_zero=0.0)


def product(*, cost_usd: Mean, pass_rate: Mean) -> Value:
    return cost_usd * pass_rate


def in_branches(*, cost_usd: Mean, pass_rate: Mean) -> Value:
    return when(pass_rate > 0.5, ratio(cost_usd, pass_rate, at_zero=0.0), 0.0)


def in_python_branches(*, cost_usd: Mean, pass_rate: Mean) -> Value:
    return cost_usd / pass_rate if pass_rate > 0.5 else 0.0


def clipped(*, cost_usd: Mean, pass_rate: Mean) -> Value:
    return clip(ratio(cost_usd, pass_rate, at_zero=0.0), 0.0, 1.0)


def logarithm(*, cost_usd: Mean, pass_rate: Mean) -> Value:
    return log(ratio(cost_usd, pass_rate, at_zero=1.0))


RATIOS = [quotient, plain_division, of_sums, percent_left, weighed, mean_alone]
OTHERS = [sum_and_one, mixed, of_medians, product, in_branches, in_python_branches, clipped, logarithm]


@pytest.mark.parametrize("function", RATIOS, ids=lambda function: function.__name__)
def test_a_ratio_of_means_is_recognized_and_its_halves_give_its_value(function: Callable[..., Value]) -> None:
    one = declared(function)
    assert (one.is_ratio, one.is_total, one.is_estimate) == (True, False, True)
    given = {name: 0.5 ** (place + 1) for place, name in enumerate(one.inputs)}
    above, below = one.ratio_parts(given, one.constants)
    assert above / below == pytest.approx(function(**given), rel=1e-15)


@pytest.mark.parametrize("function", [total, *OTHERS], ids=lambda function: function.__name__)
def test_what_is_more_than_a_ratio_of_means_is_none(function: Callable[..., Value]) -> None:
    one = declared(function)
    assert not one.is_ratio
    assert one.is_total == (function is total)


def test_the_shipped_ratios_are_told_by_their_formulas() -> None:
    ratios = {one.name for one in catalog().values() if one.is_ratio}
    assert {"cost_of_pass", "skill_efficiency", "token_efficiency_ratio"} <= ratios
    totals = {one.name for one in catalog().values() if one.is_total}
    assert {name for name in totals if not name.startswith("total_")} == {"schema_overhead"}
    assert {"total_cost_usd", "total_tool_calls"} <= totals
    assert not catalog()["cost_of_pass_per_run"].is_ratio


def test_constants_are_followed_as_the_profile_sets_them() -> None:
    def priced(*, cost_usd: Mean, pass_rate: Mean, fee: Param = 1.0) -> Value:
        return ratio(cost_usd + fee, pass_rate, at_zero=INFINITY)

    one = declared(priced)
    constants = constants_of(one, Profile(name="mine", spec="outcome", constants={"fee": 3.0}))
    assert one.ratio_parts({"cost_usd": 2.0, "pass_rate": 0.5}, constants) == (5.0, 0.5)


def test_the_interval_is_of_the_value_beside_it_whatever_is_missing() -> None:
    runs = made_runs({"x": 0.6}, tasks=20, attempts=2)
    some = [
        sy.Run(id=run.id, task=run.task, agent="x", passed=run.passed if place % 3 else None, cost_usd=cost)
        for place, run in enumerate(runs)
        if (cost := run.cost_usd if place % 5 else None) is not None or place % 2
    ]
    value = sy.measure(some, interval="auto").groups[0].metrics["cost_of_pass"]
    both = [run for run in some if run.passed is not None and run.cost_usd is not None]
    expected = sum(run.cost_usd for run in both) / sum(run.passed for run in both)
    assert value.value == pytest.approx(expected)
    assert (value.count, value.interval.n) == (len(both), len(both))
    assert value.interval.estimate == value.value
    assert value.interval.low < value.value < value.interval.high
    compared = sy.compare(
        [*some, *made_runs({"y": 0.6}, tasks=20)], baseline="agent=x", candidate="agent=y", metrics=["cost_of_pass"]
    )
    (found,) = compared.pairs[0].metrics.values()
    assert found.runs.baseline == len(both)
    assert found.missing.baseline == len(some) - len(both)


def tokens(agent: str, skill: int, schema: int, *, varied: int = 0) -> list[sy.Run]:
    def parts(more: int) -> tuple[Component, ...]:
        kinds = {ComponentType.SKILL_PROMPT: skill + more, ComponentType.TOOL_SCHEMA: schema}
        return tuple(Component(type=type_, input_tokens=count, output_tokens=0) for type_, count in kinds.items())

    return [
        sy.Run(id=f"{agent}{n}", task=f"t{n}", agent=agent, components=parts(varied * (n * n % 3 - 1)))
        for n in range(12)
    ]


def test_a_relative_rule_scales_the_ratio_itself() -> None:
    # from 0.4 to 0.5 is a quarter more, though skill tokens stand both above and below
    rules = ["skill_efficiency >= +24%", "skill_efficiency >= +26%"]
    held = sy.gate(tokens("x", 500, 500, varied=1), baseline=tokens("x", 400, 600), rule=rules)
    assert [check.status for check in held.rules] == ["pass", "fail"]


def test_where_there_is_nothing_to_divide_by_the_figure_is_what_the_formula_gives() -> None:
    runs = [*tokens("none", 0, 0), *tokens("schema", 0, 5), *tokens("both", 5, 5)]
    names = ["skill_efficiency", "token_efficiency_ratio"]
    for a, figures in {"none": [None, None], "schema": [0.0, INFINITY], "both": [0.5, 1.0]}.items():
        found = sy.compare(runs, baseline=f"agent={a}", candidate="agent=both", metrics=names).pairs[0].metrics
        assert [judged.baseline for judged in found.values()] == figures
    measured = sy.measure(tokens("schema", 0, 5), interval="auto").groups[0].metrics["token_efficiency_ratio"]
    # a count of tokens that is 0 so far may be anything: no limit follows, unlike from a share
    assert (measured.value, measured.interval.low) == (INFINITY, None)


# A constant has one home


def test_the_default_of_a_constant_is_the_shipped_profiles() -> None:
    for one in catalog().values():
        shipped = load_profile(f"{one.spec}-1").constants
        assert all(default == shipped.get(name, default) for name, default in one.constants.items())
    assert catalog()["speed_score"].constants["speed_exponent"] == 0.7
    assert catalog()["composite_score"](pass_rate=1.0, impl_rate=0.5) == 0.75


def test_a_default_beside_the_shipped_profile_is_refused_and_one_without_is_needed() -> None:
    def second_home(*, cost_usd: Mean, pass_weight: Param = 0.5) -> Value:
        return cost_usd * pass_weight

    def no_home(*, cost_usd: Mean, fee: Param) -> Value:
        return cost_usd + fee

    with pytest.raises(DeclarationError, match="'pass_weight' has a default, but outcome-1 sets it"):
        declared(second_home)
    assert declared(second_home, spec="mine").constants == {"pass_weight": 0.5}
    with pytest.raises(DeclarationError, match="'fee' needs a default: no built-in profile of 'outcome' sets it"):
        declared(no_home)


def test_every_specification_that_ships_a_profile_has_a_first() -> None:
    specs = {load_profile(name).spec for name in shipped_profiles()}
    assert {f"{spec}-1" for spec in specs} <= set(shipped_profiles())


# What lists held stands in the declarations


def test_the_overview_is_declared_in_its_order() -> None:
    shown = [(one.name, one.figure) for one in catalog().overview()]
    assert shown == [
        ("pass_rate", "mean"),
        ("impl_rate", "median"),
        ("composite_score", "median"),
        ("cost_usd", "median"),
        ("cost_of_pass", "value"),
        ("duration_seconds", "median"),
        ("summary_pass_rate", "value"),
    ]


def test_prompt_metrics_say_what_needs_a_canon_and_what_counts_outputs() -> None:
    prompts = catalog().at("prompt")
    assert {one.name for one in prompts if one.needs_canon} == {
        "rescue_rate",
        "rescue_rate_noncanonical",
        "delta_r_anchor_measured",
        "delta_mu",
        "delta_p_tau",
    }
    counts = {one.name for one in prompts if one.counts_outputs}
    assert counts == {"r_anchor", "r_anchor_pre", "p_tau_pre", "p_tau_post", "rescue_rate"}


# Bad declarations are refused where they stand


def of_runs(*, cost_usd: Required) -> Value:
    return cost_usd


def optional_run(*, cost_usd: Optional = None) -> Value:
    return cost_usd


def unknown_reducer(*, cost_usd: Annotated[Any, Input(reduce="mead")]) -> Value:  # type: ignore[arg-type]
    return cost_usd


def of_others(*, cost_usd: Annotated[Any, Input(reduce="mean", scope="all")]) -> Value:
    return cost_usd


def not_marked(*, cost_usd: float) -> Value:
    return cost_usd


def text_constant(*, cost_usd: Mean, fee: Param = "much") -> Value:  # type: ignore[assignment]
    return cost_usd + fee


WRONG: dict[str, tuple[Callable[..., Value], dict[str, Any], str]] = {
    "level": (quotient, {"level": "grup"}, "unknown level 'grup'"),
    "better": (quotient, {"better": "faster"}, "unknown better direction 'faster'"),
    "reducer": (unknown_reducer, {}, "unknown reducer 'mead'"),
    "no reducer": (of_runs, {}, "'cost_usd' is a per-run value, but a metric of level group needs one value per group"),
    "optional": (optional_run, {}, "'cost_usd' is a per-run value"),
    "reduced run": (quotient, {"level": "run"}, "'cost_usd' is reduced by mean, but a metric of level run has nothing"),
    "scope": (of_others, {}, "'cost_usd' comes from other groups"),
    "bounds": (quotient, {"bounds": (1, 0)}, "bounds 1 and 0 are not in ascending order"),
    "no number": (quotient, {"bounds": (0, float("nan"))}, "bounds 0 and nan are not in ascending order"),
    "per run": (of_runs, {"level": "run", "per_run": True}, "per_run is for group metrics"),
    "binary": (quotient, {"binary": True}, "binary metrics must be per-run metrics"),
    "canon": (quotient, {"needs_canon": True}, "needs_canon and counts_outputs are for metrics of prompts"),
    "flag": (quotient, {"lower_bound": "cost_is_lower"}, "unknown field 'cost_is_lower'"),
    "overview": (of_runs, {"level": "component", "overview": 7}, "only run and group metrics can be in the overview"),
    "not marked": (not_marked, {}, "parameter 'cost_usd' must be annotated as an input or a Param"),
    "text": (text_constant, {}, "the default of Param 'fee' is 'much', not a number"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_declaration_that_contradicts_itself_is_refused_with_file_and_line(case: str) -> None:
    function, changes, said = WRONG[case]
    with pytest.raises(DeclarationError) as error:
        declared(function, **changes)
    assert error.value.message.startswith(f"{function.__name__}: ")
    assert said in error.value.message
    assert error.value.where == f"{__file__}:{function.__code__.co_firstlineno}"


def needs_half(*, cost_usd: Required) -> Value:
    return cost_usd / 2


@pytest.mark.parametrize(
    ("example", "said"),
    [
        (Example({"cost_usd": 1.0}, 0.6), "the example states 0.6, but the formula returns 0.5"),
        (Example({"cost_usd": 1.0}, None), "the example states None, but the formula returns 0.5"),
        (Example({}, 0.5), "the example states 0.5, but the formula returns None (cost_usd is unknown)"),
        (
            Example({"cost_us": 1.0}, 0.5),
            "the example cannot be computed: unknown input of needs_half 'cost_us'",
        ),
        (Example({"cost_usd": 2.0}, 1.0), "the example cannot be computed: result 1.0 is out of range"),
    ],
)
def test_an_example_that_does_not_come_out_is_refused(example: Example, said: str) -> None:
    one = declared(needs_half, level="run", bounds=(0, 0.75), example=example)
    with pytest.raises(DeclarationError) as error:
        check_example(Catalog([one, catalog()["cost_usd"]])[one.name])
    assert said in error.value.message
    assert error.value.where == one.where


HALF = """from steelyard.metrics import Example, Required, metric

@metric(level="run", title="Half", unit="USD", better="lower", bounds=(0, 9), spec="outcome", formula="cost_usd / 2",
        example=Example({"cost_usd": 1.0}, 0.6))
def half(*, cost_usd: Required):
    return cost_usd / 2
"""


def test_the_example_of_a_plug_in_is_checked_when_the_catalog_takes_it_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half.py").write_text(HALF)
    monkeypatch.setenv(METRICS_PATH, str(tmp_path))
    with pytest.raises(DeclarationError, match=r"the example states 0\.6, but the formula returns 0\.5") as error:
        catalog.__wrapped__()
    assert error.value.where == f"{tmp_path / 'half.py'}:3"


BROKEN = {
    "syntax": ("x = 1\ndef broken(:\n", 2),
    "raises": ("import json\n\njson.loads('no')\n", 3),
    "import": ("\nimport no_such_module\n", 2),
    "annotation": ("from steelyard.metrics import metric\n\ndef f(*, x: Requird): ...\n", 3),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_file_that_cannot_be_imported_is_told_with_its_line(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, line = BROKEN[case]
    (tmp_path / "broken.py").write_text(text)
    monkeypatch.setenv(METRICS_PATH, str(tmp_path))
    with pytest.raises(DeclarationError, match="cannot be imported") as error:
        list(plug_ins("nobody.has.these", METRICS_PATH))
    assert error.value.where == f"{tmp_path / 'broken.py'}:{line}"


def test_a_bad_declaration_in_a_file_keeps_its_own_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        "from steelyard.metrics import Example, Required, metric",
        "",
        "@metric(level='grup', title='t', unit='', better='lower', bounds=(0, 1), spec='mine', formula='x',",
        "        example=Example({'cost_usd': 1}, 1))",
        "def wrong(*, cost_usd: Required):",
        "    return cost_usd",
    ]
    (tmp_path / "wrong.py").write_text("\n".join(lines))
    monkeypatch.setenv(METRICS_PATH, str(tmp_path))
    with pytest.raises(DeclarationError, match="unknown level 'grup'") as error:
        list(plug_ins("nobody.has.these", METRICS_PATH))
    assert error.value.where == f"{tmp_path / 'wrong.py'}:3"
    assert error.value.hint == "did you mean 'group'?"
