"""Agents are data: every shipped adapter can be read, and a mistake in a user's own is reported with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import AdapterError
from steelyard.runner import AgentUse
from steelyard.runner._adapters import BUILT_IN, adapters, filled, load_adapter

AGENTS = sorted(set(adapters()) - set(BUILT_IN))
"""Every agent that ships, taken from `src/steelyard/runner/agents/`."""
GOOD = 'command = ["mine", "{prompt}"]\nspeaks = "chat"\n'


def own(folder: Path, text: str, name: str = "mine") -> Path:
    path = folder / "agents" / f"{name}.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_every_agent_is_there_and_says_what_it_is() -> None:
    known = adapters()
    assert set(BUILT_IN) == {"nop", "oracle", "model", "command"}
    assert {"claude-code", "codex", "aider"} <= set(AGENTS)
    for name in AGENTS:
        adapter = known[name]
        for field in ("about", "install", "version", "logs", "needs_calls"):
            assert getattr(adapter, field), f"{name}: {field} is missing"
    for name in ("nop", "oracle", "command"):
        assert not known[name].needs_calls


@pytest.mark.parametrize("name", AGENTS)
def test_no_adapter_hands_over_anything_but_the_token(name: str) -> None:
    adapter = adapters()[name]
    texts = [*adapter.command, *adapter.env.values(), *adapter.files.values()]
    for placeholder, places in (("{token}", texts), ("{endpoint}", texts), ("{prompt}", adapter.command)):
        count = sum(text.count(placeholder) for text in places)
        assert count == 1, f"{name}: {placeholder} must occur exactly once, not {count} times"
    assert any("{model}" in text for text in texts), f"{name}: {{model}} must occur"


def test_a_users_own_agent_lies_beside_the_plan(tmp_path: Path) -> None:
    own(tmp_path, GOOD)
    known = adapters(tmp_path)
    assert known["mine"].command == ("mine", "{prompt}")
    assert "mine" not in adapters()


@pytest.mark.parametrize("name", ["codex", "nop"])
def test_a_name_that_is_taken_is_refused(name: str, tmp_path: Path) -> None:
    path = own(tmp_path, GOOD, name)
    with pytest.raises(AdapterError, match="already in use") as refused:
        adapters(tmp_path)[name]
    assert refused.value.where == str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('speaks = "chat"', "missing command"),
        (GOOD + "prompt_in = 1", "unknown field 'prompt_in'"),
        (GOOD + 'logs = ["../x"]', "not below home/ or work/"),
        (GOOD + 'logs = ["/etc/passwd"]', "not below home/ or work/"),
        (GOOD + 'logs = ["home/../../x"]', "not below home/ or work/"),
        (GOOD + 'files = { "config.toml" = "" }', "not below home/ or work/"),
        (GOOD + 'files = { "home/a" = "{prompt}" }', r"\{prompt\} cannot be used in a file"),
        (GOOD + 'env = { A = "{modle}" }', "did you mean 'model'"),
        (GOOD + 'settings = { temperature = ["-t"] }', r"no \{value\}"),
        (GOOD + 'limits = { memory = "4 apples" }', "invalid size"),
        ('command = ["a"]\nspeaks = "smoke"', "smoke"),
        ("command = [", "TOML"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    path = own(tmp_path, text)
    with pytest.raises(AdapterError, match=message) as refused:
        load_adapter(path)
    assert str(path) in str(refused.value)


def test_what_does_not_change_a_try_does_not_make_another_adapter(tmp_path: Path) -> None:
    digests = {
        load_adapter(own(tmp_path, GOOD + more)).digest
        for more in ("", 'about = "a"', 'install = "pip install b"', "logs_optional = true", "# a comment")
    }
    assert len(digests) == 1
    assert load_adapter(own(tmp_path, GOOD + 'env = { A = "1" }')).digest not in digests


@pytest.mark.parametrize(
    ("use", "kind", "problem"),
    [
        (AgentUse(use="codex"), "responses", "needs a model"),
        (AgentUse(use="codex", models=("m",)), None, "needs an endpoint of kind responses"),
        (AgentUse(use="codex", models=("m",)), "messages", "endpoint of kind responses, not messages"),
        (
            AgentUse(use="codex", models=("m",), settings=({"temperature": 0},)),
            "chat",
            "does not support the setting temperature",
        ),
        (AgentUse(use="codex", models=("m",), options={"turns": 3}), "chat", "unknown option 'turns'"),
        (AgentUse(use="codex", models=("m",), command=("a",)), "chat", "only valid for the agent"),
        (AgentUse(use="command"), None, "missing key: command"),
        (AgentUse(use="nop", models=("m",)), None, "does not use a model"),
        (AgentUse(use="model"), "chat", "needs a model"),
        (AgentUse(use="model", models=("m",)), None, "needs an endpoint"),
        (
            AgentUse(use="model", models=("m",), settings=({"temprature": 1},)),
            "chat",
            "does not support the setting temprature",
        ),
    ],
)
def test_what_does_not_fit_the_adapter_is_told(use: AgentUse, kind: str | None, problem: str) -> None:
    problems = list(adapters()[use.use].problems(use, endpoint_kind=kind))  # type: ignore[arg-type] # kinds by name
    assert len(problems) == 1
    assert problem in problems[0]


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        (AgentUse(use="codex", models=("m",)), "responses"),
        (AgentUse(use="codex", models=("m",)), "chat"),  # one server mostly has both
        (AgentUse(use="model", models=("m",), settings=({"temperature": 0.0, "seed": 7}, {})), "gemini"),
        (AgentUse(use="command", command=("a",)), None),
        (AgentUse(use="nop"), "chat"),
    ],
)
def test_what_fits_is_not_refused(use: AgentUse, kind: str | None) -> None:
    assert list(adapters()[use.use].problems(use, endpoint_kind=kind)) == []  # type: ignore[arg-type] # kinds by name


def test_what_is_filled_in_is_not_looked_at_again() -> None:
    assert filled("{prompt} {model}", {"prompt": "say {token}", "token": "secret", "model": "m"}) == "say {token} m"


def test_built_in_agents_have_no_files_of_their_own() -> None:
    assert not any(adapter.files for adapter in BUILT_IN.values())
