//! A key-value server that keeps its objective under overload. Run it, then `--example client`.

#![expect(clippy::print_stdout, reason = "programs may")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tailwater::{Reply, Request, Router, Server, ServerConfig, breakwater};

type Store = Arc<Mutex<BTreeMap<Vec<u8>, Vec<u8>>>>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let reads = Store::default();
    let writes = reads.clone();
    writes.lock().unwrap().insert(b"motto".to_vec(), b"hold the tail".to_vec());
    let service = Router::new()
        .route(1, move |get: Request| {
            let value = reads.lock().unwrap().get(&get.payload).cloned();
            async { value.map_or(Reply::failure(1, "no such key"), Reply::ok) }
        })
        .route(2, move |set: Request| {
            let mut parts = set.payload.splitn(2, |byte| *byte == b'=');
            let (key, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            writes.lock().unwrap().insert(key.to_vec(), value.to_vec());
            async { Reply::ok(Vec::new()) }
        });

    let controller = breakwater(Duration::from_millis(1));
    let listen = "127.0.0.1:7411".parse()?;
    let config = ServerConfig { listen, ..ServerConfig::default() };
    let server = Server::start(config, controller.admission, service)?;
    println!("listening on {}; stop it with Ctrl-C", server.address());
    loop {
        std::thread::park();
    }
}
