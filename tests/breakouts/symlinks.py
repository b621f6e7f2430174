"""Links and paths that lead somewhere else than they seem to."""

from __future__ import annotations

import os
import threading
import time

from breakouts.inside import World, each, got_out, read, write


def read_by_a_link(world: World) -> None:
    os.symlink(world.secret, "link")
    got_out(read("link"))


def write_by_a_link(world: World) -> None:
    os.symlink(world.anyones, "link")
    os.symlink(world.open_folder, "folder")
    each(lambda: write("link", "hacked"), lambda: write("folder/made", "hacked"))


def climb_up(world: World) -> None:
    steps = "../" * 40
    each(lambda: read(f"{steps}{world.secret}"), lambda: read(f"/tmp/{steps}{world.secret}"))


def swap_a_folder_for_a_link(world: World) -> None:
    os.makedirs("real", exist_ok=True)
    with open("real/secret", "w") as own:
        own.write("")
    os.symlink(os.path.dirname(world.secret), "away")
    end = time.monotonic() + 1

    def swap() -> None:
        while time.monotonic() < end:
            for before, after in (("real", "kept"), ("away", "real"), ("real", "away"), ("kept", "real")):
                os.rename(before, after)

    swapping = threading.Thread(target=swap)
    swapping.start()
    while time.monotonic() < end:
        each(lambda: read("real/secret") or None, lambda: os.close(os.open("real/made", os.O_CREAT | os.O_WRONLY)))
    swapping.join()


def links_of_the_process(world: World) -> None:
    for process in ("self", "1", str(os.getppid()), str(world.pid)):
        for link in ("root", "cwd/../../../../../.."):
            each(lambda process=process, link=link: read(f"/proc/{process}/{link}{world.secret}"))


def programs_of_others(world: World) -> None:
    for pid in {os.getppid(), world.first, world.pid}:
        each(lambda pid=pid: os.readlink(f"/proc/{pid}/exe"), lambda pid=pid: os.listdir(f"/proc/{pid}/fd"))


def replace_the_work_folder(world: World) -> None:
    here = os.getcwd()
    os.rename(here, f"{os.path.dirname(here)}/elsewhere")
    os.symlink(os.path.dirname(world.secret), here)
    write("result", "its own")


def link_the_temporary_folder(world: World) -> None:
    temporary = os.environ["TMPDIR"]
    each(lambda: os.rmdir(temporary), lambda: os.symlink(world.open_folder, temporary))
    each(lambda: write(f"{temporary}/made", "x") and None)
