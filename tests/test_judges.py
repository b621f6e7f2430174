"""Judges: agreement by run and never across tasks, severity, sums, contradictions."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

import steelyard as sy
from commands import steelyard
from matchups import write
from steelyard.errors import InputError, NoValidInputError, SteelyardError
from steelyard.records import Criterion, Judgment, Run
from steelyard.statistics import krippendorff_alpha


def run(id_: str, task: str, scores: dict[str, float], votes: dict[str, bool] | None = None) -> Run:
    given = votes or {}
    judgments = tuple(
        Judgment(judge=judge, weighted_score=score, passed=given.get(judge)) for judge, score in scores.items()
    )
    return Run(id=id_, task=task, judgments=judgments)


def panel(tasks: int = 6, runs: int = 8) -> list[Run]:
    random = np.random.default_rng(0)
    found = []
    for task in range(tasks):
        for number in range(runs):
            quality = random.uniform(0.2, 0.8)
            scores = {
                judge: float(np.clip(quality + lean + random.normal(0, 0.05), 0, 1))
                for judge, lean in (("fair", 0.0), ("kind", 0.1), ("strict", -0.1))
            }
            votes = {judge: score >= 0.6 for judge, score in scores.items()}
            found.append(run(f"{task}-{number}", f"task-{task}", scores, votes))
    return found


def test_the_unit_is_the_run_and_tasks_are_not_averaged_together() -> None:
    # within each task the judges are opposed; averaged over tasks they would look alike
    runs = [
        run("1", "easy", {"a": 0.9, "b": 0.7}),
        run("2", "easy", {"a": 0.7, "b": 0.9}),
        run("3", "hard", {"a": 0.1, "b": 0.3}),
        run("4", "hard", {"a": 0.3, "b": 0.1}),
    ]
    result = sy.judges(runs)
    table = [[0.9, 0.7], [0.7, 0.9], [0.1, 0.3], [0.3, 0.1]]
    assert result.overall.alpha_scores.estimate == pytest.approx(krippendorff_alpha(table).estimate)
    assert result.tasks["easy"].alpha_scores.estimate == pytest.approx(krippendorff_alpha(table[:2]).estimate)
    assert result.tasks["easy"].alpha_scores.estimate < 0


def test_strict_and_lenient_judges_are_found() -> None:
    result = sy.judges(panel())
    found = {name: judge.severity for name, judge in result.judges.items()}
    # against the mean of the other two: 0.1 - (0 - 0.1) / 2 = 0.15
    assert found["kind"].estimate == pytest.approx(0.15, abs=0.03)
    assert found["strict"].estimate == pytest.approx(-0.15, abs=0.03)
    assert found["kind"].excludes(0)
    assert found["strict"].excludes(0)
    assert (found["kind"].method, found["kind"].clusters, found["kind"].n) == ("clustered", 6, 48)


def test_stated_scores_are_held_against_recomputed_ones() -> None:
    lines = (
        Criterion(name="c", weight=3, achieved=1, max=2),
        Criterion(name="d", weight=1, achieved=2, max=2),
    )  # (3 x 0.5 + 1) / 4 = 0.625
    wrong = Judgment(judge="j", weighted_score=0.8, criteria=lines)
    right = Judgment(judge="j", weighted_score=0.625, criteria=lines)
    without = Judgment(judge="j", criteria=lines)
    runs = [Run(id=str(i), task="t", judgments=(one,)) for i, one in enumerate([wrong, right, without])]
    one = sy.judges(runs).judges["j"]
    assert (one.runs, one.checked, one.differing) == (3, 2, 1)
    assert one.max_error == pytest.approx(0.175)
    assert one.mean_error == pytest.approx(0.0875)


def test_a_stated_score_at_the_tolerance_does_not_differ() -> None:
    lines = (Criterion(name="c", weight=1, achieved=5, max=8),)  # 0.625; in binary 0.635 is 0.01 and a little more away
    at, beyond = (Judgment(judge="j", weighted_score=score, criteria=lines) for score in (0.635, 0.6351))
    runs = [Run(id=str(i), task="t", judgments=(one,)) for i, one in enumerate([at, beyond])]
    assert sy.judges(runs).judges["j"].differing == 1


def test_votes_against_the_own_score_are_listed_by_run() -> None:
    runs = [run("1", "t", {"a": 0.9, "b": 0.2}, {"a": False, "b": False}), run("2", "t", {"a": 0.6, "b": 0.59})]
    result = sy.judges(runs)
    assert [(one.code, one.where) for one in result.findings] == [("judge_contradiction", "run 1")]
    assert "a voted fail with a score of 0.9" in result.findings[0].message
    assert {name: judge.contradictions for name, judge in result.judges.items()} == {"a": 1, "b": 0}


def test_split_votes_and_kappas() -> None:
    votes = [(True, True), (True, False), (False, False), (False, False)]
    runs = [
        run(str(i), "t", {"a": 0.5, "b": 0.5}, {"a": first, "b": second}) for i, (first, second) in enumerate(votes)
    ]
    result = sy.judges(runs)
    assert (result.overall.split_votes, result.overall.voted) == (1, 4)
    # seen 3/4; by chance 1/2 x 1/4 + 1/2 x 3/4 = 1/2
    [pair] = result.pairs
    assert (pair.cohens_kappa, pair.runs_voted) == (pytest.approx(0.5), 4)


def test_one_judge_cannot_agree_and_says_so(tmp_path: Path) -> None:
    file = write(tmp_path / "runs.jsonl", [run("1", "t", {"only": 0.5}), run("2", "t", {"only": 0.7})])
    done = steelyard("judges", file)
    assert done.status == 0
    assert "Inter-rater agreement is unknown: only one judge (only)." in done.stdout


def test_unnamed_and_repeated_judges_are_kept_apart() -> None:
    twice = Run(id="1", task="t", judgments=tuple(Judgment(weighted_score=score) for score in (0.2, 0.8)))
    assert list(sy.judges([twice]).judges) == ["unnamed", "unnamed #2"]


def test_a_run_read_twice_counts_once_and_a_conflict_is_set_aside(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", [run("1", "t", {"a": 0.5, "b": 0.6}), run("2", "t", {"a": 0.5, "b": 0.6})])
    second = write(tmp_path / "b.jsonl", [run("1", "t", {"a": 0.5, "b": 0.6}), run("2", "t", {"a": 0.9, "b": 0.6})])
    done = steelyard("judges", first, second, "--json")
    shown = json.loads(done.stdout)
    assert (done.status, shown["runs"]) == (1, 2)
    assert "is already used by a different run" in shown["findings"][0]["message"]


def test_order_of_rows_changes_no_byte() -> None:
    runs = panel()
    assert json.dumps(sy.judges(runs).to_dict()) == json.dumps(sy.judges(runs[::-1]).to_dict())


def test_a_new_judge_for_every_run_is_refused() -> None:
    with pytest.raises(InputError, match="too many judges: 201"):
        sy.judges([run(str(i), "t", {f"judge-{i}": 0.5}) for i in range(201)])


def test_runs_without_judgments_are_an_error() -> None:
    with pytest.raises(NoValidInputError, match="no judgments in 1 run"):
        sy.judges([Run(id="1", task="t")])


def test_the_command_speaks_in_sentences(tmp_path: Path) -> None:
    done = steelyard("judges", write(tmp_path / "runs.jsonl", panel()))
    assert "kind is lenient: " in done.stdout
    assert "strict is strict: " in done.stdout
    assert (
        "Inter-rater agreement of 3 judges is moderate (tentative conclusions only): "
        "alpha = 0.678 on 48 runs (95% CI 0.529 to 0.799)." in done.stdout
    )


def test_one_judged_run_says_nothing_of_agreement() -> None:
    judgments = [Judgment(judge="j1", weighted_score=0.1), Judgment(judge="j2", weighted_score=0.9)]
    found = sy.judges([Run(id="1", task="t", judgments=judgments)]).overall.alpha_scores
    assert found.estimate is None
    assert "at least two judged runs" in found.reason


def test_judges_who_always_agree_are_not_therefore_certain_to() -> None:
    runs = [
        Run(id=str(i), task=f"t{i}", judgments=[Judgment(judge=j, weighted_score=i / 4) for j in ("j1", "j2")])
        for i in range(4)
    ]
    found = sy.judges(runs).overall.alpha_scores
    assert (found.estimate, found.low) == (1.0, None)  # four runs: 1.000 to 1.000 would promise too much
    assert "variance cannot be estimated" in found.reason


def test_a_file_of_which_nothing_can_be_read_is_told_with_the_first_reason(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text('{"id": "1", "task": "t", "cost_usd": -1}\n{"id": "2", "task": "t", "cost_usd": -1}\n')
    done = steelyard("judges", str(file))
    assert done.status == 1
    assert f"{file}:1: cost_usd" in done.stderr
    assert "(and 1 more)" in done.stderr


@pytest.mark.parametrize(("tasks", "told"), [(3, False), (12, True)])
def test_a_judge_is_called_lenient_only_on_enough_tasks_that_say_the_same(tasks: int, told: bool) -> None:
    runs = [run(str(i), f"t{i}", {"mild": 0.5 + i / 100, "other": 0.25 + i / 100}) for i in range(tasks)]
    severity = sy.judges(runs).judges["mild"].severity
    assert severity.estimate == pytest.approx(0.25)
    assert severity.known is told
    if told:
        assert 0 < severity.low < severity.estimate < severity.high


def grouped(agents: dict[str, list[float]]) -> list[Run]:
    """Runs of each agent with these scores by one judge; a second judge puts them in the opposite order."""
    return [
        Run(
            id=f"{agent}-{number}",
            task=f"t{number}",
            agent=agent,
            judgments=(Judgment(judge="j1", weighted_score=score), Judgment(judge="j2", weighted_score=1 - score)),
        )
        for agent, scores in agents.items()
        for number, score in enumerate(scores)
    ]


def test_scores_that_differ_between_groups_are_found() -> None:
    runs = grouped({"a": [0.1, 0.2, 0.3], "b": [0.4, 0.5, 0.6], "c": [0.7, 0.8, 0.9]})
    result = sy.judges(runs, by="agent")
    test = result.judges["j1"].kruskal_wallis
    # rank sums 6, 15, 24: 12 / 90 x (12 + 75 + 192) - 30 = 7.2, and p = exp(-3.6) for two degrees of freedom
    assert (test.h, test.df, test.groups, test.n) == (7.2, 2, 3, 9)
    assert test.p_value == pytest.approx(np.exp(-3.6), rel=1e-12)
    assert result.judges["j2"].kruskal_wallis.h == 7.2  # the same order, turned round
    assert result.kruskal_wallis.reason == "all values are equal"  # 0.5 each
    shown = result.to_dict()
    assert shown["by"] == ["agent"]
    assert shown["judges"]["j1"]["kruskal_wallis"] == {"h": 7.2, "df": 2, "p_value": test.p_value, "groups": 3, "n": 9}
    assert result.to_dicts()[0]["kruskal_wallis_h"] == 7.2


def test_each_pair_of_judges_has_its_rank_correlations() -> None:
    # ranks 1, 2, 3, 4 against 1, 2, 4, 3: rho 1 - 6 x 2 / (4 x 15) = 0.8, tau (5 - 1) / 6
    first, second = [0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.8, 0.7]
    runs = [run(str(i), "t", {"a": x, "b": y}) for i, (x, y) in enumerate(zip(first, second, strict=True))]
    runs.append(run("alone", "t", {"a": 0.9}))
    result = sy.judges(runs)
    [pair] = result.pairs
    assert (pair.judge, pair.other_judge) == ("a", "b")
    assert (pair.spearman, pair.kendall_tau_b, pair.runs_scored, pair.reason) == (0.8, 2 / 3, 4, None)
    rows = [(row["judge"], row["other_judge"], row["spearman"]) for row in result.to_dicts()]
    assert rows == [("a", None, None), ("b", None, None), ("a", "b", 0.8)]


def test_a_correlation_that_is_undefined_says_why() -> None:
    runs = [run("1", "t", {"a": 0.5, "b": 0.1}), run("2", "t", {"a": 0.5, "b": 0.2}), run("3", "t", {"b": 0.2, "c": 1})]
    reasons = {(pair.judge, pair.other_judge): pair.reason for pair in sy.judges(runs).pairs}
    assert reasons == {
        ("a", "b"): "a gave all of these runs the same score",
        ("a", "c"): "fewer than two runs scored by both",
        ("b", "c"): "fewer than two runs scored by both",
    }


def test_the_command_tells_groups_and_pairs(tmp_path: Path) -> None:
    file = write(tmp_path / "runs.jsonl", grouped({"a": [0.1, 0.2], "b": [0.3, 0.4]}))
    table = steelyard("judges", file, "--by", "agent").stdout
    assert "Kruskal-Wallis" in table
    # 12 / (4 x 5) x (9 / 2 + 49 / 2) - 15 = 2.4, df 1
    assert "2.400" in table
    assert "4 of 4" in table
    assert "-1.000" in table  # j2 is opposed to j1
    assert "Kruskal-Wallis" not in steelyard("judges", file, "--by", "model").stdout  # one group
    wrong = steelyard("judges", file, "--by", "agnet")
    assert wrong.status == 2
    assert "agent" in wrong.stderr


def test_equal_scores_have_that_mean() -> None:
    # 0.05 + 0.05 + 0.05 is 0.15000000000000002 in binary, a third of which is more than 0.05
    runs = [run(str(i), "t", {"a": 0.05, "b": 0.05, "c": 0.05}) for i in range(3)]
    assert [judge.mean_score for judge in sy.judges(runs).judges.values()] == [0.05, 0.05, 0.05]


def gold_panel(tasks: int = 40, attempts: int = 5) -> tuple[list[Run], dict[str, bool]]:
    """Runs of which 60% are right, judged by one judge of sensitivity 0.9 and specificity 0.8."""
    random = np.random.default_rng(7)
    runs, truth = [], {}
    for number in range(tasks * attempts):
        id_ = f"r{number}"
        truth[id_] = bool(random.random() < 0.6)
        vote = bool(random.random() < (0.9 if truth[id_] else 0.2))
        runs.append(run(id_, f"task-{number % tasks}", {"judge": float(vote)}, {"judge": vote}))
    return runs, truth


def test_judges_corrects_pass_rate_with_gold_labels(tmp_path: Path) -> None:
    runs, truth = gold_panel()
    labels = list(truth)[::2]
    path = tmp_path / "labels.csv"
    path.write_text("run,passed\n" + "".join(f"{id_},{truth[id_]}\n" for id_ in labels))
    result = sy.judges(runs, gold=path, by=[])
    votes = {each.id: each.judgments[0].passed for each in runs}
    passed = [id_ for id_ in labels if truth[id_]]
    accuracy = result.judges["judge"].accuracy
    assert accuracy.labels == 100
    assert accuracy.sensitivity.estimate == pytest.approx(sum(votes[id_] for id_ in passed) / len(passed))
    (rate,) = result.pass_rates
    assert rate.judged_rate == pytest.approx(sum(votes.values()) / 200)
    assert (rate.labels, rate.corrected.n, rate.corrected.clusters, rate.label) == (100, 200, 40, None)
    assert rate.corrected.low < sum(truth.values()) / 200 < rate.corrected.high
    assert rate.corrected.method == "ppi++"


def test_judged_rate_is_pass_rate_where_judges_vote(tmp_path: Path) -> None:
    runs = [
        run("r0", "task-0", {"a": 0.9, "b": 0.1, "c": 0.1}, {"a": True}),  # one vote, a pass; two scores without a vote
        run("r1", "task-1", {"a": 0.9, "b": 0.1}, {"a": True, "b": False}),  # a tie is no majority
    ]
    path = tmp_path / "labels.csv"
    path.write_text("run,passed\nr0,yes\nr1,no\n")
    (rate,) = sy.judges(runs, gold=path, by=[]).pass_rates
    measured = sy.measure(runs, by=[], metrics="pass_rate").groups[0].metrics["pass_rate"].mean
    assert rate.judged_rate == measured == 0.5  # r0 of 2


def test_judged_rate_is_by_scores_if_no_judge_votes(tmp_path: Path) -> None:
    runs = [run("r0", "task-0", {"a": 0.9, "b": 0.7, "c": 0.1}), run("r1", "task-1", {"a": 0.9, "b": 0.1})]
    path = tmp_path / "labels.csv"
    path.write_text("run,passed\nr0,yes\nr1,no\n")
    (rate,) = sy.judges(runs, gold=path, by=[]).pass_rates
    assert rate.judged_rate == 0.5  # 2 of 3 scores of r0 reach 0.6, 1 of 2 of r1


def test_judges_reads_gold_labels_of_each_group_from_csv(tmp_path: Path) -> None:
    runs, truth = gold_panel()
    labels = tmp_path / "labels.csv"
    labels.write_text("run;passed\n" + "".join(f"{id_};{'yes' if truth[id_] else 'No'}\n" for id_ in list(truth)[:60]))
    in_groups = [msgspec.structs.replace(each, agent="ab"[n % 2]) for n, each in enumerate(runs)]
    result = sy.judges(in_groups, gold=labels, by="agent")
    assert [(rate.keys, rate.labels) for rate in result.pass_rates] == [({"agent": "a"}, 30), ({"agent": "b"}, 30)]
    assert result.pass_rates[0].label == "fewer than 50 gold labels"


def test_judges_uses_labels_of_other_runs_by_rogan_gladen(tmp_path: Path) -> None:
    runs, _ = gold_panel()
    labels = tmp_path / "labels.csv"
    rows = [(n, "yes" if n % 10 else "no", "yes") for n in range(40)]  # sensitivity 36/40
    rows += [(40 + n, "no" if n % 5 else "yes", "no") for n in range(40)]  # specificity 32/40
    labels.write_text(
        "run,judge,judged,passed\n" + "".join(f"o{n},judge,{judged},{gold}\n" for n, judged, gold in rows)
    )
    (rate,) = sy.judges(runs, gold=labels, gold_source="other", by=[]).pass_rates
    assert rate.corrected.estimate == pytest.approx((rate.judged_rate + 0.8 - 1) / (0.9 + 0.8 - 1))
    assert (rate.corrected.method, rate.tuning) == ("rogan-gladen", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("run,passed\nr0,maybe\n", "labels.csv:2: 'maybe' is not a verdict"),
        ("run,passed\nnone,yes\n", "labels.csv:2: no judged run 'none'"),
        ("run,passed\nr0,yes\nr0,no\n", "labels.csv:3: run 'r0' has another verdict at"),
        ("run,verdict\nr0,yes\n", "no column 'passed'"),
        ("run,passed\n,yes\n", "labels.csv:2: no run id"),
        ("run,passed\n", "no labels in gold"),
    ],
)
def test_judges_rejects_gold_labels(tmp_path: Path, text: str, message: str) -> None:
    runs, _ = gold_panel(2, 2)
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(SteelyardError) as caught:
        sy.judges(runs, gold=tmp_path / "labels.csv")
    assert message in str(caught.value)


def test_judges_prints_corrected_pass_rate(tmp_path: Path) -> None:
    runs, truth = gold_panel()
    (tmp_path / "labels.csv").write_text("run,passed\n" + "".join(f"{id_},{int(truth[id_])}\n" for id_ in truth))
    text = steelyard("judges", write(tmp_path / "runs.jsonl", runs), "--gold", tmp_path / "labels.csv").stdout
    assert "judge agrees with " in text
    assert "corrected with 200 gold labels: " in text
    assert "Judged pass rate, corrected with gold labels (PPI++)" in text


@pytest.mark.parametrize("rule", ["pass_rate >= 0.5", "cost_of_pass <= 1"])
def test_gate_reports_uncalibrated_judges(rule: str) -> None:
    runs = [msgspec.structs.replace(each, cost_usd=0.1) for each in gold_panel()[0]]
    tested = [msgspec.structs.replace(each, passed=True) for each in runs]
    found, others = (
        [finding.message for finding in sy.gate(given, rule=rule).findings if finding.code == "uncalibrated_judge"]
        for given in (runs, tested)
    )
    assert "200 of 200 runs are from uncalibrated judges" in found[0]
    assert others == []
