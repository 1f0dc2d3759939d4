//! What a server does with what it finds at the path of a Unix socket: it removes nothing but a socket
//! that a server of its own kind left behind.

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_rt::{Address, Reply, Request, Server, ServerConfig};

/// A folder of the test's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("tailwater-{}-{name}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.join("socket")
    }

    fn lock(&self) -> PathBuf {
        self.0.join("socket.lock")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn echo(request: Request) -> Reply {
    Reply::ok(request.payload)
}

fn start(path: &Path) -> Result<Server, String> {
    let controller = Spec::named("none").build(&Site::one_loop(Duration::from_secs(1), 0)).unwrap();
    let listen = Address::Unix(path.to_owned());
    let config = ServerConfig { listen, ..ServerConfig::default() };
    Server::start(config, controller.admission.clone(), echo).map_err(|error| error.to_string())
}

fn refused(path: &Path) -> String {
    start(path).err().expect("what is at the path is in the way")
}

fn raw_socket() -> OwnedFd {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap()
}

fn inode(path: &Path) -> u64 {
    fs::symlink_metadata(path).unwrap().ino()
}

#[test]
fn a_regular_file_is_not_deleted() {
    let folder = Folder::new("file");
    fs::write(folder.path(), "precious").unwrap();
    let message = refused(&folder.path());
    assert!(message.contains("path is a regular file"), "{message}");
    assert_eq!(fs::read_to_string(folder.path()).unwrap(), "precious");
    assert!(!folder.lock().exists(), "what was made on the way is gone again");
}

#[test]
fn a_directory_is_left_alone() {
    let folder = Folder::new("directory");
    fs::create_dir(folder.path()).unwrap();
    let message = refused(&folder.path());
    assert!(message.contains("path is a directory"), "{message}");
    assert!(folder.path().is_dir());
}

#[test]
fn a_symbolic_link_and_what_it_leads_to_are_left_alone() {
    let folder = Folder::new("link");
    let target = folder.0.join("app.db");
    fs::write(&target, "precious").unwrap();
    symlink(&target, folder.path()).unwrap();
    let message = refused(&folder.path());
    assert!(message.contains("path is a symbolic link"), "{message}");
    assert!(folder.path().is_symlink());
    assert_eq!(fs::read_to_string(target).unwrap(), "precious");
}

#[test]
fn a_listener_that_serves_is_left_alone() {
    let folder = Folder::new("live");
    let _listener = UnixListener::bind(folder.path()).unwrap();
    fs::write(folder.lock(), "tailwater\n").unwrap();
    let before = inode(&folder.path());
    let message = refused(&folder.path());
    assert!(message.contains("is in use"), "{message}");
    assert_eq!(inode(&folder.path()), before);
}

#[test]
fn a_socket_that_is_bound_and_does_not_listen_yet_is_left_alone() {
    let folder = Folder::new("bound");
    let socket = raw_socket();
    bind(&socket, &SocketAddrUnix::new(folder.path()).unwrap()).unwrap();
    let before = inode(&folder.path());
    let message = refused(&folder.path());
    assert!(message.contains("socket.lock"), "{message}");
    assert_eq!(inode(&folder.path()), before);
    listen(&socket, 1).unwrap();
    UnixStream::connect(folder.path()).expect("its owner can still serve there");
}

#[test]
fn a_listener_whose_backlog_is_full_is_left_alone() {
    let folder = Folder::new("full");
    let address = SocketAddrUnix::new(folder.path()).unwrap();
    let listener = raw_socket();
    bind(&listener, &address).unwrap();
    listen(&listener, 0).unwrap();
    fs::write(folder.lock(), "tailwater\n").unwrap();
    let mut waiting = Vec::new();
    loop {
        let client = raw_socket();
        match connect(&client, &address) {
            Ok(()) => waiting.push(client),
            Err(error) => {
                assert_eq!(error, Errno::AGAIN);
                break;
            }
        }
    }
    let before = inode(&folder.path());
    let message = refused(&folder.path());
    assert!(message.contains("is in use"), "{message}");
    assert_eq!(inode(&folder.path()), before);
}

#[test]
fn of_servers_that_start_at_once_one_serves_and_the_others_are_told() {
    let folder = Folder::new("at-once");
    for _ in 0..20 {
        let start = || start(&folder.path());
        let results = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(start));
            threads.map(|thread| thread.join().unwrap())
        });
        for message in results.iter().filter_map(|result| result.as_ref().err()) {
            assert!(message.contains("is in use"), "{message}");
        }
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        UnixStream::connect(folder.path()).expect("the one that started serves");
    }
}

#[test]
fn a_socket_that_a_killed_server_left_is_replaced() {
    let folder = Folder::new("dead");
    drop(UnixListener::bind(folder.path()).unwrap());
    fs::write(folder.lock(), "tailwater\n").unwrap();
    let server = start(&folder.path()).unwrap();
    UnixStream::connect(folder.path()).unwrap();
    drop(server);
    assert!(!folder.path().exists() && !folder.lock().exists(), "nothing is left");
}

#[test]
fn a_successors_socket_stays() {
    let folder = Folder::new("successor");
    let server = start(&folder.path()).unwrap();
    fs::remove_file(folder.path()).unwrap();
    let _successor = UnixListener::bind(folder.path()).unwrap();
    drop(server);
    UnixStream::connect(folder.path()).expect("the successor still serves");
}

#[test]
fn a_file_of_somebody_else_with_the_locks_name_is_left_alone() {
    let folder = Folder::new("lock");
    fs::write(folder.lock(), "precious").unwrap();
    let message = refused(&folder.path());
    assert!(message.contains("socket.lock"), "{message}");
    assert_eq!(fs::read_to_string(folder.lock()).unwrap(), "precious");
}
