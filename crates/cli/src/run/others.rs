//! Other experiments on this machine, or what an earlier one left: they take processor time from this one.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

/// The verbs that keep cores busy, and may have been started long ago.
const BUSY: [&str; 7] = ["serve", "job", "load", "run", "suite", "demo", "figures"];

/// So many are named at most.
const NAMED_MAX: usize = 8;

/// A process that is at work.
struct Other {
    parent: u32,
    verb: String,
}

/// Says on standard error what is at work already, and how to end it.
pub(crate) fn tell() {
    let others = others();
    // What another one started ends with it.
    let heads = others.iter().filter(|(_, other)| !others.contains_key(&other.parent));
    let heads: Vec<(&u32, &Other)> = heads.collect();
    if !heads.is_empty() {
        // Standard error may be closed, which changes nothing.
        let _ = writeln!(std::io::stderr(), "{}", warning(&heads));
    }
}

fn warning(heads: &[(&u32, &Other)]) -> String {
    let shown = &heads[..heads.len().min(NAMED_MAX)];
    let join = |of: &dyn Fn(&(&u32, &Other)) -> String, by| {
        shown.iter().map(of).collect::<Vec<_>>().join(by)
    };
    let named = join(&|(pid, other)| format!("tailwater {} (process {pid})", other.verb), ", ");
    let pids = join(&|(pid, _)| pid.to_string(), " ");
    let more = match heads.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "tailwater: warning: found {named}{more} at work already, which disturbs what is measured; if it was left \
         behind, type: kill {pids}"
    )
}

/// By process number. What may not be looked at, or ends meanwhile, is left out.
fn others() -> BTreeMap<u32, Other> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let myself = std::process::id();
    let other = |pid: &u32| *pid != myself;
    numbers.filter(other).filter_map(|pid| Some((pid, look(pid)?))).collect()
}

fn look(pid: u32) -> Option<Other> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = words.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let is_ours = Path::new(&*words.next()?).file_name()?.to_str()? == "tailwater";
    let verb = words.next().filter(|verb| is_ours && BUSY.contains(&&**verb))?.into_owned();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    Some(Other { parent: parent.trim().parse().ok()?, verb })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_some_are_named_and_the_others_counted() {
        let others: BTreeMap<u32, Other> =
            (1..=11).map(|pid| (pid, Other { parent: 0, verb: "serve".into() })).collect();
        let told = warning(&others.iter().collect::<Vec<_>>());
        assert!(told.contains("tailwater serve (process 8) and 3 more at work already"), "{told}");
        assert!(told.ends_with("type: kill 1 2 3 4 5 6 7 8"), "{told}");
    }
}
