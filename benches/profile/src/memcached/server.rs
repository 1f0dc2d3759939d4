//! A memcached, built from Debian's sources by each compiler, and run under a tool.

use super::host;
use super::load::Connection;
use crate::Result;
use crate::place::Place;
use crate::tool::{Build, Tool};
use machine::command::output;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Megabytes of items: few, so that SETs evict all the time.
const MEGABYTES: &str = "64";
const PATIENCE: Duration = Duration::from_secs(20);

/// Its own build, in a folder for each compiler, with that compiler's flags and nothing else changed.
pub(super) fn make(place: &Place, build: Build) -> Result<PathBuf> {
    let folder = place.made(&format!("memcached-{}", build.name()));
    let program = folder.join("memcached");
    let changed = |path: &PathBuf| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    let newest = place.profiler().iter().map(changed).max().flatten();
    let is_current = !build.is_ours() || changed(&program) > newest;
    let stamp = folder.join("built");
    let is_of_it = std::fs::read_to_string(&stamp).is_ok_and(|said| said == stamped(build));
    if program.exists() && is_current && is_of_it {
        return Ok(program);
    }
    if !place.compiles("clang++-22", &["-include", "event.h"]) {
        return Err("found no event.h; type: apt-get install libevent-dev".to_owned());
    }
    let source = place.source("memcached")?;
    let _ = std::fs::remove_dir_all(&folder);
    output(Command::new("cp").args(["--archive", "--"]).arg(source).arg(&folder))?;
    clean(&folder)?;
    let object = build.object(place)?.map(|object| object.display().to_string());
    let flags = build.flags().join(" ");
    let compiler = build.compiler(place, true);
    let mut configure = Command::new("./configure");
    configure.current_dir(&folder).env("CC", &compiler).arg("--quiet");
    configure.env("CFLAGS", format!("-O2 -pthread -Wno-error {flags}"));
    configure.env("LDFLAGS", flags).env("LIBS", object.unwrap_or_default());
    output(configure.envs(build.environment()))?;
    let mut made = Command::new("make");
    output(made.envs(build.environment()).current_dir(&folder).args(["--silent", "memcached"]))?;
    if !is_of(build, &program)? {
        return Err(format!("{} is not what {} builds", program.display(), build.name()));
    }
    std::fs::write(&stamp, stamped(build))
        .map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(program)
}

/// What a folder says of the build that made it.
fn stamped(build: Build) -> String {
    format!("{} {} {:?}", build.name(), build.flags().join(" "), build.environment())
}

/// Whether this build made it, by what tools leave in a program.
fn is_of(build: Build, program: &Path) -> Result<bool> {
    let mut read = Command::new("llvm-readelf-22");
    let said = output(read.args(["--sections", "--symbols"]).arg(program))?;
    let of = |trace: &str, is_wanted: bool| said.contains(trace) == is_wanted;
    Ok(of("tw_desc", build.is_ours())
        && of("xray_instr_map", build == Build::Xray)
        && of("__cyg_profile_func_enter", build == Build::Hooks)
        && of("mcount", build == Build::Pg))
}

/// Removes what was built there: the examples of the profiler build in the folder of the sources, and `make` would find it up to date.
fn clean(folder: &Path) -> Result {
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_built = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "o")
            || ["Makefile", "memcached"].iter().any(|name| path.ends_with(name))
    };
    for path in names.filter(is_built) {
        std::fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Where a recorded server's trace lies.
pub(super) fn trace(place: &Place) -> PathBuf {
    place.made("memcached-pass.data")
}

/// Ends with us.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    pid: u32,
    socket: PathBuf,
}

impl Server {
    /// Starts one and waits until it answers.
    pub(super) fn start(place: &Place, tool: Tool, file: &Path, workers: u32) -> Result<Self> {
        let socket = place.made("memcached.socket");
        let _ = std::fs::remove_file(&socket);
        let mut command = tool.run(place, file, &format!("memcached-{}.data", tool.build().name()));
        let user = output(Command::new("id").arg("-un"))?;
        // -A lets a client end it, so that whoever records it sees it end well.
        command.args(["-A", "-m", MEGABYTES, "-u", user.trim(), "-t", &workers.to_string(), "-s"]);
        let quiet = command.arg(&socket).stdout(Stdio::null()).stderr(Stdio::null());
        let child = quiet.spawn().map_err(|error| format!("could not start it: {error}"))?;
        let mut server = Self { child, pid: 0, socket };
        server.pid = server.ask_pid()?;
        Ok(server)
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(super) fn cpu_ns(&self) -> u64 {
        host::cpu_ns(self.pid)
    }

    /// The server's own, which is not that of a tool around it.
    fn ask_pid(&self) -> Result<u32> {
        let mut connection = Connection::open(&self.socket, PATIENCE)?;
        let said = connection.ask(b"stats\r\n", b"END\r\n")?;
        let text = String::from_utf8_lossy(&said);
        let pid = text.lines().find_map(|line| line.strip_prefix("STAT pid ")?.trim().parse().ok());
        pid.ok_or_else(|| format!("memcached did not tell its process: {text}"))
    }

    /// Ends it as its owner would.
    pub(super) fn stop(mut self) -> Result {
        let mut connection = Connection::open(&self.socket, PATIENCE)?;
        connection.tell(b"shutdown\r\n")?;
        let start = Instant::now();
        loop {
            let ended = self.child.try_wait().map_err(|error| error.to_string())?;
            if ended.is_some() {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                return Err(format!("memcached still runs {PATIENCE:?} after `shutdown`"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            // The program below a tool, and then the tool. Both may be gone.
            let _ = Command::new("kill").arg(self.pid.to_string()).stderr(Stdio::null()).status();
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
