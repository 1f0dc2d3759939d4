//! What the kernel's file beside a trace says of slow calls and requests, in words.

use super::bounds::shown;
use super::reading::Trace;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tailwater_profile::kernel::{Account, Accounts, Cause, Stretch};
use tailwater_profile::record::{LossKind, Record};
use tailwater_profile::trace::Header;
use tailwater_report::count;

/// Rows told of what had a core, what ended sleeps and what interrupted.
const ROWS_MAX: usize = 3;

/// Where the kernel's file of a trace lies.
pub(super) fn kernel_file(trace: &Path) -> PathBuf {
    let mut name = OsString::from(trace);
    name.push(".kernel");
    PathBuf::from(name)
}

/// The kernel's file of the recording that a trace is of; that of a child (`TRACE.4711`) is its parent's.
pub(super) fn open_beside(trace: &Path, header: &Header) -> Option<Trace> {
    let is_number = |end: &std::ffi::OsStr| end.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    let parent = trace.extension().filter(|end| is_number(end)).map(|_| trace.with_extension(""));
    let candidates = std::iter::once(trace.to_owned()).chain(parent);
    let mut found = candidates.filter_map(|trace| Trace::open(&kernel_file(&trace)).ok());
    // It began before the program did.
    found.find(|kernel| kernel.header().clock.raw_ns <= header.clock.raw_ns)
}

/// Fills in where the time of calls or requests went, if there is a file that says; gives a sentence on what it lacks.
pub(super) fn account<'a>(
    trace: &Path,
    header: &Header,
    rows: impl Iterator<Item = (&'a mut Vec<Stretch>, &'a mut Option<Account>)>,
) -> String {
    let Some(kernel) = open_beside(trace, header) else { return String::new() };
    let (stretches, places): (Vec<_>, Vec<_>) =
        rows.map(|(stretches, account)| (std::mem::take(stretches), account)).unzip();
    let mut accounts = Accounts::new(stretches);
    let (mut lost, mut damaged) = (0u64, 0u64);
    kernel.read(|item| match item {
        Ok(record) => {
            if let Record::Loss(loss) = record
                && loss.kind == LossKind::Events
            {
                lost += loss.count;
            }
            accounts.add(record);
        }
        Err(_) => damaged += 1,
    });
    let left_out = accounts.left_out();
    for (place, account) in places.into_iter().zip(accounts.finish()) {
        *place = Some(account);
    }
    lacking(lost, damaged, left_out)
}

fn lacking(lost: u64, damaged: u64, left_out: u64) -> String {
    let what = [
        (lost, "events of the kernel were lost"),
        (damaged, "parts of the kernel's file are damaged"),
        (left_out, "facts of the kernel were left out for want of memory"),
    ];
    let told: Vec<String> = what
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", count(*number)))
        .collect();
    if told.is_empty() {
        return String::new();
    }
    format!("\n{}: where they are missing, time is unknown.", told.join(", "))
}

/// An account in lines. `waited_ns`: for locks and the like, of which is told elsewhere.
pub(super) fn told(account: &Account, waited_ns: u64) -> String {
    let mut out = format!(
        "  kernel: ran {}, waited for a core {}, slept {}, was interrupted {}",
        shown(account.running_ns),
        shown(account.runnable_ns),
        shown(account.asleep_ns),
        shown(account.interrupts_ns)
    );
    if account.unknown_ns > 0 {
        out.push_str(&format!(", unknown {}", shown(account.unknown_ns)));
    }
    if account.faults > 0 {
        out.push_str(&format!("; {} page faults", count(account.faults)));
    }
    out.push('\n');
    let rows = [
        ("waited for a core behind", behind(account)),
        ("slept until woken by", sleeps(account)),
        ("was interrupted by", interrupts(account)),
    ];
    for (what, rows) in rows.iter().filter(|(_, rows)| !rows.is_empty()) {
        out.push_str(&format!("    {what} {}\n", rows.join(", ")));
    }
    format!("{out}  {}\n", sentence(account, waited_ns))
}

fn behind(account: &Account) -> Vec<String> {
    let rows = account.behind.iter().take(ROWS_MAX);
    rows.map(|one| {
        let who = match &one.thread {
            Some(thread) => thread.as_str(),
            None if one.idle => "an idle core that had to wake up",
            None => "others",
        };
        format!("{who} {}", shown(one.ns))
    })
    .collect()
}

fn sleeps(account: &Account) -> Vec<String> {
    let rows = account.sleeps.iter().take(ROWS_MAX);
    rows.map(|one| {
        let by = one.woken_by.as_deref().unwrap_or("what is not known");
        let deep = if one.uninterruptible { " (for a disk or memory)" } else { "" };
        let times =
            if one.sleeps > 1 { format!(" in {}", count(one.sleeps)) } else { String::new() };
        format!("{by}{deep} {}{times}", shown(one.ns))
    })
    .collect()
}

fn interrupts(account: &Account) -> Vec<String> {
    let rows = account.interrupts.iter().filter(|one| one.ns > 0).take(ROWS_MAX);
    rows.map(|one| format!("{} {} in {}", one.name, shown(one.ns), count(one.count))).collect()
}

/// The main cause, in one sentence.
fn sentence(account: &Account, waited_ns: u64) -> String {
    let of = |ns: u64| format!("{} of {}", shown(ns), shown(account.total_ns));
    match account.cause {
        Cause::Running => format!("Mainly it ran: {} on a core.", of(account.running_ns)),
        Cause::Runnable => {
            let ns = of(account.runnable_ns);
            match account.behind.first() {
                Some(first) => match &first.thread {
                    Some(thread) => format!(
                        "Mainly it waited for a core: {ns}, in which {thread} had it for {}.",
                        shown(first.ns)
                    ),
                    None if first.idle => {
                        format!(
                            "Mainly it waited for a core that was idle and had to wake up: {ns}."
                        )
                    }
                    None => format!("Mainly it waited for a core that many others had: {ns}."),
                },
                None => format!("Mainly it waited for a core: {ns}."),
            }
        }
        Cause::Asleep if waited_ns * 2 >= account.asleep_ns => {
            format!("Mainly it slept, for what it waited for as told: {}.", of(account.asleep_ns))
        }
        Cause::Asleep => {
            let ns = of(account.asleep_ns);
            match account.sleeps.first().and_then(|first| first.woken_by.as_deref()) {
                Some("timer") => {
                    format!("Mainly it slept: {ns}, until a time that it had set was over.")
                }
                Some(by) => format!("Mainly it slept: {ns}, until {by} woke it."),
                None => format!("Mainly it slept: {ns}."),
            }
        }
        Cause::Interrupts => {
            let first = account.interrupts.first().map_or("", |first| first.name.as_str());
            let ns = of(account.interrupts_ns);
            format!("Mainly interrupts had its core: {ns}, of which {first} took most.")
        }
        Cause::Unknown => format!(
            "What it mainly did is not known: the kernel's events are missing for {}.",
            of(account.unknown_ns)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_profile::kernel::{Behind, Sleeps};

    #[test]
    fn the_neighbour_is_named_and_a_sleep_is_not_blamed_on_one() {
        let hog = Behind { thread: Some("hog (7)".into()), idle: false, ns: 17_500_000 };
        let account = Account {
            total_ns: 20_000_000,
            runnable_ns: 18_000_000,
            running_ns: 2_000_000,
            behind: vec![hog],
            cause: Cause::Runnable,
            ..Account::default()
        };
        let text = told(&account, 0);
        assert!(
            text.contains(
                "waited for a core: 18.0 ms of 20.0 ms, in which hog (7) had it for 17.5 ms"
            ),
            "{text}"
        );
        let sleep = Sleeps {
            woken_by: Some("timer".into()),
            uninterruptible: false,
            sleeps: 1,
            ns: 18_000_000,
        };
        let asleep = Account {
            runnable_ns: 0,
            asleep_ns: 18_000_000,
            behind: vec![],
            sleeps: vec![sleep],
            cause: Cause::Asleep,
            ..account
        };
        let text = told(&asleep, 0);
        assert!(text.contains("slept: 18.0 ms of 20.0 ms, until a time that it had set"), "{text}");
        assert!(told(&asleep, 17_000_000).contains("for what it waited for"), "{text}");
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(lacking(0, 0, 0), "");
        let text = lacking(3, 0, 1);
        assert!(text.contains("3 events of the kernel were lost, 1 facts"), "{text}");
    }

    #[test]
    fn the_kernels_file_of_a_child_is_its_parents() {
        assert_eq!(kernel_file(Path::new("out/x.trace")), Path::new("out/x.trace.kernel"));
        assert_eq!(Path::new("x.trace.4711").with_extension(""), Path::new("x.trace"));
    }
}
