//! What connections keep when they are idle again. Alone in its file, because it measures memory.

use tailwater_rt::ServerConfig;
use tailwater_tests::{Call, ECHO, Heard, Served, controller, peak};

const PEERS: usize = 64;

#[test]
fn an_idle_connection_does_not_keep_the_buffers_of_its_largest_call() {
    let served = Served::start(ServerConfig::default(), controller("none", &[]));
    let large = vec![7; 1_000_000];
    let mut one_large_call = |id| {
        let mut peer = served.peer();
        peer.greet();
        peer.call(&Call::new(id, ECHO, &large));
        assert!(matches!(peer.hear(), Heard::Response(..)));
        // A buffer of the test's own that must not be mistaken for the server's.
        peer.forget_input();
        peer
    };
    // The first few show what one call at a time takes.
    let mut peers: Vec<_> = (0..4).map(&mut one_large_call).collect();
    let before = peak();
    peers.extend((4..PEERS as u64).map(one_large_call));
    let each = peak().saturating_sub(before) / PEERS;
    assert!(each < 100_000, "{each} bytes kept for each idle connection");
}
