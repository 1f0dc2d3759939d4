//! Paths of Unix sockets: nothing but a dead socket is ever removed.

use std::fs;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use tailwater_rt::net::Stream;
use tailwater_rt::{Address, Reply, Request, Server, ServerConfig, StartError};
use tailwater_tests::{controller, eventually};

/// A directory of the test's own, which goes with it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let own = format!("tailwater-defects-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(own);
        fs::create_dir_all(&path).expect("a directory for the test");
        Self(path)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn start(path: &Path) -> Result<Server, StartError> {
    let config = ServerConfig { listen: Address::Unix(path.into()), ..ServerConfig::default() };
    let echo = |request: Request| async { Reply::ok(request.payload) };
    Server::start(config, controller("none", &[]).admission, echo)
}

/// What a server leaves beside its socket, if anything.
fn lock_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Leaves at the path what a server leaves there that is killed.
fn dead_socket(path: &Path) {
    let alive = path.with_extension("alive");
    let server = start(&alive).expect("the path is free");
    fs::rename(&alive, path).expect("it is there");
    if let Ok(said) = fs::read(lock_of(&alive)) {
        fs::write(lock_of(path), said).expect("a file");
    }
    drop(server);
    assert!(path.exists(), "the socket's file outlives it");
}

#[test]
fn a_file_at_the_path_is_left_alone() {
    let place = Place::new("file");
    let (file, link) = (place.at("app.db"), place.at("link"));
    fs::write(&file, "precious").expect("a file");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    for path in [&file, &link] {
        let started = start(path);
        let refused = started.map(drop);
        let kept = fs::read_to_string(path).ok();
        assert_eq!(kept.as_deref(), Some("precious"), "what is at {}", path.display());
        let why = refused.expect_err("the path is taken").to_string();
        assert!(why.contains(&*path.to_string_lossy()), "{why}");
    }
    assert!(link.is_symlink());
}

#[test]
fn a_dead_socket_is_replaced() {
    let place = Place::new("dead");
    let path = place.at("socket");
    dead_socket(&path);
    let server = start(&path).expect("nobody listens there");
    assert!(UnixStream::connect(&path).is_ok());
    drop(server);
    assert!(!path.exists(), "a server takes its socket along");
}

#[test]
fn a_server_that_ends_leaves_the_socket_of_its_successor() {
    let place = Place::new("successor");
    let path = place.at("socket");
    let first = start(&path).expect("the path is free");
    fs::remove_file(&path).expect("an operator removes it");
    let _ = fs::remove_file(lock_of(&path));
    let second = start(&path).expect("the path is free again");
    drop(first);
    assert!(UnixStream::connect(&path).is_ok(), "the successor cannot be reached any more");
    drop(second);
}

#[test]
fn of_servers_that_start_at_once_one_gets_the_path() {
    const SERVERS: usize = 4;
    let place = Place::new("at-once");
    for round in 0..100 {
        let path = place.at(&format!("socket-{round}"));
        dead_socket(&path);
        let barrier = Barrier::new(SERVERS);
        let servers: Vec<Server> = std::thread::scope(|scope| {
            let start = || {
                barrier.wait();
                start(&path)
            };
            let threads: Vec<_> = (0..SERVERS).map(|_| scope.spawn(start)).collect();
            threads.into_iter().filter_map(|thread| thread.join().expect("no panic").ok()).collect()
        });
        assert_eq!(servers.len(), 1, "servers that believe to listen, round {round}");
        assert!(UnixStream::connect(&path).is_ok(), "round {round}");
    }
}

/// Asking a listener whose queue is full would wait until it accepts, which it may never do.
#[test]
fn a_listener_that_accepts_nobody_does_not_hold_up_a_start() {
    let place = Place::new("full");
    let path = place.at("socket");
    let _listener = UnixListener::bind(&path).expect("the path is free");
    let address = Address::Unix(path.clone());
    // What waits in the queue stays there although its client leaves.
    let filled = (0..100_000).any(|_| Stream::connect(&address).is_err());
    assert!(filled, "a queue has an end");
    let starting = std::thread::spawn(move || start(&path).map(drop));
    eventually("the start ends", || starting.is_finished());
    let refused = starting.join().expect("no panic");
    assert!(matches!(refused, Err(StartError::Listen(..))), "{refused:?}");
}
