"""Trials as commands that other engines start: by `xargs` here, and by GNU parallel over ssh to this machine."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import until
from runner.planned import started
from steelyard.runner import PlanFolder

PLAN = """
[plan]
name = "spread"
attempts = {attempts}
[[tasks]]
id = "write"
prompt = "Write done.txt"
verify = {{ command = ["test", "-f", "done.txt"] }}
[[agents]]
use = "command"
command = ["sh", "-c", "echo hi > done.txt"]
"""
SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


def listed(plan: Path, out: Path) -> bytes:
    process = started(plan, out, "--pending", command="run list")
    ids, said = process.communicate()
    assert process.returncode == 0, said
    return ids


def trial_command(out: Path) -> list[str]:
    """The command that runs a trial, to be followed by its id; whoever starts it needs none of our environment."""
    path = f"PYTHONPATH={os.pathsep.join(map(str, sys.path))}"
    return ["env", path, sys.executable, "-m", "steelyard", "run", "trial", str(out), "--quiet"]


def check_all_done(plan: Path, out: Path, count: int) -> None:
    """Every trial ran once, and the plan only has to gather them."""
    folder = PlanFolder(out)
    assert [len(folder.executions(trial)) for trial in folder.finished()] == [1] * count
    process = started(plan, out)
    told, said = process.communicate()
    assert process.returncode == 0, said
    assert f"{count} of {count} trials done ({count} passed)".encode() in told
    assert len((out / "runs.jsonl").read_text().splitlines()) == count


def test_trials_are_started_by_xargs(tmp_path: Path) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "runs"
    plan.write_text(PLAN.format(attempts=4))
    line = ["xargs", "-P", "2", "-I", "{}", *trial_command(out), "{}"]
    subprocess.run(line, input=listed(plan, out), check=True, capture_output=True)
    check_all_done(plan, out, 4)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[str]:
    """The command that logs in to this machine, through a server of the test's own on loopback."""
    for name in ("host", "user"):
        line = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / name)]
        subprocess.run(line, check=True)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    (tmp_path / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/user.pub\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nPidFile none\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where it parts with its privileges; its service would make it
    server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(tmp_path / "sshd_config")], stderr=subprocess.DEVNULL)
    options = f"-p {port} -i {tmp_path}/user -o StrictHostKeyChecking=no -o UserKnownHostsFile={tmp_path}/known"
    try:
        until(lambda: is_open(port))
        yield f"ssh {options} -o BatchMode=yes"
    finally:
        server.terminate()
        server.wait()


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("parallel") or not Path(SSHD).is_file(), reason="needs GNU parallel and sshd")
def test_trials_are_started_by_gnu_parallel_over_ssh(tmp_path: Path, ssh: str) -> None:
    plan, out = tmp_path / "plan.toml", tmp_path / "runs"
    plan.write_text(PLAN.format(attempts=12))
    host = f"2/{getpass.getuser()}@127.0.0.1"
    line = ["parallel", "--will-cite", "--ssh", ssh, "--sshlogin", host, *trial_command(out), "{}"]
    subprocess.run(line, input=listed(plan, out), check=True, capture_output=True)
    check_all_done(plan, out, 12)
