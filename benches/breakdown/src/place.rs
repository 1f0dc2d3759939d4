//! Where everything lies, and what builds it.

use crate::Result;
use crate::service::{Kind, Service};
use machine::command::{OF_MEMCACHED, OF_PASS, look_for, output};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders and programs of one run.
#[derive(Debug)]
pub(crate) struct Place {
    root: PathBuf,
    target: PathBuf,
    /// The profiler's.
    home: PathBuf,
    out: PathBuf,
    /// The core that services, leaves and load share, and that of what records.
    pub(crate) cores: (String, String),
}

impl Place {
    /// Builds tailwater, the profiler, and by its pass what the services need.
    pub(crate) fn prepare(services: &[&Service]) -> Result<Self> {
        // Of Redis its sources alone, which are fetched as memcached's are.
        let is_foreign = |service: &&Service| matches!(service.kind, Kind::Foreign { .. });
        let of_foreign = if services.iter().any(is_foreign) { &OF_MEMCACHED[..] } else { &[] };
        look_for(&[&OF_PASS[..], of_foreign].concat())?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
        let target = machine::tailwater_target();
        let out = root.join("out/bench/breakdown");
        std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        let mut place = Self { root, target, home: PathBuf::new(), out, cores: cores()? };
        place.ours(&["build", "--release", "--locked", "--package", "tailwater-cli"])?;
        place.home = place.ours(&["xtask", "pass"])?.into();
        let is_ours = |service: &&&Service| matches!(service.kind, Kind::Ours { .. });
        if services.iter().any(|service| is_ours(&service)) {
            let words = ["cargo", "build", "--release", "--locked", "--package", "tailwater-cli"];
            place.by_the_pass(&place.root, &[], &words)?;
        }
        for service in services {
            if let Kind::Foreign { make, program, .. } = service.kind {
                place.foreign(service.name, make, program)?;
            }
        }
        Ok(place)
    }

    /// Debian's sources, built where they lie.
    fn foreign(&self, package: &str, make: &[&str], program: &str) -> Result {
        let sources = self.sources(package)?;
        let built = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
        // Their make does not know what the pass links to it.
        let runtime = built(&self.home.join("tailwater_profile_rt.o"));
        if built(&sources.join(program)).is_some_and(|program| Some(program) < runtime) {
            self.by_the_pass(&sources, &[], &["make", "--silent", "clean"])?;
        }
        // Redis has a Makefile, memcached a script that writes it.
        if !sources.join("Makefile").exists() {
            self.by_the_pass(&sources, &[], &["./configure", "--quiet"])?;
        }
        // What only makes a system call is a tail call mostly, and would count as its caller's.
        let options = ["--keep-tail-callers"];
        self.by_the_pass(&sources, &options, &[&["make", "--silent"], make].concat())
    }

    fn by_the_pass(&self, folder: &Path, options: &[&str], words: &[&str]) -> Result {
        let mut command = self.tailwater();
        command.args(["profile", "build"]).args(options).arg("--").args(words).current_dir(folder);
        command.env("CARGO_TARGET_DIR", &self.target);
        output(&mut command).map(drop)
    }

    /// The last line that cargo's command prints in the repository.
    fn ours(&self, words: &[&str]) -> Result<String> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target).args(words);
        let said = output(&mut cargo)?;
        Ok(said.lines().last().unwrap_or_default().to_owned())
    }

    fn sources(&self, package: &str) -> Result<PathBuf> {
        self.ours(&["xtask", "source", package]).map(PathBuf::from)
    }

    /// Services and what records go to each other's core.
    pub(crate) fn exchange_cores(&mut self) {
        let (services, recorder) = &mut self.cores;
        std::mem::swap(services, recorder);
    }

    /// `tailwater`, with its home named.
    pub(crate) fn tailwater(&self) -> Command {
        self.with_home(self.target.join("release/tailwater"))
    }

    /// The same on the services' core.
    pub(crate) fn tailwater_there(&self) -> Command {
        self.there(&self.target.join("release/tailwater"))
    }

    /// The program of a service on its core, built by the pass.
    pub(crate) fn built(&self, service: &Service) -> Result<Command> {
        Ok(self.there(&self.path_of(service)?))
    }

    /// Where that program lies.
    pub(crate) fn path_of(&self, service: &Service) -> Result<PathBuf> {
        match service.kind {
            Kind::Ours { .. } => {
                let said = output(Command::new("rustc").arg("-vV"))?;
                let host = said.lines().find_map(|line| line.strip_prefix("host: "));
                let host = host.ok_or("rustc does not name its host")?;
                Ok(self.target.join(host).join("release/tailwater"))
            }
            Kind::Foreign { program, .. } => Ok(self.sources(service.name)?.join(program)),
        }
    }

    fn there(&self, program: &Path) -> Command {
        let mut command = self.with_home("taskset".into());
        command.args(["-c", &self.cores.0]).arg(program);
        command
    }

    fn with_home(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        if !self.home.as_os_str().is_empty() {
            command.env("TAILWATER_PROFILE_HOME", &self.home);
        }
        command.current_dir(&self.root);
        command
    }

    /// A file that may be made and overwritten.
    pub(crate) fn made(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }
}

/// The last two cores that this process may use.
fn cores() -> Result<(String, String)> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let mut cores: Vec<u32> = Vec::new();
    for part in allowed.unwrap_or_default().trim().split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(from), Ok(to)) = (from.parse::<u32>(), to.parse()) {
            cores.extend(from..=to);
        }
    }
    match cores[..] {
        [.., one, other] => Ok((other.to_string(), one.to_string())),
        _ => Err(format!("{} cores found, two are needed", cores.len())),
    }
}
