//! Clients that send faster than they are served, without credits to hold them: the server's memory
//! stays bounded by bytes, not by numbers alone. Alone in its file, because it measures memory.

use tailwater_rt::ServerConfig;
use tailwater_tests::{Bystander, Call, Served, WAIT, controller, eventually, peak};

const PEERS: usize = 4;
const CALLS: u64 = 1_024;
static ARGUMENTS: [u8; 64 << 10] = [7; 64 << 10];

#[test]
fn a_flood_of_large_requests_costs_bounded_memory() {
    let served = Served::start(ServerConfig::default(), controller("none", &[]));
    let bystander = Bystander::of(&served);
    let before = peak();
    let mut peers: Vec<_> = (0..PEERS).map(|_| served.peer()).collect();
    for peer in &mut peers {
        peer.greet();
    }
    // 64 MiB each; nothing is answered but by a refusal before the gate opens.
    for id in 0..CALLS {
        for peer in &mut peers {
            peer.call(&Call::new(id, WAIT, &ARGUMENTS));
        }
    }
    let all = PEERS as u64 * CALLS;
    eventually("all have come", || {
        let totals = served.server.totals();
        totals.received >= all || totals.closed >= PEERS as u64
    });
    let each = peak().saturating_sub(before) / PEERS;
    assert!(each < 16 << 20, "{each} bytes held for each client");
    served.gate.open();
    bystander.is_unhurt();
}
