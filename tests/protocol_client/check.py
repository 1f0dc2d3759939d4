"""Checks a server of `tailwater serve` against docs/protocol.md.

    check.py CHECK,… ADDRESS [PID]    with PID the server's process, which `drain` ends
    check.py examples PAGE            the page's examples, without a server

Prints a line for each check that holds; the first that does not ends it with a traceback.
"""

import itertools
import os
import random
import re
import signal
import struct
import sys

import codec
from connection import Connection
from session import Levels, is_older

ECHO, SPIN, SLEEP = 1, 2, 3
# What a server may refuse that is short of something. Not no-credit: this client obeys.
LAWFUL = {"delay", "deadline", "priority", "limit", "lock", "queue-full"}
CLASS_BITS, USER_BITS = 2, 6


def need(holds, *found):
    if not holds:
        raise AssertionError(*found)


def work(micros, tag=0):
    return struct.pack("<II", micros * 1000, tag)


def watch(connection):
    """Checks what every connection has heard: numbers of windows, times, each answer once."""
    known, seq, answered = {}, None, set()
    for kind, event in connection.events:
        if kind == "window":
            need(seq is None or not is_older(event["seq"], seq), "seq went back", seq, event)
            seq = event["seq"]
            need(known.setdefault(seq, event["window"]) == event["window"], "two windows", event)
        elif kind == "answer":
            need(event.id not in answered, "answered twice", event.id)
            answered.add(event.id)
            times = event.answer["waited_ns"], event.answer["sojourn_ns"], event.elapsed_ns
            need(times == tuple(sorted(times)), "waited, sojourn, elapsed", times)
            need(event.reason is None or event.reason in LAWFUL | {"cancelled", "draining"}, event.reason)
        need(kind != "unknown", "an answer to no call", event)


def served(connection, method, payload):
    """The result of a call that is repeated when it is refused."""
    for _ in range(1000):
        call = connection.call(method, payload)
        if call.reason is None:
            return call
    raise AssertionError("refused a thousand times", call.reason)


def examples(page):
    """Every example of the page is decoded, and encoded to the same bytes."""
    with open(page, encoding="utf-8") as file:
        blocks = re.findall(r"```hex [a-z-]+\n(.*?)```", file.read(), re.S)
    text = "\n".join(re.sub(r"#.*", "", block) for block in blocks)
    data, count = bytes.fromhex("".join(text.split())), 0
    while data:
        sender = codec.LAYOUTS[data[4]][1].removeprefix(codec.CLIENT) or codec.CLIENT
        frame, length = codec.decode(data, sender, 1 << 20)
        need(codec.encode(**frame) == data[:length], frame)
        data, count = data[length:], count + 1
    need(count >= 20, "examples", count)


def echoes(connect):
    """Echoes of 0 bytes to the longest frame."""
    with connect() as connection:
        connection.until(lambda: connection.session.welcome, "WELCOME")
        most = connection.session.max_frame - 48
        for size in (0, 1, 47, 4048, 4049, 65_536, most):
            payload = random.Random(size).randbytes(size)
            need(served(connection, ECHO, payload).result == payload, "echo of", size)
        watch(connection)


def statuses(connect):
    """The statuses of the application and of the runtime."""
    with connect() as connection:
        need(served(connection, SLEEP, b"abc").answer["status"] == 400, "too short")
        need(served(connection, 999, b"").answer["status"] == 0xFF01, "unknown method")
        watch(connection)


def pipelining(connect):
    """A thousand calls at once on each of four connections, all sent before WELCOME where allowed."""
    connections = [connect() for _ in range(4)]
    calls = [(each.submit(ECHO, work(0, tag)), work(0, tag)) for each in connections for tag in range(1000)]
    finish(connections, len(calls))
    right = sum(call.result == payload for call, payload in calls)
    refused = sum(call.reason in LAWFUL for call, _ in calls)
    need(right > 0 and right + refused == len(calls), right, refused, len(calls))
    close(connections)


def finish(connections, count):
    """Until so many calls in all have an answer or were dropped here."""
    for each in itertools.cycle(connections):
        ends = [kind for one in connections for kind, _ in one.events if kind in ("answer", "dropped")]
        if len(ends) >= count:
            break
        need(not each.ended, "the server closed", each.session.goodbye)
        each.turn(0.001)


def close(connections):
    for connection in connections:
        watch(connection)
        connection.__exit__()


def cycles(connect):
    """Fifty times DEREGISTER and REGISTER: no call is refused for want of credit."""
    with connect() as connection:
        for tag in range(50):
            call = served(connection, ECHO, work(0, tag))
            need(call.result == work(0, tag) and connection.session.window == call.answer["window"])
            need(connection.session.deregister(), "nothing is outstanding")
        watch(connection)


def overload(connect):
    """Four times 250 calls of 200 µs at once: each is answered once, or dropped by its level."""
    connections = [connect() for _ in range(4)]
    calls = [each.submit(SPIN, work(200, tag), budget_us=60_000_000)
             for each in connections for tag in range(250)]
    finish(connections, len(calls))
    need(any(call.result for call in calls), "nothing was served")
    close(connections)


def pauses(connect):
    """Breakwater asks for pauses in overload; calls that wait for their end are served all the same."""
    connections = [connect() for _ in range(8)]
    for round_ in range(500):
        calls = [each.submit(SPIN, work(200, tag), budget_us=60_000_000)
                 for each in connections for tag in range(40)]
        finish(connections, (round_ + 1) * len(calls))
        heard = [frame["pause"] for each in connections for kind, frame in each.events if kind == "window"]
        if any(heard):
            break
    need(any(heard), "no pause was asked for in 160,000 calls")
    close(connections)


def levels(connect):
    """A client of DAGOR learns the level and drops by it."""
    options = {"levels": Levels(CLASS_BITS, USER_BITS, random.Random(11))}
    connections = [connect(**options) for _ in range(4)]
    calls = []
    for _ in range(500):
        calls += [each.submit(SPIN, work(200), priority=random.choice((0, 64, 128, 255)))
                  for each in connections for _ in range(20)]
        finish(connections, len(calls))
        dropped = [call for each in connections for kind, call in each.events if kind == "dropped"]
        if dropped:
            break
    need(dropped, "no level was learnt in 40,000 calls")
    close(connections)


def cancel(connect):
    """CANCEL ends a call that runs; of an unknown id it changes nothing."""
    with connect() as connection:
        call = connection.submit(SLEEP, work(4_000_000))
        connection.until(lambda: call.place is not None, "a window for the call")
        connection.session.cancel(call)
        connection.session.cancel(call)
        connection.until(lambda: call.answer, "the answer of a call that was cancelled")
        need(call.reason == "cancelled", call.answer)
        need(served(connection, ECHO, b"on").result == b"on")
        watch(connection)


def ping(connect):
    """PING is answered with its token; a PONG out of the blue is ignored."""
    with connect() as connection:
        need(served(connection, ECHO, b"first").result == b"first")
        for token in (0, 7, 2**64 - 1):
            connection.session.ping(token)
            connection.until(lambda: ("pong", token) in connection.events, "PONG")
        connection.session.output += codec.encode("PONG", token=1)
        need(served(connection, ECHO, b"still").result == b"still")
        watch(connection)


def goodbye(connect):
    """The server closes after the client's GOODBYE, and says why it does so itself."""
    with connect() as connection:
        need(served(connection, ECHO, b"").result == b"")
        connection.session.say_goodbye()
        connection.until(lambda: connection.ended, "the end")
    with connect() as connection:
        connection.session.output[:] = codec.encode("DEREGISTER")
        connection.until(lambda: connection.session.goodbye, "GOODBYE")
        need(codec.GOODBYES[connection.session.goodbye["why"]] == "protocol")


def drain(connect, pid):
    """What a server has read before it drains is answered; GOODBYE says how much that was."""
    with connect() as connection:
        need(served(connection, ECHO, b"").result == b"")
        calls = [connection.submit(SLEEP, work(300_000, tag)) for tag in range(20)]
        connection.session.ping(1)
        connection.until(lambda: ("pong", 1) in connection.events, "PONG")
        read = [call for call in calls if call.place is not None]
        os.kill(pid, signal.SIGTERM)
        while not connection.session.goodbye:
            if len(connection.session.outstanding) < len(read) + 10:
                calls.append(connection.submit(ECHO, b"late"))
            count = len(connection.events)
            connection.until(lambda: len(connection.events) > count, "the drain's end")
        frame = connection.session.goodbye
        need(codec.GOODBYES[frame["why"]] == "draining" and frame["flags"] & codec.COUNTED, frame)
        need(read and all(call.result or call.reason in LAWFUL for call in read), "what was read")
        for call in calls:
            taken = call.place is not None and call.place < frame["taken"]
            need(taken == (call.answer is not None), call.place, call.answer, frame)
        watch(connection)


def main(names, place, pid=None):
    for name in names.split(","):
        arguments = [place if name == "examples" else lambda **options: Connection(place, **options)]
        globals()[name](*arguments, *([int(pid)] if name == "drain" else []))
        print(f"{name}: holds", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
