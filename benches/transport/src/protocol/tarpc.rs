//! tarpc's messages, in the encoding that its own transport uses: bincode with variable integers,
//! each message behind its length in four bytes, big-endian.

use super::{Event, MESSAGE_MAX, Protocol, wrong_payload};
use crate::payload;
use bincode::Options;
use bytes::Bytes;
use std::time::{Duration, Instant};
use tarpc::{ClientMessage, Request, Response, context};

/// The service that [`crate::peers::tarpc`] serves.
#[tarpc::service]
pub(crate) trait Call {
    /// Gives back what it got.
    async fn echo(payload: Bytes) -> Bytes;
}

/// One connection.
pub(crate) struct Tarpc {
    connection: u64,
    context: context::Context,
}

const LENGTH: usize = 4;
/// What a caller who names no deadline gets from tarpc.
const DEADLINE: Duration = Duration::from_secs(10);

impl Protocol for Tarpc {
    fn new(connection: u64) -> Self {
        Self { connection, context: context::current() }
    }

    fn open(&mut self, _output: &mut Vec<u8>) -> bool {
        false
    }

    fn ask(&mut self, call: u64, _now_ns: u64, output: &mut Vec<u8>) -> Result<(), String> {
        self.context.deadline = Instant::now() + DEADLINE;
        let message = ClientMessage::Request(Request {
            context: self.context,
            id: call,
            message: CallRequest::Echo {
                payload: Bytes::copy_from_slice(&payload::of(self.connection, call)),
            },
        });
        let start = output.len();
        output.extend_from_slice(&[0; LENGTH]);
        bincode::DefaultOptions::new()
            .serialize_into(&mut *output, &message)
            .map_err(|error| error.to_string())?;
        let len = (output.len() - start - LENGTH) as u32;
        output[start..start + LENGTH].copy_from_slice(&len.to_be_bytes());
        Ok(())
    }

    fn take(
        &mut self,
        input: &[u8],
        _now_ns: u64,
        _output: &mut Vec<u8>,
    ) -> Result<Option<(usize, Event)>, String> {
        let Some(len) = input.first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let len = LENGTH + u32::from_be_bytes(*len) as usize;
        if len > MESSAGE_MAX {
            return Err(format!(
                "found a message of {len} bytes, at most {MESSAGE_MAX} are needed"
            ));
        }
        let Some(body) = input.get(LENGTH..len) else {
            return Ok(None);
        };
        let response: Response<CallResponse> = bincode::DefaultOptions::new()
            .deserialize(body)
            .map_err(|error| format!("found no response: {error}"))?;
        let call = response.request_id;
        match response.message {
            Ok(CallResponse::Echo(echo)) if payload::is(self.connection, call, &echo) => {
                Ok(Some((len, Event::Answer(call))))
            }
            Ok(_) => Err(wrong_payload(call)),
            Err(error) => Err(format!("call {call} failed: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(call: u64, payload: [u8; payload::LEN]) -> Vec<u8> {
        let response = Response {
            request_id: call,
            message: Ok(CallResponse::Echo(Bytes::copy_from_slice(&payload))),
        };
        let body = bincode::DefaultOptions::new().serialize(&response).unwrap();
        [&(body.len() as u32).to_be_bytes()[..], &body].concat()
    }

    #[test]
    fn answers_are_taken_whole_and_checked() {
        let mut client = Tarpc::new(5);
        let bytes = answer(300, payload::of(5, 300));
        let taken = client.take(&bytes, 0, &mut Vec::new()).unwrap();
        assert_eq!(taken, Some((bytes.len(), Event::Answer(300))));
        let cut = client.take(&bytes[..bytes.len() - 1], 0, &mut Vec::new());
        assert_eq!(cut.unwrap(), None);
        let wrong = client.take(&answer(300, payload::of(5, 1)), 0, &mut Vec::new());
        assert!(wrong.unwrap_err().contains("call 300"));
    }
}
