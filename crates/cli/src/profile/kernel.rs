//! What the kernel's file beside a trace says of slow calls and requests, in words.

use super::bounds::shown;
use super::companion::Companion;
use super::reading::Trace;
use std::path::Path;
use tailwater_profile::clock::TickRate;
use tailwater_profile::kernel::{
    Account, Accounts, Cause, Coverage, HadBy, Sleeps, Stretch, Wakers, Woken,
};
use tailwater_profile::record::Record;
use tailwater_profile::requests::WaitRow;
use tailwater_profile::trace::Header;
use tailwater_report::count;

/// Rows told of what had a core, what ended sleeps and what interrupted.
const ROWS_MAX: usize = 3;

/// Fills in where the time of calls or requests went, if there is a file that says; gives what it lacks. The trace's ticks
/// are of that rate. `also` takes the same records.
pub(super) fn account<'a>(
    trace: &Path,
    header: &Header,
    rate: TickRate,
    rows: impl Iterator<Item = (&'a mut Vec<Stretch>, &'a mut Option<Account>)>,
    mut also: impl FnMut(&Record),
) -> Option<Coverage> {
    let kernel = Companion::Kernel.open(trace, header)?;
    let (stretches, places): (Vec<_>, Vec<_>) =
        rows.map(|(stretches, account)| (std::mem::take(stretches), account)).unzip();
    let mut accounts = Accounts::new(stretches);
    kernel.read(|item| match item {
        Ok(record) => {
            also(record);
            accounts.add(record);
        }
        Err(_) => accounts.damaged(),
    });
    let coverage = accounts.coverage();
    let mut accounts = accounts.finish();
    name_wakers(trace, header, rate, &mut accounts);
    for (place, account) in places.into_iter().zip(accounts) {
        *place = Some(account);
    }
    Some(coverage)
}

/// Fills in the functions of threads that ended sleeps, from the trace.
fn name_wakers(trace: &Path, header: &Header, rate: TickRate, accounts: &mut [Account]) {
    let sleeps = accounts.iter_mut().flat_map(|account| &mut account.sleeps);
    let (wanted, sleeps): (Vec<Woken>, Vec<&mut Sleeps>) =
        sleeps.filter_map(|sleeps| Some((sleeps.woken?, sleeps))).unzip();
    if wanted.is_empty() {
        return;
    }
    // It was read a moment ago, and whoever removed it since has the accounts all the same.
    let Ok(reading) = Trace::open(trace) else { return };
    let mut wakers = Wakers::new(header, rate, &wanted);
    reading.read(|item| {
        // Damage was counted before.
        if let Ok(record) = item {
            wakers.add(record);
        }
    });
    for (sleeps, function) in sleeps.into_iter().zip(wakers.finish()) {
        sleeps.function = function;
    }
}

/// What holders of the locks that a row waited for did meanwhile.
pub(super) fn holders(
    waits: &mut [WaitRow],
) -> impl Iterator<Item = (&mut Vec<Stretch>, &mut Option<Account>)> {
    let held = waits.iter_mut().filter_map(|wait| wait.holder.as_mut());
    held.map(|held| (&mut held.stretches, &mut held.kernel))
}

/// The functions that an account tells of.
pub(super) fn functions(account: &mut Option<Account>) -> impl Iterator<Item = &mut String> {
    let sleeps = account.iter_mut().flat_map(|account| &mut account.sleeps);
    sleeps.filter_map(|one| one.function.as_mut())
}

/// What the kernel's file lacks, in a sentence.
pub(super) fn lacking(coverage: Option<&Coverage>) -> String {
    let Some(coverage) = coverage else { return String::new() };
    let what = [
        (coverage.lost_events, "events of the kernel were lost"),
        (coverage.damaged_parts, "parts of the kernel's file are damaged"),
        (coverage.left_out, "facts of the kernel were left out for want of memory"),
    ];
    let told: Vec<String> = what
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", count(*number)))
        .collect();
    let mut out = match told.is_empty() {
        true => String::new(),
        false => format!("\n{}: where they are missing, time is unknown.", told.join(", ")),
    };
    if let Some(times) = coverage.throttled.filter(|times| *times > 0) {
        out.push_str(&format!(
            "\nA CPU quota stopped the program {} times. Its threads then waited for that, whatever had the core meanwhile.",
            count(times)
        ));
    }
    out
}

/// What is told of a row beside its account.
pub(super) struct Beside<'a> {
    /// What its threads waited for locks and the like.
    pub(super) waited_ns: u64,
    /// These waits, longest first.
    pub(super) waits: &'a [WaitRow],
    pub(super) coverage: Option<&'a Coverage>,
}

/// An account in lines.
pub(super) fn told(account: &Account, beside: &Beside<'_>) -> String {
    let mut out = format!(
        "  kernel: ran {}, waited for a core {}, slept {}, was interrupted {}",
        shown(account.running_ns),
        shown(account.runnable_ns),
        shown(account.asleep_ns),
        shown(account.interrupts_ns)
    );
    let more = [(account.stopped_ns, "stopped"), (account.unknown_ns, "unknown")];
    for (ns, what) in more.iter().filter(|(ns, _)| *ns > 0) {
        out.push_str(&format!(", {what} {}", shown(*ns)));
    }
    if account.faults > 0 {
        out.push_str(&format!("; {} page faults", count(account.faults)));
        if account.faults_ns > 0 {
            out.push_str(&format!(", about {}", shown(account.faults_ns)));
        }
    }
    if account.moves > 0 {
        out.push_str(&format!("; moves to another core: {}", count(account.moves)));
    }
    out.push('\n');
    let throttled = beside.coverage.and_then(|coverage| coverage.throttled);
    let rows = [
        ("waited for a core behind", behind(account, throttled)),
        ("slept until woken by", sleeps(account)),
        ("was interrupted by", interrupts(account)),
    ];
    for (what, rows) in rows.iter().filter(|(_, rows)| !rows.is_empty()) {
        out.push_str(&format!("    {what} {}\n", rows.join(", ")));
    }
    format!("{out}  {}\n", sentence(account, beside))
}

fn behind(account: &Account, throttled: Option<u64>) -> Vec<String> {
    let rows = account.behind.iter().take(ROWS_MAX);
    rows.map(|one| {
        let who = match (one.had_by, &one.thread) {
            (HadBy::Thread, thread) => thread.as_deref().unwrap_or("a thread").to_owned(),
            (HadBy::Idle, _) => "an idle core that had to wake up".to_owned(),
            (HadBy::HeldBack, _) => {
                format!("an idle core that did not let it run ({})", quota(throttled))
            }
            (HadBy::Others, _) => "others".to_owned(),
        };
        format!("{who} {}", shown(one.ns))
    })
    .collect()
}

/// What speaks for a quota: an idle core alone does not.
fn quota(throttled: Option<u64>) -> String {
    match throttled {
        Some(0) => "no CPU quota: it stopped nothing in this recording".into(),
        Some(times) => {
            format!("a CPU quota: it stopped the program {} times in this recording", count(times))
        }
        None => "a CPU quota? see nr_throttled in the cpu.stat of its control group".into(),
    }
}

fn sleeps(account: &Account) -> Vec<String> {
    let rows = account.sleeps.iter().take(ROWS_MAX);
    rows.map(|one| {
        let by = woken_by(one).unwrap_or_else(|| "what is not known".into());
        let deep = if one.uninterruptible { " (for a disk or memory)" } else { "" };
        let times =
            if one.sleeps > 1 { format!(" in {}", count(one.sleeps)) } else { String::new() };
        format!("{by}{deep} {}{times}", shown(one.ns))
    })
    .collect()
}

/// What ended sleeps, and where in it.
fn woken_by(sleeps: &Sleeps) -> Option<String> {
    let by = sleeps.woken_by.as_deref()?;
    Some(match &sleeps.function {
        Some(function) => format!("{by} in {function}"),
        None => by.to_owned(),
    })
}

fn interrupts(account: &Account) -> Vec<String> {
    let rows = account.interrupts.iter().filter(|one| one.ns > 0).take(ROWS_MAX);
    rows.map(|one| format!("{} {} in {}", one.name, shown(one.ns), count(one.count))).collect()
}

/// The main cause, in one sentence; where that is a wait for a lock, in another what its holder did.
fn sentence(account: &Account, beside: &Beside<'_>) -> String {
    if account.cause == Cause::Asleep && beside.waited_ns > account.asleep_ns / 2 {
        let ns = shown(beside.waited_ns);
        let slept = format!(
            "Mainly it slept: {} of {}, for what it waited for as told ({ns}).",
            shown(account.asleep_ns),
            shown(account.total_ns)
        );
        return format!("{slept}{}", holder(beside));
    }
    let throttled = beside.coverage.and_then(|coverage| coverage.throttled);
    match account.cause {
        Cause::Mixed => "Nothing took more than half of the time.".into(),
        Cause::Unknown => format!(
            "What it mainly did is not known: the kernel's events are missing for {} of {}.",
            shown(account.unknown_ns),
            shown(account.total_ns)
        ),
        _ => format!("Mainly {}.", mainly(account, throttled)),
    }
}

/// What the holder of the lock did that was waited for for most of the time.
fn holder(beside: &Beside<'_>) -> String {
    let throttled = beside.coverage.and_then(|coverage| coverage.throttled);
    let first = beside.waits.first().filter(|first| first.ns > beside.waited_ns / 2);
    let Some(held) = first.and_then(|first| first.holder.as_ref()) else { return String::new() };
    match &held.kernel {
        Some(account) if !matches!(account.cause, Cause::Mixed | Cause::Unknown) => {
            format!(" Of its holder {}: mainly {}.", held.thread, mainly(account, throttled))
        }
        _ => String::new(),
    }
}

/// What a thread did for more than half of the time. One thing behind it is named if it has more than half of that.
fn mainly(account: &Account, throttled: Option<u64>) -> String {
    let of = format!("{} of {}", shown(account.of(account.cause)), shown(account.total_ns));
    match account.cause {
        Cause::Runnable => {
            format!("it waited for a core: {of}{}", mainly_behind(account, throttled))
        }
        Cause::Asleep => format!("it slept: {of}{}", mainly_until(account)),
        Cause::Interrupts => format!("interrupts had its core: {of}{}", mainly_by(account)),
        Cause::Faults => format!(
            "page faults took its time: about {of}, {} of them, each taken for as long as the first touch of a page when \
             the recording began",
            count(account.faults)
        ),
        Cause::Stopped => format!("a signal or a debugger had stopped it: {of}"),
        Cause::Running | Cause::Unknown | Cause::Mixed => format!("it ran: {of} on a core"),
    }
}

/// What had the core that a thread waited for.
fn mainly_behind(account: &Account, throttled: Option<u64>) -> String {
    let Some(first) = account.behind.first() else { return String::new() };
    let ns = shown(first.ns);
    let who = first.thread.as_deref().unwrap_or("a thread");
    match first.had_by {
        HadBy::Thread if first.ns > account.runnable_ns / 2 => {
            format!(", in which {who} had it for {ns}")
        }
        HadBy::Thread => {
            format!("; none had it for more than half of that, and {who} for longest: {ns}")
        }
        HadBy::Idle => format!(", of which an idle core took {ns} to wake up"),
        HadBy::HeldBack => {
            format!(
                ", of which for {ns} a core was idle that did not let it run: {}",
                quota(throttled)
            )
        }
        HadBy::Others => format!(", in which many others had it for {ns}"),
    }
}

/// What ended a thread's sleep.
fn mainly_until(account: &Account) -> String {
    let Some(first) = account.sleeps.first() else { return String::new() };
    let until = match woken_by(first).as_deref() {
        Some("timer") => "until a time that it had set was over".to_owned(),
        Some(by) => format!("until {by} woke it"),
        None => "until something unknown woke it".to_owned(),
    };
    let ns = shown(first.ns);
    match first.ns > account.asleep_ns / 2 {
        true => format!(", of which {ns} {until}"),
        false => format!("; nothing ended more than half of that, and most {until}: {ns}"),
    }
}

/// What interrupted a thread.
fn mainly_by(account: &Account) -> String {
    let Some(first) = account.interrupts.first() else { return String::new() };
    let (name, ns) = (&first.name, shown(first.ns));
    match first.ns > account.interrupts_ns / 2 {
        true => format!(", of which {name} took {ns}"),
        false => format!("; no one took more than half of that, and {name} most: {ns}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_profile::kernel::{Behind, Interrupts, Sleeps};
    use tailwater_profile::requests::Held;

    const MS: u64 = 1_000_000;

    fn alone(waited_ns: u64) -> Beside<'static> {
        Beside { waited_ns, waits: &[], coverage: None }
    }

    fn behind(had_by: HadBy, thread: Option<&str>, ns: u64) -> Behind {
        Behind { had_by, thread: thread.map(Into::into), ns }
    }

    fn waiting(rows: Vec<Behind>) -> Account {
        Account {
            total_ns: 20 * MS,
            runnable_ns: 18 * MS,
            running_ns: 2 * MS,
            behind: rows,
            cause: Cause::Runnable,
            ..Account::default()
        }
    }

    fn sleeping() -> Account {
        let sleep = Sleeps {
            woken_by: Some("timer".into()),
            uninterruptible: false,
            sleeps: 1,
            ns: 18 * MS,
            function: None,
            woken: None,
        };
        Account {
            total_ns: 20 * MS,
            running_ns: 2 * MS,
            asleep_ns: 18 * MS,
            sleeps: vec![sleep],
            cause: Cause::Asleep,
            ..Account::default()
        }
    }

    fn has(text: &str, wanted: &str) {
        assert!(text.contains(wanted), "no {wanted} in {text}");
    }

    #[test]
    fn the_neighbour_is_named_and_a_sleep_is_not_blamed_on_one() {
        let account = waiting(vec![behind(HadBy::Thread, Some("hog (7)"), 17_500_000)]);
        let text = told(&account, &alone(0));
        has(&text, "waited for a core: 18.0 ms of 20.0 ms, in which hog (7) had it for 17.5 ms");
        let text = told(&sleeping(), &alone(0));
        has(&text, "slept: 18.0 ms of 20.0 ms, of which 18.0 ms until a time that it had set");
        has(&told(&sleeping(), &alone(17 * MS)), "for what it waited for");
    }

    #[test]
    fn moves_are_told_where_there_are_any() {
        let moved = Account { moves: 1_200, ..sleeping() };
        has(&told(&moved, &alone(0)), "was interrupted 0 µs; moves to another core: 1,200\n");
        assert!(!told(&sleeping(), &alone(0)).contains("moves"));
    }

    #[test]
    fn of_a_thread_that_ended_the_sleep_the_function_is_told() {
        let mut account = sleeping();
        let first = &mut account.sleeps[0];
        (first.woken_by, first.function) = (Some("flusher (9)".into()), Some("unlock".into()));
        let text = told(&account, &alone(0));
        has(&text, "slept until woken by flusher (9) in unlock 18.0 ms");
        has(&text, "until flusher (9) in unlock woke it");
    }

    #[test]
    fn nobody_is_named_alone_for_less_than_half() {
        let rows = [("a (1)", 7), ("b (2)", 6), ("c (3)", 5)];
        let rows = rows.map(|(name, ms)| behind(HadBy::Thread, Some(name), ms * MS));
        let text = told(&waiting(rows.to_vec()), &alone(0));
        has(&text, "none had it for more than half of that, and a (1) for longest: 7.00 ms.");
        let interrupts = ["softirq NET_RX", "timer interrupt", "interrupt 24"];
        let interrupts =
            interrupts.map(|name| Interrupts { name: name.into(), count: 9, ns: 5 * MS });
        let stormy = Account {
            total_ns: 20 * MS,
            interrupts_ns: 15 * MS,
            running_ns: 5 * MS,
            interrupts: interrupts.to_vec(),
            cause: Cause::Interrupts,
            ..Account::default()
        };
        has(
            &told(&stormy, &alone(0)),
            "no one took more than half of that, and softirq NET_RX most: 5.00 ms.",
        );
        let mixed = Account { cause: Cause::Mixed, ..stormy };
        has(&told(&mixed, &alone(0)), "Nothing took more than half of the time.");
    }

    #[test]
    fn a_quota_is_no_core_that_had_to_wake_up() {
        let account = waiting(vec![behind(HadBy::HeldBack, None, 17 * MS)]);
        let text = told(&account, &alone(0));
        has(&text, "an idle core that did not let it run (a CPU quota? see nr_throttled");
        assert!(!text.contains("wake up"), "{text}");
        let coverage = Coverage { throttled: Some(31), ..Coverage::default() };
        let beside = Beside { coverage: Some(&coverage), ..alone(0) };
        has(
            &told(&account, &beside),
            "a CPU quota: it stopped the program 31 times in this recording",
        );
        let account = waiting(vec![behind(HadBy::Idle, None, 17 * MS)]);
        has(&told(&account, &alone(0)), "of which an idle core took 17.0 ms to wake up");
    }

    #[test]
    fn of_a_lock_it_is_told_what_kept_its_holder() {
        let holder = waiting(vec![behind(HadBy::Thread, Some("hog (7)"), 17 * MS)]);
        let held = Held {
            thread: "snapshot (4)".into(),
            function: None,
            at: None,
            line: None,
            doing: vec![],
            stretches: vec![],
            kernel: Some(holder),
        };
        let wait = WaitRow {
            kind: "mutex",
            object: 1,
            waits: 1,
            ns: 18 * MS,
            function: None,
            site: 0,
            lock: None,
            line: None,
            holder: Some(held),
        };
        let beside = Beside { waits: &[wait], ..alone(18 * MS) };
        let text = told(&sleeping(), &beside);
        has(
            &text,
            "Of its holder snapshot (4): mainly it waited for a core: 18.0 ms of 20.0 ms, in which hog (7)",
        );
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(lacking(None), "");
        assert_eq!(lacking(Some(&Coverage::default())), "");
        let coverage = Coverage { lost_events: 3, left_out: 1, ..Coverage::default() };
        let text = lacking(Some(&coverage));
        assert!(text.contains("3 events of the kernel were lost, 1 facts"), "{text}");
        let throttled = Coverage { throttled: Some(4), ..Coverage::default() };
        has(&lacking(Some(&throttled)), "A CPU quota stopped the program 4 times.");
    }
}
