//! The new root: what is in it, what of this machine is seen from it, and what runs in it.

use crate::process::{self, built};
use crate::{Result, source};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Installing the root takes a minute or two.
const LIMIT: Duration = Duration::from_mins(6);
/// All that is installed. Certificates are what cargo and git speak TLS with.
const PACKAGES: &str = "make,git,ca-certificates";
/// The names under which rustup's one program is known.
const RUST: [&str; 7] =
    ["cargo", "cargo-clippy", "cargo-fmt", "clippy-driver", "rustc", "rustdoc", "rustfmt"];
/// What of our environment the command sees: how to reach the network, and how much to do.
const PASSED: [&str; 17] = [
    "TERM",
    "TAILWATER_SHORT",
    "CARGO_BUILD_JOBS",
    "CARGO_INCREMENTAL",
    "CARGO_PROFILE_DEV_CODEGEN_UNITS",
    "CARGO_PROFILE_DEV_DEBUG",
    "CARGO_PROFILE_RELEASE_DEBUG",
    "CARGO_PROFILE_RELEASE_LTO",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL",
    "DEBIAN_MIRROR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "RUSTUP_DIST_SERVER",
];
/// Files of this machine that a Debian installer or a company would have written there, too.
const COPIED: [&str; 2] = ["etc/hosts", "etc/ssl/certs/ca-certificates.crt"];

/// Names a file of the checkout: settings of cargo that hold in the new root alone. A user's build has none of them.
const SETTINGS: &str = "TAILWATER_FRESH_CARGO";
/// Where cargo finds them from every folder of the root.
const CARGO: &str = ".cargo";

/// Run by `sh` in namespaces of its own: `ROOT [FROM TO]… -- COMMAND…`, each FROM mounted at ROOT/TO. The
/// root is a mount of its own, as `unshare --mount` asks of one: tests fill small disks within. The
/// shell stays as the namespace's first process, which takes what its children leave behind with it.
const ENTER: &str = r#"
root=$1; shift
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do mount --bind "$1" "$root/$2"; shift 2; done
shift
chroot "$root" "$@" || exit $?
"#;

/// Where the parts of it lie.
pub(super) struct Fresh {
    checkout: PathBuf,
    /// The new root.
    root: PathBuf,
    /// What is built, between runs.
    kept: PathBuf,
    cargo_home: PathBuf,
    rustup_home: PathBuf,
}

impl Fresh {
    pub(super) fn new(checkout: &Path) -> Result<Self> {
        let folder = built(checkout, "fresh");
        let home = std::env::var_os("HOME").map(PathBuf::from).ok_or("found no HOME")?;
        let place = |variable: &str, name: &str| {
            std::env::var_os(variable).map_or_else(|| home.join(name), PathBuf::from)
        };
        Ok(Self {
            checkout: absolute(checkout)?,
            root: absolute(&folder.join("root"))?,
            kept: absolute(&folder.join("kept"))?,
            cargo_home: absolute(&place("CARGO_HOME", ".cargo"))?,
            rustup_home: absolute(&place("RUSTUP_HOME", ".rustup"))?,
        })
    }

    /// Removes the root, and what an earlier run that was killed left of one.
    pub(super) fn clear(&self) -> Result {
        if !self.root.exists() {
            return Ok(());
        }
        let mut command = Command::new("rm");
        process::run_quietly(command.args(["-rf", "--one-file-system"]).arg(&self.root))
    }

    /// Installs Debian, of this machine's release where that is Debian's.
    pub(super) fn install(&self) -> Result {
        let results = self.kept.join("out");
        if results.exists() {
            fs::remove_dir_all(&results).map_err(|error| failed(&results, &error))?;
        }
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let (mirror, codename) = (source::mirror(), source::codename(&release));
        println!("fresh: installs Debian {codename} from {mirror}, which takes a minute or two");
        make_folder(&self.kept)?;
        // A mirror that does not answer would be asked for longer than all the work takes.
        let mut command = process::limited(&self.checkout, LIMIT, Path::new("mmdebstrap"));
        command.args(["--quiet", "--mode=root", "--variant=minbase"]);
        // The root keeps it, so that a package that fails to come once does not fail the command.
        command.arg("--aptopt=Acquire::Retries \"3\"");
        // And this: a root that is thrown away need not survive the machine, so that no package waits for the disk.
        command.arg("--dpkgopt=force-unsafe-io");
        command.arg(format!("--include={PACKAGES}"));
        command.args(how_apt_reaches_the_network());
        command.arg(codename).arg(&self.root).args(lists(&mirror, codename));
        process::run_quietly(&mut command).map_err(|why| format!("mmdebstrap: {why}"))?;
        for file in COPIED {
            let from = Path::new("/").join(file);
            if from.exists() {
                fs::copy(&from, self.root.join(file)).map_err(|error| failed(&from, &error))?;
            }
        }
        if let Some(file) = std::env::var_os(SETTINGS) {
            self.set(&self.checkout.join(file))?;
        }
        self.install_rust()
    }

    /// Has cargo find these settings in the root.
    fn set(&self, file: &Path) -> Result {
        let folder = self.root.join(CARGO);
        make_folder(&folder)?;
        fs::copy(file, folder.join("config.toml")).map_err(|error| failed(file, &error))?;
        Ok(())
    }

    /// A folder of Rust's programs alone, which will hide cargo's own one: that has what was installed by hand.
    fn install_rust(&self) -> Result {
        let (bin, rustup) = (self.programs(), self.cargo_home.join("bin/rustup"));
        make_folder(&bin)?;
        fs::copy(&rustup, bin.join("rustup")).map_err(|error| {
            format!("{}: {error}; Rust must come from rustup (https://rustup.rs)", rustup.display())
        })?;
        for name in RUST {
            let link = bin.join(name);
            symlink("rustup", &link).map_err(|error| failed(&link, &error))?;
        }
        Ok(())
    }

    fn programs(&self) -> PathBuf {
        self.root.join("opt/rust")
    }

    /// Runs the command in the root, to its end and that of all that it started.
    pub(super) fn enter(&self, command: &[String]) -> Result {
        // When this program is killed, `unshare` is, and when that ends, everything in the root.
        let mut enter = Command::new("setpriv");
        enter.args(["--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork"]);
        enter.args(["--kill-child", "--propagation", "private", "sh", "-euc", ENTER, "fresh"]);
        enter.arg(&self.root);
        for (from, to) in self.mounts()? {
            make_folder(&from)?;
            make_folder(&self.root.join(below_root(&to)))?;
            enter.arg(&from).arg(below_root(&to));
        }
        enter.args(["--", "env", "-i", "--chdir"]).arg(&self.checkout);
        enter.args(self.environment()).args(command);
        process::run_quietly(&mut enter)
            .map_err(|_| format!("fresh: `{}` failed", command.join(" ")))
    }

    /// From outside to inside; what lies in another comes after it.
    fn mounts(&self) -> Result<Vec<(PathBuf, PathBuf)>> {
        let same = |path: &Path| (path.to_owned(), path.to_owned());
        let mut mounts =
            vec![same(&self.checkout), same(&self.cargo_home), same(&self.rustup_home)];
        mounts.push((self.programs(), self.cargo_home.join("bin")));
        for name in MADE {
            let place = self.checkout.join(name);
            make_folder(&place)?;
            mounts.push((self.kept.join(name), place));
        }
        Ok(mounts)
    }

    fn environment(&self) -> Vec<String> {
        let bin = self.cargo_home.join("bin");
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        let mut all = vec![
            "HOME=/root".to_owned(),
            format!("PATH={}:{path}", bin.display()),
            format!("CARGO_HOME={}", self.cargo_home.display()),
            format!("RUSTUP_HOME={}", self.rustup_home.display()),
            "DEBIAN_FRONTEND=noninteractive".to_owned(),
            // The checkout belongs to the user outside, which git would refuse.
            "GIT_CONFIG_COUNT=1".to_owned(),
            "GIT_CONFIG_KEY_0=safe.directory".to_owned(),
            format!("GIT_CONFIG_VALUE_0={}", self.checkout.display()),
        ];
        let passed = PASSED.iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
        all.extend(passed.map(|(name, value)| format!("{name}={value}")));
        all
    }
}

/// The folders of a checkout that git ignores: what is built, and what is measured.
const MADE: [&str; 7] = [
    "target",
    "out",
    "fuzz/target",
    "benches/breakdown/target",
    "benches/neighbours/target",
    "benches/readers/target",
    "benches/tantivy/target",
];

/// Debian's own lists; security updates lie beside the release on every mirror that has them.
fn lists(mirror: &str, codename: &str) -> [String; 3] {
    [
        format!("deb {mirror} {codename} main"),
        format!("deb {mirror} {codename}-updates main"),
        format!("deb {mirror}-security {codename}-security main"),
    ]
}

/// Proxies and the like, as options of mmdebstrap.
fn how_apt_reaches_the_network() -> Vec<String> {
    let dump = Command::new("apt-config").arg("dump").output();
    let text = dump.map(|done| String::from_utf8_lossy(&done.stdout).into_owned());
    network_options(&text.unwrap_or_default())
}

fn network_options(dump: &str) -> Vec<String> {
    let starts = ["Acquire::http::", "Acquire::https::", "Acquire::Check-"];
    let lines = dump.lines().filter(|line| starts.iter().any(|start| line.starts_with(start)));
    lines.map(|line| format!("--aptopt={}", line.trim_end_matches(';'))).collect()
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| failed(path, &error))
}

/// As seen from a root.
fn below_root(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn make_folder(folder: &Path) -> Result {
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leads_to_the_network_is_taken_from_apt() {
        let dump =
            "Acquire::Languages \"de\";\nAcquire::http::Proxy \"http://p:3128\";\nAPT::X \"1\";\n";
        assert_eq!(network_options(dump), ["--aptopt=Acquire::http::Proxy \"http://p:3128\""]);
    }

    #[test]
    fn what_ci_sets_for_cargo_is_seen_in_the_root() {
        let script = fs::read_to_string(crate::root().unwrap().join(".ci/run")).unwrap();
        let exports = script.lines().filter_map(|line| line.strip_prefix("export "));
        let set: Vec<&str> = exports
            .flat_map(str::split_whitespace)
            .filter_map(|word| Some(word.split_once('=')?.0))
            .collect();
        assert!(set.contains(&"CARGO_INCREMENTAL"), "{set:?}");
        for name in set {
            assert!(PASSED.contains(&name), "{name} is not passed into a fresh root");
        }
    }

    /// Or the programs that CI starts would be slower than those of its tests.
    #[test]
    fn what_ci_does_not_optimise_no_test_has_optimised() {
        let checkout = crate::root().unwrap();
        let levels = |file: &str, profile: &str| {
            let text = fs::read_to_string(checkout.join(file)).unwrap();
            let settings: toml::Table = text.parse().unwrap();
            settings["profile"][profile]["package"].as_table().unwrap().clone()
        };
        let (tests, ci) = (levels("Cargo.toml", "dev"), levels(".ci/cargo.toml", "release"));
        for (package, settings) in &ci {
            assert_eq!(settings["opt-level"], tests[package]["opt-level"], "{package}");
        }
        let script = fs::read_to_string(checkout.join(".ci/run")).unwrap();
        assert!(script.contains(&format!("{SETTINGS}=.ci/cargo.toml ")), "{script}");
    }

    #[test]
    fn settings_lie_where_cargo_looks_from_every_folder() {
        let root = std::env::temp_dir().join(format!("tailwater-settings-{}", std::process::id()));
        let fresh = Fresh {
            checkout: crate::root().unwrap(),
            root: root.clone(),
            kept: "/k".into(),
            cargo_home: "/c".into(),
            rustup_home: "/u".into(),
        };
        let file = fresh.checkout.join(".ci/cargo.toml");
        fresh.set(&file).unwrap();
        assert_eq!(fs::read(root.join(".cargo/config.toml")).unwrap(), fs::read(file).unwrap());
        assert!(fresh.set(Path::new("nothing")).unwrap_err().contains("nothing"));
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn what_is_built_outside_is_hidden() {
        let fresh = Fresh {
            checkout: crate::root().unwrap(),
            root: "/r".into(),
            kept: "/k".into(),
            cargo_home: "/c".into(),
            rustup_home: "/u".into(),
        };
        let ignored = fs::read_to_string(fresh.checkout.join(".gitignore")).unwrap();
        for line in ignored.lines().filter_map(|line| line.strip_prefix('/')) {
            assert!(MADE.contains(&line), "{line} is seen in a fresh root");
        }
        let environment = fresh.environment().join("\n");
        assert!(environment.contains("PATH=/c/bin:") && !environment.contains("CARGO_TARGET_DIR"));
    }
}
