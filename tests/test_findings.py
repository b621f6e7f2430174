"""Findings are complete: one a kind, with a count and every place, whoever found them."""

from __future__ import annotations

import io
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import steelyard as sy
from commands import steelyard
from steelyard.cli._print import print_findings
from steelyard.records import Finding, Place, PlacesOnDemand, Rejected, SetAside, one_a_kind, set_aside_findings
from steelyard.statistics import are_fine, coincidences
from steelyard.statistics._coincidences import at_least

SAMPLES = Path(__file__).parent / "samples" / "formats"


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def found(code: str, *arguments: str) -> dict[str, Any]:
    """The one finding of that kind in the command's JSON."""
    answer = json.loads(steelyard(*arguments, "--json", "--quiet").stdout)
    (finding,) = [finding for finding in answer["findings"] if finding["code"] == code]
    shown: dict[str, Any] = finding
    return shown


def codes(*arguments: str) -> set[str]:
    return {finding["code"] for finding in json.loads(steelyard(*arguments, "--json", "--quiet").stdout)["findings"]}


cases = st.lists(
    st.builds(
        Finding,
        code=st.sampled_from("ab"),
        message=st.sampled_from(["one", "two"]),
        where=st.sampled_from([None, "x", "y"]),
        count=st.integers(1, 3),
    )
)


@given(given=cases)
def test_one_a_kind_loses_no_case_and_no_word(given: list[Finding]) -> None:
    merged = one_a_kind(given)
    assert [finding.code for finding in merged] == list(dict.fromkeys(finding.code for finding in given))
    told = [
        (finding.code, place.where, place.message or finding.message, place.count)
        for finding in merged
        for place in finding.places
    ]
    assert sorted(map(str, told)) == sorted(
        str((finding.code, finding.where, finding.message, finding.count)) for finding in given
    )
    assert sum(finding.count for finding in merged) == sum(finding.count for finding in given)
    assert one_a_kind(merged) == merged


def test_the_gravest_case_decides_how_grave_a_kind_is() -> None:
    grave, slight = (Finding(code="c", message="m", severity=severity) for severity in ("error", "info"))
    assert one_a_kind([slight, grave])[0].severity == "error"


rejections = st.lists(
    st.builds(
        Rejected,
        path=st.sampled_from(["a.jsonl", "b.csv"]),
        line=st.none() | st.integers(1, 9),
        reason=st.sampled_from(["not JSON", "bad"]),
        hint=st.none() | st.just("mend it"),
        code=st.sampled_from(["invalid_record", "cut_off"]),
        item=st.none() | st.integers(1, 9),
    )
)


@given(given=rejections)
def test_what_was_set_aside_is_kept_word_by_word(given: list[Rejected]) -> None:
    aside = SetAside()
    for record in given:
        aside.add(record)
    assert list(aside) == given
    assert list(aside[1:3]) == given[1:3]
    assert sum(count for _, count in aside.by_reason()) == len(given)
    places = {
        (finding.code, place.where, place.message or finding.message)
        for finding in set_aside_findings(aside)
        for place in finding.places
    }
    assert places == {(record.code, record.where, record.message) for record in given}


def test_places_on_demand_are_made_when_looked_at() -> None:
    made: list[int] = []

    def place(numbers: range) -> list[Place]:
        made.extend(numbers)
        return [Place(where=str(number)) for number in numbers]

    finding = Finding(code="c", message="m", places=PlacesOnDemand(10_000_000, place))
    assert (finding.count, finding.where, made) == (10_000_000, "0", [0])
    assert [one.where for one in finding.places[-2:]] == ["9999998", "9999999"]


@pytest.mark.parametrize(
    "command",
    [
        ["measure"],
        ["compare", "-a", "agent=a", "-b", "agent=b"],
        ["rank", "--by", "agent"],
        ["gate", "--baseline", "RUNS", "--rule", "pass_rate >= -0.5"],
        ["judges"],
        ["repeatability", "--no-repair"],
        ["read"],
    ],
    ids=lambda command: command[0],
)
def test_every_verb_lists_a_kind_once_with_every_place(command: list[str], tmp_path: Path) -> None:
    judged = {"judgments": [{"judge": name, "weighted_score": 0.9, "passed": False} for name in "jk"]}
    records = [
        {"id": f"{agent}{n}", "task": f"t{n}", "agent": agent, "passed": True, "output": {"text": "x = 1"}, **judged}
        for agent in "ab"
        for n in range(30)
    ]
    bad = [{"task": "t", "cost_usd": -1}] * 25
    path = write(tmp_path / "runs.jsonl", *records, *bad, *records[:23])
    verb, *options = [str(path) if word == "RUNS" else word for word in command]
    done = steelyard(verb, str(path), *options, "--allow-rejected", "--json")
    answer = json.loads(done.stdout)
    kinds = [finding["code"] for finding in answer["findings"]]
    assert len(kinds) == len(set(kinds))
    for finding in answer["findings"]:
        assert finding["count"] == sum(place.get("count", 1) for place in finding["places"])
        assert finding["where"] == finding["places"][0]["where"]
    sides = 2 if verb == "gate" else 1  # the baseline is the same file, read for its side
    by_code = {finding["code"]: finding for finding in answer["findings"]}
    assert by_code["repeated"]["count"] == 23 * sides
    wanted = [f"{path}:{line}" for line in range(86, 109)]  # 60 runs and 25 bad lines stand before
    assert [place["where"] for place in by_code["repeated"]["places"]] == wanted * sides
    if verb == "read":
        assert [record["where"] for record in answer["rejected"]] == [f"{path}:{line}" for line in range(61, 86)]
    else:
        assert by_code["invalid_record"]["count"] == 25 * sides
    if verb == "judges":
        against = by_code["judge_contradiction"]
        assert against["count"] == len(against["places"]) == 120  # 60 runs, two judges
    assert re.search(r"; \d+ more \(see --json\) \[repeated\]", done.stderr)


def test_a_kind_of_finding_takes_one_line_with_its_count(tmp_path: Path) -> None:
    bad = [{"task": "t", "cost_usd": -1}] * 9 + [{"task": "t", "usge": {}}]
    write(tmp_path / "runs.jsonl", {"task": "t"}, *bad)
    told = steelyard("measure", "runs.jsonl", cwd=tmp_path).stderr.splitlines()
    assert told[0].startswith("error: runs.jsonl:2: cost_usd: expected")
    assert "; 9 more (see --json) [" in told[0]  # 10 - 1
    assert not any("runs.jsonl:3" in line for line in told)


@pytest.mark.parametrize("command", ["read", "measure"])
def test_a_file_that_is_named_with_its_folder_is_told_to_count_once(command: str, tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", {"task": "t"})
    finding = found("file_repeated", command, str(tmp_path), str(path))
    assert finding["places"] == [{"where": str(path)}]


def test_the_same_trial_or_session_in_two_folders_is_told(tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(SAMPLES / "harbor", tmp_path / name / "harbor")
        shutil.copytree(SAMPLES / "codex", tmp_path / name / "codex")
    once = {place["where"] for place in found("repeated", "read", str(tmp_path))["places"]}
    names = [path for path in sorted((tmp_path / "two").rglob("*.json*")) if path.name != "job.json"]
    assert once == {path.as_posix() for path in names}  # every trial and session of the second folder
    assert found("repeated", "measure", str(tmp_path))["count"] == len(names)
    assert "repeated" not in codes("read", str(tmp_path / "one"))


GLUED = ["claude-code/session.jsonl", "codex/rollout.jsonl", "codex-exec/stream.jsonl"]


@pytest.mark.parametrize("sample", GLUED)
@pytest.mark.parametrize("command", ["read", "measure"])
def test_objects_glued_on_one_line_are_read_and_told(sample: str, command: str, tmp_path: Path) -> None:
    lines = (SAMPLES / sample).read_bytes().splitlines(keepends=True)
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join([lines[0].rstrip(b"\n"), *lines[1:]]))
    finding = found("glued_objects", command, str(path))
    assert [place["where"] for place in finding["places"]] == [f"{path}:1"]
    assert finding["severity"] == "info"
    path.write_bytes(b"".join(lines))
    assert "glued_objects" not in codes(command, str(path))


@pytest.mark.parametrize(
    ("score", "passed", "contradicts"),
    [(0.59, True, True), (0.6, True, False), (0.6, False, True), (0.59, False, False), (0.9, None, False)],
)
def test_a_stated_score_that_contradicts_the_verdict_is_a_finding(
    score: float, passed: bool | None, contradicts: bool, tmp_path: Path
) -> None:
    # the threshold of profile outcome-1 is 0.6, as it is for judges
    path = write(tmp_path / "runs.jsonl", {"id": "a", "task": "t", "impl_rate": score, "passed": passed})
    assert ("score_contradicts_verdict" in codes("measure", str(path))) == contradicts
    if contradicts:
        place = found("score_contradicts_verdict", "measure", str(path))["places"][0]
        assert place == {"where": "run a", "message": f"stated_impl_rate {score}, pass_rate {float(bool(passed))}"}


def test_a_score_is_held_against_the_verdict_of_the_tests() -> None:
    run = sy.Run(id="a", task="t", impl_rate=0.9, passed=True, tests=sy.records.TestResults(passed=2, failed=1))
    assert "score_contradicts_verdict" in [finding.code for finding in sy.measure([run]).findings]


def retried(attempts_and_tasks: dict[int, int], limit: int) -> list[dict[str, Any]]:
    """Runs of tasks that passed at the attempt of that number, and of those that never did (0)."""
    runs = []
    for attempts, tasks in attempts_and_tasks.items():
        for task in range(tasks):
            for attempt in range(1, (attempts or limit) + 1):
                name = f"t{attempts}-{task}"
                runs.append(
                    {"id": f"{name}-{attempt}", "task": name, "attempt": attempt, "passed": attempt == attempts}
                )
    return runs


def test_retrying_until_a_pass_is_told_with_the_first_attempts_beside(tmp_path: Path) -> None:
    # chances of a pass as Beta(1/2, 1/2) has them, 0.5 on average: of 256 tasks 128 pass at once, then 32, 16, 10 and 7
    runs = retried({1: 128, 2: 32, 3: 16, 4: 10, 5: 7, 0: 63}, limit=5)
    random.Random(1).shuffle(runs)
    path = write(tmp_path / "runs.jsonl", *runs)
    (place,) = found("retried_until_pass", "measure", str(path))["places"]
    # 193 passes in 128 + 64 + 48 + 40 + 35 + 315 = 630 runs; (128 + 16 + 16/3 + 10/4 + 7/5) / 256; 128 of 256
    expected = "pass rate over runs 30.6%, over tasks 59.9%, over first attempts 50.0% (128 of 256)"
    assert place == {"where": "all runs", "message": expected}


@pytest.mark.parametrize("verb", ["rank", "compare", "gate"])
def test_rank_compare_and_gate_tell_of_retries_and_uneven_costs(verb: str) -> None:
    runs = [
        {**run, "id": f"{agent}{run['id']}", "agent": agent, "cost_usd": 1.0 if run["passed"] or number % 2 else None}
        for agent in "ab"
        for number, run in enumerate(retried({1: 4, 2: 3, 0: 3}, limit=3))
    ]
    if verb == "rank":
        findings = sy.rank(runs, by=["agent"], metrics=["pass_rate"]).findings
    elif verb == "compare":
        findings = sy.compare(runs, baseline="agent=a", candidate="agent=b").findings
    else:
        rules = ["pass_rate >= -0.5", "cost_of_pass <= +50%"]
        findings = sy.gate(runs, baseline=runs, rule=rules, where=["agent=a"]).findings
    by_code = {finding.code: finding for finding in findings}
    retries, costs = by_code["retried_until_pass"], by_code["uneven_costs"]
    assert retries.count == costs.count == 2  # once a side
    # 7 passes in 4 + 6 + 9 = 19 runs; (4 + 3/2) / 10; 4 of 10 at the first attempt
    expected = "pass rate over runs 36.8%, over tasks 55.0%, over first attempts 40.0% (4 of 10)"
    assert {place.message for place in retries.places} == {expected}


def test_a_few_exceptions_do_not_hide_that_attempts_end_with_a_pass() -> None:
    runs = retried({1: 20, 2: 10, 0: 10}, limit=3)
    runs.append({"id": "again", "task": "t1-0", "attempt": 2, "passed": True})  # one of 40 tasks
    (finding,) = [finding for finding in sy.measure(runs).findings if finding.code == "retried_until_pass"]
    # 31 passes in 21 + 20 + 30 = 71 runs; (20 + 10/2) / 40; the task that went on is not counted: 19 of 39
    expected = "pass rate over runs 43.7%, over tasks 62.5%, over first attempts 48.7% (19 of 39)"
    assert finding.places[0].message == expected


@pytest.mark.parametrize("tasks", [["t0-0", "t0-1"], ["t0-0", "t3-0"]])
def test_retries_are_found_if_tasks_have_an_attempt_more(tasks: list[str]) -> None:
    runs = retried({1: 8, 2: 5, 3: 2, 0: 5}, limit=3)  # t0-... never passed
    for task in tasks:
        if task == "t3-0":  # passed at attempt 4
            runs.append({"id": f"{task}-0", "task": task, "attempt": 0, "passed": False})
        else:
            runs.append({"id": f"{task}-4", "task": task, "attempt": 4, "passed": False})
    assert "retried_until_pass" in [finding.code for finding in sy.measure(runs).findings]


@pytest.mark.parametrize("change", ["goes on", "passes twice", "gives up early", "none"])
def test_attempts_that_were_planned_are_not_taken_for_retries(change: str) -> None:
    runs = retried({1: 3, 2: 3, 0: 3}, limit=3)
    if change == "goes on":
        runs.append({"id": "more", "task": "t1-0", "attempt": 2, "passed": False})
    elif change == "passes twice":
        runs.append({"id": "more", "task": "t1-0", "attempt": 2, "passed": True})
    elif change == "gives up early":
        runs.append({"id": "more", "task": "another", "attempt": 1, "passed": False})
    told = [finding.code for finding in sy.measure(runs).findings]
    assert ("retried_until_pass" in told) == (change == "none")


def test_costs_that_failures_lack_are_told_with_cost_of_pass_by_verdict(tmp_path: Path) -> None:
    # 40 of 100 pass, every run costs $1: the truth is 1 / 0.4 = $2.50
    runs: list[dict[str, Any]] = [{"id": f"p{n}", "task": "t", "passed": True, "cost_usd": 1.0} for n in range(40)]
    runs += [{"id": f"f{n}", "task": "t", "passed": False, "cost_usd": 1.0 if n % 2 else None} for n in range(60)]
    path = write(tmp_path / "runs.jsonl", *runs)
    (place,) = found("uneven_costs", "measure", str(path))["places"]
    assert place["message"] == (
        "known for 40 of 40 passed and 30 of 60 failed runs: cost of pass over runs is $1.7500 from complete "
        "cases, $2.5000 by verdict"  # (40 + 30) / 40 and (40 + 60) / 40
    )
    value = json.loads(steelyard("measure", str(path), "--json", "--quiet").stdout)["groups"][0]["metrics"]
    assert value["cost_of_pass"]["value"] == 1.75
    even = [run for run in runs if run["cost_usd"] is not None]
    assert "uneven_costs" not in [finding.code for finding in sy.measure(even).findings]


def test_cost_of_pass_by_verdict_is_unknown_where_no_failure_has_a_cost() -> None:
    runs = [
        sy.Run(id="a", task="t", passed=True, cost_usd=1.0),
        sy.Run(id="b", task="t", passed=False),
    ]
    (finding,) = [finding for finding in sy.measure(runs).findings if finding.code == "uneven_costs"]
    assert "$1.0000 from passed runs only, and unknown by verdict" in (finding.places[0].message or "")


def results(costs: dict[str, list[float]]) -> list[dict[str, Any]]:
    return [
        {"id": f"{agent}{n}", "task": f"t{n}", "agent": agent, "cost_usd": cost}
        for agent, own in costs.items()
        for n, cost in enumerate(own)
    ]


def test_two_agents_with_the_same_costs_are_told_with_the_chance(tmp_path: Path) -> None:
    draw = random.Random(1)
    copied = [draw.uniform(1, 2) for _ in range(10)]
    path = write(tmp_path / "runs.jsonl", *results({"a": copied, "b": copied}))
    finding = found("duplicate_results", "measure", str(path), "--by", "agent")
    # each cost is 1 of the 18 results at other tasks and itself: (1/19)**10, for one pair and three figures 4.9e-13
    message = "cost_usd on 10 of 10 tasks (probability about 5e-13)"
    assert finding["places"] == [{"where": "agent a and agent b", "message": message}]
    other = [draw.uniform(1, 2) for _ in range(10)]
    write(path, *results({"a": copied, "b": other}))
    assert "duplicate_results" not in codes("measure", str(path))


@pytest.mark.parametrize(
    ("costs", "why"),
    [
        ({"a": [12.345] * 30, "b": [12.345] * 30}, "a value that all tasks have is no evidence"),
        ({"a": [n / 100 for n in range(30)], "b": [n / 100 for n in range(30)]}, "cents agree easily"),
        ({agent: [1.2345 + n / 7 for n in range(30)] for agent in "abcd"}, "a task at which all agree is no evidence"),
        ({"a": [1.2345, 2.3456], "b": [1.2345, 2.3456]}, "two tasks are too few"),
    ],
)
def test_ties_are_no_evidence_of_a_copy(costs: dict[str, list[float]], why: str) -> None:
    assert "duplicate_results" not in [finding.code for finding in sy.measure(results(costs)).findings], why


def test_a_copy_of_half_the_tasks_is_found_and_chance_agreement_is_not() -> None:
    draw = random.Random(7)
    own, others = ([draw.uniform(1, 2) for _ in range(40)] for _ in range(2))
    half = results({"a": own, "b": own[:20] + others[20:]})
    (finding,) = [finding for finding in sy.measure(half).findings if finding.code == "duplicate_results"]
    assert "cost_usd on 20 of 40 tasks" in (finding.places[0].message or "")
    for seed in range(20):  # three attempts each at 200 tasks, some 400 whole numbers apart: many agree by chance
        generator = np.random.default_rng(seed)
        tasks = np.repeat(np.arange(200), 12)
        agents = np.tile(np.repeat(np.arange(4), 3), 200)
        values = np.round(generator.lognormal(9, 0.05, len(tasks))).astype(np.int64)
        assert coincidences(tasks, agents, values) == []


@given(chances=st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=8), count=st.integers(0, 8))
def test_the_chance_of_so_many_events_is_that_of_all_ways_they_can_happen(chances: list[float], count: int) -> None:
    ways = 0.0
    for which in range(2 ** len(chances)):
        happens = [bool(which >> place & 1) for place in range(len(chances))]
        if sum(happens) >= count:
            chance = 1.0
            for happened, own in zip(happens, chances, strict=True):
                chance *= own if happened else 1 - own
            ways += chance
    assert at_least(count, np.array(chances)) == pytest.approx(ways)


def test_the_order_of_rows_changes_no_bit_of_a_finding() -> None:
    draw = random.Random(3)
    copied = [draw.uniform(1, 2) for _ in range(12)]
    runs = [*results({"a": copied, "b": copied}), *retried({1: 4, 2: 3, 0: 2}, limit=3)]
    answers = set()
    for _ in range(3):
        draw.shuffle(runs)
        answers.add(json.dumps(sy.measure(runs, by=["agent"]).to_dict()["findings"]))
    assert len(answers) == 1


@settings(max_examples=500, deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**7), 10**7).map(lambda n: n / 1_000))
)
def test_numbers_are_fine_by_the_digits_that_python_writes(values: list[float]) -> None:
    digits = [repr(abs(value)).partition("e")[0].replace(".", "").strip("0") for value in values]
    assert are_fine(np.array(values, dtype=float)).tolist() == [len(each) >= 4 for each in digits]


def test_agents_that_tried_each_task_very_often_share_results_by_chance() -> None:
    chance = np.random.default_rng(5)
    tasks, agents = np.repeat(np.arange(40), 2 * 30), np.tile(np.repeat([0, 1], 30), 40)  # 30 x 30 pairs, a chance each
    values = np.round(chance.random(len(tasks)), 4)
    values[agents == 1] = values[agents == 0]
    assert coincidences(tasks, agents, values) == []
    once = np.arange(0, len(tasks), 30)  # each tried a task once: a copy shows
    assert [(found.agreeing, found.tasks) for found in coincidences(tasks[once], agents[once], values[once])] == [
        (40, 40)
    ]


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), attempts=st.integers(1, 14), coarse=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_coarse_results_count_for_nothing_however_often_a_task_was_tried(
    seed: int, attempts: int, coarse: float
) -> None:
    """Whether enough results were seen is decided early; the answer is that of the fine results alone."""
    draw = np.random.default_rng(seed)
    tasks = np.repeat(np.arange(12, dtype=np.uint32), 3 * attempts)
    agents = np.tile(np.repeat(np.arange(3, dtype=np.uint32), attempts), 12)
    values = np.round(draw.random(len(tasks)), 4) + 0.00001
    values[agents == 1] = values[agents == 0]
    values[draw.random(len(tasks)) < coarse] = 0.5
    fine = are_fine(values)
    assert coincidences(tasks, agents, values, only_fine=True) == coincidences(tasks[fine], agents[fine], values[fine])


@pytest.mark.parametrize(("is_terminal", "shown"), [(True, 3), (False, 5)])
def test_terminal_shows_three_findings(is_terminal: bool, shown: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    monkeypatch.setattr("sys.stderr", stream)
    severities = ("info", "warning", "error", "warning", "info")
    print_findings([Finding(code=f"code_{n}", severity=each, message="odd") for n, each in enumerate(severities)])
    lines = stream.getvalue().splitlines()
    assert "code_2" in lines[0]
    assert sum("[code_" in line for line in lines) == shown
    assert (f"... and {5 - shown} more kinds of findings (see --json)" in lines) == (shown < 5)
