"""Files outside: reading, changing, making and removing them."""

from __future__ import annotations

import ctypes
import mmap
import os
import stat
import subprocess

from breakouts.inside import World, checked, each, got_out, libc, read, system_call, write


def read_a_file(world: World) -> None:
    got_out(read(world.secret))


def read_from_an_open_root(world: World) -> None:
    root = os.open("/", os.O_PATH | os.O_DIRECTORY)
    got_out(read(os.open(world.secret.lstrip("/"), os.O_RDONLY, dir_fd=root)))


def open_again_what_was_opened_as_a_path(world: World) -> None:
    place = os.open(world.secret, os.O_PATH)
    each(lambda: read(f"/proc/self/fd/{place}"), lambda: read(f"/dev/fd/{place}"))


def map_a_file(world: World) -> None:
    with open(world.secret, "rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        got_out(mapped[:])


def overwrite(world: World) -> None:
    each(lambda: write(world.anyones, "hacked"), lambda: open(world.anyones, "r+").write("hacked"))


def append(world: World) -> None:
    with open(world.anyones, "a") as opened:
        opened.write("hacked")


def truncate(world: World) -> None:
    each(lambda: os.truncate(world.anyones, 0), lambda: os.close(os.open(world.anyones, os.O_RDWR | os.O_TRUNC)))


def make_a_file(world: World) -> None:
    each(
        lambda: write(f"{world.open_folder}/made", "x"),
        lambda: os.open(world.open_folder, os.O_TMPFILE | os.O_RDWR, 0o600),
        lambda: os.mkdir(f"{world.open_folder}/made-folder"),
        lambda: os.mkfifo(f"{world.open_folder}/made-fifo"),
        lambda: os.symlink("x", f"{world.open_folder}/made-link"),
    )


def move_a_file_out(world: World) -> None:
    open("own", "w").close()
    each(
        lambda: os.rename("own", f"{world.open_folder}/moved"),
        lambda: os.link("own", f"{world.open_folder}/linked"),
    )


def move_a_file_in(world: World) -> None:
    each(lambda: os.link(world.secret, "linked"), lambda: os.rename(world.anyones, "moved"))
    each(lambda: read("linked"), lambda: read("moved"))


def exchange_two_files(world: World) -> None:
    open("own", "w").close()
    system_call(world, "renameat2", -100, b"own", -100, os.fsencode(world.anyones), 2)
    got_out("a file outside was exchanged")


def remove(world: World) -> None:
    each(lambda: os.unlink(world.anyones), lambda: os.rmdir(world.open_folder), lambda: os.unlink(world.fifo))


def change_modes(world: World) -> None:
    each(
        lambda: os.chmod(world.anyones, 0o600),
        lambda: os.chown(world.anyones, os.getuid(), -1),
        lambda: os.chmod(world.open_folder, 0o700),
    )


def change_times(world: World) -> None:
    each(lambda: os.utime(world.anyones, (1, 1)), lambda: os.utime(world.secret, (1, 1)))


def set_times_to_now(world: World) -> None:
    each(lambda: os.utime(world.anyones), lambda: os.utime(world.open_folder))


def change_attributes(world: World) -> None:
    each(
        lambda: os.setxattr(world.anyones, "user.hacked", b"x"),
        lambda: os.setxattr(world.anyones, "user.kept", b"hacked"),
        lambda: os.removexattr(world.anyones, "user.kept"),
    )


def read_attributes(world: World) -> None:
    each(lambda: os.getxattr(world.anyones, "user.kept"), lambda: os.listxattr(world.anyones) or None)


def write_into_the_system(world: World) -> None:
    for place in ("", "/usr", "/usr/local/bin", "/etc", "/var/tmp", "/root", "/home", "/srv", "/opt", "/dev", "/run"):
        each(lambda place=place: write(f"{place}/steelyard-was-here", "x"))


def read_what_is_roots(world: World) -> None:
    places = ("/etc/shadow", "/etc/passwd", "/root/.bashrc", "/root/.profile", "/var/log/dpkg.log", "/boot/config")
    for place in places:
        each(lambda place=place: read(place) or None)


def start_a_program_outside(world: World) -> None:
    each(lambda: subprocess.run([world.program], capture_output=True, check=True).stdout)


def start_it_by_the_dynamic_loader(world: World) -> None:
    for loader in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"):
        each(lambda loader=loader: subprocess.run([loader, world.program], capture_output=True, check=True).stdout)


def open_by_a_handle(world: World) -> None:
    handle = ctypes.create_string_buffer(b"\x80\0\0\0", 136)
    mount = ctypes.c_int()
    checked(libc.name_to_handle_at(-100, os.fsencode(world.secret), handle, ctypes.byref(mount), 0))
    got_out(read(checked(libc.open_by_handle_at(os.open("/", os.O_RDONLY), handle, 0))))


def make_devices(world: World) -> None:
    for number, kind in enumerate((stat.S_IFBLK, stat.S_IFCHR)):
        each(lambda number=number, kind=kind: os.mknod(f"device{number}", kind | 0o666, os.makedev(8 - 7 * number, 0)))
    each(lambda: read("device0"), lambda: read("device1"))


def write_to_devices(world: World) -> None:
    for name in ("mem", "kmem", "port", "kmsg", "sda", "vda", "nvme0n1", "tty", "console", "fuse", "kvm", "vsock"):
        each(lambda name=name: f"opened /dev/{name}" if os.open(f"/dev/{name}", os.O_RDWR) is not None else None)


def change_to_another_root(world: World) -> None:
    os.chroot(os.path.dirname(world.secret))
    got_out("another root")


def write_to_a_pipe(world: World) -> None:
    with open(os.open(world.fifo, os.O_WRONLY | os.O_NONBLOCK), "w") as opened:
        opened.write("hacked")
    got_out("a pipe outside was written to")
