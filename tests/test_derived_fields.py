"""The facts that metrics are made of, from one record in which no two counts are the same."""

from __future__ import annotations

from hypothesis import given, settings

from steelyard.metrics import catalog
from steelyard.records import Missing, Run, convert_run, derived_fields
from strategies import runs

RUN = convert_run(
    {
        "task": "t",
        "actions": [
            {"weight": 2.0, "goal_alignment": 0.5},
            {"weight": 1.0, "goal_alignment": 0.49},
            {"weight": 1.0, "goal_alignment": 1.0},
        ],
        "changes": [
            {"id": "a", "failed": True, "reverted": False},
            {"id": "b", "failed": True, "reverted": True},
            {"id": "c", "failed": True, "reverted": True},
            {"id": "d", "failed": False, "reverted": False},
        ],
        "components": [
            {"type": "SKILL_PROMPT", "input_tokens": 1, "output_tokens": 2},
            {"type": "DOMAIN_EXPERTISE", "input_tokens": 10, "output_tokens": 20},
            {"type": "TOOL_SCHEMA", "input_tokens": 100, "output_tokens": 200},
        ],
        "steps": {
            "expected": [{"id": "s1", "weight": 1.0}, {"id": "s2", "weight": 2.0}, {"id": "s3", "weight": 4.0}],
            "achieved": ["s1", "s3", "s9"],
        },
        "tests": {"passed": ["p", "q"], "failed": ["q", "r"], "errors": ["e"]},
    }
)
EXPECTED = {
    "aligned_weight": 2.49,  # 2 x 0.5 + 1 x 0.49 + 1 x 1
    "action_weight": 4.0,
    "goal_aligned_actions": 2,  # 0.5 is aligned, 0.49 is not
    "total_actions": 3,
    "failed_changes": 3,
    "reverted_changes": 2,
    "total_changes": 4,
    "skill_tokens": 33,  # 1 + 2 + 10 + 20
    "schema_tokens": 300,
    "achieved_weighted_steps": 5.0,  # s1 and s3; s9 was not expected
    "expected_weighted_steps": 7.0,
    "achieved_steps": 2,
    "expected_steps": 3,
    "tests_run": 5,
    "tests_not_passed": 3,
    "tests_listed_twice": 1,  # q
}


def test_the_facts_of_a_record_are_counted_from_its_parts() -> None:
    facts = derived_fields(RUN)
    assert {name: facts[name] for name in EXPECTED} == EXPECTED


def test_a_part_that_the_record_does_not_have_gives_no_zero() -> None:
    facts = derived_fields(convert_run({"task": "t"}))
    assert all(isinstance(facts[name], Missing) for name in EXPECTED)


@settings(max_examples=200, deadline=None)
@given(runs())
def test_a_run_s_verdict_is_its_pass_rate(run: Run) -> None:
    metric = catalog()["pass_rate"]
    facts = derived_fields(run)
    rate = metric.function(**{name: facts[name] for name in metric.inputs})
    assert run.verdict == (None if isinstance(rate, Missing) else rate == 1.0)
