"""Relay from a port of the sandbox's loopback interface to a Unix socket.

    python -I -S _relay.py SOCKET PORT -- COMMAND ...

Run by the system's Python, inside the sandbox: it imports nothing of ours. TERM is forwarded to the command, INT is
not, since it already reaches the whole group. The status is the command's, 128 + n if signal n ended it, and 127 if it
could not be started. One thread, whatever the number of connections: a sandbox counts processes and threads.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import struct
import sys
import time

PIECE_BYTES = 1 << 16
NOT_STARTED = 127
PAUSE_SECONDS = 0.05
RESET_MARK = b"!"
"""Byte with which the metering proxy sends a file: not data, but the sign to reset the agent's connection."""
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class ByteStream:
    """One direction of a connection: what was read of one side and is not with the other yet."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source, self.target = source, target
        self.waiting = b""
        self.is_open = True
        self.is_reset = False

    def move(self, events: int, other_events: int) -> None:
        """Reads when there is something to read and nothing waits; writes what waits."""
        if events & selectors.EVENT_READ and not self.waiting and self.is_open:
            self.waiting = self._received()
            if not self.waiting:
                self.is_open = False
                if not self.is_reset:
                    self.target.shutdown(socket.SHUT_WR)
            other_events |= selectors.EVENT_WRITE  # mostly it can be written at once; if not, it waits
        if self.waiting and other_events & selectors.EVENT_WRITE:
            try:
                self.waiting = self.waiting[self.target.send(self.waiting) :]
            except BlockingIOError:
                return
        if self.is_reset and not self.waiting:
            self.target.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise ConnectionResetError  # both sides are closed, the agent's with a reset

    def _received(self) -> bytes:
        """What was read. A file that comes with it says that the endpoint reset its connection after all of it."""
        if self.source.family != socket.AF_UNIX:
            return self.source.recv(PIECE_BYTES)
        data, files, _, _ = socket.recv_fds(self.source, PIECE_BYTES, 1)
        for file in files:
            os.close(file)
        if not files:
            return data
        self.is_reset, self.is_open = True, False
        return data[: -len(RESET_MARK)]


class Relay:
    """The port, the socket behind it, and the connections between them."""

    def __init__(self, path: str, port: int) -> None:
        self.path = path
        self.selector = selectors.DefaultSelector()
        self.listening = socket.create_server(("127.0.0.1", port), backlog=128)
        self.listening.setblocking(False)
        self.selector.register(self.listening, selectors.EVENT_READ)

    def turn(self) -> None:
        """Waits until something happens, and does it."""
        for key, events in self.selector.select():
            if key.fileobj is self.listening:
                self._accept()
            elif isinstance(key.data, tuple):
                self._move(key.data, key.fileobj, events)
            else:
                os.read(key.fd, PIECE_BYTES)  # a signal arrived, and its handler has run

    def _accept(self) -> None:
        try:
            agent, _ = self.listening.accept()
        except OSError:  # no file is left: those that are open go on, and the new one waits
            time.sleep(PAUSE_SECONDS)
            return
        try:
            proxy = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            proxy.connect(self.path)
        except OSError:  # the metering proxy is gone, or no file is left
            agent.close()
            return
        agent.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ways = (ByteStream(agent, proxy), ByteStream(proxy, agent))
        for end in (agent, proxy):
            end.setblocking(False)
            self.selector.register(end, selectors.EVENT_READ, ways)

    def _move(self, ways: tuple[ByteStream, ByteStream], ready: object, events: int) -> None:
        try:
            for way in ways:
                way.move(events if way.source is ready else 0, events if way.target is ready else 0)
        except OSError:
            self._forget(ways)
            return
        if not any(way.is_open or way.waiting for way in ways):
            self._forget(ways)
            return
        for way, back in (ways, reversed(ways)):
            wanted = selectors.EVENT_READ if way.is_open and not way.waiting else 0
            wanted |= selectors.EVENT_WRITE if back.waiting else 0
            self._want(way.source, wanted, ways)

    def _want(self, end: socket.socket, events: int, ways: tuple[ByteStream, ByteStream]) -> None:
        is_known = end in self.selector.get_map()
        if events and is_known:
            self.selector.modify(end, events, ways)
        elif events:
            self.selector.register(end, events, ways)
        elif is_known:
            self.selector.unregister(end)

    def _forget(self, ways: tuple[ByteStream, ByteStream]) -> None:
        for way in ways:
            if way.source in self.selector.get_map():
                self.selector.unregister(way.source)
            way.source.close()


def main(path: str, port: int, command: list[str]) -> int:
    """Run the command alongside the relay; return its status."""
    relay = Relay(path, port)
    woken, waking = socket.socketpair()
    waking.setblocking(False)
    signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
    relay.selector.register(woken, selectors.EVENT_READ)
    for number in (signal.SIGCHLD, signal.SIGINT):  # handled, not ignored: the command would inherit that
        signal.signal(number, lambda *_: None)
    try:
        child = os.posix_spawnp(command[0], command, os.environ, setsigdef=IGNORED_BY_PYTHON)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return NOT_STARTED
    signal.signal(signal.SIGTERM, lambda received, _: os.kill(child, received))
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        relay.turn()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[4:]))
