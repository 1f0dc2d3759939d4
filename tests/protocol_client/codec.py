"""Frames to bytes and back, as the tables of docs/protocol.md have them.

A frame is a dictionary: "kind" by its name, and the fields by theirs. Nothing here keeps state.
"""

import struct

HEADER = struct.Struct("<IBBH")
ALWAYS_ACCEPTED = 4096
REGISTER = 1
COUNTED = 1
NO_ECHO = 0xFFFFFFFF

REASONS = {1: "delay", 2: "deadline", 3: "no-credit", 4: "priority", 5: "limit", 6: "lock",
           7: "queue-full", 8: "draining", 9: "cancelled",
           10: "cost", 11: "unavailable"}
GOODBYES = {1: "done", 2: "draining", 3: "version-unsupported", 4: "malformed", 5: "frame-too-large",
            6: "protocol", 7: "no-credit", 8: "idle", 9: "too-many-connections", 10: "slow-reader",
            11: "internal"}

CLIENT, SERVER = "client", "server"

# kind: (name, senders, body, its fields, what the code is called, what stands behind the body)
_REPLY = ("QIIIIIHH", "id window seq stamp sojourn_ns waited_ns level pause")
LAYOUTS = {
    1: ("HELLO", CLIENT, ("4sHHIIQI", "magic version_min version_max features max_frame client_id tenant"),
        None, "later"),
    2: ("WELCOME", SERVER, ("IIIIIIIHH", "features max_frame session window seq slo_us stamp level pause"),
        "version", None),
    3: ("REQUEST", CLIENT, ("QIIIIIIIB3s", "id demand acked echo_stamp hold_ns sent_at budget_us tenant "
                            "priority reserved"), "method", "payload"),
    4: ("RESPONSE", SERVER, _REPLY, "status", "payload"),
    5: ("REJECT", SERVER, _REPLY, "reason", None),
    6: ("CREDIT", SERVER, ("IIIHH", "window seq stamp level pause"), None, None),
    7: ("DEMAND", CLIENT, ("II", "demand acked"), None, None),
    8: ("DEREGISTER", CLIENT, ("", ""), None, None),
    9: ("GOODBYE", CLIENT + SERVER, ("", ""), "why", "text"),
    10: ("CANCEL", CLIENT, ("Q", "id"), None, None),
    11: ("PING", CLIENT + SERVER, ("Q", "token"), None, None),
    12: ("PONG", CLIENT + SERVER, ("Q", "token"), None, None),
}
NUMBERS = {layout[0]: number for number, layout in LAYOUTS.items()}
BODIES = {number: struct.Struct("<" + layout[2][0]) for number, layout in LAYOUTS.items()}
MOST_BEHIND = {"HELLO": ALWAYS_ACCEPTED - 36, "GOODBYE": 264}


class Malformed(Exception):
    """Bytes that end a connection; its argument is the name of the GOODBYE."""


def encode(kind, flags=0, **fields):
    """The bytes of one frame. Fields that are not given are zero."""
    number = NUMBERS[kind]
    _, _, (format_, names), code_name, behind = LAYOUTS[number]
    code = fields.pop(code_name, 0) if code_name else 0
    tail = fields.pop(behind, b"") if behind else b""
    if kind == "GOODBYE" and flags & COUNTED:
        tail = struct.pack("<Q", fields.pop("taken")) + tail
    empty = {"magic": b"TWTR", "reserved": b"\0\0\0" if "3s" in format_ else 0}
    values = [fields.pop(name, empty.get(name, 0)) for name in names.split()]
    if fields:
        raise TypeError(f"{kind} has no {', '.join(fields)}")
    body = BODIES[number].pack(*values) + tail
    return HEADER.pack(HEADER.size + len(body), number, flags, code) + body


def decode(data, sender, max_frame):
    """The first frame of `data` and its length, or None if more bytes are needed."""
    if len(data) < HEADER.size:
        return None
    length, number, flags, code = HEADER.unpack_from(data)
    if number not in LAYOUTS:
        raise Malformed("malformed")
    kind, senders, (_, names), code_name, behind = LAYOUTS[number]
    least = HEADER.size + BODIES[number].size
    if length < least or (length > least + MOST_BEHIND.get(kind, 0) and behind != "payload"):
        raise Malformed("malformed")
    if length > max(max_frame, ALWAYS_ACCEPTED):
        raise Malformed("frame-too-large")
    if sender not in senders:
        raise Malformed("protocol")
    if len(data) < length:
        return None
    values = BODIES[number].unpack_from(data, HEADER.size)
    frame = {"kind": kind, "flags": flags, **dict(zip(names.split(), values))}
    frame.pop("reserved", None)
    if code_name:
        frame[code_name] = code
    if behind:
        frame[behind] = bytes(data[least:length])
    return (_goodbye(frame) if kind == "GOODBYE" else frame), length


def _goodbye(frame):
    if frame["flags"] & COUNTED:
        if len(frame["text"]) < 8:
            raise Malformed("malformed")
        (frame["taken"],) = struct.unpack_from("<Q", frame["text"])
        frame["text"] = frame["text"][8:]
    if len(frame["text"]) > 256:
        raise Malformed("malformed")
    return frame
