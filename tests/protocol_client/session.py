"""One connection's rules without the connection: bytes in, events out. Time is an argument.

Calls are queued by `submit` and written to `output` when the window allows. `receive` returns what
happened, as pairs: ("window", frame) for each frame that carries one, ("answer", Call), ("unknown",
frame) for an answer to no call, ("dropped", Call), ("pong", token), ("goodbye", frame). After an error
of the server's, `receive` raises Malformed.
"""

from collections import deque

import codec

MASK = 0xFFFFFFFF
SECOND_NS = 1_000_000_000
PAUSE_NS = 16_000
RESERVED_METHODS = 0xFF00


def is_older(seq, known):
    """Whether `seq` was given before `known`."""
    return (seq - known) & MASK >= 1 << 31


class Levels:
    """How a DAGOR client uses a priority's eight bits: class above, the user's draw below."""

    def __init__(self, class_bits, user_bits, rng):
        self.class_bits, self.user_bits, self.rng = class_bits, user_bits, rng

    def stamp(self, priority):
        class_ = priority >> (8 - self.class_bits)
        user = self.rng.randrange(1 << self.user_bits)
        return (class_ << self.user_bits | user) << (8 - self.class_bits - self.user_bits)


class Call:
    """One request, and its answer once there is one: the frame that was the RESPONSE or REJECT."""

    def __init__(self, id_, method, payload, priority, budget_us):
        self.id, self.method, self.payload = id_, method, payload
        self.priority, self.budget_us = priority, budget_us
        self.answer, self.place, self.sent_ns, self.elapsed_ns = None, None, None, None

    @property
    def reason(self):
        """The name of the refusal, or None."""
        if self.answer is None or self.answer["kind"] != "REJECT":
            return None
        return codec.REASONS.get(self.answer["reason"], "other")

    @property
    def result(self):
        """The payload of a success, or None."""
        answer = self.answer
        served = answer is not None and answer["kind"] == "RESPONSE" and answer["status"] == 0
        return answer["payload"] if served else None


class Session:
    """The state of one connection at its client."""

    def __init__(self, levels=None):
        hello = codec.encode("HELLO", version_min=2, version_max=2, max_frame=1 << 20)
        self.output, self.levels = bytearray(hello), levels
        self.welcome = self.goodbye = None
        self.max_frame = codec.ALWAYS_ACCEPTED
        self.waiting, self.outstanding = deque(), {}
        self.window, self.seq, self.level = 1, 0, 0
        self.paused_until_ns = 0
        self.registered = False
        self.requests = 0
        self._input, self._next_id, self._stamp = bytearray(), 1, None

    def submit(self, now_ns, method, payload=b"", priority=128, budget_us=0):
        """Queues a call; it goes at once if it may."""
        if self.levels:
            priority = self.levels.stamp(priority)
        call = Call(self._next_id, method, payload, priority, budget_us)
        self._next_id += 1
        self.waiting.append(call)
        return call, self.pump(now_ns)

    def cancel(self, call):
        """Gives up a call that was sent; its answer still comes."""
        self.output += codec.encode("CANCEL", id=call.id)

    def ping(self, token):
        self.output += codec.encode("PING", token=token)

    def deregister(self):
        """Gives the credits back, if nothing is under way."""
        if self.outstanding or self.waiting or not self.registered:
            return False
        self.registered, self.window, self.paused_until_ns = False, 1, 0
        self.output += codec.encode("DEREGISTER")
        return True

    def pause_left_ns(self, now_ns):
        """For how long calls wait for no more than the server's pause to end; None if for something else."""
        left = self.paused_until_ns - now_ns
        return left if self.waiting and left > 0 else None

    def say_goodbye(self):
        self.output += codec.encode("GOODBYE", why=1)

    def receive(self, now_ns, data):
        self._input += data
        events = []
        while found := codec.decode(self._input, codec.SERVER, self.max_frame):
            frame, length = found
            del self._input[:length]
            events += self._on_frame(now_ns, frame)
        return events + self.pump(now_ns)

    def pump(self, now_ns):
        """Sends what may go, and drops what the server would shed by its level."""
        dropped = []
        while self.waiting and self._may_send(now_ns, self.waiting[0]):
            call = self.waiting.popleft()
            if self.level and call.priority >= self.level:
                dropped.append(("dropped", call))
            else:
                self._send(now_ns, call)
        return dropped

    def _may_send(self, now_ns, call):
        size = 48 + len(call.payload)
        # Before WELCOME one short request may go; unregistered, the one that registers.
        early = self.welcome is None and (self.registered or size > codec.ALWAYS_ACCEPTED)
        window = self.window if self.registered else 1
        pauses = now_ns < self.paused_until_ns
        return not (early or pauses or self.goodbye or len(self.outstanding) >= window)

    def _send(self, now_ns, call):
        echo, hold = 0, codec.NO_ECHO
        if self._stamp and now_ns - self._stamp[1] < SECOND_NS:
            echo, hold = self._stamp[0], now_ns - self._stamp[1]
        self._stamp = None
        self.output += codec.encode(
            "REQUEST", flags=0 if self.registered else codec.REGISTER, method=call.method, id=call.id,
            demand=len(self.waiting), acked=self.seq, echo_stamp=echo, hold_ns=hold,
            sent_at=now_ns & MASK, budget_us=call.budget_us, priority=call.priority,
            payload=call.payload)
        self.registered = True
        call.place, call.sent_ns = self.requests, now_ns
        self.requests += 1
        self.outstanding[call.id] = call

    def _on_frame(self, now_ns, frame):
        kind = frame["kind"]
        if self.goodbye or (self.welcome is None and kind not in ("WELCOME", "GOODBYE")):
            raise codec.Malformed("protocol")
        events = []
        if "stamp" in frame:
            self._stamp = (frame["stamp"], now_ns)
            self._on_window(now_ns, frame)
            events.append(("window", frame))
        handler = {"WELCOME": self._on_welcome, "RESPONSE": self._on_answer, "REJECT": self._on_answer,
                   "PING": self._on_ping, "PONG": self._on_pong, "GOODBYE": self._on_goodbye}
        return events + handler[kind](now_ns, frame) if kind in handler else events

    def _on_window(self, now_ns, frame):
        # Between DEREGISTER and the next REGISTER, windows are those that were given back.
        given_back = self.welcome is not None and not self.registered
        if given_back or (frame["kind"] != "WELCOME" and is_older(frame["seq"], self.seq)):
            return
        self.window, self.seq, self.level = frame["window"], frame["seq"], frame["level"]
        if self.registered:
            self.paused_until_ns = now_ns + frame["pause"] * PAUSE_NS

    def _on_welcome(self, _, frame):
        if self.welcome is not None:
            raise codec.Malformed("protocol")
        if frame["version"] != 2:
            raise codec.Malformed("version-unsupported")
        self.welcome, self.max_frame = frame, frame["max_frame"]
        return []

    def _on_answer(self, now_ns, frame):
        call = self.outstanding.pop(frame["id"], None)
        if call is None:
            return [("unknown", frame)]
        call.answer, call.elapsed_ns = frame, now_ns - call.sent_ns
        return [("answer", call)]

    def _on_ping(self, _, frame):
        self.output += codec.encode("PONG", token=frame["token"])
        return []

    def _on_pong(self, _, frame):
        return [("pong", frame["token"])]

    def _on_goodbye(self, _, frame):
        self.goodbye = frame
        return [("goodbye", frame)]
