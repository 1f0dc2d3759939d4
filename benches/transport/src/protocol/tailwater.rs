//! Tailwater's frames: a minimal client, which echoes the server's stamps and sequence numbers as
//! any client does, and heeds no window: the server measured here grants all.

use super::{Event, Protocol, wrong_payload};
use crate::payload;
use crate::raw::FRAME_MAX;
use tailwater_core::{MethodId, RequestId, Stamp};
use tailwater_wire::{
    Echo, Hello, Limits, ReplyHead, Request, ServerFrame, VERSION_MAX, VERSION_MIN,
    decode_from_server,
};

/// One connection, whose bodies have so many times 64 bytes.
pub(crate) struct Tailwater<const CHUNKS: usize = 1> {
    connection: u64,
    limits: Limits,
    /// The newest window's number, to be acknowledged.
    seq: u32,
    /// The newest stamp and when it came; goes back once.
    stamp: Option<(Stamp, u64)>,
}

/// `tailwater serve --service echo` answers to this.
const ECHO: MethodId = MethodId(1);

impl<const CHUNKS: usize> Protocol for Tailwater<CHUNKS> {
    fn new(connection: u64) -> Self {
        Self { connection, limits: Limits::new(FRAME_MAX), seq: 0, stamp: None }
    }

    fn open(&mut self, output: &mut Vec<u8>) -> bool {
        let hello = Hello {
            version_min: VERSION_MIN,
            version_max: VERSION_MAX,
            features: 0,
            max_frame: self.limits.max_frame(),
            client_id: self.connection,
            tenant: 0,
        };
        hello.encode(output);
        true
    }

    fn ask(&mut self, call: u64, now_ns: u64, output: &mut Vec<u8>) -> Result<(), String> {
        let echo = self.stamp.take().map(|(stamp, came_ns)| Echo {
            stamp,
            hold_ns: u32::try_from(now_ns - came_ns).unwrap_or(u32::MAX),
        });
        let request = Request {
            id: RequestId(call),
            method: ECHO,
            register: call == 0,
            demand: 0,
            acked: self.seq,
            echo,
            sent_at: Stamp(now_ns as u32),
            budget_us: 0,
            tenant: 0,
            priority: 128,
            payload: &payload::of(self.connection, call).repeat(CHUNKS),
        };
        request.encode(&self.limits, output).map_err(|error| error.to_string())
    }

    fn take(
        &mut self,
        input: &[u8],
        now_ns: u64,
        _output: &mut Vec<u8>,
    ) -> Result<Option<(usize, Event)>, String> {
        let decoded = decode_from_server(input, &self.limits).map_err(|error| error.to_string())?;
        let Some((frame, used)) = decoded else {
            return Ok(None);
        };
        let event = match frame {
            ServerFrame::Response(response) => {
                self.note(&response.head, now_ns);
                let call = response.head.id.0;
                if response.status != 0 {
                    return Err(format!("call {call} failed: status {}", response.status));
                }
                let (chunks, rest) = response.payload.as_chunks::<{ payload::LEN }>();
                let is_whole = chunks.len() == CHUNKS && rest.is_empty();
                let is_own = |chunk: &[u8; payload::LEN]| payload::is(self.connection, call, chunk);
                if !is_whole || !chunks.iter().all(is_own) {
                    return Err(wrong_payload(call));
                }
                Event::Answer(call)
            }
            ServerFrame::Welcome(_) => Event::Open,
            ServerFrame::Credit(_) | ServerFrame::Ping(_) | ServerFrame::Pong(_) => Event::Noted,
            ServerFrame::Reject(reject) => {
                return Err(format!(
                    "call {} was refused for reason {}; start the server with --controller none",
                    reject.head.id.0, reject.reason
                ));
            }
            ServerFrame::Goodbye(goodbye) => return Err(format!("the server closes: {goodbye:?}")),
        };
        Ok(Some((used, event)))
    }
}

impl<const CHUNKS: usize> Tailwater<CHUNKS> {
    fn note(&mut self, head: &ReplyHead, now_ns: u64) {
        self.seq = head.grant.seq;
        self.stamp = Some((head.stamp, now_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Pause;
    use tailwater_wire::{ClientFrame, Grant, Reject, Response, decode_from_client};

    fn head(call: u64) -> ReplyHead {
        ReplyHead {
            id: RequestId(call),
            grant: Grant { window: u32::MAX, seq: 7, level: 0, pause: Pause::NONE },
            stamp: Stamp(99),
            sojourn_ns: 0,
            waited_ns: 0,
        }
    }

    fn answer(call: u64, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let response = Response { head: head(call), status: 0, payload };
        response.encode(&Limits::default(), &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn stamps_go_back_once_and_sequence_numbers_always() {
        let mut client = Tailwater::<1>::new(5);
        let taken = client.take(&answer(0, &payload::of(5, 0)), 1_000, &mut Vec::new());
        assert_eq!(taken.unwrap().unwrap().1, Event::Answer(0));
        let mut output = Vec::new();
        client.ask(1, 1_250, &mut output).unwrap();
        client.ask(2, 1_250, &mut output).unwrap();
        let mut echoes = Vec::new();
        let mut rest = &output[..];
        while let Some((frame, used)) = decode_from_client(rest, &Limits::default()).unwrap() {
            let ClientFrame::Request(request) = frame else {
                panic!("{frame:?}");
            };
            assert_eq!(request.acked, 7);
            echoes.push(request.echo);
            rest = &rest[used..];
        }
        let first = Echo { stamp: Stamp(99), hold_ns: 250 };
        assert_eq!(echoes, [Some(first), None]);
    }

    #[test]
    fn each_part_of_a_large_body_is_looked_at() {
        let right = payload::of(5, 0).repeat(3);
        for (length, at, is_right) in
            [(192, 0, true), (128, 0, false), (191, 0, false), (192, 190, false)]
        {
            let mut body = right[..length].to_vec();
            body[at] ^= u8::from(at > 0);
            let taken = Tailwater::<3>::new(5).take(&answer(0, &body), 0, &mut Vec::new());
            assert_eq!(taken.is_ok(), is_right, "{length} bytes, the one at {at} another");
        }
    }

    #[test]
    fn wrong_answers_and_refusals_are_errors() {
        let mut client = Tailwater::<1>::new(5);
        let wrong = client.take(&answer(0, &payload::of(5, 1)), 0, &mut Vec::new());
        assert!(wrong.unwrap_err().contains("call 0"));
        let mut bytes = Vec::new();
        let reject = Reject { head: head(3), reason: 7 };
        reject.encode(&mut bytes);
        let refused = client.take(&bytes, 0, &mut Vec::new()).unwrap_err();
        assert!(refused.contains("call 3 was refused"), "{refused}");
    }
}
