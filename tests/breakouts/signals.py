"""Other processes: ending, stopping and slowing them, and outliving one's own end."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
import subprocess
import time

from breakouts.inside import World, called, each, libc, system_call, write


def end_another(world: World) -> None:
    each(lambda: os.kill(world.pid, signal.SIGKILL), lambda: os.kill(world.pid, signal.SIGTERM))


def end_everybody(world: World) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.kill(-1, signal.SIGTERM)


def end_its_group(world: World) -> None:
    each(lambda: os.killpg(world.pid, signal.SIGKILL), lambda: os.killpg(os.getpgid(world.pid), signal.SIGKILL))


def end_a_thread(world: World) -> None:
    each(
        lambda: called(world, "tgkill", world.pid, world.pid, 9),
        lambda: called(world, "tkill", world.pid, 9),
    )


def queue_a_signal(world: World) -> None:
    facts = ctypes.create_string_buffer(128)
    struct.pack_into("iii", facts, 0, 9, 0, -1)
    each(
        lambda: called(world, "rt_sigqueueinfo", world.pid, 9, facts),
        lambda: called(world, "rt_tgsigqueueinfo", world.pid, world.pid, 9, facts),
    )


def end_by_descriptor(world: World) -> None:
    system_call(world, "pidfd_send_signal", os.pidfd_open(world.pid), 9, None, 0)


def let_a_descriptor_send_it(world: World) -> None:
    here, there = socket.socketpair()
    for pid in (world.pid, -world.pid):
        each(
            lambda pid=pid: fcntl.fcntl(here, fcntl.F_SETOWN, pid) and None,
            lambda pid=pid: fcntl.ioctl(here, 0x8901, struct.pack("i", pid)) and None,
            lambda: fcntl.fcntl(here, 10, signal.SIGKILL) and None,  # F_SETSIG
            lambda: fcntl.fcntl(here, fcntl.F_SETFL, os.O_ASYNC) and None,
        )
        there.send(b"x")


def stop_another(world: World) -> None:
    each(lambda: os.kill(world.pid, signal.SIGSTOP), lambda: os.kill(os.getppid(), signal.SIGSTOP))


def slow_another_down(world: World) -> None:
    each(
        lambda: os.setpriority(os.PRIO_PROCESS, world.pid, 19),
        lambda: os.setpriority(os.PRIO_PGRP, os.getpgid(world.pid), 19),
        lambda: os.sched_setscheduler(world.pid, os.SCHED_IDLE, os.sched_param(0)),
        lambda: os.sched_setaffinity(world.pid, {0}),
        lambda: called(world, "ioprio_set", 1, world.pid, 3 << 13),
    )


def slow_everybody_down(world: World) -> None:
    each(lambda: os.setpriority(os.PRIO_USER, 0, 19))


def slow_the_launcher_down(world: World) -> None:
    for pid in {os.getppid(), world.first}:
        each(
            lambda pid=pid: os.setpriority(os.PRIO_PROCESS, pid, 19) or f"priority of {pid}",
            lambda pid=pid: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)) or f"policy of {pid}",
            lambda pid=pid: os.sched_setaffinity(pid, {0}) or f"processors of {pid}",
            lambda pid=pid: called(world, "ioprio_set", 1, pid, 3 << 13),
        )


def limit_another(world: World) -> None:
    for pid in {world.pid, os.getppid(), world.first}:
        each(
            lambda pid=pid: resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3)),
            lambda pid=pid: resource.prlimit(pid, resource.RLIMIT_CPU, (1, 1)),
        )


def let_another_be_killed_first(world: World) -> None:
    for pid in {world.pid, os.getppid(), world.first}:
        each(lambda pid=pid: write(f"/proc/{pid}/oom_score_adj", "1000"))


def leave_a_daemon(world: World) -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv("/bin/sleep", ["sleep", world.marker])
        os._exit(0)
    os.wait()


def leave_one_that_minds_no_signal(world: World) -> None:
    if os.fork() == 0:
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        os.setsid()
        subprocess.Popen(["sleep", world.marker], start_new_session=True)
        time.sleep(60)
    time.sleep(0.2)


def leave_one_under_a_reaper_of_its_own(world: World) -> None:
    if os.fork() == 0:
        libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        libc.prctl(1, 0, 0, 0, 0)  # PR_SET_PDEATHSIG
        subprocess.Popen(["sleep", world.marker], start_new_session=True)
        time.sleep(60)
    time.sleep(0.2)


def leave_a_family_that_grows(world: World) -> None:
    for _ in range(5):
        if os.fork() == 0:
            while True:
                each(lambda: os._exit(0) if os.fork() else None)
                time.sleep(0.001)
    time.sleep(0.3)


def end_the_launcher(world: World) -> None:
    subprocess.Popen(["sleep", world.marker], start_new_session=True)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1)
