"""Running hostile code in the sandbox, as whoever we are and as an ordinary user."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable

import msgspec
import pytest

from steelyard import sandbox
from steelyard.sandbox import Isolation, IsolationName, SandboxResult

NOBODY = 65534
SYSTEM_PYTHON = shutil.which("python3", path="/usr/bin:/bin")
Attack = Callable[..., SandboxResult]
"""Runs Python code in the sandbox; takes what `sandbox.run` takes."""
AsUser = Callable[[Callable[[], SandboxResult]], SandboxResult]
"""Does something as an ordinary user."""


def python(code: str, isolation: Isolation, **options: object) -> SandboxResult:
    assert isolation.python is not None
    run: Callable[..., SandboxResult] = sandbox.run
    return run([isolation.python, "-I", "-c", code], isolation=isolation, **options)


def named(name: IsolationName) -> Isolation:
    """The isolation, found out anew: we may be another user by now."""
    sandbox.isolation_named.cache_clear()
    return sandbox.isolation_named(name)


def use_system_python() -> None:
    """Ours may lie in a folder that only root can enter."""
    sys._base_executable, sys.base_prefix, sys.base_exec_prefix = SYSTEM_PYTHON, "/usr", "/usr"  # type: ignore[attr-defined]  # typeshed lacks the first


def in_a_fork(task: Callable[[], SandboxResult], temporary: str) -> SandboxResult:
    """What the task gives when nobody does it, in a process of its own."""
    if SYSTEM_PYTHON is None:
        pytest.skip("the system has no Python that an ordinary user could start")
    _ = sandbox.run  # loaded while we may still read our own files
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        use_system_python()
        tempfile.tempdir = temporary
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            said = msgspec.json.encode(task())
        except BaseException as error:  # noqa: BLE001 - the fork must end here whatever happened
            said = repr(error).encode()
        with open(writing, "wb") as told:
            told.write(said)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answered:
        said = answered.read()
    os.waitpid(child, 0)
    if said.startswith(b"SandboxUnavailableError"):
        pytest.skip(said.decode())
    assert said.startswith(b"{"), said.decode()
    return msgspec.json.decode(said, type=SandboxResult)
