//! The bytes of every frame, kept equal in three places: here, in the code and in
//! `docs/protocol.md`, whose examples are parsed below.

use crate::common::{CLIENT_FRAMES, SERVER_FRAMES, bytes_of_client, bytes_of_server};
use std::fs;
use std::path::Path;
use tailwater_core::{MethodId, Pause, RequestId, Stamp};
use tailwater_wire::{
    ClientFrame, Credit, Demand, Deregister, Echo, Goodbye, GoodbyeCode, Grant, Hello, Limits,
    Reject, ReplyHead, Request, Response, ServerFrame, Welcome, decode_from_client,
    decode_from_server,
};

/// Written by hand from the specification's tables.
const GOLDEN: [(&str, &str); 14] = [
    ("hello", "24000000 01 00 0000 54575452 0200 0200 00000000 00001000 8877665544332211 07000000"),
    (
        "request",
        "34000000 03 01 2a00 0807060504030201 03000000 29000000 01020304 88130000 0a0b0c0d \
         90010000 07000000 80 000000 70696e67",
    ),
    (
        "request-bare",
        "30000000 03 00 2a00 0807060504030201 00000000 29000000 00000000 ffffffff 0a0b0c0d \
         00000000 00000000 80 000000",
    ),
    ("demand", "10000000 07 00 0000 0c000000 29000000"),
    ("deregister", "08000000 08 00 0000"),
    ("goodbye", "0b000000 09 00 0100 627965"),
    ("goodbye-counted", "17000000 09 01 0200 0700000000000000 72657374617274"),
    ("cancel", "10000000 0a 00 0000 0807060504030201"),
    ("ping", "10000000 0b 00 0000 0807060504030201"),
    ("pong", "10000000 0c 00 0000 0807060504030201"),
    (
        "welcome",
        "28000000 02 00 0200 00000000 00000100 09000000 01000000 28000000 90010000 01020304 \
         0000 0000",
    ),
    (
        "response",
        "2c000000 04 00 0000 0807060504030201 05000000 2a000000 05060708 e02e0000 d0070000 \
         0000 0000 706f6e67",
    ),
    (
        "reject",
        "28000000 05 00 0100 0807060504030201 05000000 2a000000 05060708 e02e0000 d0070000 \
         0000 0000",
    ),
    ("credit", "18000000 06 00 0000 02000000 2b000000 01020304 0500 3f00"),
];

#[test]
fn encoding_yields_the_golden_bytes() {
    for (name, hex) in GOLDEN {
        let client = CLIENT_FRAMES.iter().find(|(known, _)| *known == name);
        let server = SERVER_FRAMES.iter().find(|(known, _)| *known == name);
        let bytes = match (client, server) {
            (Some((_, frame)), None) => bytes_of_client(frame),
            (None, Some((_, frame))) => bytes_of_server(frame),
            _ => panic!("{name} must be exactly one frame"),
        };
        assert_eq!(shown(&bytes), shown(&unhex(hex)), "{name}");
    }
    assert_eq!(GOLDEN.len(), CLIENT_FRAMES.len() + SERVER_FRAMES.len());
}

#[test]
fn the_golden_bytes_yield_the_values() {
    let golden = |name| unhex(GOLDEN.iter().find(|(known, _)| *known == name).expect("listed").1);
    for (name, frame) in CLIENT_FRAMES {
        let bytes = golden(name);
        let found = decode_from_client(&bytes, &Limits::default());
        assert_eq!(found, Ok(Some((frame, bytes.len()))));
    }
    for (name, frame) in SERVER_FRAMES {
        let bytes = golden(name);
        let found = decode_from_server(&bytes, &Limits::default());
        assert_eq!(found, Ok(Some((frame, bytes.len()))));
    }
}

#[test]
fn the_specification_shows_the_same_bytes() {
    let page = specification();
    for (name, hex) in GOLDEN {
        let example = block(&page, &format!("hex {name}"));
        assert_eq!(shown(&unhex(&example)), shown(&unhex(hex)), "{name} in docs/protocol.md");
    }
}

#[test]
fn the_specification_names_every_code() {
    let page = specification();
    for code in GoodbyeCode::ALL {
        let row = format!("| {} | {} |", code as u16, code.name());
        assert!(page.contains(&row), "docs/protocol.md lacks the row {row}");
    }
}

/// The worked session: each paragraph is one frame, its first line says who sends it.
#[test]
fn the_worked_session_says_what_it_says() {
    let page = specification();
    let session = block(&page, "hex session");
    let frames: Vec<&str> = session.split("\n\n").collect();
    let expected = worked_session();
    assert_eq!(frames.len(), expected.len());
    for (shown, expected) in frames.into_iter().zip(expected) {
        let (title, hex) = shown.trim().split_once('\n').expect("a title and bytes");
        let bytes = unhex(hex);
        let found = if title.starts_with("# client") {
            decode_from_client(&bytes, &Limits::default()).map(|found| found.map(Sent::by_client))
        } else {
            decode_from_server(&bytes, &Limits::default()).map(|found| found.map(Sent::by_server))
        };
        assert_eq!(found, Ok(Some((expected, bytes.len()))), "{title}");
    }
}

#[derive(PartialEq, Debug)]
enum Sent<'a> {
    Client(ClientFrame<'a>),
    Server(ServerFrame<'a>),
}

impl<'a> Sent<'a> {
    fn by_client((frame, consumed): (ClientFrame<'a>, usize)) -> (Self, usize) {
        (Self::Client(frame), consumed)
    }
    fn by_server((frame, consumed): (ServerFrame<'a>, usize)) -> (Self, usize) {
        (Self::Server(frame), consumed)
    }
}

fn worked_session() -> Vec<Sent<'static>> {
    let grant = |window, seq| Grant { window, seq, level: 0, pause: Pause::NONE };
    let first = Request {
        id: RequestId(1),
        method: MethodId(42),
        register: true,
        demand: 2,
        acked: 0,
        echo: None,
        sent_at: Stamp(1000),
        budget_us: 400,
        tenant: 0,
        priority: 128,
        payload: b"hi",
    };
    let second = Request {
        id: RequestId(2),
        register: false,
        demand: 0,
        acked: 1,
        echo: Some(Echo { stamp: Stamp(50_000), hold_ns: 4_000 }),
        sent_at: Stamp(60_000),
        budget_us: 0,
        payload: b"yo",
        ..first
    };
    let head = ReplyHead {
        id: RequestId(1),
        grant: grant(2, 1),
        stamp: Stamp(50_000),
        sojourn_ns: 12_000,
        waited_ns: 2_000,
    };
    let refused = ReplyHead {
        id: RequestId(2),
        grant: grant(0, 2),
        stamp: Stamp(80_000),
        sojourn_ns: 500,
        waited_ns: 500,
    };
    vec![
        Sent::Client(ClientFrame::Hello(Hello {
            version_min: 2,
            version_max: 2,
            features: 0,
            max_frame: 1 << 20,
            client_id: 5,
            tenant: 0,
        })),
        Sent::Client(ClientFrame::Request(first)),
        Sent::Server(ServerFrame::Welcome(Welcome {
            version: 2,
            features: 0,
            max_frame: 1 << 20,
            session: 3,
            grant: grant(1, 0),
            slo_us: 400,
            stamp: Stamp(36_000),
        })),
        Sent::Server(ServerFrame::Response(Response { head, status: 0, payload: b"ok" })),
        Sent::Client(ClientFrame::Request(second)),
        Sent::Server(ServerFrame::Reject(Reject { head: refused, reason: 1 })),
        Sent::Client(ClientFrame::Demand(Demand { demand: 1, acked: 2 })),
        Sent::Server(ServerFrame::Credit(Credit { grant: grant(1, 3), stamp: Stamp(200_000) })),
        Sent::Client(ClientFrame::Deregister(Deregister)),
        Sent::Server(ServerFrame::Goodbye(Goodbye::new(GoodbyeCode::Draining, "restart").after(2))),
    ]
}

fn specification() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol.md");
    fs::read_to_string(path).expect("docs/protocol.md is committed")
}

/// The text of the fenced block whose info string is `info`.
fn block(page: &str, info: &str) -> String {
    let start = format!("```{info}\n");
    let from = page.find(&start).unwrap_or_else(|| panic!("docs/protocol.md lacks ```{info}"));
    let text = &page[from + start.len()..];
    text[..text.find("```").expect("the block ends")].to_owned()
}

/// Hexadecimal digits to bytes; from `#` to the end of a line is a comment.
fn unhex(text: &str) -> Vec<u8> {
    let digits: String = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .flat_map(str::chars)
        .filter(|digit| !digit.is_whitespace())
        .collect();
    assert!(digits.len().is_multiple_of(2), "half a byte in {digits}");
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal"))
        .collect()
}

fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x} ")).collect()
}
