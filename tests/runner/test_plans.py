"""A plan is read with all its mistakes, expands to trials that are what they are made of, and is resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.cli import run
from steelyard.errors import AdapterError, PlanError, UsageError
from steelyard.questions.read import RunReading
from steelyard.records import Run
from steelyard.runner import Trial, open_plan

PLAN = """
[plan]
name = "small"
attempts = 2
parallel = 3
[[tasks]]
id = "write"
prompt = "Write done.txt"
work = "work"
oracle = "solution"
verify = { command = ["test", "-f", "done.txt"] }
[[agents]]
use = "nop"
[[agents]]
use = "oracle"
[[agents]]
use = "command"
name = "shell"
command = ["sh", "-c", "echo hi > done.txt"]
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A plan with its files."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "start.txt").write_text("begin\n")
    (tmp_path / "solution").mkdir()
    (tmp_path / "solution" / "done.txt").write_text("done\n")
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def changed(plan: Path, old: str, new: str) -> Path:
    text = plan.read_text()
    assert old in text
    plan.write_text(text.replace(old, new))
    return plan


def test_a_mistake_in_an_agents_file_stops_only_a_plan_that_uses_it(plan: Path) -> None:
    own = plan.parent / "agents"
    own.mkdir()
    (own / "bea.toml").write_text("command = [\n")
    (own / "codex.toml").write_text('command = ["true"]\n')  # the name is taken
    assert open_plan(plan).trials
    for name, problem in (("bea", "TOML"), ("codex", "already in use")):
        with pytest.raises(AdapterError, match=problem):
            open_plan(changed(plan, 'use = "nop"', f'use = "{name}"'))
        changed(plan, f'use = "{name}"', 'use = "nop"')
    with pytest.raises(PlanError, match="did you mean 'bea'"):
        open_plan(changed(plan, 'use = "nop"', 'use = "beaa"'))


def ids(plan: Path) -> list[str]:
    return [trial.id for trial in open_plan(plan).trials]


def records(folder: Path) -> list[Run]:
    reading = RunReading([folder])
    told = list(reading)
    assert reading.summary.rejected_count == 0
    return told


def test_a_plan_yields_a_run_for_each_trial_and_is_not_run_twice(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    result = sy.run(plan, out=out)
    assert (result.done, result.trials) == (6, 6)  # 1 task x 3 agents x 2 attempts
    groups = {group.agent: (group.passed, group.failed) for group in result.groups}
    assert groups == {"nop": (0, 2), "oracle": (2, 0), "shell": (2, 0)}
    before = {path: path.stat().st_mtime_ns for path in out.rglob("result.json")}
    assert sy.run(plan, out=out).to_dict()["groups"] == result.to_dict()["groups"]
    assert {path: path.stat().st_mtime_ns for path in out.rglob("result.json")} == before
    assert len(list(out.glob("trials/*/retry-*"))) == 6


def test_every_verb_reads_the_folder_of_a_plan_once(plan: Path, tmp_path: Path) -> None:
    sy.run(plan, out=tmp_path / "runs")
    trace = '{"task": "another", "passed": true}\n'
    for folder in tmp_path.glob("runs/trials/*/retry-0/work"):
        (folder / "runs.jsonl").write_text(trace)  # what an agent leaves in its work tree is no run of ours
    assert [record.task for record in records(tmp_path / "runs")] == ["write"] * 6


def test_more_attempts_amend_a_plan(plan: Path, tmp_path: Path) -> None:
    first = ids(plan)
    sy.run(plan, out=tmp_path / "runs")
    assert ids(changed(plan, "attempts = 2", "attempts = 3"))[:6] == first
    result = sy.run(plan, out=tmp_path / "runs")
    assert (result.done, result.trials) == (9, 9)
    assert len(list((tmp_path / "runs").glob("trials/*/retry-*"))) == 9


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ('name = "small"', 'name = "other"', True),
        ("parallel = 3", "parallel = 1\nretries = 5\nbudget = { tokens = 5 }", True),
        ('id = "write"', 'id = "renamed"', True),
        ('name = "shell"', 'name = "bash"', True),
        ('prompt = "Write done.txt"', 'prompt = "Write it"', False),
        ("parallel = 3", 'time_limit = "1m"', False),
        ('["test", "-f", "done.txt"]', '["test", "-s", "done.txt"]', False),
    ],
)
def test_a_trial_is_what_it_is_made_of_not_what_it_is_called(plan: Path, old: str, new: str, is_same: bool) -> None:
    before = ids(plan)
    assert (ids(changed(plan, old, new)) == before) is is_same


def test_files_change_what_a_trial_is_but_their_place_and_times_do_not(plan: Path, tmp_path: Path) -> None:
    before = ids(plan)
    (tmp_path / "work").rename(tmp_path / "moved")
    changed(plan, 'work = "work"', 'work = "moved"')
    (tmp_path / "moved" / "start.txt").touch()
    assert ids(plan) == before
    (tmp_path / "moved" / "start.txt").chmod(0o755)
    assert not set(ids(plan)) & set(before)


SERVERS = """
[plan]
name = "servers"
[endpoints.fp16]
kind = "chat"
url = "http://127.0.0.1:8000/v1"
[endpoints.int4]
kind = "chat"
url = "env:INT4_URL"
[[tasks]]
id = "greet"
prompt = "Say hello."
[[agents]]
use = "model"
name = "m-fp16"
models = ["m"]
endpoint = "fp16"
[[agents]]
use = "model"
name = "m-int4"
models = ["m"]
endpoint = "int4"
"""


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan with one model on two servers."""
    monkeypatch.setenv("INT4_URL", "http://127.0.0.1:8001/v1")
    path = tmp_path / "plan.toml"
    path.write_text(SERVERS)
    return path


def test_one_model_on_two_servers_is_two_trials(servers: Path) -> None:
    assert len(set(ids(servers))) == 2


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        (":8000/v1", ":8002/v1", False),
        ("http://127.0.0.1:8000/v1", "https://127.0.0.1:8000/v1", False),
        ('kind = "chat"\nurl = "http', 'kind = "responses"\nurl = "http', False),
        (":8000/v1", ":8000/v1/", True),
        ("http://127.0.0.1:8000", "HTTP://127.0.0.1:8000", True),
        ("fp16", "sixteen", True),
        ('url = "env:INT4_URL"', 'url = "http://127.0.0.1:8001/v1"', True),
        (':8000/v1"', ':8000/v1"\nparallel = 1\nprice = { input_usd = 1, output_usd = 2 }', True),
    ],
)
def test_the_server_is_part_of_a_trial_and_its_name_is_not(servers: Path, old: str, new: str, is_same: bool) -> None:
    before = ids(servers)
    assert (ids(changed(servers, old, new)) == before) is is_same


def test_a_server_with_an_id_may_move(servers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = ids(changed(servers, 'url = "env:INT4_URL"', 'url = "env:INT4_URL"\nid = "m at int4"'))
    monkeypatch.setenv("INT4_URL", "http://other:9/v1")
    assert ids(servers) == before
    assert ids(changed(servers, "m at int4", "m at int8"))[1] != before[1]


def test_trials_are_not_listed_for_a_server_that_is_not_known(servers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INT4_URL")
    with pytest.raises(PlanError, match="INT4_URL is not set"):
        sy.run_list(servers, pending=True, results=servers.parent / "runs")
    changed(servers, 'url = "env:INT4_URL"', 'url = "env:INT4_URL"\nid = "m at int4"')
    assert len(sy.run_list(servers, pending=True, results=servers.parent / "runs").trials) == 2


def test_a_finished_plan_runs_again_at_another_server(servers: Path, tmp_path: Path) -> None:
    plan = changed(servers, 'url = "http://127.0.0.1:8000/v1"', 'url = "scripted:a.toml"')
    changed(plan, 'url = "env:INT4_URL"', 'url = "scripted:b.toml"')
    for name in "ab":
        (tmp_path / f"{name}.toml").write_text(f'[[answers]]\ntext = ["{name}"]\n')
    assert sy.run(plan, out=tmp_path / "runs").done == 2
    result = sy.run(changed(plan, "scripted:b.toml", "scripted:./b.toml"), out=tmp_path / "runs")
    assert result.had_nothing_to_run  # the same script
    (tmp_path / "b.toml").write_text('[[answers]]\ntext = ["c"]\n')
    result = sy.run(plan, out=tmp_path / "runs")
    assert (result.done, result.had_nothing_to_run) == (2, False)
    assert sorted(run.output.text for run in records(tmp_path / "runs") if run.output) == ["a", "c"]
    told = [finding.message for finding in result.findings if finding.code == "results_omitted"]
    assert told == ["the plan no longer contains 1 finished trial, whose result is omitted"]


def test_looking_at_a_repository_does_not_change_a_trial(plan: Path, tmp_path: Path) -> None:
    git = tmp_path / "work" / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "refs" / "heads" / "main").write_text("a" * 40)
    (git / "index").write_bytes(b"1")
    before = ids(plan)
    (git / "index").write_bytes(b"2")
    assert ids(plan) == before
    (git / "refs" / "heads" / "main").write_text("b" * 40)
    assert ids(plan) != before


def test_a_renamed_task_keeps_its_results_under_its_new_name(plan: Path, tmp_path: Path) -> None:
    sy.run(plan, out=tmp_path / "runs")
    result = sy.run(changed(plan, 'id = "write"', 'id = "renamed"'), out=tmp_path / "runs")
    assert result.done == 6
    lines = (tmp_path / "runs" / "runs.jsonl").read_text().splitlines()
    assert {json.loads(line)["task"] for line in lines} == {"renamed"}


def test_a_solution_that_fails_its_own_task_sets_the_task_aside(plan: Path, tmp_path: Path) -> None:
    (tmp_path / "solution" / "done.txt").rename(tmp_path / "solution" / "wrong.txt")
    result = sy.run(plan, out=tmp_path / "runs")
    assert "oracle_fails" in [finding.code for finding in result.findings]
    told = records(tmp_path / "runs")
    assert {record.verdict for record in told} == {None}
    assert [record.failure.cause for record in told if record.failure] == ["infrastructure"] * 6


ENDPOINT = "[endpoints.e]\nkind = 'chat'\nurl = 'http://127.0.0.1:1'\n"
MISTAKES = {
    "unknown agent": ('use = "nop"', 'use = "nopp"', "did you mean 'nop'?"),
    "missing file": ('work = "work"', 'work = "wrok"', "no such directory: 'wrok'"),
    "missing solution": ('oracle = "solution"\n', "", "has no oracle"),
    "unknown field": ("attempts = 2", "atempts = 2", "did you mean 'attempts'?"),
    "unknown table": ('[[agents]]\nuse = "nop"', '[[agnets]]\nuse = "nop"', "did you mean 'agents'?"),
    "unknown endpoint": ('use = "nop"', 'use = "nop"\nendpoint = "far"', "unknown endpoint 'far'"),
    "check not installed": ('["test", "-f"', '["tesst", "-f"', "program not found on PATH: 'tesst'"),
    "two of one name": ('name = "shell"', 'name = "nop"', "2 agents have the name 'nop'"),
    "two prompts": ('work = "work"', 'work = "work"\nprompt_file = "plan.toml"', "prompt or prompt_file"),
    "no duration": ("parallel = 3", 'time_limit = "soon"', "invalid duration"),
    "two trials of one id": ('use = "nop"', 'use = "nop"\nsettings = [{}, {}]', "must differ in more than names"),
    "a key in the plan": (
        "[[tasks]]",
        '[endpoints.e]\nkind = "chat"\nurl = "http://localhost"\nkey = "sk-1"\n[[tasks]]',
        "env:NAME",
    ),
    "a command in one text": (
        '["sh", "-c", "echo hi > done.txt"]',
        "\"sed -i 's/a - b/a + b/' add.py\"",
        'write command = ["sed", "-i", "s/a - b/a + b/", "add.py"]',
    ),
    "a check in one text": ('["test", "-f", "done.txt"]', '"test -f x"', 'write command = ["test", "-f", "x"]'),
    "no such script": ('["sh", "-c", "echo hi > done.txt"]', '["./no.sh"]', "no such executable file: './no.sh'"),
    "no tasks": ("[[tasks]]", "[[judges]]", "the plan has no tasks"),
    "no name": ('name = "small"', "", "missing required field 'name'"),
    "not TOML": ("[plan]", "[plan", "not TOML"),
}


@pytest.mark.parametrize(("old", "new", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_before_anything_starts(
    plan: Path, old: str, new: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(plan, old, new)
    assert run(["run", str(plan), "--out", str(tmp_path / "runs")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_all_mistakes_are_told_at_once_each_with_its_place(plan: Path) -> None:
    changed(plan, 'use = "nop"', 'use = "nopp"')
    changed(plan, 'work = "work"', 'work = "wrok"')
    changed(plan, "parallel = 3", 'time_limit = "soon"')
    changed(plan, '[[agents]]\nuse = "oracle"', '[[tasks]]\nid = 7\n[[agents]]\nuse = "oracle"')
    with pytest.raises(PlanError) as told:
        open_plan(plan)
    places = [part.where for part in told.value.parts]
    assert places == ["[[tasks]] number 2", "[plan] time_limit", "task 'write', work", "agent 'nopp'"]
    assert "4 errors" in told.value.message
    assert [part["where"] for part in told.value.as_dict()["parts"]] == places  # type: ignore[index, attr-defined]


def test_a_trial_alone_is_a_command(plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "runs")
    assert run(["run", "list", str(plan), "--results", out, "--pending"]) == 0
    listed = capsys.readouterr().out.split()
    assert listed == ids(plan)
    for trial in listed[:2]:
        assert run(["run", "trial", out, trial]) == 0
    assert run(["run", "trial", out, listed[0]]) == 0  # done already
    assert run(["run", "list", str(plan), "--results", out, "--pending"]) == 0
    assert listed[2:] == capsys.readouterr().out.split()[-4:]
    assert sy.run(plan, out=tmp_path / "runs").done == 6
    assert len(list((tmp_path / "runs").glob("trials/*/retry-*"))) == 6


def test_mended_checks_are_applied_to_the_work_that_there_is(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    wrong = changed(plan, '["test", "-f", "done.txt"]', '["test", "-f", "dun.txt"]')
    assert sy.run(wrong, out=out).to_dict()["endings"] == {"failed": 6}
    executions = {path: path.stat().st_mtime_ns for path in out.glob("trials/*/retry-*/evidence.json")}
    mended = changed(plan, '["test", "-f", "dun.txt"]', '["test", "-f", "done.txt"]')
    assert sy.run(mended, out=out, dry_run=True).done == 0
    result = sy.run(mended, out=out, regrade=True)
    assert (result.done, result.to_dict()["endings"]) == (6, {"failed": 2, "passed": 4})
    kept = {path: path.stat().st_mtime_ns for path in out.glob("trials/*/retry-*/evidence.json")}
    assert set(kept.values()) == set(executions.values())  # no agent ran again
    assert sorted(record.verdict or False for record in records(out)) == [False, False, True, True, True, True]
    assert sy.run(mended, out=out, regrade=True).to_dict()["endings"] == {"failed": 2, "passed": 4}


def test_regrading_runs_no_agent(plan: Path, tmp_path: Path) -> None:
    result = sy.run(plan, out=tmp_path / "runs", regrade=True)
    assert (result.done, result.trials) == (0, 6)
    assert not list(tmp_path.glob("runs/trials/*/retry-*"))


def test_another_version_stops_a_resume_unless_it_is_accepted(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    sy.run(plan, out=out, only=["nop"])
    lock = json.loads((out / "lock.json").read_text())
    (out / "lock.json").write_text(json.dumps({**lock, "agents": {"shell": "1.0", "nop": None}}))
    with pytest.raises(UsageError, match=r"shell 1\.0, now none.*accept_drift"):
        sy.run(plan, out=out)
    assert sy.run(plan, out=out, dry_run=True).done == 2
    shell = next(trial.id for trial in open_plan(plan).trials if trial.agent == "shell")
    assert run(["run", "trial", str(out), shell]) == 2
    assert run(["run", "trial", str(out), shell, "--accept-drift"]) == 0
    result = sy.run(plan, out=out, accept_drift=True)
    assert result.done == 6
    assert "version_drift" in [finding.code for finding in result.findings]


@pytest.fixture
def script(plan: Path, tmp_path: Path) -> Path:
    """The plan's command as a file beside it."""
    path = tmp_path / "agent.sh"
    path.write_text("#!/bin/sh\necho hi > done.txt\n")
    path.chmod(0o755)
    changed(plan, '["sh", "-c", "echo hi > done.txt"]', '["./agent.sh"]')
    return path


def test_a_changed_script_stops_a_resume_even_when_all_is_done(plan: Path, script: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    sy.run(plan, out=out)
    again = sy.run(plan, out=out)
    assert "nothing to run, 6 of 6 trials done" in again.about
    assert again.about.endswith("; to run trials again, choose a new directory")
    script.write_text("#!/bin/sh\ntrue\n")
    with pytest.raises(UsageError, match=r"shell sha256:[0-9a-f]{12}, now sha256:.*accept_drift"):
        sy.run(plan, out=out)
    assert sy.run(plan, out=out, regrade=True).done == 6  # runs no agent
    accepted = sy.run(plan, out=out, accept_drift=True)
    assert "version_drift" in [finding.code for finding in accepted.findings]
    assert sy.run(plan, out=tmp_path / "new").to_dict()["endings"] == {"failed": 4, "passed": 2}
    script.unlink()
    assert sy.run(plan, out=out).done == 6  # nothing to start and nothing to compare


def test_a_changed_script_stops_a_trial_alone(
    plan: Path, script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "runs")
    assert run(["run", "list", str(plan), "--results", out, "--pending"]) == 0
    shell = next(trial.id for trial in open_plan(plan).trials if trial.agent == "shell")
    script.write_text("#!/bin/sh\ntrue\n")
    assert run(["run", "trial", out, shell]) == 2
    assert ", now sha256:" in capsys.readouterr().err


@pytest.mark.usefixtures("script")
def test_a_relative_program_is_found_beside_the_plan(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "agent.sh").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "elsewhere" / "agent.sh").chmod(0o755)
    result = sy.run(plan, out=tmp_path / "runs", only=["shell"])
    assert result.to_dict()["endings"] == {"passed": 2}


def test_a_check_in_the_work_folder_is_not_taken_from_where_one_stands(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, status in ((tmp_path, 1), (tmp_path / "work", 0)):
        (folder / "check.sh").write_text(f"#!/bin/sh\nexit {status}\n")
        (folder / "check.sh").chmod(0o755)
    changed(plan, '["test", "-f", "done.txt"]', '["./check.sh"]')
    monkeypatch.chdir(tmp_path)
    assert sy.run(plan, out=tmp_path / "runs", only=["nop"]).to_dict()["endings"] == {"passed": 2}


def test_what_a_command_prints_need_not_be_a_log(plan: Path, tmp_path: Path) -> None:
    changed(plan, "echo hi > done.txt", "echo hi > done.txt; echo done")
    assert sy.run(plan, out=tmp_path / "runs", only=["shell"]).findings == ()


def test_the_list_of_trials_and_the_summary_agree_on_what_passed(
    plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(plan, "echo hi > done.txt", "echo hi > done.txt; exit 3")
    result = sy.run(plan, out=tmp_path / "runs")
    assert result.endings == {"agent_crashed": 2, "failed": 2, "passed": 2}
    assert "(4 passed, 2 failed)" in result.about  # who crashed had done the work, as the oracle; nop does none
    capsys.readouterr()
    assert run(["run", "list", str(tmp_path / "runs"), "--json"]) == 0
    trials = json.loads(capsys.readouterr().out)["trials"]
    found = sorted((trial["ending"], trial["verdict"]) for trial in trials)
    assert found == [("agent_crashed", "passed")] * 2 + [("failed", "failed")] * 2 + [("passed", "passed")] * 2


def test_an_unknown_trial_is_answered_with_what_there_is(
    plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sy.run(plan, out=tmp_path / "runs")
    assert run(["run", "show", str(tmp_path / "runs"), "zz"]) == 2
    capsys.readouterr()
    assert run(["run", "show", str(tmp_path / "runs"), ids(plan)[0][:6], "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(each["retry"], each["ending"], each["calls"]) for each in shown["executions"]] == [(0, "failed", 0)]
    assert Path(shown["executions"][0]["folder"], "work", "start.txt").is_file()
    assert run(["run", "list", str(tmp_path)]) == 2


def test_a_plan_runs_where_one_stands(plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["run", "plan.toml"]) == 0
    assert run(["run", "trial", "runs/small", ids(plan)[0]]) == 0


def test_first_attempts_come_first(plan: Path) -> None:
    attempts = [trial.attempt for trial in open_plan(plan).trials]
    assert attempts == sorted(attempts)


def test_a_folder_of_other_files_is_left_alone(plan: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    assert run(["run", str(plan), "--out", str(tmp_path / "mine")]) == 2
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_only_some_of_the_trials(plan: Path, tmp_path: Path) -> None:
    result = sy.run(plan, out=tmp_path / "runs", only=["nop"])
    assert (result.done, result.trials) == (2, 6)
    assert run(["run", str(plan), "--out", str(tmp_path / "runs"), "--only", "nob"]) == 2


def test_a_trial_tells_what_it_is() -> None:
    trial = Trial(id="0" * 16, task="t", agent="a", model="m", setting={"seed": 7}, time_limit_seconds=1.0)
    assert trial.sentence == "t · a · m · seed=7 · attempt 1"
