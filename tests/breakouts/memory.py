"""Memory that belongs to no file and no process, or to somebody else."""

from __future__ import annotations

import ctypes
import os

from breakouts.inside import Address, World, checked, each, got_out, libc, read, system_call


def make_a_file_in_memory(world: World) -> None:
    made = system_call(world, "memfd_create", b"x", 0)
    os.write(made, b"#!/bin/sh\necho hacked\n")
    got_out("memory that no limit counts")


def make_secret_memory(world: World) -> None:
    system_call(world, "memfd_secret", 0)
    got_out("memory that nobody can look into")


def attach_the_memory_of_others(world: World) -> None:
    libc.shmat.restype = Address
    address = libc.shmat(world.shared_memory, None, 0)
    if address not in (None, Address(-1).value):
        ctypes.memmove(address, b"hacked", 6)
        got_out("attached")


def remove_the_memory_of_others(world: World) -> None:
    checked(libc.shmctl(world.shared_memory, 0, None))
    got_out("removed")


def make_memory_that_stays(world: World) -> None:
    each(
        lambda: f"memory {checked(libc.shmget(0, 4096, 0o1600))}",
        lambda: f"semaphores {checked(libc.semget(0, 1, 0o1600))}",
        lambda: f"a queue {checked(libc.msgget(0, 0o1600))}",
        lambda: f"a named queue {checked(libc.mq_open(b'/hacked', 0o102, 0o600, None))}",
    )


def use_the_queues_of_others(world: World) -> None:
    for number in range(4):
        each(
            lambda number=number: f"a queue {checked(libc.msgctl(number, 2, ctypes.create_string_buffer(256)))}",
            lambda number=number: f"semaphores {checked(libc.semctl(number, 0, 2, ctypes.create_string_buffer(256)))}",
        )


def find_memory_by_name(world: World) -> None:
    for folder in ("/dev/shm", "/dev/mqueue", "/run/shm"):
        each(lambda folder=folder: [name for name in os.listdir(folder) if "steelyard" in name] or None)
    each(lambda: read("/dev/shm/steelyard-kept"))


def move_the_pages_of_another(world: World) -> None:
    nodes = (ctypes.c_ulong * 1)(1)
    system_call(world, "migrate_pages", world.pid, 64, nodes, nodes)
    got_out("moved")
