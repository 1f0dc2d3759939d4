"""A session on a socket: reads while it writes, and waits for a condition."""

import selectors
import socket
import time

from session import SECOND_NS, Session

PATIENCE_S = 120


class Gone(Exception):
    """The server closed the connection."""


class Connection:
    def __init__(self, address, **options):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host.strip("[]"), int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.socket, selectors.EVENT_READ)
        self.session = Session(**options)
        self.events = []
        self.ended = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.selector.close()
        self.socket.close()

    def submit(self, method, payload=b"", **options):
        call, events = self.session.submit(time.monotonic_ns(), method, payload, **options)
        self.events += events
        return call

    def call(self, method, payload=b"", **options):
        """Submits one call and waits for its end."""
        call = self.submit(method, payload, **options)
        self.until(lambda: call.answer, f"the answer of call {call.id}")
        return call

    def until(self, holds, what):
        """Talks until `holds()`, generously."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if self.ended:
                raise Gone(f"the server closed before {what}; goodbye: {self.session.goodbye}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"no sign of {what} for {PATIENCE_S} s")
            self.turn(1)

    def turn(self, timeout_s):
        """Sends and receives what can be at once; waits for that at most so long."""
        now_ns = time.monotonic_ns()
        self.events += self.session.pump(now_ns)
        self._write()
        left_ns = self.session.pause_left_ns(now_ns)
        if left_ns is not None:
            timeout_s = min(timeout_s, left_ns / SECOND_NS)
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.session.output else 0)
        self.selector.modify(self.socket, wanted)
        for _, ready in self.selector.select(timeout_s):
            if ready & selectors.EVENT_READ:
                self._read()
        self._write()

    def _read(self):
        try:
            data = self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        self.ended = not data
        self.events += self.session.receive(time.monotonic_ns(), data)

    def _write(self):
        # Nothing is sent behind the server's GOODBYE.
        while self.session.output and not self.session.goodbye and not self.ended:
            try:
                sent = self.socket.send(self.session.output)
            except BlockingIOError:
                return
            except ConnectionError:
                # What the server said before it closed is still to be read.
                self.session.output.clear()
                return
            del self.session.output[:sent]
