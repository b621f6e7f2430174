"""The refused calls have the numbers of the system's headers, and kernels take the program that is made of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attacking import python
from steelyard import sandbox
from steelyard.errors import SandboxUnavailableError
from steelyard.sandbox import _filter
from steelyard.sandbox._commands import landlock_abi
from steelyard.sandbox._filter import filter_for

HEADERS = ("x86_64-linux-gnu/asm/unistd_64.h", "asm-generic/unistd.h")
MAX_PROGRAM_LENGTH = 4096
"""Steps that the kernel takes (BPF_MAXINSNS)."""


def named_numbers() -> dict[str, tuple[int | None, int | None]]:
    found: dict[str, tuple[int | None, int | None]] = {}
    for value in vars(_filter).values():
        if isinstance(value, dict) and all(isinstance(held, tuple) and len(held) == 2 for held in value.values()):
            found |= {name: numbers for name, numbers in value.items() if name not in _filter.ARCHITECTURES}
        if isinstance(value, tuple):
            found |= {call.name: call.numbers for call in value if isinstance(call, _filter._GuardedCall)}
    return found


@pytest.mark.parametrize("column", [0, 1], ids=["x86_64", "aarch64"])
def test_every_call_has_the_number_that_the_headers_give_it(column: int) -> None:
    header = Path("/usr/include") / HEADERS[column]
    if not header.exists():
        pytest.skip("the kernel's headers are not installed")
    known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", header.read_text())}
    ours = {name: numbers[column] for name, numbers in named_numbers().items() if numbers[column] is not None}
    assert {"ptrace", "prlimit64", "clone"} <= ours.keys()
    assert {name: number for name, number in ours.items() if name in known and known[name] != number} == {}


@pytest.mark.parametrize("own_uid", [True, False])
@pytest.mark.parametrize("abi", [1, 3, 6, 7])
def test_the_program_is_never_longer_than_the_kernel_takes(own_uid: bool, abi: int) -> None:
    for name in ("bubblewrap", "landlock"):
        program = filter_for(name, own_uid=own_uid, abi=abi)
        assert 0 < len(program) // 8 <= MAX_PROGRAM_LENGTH
    assert filter_for("none", own_uid=own_uid, abi=abi) == b""


@pytest.mark.parametrize("abi", [1, 3, 5])
def test_a_kernel_with_an_older_landlock_is_served(abi: int, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        found = sandbox.isolation_named("landlock")
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    if landlock_abi() < abi:
        pytest.skip("this one is older still")
    monkeypatch.setattr("steelyard.sandbox._commands.landlock_abi", lambda: abi)
    code = (
        "import fcntl, os\n"
        "open('made', 'w').write('x')\n"
        "for call in (lambda: os.kill(os.getpid(), 0), lambda: fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid()),\n"
        "  lambda: fcntl.ioctl(0, 0x8901, bytes(4))):\n"
        "  try: call()\n"
        "  except PermissionError: continue\n"
        "  print('done')\n"
        "print(fcntl.fcntl(0, fcntl.F_GETFL) >= 0)"
    )
    result = python(code, found)
    assert (result.stdout, result.stderr) == (b"True\n", b"")
