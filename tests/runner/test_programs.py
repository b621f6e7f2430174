"""A program that was installed for a user alone can be started in a sandbox, and no more of his files is shown."""

from __future__ import annotations

import sys
import venv
from pathlib import Path

import pytest

from steelyard import sandbox
from steelyard.runner._programs import SYSTEM_PATH, program_named


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_program_of_the_system_needs_nothing() -> None:
    program = program_named("sh")
    assert program is not None
    assert (program.readable, program.search_path) == ((), SYSTEM_PATH)


def test_a_program_that_is_not_there_is_none() -> None:
    assert program_named("no-such-agent") is None


def test_of_a_node_package_the_outermost_folder_of_packages_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "lib" / "node_modules"
    script(packages / "@maker/agent/node_modules/inner/cli.js", "#!/usr/bin/env -S no-such-node --flag\n")
    (packages / ".bin").mkdir()
    (packages / ".bin/agent").symlink_to("../@maker/agent/node_modules/inner/cli.js")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/agent").symlink_to("../lib/node_modules/.bin/agent")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    program = program_named("agent")
    assert program is not None
    assert program.readable == (packages,)
    assert program.path == str(packages / "@maker/agent/node_modules/inner/cli.js")


def test_the_interpreter_of_a_script_is_shown_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "tools/runner", "#!/bin/sh\nshift; echo ran by runner: $*\n")
    agent = script(tmp_path / "bin/agent", "#!/usr/bin/env runner\n")
    secret = script(tmp_path / "bin/secret", "")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{tmp_path}/tools:/usr/bin:/bin")
    program = program_named("agent")
    assert program is not None
    assert program.readable == (agent, tmp_path / "tools/runner")
    assert secret not in program.readable
    assert program.search_path == f"{tmp_path}/bin:{tmp_path}/tools:{SYSTEM_PATH}"
    if sandbox.active_isolation().name == "bubblewrap":
        result = sandbox.run(
            [program.path, "hello"], readable=program.readable, variables={"PATH": program.search_path}
        )
        assert result.stdout == b"ran by runner: hello\n"


def test_a_virtual_environment_works_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv.create(tmp_path / "env", symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (tmp_path / "env/lib" / version / "site-packages/mine.py").write_text("print('mine')\n", encoding="utf-8")
    agent = script(tmp_path / "env/bin/agent", f"#!{tmp_path}/env/bin/python\nimport mine\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/agent").symlink_to(agent)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    program = program_named("agent")
    assert program is not None
    assert program.path == str(agent)
    assert tmp_path / "env" in program.readable
    if sandbox.active_isolation().name == "bubblewrap":
        result = sandbox.run([program.path], readable=program.readable, variables={"PATH": program.search_path})
        assert result.stdout == b"mine\n", result.stderr


def test_a_program_in_a_linked_folder_is_found_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = script(tmp_path / "versions/2/bin/agent", "#!/bin/sh\n")
    (tmp_path / "current").symlink_to("versions/2")
    monkeypatch.setenv("PATH", f"{tmp_path}/current/bin:/usr/bin:/bin")
    program = program_named("agent")
    assert program is not None
    assert (program.path, program.readable) == (str(agent), (agent,))


@pytest.mark.parametrize("knows", [True, False])
def test_a_stand_in_of_a_version_manager_is_not_taken_for_the_program(
    knows: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    managed = script(tmp_path / "versions/3/bin/agent", "#!/bin/sh\n")
    other = script(tmp_path / "bin/agent", "#!/bin/sh\n")
    script(tmp_path / "shims/agent", "#!/bin/sh\nexec pyenv exec agent\n")
    script(
        tmp_path / "bin/pyenv",
        f'#!/bin/sh\ntest "$1 $2" = "which agent" && {"echo " + str(managed) if knows else "false"}\n',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}/shims:{tmp_path}/bin:/usr/bin:/bin")
    program = program_named("agent")
    assert program is not None
    assert program.path == str(managed if knows else other)


def test_links_in_a_circle_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program_named("a") is None
