//! The proxies, and the memcacheds behind them.

use machine::command::{self, Needed};
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a memcached may take until it listens.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Proxy {
    Router,
    Nutcracker,
}

/// Where programs are.
pub(crate) struct Programs {
    pub(crate) tailwater: PathBuf,
    myself: String,
}

/// What of others is measured, and what it stands before.
const NEEDED: [Needed; 2] = [
    Needed { name: "nutcracker", probe: &["nutcracker", "--version"], package: "nutcracker" },
    Needed { name: "memcached", probe: &["memcached", "--version"], package: "memcached" },
];

impl Programs {
    /// Of others first, before ours is built.
    pub(crate) fn find() -> Result<Self, String> {
        command::look_for(&NEEDED)?;
        let tailwater = machine::tailwater()?;
        let myself = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(Self { tailwater, myself: myself.display().to_string() })
    }

    /// What nutcracker calls itself.
    pub(crate) fn nutcracker_version(&self) -> Result<String, String> {
        let output = Command::new("nutcracker").arg("--version").output();
        let output = output.map_err(|error| format!("nutcracker does not start: {error}"))?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        Ok(said.lines().next().unwrap_or_default().trim().to_owned())
    }

    /// A proxy before these nodes, as `tailwater tune drive` starts it: `{port}` stands for the port to listen on.
    pub(crate) fn command(
        &self,
        proxy: Proxy,
        nodes: &[String],
        folder: &Folder,
    ) -> Result<Vec<String>, String> {
        match proxy {
            Proxy::Router => {
                let words = [&self.myself, "router", "127.0.0.1:{port}"].map(String::from);
                Ok(words.into_iter().chain(nodes.iter().cloned()).collect())
            }
            Proxy::Nutcracker => {
                let servers: String = nodes.iter().map(|it| format!("    - {it}:1\n")).collect();
                let settings = format!(
                    "bench:\n  listen: 127.0.0.1:PORT\n  hash: fnv1a_64\n  distribution: modula\n  preconnect: true\n  \
                     auto_eject_hosts: false\n  server_connections: 1\n  servers:\n{servers}"
                );
                let template = folder.0.join("nutcracker.yml");
                fs::write(&template, settings)
                    .map_err(|error| format!("{}: {error}", template.display()))?;
                // The port is known to the driver alone, so a shell puts it into the settings.
                let script = format!(
                    "cd '{}' && sed s/PORT/{{port}}/ nutcracker.yml > {{port}}.yml && exec nutcracker -v 0 -o /dev/null \
                     -p {{port}}.pid -a 127.0.0.1 -s {} -c {{port}}.yml",
                    folder.0.display(),
                    free()?.port()
                );
                Ok(["sh", "-c", &script].map(String::from).to_vec())
            }
        }
    }
}

/// Removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("tailwater-proxies-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A memcached of one thread, killed when dropped.
pub(crate) struct Memcached {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Memcached {
    pub(crate) fn start() -> Result<Self, String> {
        let address = free()?;
        let port = address.port().to_string();
        let mut command = Command::new("memcached");
        command.args(["-u", "nobody", "-l", "127.0.0.1", "-U", "0", "-t", "1", "-m", "256"]);
        let child = command.args(["-p", &port]).stdin(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("memcached does not start: {error}"))?;
        let mut memcached = Self { child, address };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            if memcached.child.try_wait().map_err(|error| error.to_string())?.is_some() {
                return Err("memcached ended before it listened".into());
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("memcached does not listen on {address}"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(memcached)
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address where nothing listens now.
fn free() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    listener.local_addr().map_err(|error| error.to_string())
}
