"""`steelyard mapping suggest` and `--map`: what is suggested, and what the verbs make of it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import polars as pl
import pytest

import steelyard as sy
from commands import steelyard
from steelyard.errors import UnreadableFileError
from steelyard.records import TaskCounts
from steelyard.sources import MappedRun, mapping_of, read_mapped, suggest

SAMPLES = Path(__file__).parent / "samples" / "mappings"
SHEET = SAMPLES / "sheet.csv"


def test_the_proposal_for_a_messy_sheet_needs_no_correction(tmp_path: Path) -> None:
    done = steelyard("mapping", "suggest", str(SHEET))
    assert done.status == 0
    assert "# As is, the mapping reads 4 runs from 'sheet.csv' and rejects 0 rows." in done.stdout
    (tmp_path / "mapping.toml").write_text(done.stdout, encoding="utf-8")
    out = tmp_path / "runs.jsonl"
    read = steelyard("read", str(SHEET), "--map", str(tmp_path / "mapping.toml"), "--out", str(out), "--json")
    assert read.status == 0
    assert json.loads(read.stdout)["formats"]["map:sheet"]["runs"] == 4
    runs = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [run.get("cost_usd") for run in runs] == [1002.5, 0.25, None, 3.0]
    assert [run["duration_seconds"] for run in runs] == [150.0, 45.0, 1800.0, 65.0]
    assert [run["outcome"] for run in runs] == ["passed", "failed", "errored", "passed"]
    assert [run.get("impl_rate") for run in runs] == [0.625, 0.1, None, 1.0]


def test_sample_cells_and_how_many_fit_stand_beside_each_field() -> None:
    text = suggest([SHEET]).text
    assert "# 'Cost ($)': '$1.002,50', '0,25', '$3,00'; 3 of 3 match\ncost_usd = \"Cost ($)\"" in text
    assert '# 1:30 is read as minutes and seconds; for hours and minutes, set clock = "h:mm"' in text
    assert "are excluded from pass rates; the option unscored can count them as failed\n" in text
    assert "# must exclude cached tokens; if it includes them" in text
    assert 'unless = { "Task ID" = "Total" }\n# the row of totals is excluded' in text


def test_what_is_uncertain_is_commented_out(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("task_id,id,pre_edit_runtime,note\nt1,7,1.5,a\nt2,8,2.5,b\n", encoding="utf-8")
    suggestion = suggest([path])
    fields = tomllib.loads(suggestion.text)["run"]
    assert fields == {"task": "task_id", "id": "id"}
    assert '# duration_seconds = "pre_edit_runtime"' in suggestion.text
    assert '# x_note = "note"' in suggestion.text


def test_a_word_without_a_meaning_is_named_and_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("Task,Result\na,pass\nb,partial\nc,fail\n", encoding="utf-8")
    suggestion = suggest([path])
    assert "# rows with these values are rejected; add them to `words`: 'partial'" in suggestion.text
    assert '# outcome = { from = "Result", words = { pass = "passed", fail = "failed" } }' in suggestion.text
    assert suggestion.runs == 3  # without a verdict, since that is commented out
    assert (
        "# No run has a verdict, so no pass rate can be computed: set `outcome` or `passed` below." in suggestion.text
    )


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        (
            {"ts": 1767323045, "job": "a b", "brain": "gpt-5", "ended": "win", "answer": "42", "usd": 0.5, "secs": 7},
            {
                "task": "job",
                "model": "brain",
                "outcome": "ended",
                "started_at": "ts",
                "output": "answer",
                "cost_usd": "usd",
                "duration_seconds": "secs",
            },
        ),
        (
            {"t": "2026-01-02T03:04:05Z", "goal": "sort it", "brain": "anthropic/claude-x", "verdict": "yes"},
            {"task": "goal", "model": "brain", "outcome": "verdict", "started_at": "t"},
        ),
        (
            {"job": "J-1", "tok": {"completion": 5}, "spent_cents": 40, "ms": 7000, "ended": "win"},
            {"usage": "tok.completion", "cost_usd": "spent_cents", "duration_seconds": "ms"},
        ),
        (
            {"issue": "Q1", "Assistant": "a", "took": "25s", "began": "2026-11-03T10:00:00Z", "bill": 0.5, "won": True},
            {
                "task": "issue",
                "agent": "Assistant",
                "duration_seconds": "took",
                "started_at": "began",
                "cost_usd": "bill",
                "passed": "won",
            },
        ),
    ],
)
def test_everyday_names_are_known(tmp_path: Path, row: dict[str, object], fields: dict[str, str]) -> None:
    other = {"win": "lose", "yes": "nope"}
    path = tmp_path / "runs.jsonl"
    rows = [row, {key: other.get(str(value), value) for key, value in row.items()}]
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    values = tomllib.loads(suggest([path]).text)["run"]
    sources = {
        name: spec if isinstance(spec, str) else spec.get("from", next(iter(spec.values())))
        for name, spec in values.items()
    }
    assert {name: sources.get(name) for name in fields} == fields


@pytest.mark.parametrize("header", ["Which Model?", "AI model", "Model used", "What LLM was used?"])
def test_a_question_for_the_model_is_its_column(tmp_path: Path, header: str) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(f"Task,{header},Result\na,x,pass\nb,y,fail\n", encoding="utf-8")
    assert tomllib.loads(suggest([path]).text)["run"]["model"] == header


@pytest.mark.parametrize("chosen", [("compare", "-a", "model=x", "-b", "model=y"), ("measure", "--where", "model=x")])
def test_runs_that_do_not_state_a_key_are_told_how_a_mapping_states_it(tmp_path: Path, chosen: tuple[str, ...]) -> None:
    (tmp_path / "runs.jsonl").write_text('{"task": "a"}\n{"task": "b"}\n', encoding="utf-8")
    verb, *options = chosen
    done = steelyard(verb, "runs.jsonl", *options, cwd=tmp_path)
    assert done.status == 2
    assert "no run has a value for model" in done.stderr
    assert 'add model = "COLUMN" to a mapping, or use --set model=NAME' in done.stderr


def test_what_is_not_surely_the_task_is_commented_out_and_the_likeliest_tried(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    rows = [{"t": "2026-01-02T03:04:05Z", "evt": "done", "what": f"W-{n}", "ok": n > 1} for n in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suggestion = suggest([path])
    assert "task" not in tomllib.loads(suggestion.text)["run"]
    lines = suggestion.text.splitlines()
    assert "# The task column, which every run needs, is uncertain: uncomment one `task` line below." in lines
    assert "# With the first of these lines, the mapping reads 4 runs from 'runs.jsonl' and rejects 0 rows." in lines
    assert [line for line in lines if line.startswith("# task =")] == ['# task = "what"']
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(suggestion.text.replace("# task =", "task =", 1), encoding="utf-8")
    assert steelyard("read", str(path), "--map", str(mapping)).status == 0


@pytest.mark.parametrize("names", [("Run 1", "Run 2"), ("attempt_1", "attempt_2"), ("R1", "R2"), ("1", "2")])
def test_numbered_columns_of_verdicts_are_attempts(tmp_path: Path, names: tuple[str, str]) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(f"Ticket,Model,{','.join(names)}\nBUG-1,a,yes,no\nBUG-2,a,no,no\n", encoding="utf-8")
    suggestion = suggest([path])
    run = tomllib.loads(suggestion.text)["run"]
    assert (run["task"], run["model"]) == ("Ticket", "Model")
    assert "agent" not in run
    items = list(read_mapped(path, suggestion.mapping))
    assert [(item.run.task, item.run.attempt) for item in items] == [
        ("BUG-1", 1),
        ("BUG-1", 2),
        ("BUG-2", 1),
        ("BUG-2", 2),
    ]
    assert "x_run_1" not in suggestion.text


def _log(jobs: int) -> list[dict[str, object]]:
    """Four lines a job, the jobs interleaved, as a log of events has them."""
    lines: list[dict[str, object]] = []
    for step, kind in enumerate(["started", "llm", "llm", "done"]):
        for job in range(jobs):
            more = {"started": {"goal": f"G{job % 3}"}, "llm": {"usd": 0.25}, "done": {"ok": job % 2 == 0}}[kind]
            lines.append({"ts": 1767323045 + 60 * step + job, "job_id": job, "type": kind, "level": "info", **more})
    return lines


def _as_lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_log_of_events_is_a_run_for_each_job_and_says_that_it_is_unsure(tmp_path: Path) -> None:
    path = _as_lines(tmp_path / "log.jsonl", _log(12))
    suggestion = suggest([path])
    assert tomllib.loads(suggestion.text)["group"] == {"by": "job_id"}
    told = "# Each run seems to have several lines: 'job_id' has 12 distinct values in 48 lines, and 'type' changes.\n"
    assert f"{told}# If each line is a run, remove [group] and every `take`.\n" in suggestion.text
    runs = [item.run for item in read_mapped(path, suggestion.mapping) if isinstance(item, MappedRun)]
    assert suggestion.runs == len(runs) == 12
    assert [run.task for run in runs[:4]] == ["G0", "G1", "G2", "G0"]
    assert {run.cost_usd for run in runs} == {0.5}  # two calls at 0.25
    assert {run.elapsed_seconds for run in runs} == {180.0}  # from the first line to the last
    assert [run.passed for run in runs[:2]] == [True, False]


def test_a_log_of_events_has_the_id_and_the_tokens_of_each_job(tmp_path: Path) -> None:
    calls = {"llm": {"tok_in": 100, "tok_out": 7}, "done": {"ok": True}, "start": {"goal": "g"}}
    lines: list[dict[str, object]] = [
        {"time": 1767323045 + at, "job": f"J{job}", "evt": kind, **calls[kind]}
        for job in range(4)
        for at, kind in enumerate(["start", "llm", "llm", "done"])
    ]
    path = _as_lines(tmp_path / "log.jsonl", lines)
    runs = [item.run for item in read_mapped(path, suggest([path]).mapping) if isinstance(item, MappedRun)]
    assert [(run.id, run.task) for run in runs] == [(f"J{job}", "g") for job in range(4)]
    assert runs[0].usage is not None
    assert (runs[0].usage.input_tokens, runs[0].usage.output_tokens) == (200, 14)  # two calls
    assert runs[0].elapsed_seconds == 3.0  # seconds since 1970 are times, no durations


@pytest.mark.parametrize("kind", ["llm", "done"])
def test_durations_of_single_lines_are_no_duration_of_the_run(tmp_path: Path, kind: str) -> None:
    lines = [line | ({"latency_ms": 1500} if line["type"] == kind else {}) for line in _log(12)]
    path = _as_lines(tmp_path / "log.jsonl", lines)
    suggestion = suggest([path])
    runs = [item.run for item in read_mapped(path, suggestion.mapping) if isinstance(item, MappedRun)]
    is_of_lines = kind == "llm"  # of which a run has two; one in a run is that of the run
    assert {(run.elapsed_seconds, run.duration_seconds) for run in runs} == {
        (180.0, None) if is_of_lines else (None, 1.5)
    }
    commented = '\n# duration_seconds = { from = "latency_ms", unit = "ms", take = "sum" }\n'
    assert (commented in suggestion.text) is is_of_lines


def test_the_tools_that_a_run_called_are_not_its_agent(tmp_path: Path) -> None:
    tools = iter(["bash", "edit"] * 12)
    lines = [line | ({"tool": next(tools)} if line["type"] == "llm" else {}) for line in _log(9)]
    path = _as_lines(tmp_path / "log.jsonl", lines)
    suggestion = suggest([path])
    runs = [item.run for item in read_mapped(path, suggestion.mapping) if isinstance(item, MappedRun)]
    assert {run.agent for run in runs} == {None}
    assert '\n# changes within a run\n# agent = { from = "tool", take = "first" }\n' in suggestion.text
    one = _as_lines(tmp_path / "one.jsonl", [line | {"tool": "cursor"} for line in _log(9)])
    assert {run.run.agent for run in read_mapped(one, suggest([one]).mapping) if isinstance(run, MappedRun)} == {
        "cursor"
    }


@pytest.mark.parametrize("name", ["{} run {}", "{}_try_{}", "{} (Attempt {})"])
def test_numbered_columns_of_several_models_are_attempts_of_each(tmp_path: Path, name: str) -> None:
    columns = [name.format(model, number) for model in ("gpt-5", "claude") for number in (1, 2, 3)]
    path = tmp_path / "wide.csv"
    path.write_text(f"Task,{','.join(columns)}\na,yes,no,no,yes,yes,yes\n", encoding="utf-8")
    runs = [item.run for item in read_mapped(path, suggest([path]).mapping) if isinstance(item, MappedRun)]
    assert [(run.model, run.attempt) for run in runs] == [(m, n) for m in ("gpt-5", "claude") for n in (1, 2, 3)]


def test_a_german_sheet_needs_no_correction(tmp_path: Path) -> None:
    path = tmp_path / "auswertung.csv"
    path.write_text(
        "Aufgabe Nr.;Modell;Versuch;Ergebnis;Kosten (USD);Dauer [min];Bemerkung\n"
        "T-1;gpt-5;1;bestanden;0,78;1,5;gut\nT-1;gpt-5;2;nicht bestanden;k.A.;2,0;\nT-2;gpt-5;1;Abbruch;0,50;k. A.;\n",
        encoding="utf-8",
    )
    suggestion = suggest([path])
    assert (suggestion.runs, suggestion.set_aside) == (3, ())
    runs = [item.run for item in read_mapped(path, suggestion.mapping) if isinstance(item, MappedRun)]
    assert [(run.task, run.attempt, run.outcome) for run in runs] == [
        ("T-1", 1, "passed"),
        ("T-1", 2, "failed"),
        ("T-2", 1, "errored"),
    ]
    assert [(run.cost_usd, run.duration_seconds) for run in runs] == [(0.78, 90), (None, 120), (0.5, None)]


def test_umlauts_and_errors_of_a_german_sheet_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "ergebnisse.csv"
    rows = "Aufgabe;Ergebnis;Erfüllungsgrad;Prüfgröße\na;bestanden;63,4 %;7\nb;Fehler;12,0 %;8\n"
    path.write_text(rows, encoding="utf-8")
    suggested = steelyard("mapping", "suggest", str(path)).stdout
    assert 'impl_rate = "Erfüllungsgrad"\n' in suggested
    assert 'outcome = { from = "Ergebnis", words = { bestanden = "passed", Fehler = "errored" } }\n' in suggested
    assert '\nx_pruefgroesse = { from = "Prüfgröße", as = "int" }\n' in suggested
    runs = [item.run for item in read_mapped(path, suggest([path]).mapping) if isinstance(item, MappedRun)]
    assert [(run.outcome, run.impl_rate) for run in runs] == [("passed", 0.634), ("errored", 0.12)]


def test_a_comma_after_a_lone_zero_is_a_decimal_one(tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("Task;Passed;Cost\na;yes;0,109\nb;no;0,250\nc;yes;0,500\n")
    runs = [item.run for item in read_mapped(path, suggest([path]).mapping) if isinstance(item, MappedRun)]
    assert [run.cost_usd for run in runs] == [0.109, 0.25, 0.5]


@pytest.mark.parametrize("header", ["Kosten (€)", "cost_eur", "Cost GBP", "price £"])
def test_other_money_is_never_taken_for_dollars(tmp_path: Path, header: str) -> None:
    path = tmp_path / "costs.csv"
    path.write_text(f"task,{header}\na,0.12\nb,0.2\n", encoding="utf-8")
    suggested = steelyard("mapping", "suggest", str(path)).stdout
    assert f'# not in USD; set the exchange rate: {{ from = "{header}", times = 1.1 }}\n' in suggested
    assert [item.run.cost_usd for item in read_mapped(path, suggest([path]).mapping)] == [None, None]


def test_columns_of_attempts_are_seen_in_german(tmp_path: Path) -> None:
    path = tmp_path / "breit.csv"
    path.write_text("Aufgabe;GPT-5 Lauf 1;GPT-5 Lauf 2\na;bestanden;durchgefallen\nb;bestanden;bestanden\n", "utf-8")
    runs = [item.run for item in read_mapped(path, suggest([path]).mapping) if isinstance(item, MappedRun)]
    assert [(run.model, run.attempt, run.outcome) for run in runs[:2]] == [
        ("GPT-5", 1, "passed"),
        ("GPT-5", 2, "failed"),
    ]


@pytest.mark.parametrize("row", [{"task": "pass"}, {"task": True}, {"Ergo": "bestanden"}, {"Bemerkung": "lief gut"}])
def test_verdicts_and_comments_are_never_offered_as_the_task(tmp_path: Path, row: dict[str, object]) -> None:
    path = _as_lines(tmp_path / "rows.jsonl", [row | {"y": n} for n in range(3)])
    lines = [line.removeprefix("# ") for line in suggest([path]).text.splitlines()]
    assert f'task = "{next(iter(row))}"' not in lines
    assert any(line.startswith("task = ") for line in lines)


def test_numbers_of_models_are_no_attempts(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("Task,gpt 4,gpt 5,deepseek-r1,deepseek-r2\na,yes,no,no,yes\n", encoding="utf-8")
    assert tomllib.loads(suggest([path]).text)["run"]["model"] == "$column"


def test_rows_that_are_runs_are_not_taken_for_events(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"task": f"t{task}", "type": style, **({"thoughts": 9} if style == "cot" else {}), "ok": task > 2}
        for task in range(6)
        for style in ("cot", "direct")
    ]
    assert "[group]" not in suggest([_as_lines(tmp_path / "runs.jsonl", rows)]).text
    no_job = [{key: cell for key, cell in line.items() if key != "job_id"} for line in _log(4)]
    assert "[group]" not in suggest([_as_lines(tmp_path / "one.jsonl", no_job)]).text


@pytest.mark.parametrize(
    ("header", "unit"),
    [("Minutes", "min"), ("Dauer (min)", "min"), ("time_ms", "ms"), ("Time taken (mins)", "min"), ("Hours", "h")],
)
def test_a_duration_is_known_by_its_unit(tmp_path: Path, header: str, unit: str) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(f"Task,Result,{header}\na,ja,3.5\nb,nein,4\n", encoding="utf-8")
    run = tomllib.loads(suggest([path]).text)["run"]
    assert run["duration_seconds"] == {"from": header, "unit": unit}
    assert run["outcome"]["words"] == {"ja": "passed", "nein": "failed"}


def test_one_figure_for_several_attempts_is_not_surely_that_of_each(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("Task,Run 1,Run 2,Run 3,Minutes,Cost\na,yes,no,yes,3,1.5\nb,no,no,yes,4,2\n", encoding="utf-8")
    text = suggest([path]).text
    assert set(tomllib.loads(text)["run"]) == {"task", "attempt", "outcome"}
    remark = "# one value for 3 runs; use it only if it applies to each of them\n"
    assert f'{remark}# cost_usd = "Cost"\n' in text
    assert f'{remark}# duration_seconds = {{ from = "Minutes", unit = "min" }}\n' in text


def test_answers_to_any_question_are_no_sure_verdict(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('{"job": "a", "cached": "yes"}\n{"job": "b", "cached": "no"}\n', encoding="utf-8")
    text = suggest([path]).text
    assert "outcome" not in tomllib.loads(text)["run"]
    assert '# outcome = { from = "cached", words = { yes = "passed", no = "failed" } }' in text


def test_the_only_flag_may_be_the_verdict_and_the_fields_of_a_run_are_named(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('{"job": "a", "happy": true}\n{"job": "b", "happy": false}\n', encoding="utf-8")
    text = suggest([path]).text
    assert "passed" not in tomllib.loads(text)["run"]
    assert '# possibly the verdict: the only boolean column\n# passed = "happy"' in text
    assert "# model, agent, attempt, passed, impl_rate, cost_usd, started_at, duration_seconds, ..." in text


def test_a_column_for_each_model_is_seen(tmp_path: Path) -> None:
    suggestion = suggest([SAMPLES / "models.csv"])
    assert tomllib.loads(suggestion.text)["rows"]["columns"] == ["model-a", "model-b"]
    assert suggestion.runs == 5


def test_entries_of_an_object_have_their_keys_as_tasks() -> None:
    suggestion = suggest([SAMPLES / "index" / "model-a" / "results" / "suite-x.json"])
    values = tomllib.loads(suggestion.text)
    assert (values["rows"], values["run"]["task"]) == ({"format": "json", "at": "[*]"}, "$key[0]")
    assert values["run"]["cost_usd"] == {"from": "cost", "zero": "unknown"}
    assert suggestion.runs == 3


def test_a_hostile_header_cannot_add_a_line_to_the_proposal(tmp_path: Path) -> None:
    path = tmp_path / "hostile.csv"
    path.write_text('Task,"evil\nname = ""x""\n[rows]","a]b"\nt,1,2\nu,3,4\n', encoding="utf-8")
    text = suggest([path]).text
    assert tomllib.loads(text)["name"] == "hostile"
    assert not any(line.startswith(("evil", "name = x")) for line in text.splitlines())
    assert text.count("[rows]\n") == 1


def test_several_files_are_each_said_how_much_is_read(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("Task,Something\na,b\n", encoding="utf-8")
    done = steelyard("mapping", "suggest", str(SHEET), str(other), "--json")
    answer = json.loads(done.stdout)
    assert answer["runs"] == 4
    assert "reads 0 runs from 'other.csv'" in answer["mapping"]


def test_the_shipped_mappings_are_listed_and_shown() -> None:
    names = [mapping["name"] for mapping in json.loads(steelyard("mapping", "list", "--json").stdout)["mappings"]]
    assert names == ["bigcodebench", "deepeval", "evalplus", "livecodebench"]
    assert tomllib.loads(steelyard("mapping", "show", "evalplus").stdout)["name"] == "evalplus"
    assert "did you mean 'evalplus'" in steelyard("mapping", "show", "evalpuls").stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "missing argument FILES"),
        (("--list", "x.csv"), "--list"),
        (("not-there.csv",), "no such file or directory"),
        (("folder",), "no rows found"),
        (("prose.txt",), "no rows found"),
        (("packed.gz",), "compressed file is truncated"),
    ],
)
def test_what_no_mapping_can_be_proposed_for(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "prose.txt").write_text("Once upon a time\nthere was a file\n", encoding="utf-8")
    (tmp_path / "packed.gz").write_bytes(b"\x1f\x8b\x08\x00")
    done = steelyard("mapping", "suggest", *arguments, cwd=tmp_path)
    assert done.status in (1, 2)
    assert message in done.stderr


def test_what_is_piped_in_can_be_mapped() -> None:
    text = SHEET.read_text(encoding="utf-8")
    assert "reads 4 runs" in steelyard("mapping", "suggest", "-", stdin=text).stdout


MEASURING = [
    ("measure", "--by", "model"),
    ("rank", "--metrics", "pass_rate"),
    ("compare", "-a", "model=model-a", "-b", "model=model-b"),
    ("explain", "cost_usd", "--by", "model"),
]


@pytest.mark.parametrize("verb", MEASURING, ids=lambda verb: verb[0])
def test_every_verb_over_runs_takes_a_mapping(tmp_path: Path, verb: tuple[str, ...]) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("Task,Model,Result,Cost\na,model-a,pass,1\na,model-b,fail,2\nb,model-a,pass,1\nb,model-b,pass,3\n")
    (tmp_path / "mapping.toml").write_text(suggest([path]).text, encoding="utf-8")
    name, *rest = verb
    done = steelyard(name, str(path), *rest, "--map", "mapping.toml", "--json", cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert "model-a" in done.stdout


def test_repeat_compares_the_answers_of_mapped_records() -> None:
    results = str(SAMPLES / "evalplus.eval_results.json")
    done = steelyard("repeatability", results, "--map", "evalplus", "--no-repair", "--json")
    prompts = json.loads(done.stdout)["prompts"]
    assert [(prompt["prompt"], prompt["n"]) for prompt in prompts] == [("Sums/0", 2), ("Sums/1", 2)]


def test_a_report_reads_by_a_mapping_and_keeps_its_labels(tmp_path: Path) -> None:
    (tmp_path / "mapping.toml").write_text(suggest([SHEET]).text, encoding="utf-8")
    options = ("--map", "mapping.toml", "--set", "agent=gamma", "--by", "agent,model", "--out", "report.md")
    done = steelyard("report", str(SHEET), *options, cwd=tmp_path)
    assert done.status == 0, done.stderr
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "4 runs on 4 tasks" in text
    assert "| gamma | model-a |" in text


def test_a_mapping_and_a_format_together_are_refused() -> None:
    done = steelyard("read", str(SHEET), "--map", "evalplus", "--format", "runs-csv")
    assert done.status == 2
    assert "--map and --format are mutually exclusive" in done.stderr


def test_a_table_that_is_nearly_ours_gets_one_message_with_all_its_columns(tmp_path: Path) -> None:
    for name, header in (("near.csv", "Task ID,Result,Score %"), ("own.csv", "task,Result,Score %")):
        (tmp_path / name).write_text(f"{header}\na,Pass,87\n", encoding="utf-8")
        aside = json.loads(steelyard("read", name, "--json", cwd=tmp_path).stdout)["rejected"]
        assert len(aside) == 1
        assert "'Result', 'Score %'" in aside[0]["message"]
        assert "steelyard map" in aside[0]["hint"]
        assert ("'task' for 'Task ID'" in aside[0]["hint"]) == (name == "near.csv")
    assert (
        "'task' for 'Task ID'"
        in json.loads(steelyard("read", "near.csv", "--json", cwd=tmp_path).stdout)["rejected"][0]["hint"]
    )


def test_a_log_of_no_known_format_is_told_the_command_and_no_far_name(tmp_path: Path) -> None:
    path = _as_lines(tmp_path / "log.jsonl", [{"ts": 1762500000, "task": "a", "event": "start"}] * 2)
    done = steelyard("read", str(path), "--json")
    (rejected,) = json.loads(done.stdout)["rejected"]
    assert "unknown key 'ts'" in rejected["message"]
    assert "did you mean" not in rejected["message"]
    assert f"`steelyard mapping suggest {path}` suggests a mapping" in rejected["message"]


def test_a_mapping_that_is_wrong_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("mapping = 1\n[run]\ntsk = 'a'\n", encoding="utf-8")
    done = steelyard("read", str(SHEET), "--map", "bad.toml", "--json", cwd=tmp_path)
    assert done.status == 2
    assert json.loads(done.stdout)["error"]["kind"] == "invalid_mapping"


@pytest.mark.parametrize("text", ["instance_id,\n", "a,\n,b\nc,\n", ",\n,\n"])
def test_a_table_without_a_row_of_two_cells_has_no_rows(text: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(text)
    with pytest.raises(UnreadableFileError, match="no rows found"):
        suggest([tmp_path / "table.csv"])


@pytest.mark.parametrize("end", ["\r\n", "\n", "\n\n", ""])
def test_a_sign_at_the_very_end_of_a_sheet_leaves_it_utf_8(end: str, tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_bytes(f"Task,Model,Result\r\ntäsk,A,pass\r\nt2,B,✅{end}".encode())
    suggestion = suggest([tmp_path / "sheet.csv"])
    assert "cp1252" not in suggestion.text
    assert suggestion.runs == 2
    assert "täsk" in suggestion.text


def test_a_mapping_is_proposed_for_a_data_frame_and_reads_it(tmp_path: Path) -> None:
    frame = pl.DataFrame({"Ticket": ["a", "b"], "Worked?": [True, False], "Minutes": [1.5, None]})
    suggestion = sy.suggest_mapping(frame)
    assert (suggestion.runs, suggestion.set_aside) == (2, ())
    (tmp_path / "frame.toml").write_text(suggestion.text, encoding="utf-8")
    (group,) = sy.measure(frame, map=tmp_path / "frame.toml").groups
    assert group.metrics["pass_rate"].mean == 0.5
    assert group.metrics["duration_seconds"].mean == 90  # 1.5 minutes, and one unknown


@pytest.mark.parametrize(
    ("line", "map_is_named"),
    [('{"prompt": "sort", "output": "x = 1"}', True), ('{"task": "sort", "output": "x = 1"}', False)],
)
def test_outputs_of_another_shape_are_told_the_shape_that_repeat_reads(
    tmp_path: Path, line: str, map_is_named: bool
) -> None:
    (tmp_path / "ten.jsonl").write_text(f"{line}\n{line}\n", encoding="utf-8")
    done = steelyard("repeatability", "ten.jsonl", cwd=tmp_path)
    assert done.status == 1
    assert '{"task": "NAME", "output": {"text": "..."}}' in done.stderr
    assert ("`steelyard mapping suggest ten.jsonl` suggests a mapping" in done.stderr) is map_is_named
    (tmp_path / "ten.toml").write_text(
        steelyard("mapping", "suggest", "ten.jsonl", cwd=tmp_path).stdout, encoding="utf-8"
    )
    done = steelyard("repeatability", "ten.jsonl", "--map", "ten.toml", "--json", cwd=tmp_path)
    assert [(prompt["prompt"], prompt["n"]) for prompt in json.loads(done.stdout)["prompts"]] == [("sort", 2)]


def test_mapping_suggest_finds_totals_behind_an_empty_number(tmp_path: Path) -> None:
    rows = "".join(f"{n};TF-{n};A;{'ja' if n % 3 else 'nein'};0,12 $\n" for n in range(1, 11))
    (tmp_path / "q.csv").write_text(f"Nr.;Testfall;Prompt;Ergebnis;Kosten\n{rows};Summe;;;1,20 $\n", encoding="utf-8")
    text = steelyard("mapping", "suggest", tmp_path / "q.csv").stdout
    assert 'unless = { Testfall = "Summe" }' in text


def board(
    tmp_path: Path, rows: list[tuple[object, ...]], header: str = "model,test_cases,pass_rate,total_cost"
) -> Path:
    path = tmp_path / "board.csv"
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


def test_suggest_reads_the_counts_of_a_leaderboard(tmp_path: Path) -> None:
    path = board(tmp_path, [("gpt-5", 225, 35.6, 1.5), ("claude-4", 224, 51.8, 14.4)])
    suggestion = suggest([path])
    assert suggestion.questions == ()
    assert "--by model --metrics summary_pass_rate,total_cost_usd --interval auto\n" in suggestion.text
    runs = [item.run for item in read_mapped(path, suggestion.mapping) if isinstance(item, MappedRun)]
    # 35.6% of 225 is 80.1, 51.8% of 224 is 116.03
    assert [run.task_counts for run in runs] == [TaskCounts(total=225, passed=80), TaskCounts(total=224, passed=116)]
    assert [(run.task, run.cost_usd, run.verdict) for run in runs] == [("board", 1.5, None), ("board", 14.4, None)]


def test_suggest_asks_which_of_two_rates_counts(tmp_path: Path) -> None:
    header = "model,test_cases,pass_rate_1,pass_rate_2,pass_num_2"
    path = board(tmp_path, [("gpt-5", 225, 20.4, 35.6, 80), ("claude-4", 225, 22.2, 51.6, 116)], header)
    suggestion = suggest([path])
    assert suggestion.questions == (
        "Which column is the number or rate of tasks passed, of 'test_cases': 'pass_rate_1' or 'pass_num_2'?",
    )
    assert "uncomment one `task_counts` line below" in suggestion.text
    line = '# task_counts = { total = "test_cases", passed = "pass_num_2" }'
    answered = mapping_of(tomllib.loads(suggestion.text.replace(line, line.removeprefix("# "))))
    runs = [item.run for item in read_mapped(path, answered) if isinstance(item, MappedRun)]
    assert [run.task_counts and run.task_counts.passed for run in runs] == [80, 116]
    assert [item.run.task_counts for item in read_mapped(path, suggestion.mapping) if isinstance(item, MappedRun)] == [
        None,
        None,
    ]


def test_suggest_asks_about_a_rate_that_gives_no_integer(tmp_path: Path) -> None:
    path = board(tmp_path, [("gpt-5", 10, 35.6, 1.5), ("claude-4", 10, 50.0, 14.4)])  # 35.6% of 10 is 3.56
    suggestion = suggest([path])
    assert suggestion.questions == ("Is 'pass_rate' a rate of 'test_cases'?",)
    assert "# in 1 row, the rate gives no integer number of 'test_cases'" in suggestion.text
    assert "task_counts" not in tomllib.loads(suggestion.text)["run"]


def test_suggest_takes_rows_of_tasks_for_no_leaderboard(tmp_path: Path) -> None:
    header = "name,model,tests,passed"
    rows = [(f"parse-{number}", f"gpt-{number % 2}", 12, 5 + number) for number in range(7)]
    assert "task_counts" not in suggest([board(tmp_path, rows, header)]).text
