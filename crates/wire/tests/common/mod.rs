//! One value of every frame: the ones whose bytes stand in `docs/protocol.md`.

use tailwater_core::{MethodId, Pause, RequestId, Stamp};
use tailwater_wire::{
    Cancel, ClientFrame, Credit, Demand, Deregister, Echo, Goodbye, Grant, Hello, Limits, Ping,
    Pong, Reject, ReplyHead, Request, Response, ServerFrame, Welcome,
};

/// What a client sends, by name.
pub(crate) const CLIENT_FRAMES: [(&str, ClientFrame<'_>); 7] = [
    (
        "hello",
        ClientFrame::Hello(Hello {
            version_min: 2,
            version_max: 2,
            features: 0,
            max_frame: 1 << 20,
            client_id: 0x1122_3344_5566_7788,
            tenant: 7,
        }),
    ),
    ("request", ClientFrame::Request(REQUEST)),
    (
        "request-bare",
        ClientFrame::Request(Request {
            register: false,
            demand: 0,
            echo: None,
            budget_us: 0,
            tenant: 0,
            payload: b"",
            ..REQUEST
        }),
    ),
    ("demand", ClientFrame::Demand(Demand { demand: 12, acked: 41 })),
    ("deregister", ClientFrame::Deregister(Deregister)),
    ("cancel", ClientFrame::Cancel(Cancel { id: RequestId(0x0102_0304_0506_0708) })),
    ("goodbye", ClientFrame::Goodbye(Goodbye { code: 1, text: "bye", taken: None })),
];

/// What a server sends, by name.
pub(crate) const SERVER_FRAMES: [(&str, ServerFrame<'_>); 7] = [
    (
        "welcome",
        ServerFrame::Welcome(Welcome {
            version: 2,
            features: 0,
            max_frame: 1 << 16,
            session: 9,
            grant: Grant { window: 1, seq: 40, level: 0, pause: Pause::NONE },
            slo_us: 400,
            stamp: Stamp(0x0403_0201),
        }),
    ),
    ("response", ServerFrame::Response(Response { head: HEAD, status: 0, payload: b"pong" })),
    ("reject", ServerFrame::Reject(Reject { head: HEAD, reason: 1 })),
    (
        "credit",
        ServerFrame::Credit(Credit {
            grant: Grant { window: 2, seq: 43, level: 5, pause: Pause(63) },
            stamp: Stamp(0x0403_0201),
        }),
    ),
    ("ping", ServerFrame::Ping(Ping { token: 0x0102_0304_0506_0708 })),
    ("pong", ServerFrame::Pong(Pong { token: 0x0102_0304_0506_0708 })),
    ("goodbye-counted", ServerFrame::Goodbye(Goodbye { code: 2, text: "restart", taken: Some(7) })),
];

const REQUEST: Request<'static> = Request {
    id: RequestId(0x0102_0304_0506_0708),
    method: MethodId(0x2a),
    register: true,
    demand: 3,
    acked: 41,
    echo: Some(Echo { stamp: Stamp(0x0403_0201), hold_ns: 5000 }),
    sent_at: Stamp(0x0d0c_0b0a),
    budget_us: 400,
    tenant: 7,
    priority: 128,
    payload: b"ping",
};

const HEAD: ReplyHead = ReplyHead {
    id: RequestId(0x0102_0304_0506_0708),
    grant: Grant { window: 5, seq: 42, level: 0, pause: Pause::NONE },
    stamp: Stamp(0x0807_0605),
    sojourn_ns: 12_000,
    waited_ns: 2_000,
};

/// Its bytes.
pub(crate) fn bytes_of_client(frame: &ClientFrame<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(&Limits::default(), &mut bytes).expect("a short payload");
    bytes
}

/// Its bytes.
pub(crate) fn bytes_of_server(frame: &ServerFrame<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(&Limits::default(), &mut bytes).expect("a short payload");
    bytes
}
