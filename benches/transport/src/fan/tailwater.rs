//! tailwater's own: a handler that awaits a fan, on the loop that received the request.

use super::{FanArgs, LEAVES};
use crate::ready;
use std::sync::Arc;
use tailwater::{
    Address, ChannelConfig, Model, Reply, Request, Server, ServerConfig, TierConfig, tier,
};
use tailwater_control::Site;
use tailwater_control::catalog::Spec;

/// Serves until killed.
pub(crate) fn serve(args: &FanArgs) -> Result<(), String> {
    let site = Site::one_loop(std::time::Duration::from_millis(1), 0);
    let controller = Spec::named("none").build(&site).map_err(|error| error.message)?;
    let leaf = ChannelConfig::new(Address::Tcp(args.leaf));
    let reception = args.reception.to_string().parse().map_err(|_| "no such reception")?;
    let config = ServerConfig {
        listen: Address::Tcp(args.listen),
        cores: vec![args.core],
        model: Model { reception, ..Model::default() },
        tiers: vec![TierConfig::new("leaves", vec![leaf; LEAVES]).controller(&controller)],
        ..ServerConfig::default()
    };
    let server = Server::start(config, Arc::clone(&controller.admission), fan)
        .map_err(|error| error.to_string())?;
    let listening = server.address().to_string().parse();
    ready::announce(listening.map_err(|error| format!("found no IP address: {error}"))?)?;
    loop {
        std::thread::park();
    }
}

async fn fan(request: Request) -> Reply {
    let payload = bytes::Bytes::copy_from_slice(&request.payload);
    let leaves = tier("leaves").expect("the tier is configured");
    let answers = leaves.fan(&request).call_all(1, payload).await;
    let same = |answer: &_| matches!(answer, Ok(it) if has(it, &request.payload));
    if answers.iter().all(same) {
        Reply::ok(request.payload)
    } else {
        Reply::failure(1, "a leaf gave another answer, or none")
    }
}

fn has(answer: &tailwater::Answer, payload: &[u8]) -> bool {
    answer.status == 0 && answer.payload == payload
}
