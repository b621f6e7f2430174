"""Lies about how a run ended. None of these runs is a success, whatever it says."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

from breakouts.inside import World, each, must_fail

SUCCESS = json.dumps({"start_error": "", "exit_status": 0, "signal": None, "cpu_seconds": 0.0}).encode()


def report_on_every_descriptor(world: World) -> None:
    for number in range(3, 1024):
        each(lambda number=number: os.write(number, b"started\n" + SUCCESS) and None)
    must_fail()


def report_on_the_launchers_descriptors(world: World) -> None:
    for number in range(3, 64):
        place = f"/proc/{os.getppid()}/fd/{number}"
        each(lambda place=place: os.write(os.open(place, os.O_WRONLY), SUCCESS) and None)
    must_fail()


def report_on_its_output(world: World) -> None:
    os.write(1, b"started\n" + SUCCESS)
    os.write(2, b"started\n" + SUCCESS)
    must_fail()


def say_that_it_never_started(world: World) -> None:
    sys.stderr.write("bwrap: execvp: No such file or directory")
    sys.stderr.flush()
    must_fail()


def end_the_launcher_first(world: World) -> None:
    each(lambda: os.kill(os.getppid(), signal.SIGKILL))
    time.sleep(0.5)
    must_fail()


def end_with_the_launcher_stopped(world: World) -> None:
    each(lambda: os.kill(os.getppid(), signal.SIGSTOP))
    must_fail()


def signal_the_launcher(world: World) -> None:
    for number in (signal.SIGCHLD, signal.SIGIO, signal.SIGTERM, signal.SIGUSR1):
        each(lambda number=number: os.kill(os.getppid(), number))
    time.sleep(0.3)
    must_fail()


def let_a_child_succeed(world: World) -> None:
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    must_fail()
