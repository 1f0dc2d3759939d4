//! Just enough HTTP/2 and gRPC to make unary calls and check their answers.
//!
//! A call is one HEADERS and one DATA frame; after the first call of a connection its headers are
//! four references into the compression table, as any client sends them. An answer is complete when
//! its DATA held the payload and its stream has ended; a call that fails in gRPC ends without DATA.

use super::{Event, MESSAGE_MAX, Protocol, wrong_payload};
use crate::payload;

/// The method that [`crate::peers::tonic`] serves.
pub(crate) const PATH: &str = "/transport.Echo/Echo";

/// One connection.
pub(crate) struct Grpc {
    connection: u64,
    /// Calls whose payload came and whose stream has not ended yet; as many as are outstanding.
    answered: Vec<u64>,
    /// Bytes of DATA received since the connection's window was last enlarged.
    unreported: u32,
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const FRAME_HEAD: usize = 9;
/// A message in gRPC: one byte of flags and four of length; in protobuf: field 1, 64 bytes.
const MESSAGE_HEAD: [u8; 7] = [0, 0, 0, 0, 66, 0x0a, 64];
/// From the 65,535 that the protocol starts with to nearly its largest window: the server never
/// waits for it.
const WINDOW_RAISE: u32 = 0x7fff_0000 - 0xffff;
/// Received bytes after which the window is enlarged by as much.
const WINDOW_STEP: u32 = 1 << 29;

mod kind {
    pub(super) const DATA: u8 = 0;
    pub(super) const HEADERS: u8 = 1;
    pub(super) const RST_STREAM: u8 = 3;
    pub(super) const SETTINGS: u8 = 4;
    pub(super) const PING: u8 = 6;
    pub(super) const GOAWAY: u8 = 7;
    pub(super) const WINDOW_UPDATE: u8 = 8;
}

mod flag {
    pub(super) const ACK: u8 = 1;
    pub(super) const END_STREAM: u8 = 1;
    pub(super) const END_HEADERS: u8 = 4;
    pub(super) const PADDED: u8 = 8;
}

impl Protocol for Grpc {
    fn new(connection: u64) -> Self {
        Self { connection, answered: Vec::new(), unreported: 0 }
    }

    fn open(&mut self, output: &mut Vec<u8>) -> bool {
        output.extend_from_slice(PREFACE);
        frame(output, kind::SETTINGS, 0, 0, &[]);
        frame(output, kind::WINDOW_UPDATE, 0, 0, &WINDOW_RAISE.to_be_bytes());
        true
    }

    fn ask(&mut self, call: u64, _now_ns: u64, output: &mut Vec<u8>) -> Result<(), String> {
        let stream = u32::try_from(call * 2 + 1)
            .ok()
            .filter(|stream| stream >> 31 == 0)
            .ok_or("a connection's 2^30 streams are used up; choose a shorter window")?;
        if call == 0 {
            frame(output, kind::HEADERS, flag::END_HEADERS, stream, &first_headers());
        } else {
            // POST and http from the static table; path, authority, te and content-type as entered
            // by the first call.
            let references = [0x83, 0x86, 0xc1, 0xc0, 0xbf, 0xbe];
            frame(output, kind::HEADERS, flag::END_HEADERS, stream, &references);
        }
        let mut message = [0; MESSAGE_HEAD.len() + payload::LEN];
        message[..MESSAGE_HEAD.len()].copy_from_slice(&MESSAGE_HEAD);
        message[MESSAGE_HEAD.len()..].copy_from_slice(&payload::of(self.connection, call));
        frame(output, kind::DATA, flag::END_STREAM, stream, &message);
        Ok(())
    }

    fn take(
        &mut self,
        input: &[u8],
        _now_ns: u64,
        output: &mut Vec<u8>,
    ) -> Result<Option<(usize, Event)>, String> {
        let Some(&[a, b, c, kind, flags, s, t, u, v]) = input.first_chunk::<FRAME_HEAD>() else {
            return Ok(None);
        };
        let len = FRAME_HEAD + u32::from_be_bytes([0, a, b, c]) as usize;
        if len > MESSAGE_MAX {
            return Err(format!("found a frame of {len} bytes, at most {MESSAGE_MAX} are needed"));
        }
        let Some(body) = input.get(FRAME_HEAD..len) else {
            return Ok(None);
        };
        let call = u64::from(u32::from_be_bytes([s, t, u, v]) & 0x7fff_ffff) / 2;
        let event = match kind {
            kind::DATA => self.data(call, flags, body, output)?,
            kind::HEADERS if flags & flag::END_STREAM != 0 => self.ended(call)?,
            kind::SETTINGS if flags & flag::ACK == 0 => {
                frame(output, kind::SETTINGS, flag::ACK, 0, &[]);
                Event::Open
            }
            kind::PING if flags & flag::ACK == 0 => {
                frame(output, kind::PING, flag::ACK, 0, body);
                Event::Noted
            }
            kind::RST_STREAM => return Err(format!("call {call} was reset: {body:?}")),
            kind::GOAWAY => return Err(format!("the server closes: {body:?}")),
            // WINDOW_UPDATE among them: what is outstanding is far below every window.
            _ => Event::Noted,
        };
        Ok(Some((len, event)))
    }
}

impl Grpc {
    fn data(
        &mut self,
        call: u64,
        flags: u8,
        body: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<Event, String> {
        self.enlarge_window(body.len(), output);
        let echo = body.strip_prefix(&MESSAGE_HEAD);
        let right = echo.is_some_and(|echo| payload::is(self.connection, call, echo));
        // gRPC ends a stream with trailers, not with data.
        if flags & (flag::PADDED | flag::END_STREAM) != 0 || !right {
            return Err(wrong_payload(call));
        }
        self.answered.push(call);
        Ok(Event::Noted)
    }

    fn ended(&mut self, call: u64) -> Result<Event, String> {
        let answered = self.answered.iter().position(|answered| *answered == call);
        let at =
            answered.ok_or_else(|| format!("call {call} ended without a payload: it failed"))?;
        self.answered.swap_remove(at);
        Ok(Event::Answer(call))
    }

    fn enlarge_window(&mut self, received: usize, output: &mut Vec<u8>) {
        self.unreported += received as u32;
        if self.unreported >= WINDOW_STEP {
            frame(output, kind::WINDOW_UPDATE, 0, 0, &self.unreported.to_be_bytes());
            self.unreported = 0;
        }
    }
}

/// The headers of a first call. Each is entered into the compression table, so that later calls can
/// refer to path, authority, te and content-type as 65, 64, 63 and 62.
fn first_headers() -> Vec<u8> {
    // POST and http, from the static table.
    let mut block = vec![0x83, 0x86];
    // Names from the static table (4 is :path, 1 :authority, 31 content-type), but for te.
    enter(&mut block, 4, None, PATH);
    enter(&mut block, 1, None, "localhost");
    enter(&mut block, 0, Some("te"), "trailers");
    enter(&mut block, 31, None, "application/grpc");
    block
}

/// A header that is entered into the compression table (RFC 7541, 6.2.1), uncompressed.
fn enter(block: &mut Vec<u8>, name: u8, literal: Option<&str>, value: &str) {
    block.push(0x40 | name);
    for text in literal.into_iter().chain([value]) {
        block.push(text.len() as u8);
        block.extend_from_slice(text.as_bytes());
    }
}

fn frame(output: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, body: &[u8]) {
    let [_, a, b, c] = (body.len() as u32).to_be_bytes();
    output.extend_from_slice(&[a, b, c, kind, flags]);
    output.extend_from_slice(&stream.to_be_bytes());
    output.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(call: u64, payload: &[u8]) -> Vec<u8> {
        let stream = call as u32 * 2 + 1;
        let message = [&MESSAGE_HEAD[..], payload].concat();
        let mut bytes = Vec::new();
        frame(&mut bytes, kind::HEADERS, flag::END_HEADERS, stream, &[0x88]);
        frame(&mut bytes, kind::DATA, 0, stream, &message);
        let last = flag::END_HEADERS | flag::END_STREAM;
        frame(&mut bytes, kind::HEADERS, last, stream, &[0xbe]);
        bytes
    }

    fn events(client: &mut Grpc, mut bytes: &[u8]) -> Result<Vec<Event>, String> {
        let mut events = Vec::new();
        while let Some((used, event)) = client.take(bytes, 0, &mut Vec::new())? {
            events.push(event);
            bytes = &bytes[used..];
        }
        assert!(bytes.is_empty());
        Ok(events)
    }

    #[test]
    fn an_answer_is_complete_with_its_trailers() {
        let mut client = Grpc::new(5);
        let bytes = answer(9, &payload::of(5, 9));
        let heard = events(&mut client, &bytes).unwrap();
        assert_eq!(heard, [Event::Noted, Event::Noted, Event::Answer(9)]);
        assert!(client.answered.is_empty());
    }

    #[test]
    fn wrong_answers_and_failures_are_errors() {
        let wrong = events(&mut Grpc::new(5), &answer(9, &payload::of(5, 8)));
        assert!(wrong.unwrap_err().contains("call 9"));
        let mut failed = Vec::new();
        frame(&mut failed, kind::HEADERS, flag::END_STREAM, 7, &[0x88]);
        let failed = events(&mut Grpc::new(5), &failed).unwrap_err();
        assert!(failed.contains("call 3 ended without"), "{failed}");
    }

    #[test]
    fn settings_and_pings_are_acknowledged() {
        let mut bytes = Vec::new();
        frame(&mut bytes, kind::SETTINGS, 0, 0, &[]);
        let mut output = Vec::new();
        let taken = Grpc::new(0).take(&bytes, 0, &mut output).unwrap();
        assert_eq!(taken, Some((FRAME_HEAD, Event::Open)));
        assert_eq!(output, [0, 0, 0, kind::SETTINGS, flag::ACK, 0, 0, 0, 0]);
        let (mut ping, mut pong) = (Vec::new(), Vec::new());
        frame(&mut ping, kind::PING, 0, 0, b"12345678");
        Grpc::new(0).take(&ping, 0, &mut pong).unwrap();
        assert_eq!((pong[4], &pong[9..]), (flag::ACK, &b"12345678"[..]));
    }

    #[test]
    fn windows_are_enlarged_by_what_was_received() {
        let mut client = Grpc::new(0);
        let mut output = Vec::new();
        client.enlarge_window(WINDOW_STEP as usize - 1, &mut output);
        assert!(output.is_empty());
        client.enlarge_window(1, &mut output);
        assert_eq!(output[9..], WINDOW_STEP.to_be_bytes());
        assert_eq!(client.unreported, 0);
    }
}
