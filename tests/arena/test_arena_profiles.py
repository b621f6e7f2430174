"""Which profiles an arena takes, and what it leaves untouched when it refuses one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from steelyard.arena import RANKED_SCORES, read_rules
from steelyard.arena.scoring._baseline import BaselineBounds, BaselineInputs, baseline_of, default_bounds
from steelyard.arena.scoring._receipts import validate
from steelyard.arena.scoring._row_scores import ScoringContext, with_contexts
from steelyard.arena.scoring._rules import RANGES, score_metrics
from steelyard.arena.scoring._scores import (
    KEPT_SCORES,
    SCORE_INPUTS,
    columns_in_cents,
    points,
    scores_in_cents,
    unrounded_scores,
)
from steelyard.arena.scoring._submission_rows import frame_of
from steelyard.cli import run
from steelyard.errors import UsageError
from steelyard.profiles import Profile, load_profile
from steelyard.questions import open_arena
from steelyard.records import MAX_VALUE, Task


def profile_of(changed: dict[str, Any]) -> Profile:
    """The shipped profile with these constants; those within a table one by one."""
    held = load_profile("arena-1").constants
    whole = {"category_weights", "difficulty_factors"}
    own = {
        name: {**held[name], **value} if isinstance(value, dict) and name not in whole else value
        for name, value in changed.items()
    }
    return Profile(name="mine", spec="arena", constants={**held, **own})


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_a_profile_without_finite_numbers_leaves_the_store_as_it_was(
    store_address: str, tmp_path: Path, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        f'name = "mine"\nspec = "arena"\nextends = "arena-1"\n[constants.baseline]\nmax_tokens = {number}\n'
    )
    at = ("--store", store_address)
    assert run(["arena", "init", "--profile", str(path), *at]) == 2
    assert f"{path}: constants.baseline.max_tokens must be a finite number (got {number})" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.db"))
    assert run(["arena", "init", *at]) == 0
    assert run(["arena", "rescore", "--profile", str(path), *at]) == 2
    assert open_arena(store_address).rules.name == "arena-1"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"token_weight": 5.0}, "token_weight is 5, expected float <= 1.0"),
        ({"efficiency_weight": 0.9}, "the weights of overall_score sum to 1.55, not 1"),
        ({"iteration_weight": 0.1}, "the weights of efficiency_score sum to 0.9, not 1"),
        ({"speed_weight": -0.25, "cost_weight": 0.7}, "speed_weight is -0.25, expected float >= 0.0"),
        ({"token_weight": -0.1, "tool_call_weight": 0.9}, "token_weight is -0.1"),
        ({"speed_exponent": -1}, "speed_exponent is -1, expected float > 0.0"),
        ({"speed_exponent": 0}, "speed_exponent is 0"),
        ({"speed_exponent": 101}, "speed_exponent is 101"),
        ({"unknown_speed_score": 1e300}, "unknown_speed_score is 1e+300, expected float <= 100.0"),
        ({"unknown_cost_score": -1}, "unknown_cost_score is -1"),
        ({"iteration_floor": 101}, "iteration_floor is 101"),
        ({"iteration_step": -15}, "iteration_step is -15"),
        ({"iteration_over_step": -1e-9}, "iteration_over_step is -1e-09"),
        ({"difficulty_factor": 2}, "difficulty_factors"),
        ({"difficulty_factors": {"beginner": 0}}, "> 0"),
        ({"difficulty_factors": {"beginner": -1.0}}, "> 0"),
        ({"category_weights": {"x": {"efficiency": 1, "speed": 1, "cost": 0, "correctness": 0}}}, "sum to 2"),
        ({"baseline": {"min_tokens": 20_001}}, "min_tokens, median_tokens and max_tokens must be in ascending order"),
        ({"baseline": {"max_cost": 0.04}}, "min_cost, median_cost and max_cost"),
        ({"baseline": {"max_tokens": 1e300}}, "<= 9007199254740992"),
        ({"baseline": {"submissions": 0}}, ">= 1"),
        ({"outliers": {"token_fraction_of_median": 1.5}}, "<= 1"),
        ({"outliers": {"few_tool_calls": -1}}, ">= 0"),
        ({"outliers": {"flags_for_review": 0}}, ">= 1"),
        ({"validation": {"high_score": 101}}, "<= 100"),
        ({"interval": {"level": 1}}, "< 1"),
        ({"interval": {"min_scores": 1}}, ">= 2"),
        ({"interval": {"small_multiplier": 0}}, "> 0"),
        ({"leaderboard": {"reliable_from": 0}}, ">= 1"),
    ],
)
def test_a_profile_by_which_scores_make_no_sense_is_refused(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=re.escape(reason)):
        read_rules(profile_of(changed))


def test_every_constant_of_the_scores_has_a_range() -> None:
    declared = {name for one in score_metrics() for name in one.constants}
    assert {name for name in declared if name.rsplit("_", 1)[-1] not in RANGES} == set()


SHARE = st.floats(0, 1)
ANY_SCORE = st.floats(0, 100)
STEP = st.floats(0, 1e308)
COUNT = st.sampled_from([0, 1, 2, MAX_VALUE]) | st.integers(0, 300_000)
AMOUNT = st.sampled_from([0.0, 5e-324, 1.0, float(MAX_VALUE)]) | st.floats(0, 10_000)


def weights(count: int) -> st.SearchStrategy[list[float]]:
    """Weights that add up to 1."""
    given_ = st.lists(st.just(0.0) | st.floats(1e-9, 1), min_size=count, max_size=count).filter(any)
    return given_.map(lambda found: [one / sum(found) for one in found])


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """Any profile that an arena takes, as wild as it may be."""
    changed: dict[str, Any] = {}
    changed |= zip(("token_weight", "tool_call_weight", "iteration_weight"), draw(weights(3)), strict=True)
    parts = ("efficiency", "speed", "cost", "correctness")
    changed |= zip((f"{part}_weight" for part in parts), draw(weights(4)), strict=True)
    changed |= {"iteration_step": draw(STEP), "iteration_over_step": draw(STEP), "iteration_floor": draw(ANY_SCORE)}
    changed |= {"unknown_speed_score": draw(ANY_SCORE), "unknown_cost_score": draw(ANY_SCORE)}
    changed["speed_exponent"] = draw(st.floats(0, 100, exclude_min=True) | st.floats(0.1, 3))
    changed["category_weights"] = {"debugging": dict(zip(parts, draw(weights(4)), strict=True))}
    changed["difficulty_factors"] = {"advanced": draw(st.floats(0, float(MAX_VALUE), exclude_min=True))}
    baseline: dict[str, float] = {"median_iterations": draw(AMOUNT)}
    for name, values in (("tokens", COUNT), ("tool_calls", COUNT), ("execution_time", AMOUNT), ("cost", AMOUNT)):
        ordered = sorted(draw(st.lists(values, min_size=3, max_size=3)))
        baseline |= zip((f"{which}_{name}" for which in ("min", "median", "max")), ordered, strict=True)
    return profile_of(changed | {"baseline": baseline})


@st.composite
def inputs(draw: st.DrawFn) -> dict[str, float | None]:
    total = draw(st.integers(0, 20))
    return {
        "total_tokens": draw(COUNT),
        "tool_calls": draw(COUNT),
        "iterations": draw(st.none() | COUNT.filter(bool)),
        "execution_time": draw(st.none() | AMOUNT),
        "estimated_cost": draw(st.none() | AMOUNT),
        "criteria_met": draw(st.integers(0, total)),
        "criteria_total": total,
    }


def own_bounds(rows: list[dict[str, float | None]]) -> BaselineBounds:
    """The bounds that these submissions make themselves, as a task has them from its fifth on."""
    columns = {name: [row[name] for row in rows] for name in SCORE_INPUTS}
    known = BaselineInputs(**{name: columns[name] for name in BaselineInputs._fields})  # type: ignore[arg-type]  # drawn in these types
    unreported = dict.fromkeys(BaselineBounds._fields, 1.0)
    return BaselineBounds(*(baseline_of(known, defaults=unreported, least=1)[name] for name in BaselineBounds._fields))


@settings(max_examples=200, deadline=None)
@given(profile=profiles(), rows=st.lists(inputs(), min_size=1, max_size=5), of_its_own=st.booleans())
def test_no_profile_and_no_submission_make_a_score_outside_0_and_100(
    profile: Profile, rows: list[dict[str, float | None]], of_its_own: bool
) -> None:
    rules = read_rules(profile)
    for task in (Task(id="t"), Task(id="t", category="debugging", difficulty="advanced")):
        constants = rules.constants_of(task)
        bounds = own_bounds(rows) if of_its_own else default_bounds(rules.defaults_of(task))
        frame = with_contexts(
            frame_of({name: [row[name] for row in rows] for name in SCORE_INPUTS}, SCORE_INPUTS),
            [ScoringContext(bounds, constants)],
            [0] * len(rows),
        )
        columns = columns_in_cents(frame, constants)
        for number, row in enumerate(rows):
            assert all(0 <= value <= 100 + 1e-6 for value in unrounded_scores(row, bounds, constants).values())
            alone = scores_in_cents(row, bounds, constants)
            assert all(0 <= value <= 100_00 for value in alone.values())
            assert alone == {name: columns[name][number] for name in KEPT_SCORES}
            shown = [points(alone[name]) for name in RANKED_SCORES]
            assert validate(shown, 0, rules.validation)[0] == []
