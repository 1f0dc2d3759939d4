//! What a receiver refuses, when it can know, and what it ignores.

use crate::common::{CLIENT_FRAMES, SERVER_FRAMES, bytes_of_client, bytes_of_server};
use tailwater_core::{MethodId, RequestId, Stamp};
use tailwater_wire::{
    ClientFrame, DecodeError, FrameKind, Goodbye, GoodbyeCode, Limits, Request, ServerFrame, Side,
    decode_from_client, decode_from_server, needed,
};

fn limits() -> Limits {
    Limits::new(Limits::FLOOR)
}

fn prefix(len: u32, kind: u8, code: u16) -> Vec<u8> {
    let mut bytes = len.to_le_bytes().to_vec();
    bytes.extend_from_slice(&[kind, 0]);
    bytes.extend_from_slice(&code.to_le_bytes());
    bytes
}

#[test]
fn a_frame_cut_anywhere_waits_for_exactly_the_rest() {
    for (_, frame) in &CLIENT_FRAMES {
        let bytes = bytes_of_client(frame);
        for cut in 0..bytes.len() {
            assert_eq!(
                decode_from_client(&bytes[..cut], &limits()),
                Ok(None),
                "{frame:?} at {cut}"
            );
            let more = if cut < 8 { 8 } else { bytes.len() };
            assert_eq!(needed(&bytes[..cut], Side::Client, &limits()), Ok(more));
        }
    }
    for (_, frame) in &SERVER_FRAMES {
        let bytes = bytes_of_server(frame);
        for cut in 0..bytes.len() {
            assert_eq!(
                decode_from_server(&bytes[..cut], &limits()),
                Ok(None),
                "{frame:?} at {cut}"
            );
        }
    }
}

#[test]
fn frames_follow_each_other_without_a_gap() {
    let mut bytes: Vec<u8> =
        CLIENT_FRAMES.iter().flat_map(|(_, frame)| bytes_of_client(frame)).collect();
    let first = bytes.len();
    bytes.extend_from_within(..first);
    bytes.truncate(2 * first - 1);
    let (mut rest, mut found) = (&bytes[..], 0);
    while let Some((frame, consumed)) = decode_from_client(rest, &limits()).expect("our own bytes")
    {
        assert_eq!(frame, CLIENT_FRAMES[found % CLIENT_FRAMES.len()].1);
        rest = &rest[consumed..];
        found += 1;
    }
    assert_eq!(found, 2 * CLIENT_FRAMES.len() - 1, "the last one lacks a byte");
}

#[test]
fn a_wrong_length_is_refused_as_soon_as_the_prefix_is_there() {
    for kind in FrameKind::ALL {
        let from = if kind.comes_from(Side::Client) { Side::Client } else { Side::Server };
        let least = u32::try_from(kind.header_len()).unwrap();
        let most = u32::try_from(limits().frame_max(kind)).unwrap();
        let ask = |len| needed(&prefix(len, kind as u8, 1), from, &limits());
        for found in [0, 7, least - 1] {
            assert_eq!(ask(found), Err(DecodeError::TooShort { kind, found, needed: least }));
        }
        for found in [most + 1, u32::MAX] {
            assert_eq!(ask(found), Err(DecodeError::TooLong { kind, found, max: most }));
        }
        assert_eq!(ask(least), Ok(kind.header_len()));
        assert_eq!(ask(most), Ok(limits().frame_max(kind)));
    }
}

#[test]
fn an_unknown_kind_is_refused_even_with_a_fair_length() {
    for found in [0, 13, 255] {
        let bytes = prefix(8, found, 0);
        let error = decode_from_client(&bytes, &limits()).unwrap_err();
        assert_eq!(error, DecodeError::UnknownKind { found });
        assert_eq!((error.offset(), error.goodbye_code()), (4, GoodbyeCode::Malformed));
    }
}

#[test]
fn neither_side_accepts_its_own_frames() {
    for (_, frame) in CLIENT_FRAMES.iter().filter(|(name, _)| *name != "goodbye") {
        let error = decode_from_server(&bytes_of_client(frame), &limits()).unwrap_err();
        assert!(matches!(error, DecodeError::WrongDirection { from: Side::Server, .. }));
        assert_eq!(error.goodbye_code(), GoodbyeCode::Protocol);
        let prefix = &bytes_of_client(frame)[..8];
        assert_eq!(needed(prefix, Side::Server, &limits()), Err(error), "known by its prefix");
    }
    let both = ["ping", "pong", "goodbye-counted"];
    for (_, frame) in SERVER_FRAMES.iter().filter(|(name, _)| !both.contains(name)) {
        let error = decode_from_client(&bytes_of_server(frame), &limits()).unwrap_err();
        assert!(matches!(error, DecodeError::WrongDirection { from: Side::Client, .. }));
    }
}

#[test]
fn strangers_are_recognised_by_their_first_bytes() {
    let http = decode_from_client(b"GET / HTTP/1.1\r\n", &limits()).unwrap_err();
    assert_eq!(http, DecodeError::UnknownKind { found: b'/' });
    let mut hello = bytes_of_client(&CLIENT_FRAMES[0].1);
    hello[8] = b'X';
    let error = decode_from_client(&hello, &limits()).unwrap_err();
    assert_eq!(error, DecodeError::BadMagic { found: u32::from_le_bytes(*b"XWTR") });
    assert_eq!((error.offset(), error.goodbye_code()), (8, GoodbyeCode::Malformed));
}

#[test]
fn a_client_refuses_a_version_that_it_does_not_speak() {
    let mut welcome = bytes_of_server(&SERVER_FRAMES[0].1);
    welcome[6] = 3;
    let error = decode_from_server(&welcome, &limits()).unwrap_err();
    assert_eq!(error, DecodeError::UnknownVersion { found: 3 });
    assert_eq!(error.goodbye_code(), GoodbyeCode::VersionUnsupported);
}

#[test]
fn a_later_hello_may_be_longer() {
    let mut hello = bytes_of_client(&CLIENT_FRAMES[0].1);
    hello.extend_from_slice(&[7; 12]);
    hello[0] += 12;
    let (frame, consumed) = decode_from_client(&hello, &limits()).unwrap().expect("it is whole");
    assert_eq!((frame, consumed), (CLIENT_FRAMES[0].1, hello.len()));
}

#[test]
fn reserved_bytes_and_unknown_flags_are_ignored() {
    let mut bytes = bytes_of_client(&CLIENT_FRAMES[1].1);
    bytes[5] |= 0xfe;
    bytes[45..48].fill(0xff);
    let (frame, _) = decode_from_client(&bytes, &limits()).unwrap().expect("it is whole");
    assert_eq!(frame, CLIENT_FRAMES[1].1);
}

#[test]
fn a_goodbye_keeps_its_code_and_the_text_before_the_first_bad_byte() {
    let mut bytes = prefix(13, FrameKind::Goodbye as u8, 8);
    bytes.extend_from_slice(b"by\xffe!");
    let expected = Goodbye::new(GoodbyeCode::Idle, "by");
    let found = decode_from_server(&bytes, &limits()).unwrap();
    assert_eq!(found, Some((ServerFrame::Goodbye(expected), 13)));
    let found = decode_from_client(&bytes, &limits()).unwrap();
    assert_eq!(found, Some((ClientFrame::Goodbye(expected), 13)));
}

#[test]
fn the_largest_payload_passes_and_one_byte_more_writes_nothing() {
    let payload = vec![0; limits().request_payload_max() + 1];
    let mut request = Request {
        id: RequestId(1),
        method: MethodId(1),
        register: false,
        demand: 0,
        acked: 0,
        echo: None,
        sent_at: Stamp(0),
        budget_us: 0,
        tenant: 0,
        priority: 128,
        payload: &payload,
    };
    let mut out = vec![9];
    let error = request.encode(&limits(), &mut out).unwrap_err();
    assert_eq!((error.found, error.max), (4049, 4048));
    assert_eq!(out, [9]);
    request.payload = &payload[1..];
    request.encode(&limits(), &mut out).expect("it fits exactly");
    assert_eq!(out.len(), 1 + 4096);
    assert!(decode_from_client(&out[1..], &limits()).unwrap().is_some());
    assert_eq!(limits().response_payload_max(), 4056);
}
