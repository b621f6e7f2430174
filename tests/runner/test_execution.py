"""One execution, from an empty folder to a Run: a shell agent in the sandbox through every ending."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.model_server import Script, Step
from processes import alive
from runner.execution import KEY, Bench, Executed, bench, job_of, needs_bubblewrap, shell_job
from steelyard import sandbox
from steelyard.errors import SandboxUnavailableError, UsageError
from steelyard.records import Usage
from steelyard.runner import Tier, Verify, _execution
from steelyard.runner._adapters import adapters, load_adapter
from steelyard.runner._execution import agent_version, shown_command
from steelyard.runner._metering_records import CallLimits

pytestmark = needs_bubblewrap
USAGE = Usage(input_tokens=24003, cache_read_tokens=13003, output_tokens=4803, reasoning_tokens=2403)
"""Two calls: 2 x base + 1 + 2 of each kind (tests/agents/model_server.py)."""


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_execution, "GRACE_SECONDS", 1.0)


@pytest.fixture(scope="module")
def answering() -> Iterator[Bench]:
    with bench(Script(has_many_calls=True)) as running:
        yield running


def kinds(usage: Usage | None) -> dict[str, int]:
    assert usage is not None
    return {name: value for name in usage.__struct_fields__ if (value := getattr(usage, name))}


def codes(executed: Executed) -> list[str]:
    return [finding.code for finding in executed.findings]


def test_an_agent_does_its_task_and_is_counted_to_the_token(tmp_path: Path) -> None:
    with bench() as scripted:
        executed = scripted.executed(shell_job(tmp_path), tmp_path / "retry-0")
    assert (executed.ending.name, executed.run.verdict, executed.run.failure) == ("passed", True, None)
    assert kinds(executed.run.total_usage) == kinds(USAGE)
    assert [call.model for call in executed.run.calls or ()] == ["m-1", "m-1"]
    assert (executed.run.provenance or {})["usage"] == "counted"
    assert executed.evidence.isolation == "bubblewrap"
    # The key is the endpoint's own, and never entered the sandbox.
    assert {call.key for call in executed.server.calls} == {f"Bearer {KEY}"}
    kept = [path for path in executed.folder.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in kept)
    assert (executed.run.extra or {})["x_model_answered"] == "m-1"


def test_a_wrong_result_fails(tmp_path: Path) -> None:
    with bench(Script(steps=(Step(run="echo other > hello.txt"), Step(say="done")))) as scripted:
        executed = scripted.executed(shell_job(tmp_path), tmp_path / "retry-0")
    assert (executed.ending.name, executed.run.verdict) == ("failed", False)


@pytest.mark.parametrize(("status", "stops"), [(401, True), (403, True), (500, False)])
def test_a_model_that_refuses_is_no_fault_of_the_agent(status: int, stops: bool, tmp_path: Path) -> None:
    with bench(Script(status=status)) as scripted:
        executed = scripted.executed(shell_job(tmp_path), tmp_path / "retry-0")
    ending = executed.ending
    assert (ending.name, ending.cause, ending.is_retried, ending.stops_agent) == (
        "not_started", "infrastructure", not stops, stops,
    )  # fmt: skip
    assert (executed.run.outcome, executed.run.verdict) == ("errored", None)
    assert executed.verified is None
    assert f"status {status}" in (ending.detail or "")


def test_an_endpoint_that_refuses_until_the_time_limit_is_saturated(tmp_path: Path) -> None:
    with bench(Script(statuses=(200,), status=429, has_many_calls=True)) as scripted:
        executed = scripted.executed(shell_job(tmp_path, "retry", seconds=2.5), tmp_path / "retry-0")
    assert (executed.ending.name, executed.ending.is_retried) == ("endpoint_saturated", True)
    assert executed.evidence.ended_by == "time_limit"
    assert len(executed.server.calls) == len(executed.evidence.count.calls if executed.evidence.count else ())


def test_refusals_that_an_agent_overcomes_are_not_counted_against_it(tmp_path: Path) -> None:
    with bench(Script(statuses=(503, 429))) as scripted:
        executed = scripted.executed(shell_job(tmp_path, "retry"), tmp_path / "retry-0")
    assert executed.ending.name == "passed"
    assert len(executed.server.calls) == 4  # two refused, two served
    assert len(executed.run.calls or ()) == 2


@pytest.mark.parametrize("how", ["hang", "deaf"])
def test_an_agent_that_never_ends_is_stopped_and_verified(
    how: str, answering: Bench, tmp_path: Path, marker: str
) -> None:
    executed = answering.executed(shell_job(tmp_path, how, marker, seconds=3), tmp_path / "retry-0")
    assert (executed.ending.name, executed.ending.cause) == ("agent_timeout", "agent")
    assert executed.run.verdict is True  # both facts are kept
    assert executed.run.failure is not None
    assert (executed.run.extra or {})["x_ending"] == "agent_timeout"
    assert alive(marker) == []


def test_a_call_that_is_never_answered_leaves_a_lower_bound(tmp_path: Path) -> None:
    with bench(Script(hangs_from=1)) as scripted:
        executed = scripted.executed(shell_job(tmp_path, seconds=2), tmp_path / "retry-0")
    assert executed.evidence.ended_by == "time_limit"
    assert (executed.run.provenance or {})["usage"] == "lower_bound"
    assert len(executed.run.calls or ()) == 2


def test_nothing_that_left_its_session_is_alive_when_the_work_is_verified(
    answering: Bench, tmp_path: Path, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive_then: list[list[str]] = []
    from runner import execution

    def verify_and_look(*arguments: object, **options: object) -> object:
        alive_then.append(alive(marker))
        return real(*arguments, **options)  # type: ignore[arg-type] # handed on as they came

    real = execution.verify
    monkeypatch.setattr(execution, "verify", verify_and_look)
    executed = answering.executed(shell_job(tmp_path, "orphan", marker), tmp_path / "retry-0")
    assert executed.ending.name == "passed"
    assert alive_then == [[]]


def test_an_agent_that_ends_badly_crashed(answering: Bench, tmp_path: Path) -> None:
    executed = answering.executed(shell_job(tmp_path, "crash"), tmp_path / "retry-0")
    assert (executed.ending.name, executed.run.verdict) == ("agent_crashed", True)
    assert "exit status 9" in (executed.ending.detail or "")


def test_a_log_that_is_none_leaves_the_meters_count(tmp_path: Path) -> None:
    with bench() as scripted:
        executed = scripted.executed(shell_job(tmp_path, "garbage"), tmp_path / "retry-0")
    assert executed.ending.name == "passed"
    assert kinds(executed.run.total_usage) == kinds(USAGE)
    assert executed.run.tool_calls is None


def test_a_budget_in_mid_run_stops_further_calls(tmp_path: Path) -> None:
    with bench(Script(steps=(Step(run="true"),), has_many_calls=True)) as scripted:
        job = shell_job(tmp_path, "retry", seconds=30)
        executed = scripted.executed(job, tmp_path / "retry-0", limits=CallLimits(tokens=50_000))
    assert (executed.ending.name, executed.ending.cause) == ("budget_trial", "agent")
    assert "token" in (executed.ending.detail or "")
    # A call is 22,100 tokens and some: after the third the budget is used up.
    assert len(executed.server.calls) == 3
    assert executed.evidence.ended_at.timestamp() - executed.evidence.started_at.timestamp() < 20


def test_ctrl_c_ends_a_try_at_once_and_keeps_its_work(answering: Bench, tmp_path: Path, marker: str) -> None:
    stopping = Bench(answering.server, answering.proxy)

    def press() -> None:
        while "sleep" not in alive(marker):
            time.sleep(0.02)
        stopping.stop.set()

    presser = threading.Thread(target=press)
    presser.start()
    executed = stopping.executed(shell_job(tmp_path, "hang", marker), tmp_path / "retry-0")
    presser.join()
    assert (executed.ending.name, executed.ending.cause) == ("cancelled", "cancelled")
    assert (executed.folder / "work/hello.txt").exists()
    assert (executed.run.outcome, executed.run.verdict) == ("errored", None)
    assert alive(marker) == []


def test_an_agent_without_its_program_says_what_to_install(
    answering: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    codex = adapters()["codex"]
    executed = answering.executed(job_of(codex, tmp_path, kind="responses"), tmp_path / "retry-0")
    assert (executed.ending.name, executed.ending.stops_agent) == ("not_started", True)
    assert "npm install -g @openai/codex" in (executed.ending.detail or "")
    assert agent_version(codex) is None


def test_a_version_is_what_the_program_prints_in_its_own_variables_not_a_number_of_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "warner"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\n[ "$QUIET" = yes ] || exit 3\necho retrying in 2.4s >&2\necho warner 7.1.0\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    (tmp_path / "agents").mkdir()
    text = 'command = ["warner"]\nversion = ["warner"]\nenv = { QUIET = "yes", WHERE = "{home}" }\n'
    (tmp_path / "agents" / "warner.toml").write_text(text)
    assert agent_version(adapters(tmp_path)["warner"]) == "7.1.0"


def test_nop_changes_nothing_and_needs_no_model(answering: Bench, tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository/hello.txt").write_text("hello\n", encoding="utf-8")
    job = job_of(
        adapters()["nop"],
        tmp_path,
        model=None,
        kind=None,
        work="repository",
        verify=Verify(command=("grep", "hello", "hello.txt")),
    )
    executed = answering.executed(job, tmp_path / "retry-0")
    assert (executed.ending.name, executed.run.cost_usd, executed.run.calls) == ("passed", 0.0, None)
    assert executed.evidence.count is None


@pytest.mark.parametrize("kind", ["patch", "folder"])
def test_the_oracle_applies_the_solution(kind: str, answering: Bench, tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository/hello.txt").write_text("bye\n", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/hello.txt").write_text("hello\n", encoding="utf-8")
    (tmp_path / "patch").write_text("--- a/hello.txt\n+++ b/hello.txt\n@@ -1 +1 @@\n-bye\n+hello\n", encoding="utf-8")
    verified = Verify(command=("grep", "-qx", "hello", "hello.txt"))
    job = job_of(adapters()["oracle"], tmp_path, model=None, kind=None, work="repository", oracle=kind, verify=verified)
    assert answering.executed(job, tmp_path / "retry-0").ending.name == "passed"


def test_a_model_is_asked_once_and_its_text_is_the_output(tmp_path: Path) -> None:
    with bench(Script(without_tools="def fibonacci(n): ...")) as scripted:
        verified = Verify(command=("grep", "-q", "fibonacci", "answer.txt"))
        job = job_of(adapters()["model"], tmp_path, setting={"temperature": 0.5, "seed": 7}, verify=verified)
        executed = scripted.executed(job, tmp_path / "retry-0")
    assert executed.ending.name == "passed"
    assert executed.run.output is not None
    assert executed.run.output.text == "def fibonacci(n): ..."
    assert kinds(executed.run.total_usage)["input_tokens"] == 12_001
    extra = executed.run.extra or {}
    assert (extra["x_setting"], extra["x_temperature_sent"], extra["x_seed_sent"]) == (
        "seed=7,temperature=0.5",
        "0.5",
        "7",
    )
    assert "x_isolation" not in extra
    assert codes(executed) == []


def test_a_setting_that_is_not_sent_is_told(tmp_path: Path) -> None:
    with bench(kind="messages") as scripted:
        job = job_of(adapters()["model"], tmp_path, kind="messages", setting={"seed": 7})
        executed = scripted.executed(job, tmp_path / "retry-0")
    assert codes(executed) == ["setting_not_sent"]
    assert executed.findings[0].message == "seed 7 was requested, but none was sent"


@pytest.mark.parametrize("how", ["refused", "stopped", "late"])
def test_a_model_that_does_not_answer_has_no_output(how: str, tmp_path: Path) -> None:
    script = Script(status=500) if how == "refused" else Script(hangs_from=0)
    with bench(script) as scripted:
        if how == "stopped":
            threading.Timer(0.5, scripted.stop.set).start()
        job = job_of(adapters()["model"], tmp_path, seconds=1.5 if how == "late" else 60)
        executed = scripted.executed(job, tmp_path / "retry-0")
    assert executed.run.output is None
    assert executed.run.outcome == "errored"
    expected = {"refused": "not_started", "stopped": "cancelled", "late": "not_started"}
    assert executed.ending.name == expected[how]


def test_hidden_files_are_seen_by_the_check_alone(answering: Bench, tmp_path: Path) -> None:
    (tmp_path / "hidden/tests").mkdir(parents=True)
    (tmp_path / "hidden/tests/check.sh").write_text("grep -qx hello hello.txt\n", encoding="utf-8")
    verified = Verify(command=("sh", "tests/check.sh"), hidden="hidden")
    (tmp_path / "repository/tests").mkdir(parents=True)
    (tmp_path / "repository/tests/check.sh").write_text("true\n", encoding="utf-8")
    job = shell_job(tmp_path, verify=verified)
    executed = answering.executed(job, tmp_path / "retry-0")
    assert executed.ending.name == "passed"
    assert (executed.folder / "work/tests/check.sh").read_text(encoding="utf-8") == "true\n"  # verified on a copy


JUNIT = """<testsuite tests="2">
<testcase classname="t" name="a"/><testcase classname="t" name="b">{}</testcase>
</testsuite>"""


@pytest.mark.parametrize(
    ("report", "name", "passed"),
    [
        (JUNIT.format(""), "passed", True),
        (JUNIT.format('<failure message="no"/>'), "failed", False),
        ("", "not_scored", None),
        ("<testsuite/>", "not_scored", None),
        (None, "not_scored", None),
    ],
)
def test_a_report_decides_test_by_test(
    report: str | None, name: str, passed: bool | None, answering: Bench, tmp_path: Path
) -> None:
    write = "true" if report is None else f"cat > report.xml <<'END'\n{report}\nEND\ntrue"
    verified = Verify(command=("sh", "-c", write), report="report.xml")
    executed = answering.executed(shell_job(tmp_path, verify=verified), tmp_path / "retry-0")
    assert (executed.ending.name, executed.run.verdict) == (name, passed)
    if passed is False:
        assert executed.run.tests is not None
        assert executed.run.tests.failed == ("t::b",)


@pytest.mark.parametrize(
    ("command", "name", "cause"),
    [
        (("no-such-check",), "verifier_broken", "infrastructure"),
        (("sh", "-c", "no-such-check"), "not_scored", None),  # the agent may have removed it
    ],
)
def test_a_check_that_cannot_run_is_no_verdict(
    command: tuple[str, ...], name: str, cause: str | None, answering: Bench, tmp_path: Path
) -> None:
    executed = answering.executed(shell_job(tmp_path, verify=Verify(command=command)), tmp_path / "retry-0")
    assert (executed.ending.name, executed.ending.cause, executed.run.verdict) == (name, cause, None)
    assert executed.run.weak_check is True


def test_a_tier_lays_files_over_work_and_home(answering: Bench, tmp_path: Path) -> None:
    for side in ("work", "home"):
        (tmp_path / "tier" / side).mkdir(parents=True)
        (tmp_path / "tier" / side / "note").write_text(f"{side}\n", encoding="utf-8")
    tier = Tier(overlay="tier", env={"SKILL": "on"})
    command = ("sh", "-c", 'cat note "$HOME/note"; echo $SKILL; cat "$PROMPT_FILE"')
    job = job_of(adapters()["command"], tmp_path, kind=None, command=command, tier=tier)
    executed = answering.executed(job, tmp_path / "retry-0")
    said = (executed.folder / "stdout").read_text(encoding="utf-8")
    assert said == "work\nhome\non\nWrite hello into the file hello.txt."


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("x", "[Write hello into the file hello.txt.][Write hello into the file hello.txt.]"),
        ("{prompt_file}", "[][Write hello into the file hello.txt.]"),  # what the command line names comes once
    ],
)
def test_a_command_reads_its_task_from_standard_input_and_from_a_file(
    argument: str, said: str, answering: Bench, tmp_path: Path
) -> None:
    command = ("sh", "-c", 'printf "[%s][%s]" "$(cat)" "$(cat "$PROMPT_FILE")"', argument)
    job = job_of(adapters()["command"], tmp_path, kind=None, command=command)
    executed = answering.executed(job, tmp_path / "retry-0")
    assert (executed.folder / "stdout").read_text(encoding="utf-8") == said


def test_a_command_that_can_call_no_model_is_known_to_cost_nothing(answering: Bench, tmp_path: Path) -> None:
    job = job_of(adapters()["command"], tmp_path, kind=None, command=("true",))
    found = answering.executed(job, tmp_path / "retry-0").run
    assert (found.cost_usd, found.total_usage and found.total_usage.total) == (0.0, 0)
    # what its own log states is not replaced by 0
    stated = ("sh", "-c", """echo '{"task": "t", "cost_usd": 0.5}'""")
    job = job_of(adapters()["command"], tmp_path, kind=None, command=stated)
    found = answering.executed(job, tmp_path / "retry-1").run
    assert (found.cost_usd, found.usage) == (0.5, None)


def test_a_users_own_agent_is_run_like_ours(answering: Bench, tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    text = """
command = ["sh", "-c", "cat work.cfg ~/home.cfg; cat; echo; echo $0 $1", "{model}", "{turns}"]
files = { "work/work.cfg" = "w {model}\\n", "home/home.cfg" = "h {endpoint}\\n" }
options = { turns = "50" }
"""
    (tmp_path / "agents/mine.toml").write_text(text, encoding="utf-8")
    job = job_of(load_adapter(tmp_path / "agents/mine.toml"), tmp_path, kind=None)
    executed = answering.executed(job, tmp_path / "retry-0")
    said = (executed.folder / "stdout").read_text(encoding="utf-8")
    assert said == "w m-1\nh \nWrite hello into the file hello.txt.\nm-1 50\n"  # the prompt came on standard input


def test_a_link_that_an_agent_put_in_place_of_its_log_is_not_followed(answering: Bench, tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"task": "stolen", "passed": true, "tool_calls": 77}\n', encoding="utf-8")
    (tmp_path / "agents").mkdir()
    text = f"""command = ["sh", "-c", "ln -s {secret} ~/log.jsonl"]\nlogs = ["home/*.jsonl"]\n"""
    (tmp_path / "agents/mine.toml").write_text(text, encoding="utf-8")
    executed = answering.executed(
        job_of(load_adapter(tmp_path / "agents/mine.toml"), tmp_path, kind=None), tmp_path / "retry-0"
    )
    assert (executed.folder / "home/log.jsonl").is_symlink()
    assert executed.run.tool_calls is None


def test_a_command_is_shown_without_what_is_secret(tmp_path: Path) -> None:
    shown = shown_command(job_of(adapters()["claude-code"], tmp_path, kind="messages"))
    assert shown[:4] == ["claude", "-p", "{prompt}", "--model"]
    assert "m-1" in shown


def test_a_prompt_that_is_too_long_for_a_command_line_is_refused(answering: Bench, tmp_path: Path) -> None:
    job = job_of(adapters()["claude-code"], tmp_path, kind="messages")
    long = type(job)(**{**job.__dict__, "prompt": "x" * 131_072})
    with pytest.raises(UsageError, match="too long for a command line"):
        answering.executed(long, tmp_path / "retry-0")


@pytest.mark.parametrize("name", ["landlock", "none"])
def test_without_namespaces_an_agent_needs_no_sandbox(
    name: str, answering: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weaker = sandbox.Isolation(name=name, detail="no bubblewrap", own_uid=False, python=None)  # type: ignore[arg-type] # by name
    monkeypatch.setattr(_execution.sandbox, "active_isolation", lambda: weaker)
    with pytest.raises(SandboxUnavailableError, match="bubblewrap"):
        answering.executed(shell_job(tmp_path), tmp_path / "retry-0")
    executed = answering.executed(shell_job(tmp_path), tmp_path / "retry-1", no_sandbox=True)
    assert executed.ending.name == "passed"
    assert (executed.run.extra or {})["x_isolation"] == "none"


def test_no_scratch_folder_is_left(answering: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir(mode=0o711)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    answering.executed(shell_job(tmp_path), tmp_path / "retry-0")
    assert os.listdir(scratch) == []
