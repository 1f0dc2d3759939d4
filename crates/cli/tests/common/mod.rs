//! The built program as a child, and a client made of nothing but `docs/protocol.md`.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "each test file uses its own part of this"
)]

#[path = "../../../../tests/src/eventually.rs"]
mod waiting;

pub use waiting::{eventually, found};

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The program under test.
pub const TAILWATER: &str = env!("CARGO_BIN_EXE_tailwater");

/// A scenario of eight simulations, with some hundred requests each.
pub const SMALL: &str = r#"title = "A small crowd"
slo = "1ms"
warm_up = "10ms"
duration = "20ms"
repetitions = 2
server.service = { distribution = "exponential", mean = "10us" }
clients.count = 10
demand.of_capacity = [0.5, 2.0]
capacity.duration = "10ms"
controller = [{ name = "none" }, { name = "breakwater", label = "a label that is as long as labels of careful people are" }]
"#;

/// The program with these words and then these files, of no width and in full whatever the environment of the tests says.
pub fn tailwater(arguments: &[&str], paths: &[&Path]) -> Command {
    let mut command = Command::new(TAILWATER);
    command.args(arguments).args(paths).env_remove("TAILWATER_SHORT").env_remove("COLUMNS");
    command
}

/// A folder of the test's own, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tailwater-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder in the temporary directory");
        Self(path)
    }

    /// A file in it.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a file in the test's folder");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A letter, as in proc_pid_stat(5); `None` where there is no such process.
pub fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// It is no more, or a zombie that its new parent has not waited for.
pub fn is_gone(pid: u32) -> bool {
    matches!(state(pid), None | Some('Z' | 'X'))
}

/// Processes that this one started, with their words.
pub fn children(of: u32) -> Vec<(u32, String)> {
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let child = |pid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        (parent.trim() == of.to_string()).then(|| (pid, words.replace('\0', " ")))
    };
    pids.filter_map(child).collect()
}

/// `tailwater serve` as a child; killed when dropped.
pub struct Serving {
    pub child: Child,
    pub address: String,
    /// Of a tier: the addresses of its nodes.
    pub nodes: Vec<String>,
}

impl Serving {
    /// With these flags beside an objective so loose that a busy machine sheds nothing.
    pub fn start(flags: &[&str]) -> Self {
        Self::start_for("60s", flags)
    }

    /// With these flags beside this objective.
    pub fn start_for(slo: &str, flags: &[&str]) -> Self {
        let mut command = Command::new(TAILWATER);
        command.args(Self::flags(slo)).args(flags);
        Self::of(command)
    }

    /// The same in a shell that first runs `before`, such as an `ulimit`.
    pub fn start_after(before: &str, flags: &[&str]) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{before} && exec \"$0\" \"$@\""), TAILWATER]);
        command.args(Self::flags("60s")).args(flags);
        Self::of(command)
    }

    const fn flags(slo: &str) -> [&str; 5] {
        ["serve", "--slo", slo, "--calibration", "1"]
    }

    fn of(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let greeting: serde_json::Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("a greeting was due, {line:?} came: {error}"));
        let address = greeting["listening"].as_str().expect("an address").into();
        let nodes = greeting["nodes"].as_array().expect("a list");
        let nodes = nodes.iter().filter_map(|node| node.as_str().map(str::to_owned)).collect();
        Self { child, address, nodes }
    }

    pub fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    pub fn kill(&self) {
        self.signal(rustix::process::Signal::KILL);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process number");
        let pid = rustix::process::Pid::from_raw(pid).expect("not zero");
        rustix::process::kill_process(pid, signal).expect("it runs");
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("it is our child")
    }

    /// Memory in use, in bytes.
    pub fn resident(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1));
        kib.and_then(|kib| kib.parse::<u64>().ok()).expect("a number") << 10
    }

    /// CPU time taken so far, user and system.
    pub fn cpu(&self) -> Duration {
        let path = format!("/proc/{}/stat", self.child.id());
        let stat = fs::read_to_string(path).expect("it runs");
        // Behind the name in brackets, the 12th and 13th field are ticks of 10 ms.
        let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
        let ticks: u64 = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|ticks| ticks.parse::<u64>().expect("a number"))
            .sum();
        Duration::from_millis(10 * ticks)
    }

    /// A server that spins would get as much of a busy machine as this thread, which spins meanwhile.
    ///
    /// # Panics
    /// When it takes more than half as much.
    pub fn rests(&self) {
        let (before, mine) = (self.cpu(), Duration::from_millis(400));
        let until = own_cpu() + mine;
        while own_cpu() < until {}
        let spent = self.cpu() - before;
        assert!(spent < mine / 2, "{spent:?} of CPU beside {mine:?} of a thread that spins");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// CPU time that this thread has had.
fn own_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.try_into().expect("not below zero")
}

/// A frame as it came: kind, code, and what stands behind the first eight bytes.
#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub code: u16,
    pub body: Vec<u8>,
}

pub const WELCOME: u8 = 2;
pub const RESPONSE: u8 = 4;
pub const CREDIT: u8 = 6;
pub const GOODBYE: u8 = 9;
pub const DRAINING: u16 = 2;
pub const TOO_MANY_CONNECTIONS: u16 = 9;

/// A connection.
#[derive(Debug)]
pub struct Raw(TcpStream);

impl Raw {
    /// Connects and says HELLO.
    pub fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        let patience = Some(Duration::from_secs(30));
        stream.set_read_timeout(patience).expect("above zero");
        stream.set_nodelay(true).expect("a live socket");
        let mut hello = b"\x24\0\0\0\x01\0\0\0TWTR\x02\0\x02\0\0\0\0\0\0\0\x10\0".to_vec();
        hello.resize(36, 0);
        let mut raw = Self(stream);
        raw.say(&hello);
        raw
    }

    /// The server may be gone already; hearing will tell.
    pub fn say(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes);
    }

    /// The next frame; none at the end of the stream or when the connection was broken off.
    pub fn hear(&mut self) -> Option<Frame> {
        let mut prefix = [0; 8];
        self.0.read_exact(&mut prefix).ok()?;
        let [a, b, c, d, kind, _, e, f] = prefix;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let mut body = vec![0; length - 8];
        self.0.read_exact(&mut body).ok()?;
        let code = u16::from_le_bytes([e, f]);
        Some(Frame { kind, code, body })
    }

    /// Whether the server let it in; otherwise it was told why or cut off.
    pub fn is_welcome(&mut self) -> bool {
        match self.hear() {
            Some(frame) if frame.kind == WELCOME => true,
            Some(frame) => {
                let found = (frame.kind, frame.code);
                assert_eq!(found, (GOODBYE, TOO_MANY_CONNECTIONS), "{frame:?}");
                false
            }
            None => false,
        }
    }

    /// Calls the echo method and compares.
    pub fn echoes(&mut self, word: &[u8]) {
        self.ask(word);
        self.is_answered(word);
    }

    /// Sends a registering call of the echo method.
    pub fn ask(&mut self, word: &[u8]) {
        self.say(&Self::request(word));
    }

    fn request(word: &[u8]) -> Vec<u8> {
        let length = u32::try_from(48 + word.len()).expect("short");
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend_from_slice(&[3, 1, 1, 0]);
        bytes.resize(28, 0);
        bytes.extend_from_slice(&[0xff; 4]);
        bytes.resize(44, 0);
        bytes.extend_from_slice(&[128, 0, 0, 0]);
        bytes.extend_from_slice(word);
        bytes
    }

    /// Calls until the server takes no more, and reads nothing.
    pub fn push_until_stuck(&mut self, word: &[u8]) {
        let patience = Some(Duration::from_millis(50));
        self.0.set_write_timeout(patience).expect("above zero");
        let bytes = Self::request(word);
        while self.0.write_all(&bytes).is_ok() {}
    }

    pub fn is_answered(&mut self, word: &[u8]) {
        // A credit may come in between: the connection was without one for long.
        let frame = std::iter::from_fn(|| self.hear())
            .find(|frame| frame.kind != CREDIT)
            .expect("an answer");
        let found = (frame.kind, frame.code, &frame.body[32..]);
        assert_eq!(found, (RESPONSE, 0, word));
    }
}
