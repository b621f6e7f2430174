"""Rules of `integrity`: their examples, their scores on labeled traces, and their bounds."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from integrity.rule_counts import MARKS, PAGE, TUNING, counts_text, scores_of, total_of
from integrity.trace import Trace
from integrity.traces import TRACES
from steelyard.errors import UsageError
from steelyard.questions.integrity import IntegrityRule, RuleExample, RunCheck, shipped_rules
from steelyard.records import SessionStep, texts_in

SAMPLES = Path(__file__).parents[1] / "samples" / "formats"
EXAMPLES = [
    pytest.param(rule, example, is_found, id=f"{rule.id}-{kind}-{number}")
    for rule in shipped_rules()
    for kind, is_found in (("examples", True), ("counterexamples", False))
    for number, example in enumerate(getattr(rule, kind))
]
OWN_RULE = """
[[rules]]
id = "web_search"
severity = "suspicious"
title = "searches the web"
examples = [{ run = "ddgr x" }]
counterexamples = [{ run = "ls" }]
[[rules.conditions]]
does = ["run"]
words = ["{ddgr,googler} *"]
"""


def checked(calls: list[tuple[str, dict[str, Any], str]], task: str = "Fix the bug.") -> RunCheck:  # Any: JSON values
    """Return the check of a run with these tool calls and results."""
    check = RunCheck(shipped_rules())
    check.add(SessionStep(index=1, kind="message", role="user", text=task))
    for number, (tool, arguments, result) in enumerate(calls):
        index, call = 2 + 2 * number, str(number)
        check.add(
            SessionStep(index=index, kind="tool_call", role="assistant", tool=tool, arguments=arguments, call=call)
        )
        check.add(SessionStep(index=index + 1, kind="tool_result", role="tool", result=result or "ok", call=call))
    return check


def example_call(example: RuleExample) -> tuple[str, dict[str, Any], str]:  # Any: JSON values
    if example.run is not None:
        return "Bash", {"command": example.run}, ""
    if example.fetch is not None:
        return "WebFetch", {"url": example.fetch}, ""
    if example.read is not None:
        return "Read", {"file_path": example.read}, ""
    if example.content is not None:
        return "Write", {"file_path": example.path, "content": example.content}, ""
    return "Edit", {"file_path": example.path, "old_string": example.old, "new_string": example.new}, ""


@pytest.mark.parametrize(("rule", "example", "is_found"), EXAMPLES)
def test_rule_matches_its_examples_alone(rule: IntegrityRule, example: RuleExample, is_found: bool) -> None:
    before: list[tuple[str, dict[str, Any], str]] = []
    if example.after_run is not None:
        before = [("Bash", {"command": example.after_run}, example.after or "")]
    elif example.after is not None:
        before = [("Read", {"file_path": "tests/test_after.py"}, example.after)]
    hits = checked([*before, example_call(example)], example.task).hits()
    found = {hit.rule.id: hit.severity for hit in hits}.get(rule.id, "none")
    assert found == rule.severity if is_found else found in ("none", "note")


@pytest.mark.checkout
def test_documented_counts_of_rules_are_current() -> None:
    assert PAGE.read_text("utf-8").partition(MARKS[0])[2].partition(MARKS[1])[0] == counts_text()


def test_rules_are_right_on_the_tuning_traces(tmp_path: Path) -> None:
    scores, steps = scores_of(TUNING, tmp_path)
    assert total_of(scores.values())[1:] == (0, 0)
    assert (steps.wrong, steps.missed) == (1, 0)  # `git fetch` before the labeled step


def test_shipped_samples_have_no_violations() -> None:
    answer = sy.integrity(SAMPLES)
    assert (answer.total.violations, answer.total.suspicious, answer.matches) == (0, 0, ())
    assert answer.total.checked > 50


def log_texts(line: str) -> list[str]:
    """Return the texts in a line of a log, also of JSON in a text."""
    texts = list(texts_in(json.loads(line)))
    for text in list(texts):
        with suppress(ValueError):
            texts += texts_in(json.loads(text))
    return texts


@pytest.mark.parametrize("trace", [trace for trace in TUNING if trace.findings], ids=lambda trace: trace.name)
def test_quote_is_in_the_log_at_its_line(trace: Trace, tmp_path: Path) -> None:
    path = trace.write(tmp_path)
    matches = sy.integrity(path).matches
    assert matches
    for match in matches:
        assert match.where is not None
        file, _, line = match.where.rpartition(":")
        text = Path(file).read_text("utf-8").split("\n")[int(line) - 1] if line.isdigit() else path.read_text("utf-8")
        assert any(match.quote in each for each in log_texts(text))


def test_rules_of_a_file_are_added(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(OWN_RULE, "utf-8")
    log = Trace("own", "claude-code", TRACES[0].actions).write(tmp_path)
    log.write_text(log.read_text("utf-8").replace("git log --oneline -5", "ddgr fix"), "utf-8")
    answer = sy.integrity(log, rules=str(rules))
    assert [match.rule for match in answer.matches if match.severity == "suspicious"] == ["web_search"]
    assert answer.rules[-1].matches == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OWN_RULE.replace("web_search", "future_history"), "rule 'future_history' exists already"),
        (OWN_RULE.replace("words =", "wrods ="), "unknown field 'wrods'"),
        (OWN_RULE.replace('does = ["run"]', 'does = ["jump"]'), "Invalid enum value 'jump'"),
        (OWN_RULE.replace('{ run = "ls" }', ""), "needs conditions, examples and counterexamples"),
        (
            OWN_RULE.replace("{ddgr,googler}", "{a,b,c,d,e,f,g,h,i,j}" * 4),
            "the braces stand for more than 1,000 patterns",
        ),
    ],
    ids=["taken id", "unknown key", "unknown action", "no counterexample", "too many patterns"],
)
def test_invalid_rules_are_rejected(text: str, message: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(text, "utf-8")
    with pytest.raises(UsageError) as raised:
        sy.integrity(SAMPLES / "claude-code", rules=str(rules))
    assert message in raised.value.message


def test_secrets_in_quotes_are_redacted(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "a1B2" * 8
    log = TRACES[0].write(tmp_path)
    log.write_text(log.read_text("utf-8").replace("git log --all", f"API_KEY={key} git log --all"), "utf-8")
    answer = sy.integrity(log)
    assert answer.matches
    for text in (json.dumps(answer.to_dict()), str(answer), answer.document()):
        assert key not in text


HOSTILE = {
    "arguments": "git " + "a " * 50_000,
    "commands": "git log;" * 12_000,
    "quotes": "\"\\'" * 25_000,
    "documents": "<<E " * 25_000,
    "assertions": "assert f('a') == 'b'\n" * 5_000,
    "files": "sed -i s/a/b/ " + "tests/x.py " * 10_000,
    "verbs": "add " * 25_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_take_linear_time(text: str) -> None:
    began = time.process_time()
    edit = {"file_path": "tests/a.py", "old_string": text[::-1], "new_string": text}
    check = checked([("Bash", {"command": text}, text), ("Edit", edit, text)], text)
    check.hits()
    assert time.process_time() - began < 4
