//! A mid-tier server: each request asks two leaves at once and joins their answers, without leaving its loop.

#![expect(clippy::print_stdout, reason = "programs may")]

use std::time::Duration;
use tailwater::{
    ChannelConfig, Client, Reply, Request, Server, ServerConfig, TierConfig, breakwater, tier,
};

/// A leaf that knows half of the words.
fn leaf(word: &'static str) -> Result<Server, Box<dyn std::error::Error>> {
    let service = move |_: Request| async move { Reply::ok(word.into()) };
    Ok(Server::start(
        ServerConfig::default(),
        breakwater(Duration::from_millis(1)).admission,
        service,
    )?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let leaves = [leaf("hold ")?, leaf("the tail")?];
    let servers = leaves.iter().map(|leaf| ChannelConfig::new(leaf.address().clone())).collect();

    let service = |request: Request| async move {
        let leaves = tier("words").expect("the tier is configured below");
        let answers = leaves.fan(&request).call_all(1, request.payload).await;
        let words: Result<Vec<_>, _> = answers.into_iter().collect();
        match words {
            Ok(words) => Reply::ok(words.into_iter().flat_map(|word| word.payload).collect()),
            Err(error) => Reply::failure(2, &error.to_string()),
        }
    };

    let tiers = vec![TierConfig::new("words", servers)];
    let config = ServerConfig { tiers, ..ServerConfig::default() };
    let server = Server::start(config, breakwater(Duration::from_millis(2)).admission, service)?;
    let client = Client::connect(server.address().clone())?;
    let answer = client.call(1, "").wait()?.payload;
    assert_eq!(answer, b"hold the tail");
    println!("{}", String::from_utf8(answer)?);
    Ok(())
}
