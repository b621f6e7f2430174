"""`steelyard repeatability` and `steelyard repeatability canon`, as a user runs them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import steelyard as sy
from commands import Done, steelyard as in_a_process_of_its_own
from steelyard.cli import run
from steelyard.formatting import bounds_text
from steelyard.records import Output

SAMPLES = Path(__file__).parent.parent / "samples" / "repeatability"
EXPERIMENT = str(SAMPLES / "clamp_experiment.json")
RUNS = str(SAMPLES / "clamp_runs.jsonl")
CONTRACT = str(SAMPLES / "clamp.toml")
KEPT = ("--store", "sqlite:///steelyard.db")

Steelyard = Callable[..., Done]
Repeat = Callable[..., Any]


@pytest.fixture
def steelyard(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Steelyard:
    """Run a command in the test's own folder, without the start of another interpreter."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> Done:
        status = run(list(arguments))
        said = capsys.readouterr()
        return Done(status, said.out, said.err)

    return command


@pytest.fixture
def repeat(steelyard: Steelyard) -> Callable[..., Any]:
    """The prompts of `steelyard repeatability --json`, which must end well, each with the findings of all."""

    def command(*arguments: str) -> Any:
        done = steelyard("repeatability", *arguments, "--json")
        assert done.status == 0, done.stderr
        result = json.loads(done.stdout)
        return [prompt | {"findings": result["findings"]} for prompt in result["prompts"]]

    return command


def test_stored_repairs_are_measured_as_they_are(repeat: Repeat, tmp_path: Path) -> None:
    [result] = repeat(EXPERIMENT, "--no-repair")
    metrics = result["metrics"]
    assert (result["prompt"], result["n"]) == ("clamp_temp0.5_20260101_000000", 4)
    assert metrics["r_raw"] == 0.25  # four different programs
    assert metrics["r_bytes"] == 0.25
    assert metrics["r_anchor_pre"] == 0.25  # the first is the canon
    assert metrics["r_anchor"] == 0.75  # three of four after repair
    assert metrics["rescue_rate"] == 0.5  # two of four
    assert metrics["rescue_rate_noncanonical"] == pytest.approx(2 / 3)
    assert metrics["delta_r_anchor"] == 0.75
    assert metrics["delta_r_anchor_measured"] == 0.5
    assert metrics["unique_signatures"] == 4
    assert metrics["signature_entropy"] == 2.0
    assert result["canon"]["origin"] == "experiment file"
    assert result["intervals"]["r_anchor"]["method"] == "clopper-pearson"
    assert result["intervals"]["r_raw"]["method"] == "modal-exact"
    assert [finding["code"] for finding in result["findings"]] == []
    assert list(tmp_path.iterdir()) == []  # an experiment file never enters the store


def test_our_repair_starts_from_the_raw_outputs_and_shows_the_stored_beside(repeat: Repeat) -> None:
    [result] = repeat(EXPERIMENT)
    metrics = result["metrics"]
    assert metrics["r_anchor"] == 0.75  # min and max is another algorithm
    assert metrics["mu_post"] <= metrics["mu_pre"]
    assert result["stored_repairs"]["r_anchor"] == 0.75
    assert all(sample["compliant_pre"] and sample["compliant_post"] for sample in result["samples"])
    assert result["samples"][1]["steps"][0]["step"] == "statement_forms"
    assert result["versions"]["repair"] == "repair-2"


def test_the_answer_is_the_same_for_every_hash_seed() -> None:
    found = {
        in_a_process_of_its_own(
            "repeatability", EXPERIMENT, EXPERIMENT, "--no-repair", "--json", PYTHONHASHSEED=seed
        ).stdout
        for seed in ("0", "1", "random")
    }
    assert len(found) == 1


def test_nothing_is_written_unless_a_store_is_named(repeat: Repeat, tmp_path: Path) -> None:
    first, again = repeat(RUNS, "--contract", CONTRACT), repeat(RUNS, "--contract", CONTRACT)
    assert list(tmp_path.iterdir()) == []
    assert first == again  # the second call knows nothing of the first one's canon
    assert first[0]["canon"]["origin"] == "not stored"


def test_the_table_begins_with_how_many_outputs_meet_the_contract(steelyard: Steelyard) -> None:
    told = steelyard("repeatability", RUNS, "--contract", CONTRACT).stdout.splitlines()[0]
    assert told.startswith("5 of 5 outputs meet the contract; ")
    whose = "clamp / made-up / m1 (the only prompt with several)"
    assert steelyard("repeatability", RUNS).stdout.startswith(
        f"The most common output of {whose} accounts for 25.0% of 4."
    )


def test_run_records_are_grouped_and_the_first_compliant_output_becomes_the_canon(repeat: Repeat) -> None:
    first, second = repeat(RUNS, "--contract", CONTRACT, *KEPT)
    assert first["key"] == {"task": "clamp", "agent": "made-up", "model": "m1"}
    assert (first["n"], second["n"]) == (4, 1)
    assert first["canon"]["origin"] == "new"
    assert first["canon"]["from_run"] == "r1"
    assert second["canon"] == {**first["canon"], "origin": "stored"}
    assert first["isolation"] in ("bubblewrap", "landlock")
    again = repeat(RUNS, "--contract", CONTRACT, *KEPT)
    assert again[0]["metrics"] == first["metrics"]
    assert again[0]["canon"]["origin"] == "stored"


def test_a_canon_is_shown_retired_and_never_compared_with_again(
    repeat: Repeat, steelyard: Steelyard, tmp_path: Path
) -> None:
    repeat(RUNS, "--contract", CONTRACT, *KEPT)
    [shown] = json.loads(steelyard("repeatability", "canon", "show", "clamp", "--json").stdout)["canons"]
    assert shown["contract"]["id"] == "clamp"
    assert shown["retired_at"] is None
    assert steelyard("repeatability", "canon", "retire", "clamp").status == 0
    assert steelyard("repeatability", "canon", "show", "clamp").status == 2
    history = json.loads(steelyard("repeatability", "canon", "show", "clamp", "--history", "--json").stdout)["canons"]
    assert history[0]["retired_at"] is not None
    wrong_first = tmp_path / "later.jsonl"
    lines = Path(RUNS).read_text().splitlines()
    wrong_first.write_text("\n".join(reversed(lines)))
    results = repeat(str(wrong_first), "--contract", CONTRACT, *KEPT)
    assert {result["canon"]["from_run"] for result in results} == {"r5"}


def test_a_canon_of_another_version_is_not_compared_with(repeat: Repeat, steelyard: Steelyard) -> None:
    repeat(RUNS, "--contract", CONTRACT, *KEPT)
    done = steelyard("repeatability", RUNS, "--contract", CONTRACT, *KEPT, "--normalize", "text", "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.status, error["kind"]) == (1, "canon_versions")
    assert "text-1" in error["message"]
    assert "ast-1" in error["message"]


def test_a_changed_contract_is_mentioned(repeat: Repeat, tmp_path: Path) -> None:
    repeat(RUNS, "--contract", CONTRACT, *KEPT)
    changed = tmp_path / "c.toml"
    changed.write_text(Path(CONTRACT).read_text().replace("max_steps = 20", "max_steps = 19"))
    results = repeat(RUNS, "--contract", str(changed), *KEPT)
    assert "contract_changed" in {finding["code"] for finding in results[0]["findings"]}


def test_a_canon_of_another_question_under_the_same_id_is_not_compared_with(
    repeat: Repeat, steelyard: Steelyard, tmp_path: Path
) -> None:
    repeat(RUNS, "--contract", CONTRACT, *KEPT)
    text = Path(CONTRACT).read_text()
    asked = text.index("prompt = ")
    other, spaced = tmp_path / "other.toml", tmp_path / "spaced.toml"
    other.write_text(text[:asked] + 'prompt = "Sort a list."' + text[text.index("\n", asked) :])
    spaced.write_text(text.replace("keeps a number", "keeps  a number"))
    done = steelyard("repeatability", RUNS, "--contract", str(other), *KEPT, "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.status, error["kind"]) == (1, "canon_prompt")
    assert "'Sort a list.'" in error["message"]
    assert repeat(RUNS, "--contract", str(spaced), *KEPT)[0]["canon"]["origin"] == "stored"


def test_every_agent_and_model_is_measured_against_the_prompts_one_canon(repeat: Repeat) -> None:
    first, second = repeat(RUNS, "--contract", CONTRACT)
    assert first["key"]["model"] != second["key"]["model"]
    assert first["canon"]["signature"] == second["canon"]["signature"]
    assert (second["metrics"]["r_raw"], second["metrics"]["r_anchor_pre"]) == (1.0, 0.0)  # alike, but not the canon


def test_without_a_contract_there_is_no_canon_and_no_number_is_made_up(repeat: Repeat) -> None:
    first, _ = repeat(RUNS)
    metrics = first["metrics"]
    assert first["canon"] is None
    assert (metrics["r_anchor"], metrics["mu_pre"], metrics["mu_post"]) == (0.0, 1.0, 1.0)
    assert metrics["delta_r_anchor"] == 0.0  # the specification defines it as r_anchor
    for name in ("rescue_rate", "rescue_rate_noncanonical", "delta_mu", "delta_p_tau"):
        assert metrics[name] is None
        assert "no canon" in first["reasons"][name]
    assert metrics["r_raw"] == 0.25
    assert metrics["mean_pairwise_distance"] > 0
    assert first["findings"][0]["code"] == "no_canon"


def test_a_folder_of_files_is_one_prompt_in_the_order_people_number_them(repeat: Repeat, tmp_path: Path) -> None:
    folder = tmp_path / "clamp"
    folder.mkdir()
    for number, line in enumerate(Path(RUNS).read_text().splitlines(), 1):
        (folder / f"answer_{number * 5}.md").write_text(json.loads(line)["output"]["text"])
    (folder / "notes.db").write_bytes(b"\xff")
    [result] = repeat(str(folder), "--contract", CONTRACT)
    assert [sample["run"] for sample in result["samples"]] == [f"answer_{n * 5}.md" for n in range(1, 6)]
    assert result["canon"]["origin"] == "not stored"
    assert [finding["code"] for finding in result["findings"]] == ["left_out"]
    assert result["metrics"]["r_anchor"] == 0.8  # four of five
    assert not (tmp_path / "steelyard.db").exists()


def test_folders_under_one_contract_are_told_apart(steelyard: Steelyard, tmp_path: Path) -> None:
    (tmp_path / "mixed" / "old").mkdir(parents=True)
    for name in ("1.py", "2.py", "old/1.py"):
        (tmp_path / "mixed" / name).write_text("def clamp(value, low, high):\n    return max(low, min(value, high))\n")
    done = steelyard("repeatability", "mixed", "--contract", CONTRACT)
    whose = "clamp (mixed) (the only prompt with several)"
    told = f"3 of 3 outputs meet the contract; the most common output of {whose} accounts for 100.0% of 2."
    assert done.stdout.startswith(told)
    prompts = json.loads(steelyard("repeatability", "mixed", "--contract", CONTRACT, "--json").stdout)["prompts"]
    assert [prompt["prompt"] for prompt in prompts] == ["clamp (mixed/old)", "clamp (mixed)"]


def test_outputs_that_do_not_meet_the_contract_are_listed_with_the_reason(steelyard: Steelyard, tmp_path: Path) -> None:
    (tmp_path / "clamp").mkdir()
    good = "def clamp(value, low, high):\n    return max(low, min(value, high))\n"
    for number, code in enumerate((good, good.replace("clamp", "clip"), "def clamp(:\n"), 1):
        (tmp_path / "clamp" / f"{number}.py").write_text(code)
    listed = steelyard("repeatability", "clamp", "--contract", CONTRACT).stdout.split(
        "Outputs that do not meet the contract"
    )[1]
    rows = [line.split() for line in listed.split("\n\n")[0].splitlines()[4:]]
    assert [(row[0], row[1], " ".join(row[4:])) for row in rows] == [
        ("2", "2.py", "clamp, which the contract calls, is not defined"),
        ("3", "3.py", "does not parse"),
    ]
    listed = steelyard("repeatability", "clamp", "--contract", CONTRACT, "--all").stdout.split("\nOutputs\n")[1]
    lines = [line.split() for line in listed.split("\n\n")[0].splitlines()]
    assert [words[:3] for words in lines if words[0].isdigit()] == [
        ["1", "1.py", "yes"],
        ["2", "2.py", "no"],
        ["3", "3.py", "no"],
    ]


def test_hostile_outputs_in_a_folder_are_measured_and_never_become_the_canon(repeat: Repeat, tmp_path: Path) -> None:
    folder = tmp_path / "clamp"
    folder.mkdir()
    (folder / "1.py").write_text("import os\nprint('passed', flush=True)\nos._exit(0)\n")
    (folder / "2.py").write_text("def clamp(value, low, high):\n    while True: pass\n")
    (folder / "3.py").write_text("def clamp(value, low, high):\n    return max(low, min(value, high))\n")
    contract = tmp_path / "c.toml"
    contract.write_text(Path(CONTRACT).read_text().replace("time_seconds = 5", "time_seconds = 1"))
    [result] = repeat(str(folder), "--contract", str(contract))
    assert result["canon"]["from_run"] == "3.py"
    assert [sample["compliant_pre"] for sample in result["samples"]] == [False, False, True]
    assert all(sample["reason"] for sample in result["samples"][:2])


def test_csv_logs_carry_all_versions_on_every_row_in_full_precision(repeat: Repeat, tmp_path: Path) -> None:
    [result] = repeat(EXPERIMENT, "--csv-dir", str(tmp_path / "logs"))
    for name in ("distances_pre.csv", "distances_post.csv", "repairs.csv", "metrics_summary.csv"):
        with (tmp_path / "logs" / name).open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == (1 if name == "metrics_summary.csv" else 4)
        for row in rows:
            assert row["normalization_version"] == result["versions"]["normalization"]
            assert row["oracle_version"] == result["versions"]["oracle"]
            assert row["distance_version"] == result["versions"]["distance"]
    assert float(rows[0]["mu_pre"]) == result["metrics"]["mu_pre"]
    assert float(rows[0]["delta_mu"]) == result["metrics"]["delta_mu"] < 0


def test_the_terminal_shows_a_table_and_the_distances_as_bars(steelyard: Steelyard) -> None:
    done = steelyard("repeatability", EXPERIMENT, "--no-repair")
    assert "before repair" in done.stdout
    assert "█" in done.stdout
    assert "░" in done.stdout


def test_what_cannot_be_used_is_set_aside_and_the_rest_goes_on(steelyard: Steelyard, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"experiment_id": "x", "raw_outputs": 3}')
    cut = tmp_path / "cut.json"
    cut.write_text(Path(EXPERIMENT).read_text()[:-40])
    done = steelyard("repeatability", str(broken), EXPERIMENT, str(cut), "absent.json", "--no-repair", "--json")
    assert done.status == 1
    assert len(json.loads(done.stdout)["prompts"]) == 1
    (finding,) = [one for one in json.loads(done.stdout)["findings"] if one["code"] == "unreadable_file"]
    assert [place["where"] for place in finding["places"]] == [str(broken), str(cut), "absent.json"]
    assert done.stderr.count("unreadable_file") == 1  # a kind is told once, with its places below
    assert steelyard("repeatability", str(broken), EXPERIMENT, "--no-repair", "--allow-rejected").status == 0
    assert steelyard("repeatability", str(broken), "--json").status == 1


def empty_inputs(folder: Path) -> dict[str, Path]:
    """Each kind of input with nothing in it."""
    for name, text in (("records.jsonl", ""), ("records.json", "[]"), ("records.csv", "id,task\n")):
        (folder / name).write_text(text)
    pl.DataFrame({"task": []}, schema={"task": pl.String}).write_parquet(folder / "records.parquet")
    (folder / "outputs").mkdir()
    (folder / "nested" / "outputs").mkdir(parents=True)
    (folder / "pictures").mkdir()
    (folder / "pictures" / "chart.png").touch()
    return {path.name: path for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("contract", [(), ("--contract", CONTRACT)], ids=["without a contract", "with a contract"])
def test_an_input_without_outputs_repeats_nothing_and_is_no_error(
    steelyard: Steelyard, tmp_path: Path, contract: tuple[str, ...]
) -> None:
    for name, path in empty_inputs(tmp_path).items():
        done = steelyard("repeatability", str(path), *contract, "--json")
        assert done.status == 0, (name, done.stderr)
        shape = json.loads(done.stdout)
        [result] = shape["prompts"]
        metrics = result["metrics"]
        assert (result["n"], metrics.pop("r_raw"), metrics.pop("r_anchor")) == (0, 0.0, 0.0), name
        assert set(metrics.values()) == {None}, name
        assert result["intervals"] == {}
        assert "no_outputs" in {finding["code"] for finding in shape["findings"]}, name
        assert result["prompt"] == "clamp" if contract else result["prompt"] in ("all runs", path.name, "outputs")
        table = steelyard("repeatability", str(path), *contract)
        assert "no canon" in table.stdout


def test_nothing_is_said_of_outputs_that_could_not_be_read(steelyard: Steelyard, tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text('{"task": "clamp"}\n')
    done = steelyard("repeatability", str(tmp_path / "runs.jsonl"), "--contract", CONTRACT)
    assert done.status == 1
    assert "no output.text" in done.stderr
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "answer.md").write_bytes(b"\xff\xfe\xff")
    done = steelyard("repeatability", str(tmp_path / "folder"))
    assert done.status == 1
    assert "UTF-8" in done.stderr


def test_an_empty_folder_among_others_is_a_prompt_without_outputs(repeat: Repeat, tmp_path: Path) -> None:
    for name in ("asked", "unanswered", "__pycache__"):
        (tmp_path / name).mkdir()
    (tmp_path / "asked" / "1.py").write_text("x = 1\n")
    (tmp_path / "__pycache__" / "x.pyc").touch()
    results = repeat(str(tmp_path))
    assert {result["prompt"]: result["metrics"]["r_raw"] for result in results} == {"asked": 1.0, "unanswered": 0.0}


def test_an_experiment_without_outputs_has_only_its_r_raw_and_r_anchor(repeat: Repeat, tmp_path: Path) -> None:
    empty = json.loads(Path(EXPERIMENT).read_text()) | {"raw_outputs": [], "repaired_outputs": []}
    (tmp_path / "e.json").write_text(json.dumps(empty))
    [result] = repeat(str(tmp_path / "e.json"), "--no-repair")
    assert (result["metrics"].pop("r_raw"), result["metrics"].pop("r_anchor")) == (0.0, 0.0)
    assert set(result["metrics"].values()) == {None}
    assert all(result["reasons"][name] for name in result["metrics"])


def test_fewer_repaired_outputs_than_raw_ones_is_a_finding(repeat: Repeat, tmp_path: Path) -> None:
    short = json.loads(Path(EXPERIMENT).read_text())
    short["repaired_outputs"] = short["repaired_outputs"][:2]
    (tmp_path / "e.json").write_text(json.dumps(short))
    [result] = repeat(str(tmp_path / "e.json"), "--no-repair")
    assert "repaired_count" in {finding["code"] for finding in result["findings"]}
    assert result["metrics"]["r_anchor"] == 0.5  # two of four


def test_a_sweep_is_one_prompt_for_each_of_its_results(repeat: Repeat, tmp_path: Path) -> None:
    one = json.loads(Path(EXPERIMENT).read_text())
    sweep = {"sweep_id": "s", "individual_results": [one, {**one, "experiment_id": "second"}]}
    (tmp_path / "sweep.json").write_text(json.dumps(sweep))
    results = repeat(str(tmp_path / "sweep.json"), "--no-repair")
    assert [result["prompt"] for result in results] == [one["experiment_id"], "second"]


def test_records_of_another_language_are_compared_by_their_tokens(repeat: Repeat, tmp_path: Path) -> None:
    pytest.importorskip("tree_sitter_language_pack")
    texts = ["```js\nlet a = 1; // one\n```", "let  a=1;", "let b = 2;"]
    lines = [json.dumps({"task": "t", "output": {"language": "javascript", "text": text}}) for text in texts]
    (tmp_path / "runs.jsonl").write_text("\n".join(lines))
    [result] = repeat(str(tmp_path / "runs.jsonl"))
    assert result["level"] == "tree"
    assert result["metrics"]["r_raw"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--normalize", "asst"), "ast"),
        (("--tau", "2"), "between 0 and 1"),
        (("--by", "taks"), "task"),
        (("--profile", "outcome-1"), "outcome specification"),
        (("--language", "pyton"), "python"),
    ],
)
def test_wrong_usage_exits_2_with_advice(steelyard: Steelyard, arguments: tuple[str, ...], said: str) -> None:
    done = steelyard("repeatability", EXPERIMENT, *arguments)
    assert done.status == 2
    assert said in done.stderr


def test_without_a_usable_contract_nothing_is_repaired_and_stored_repairs_do_not_stand_in(
    repeat: Repeat, tmp_path: Path
) -> None:
    bare = json.loads(Path(EXPERIMENT).read_text())
    bare["contract"]["surprise"] = 1
    (tmp_path / "e.json").write_text(json.dumps(bare))
    [result] = repeat(str(tmp_path / "e.json"))
    assert result["metrics"]["r_anchor"] == result["metrics"]["r_anchor_pre"] == 0.25
    assert result["stored_repairs"]["r_anchor"] == 0.75
    assert {finding["code"] for finding in result["findings"]} == {"invalid_contract", "not_repaired"}


def test_records_can_bring_repaired_versions(repeat: Repeat, tmp_path: Path) -> None:
    texts = [("x = 1", None), ("x = 2", "x = 1"), ("y = 3", "y = 4")]
    lines = [
        json.dumps({"task": "clamp", "output": {"text": text} | ({"repaired": fixed} if fixed else {})})
        for text, fixed in texts
    ]
    (tmp_path / "runs.jsonl").write_text("\n".join(lines))
    [result] = repeat(str(tmp_path / "runs.jsonl"), "--no-repair", "--code")
    assert [sample["code_post"] for sample in result["samples"]] == ["x = 1", "x = 1", "y = 4"]


def test_rows_are_written_as_soon_as_their_prompt_is_measured(tmp_path: Path) -> None:
    runs = [
        sy.Run(id=f"{task}-{number}", task=task, output=Output(language="python", text=f"x = {number}\n"))
        for task in ("first", "second")
        for number in range(2)
    ]
    seen: list[str] = []

    def progress(prompt: str, _done: int) -> None:
        seen.append(prompt)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sy.repeatability(
            runs, options=sy.RepeatabilityOptions(repair=False, csv_dir=tmp_path / "csv"), progress=progress
        )
    rows = (tmp_path / "csv" / "metrics_summary.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == seen


def prose_runs(*texts: str) -> list[dict[str, object]]:
    return [{"id": f"r{place}", "task": "capital", "output": {"text": text}} for place, text in enumerate(texts)]


def test_prose_is_compared_as_text_and_not_called_broken_code() -> None:
    # one of them, `Paris`, is a Python expression as well
    result = sy.repeatability(prose_runs("It is Paris.", "It is Paris.", "Paris"))
    prompt = result.prompts[0]
    assert prompt.level == "text"
    assert prompt.versions.normalization == "text-1"
    assert [finding.code for finding in result.findings] == ["no_canon"]
    assert prompt.metrics["r_raw"] == 2 / 3
    named = sy.repeatability(prose_runs("It is Paris.", "It is Paris.", "Paris"), language="python")
    assert "2 of 3 outputs do not parse as python" in " ".join(finding.message for finding in named.findings)
    asked = sy.repeatability(prose_runs("It is Paris.", "Paris"), normalize="names").prompts[0]
    assert asked.level == "names"
    code = sy.repeatability(prose_runs("x = 1", "x  =  1", "It is 1.")).prompts[0]
    assert code.level == "ast"
    assert code.metrics["r_raw"] == 2 / 3


def test_without_a_canon_the_tables_show_how_outputs_differ_from_each_other() -> None:
    result = sy.repeatability(prose_runs(*["x = 1"] * 6, *["x = 2"] * 4))
    interval = result.prompts[0].intervals["r_raw"]
    page = result.page()
    table = result.text(160)
    assert page.table is not None
    titles = [column.title for column in page.table.columns]
    # 24 of 45 pairs differ, in 1 of 6 characters with the line's end: 24 / 45 x 1/6 = 0.089; the others are equal
    for shown in ("60.0%", bounds_text(interval.low, interval.high, "fraction"), "0.0889", "46.7%"):
        assert shown in table
        assert any(shown in (column.texts or ()) for column in page.table.columns)
    for word in ("r_raw", "r_anchor", "mu_pre", "Canonical"):
        assert word not in table
        assert not any(word in title for title in titles)
    assert "Mean pairwise distance" in titles


@pytest.fixture
def outputs(tmp_path: Path) -> str:
    """Three answers without a contract, two of them equal."""
    folder = tmp_path / "outputs"
    folder.mkdir()
    for name, text in (("1", "x = 1\n"), ("2", "x = 1\n"), ("3", "x = 12345\n")):
        (folder / f"{name}.py").write_text(text, "utf-8")
    return str(folder)


@pytest.mark.parametrize("ending", ["html", "md", "json", "csv", "parquet"])
def test_the_result_is_written_to_a_file_of_any_form(steelyard: Steelyard, outputs: str, ending: str) -> None:
    done = steelyard("repeatability", outputs, "--out", f"result.{ending}", "--quiet")
    assert done.status == 0, done.stderr
    assert done.stdout.endswith(f"wrote result.{ending}\n")
    assert Path(f"result.{ending}").stat().st_size > 100
    if ending == "json":
        measured = steelyard("measure", "result.json", "--metrics", "r_raw", "--json")
        assert measured.status == 0, measured.stderr
        assert json.loads(measured.stdout)["groups"][0]["metrics"]["r_raw"]["mean"] == pytest.approx(2 / 3)


def test_without_a_canon_the_figure_shows_the_outputs_beside_each_other(steelyard: Steelyard, outputs: str) -> None:
    result = sy.repeatability(outputs)
    figure = result.figure()
    assert figure.title == "Distances between outputs: outputs"
    assert figure.description == "3 outputs in 2 clusters of 2, 1."
    assert "every distance is 1" not in figure.svg
    several = sy.repeatability([{"task": task, "output": {"text": "x"}} for task in ("a", "b")])
    assert several.figure().title == "Raw repeatability by prompt"


def test_samples_that_broke_off_are_counted_beside_the_outputs(steelyard: Steelyard, tmp_path: Path) -> None:
    answered = [{"task": "clamp", "output": {"text": "x = 1", "language": "python"}, "attempt": n} for n in (1, 2, 3)]
    broken = {"task": "clamp", "attempt": 4, "outcome": "errored", "failure": {"cause": "infrastructure"}}
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in (*answered, broken)))
    done = steelyard("repeatability", str(path), "--no-repair", "--json")
    assert done.status == 0  # nothing is wrong with the file
    result = json.loads(done.stdout)
    [prompt] = result["prompts"]
    assert (prompt["asked"], prompt["n"], prompt["failed"]) == (4, 3, 1)
    assert prompt["metrics"]["r_raw"] == 1.0  # 3 of the 3 that were answered
    told = {finding["code"]: finding["message"] for finding in result["findings"]}
    assert told["failed_samples"].startswith("1 of 4 samples failed")
    assert "3 of 4" in steelyard("repeatability", str(path), "--no-repair").stdout
