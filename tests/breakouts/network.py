"""The network, and sockets that lead to others on the machine."""

from __future__ import annotations

import ctypes
import os
import socket
import stat
import struct
import subprocess

from breakouts.inside import World, each, got_out, libc

GREETING = b"hacked"


def connect(world: World) -> None:
    with socket.create_connection(("127.0.0.1", world.tcp_port), 2) as connection:
        connection.sendall(GREETING)
        got_out("connected")


def connect_by_version_6(world: World) -> None:
    for host in ("::1", "::ffff:127.0.0.1"):
        each(lambda host=host: socket.create_connection((host, world.tcp_port), 2))


def send_a_datagram(world: World) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(GREETING, ("127.0.0.1", world.udp_port))


def send_with_the_first_packet(world: World) -> None:
    with socket.socket() as sender:
        sender.sendto(GREETING, 0x20000000, ("127.0.0.1", world.tcp_port))  # MSG_FASTOPEN needs no connect
        got_out("sent")


def connect_to_a_path(world: World) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(world.stream)
        got_out("connected")


def send_to_a_path(world: World) -> None:
    each(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(GREETING, world.datagram))
    pair = (ctypes.c_int * 2)()
    address = struct.pack("H", 1) + os.fsencode(world.datagram) + b"\0"
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC):
        if libc.socketpair(1, int(kind), 0, pair) == 0:
            libc.sendto(pair[0], GREETING, len(GREETING), 0, address, len(address))


def connect_without_a_path(world: World) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(f"\0{world.abstract}")
        got_out("connected")


def open_raw_sockets(world: World) -> None:
    each(
        lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58),
        lambda: socket.socket(17, socket.SOCK_RAW, 0x0300),  # AF_PACKET
    )


def reach_the_host(world: World) -> None:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        each(lambda kind=kind: socket.socket(40, kind))  # AF_VSOCK


def other_families(world: World) -> None:
    known = {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}
    for family in set(range(64)) - known:
        for kind in (1, 2, 3, 4, 5):
            each(lambda family=family, kind=kind: socket.socket(family, kind))


def listen_to_the_kernel(world: World) -> None:
    for protocol in range(1, 24):  # all of Netlink but routing
        each(lambda protocol=protocol: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol))


def change_the_interfaces(world: World) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as routing:
        routing.bind((0, 0))
        change = struct.pack("=IHHII BxHiII", 32, 16, 5, 1, 0, 0, 0, 1, 0, 1)  # RTM_NEWLINK: the first one down
        routing.send(change)
        routing.settimeout(2)
        error = struct.unpack_from("=i", routing.recv(4096), 16)[0]
        if error == 0:
            got_out("an interface was changed")


def use_an_inherited_socket(world: World) -> None:
    for number in range(3, 1024):
        each(lambda number=number: f"inherited {number}" if stat.S_ISSOCK(os.fstat(number).st_mode) else None)


def let_the_shell_connect(world: World) -> None:
    line = ["bash", "-c", f"echo hacked > /dev/tcp/127.0.0.1/{world.tcp_port}"]
    if subprocess.run(line, capture_output=True, check=False, timeout=5).returncode == 0:
        got_out("connected")
