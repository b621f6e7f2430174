"""Every result draws itself: in Python, in a notebook and by --out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from arena_results import learning
from figure_laws import breaches, elements, shown_text, tag
from steelyard.cli import run
from steelyard.demo import demo_runs
from steelyard.errors import MissingExtraError, UnknownNameError, UsageError
from steelyard.figures import Figure, _figure
from steelyard.formatting import quantity
from steelyard.questions import Answer, question_named, question_names
from steelyard.questions.arena.all_leaderboards import arena_all_leaderboards
from steelyard.questions.arena.bias import arena_bias
from steelyard.questions.arena.compare_profiles import arena_compare_profiles
from steelyard.questions.arena.history import arena_history
from steelyard.questions.arena.leaderboard import arena_leaderboard
from steelyard.questions.arena.model_abilities import arena_model_abilities
from steelyard.questions.arena.model_correctness import arena_model_correctness
from steelyard.questions.arena.model_predict import arena_model_predict
from steelyard.questions.arena.review_list import Outliers
from steelyard.questions.arena.show import arena_show
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.questions.rank import Ranking
from steelyard.records import Judgment, Output, Run

SAMPLES = Path(__file__).parent / "samples"
FEW = {"resamples": 100}


def few_runs() -> list[Run]:
    """The demonstration's runs at three tasks."""
    runs = list(demo_runs())
    tasks = sorted({each.task for each in runs})[:3]
    return [each for each in runs if each.task in tasks]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[type[Answer], Answer]:
    """One result of each kind that has figures."""
    runs = few_runs()
    store = f"sqlite:///{tmp_path_factory.mktemp('arena')}/arena.db"
    tasks, submissions = SAMPLES / "arena" / "tasks.toml", SAMPLES / "arena" / "submissions.jsonl"
    assert run(["arena", "init", "--store", store]) == 0
    assert run(["arena", "task", "add", str(tasks), "--store", store]) == 0
    assert run(["arena", "submit", str(submissions), "--store", store]) == 0
    made: list[Answer] = [
        sy.measure(runs, by=["tier"], interval="wilson", metrics=()),
        sy.rank(runs, by=["tier"], **FEW),
        sy.matrix(runs, by=["tier"]),
        sy.compare(runs, baseline="tier=T0", candidate="tier=T6", **FEW),
        sy.gate(runs, baseline=runs, rule=["pass_rate >= -0.02", "cost_usd <= +10%"], **FEW),
        sy.judges(runs),
        sy.show(runs, run=str(runs[0].id)),
        sy.repeatability([SAMPLES / "repeatability" / "clamp_experiment.json"], repair=False),
        sy.speedup([SAMPLES / "speedup" / "fceval-results.json"]),
        sy.usage(SAMPLES / "formats", tz="UTC"),
        sy.completeness(SAMPLES / "formats"),
        arena_task_leaderboard(store, "fix-race"),
        arena_all_leaderboards(store),
        arena_leaderboard(store, by=["agent"]),
        arena_show(store, "ant-1"),
        arena_history(store, task="fix-race"),
        arena_bias(store),
        arena_compare_profiles(store, "arena-1", "arena-1"),
    ]
    learned = learning(tmp_path_factory.mktemp("learning"))
    made += [arena_model_abilities(learned), arena_model_predict(learned, "task-1"), arena_model_correctness(learned)]
    return {type(result): result for result in made}


DRAWN = [kind for name in question_names() if (kind := question_named(name).answer).figure_names()]
EVERY = [(kind, name) for kind in DRAWN for name in kind.figure_names()]


@pytest.mark.parametrize("width", [720, 390])
@pytest.mark.parametrize(("kind", "name"), EVERY, ids=[f"{kind.__name__}-{name}" for kind, name in EVERY])
def test_every_figure_of_every_result_keeps_the_laws(
    results: dict[type[Answer], Answer], kind: type[Answer], name: str, width: int
) -> None:
    figure = results[kind].figure(name, width=width)
    assert breaches(figure) == []
    assert figure.width <= width
    assert figure._repr_html_().startswith("<svg ")


@pytest.mark.parametrize("kind", DRAWN, ids=lambda kind: kind.__name__)
def test_without_a_name_it_is_the_main_figure(results: dict[type[Answer], Answer], kind: type[Answer]) -> None:
    assert results[kind].figure() == results[kind].figure(kind.figure_names()[0])


def test_a_wrong_name_is_answered_with_the_nearest_and_the_known(results: dict[type[Answer], Answer]) -> None:
    with pytest.raises(UnknownNameError, match="'paret'") as error:
        results[Ranking].figure("paret")
    assert error.value.hint == "did you mean 'pareto'? known: dots, pareto"
    with pytest.raises(UnknownNameError, match="zzz") as unlike:
        results[Ranking].figure("zzz")
    assert unlike.value.hint == "known: dots, pareto"


def test_a_result_without_a_figure_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Outliers has no figure"):
        Outliers(outliers=()).figure()
    with pytest.raises(UsageError, match="Outliers has no figure"):
        Outliers(outliers=()).save(tmp_path / "x.svg")


def texts(figure: Figure) -> list[str]:
    return [shown_text(element) for element, _ in elements(figure) if tag(element) == "text"]


def titles(figure: Figure) -> str:
    return "\n".join(element.text or "" for element, _ in elements(figure) if tag(element) == "title")


def test_the_numbers_of_a_ranking_are_those_of_its_json(results: dict[type[Answer], Answer]) -> None:
    ranking = results[Ranking]
    board, front = ranking.figure("dots"), titles(ranking.figure("pareto"))
    for place in ranking.to_dict()["groups"]:
        score = place["score"]
        assert f"{100 * score['estimate']:.1f}%" in texts(board)
        assert f"{100 * score['low']:.1f}% to {100 * score['high']:.1f}%" in titles(board)
        best, worst = place["rank_interval"]
        assert (str(best) if best == worst else f"{best}-{worst}") in texts(board)
        assert f"at {quantity(place['cost_usd'], 'USD')}" in front


def pass_runs(passes: dict[str, tuple[int, int]]) -> list[Run]:
    """For each task, how many of two runs of A and of B pass."""
    return [
        Run(id=f"{task}-{agent}-{attempt}", task=task, agent=agent, passed=attempt < count)
        for task, counts in passes.items()
        for agent, count in zip("ab", counts, strict=True)
        for attempt in range(2)
    ]


def test_flips_count_each_common_task_once() -> None:
    runs = pass_runs({"t1": (2, 2), "t2": (2, 1), "t3": (2, 0), "t4": (0, 2), "t5": (0, 1), "t6": (0, 0), "t7": (0, 0)})
    compared = sy.compare(runs, baseline="agent=a", candidate="agent=b", metrics=["pass_rate"], **FEW)
    said = titles(compared.figure("flips"))
    assert "solved by both: 2 of 7" in said  # t1 and t2: at least half of the runs
    assert "only by a: 1 of 7" in said  # t3
    assert "only by b: 2 of 7" in said  # t4 and t5
    assert "by neither: 2 of 7" in said  # t6 and t7
    shape = compared.to_dict()["pairs"][0]["metrics"]["pass_rate"]
    assert shape["by_task"]["same"] == [{"value": 0.0, "tasks": 2}, {"value": 1.0, "tasks": 1}]
    # t2 differs and does not flip: it stays solved by both
    assert [each["task"] for each in shape["by_task"]["lower"]] == ["t3", "t2"]
    assert shape["flips"] == {
        "solved_from": 0.5,
        "gained": [
            {"task": "t4", "baseline": 0.0, "candidate": 1.0},
            {"task": "t5", "baseline": 0.0, "candidate": 0.5},
        ],
        "lost": [{"task": "t3", "baseline": 1.0, "candidate": 0.0}],
        "both": 2,
        "neither": 2,
    }
    (tasks,) = compared.page().also
    assert "2 gained, 1 lost, 2 solved by both, 2 by neither" in tasks.caption
    solved = {column.name: column.values for column in tasks.columns}
    assert dict(zip(solved["task"], solved["solved"], strict=True)) == {
        "t4": "only B",
        "t5": "only B",
        "t3": "only A",
        "t2": "both",
    }
    assert solved["task"] == ["t4", "t5", "t3", "t2"]  # those that flip first


def test_an_option_that_figures_lack_is_answered_with_those_that_they_have() -> None:
    measured = sy.measure([Run(id="1", task="t", passed=True)])
    with pytest.raises(UsageError, match="figure has no option 'metric'") as refused:
        measured.figure(metric="cost_usd")  # type: ignore[arg-type] # what is tested
    assert "where name is 'dots', 'pareto', 'tokens', 'components'; select metrics and" in str(refused.value.hint)


def test_a_difference_is_drawn_hollow_unless_its_verdict_shows_it() -> None:
    # A passes 1 and B 7 of 12 tasks: p is below 0.05 alone, and above it by Holm over two metrics
    runs = [
        Run(id=f"{agent}-{task}", task=f"t{task}", agent=agent, impl_rate=float(passed), passed=passed)
        for agent, solved in (("a", {11}), ("b", set(range(7))))
        for task in range(12)
        for passed in (task in solved,)
    ]
    compared = sy.compare(runs, baseline="agent=a", candidate="agent=b", metrics=["pass_rate", "impl_rate"], **FEW)
    for judged in compared.pairs[0].metrics.values():
        assert judged.difference.excludes(0.0)
        assert judged.verdict == "inconclusive"
    figure = compared.figure("differences")
    looks = [element.get("class") for element, _ in elements(figure) if tag(element) == "circle"]
    assert looks == ["sy-hollow", "sy-hollow"]
    assert "hollow: inconclusive among 2 comparisons" in figure.svg
    alone = sy.compare(runs, baseline="agent=a", candidate="agent=b", metrics=["pass_rate"], **FEW).figure(
        "differences"
    )
    assert alone.svg.count("sy-hollow") < figure.svg.count("sy-hollow")


def test_what_is_better_lies_at_the_right_whatever_the_direction_of_its_metric() -> None:
    # B passes more (better), costs more (worse) and takes less time (better)
    runs = [
        Run(id=f"{agent}-{n}", task=f"t{n}", agent=agent, cost_usd=cost, duration_seconds=seconds, passed=passes)
        for agent, cost, seconds, passes in (("a", 1.0, 60.0, False), ("b", 2.0, 30.0, True))
        for n in range(20)
    ]
    metrics = ["pass_rate", "cost_usd", "duration_seconds"]
    figure = sy.compare(runs, baseline="agent=a", candidate="agent=b", metrics=metrics, **FEW).figure("differences")
    circles = [float(element.get("cx", "")) for element, _ in elements(figure) if tag(element) == "circle"]
    upright = next(element.get("d", "") for element, _ in elements(figure) if element.get("class") == "sy-axis")
    zero = float(upright[1:].split()[0])
    assert [x > zero for x in circles] == [True, False, True]
    assert "Left: worse, right: better; each row has its own scale" in texts(figure)


@pytest.mark.parametrize("width", [720, 390])
def test_a_difference_shows_the_numbers_of_its_interval(width: int) -> None:
    compared = sy.compare(few_runs(), baseline="tier=T0", candidate="tier=T2", metrics=["impl_rate", "cost_usd"], **FEW)
    shown = texts(compared.figure("differences", width=width))
    for judged, bare in zip(compared.pairs[0].metrics.values(), ("{:.1f}", "{:.4f}"), strict=True):
        low, high = judged.difference.low, judged.difference.high
        assert low is not None
        assert high is not None
        scale = 100 if bare == "{:.1f}" else 1
        label = "" if judged.difference.approx_coverage is None else ", ≥80%"
        limits = f"({bare.format(scale * low)} to {bare.format(scale * high)}{label})"
        assert any(limits in text for text in shown)


def test_dumbbells_name_the_tasks_that_differ() -> None:
    compared = sy.compare(
        pass_runs({"up": (0, 2), "down": (2, 1), "same": (2, 2)}),
        baseline="agent=a",
        candidate="agent=b",
        metrics=["pass_rate"],
        **FEW,
    )
    figure = compared.figure("dumbbells")
    assert "0.0% → 100.0%" in texts(figure)
    assert "100.0% → 50.0%" in texts(figure)
    assert "same" not in texts(figure)
    assert "2 differing tasks of 3, 1 equal" in figure.inline


def test_reliability_holds_scores_against_verdicts_that_judges_did_not_give() -> None:
    def judged(score: float, *, passed: bool | None) -> Run:
        judgments = (Judgment(judge="j", weighted_score=score, passed=True),)
        return Run(id=f"{score}-{passed}", task="t", judgments=judgments, passed=passed)

    scored = [(0.95, True), (0.91, True), (0.92, False), (0.15, False), (0.5, None)]
    result = sy.judges([judged(score, passed=passed) for score, passed in scored])
    ranges = result.to_dict()["calibration"]
    assert [(each["low"], each["high"], each["pass_rate"]["n"]) for each in ranges] == [(0.1, 0.2, 1), (0.9, 1.0, 3)]
    assert ranges[1]["pass_rate"]["estimate"] == pytest.approx(2 / 3)
    assert ranges[1]["mean_score"] == pytest.approx((0.95 + 0.91 + 0.92) / 3)
    assert "66.7% passed" in titles(result.figure("reliability"))
    unverified = sy.judges([judged(0.5, passed=None)])
    with pytest.raises(UsageError, match="verdict"):
        unverified.figure("reliability")


def test_a_matrix_is_a_heatmap_of_verdicts_or_of_values() -> None:
    runs = [*pass_runs({"easy": (2, 2), "hard": (1, 0)}), Run(id="c", task="easy", agent="c", outcome="errored")]
    figure = sy.matrix(runs, by=["agent"]).figure("heatmap")
    assert breaches(figure) == []
    said = titles(figure)
    assert "easy, a: 2/2" in said
    assert "hard, a: 1/2" in said
    assert "easy, c: no verdict, 1 errored" in said
    assert "hard, c: not run" in said
    priced = [Run(id=f"{task}-{cost}", task=task, agent="a", cost_usd=cost) for task, cost in (("x", 1.0), ("y", 3.0))]
    figure = sy.matrix(priced, by=["agent"], metric="cost_usd").figure()
    assert breaches(figure) == []
    assert "y, a: $3.00" in titles(figure)


@pytest.fixture
def demo_file(tmp_path: Path) -> str:
    return _written(tmp_path, few_runs())


def _written(folder: Path, runs: list[Run]) -> str:
    import msgspec

    path = folder / "runs.jsonl"
    path.write_bytes(b"\n".join(msgspec.json.encode(each) for each in runs))
    return str(path)


def test_out_writes_the_figure_that_was_chosen(
    demo_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main, chosen = tmp_path / "main.svg", tmp_path / "chosen.svg"
    asked = ["rank", demo_file, "--by", "tier", "--resamples", "100"]
    assert run([*asked, "--out", str(main)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"wrote {main}"
    assert run([*asked, "--out", str(chosen), "--figure", "pareto", "--json"]) == 0
    assert "rank" in main.read_text("utf-8")
    assert "log scale" in chosen.read_text("utf-8")
    assert json.loads(capsys.readouterr().out)["groups"]
    result: Any = sy.rank(demo_file, by=["tier"], resamples=100)
    result.save(tmp_path / "saved.svg")
    assert (tmp_path / "saved.svg").read_bytes() == main.read_bytes()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--out", "x.svg", "--figure", "paretto"], "did you mean 'pareto'"),
        (["--figure", "pareto"], "--out figure.svg"),
        (["--out", "x.csv", "--figure", "pareto"], "--out figure.svg"),
        (["--out", "nowhere/x.svg"], "no such directory"),
        (["--out", "x.gif"], ".parquet"),
    ],
)
def test_a_figure_that_cannot_be_written_is_refused_before_the_work(
    more: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["rank", "no-such-file.jsonl", *more]) == 2
    assert said in capsys.readouterr().err


def test_a_verb_without_figures_refuses_one(demo_file: str, tmp_path: Path) -> None:
    assert run(["read", demo_file, "--out", str(tmp_path / "x.svg")]) == 2
    assert run(["explain", "pass_rate", demo_file, "--by", "tier", "--out", str(tmp_path / "x.svg")]) == 2


def test_repeat_and_the_arena_draw_too(tmp_path: Path) -> None:
    experiment = SAMPLES / "repeatability" / "clamp_experiment.json"
    assert run(["repeatability", str(experiment), "--no-repair", "--out", str(tmp_path / "repair.svg")]) == 0
    store = f"sqlite:///{tmp_path}/arena.db"
    run(["arena", "init", "--store", store])
    run(["arena", "task", "add", str(SAMPLES / "arena" / "tasks.toml"), "--store", store])
    run(["arena", "submit", str(SAMPLES / "arena" / "submissions.jsonl"), "--store", store])
    views = {
        "leaderboard": ["leaderboard", "fix-race"],
        "leaders": ["leaderboard", "--by", "agent"],
        "history": ["history", "--task", "fix-race"],
        "bias": ["bias"],
        "profiles": ["compare-profiles", "arena-1", "arena-1"],
    }
    for name, view in views.items():
        assert run(["arena", *view, "--store", store, "--out", str(tmp_path / f"{name}.svg")]) == 0
    drawn = {name: (tmp_path / f"{name}.svg").read_text("utf-8") for name in (*views, "repair")}
    assert all(text.startswith("<svg ") for text in drawn.values())
    assert "Mean score by agent" in drawn["leaders"]
    assert "best so far" in drawn["history"]


def test_a_png_needs_its_library(monkeypatch: pytest.MonkeyPatch, demo_file: str, tmp_path: Path) -> None:
    monkeypatch.setattr(_figure, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="resvg_py"):
        sy.measure(demo_file).figure().save(tmp_path / "x.png")
    assert run(["rank", "no-such-file.jsonl", "--out", str(tmp_path / "x.png")]) == 2


def test_a_png_is_twice_the_size_in_pixels(results: dict[type[Answer], Answer], tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    figure = results[Ranking].figure("pareto")
    figure.save(tmp_path / "x.png")
    content = (tmp_path / "x.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(content[16:20]) == 2 * figure.width
    assert int.from_bytes(content[20:24]) == 2 * figure.height


def test_distances_of_outputs_are_those_of_their_pairs() -> None:
    texts = {"r0": "x = 1\n", "r1": "x = 1\n", "r2": "x = 2\n", "r3": "y = 22\n"}
    runs = [Run(id=name, task="t", output=Output(language="text", text=text)) for name, text in texts.items()]
    result = sy.repeatability(runs, normalize="text")
    said = titles(result.figure("distances"))
    assert "r0, r1: 0.000\n" in said
    assert "r0, r2: 0.167" in said  # one of six characters, the line end among them
    assert "cluster of 2 outputs" in said
    pairs = result.to_dict()["prompts"][0]["pair_distances"]
    assert sorted(apart for *_, apart in pairs) == pytest.approx([1 / 6, 2 / 7, 3 / 7])  # edits over the longer length
    with pytest.raises(UsageError, match="the figure shows one prompt"):
        sy.repeatability([*runs, Run(id="other", task="u", output=Output(text="z"))]).figure("distances")


def test_labels_name_only_what_a_group_has() -> None:
    runs = [sy.Run(task=task, model=model, passed=True) for task in ("a", "b") for model in ("Alpha", "Beta")]
    labels = sy.rank(runs, by=["agent", "model"], metrics=["pass_rate"]).figure().svg
    assert "Beta" in labels
    assert "- / Beta" not in labels
