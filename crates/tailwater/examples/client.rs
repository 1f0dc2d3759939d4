//! Talks to `--example server`: calls, failures of the application, refusals of the server.

#![expect(clippy::print_stdout, reason = "programs may")]

use std::time::Duration;
use tailwater::{CallError, CallOptions, Client};

const GET: u16 = 1;
const SET: u16 = 2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::connect("127.0.0.1:7411".parse()?)?;
    println!("motto: {}", String::from_utf8(client.call(GET, "motto").wait()?.payload)?);

    // A thousand calls at once: what the server has no room for waits here, within its deadline.
    let soon = CallOptions { deadline: Duration::from_millis(500), ..CallOptions::default() };
    let calls: Vec<_> =
        (0..1000).map(|n| client.call_with(SET, format!("key{n}={n}"), soon)).collect();
    let (mut stored, mut refused) = (0, 0);
    for call in calls {
        match call.wait() {
            Ok(_) => stored += 1,
            Err(CallError::Shed(_) | CallError::Expired | CallError::QueueFull) => refused += 1,
            Err(error) => return Err(error.into()),
        }
    }
    println!("stored {stored} keys; {refused} had to be given up, and were told so");

    let missing = client.call(GET, "nowhere").wait()?;
    println!("status {}: {}", missing.status, String::from_utf8(missing.payload)?);
    Ok(())
}
