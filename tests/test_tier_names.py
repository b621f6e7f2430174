"""A tier is shown under its own scheme's name in every verb, and tiers of two schemes are never compared silently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from commands import steelyard
from matchups import write
from steelyard.errors import UsageError
from steelyard.records import Judgment, Output, Run

SCYLLA = "scylla-2026"


def runs(*schemes: str, tiers: tuple[str, ...] = ("T0", "T2")) -> list[Run]:
    """Each tier of each scheme on three tasks."""
    return [
        Run(
            id=f"{scheme}-{tier}-{task}",
            task=f"t{task}",
            tier=tier,
            tier_scheme=scheme,
            passed=tier == "T2" or task == 0,
            impl_rate=0.5,
            judgments=(Judgment(judge="j", weighted_score=task / 4),),
            output=Output(language="python", text=f"x = {task}\n"),
        )
        for scheme in schemes
        for tier in tiers
        for task in range(3)
    ]


# What T2 stands for; T0 is "vanilla" in the seed and "prompts" in Scylla's.
NAMES = {"spec": ("T0 vanilla", "T2 skills"), SCYLLA: ("T0 prompts", "T2 tooling")}


@pytest.mark.parametrize("scheme", NAMES)
@pytest.mark.parametrize(
    "command",
    [
        ("measure", "--by", "tier"),
        ("explain", "pass_rate", "--by", "tier"),
        ("explain", "tier_uplift", "--by", "tier"),
        ("rank", "--by", "tier"),
        ("compare", "-a", "tier=T0", "-b", "tier=T2"),
        ("repeatability", "--by", "task,tier"),
    ],
    ids=" ".join,
)
def test_tables_show_a_tier_under_its_own_schemes_name(tmp_path: Path, scheme: str, command: tuple[str, ...]) -> None:
    verb, *rest = command
    shown = steelyard(verb, write(tmp_path / "runs.jsonl", runs(scheme)), *rest, "--quiet").stdout
    other = next(names for known, names in NAMES.items() if known != scheme)
    for name, wrong in zip(NAMES[scheme], other, strict=True):
        assert name in shown
        assert wrong not in shown


@pytest.mark.parametrize("scheme", NAMES)
def test_json_and_rows_name_the_scheme_and_what_the_tier_stands_for(scheme: str) -> None:
    meaning = NAMES[scheme][1].removeprefix("T2 ")
    measured = sy.measure(runs(scheme), by=["tier"])
    shown = measured.to_dict()
    assert (shown["by"], shown["tier_scheme"]) == (["tier"], scheme)
    assert [group["tier_name"] for group in shown["groups"]][1] == meaning
    assert shown["groups"][1]["key"] == {"tier": "T2"}
    assert [across["uplift"].keys() for across in shown["across"]] == [{"T2"}]
    assert {row["tier_scheme"] for row in measured.to_dicts()} == {scheme}
    ranked = sy.rank(runs(scheme), by=["tier"], metrics=["pass_rate"])
    assert ranked.to_dict()["tier_scheme"] == scheme
    assert ranked.to_dict()["groups"][0]["tier_name"] == meaning  # T2 passes everything
    assert {row["tier_scheme"] for row in ranked.to_dicts()} == {scheme}
    compared = sy.compare(runs(scheme), baseline="tier=T0", candidate="tier=T2").to_dict()
    assert (compared["pairs"][0]["candidate"]["tier_scheme"], compared["pairs"][0]["candidate"]["tier_name"]) == (
        scheme,
        meaning,
    )
    assert compared["pairs"][0]["candidate"]["label"] == f"T2 {meaning}"
    explained = sy.explain(runs(scheme), "pass_rate", by=["tier"]).to_dict()
    assert (explained["tier_scheme"], explained["groups"][1]["tier_name"]) == (scheme, meaning)


def test_where_no_tier_is_shown_no_scheme_is() -> None:
    assert sy.measure(runs(SCYLLA), by=["task"]).to_dict()["tier_scheme"] is None
    compared = sy.compare(runs(SCYLLA), baseline="task=t0", candidate="task=t1").to_dict()
    assert (compared["baseline"]["tier_scheme"], compared["baseline"]["tier_name"]) == (None, None)


def test_the_tiers_of_a_scheme_of_ones_own_are_their_own_names() -> None:
    ours = runs("ours", tiers=("gold", "T2"))
    shown = sy.measure(ours, by=["tier"]).to_dict()
    assert shown["tier_scheme"] == "ours"
    assert [group["tier_name"] for group in shown["groups"]] == [None, None]
    assert sy.compare(ours, baseline="tier=gold", candidate="tier=T2").baseline.label == "gold"


def test_two_schemes_are_kept_apart_and_each_is_named(tmp_path: Path) -> None:
    both = runs("spec", SCYLLA)
    for result in (sy.measure(both, by=["tier"]), sy.rank(both, by=["tier"]), sy.judges(both, by=["tier"])):
        assert result.by == ("tier_scheme", "tier")
        assert "tier_schemes" in {finding.code for finding in result.findings}
    names = {
        (group["key"]["tier_scheme"], group["tier_name"]) for group in sy.measure(both, by="tier").to_dict()["groups"]
    }
    assert names == {("spec", "vanilla"), ("spec", "skills"), (SCYLLA, "prompts"), (SCYLLA, "tooling")}
    assert sy.judges(both, by=["tier"]).judges["j"].kruskal_wallis.groups == 4
    table = steelyard("rank", write(tmp_path / "runs.jsonl", both), "--by", "tier", "--quiet").stdout
    assert all(name in table for pair in NAMES.values() for name in pair)
    prompts = sy.repeatability(both, by=["tier"]).prompts
    assert sorted(prompt.prompt for prompt in prompts) == sorted(name for pair in NAMES.values() for name in pair)


@pytest.mark.parametrize("b", ["tier=T2", {"tier": "T2", "tier_scheme": SCYLLA}])
def test_sides_of_two_schemes_are_refused_unless_each_names_its_own(b: str | dict[str, str]) -> None:
    with pytest.raises(UsageError, match="T0 vanilla in spec") as refused:
        sy.compare(runs("spec", SCYLLA), baseline="tier=T0", candidate=b)
    assert "tier_scheme=" in (refused.value.hint or "")
    # tier T0 of one scheme against T2 of another would be compared without a word
    apart = [*runs("spec", tiers=("T0",)), *runs(SCYLLA, tiers=("T2",))]
    with pytest.raises(UsageError, match="2 schemes"):
        sy.compare(apart, baseline="tier=T0", candidate="tier=T2")


def test_sides_that_name_their_schemes_are_compared_with_a_finding() -> None:
    a, b = f"tier=T0,tier_scheme={SCYLLA}", "tier=T2,tier_scheme=spec"
    result = sy.compare(runs("spec", SCYLLA), baseline=a, candidate=b)
    assert "tier_schemes" in {finding.code for finding in result.findings}
    assert (result.baseline.label, result.pairs[0].candidate.label) == (f"T0 prompts {SCYLLA}", "T2 skills spec")


def test_a_gate_does_not_hold_tiers_of_two_schemes_against_each_other() -> None:
    with pytest.raises(UsageError, match="T2 skills in spec"):
        sy.gate(runs(SCYLLA), baseline=runs("spec"), rule=["pass_rate >= -0.1"], where="tier=T2")
    assert sy.gate(runs(SCYLLA), baseline=runs(SCYLLA), rule=["pass_rate >= -1"], where="tier=T2").tasks == 3


@pytest.mark.parametrize("verb", ["measure", "judges"])
def test_choosing_one_tier_of_two_schemes_is_told(tmp_path: Path, verb: str) -> None:
    file = write(tmp_path / "runs.jsonl", runs("spec", SCYLLA))
    found = json.loads(steelyard(verb, file, "--where", "tier=T2", "--json").stdout)["findings"]
    [told] = [finding for finding in found if finding["code"] == "tier_schemes"]
    assert "T2 tooling in scylla-2026 and T2 skills in spec" in told["message"]
    one = json.loads(steelyard(verb, file, "--where", "tier=T2,tier_scheme=spec", "--json").stdout)["findings"]
    assert "tier_schemes" not in {finding["code"] for finding in one}
