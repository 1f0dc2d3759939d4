//! Random values and random bytes.

use crate::check;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tailwater_core::{MethodId, Pause, RequestId, Stamp};
use tailwater_wire::{
    Cancel, ClientFrame, Credit, Demand, Deregister, Echo, Goodbye, Grant, Hello, Limits, Ping,
    Pong, Reject, ReplyHead, Request, Response, ServerFrame, Welcome, decode_from_client,
    decode_from_server,
};

proptest! {
    #[test]
    fn requests_come_back(
        (id, method, register, demand, acked) in any::<(u64, u16, bool, u32, u32)>(),
        echo in option::of((any::<u32>(), 0..u32::MAX)),
        (sent_at, budget_us, tenant, priority) in any::<(u32, u32, u32, u8)>(),
        payload in vec(any::<u8>(), 0..200),
        behind in vec(any::<u8>(), 0..20),
    ) {
        let request = Request {
            id: RequestId(id),
            method: MethodId(method),
            register,
            demand,
            acked,
            echo: echo.map(|(stamp, hold_ns)| Echo { stamp: Stamp(stamp), hold_ns }),
            sent_at: Stamp(sent_at),
            budget_us,
            tenant,
            priority,
            payload: &payload,
        };
        from_client(&ClientFrame::Request(request), &behind)?;
    }

    #[test]
    fn other_client_frames_come_back(
        (version_min, version_max, features, max_frame) in any::<(u16, u16, u32, u32)>(),
        (client_id, tenant, demand, acked) in any::<(u64, u32, u32, u32)>(),
        (code, taken) in any::<(u16, Option<u64>)>(),
        text in ".{0,64}",
        behind in vec(any::<u8>(), 0..20),
    ) {
        let hello = Hello { version_min, version_max, features, max_frame, client_id, tenant };
        from_client(&ClientFrame::Hello(hello), &behind)?;
        from_client(&ClientFrame::Demand(Demand { demand, acked }), &behind)?;
        from_client(&ClientFrame::Deregister(Deregister), &behind)?;
        from_client(&ClientFrame::Cancel(Cancel { id: RequestId(client_id) }), &behind)?;
        from_client(&ClientFrame::Ping(Ping { token: client_id }), &behind)?;
        from_client(&ClientFrame::Pong(Pong { token: client_id }), &behind)?;
        from_client(&ClientFrame::Goodbye(Goodbye { code, text: &text, taken }), &behind)?;
    }

    #[test]
    fn server_frames_come_back(
        (id, window, seq, stamp) in any::<(u64, u32, u32, u32)>(),
        (level, pause) in any::<(u16, u16)>(),
        (sojourn_ns, waited_ns, code, features) in any::<(u32, u32, u16, u32)>(),
        taken in any::<Option<u64>>(),
        (max_frame, session, slo_us) in any::<(u32, u32, u32)>(),
        payload in vec(any::<u8>(), 0..200),
        text in ".{0,64}",
        behind in vec(any::<u8>(), 0..20),
    ) {
        let (grant, stamp) = (Grant { window, seq, level, pause: Pause(pause) }, Stamp(stamp));
        let head = ReplyHead { id: RequestId(id), grant, stamp, sojourn_ns, waited_ns };
        let welcome = Welcome { version: 2, features, max_frame, session, grant, slo_us, stamp };
        for frame in [
            ServerFrame::Welcome(welcome),
            ServerFrame::Response(Response { head, status: code, payload: &payload }),
            ServerFrame::Reject(Reject { head, reason: code }),
            ServerFrame::Credit(Credit { grant, stamp }),
            ServerFrame::Ping(Ping { token: id }),
            ServerFrame::Pong(Pong { token: id }),
            ServerFrame::Goodbye(Goodbye { code, text: &text, taken }),
        ] {
            from_server(&frame, &behind)?;
        }
    }

    #[test]
    fn any_bytes_keep_the_promises(bytes in vec(any::<u8>(), 0..300)) {
        check::wire_frame(&bytes);
    }

    /// Random bytes seldom get past the prefix; these always do.
    #[test]
    fn any_body_keeps_the_promises(kind in 0_u8..12, body in vec(any::<u8>(), 0..300)) {
        let len = u32::try_from(body.len() + 5).expect("short");
        let mut bytes = len.to_le_bytes().to_vec();
        bytes.push(kind);
        bytes.extend_from_slice(&body);
        check::wire_frame(&bytes);
    }
}

/// `frame` survives the way, the payload is borrowed, and what stands behind it is left alone.
fn from_client(frame: &ClientFrame<'_>, behind: &[u8]) -> Result<(), TestCaseError> {
    let limits = Limits::default();
    let mut bytes = Vec::new();
    frame.encode(&limits, &mut bytes).expect("a short payload");
    let len = bytes.len();
    bytes.extend_from_slice(behind);
    let (found, consumed) = decode_from_client(&bytes, &limits).unwrap().expect("it is whole");
    prop_assert_eq!(&found, frame);
    prop_assert_eq!(consumed, len);
    if let ClientFrame::Request(request) = found {
        prop_assert_eq!(request.payload.as_ptr(), bytes[48..].as_ptr());
    }
    check::wire_frame(&bytes);
    Ok(())
}

/// As [`from_client`], the other way.
fn from_server(frame: &ServerFrame<'_>, behind: &[u8]) -> Result<(), TestCaseError> {
    let limits = Limits::default();
    let mut bytes = Vec::new();
    frame.encode(&limits, &mut bytes).expect("a short payload");
    let len = bytes.len();
    bytes.extend_from_slice(behind);
    let (found, consumed) = decode_from_server(&bytes, &limits).unwrap().expect("it is whole");
    prop_assert_eq!(&found, frame);
    prop_assert_eq!(consumed, len);
    if let ServerFrame::Response(response) = found {
        prop_assert_eq!(response.payload.as_ptr(), bytes[40..].as_ptr());
    }
    check::wire_frame(&bytes);
    Ok(())
}
