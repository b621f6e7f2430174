"""What is fetched afterwards: `result`, `sub/result` and `../result`. None of it may be somebody else's."""

from __future__ import annotations

import os
import socket
import subprocess

from breakouts.inside import World, each, write


def a_link(world: World) -> None:
    os.symlink(world.secret, "result")


def a_link_on_the_way(world: World) -> None:
    os.symlink(os.path.dirname(world.secret), "sub")
    each(lambda: os.symlink(world.secret, "sub/result"))


def a_chain_of_links(world: World) -> None:
    os.symlink("second", "result")
    os.symlink("third", "second")
    os.symlink(world.secret, "third")


def a_hard_link(world: World) -> None:
    os.link(world.secret, "result")


def a_pipe_that_nobody_writes_to(world: World) -> None:
    os.mkfifo("result")


def a_device(world: World) -> None:
    each(lambda: os.symlink("/dev/zero", "result"), lambda: os.mknod("sub", 0o20666, os.makedev(1, 5)))


def a_folder(world: World) -> None:
    os.mkdir("result")
    os.mkdir("sub")
    os.mkdir("sub/result")


def a_socket(world: World) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("result")


def a_file_without_end(world: World) -> None:
    with open("result", "wb") as made:
        made.truncate(1 << 22)  # a hole: it takes no space, and reads as four million zeros


def a_closed_file(world: World) -> None:
    write("result", "x")
    each(lambda: os.chmod("result", 0), lambda: os.chmod(".", 0))


def a_folder_that_moves(world: World) -> None:
    os.mkdir("sub")
    write("sub/result", "own")
    code = "while :; do mv sub away; ln -s $0 sub; rm sub; mv away sub; done"
    subprocess.Popen(["sh", "-c", code, os.path.dirname(world.secret)], start_new_session=True)


def a_file_beside_the_folder(world: World) -> None:
    each(lambda: write("../result", "x") and None, lambda: os.symlink(world.secret, "../result"))
