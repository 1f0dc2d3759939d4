//! Configurations that cannot work are refused, with the name of the field.

use std::time::Duration;
use tailwater_rt::{Placement, ServerConfig};

#[test]
fn a_configuration_that_cannot_work_is_refused_by_name() {
    let sound = ServerConfig::default;
    let unsound = [
        ("workers", ServerConfig { model: Placement::Workers(0).into(), ..sound() }),
        ("workers", ServerConfig { model: Placement::Workers(1_000_000).into(), ..sound() }),
        ("connections_max", ServerConfig { connections_max: 0, ..sound() }),
        ("queue_max", ServerConfig { queue_max: 0, ..sound() }),
        ("pending_max", ServerConfig { pending_max: 0, ..sound() }),
        ("pending_bytes_max", ServerConfig { pending_bytes_max: 0, ..sound() }),
        ("tasks_max", ServerConfig { tasks_max: 0, ..sound() }),
        ("patience", ServerConfig { patience: Duration::ZERO, ..sound() }),
        ("frame_max", ServerConfig { frame_max: 0, ..sound() }),
        ("frame_max", ServerConfig { frame_max: u32::MAX, ..sound() }),
        ("output_high", ServerConfig { output_high: 0, ..sound() }),
        ("output_total_max", ServerConfig { output_total_max: 0, ..sound() }),
        ("input_total_max", ServerConfig { input_total_max: 0, ..sound() }),
        ("tasks_per_connection_max", ServerConfig { tasks_per_connection_max: Some(0), ..sound() }),
        ("handler_max", ServerConfig { handler_max: Some(Duration::ZERO), ..sound() }),
        ("ping_after", ServerConfig { ping_after: Duration::ZERO, ..sound() }),
    ];
    let mut wrong = Vec::new();
    for (field, config) in unsound {
        match config.check() {
            Ok(()) => wrong.push(format!("{field} passes")),
            Err(why) if why.setting != field => wrong.push(format!("{field}: {why}")),
            Err(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(sound().check(), Ok(()));
}
