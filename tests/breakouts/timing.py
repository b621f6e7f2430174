"""The clock: going on past it, or keeping whoever waits from noticing."""

from __future__ import annotations

import os
import signal
import subprocess
import time

from breakouts.inside import World, each, got_out, write


def sleep_past_the_end(world: World) -> None:
    time.sleep(3600)
    got_out("it is still there")


def stop_itself(world: World) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(3600)


def mind_no_signal(world: World) -> None:
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    time.sleep(3600)


def close_all_that_is_read(world: World) -> None:
    os.closerange(0, 256)
    time.sleep(3600)


def let_a_child_hold_the_output(world: World) -> None:
    subprocess.Popen(["sleep", world.marker], start_new_session=True)
    print("the first process ends", flush=True)


def end_as_often_as_it_begins(world: World) -> None:
    end = time.monotonic() + 2
    while time.monotonic() < end:
        child = os.fork()
        if child != 0:
            os._exit(0)  # the child goes on, under another number


def never_read_what_it_is_told(world: World) -> None:
    os.close(0)
    time.sleep(0.3)


def wake_up_after_the_end(world: World) -> None:
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        time.sleep(3)
        each(lambda: write(f"{world.open_folder}/made-later", "x"))
        os.execv("/bin/sleep", ["sleep", world.marker])
