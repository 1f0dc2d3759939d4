//! What messages cost that share a packet, and connections that are turned to.

use std::time::Duration;
use tailwater_sim::World;
use tailwater_stats::result::Experiment;

use crate::common::{SMALL_RPS, closed_loop, ms, play, small, spec, steady, us};

/// What one core does with 64 requests under way, over so many connections.
fn capacity_rps(clients: u32, connection_cost: Duration, coalescing: bool) -> f64 {
    on_cores(1, clients, connection_cost, coalescing)
}

fn on_cores(cores: u32, clients: u32, connection_cost: Duration, coalescing: bool) -> f64 {
    let mut world = World { clients, measure: ms(200), ..small() };
    world.node.cores = cores;
    (world.node.connection_cost, world.node.coalescing) = (connection_cost, coalescing);
    world.node.parse_every = us(50);
    closed_loop(&world)
}

/// Figure 1 of Breakwater by clients: the fewer share the load, the more messages share a packet.
#[test]
fn messages_of_one_connection_share_a_packet() {
    let share = |clients, coalescing| capacity_rps(clients, us(0), coalescing) / SMALL_RPS;
    for clients in [1, 64] {
        let alone = share(clients, false);
        assert!((0.97..1.03).contains(&alone), "{clients} clients: {alone}");
    }
    let (one, many) = (share(1, true), share(64, true));
    // Handlers run for 50 µs in a turn, which is five requests, and share the 4.4 µs of their messages.
    assert!((1.2..1.44).contains(&one), "{one}");
    assert!((0.97..1.1).contains(&many), "{many}");
}

/// With several cores at one queue too: one of them takes what shares a packet.
#[test]
fn cores_of_one_queue_share_packets() {
    let share = |coalescing| on_cores(4, 1, us(0), coalescing) / (4.0 * SMALL_RPS);
    let (alone, shared) = (share(false), share(true));
    assert!((0.97..1.03).contains(&alone) && (1.2..1.44).contains(&shared), "{alone}, {shared}");
}

/// A load that is too much for messages one by one is served in time when they share packets.
#[test]
fn sharing_moves_the_point_of_overload() {
    let in_time = |coalescing| {
        let mut world = World { clients: 1, ..small() };
        (world.node.parse_every, world.node.coalescing) = (us(50), coalescing);
        let (run, _) = steady(&world, 1.1 * SMALL_RPS, &spec("none", "default", &[]));
        run.fates.ok as f64 / run.fates.total() as f64
    };
    let (alone, shared) = (in_time(false), in_time(true));
    assert!(alone < 0.2 && shared > 0.9, "{alone} and {shared} are in time");
}

#[test]
fn a_connection_costs_once_in_a_turn() {
    let time_us = |clients, cost| 1e6 / capacity_rps(clients, cost, false);
    let of_many = time_us(64, us(4)) - time_us(64, us(0));
    let of_one = time_us(1, us(4)) - time_us(1, us(0));
    assert!((3.5..4.2).contains(&of_many), "{of_many} µs for each request of its own connection");
    assert!((0.3..1.2).contains(&of_one), "{of_one} µs for each of several at once");
}

/// Capacity and bound know what a scenario says of messages.
#[test]
fn a_scenario_sets_both() {
    let four = "clients.count = 4\ndemand.of_capacity = 1.5\ncapacity.duration = \"50ms\"";
    let plain = play(&[four]);
    let coalesced = play(&[four, "sim.coalescing = true"]);
    let dear = play(&[four, "sim.connection = \"4us\""]);
    let capacity = |result: &Experiment| {
        result.runs[0].yardstick.capacity_rps / plain.runs[0].yardstick.capacity_rps
    };
    let (more, less) = (capacity(&coalesced), capacity(&dear));
    assert!(more > 1.05 && less < 0.95, "{more} and {less} of the capacity");
    for result in [plain, coalesced, dear] {
        let run = &result.runs[0];
        let served = run.rates.throughput_rps / run.yardstick.bound_rps;
        assert!(served < 1.01, "{served} of the bound are served");
    }
}
