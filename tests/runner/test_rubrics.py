"""What a judge is asked, and that only an answer that says it all is a judgment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.errors import UsageError
from steelyard.runner._rubrics import (
    MAX_PART_LENGTH,
    BlindedAttempt,
    Rubric,
    RubricLine,
    prompt_for,
    read_comparison,
    read_rubric,
    read_scores,
)

RUBRIC = Rubric(
    criteria=tuple(RubricLine(name=name, description=f"Is it {name}?", max=4) for name in ("right", "small", "clear"))
)


def answer(**points: object) -> str:
    lines = [{"name": name, "points": given, "reason": "because"} for name, given in points.items()]
    return json.dumps({"criteria": lines, "passed": True})


def test_an_answer_gives_every_criterion_its_points_and_a_vote() -> None:
    read = read_scores(f"I think...\n```json\n{answer(small=2, right=4, clear=0)}\n```", RUBRIC)
    assert read is not None
    lines, passed = read
    # in the rubric's order, whatever the order of the answer
    assert [(line.name, line.achieved, line.max) for line in lines] == [
        ("right", 4, 4),
        ("small", 2, 4),
        ("clear", 0, 4),
    ]
    assert passed is True


def test_of_several_objects_the_last_counts() -> None:
    read = read_scores(answer(right=0, small=0, clear=0) + " no: " + answer(right=4, small=4, clear=4), RUBRIC)
    assert read is not None
    assert [line.achieved for line in read[0]] == [4, 4, 4]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All good!",
        answer(right=4, small=4),
        answer(right=4, small=4, clear=4, kind=4),
        answer(right=5, small=4, clear=4),
        answer(right=-1, small=4, clear=4),
        answer(right=True, small=4, clear=4),
        answer(right="4", small=4, clear=4),
        '{"criteria": [], "passed": true}',
        '{"criteria": [{"name": "right", "points": 4}, {"name": "right", "points": 4}], "passed": true}',
        answer(right=4, small=4, clear=4).replace("true", '"yes"'),
        answer(right=4, small=4, clear=4).replace(', "passed": true', ""),
        "{" * 100_000,
        '{"a":' * 5_000,
    ],
)
def test_an_answer_that_leaves_something_open_is_no_judgment(text: str) -> None:
    assert read_scores(text, RUBRIC) is None


@pytest.mark.parametrize(("text", "winner"), [('{"better": "A"}', "A"), ('so: {"better":"tie"}.', "tie"), ("B", None)])
def test_a_comparison_names_the_better_one(text: str, winner: str | None) -> None:
    assert read_comparison(text) == winner


def test_the_order_of_criteria_depends_on_the_seed_and_on_nothing_else() -> None:
    orders = {tuple(line.name for line in RUBRIC.shuffled(str(seed))) for seed in range(60)}
    assert len(orders) == 6  # all orders of three come up
    assert RUBRIC.shuffled("7") == RUBRIC.shuffled("7")


def test_what_others_wrote_stands_between_marks_and_is_cut_in_the_middle() -> None:
    side = BlindedAttempt("a" * MAX_PART_LENGTH + "b" * MAX_PART_LENGTH, "")
    prompt = prompt_for("Do it.", [side], RUBRIC.criteria, rubric=RUBRIC, mark="=== 1 ===")
    assert "characters are left out here" in prompt
    assert len(prompt) < MAX_PART_LENGTH + 5_000
    assert prompt.count("\n=== 1 ===\n") == 6  # task, change and tests, each with two


def test_a_pair_is_asked_which_is_better() -> None:
    sides = [BlindedAttempt("first", "1 of 1 tests pass."), BlindedAttempt("second", "")]
    prompt = prompt_for("Do it.", sides, RUBRIC.criteria, rubric=RUBRIC, mark="===")
    assert prompt.index("first") < prompt.index("attempt B") < prompt.index("second")
    assert '"better"' in prompt


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[[criteria]]\nname = 'a'\ndescripton = 'b'", "unknown field", "did you mean 'description'?"),
        ("", "missing required field", "a rubric needs"),
        (
            "[[criteria]]\nname = 'a'\ndescription = 7",
            "criteria number 1, description: Expected 'str'",
            "a rubric needs",
        ),
        ("[[criteria]]\nname='a'\ndescription='b'\n" * 2, "duplicate criterion", "a rubric needs"),
        ("[[criteria", "", ""),
    ],
)
def test_a_rubric_that_cannot_be_used_is_refused(tmp_path: Path, text: str, message: str, hint: str) -> None:
    path = tmp_path / "rubric.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        read_rubric(path)
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")
    assert "rubric.toml" in (refused.value.where or "")
