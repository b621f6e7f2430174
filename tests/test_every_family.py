"""Every verb takes every family of inputs, or says in one sentence why it cannot: the table in docs/families.md."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import steelyard as sy
from matchups import write
from steelyard.cli import build_app, run
from steelyard.errors import RecordError
from steelyard.metrics import catalog
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.questions.repeatability import Repeatability
from steelyard.questions.speedup import SpeedupResult
from steelyard.records import Judgment, Output, Run

pytestmark = pytest.mark.checkout
DOCS = Path(__file__).parent.parent / "docs" / "families.md"
AGENTS = ("alpha", "beta")
TASKS = tuple(f"task-{number}" for number in range(12))
FEW = {"resamples": 200}


def outputs() -> list[Run]:
    """Five answers of two agents to twelve prompts: alpha repeats itself in all but one, beta in three of five."""
    return [
        Run(
            id=f"{agent}-{task}-{attempt}",
            task=task,
            agent=agent,
            model="m",
            attempt=attempt + 1,
            passed=attempt < 3,
            cost_usd=0.5,
            output=Output(language="python", text=f"def f(x):\n    return x + {attempt * (attempt > same)}\n"),
        )
        for agent, same in zip(AGENTS, (3, 2), strict=True)
        for task in TASKS
        for attempt in range(5)
    ]


def timings(folder: Path) -> Path:
    """Twelve tasks, two benchmarks each: alpha halves the times as the expert does, beta leaves them."""
    for place, task in enumerate(TASKS):
        (folder / task / "agents").mkdir(parents=True)
        for name, factor in (("nop", 1.0), ("oracle", 0.5), ("agents/alpha", 0.5), ("agents/beta", 1.0)):
            path = folder / task / (f"{name}.json" if "/" not in name else f"{name}/m.json")
            path.parent.mkdir(exist_ok=True)
            seconds = {f"bench.time_{letter}": (1.0 + place) * factor for letter in "ab"}
            benchmarks = [{"name": key, "seconds": value} for key, value in seconds.items()]
            path.write_text(
                json.dumps({"id": f"{task}-{path.parent.name}-{name[:3]}", "task": task, "benchmarks": benchmarks})
            )
    return folder


def store(folder: Path) -> str:
    """Two submissions of each agent to twelve tasks; alpha needs half the tokens."""
    address = f"sqlite:///{folder / 'arena.db'}"
    tasks = [{"id": task} for task in TASKS]
    submissions = [
        {
            "id": f"{agent}-{task}-{number}",
            "task_id": task,
            "agent": agent,
            "model": "m",
            "total_tokens": tokens + 100 * number + place,
            "tool_calls": 5,
            "iterations": 2,
            "execution_time": 60.0,
            "estimated_cost": 0.1,
        }
        for place, task in enumerate(TASKS)
        for agent, tokens in zip(AGENTS, (1000, 2000), strict=True)
        for number in range(3)
    ]
    (folder / "tasks.json").write_bytes(msgspec.json.encode(tasks))
    (folder / "submissions.jsonl").write_bytes(b"\n".join(msgspec.json.encode(record) for record in submissions))
    assert run(["arena", "init", "--store", address]) == 0
    assert run(["arena", "task", "add", str(folder / "tasks.json"), "--store", address]) == 0
    assert run(["arena", "submit", str(folder / "submissions.jsonl"), "--store", address]) == 0
    return address


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("families")
    judged = {"output": None, "judgments": tuple(Judgment(judge=name, weighted_score=0.5) for name in "xy")}
    return {
        "RUNS": write(folder / "runs.jsonl", [msgspec.structs.replace(each, **judged) for each in outputs()]),
        "OUTPUTS": write(folder / "outputs.jsonl", outputs()),
        "TIMINGS": str(timings(folder / "timings")),
        "STORE": store(folder),
    }


def cells() -> Iterator[tuple[str, str, str]]:
    """Each cell of the documented table: the command, and where it does not work the sentence that says why."""
    for line in DOCS.read_text("utf-8").splitlines():
        row = re.match(r"\| \*\*(\w+)\*\* \|(.*)\|$", line)
        for cell in row[2].split(" | ") if row else ():
            command, _, reason = cell.strip().partition("<br>")
            yield row[1] if row else "", command.strip("` "), reason.strip()


CELLS = list(cells())


@pytest.mark.parametrize(
    ("verb", "command", "reason"), CELLS, ids=[f"{place}-{c[1][:40]}" for place, c in enumerate(CELLS)]
)
def test_a_cell_of_the_table_says_what_happens(
    verb: str, command: str, reason: str, places: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [places.get(word, word) for word in re.findall(r'"[^"]*"|\S+', command)]
    words = [word.strip('"') for word in words]
    assert words[0] == verb
    status = run([*words, "--json"])
    shown = capsys.readouterr()
    if reason:
        assert status in (1, 2)
        sentence = ".*".join(map(re.escape, reason.split("…")))  # how many there are is the data's
        assert re.search(sentence, json.loads(shown.out)["error"]["message"])
    else:
        assert status in (0, 3, 4), shown.err  # a gate may fail, or be inconclusive
        assert json.loads(shown.out)["schema_version"] == 1


WITHOUT_DATA = {
    "arena",
    "demo",
    "doctor",
    "formats",
    "mapping",
    "metrics",
    "power",
    "prices",
    "profiles",
    "run",
    "schema",
}
"""Commands about the program itself, an arena or canons by name, a plan, or a table that is no family's yet."""
SERVING = {"serve"}
OVER_TRANSCRIPTS = {"find", "integrity", "failures"}


def test_the_table_has_every_verb_over_data_and_every_family() -> None:
    by_verb: dict[str, list[str]] = {}
    for verb, command, _ in CELLS:
        by_verb.setdefault(verb, []).append(command)
    known = {name for name in build_app() if not name.startswith("-")}
    assert set(by_verb) == known - WITHOUT_DATA - SERVING - OVER_TRANSCRIPTS
    for commands in by_verb.values():
        assert [
            next(word for word in ("RUNS", "STORE", "OUTPUTS", "TIMINGS") if word in each) for each in commands
        ] == [
            "RUNS",
            "STORE",
            "OUTPUTS",
            "TIMINGS",
        ]


def repeated(places: dict[str, str]) -> Repeatability:
    return sy.repeatability(places["OUTPUTS"])


def timed(places: dict[str, str]) -> SpeedupResult:
    return sy.speedup(places["TIMINGS"])


def test_files_results_and_saved_results_give_the_same_numbers(places: dict[str, str], tmp_path: Path) -> None:
    for kind, made, metric in (("OUTPUTS", repeated(places), "r_raw"), ("TIMINGS", timed(places), "task_speedup")):
        made.save(tmp_path / f"{kind}.json")
        given = places[kind], made, tmp_path / f"{kind}.json"
        ranked = [sy.rank(each, by=["agent"], metrics=[metric], **FEW).groups for each in given]
        assert ranked[0] == ranked[1] == ranked[2]


def test_the_verbs_give_the_numbers_of_the_family_s_own_verb(places: dict[str, str]) -> None:
    prompts, attempts = repeated(places), timed(places)
    compared = sy.compare(places["OUTPUTS"], baseline="agent=alpha", candidate="agent=beta", metrics=["r_raw"], **FEW)
    difference = compared.pairs[0].metrics["r_raw"]
    # alpha: four of five alike, beta: three of five, in every prompt
    assert (difference.baseline, difference.candidate) == (0.8, 0.6)
    assert {prompt.metrics["r_raw"] for prompt in prompts.prompts} == {0.8, 0.6}
    ranked = sy.rank(places["TIMINGS"], by=["agent"], metrics=["task_speedup"], **FEW)
    summary = {key.partition(":")[0]: figures.mean_speedup for key, figures in attempts.summary.items()}
    assert (
        {place.key["agent"]: place.score.estimate for place in ranked.groups} == summary == {"alpha": 2.0, "beta": 1.0}
    )
    measured = sy.measure(places["STORE"], by=["task"], metrics=["overall_score"])
    own = arena_task_leaderboard(places["STORE"], TASKS[0])
    stated = [entry.overall_score for entry in own.leaderboard]
    first = next(group for group in measured.groups if group.key["task"] == TASKS[0])
    assert first.metrics["overall_score"].max == max(stated)
    assert first.metrics["overall_score"].min == min(stated)


def test_a_gate_over_prompts_fails_where_repeatability_drops(places: dict[str, str]) -> None:
    alpha, beta = ([each for each in outputs() if each.agent == agent] for agent in AGENTS)
    beta_as_alpha = [msgspec.structs.replace(each, agent="alpha") for each in beta]
    worse = sy.gate(beta_as_alpha, baseline=alpha, rule="r_raw >= baseline - 0.02", **FEW)
    assert worse.status == "fail"
    kept = sy.gate(alpha, baseline=beta_as_alpha, rule="r_raw >= baseline - 0.02", **FEW)
    assert kept.status == "pass"


def test_accuracy_is_the_share_of_attempts_with_success(places: dict[str, str]) -> None:
    attempts = sy.speedup([Path(__file__).parent / "samples" / "speedup" / "fceval-results.json"])
    own = attempts.run.accuracy
    measured = sy.measure(attempts, metrics=["accuracy"], unscored="fail")
    assert measured.groups[0].metrics["accuracy"].mean == own
    assert measured.row_kind == "attempt"


@pytest.mark.parametrize(
    ("given", "metrics", "message"),
    [
        ("STORE", ["r_raw"], "r_raw is a metric of a prompt, but the input contains submissions"),
        ("RUNS", ["r_raw", "task_speedup"], "r_raw is a metric of a prompt and task_speedup is a metric of an attempt"),
        ("RUNS", ["mean_speedup"], "single value over all tasks"),
        ("RUNS", ["overall_score"], "scores are only available in an arena store"),
    ],
)
def test_metrics_that_do_not_fit_the_input_are_refused(
    places: dict[str, str], given: str, metrics: list[str], message: str
) -> None:
    with pytest.raises(sy.SteelyardError, match=message):
        sy.compare(places[given], baseline="agent=alpha", candidate="agent=beta", metrics=metrics, **FEW)


def test_every_metric_of_a_row_can_be_compared_or_is_refused_in_a_sentence(places: dict[str, str]) -> None:
    kinds = {
        "prompt": repeated(places),
        "attempt": timed(places),
        "benchmark": timed(places),
        "submission": places["STORE"],
    }
    for declared in catalog().values():
        if declared.row == "run" or not declared.is_of_rows:
            continue
        compared = sy.compare(
            kinds[declared.row or ""], baseline="agent=alpha", candidate="agent=beta", metrics=[declared.name], **FEW
        )
        assert list(compared.pairs[0].metrics) == [declared.name]
        told = compared.pairs[0].metrics[declared.name]
        assert told.tasks == 12 or (told.difference.reason and declared.row != "benchmark")


@pytest.mark.parametrize(
    ("kind", "metric", "wanted", "value"),
    [
        ("OUTPUTS", "r_raw", "task-3 / alpha", 0.8),
        ("TIMINGS", "task_speedup", "task-3, alpha", 2.0),
        ("TIMINGS", "advantage", "task-3, beta:m, bench.time_a", -1.0),
        ("TIMINGS", "log_speedup", "task-3, alpha:m, bench.time_a", math.log(2)),
        ("STORE", "speed_score", "beta-task-3-0", 100.0),
    ],
)
def test_one_row_is_explained_down_to_what_it_was_made_of(
    places: dict[str, str], kind: str, metric: str, wanted: str, value: float
) -> None:
    explained = sy.explain(places[kind], metric, run=wanted)
    assert explained.explanation is not None
    assert explained.explanation.value == value
    assert explained.explanation.inputs
    assert (explained.run or "").startswith(wanted)


def test_a_saved_result_that_cannot_be_is_refused_with_the_place(places: dict[str, str], tmp_path: Path) -> None:
    saved = tmp_path / "prompts.json"
    repeated(places).save(saved)
    text = saved.read_text("utf-8")
    saved.write_text(text.replace('"r_raw": 0.8', '"r_raw": 8', 1), "utf-8")
    with pytest.raises(RecordError, match=r"invalid r_raw of .*: 8") as error:
        sy.rank(saved, by=["agent"], metrics=["r_raw"], **FEW)
    assert error.value.where == str(saved)
    saved.write_text(text.replace('"agent": "alpha"', '"passed": "alpha"'), "utf-8")
    ranked = sy.rank(saved, by=["agent"], metrics=["r_raw"], **FEW)
    assert {place.key["agent"] for place in ranked.groups} == {"beta", None}  # a key that is none is not taken up


def test_prompts_of_another_normalization_are_not_compared_in_silence(places: dict[str, str], tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    one = [each for each in outputs() if each.agent == "alpha"]
    sy.repeatability(one, normalize="text").save(old)
    sy.repeatability(one).save(new)
    gated = sy.gate(new, baseline=old, rule="r_raw >= baseline - 0.02", **FEW)
    assert "mixed_versions" in {finding.code for finding in gated.findings}
    same = sy.gate(new, baseline=new, rule="r_raw >= baseline - 0.02", **FEW)
    assert "mixed_versions" not in {finding.code for finding in same.findings}


def test_a_log_that_begins_with_a_version_of_its_own_is_read_as_a_log(tmp_path: Path) -> None:
    log = tmp_path / "trajectory.json"
    log.write_text('{"schema_version": 2, "task": "t", "agents": {}}', "utf-8")
    with pytest.raises(sy.SteelyardError, match="unknown format"):
        sy.measure(log)
