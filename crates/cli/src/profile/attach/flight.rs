//! `attach --last`: the trace is read while it grows, and only its last moments stay. With `--until` a slow call ends it.
//!
//! The recorder writes all of it to `TRACE.all`. This side follows it, gives the room of what it has read back to the
//! file system, and holds the last moments in memory. They are in `TRACE` when the recording has ended.

use super::recorder::Bell;
use crate::failure::Failure;
use crate::profile::glob::is_named;
use crate::profile::keep::Sink;
use crate::profile::record::{Growing, all_of, following};
use crate::values::duration;
use std::collections::HashSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Release;
use std::thread::JoinHandle;
use std::time::Duration;
use tailwater_profile::clock::TickRate;
use tailwater_profile::names::demangled;
use tailwater_profile::record::{Call, CallFlags, FunctionId, Record};
use tailwater_profile::retention::{Gone, Last};
use tailwater_profile::trace::Reader;
use tailwater_report::{count, time};

/// A call that ends the recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SlowCall {
    glob: String,
    longer: Duration,
}

/// `GLOB>TIME`.
pub(super) fn slow_call(text: &str) -> Result<SlowCall, String> {
    let parts = text.rsplit_once('>').filter(|(glob, _)| !glob.trim().is_empty());
    let Some((glob, longer)) = parts else {
        return Err(format!(
            "'{text}' found; a function and a time are needed, such as 'handle*>10ms'"
        ));
    };
    Ok(SlowCall { glob: glob.trim().to_owned(), longer: duration(longer)? })
}

/// A flight recorder at work.
pub(super) struct Flight {
    trace: PathBuf,
    last: Duration,
    over: Arc<AtomicBool>,
    following: JoinHandle<Result<Option<Landed>, Failure>>,
}

/// What following it came to.
struct Landed {
    gone: Gone,
    damages: u64,
    /// Bytes in all.
    read: u64,
    /// How long the call took at least that ended it, in nanoseconds, and its name.
    slow: Option<(String, u64)>,
}

impl Flight {
    /// Begins to follow what will be recorded for `trace`; the recorder is to write it at [`all_of`]. Rings where a slow call
    /// has ended, and where following fails: nothing would be kept of what is recorded after that.
    pub(super) fn start(trace: &Path, last: Duration, until: Option<SlowCall>, bell: Bell) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (to, is_over) = (trace.to_owned(), over.clone());
        let rings = bell.clone();
        let follow = move || {
            let alarm = until.map(|until| Alarm::new(until, bell));
            follow(&to, last, alarm, is_over)
        };
        let following = following(follow, move |_| rings.ring());
        Self { trace: trace.to_owned(), last, over, following }
    }

    /// The recorder has ended: writes what is held, and says in words what came of it.
    pub(super) fn finish(self) -> Result<String, Failure> {
        let Self { trace, last, over, following } = self;
        over.store(true, Release);
        let landed = following.join().expect("a panic is a failure");
        let all = all_of(&trace);
        let keeps = format!("{} has what was not read of it", all.display());
        let Some(landed) = landed.map_err(|failure| failure.and(&keeps))? else {
            return Ok(String::new());
        };
        let _ = std::fs::remove_file(&all);
        Ok(landed.text(last))
    }
}

impl Landed {
    fn text(&self, last: Duration) -> String {
        let mut text = format!(
            "\nKept: the last {}; {} records before are gone, and {} bytes were recorded.",
            time(last.as_secs_f64() * 1e6),
            count(self.gone.old),
            count(self.read)
        );
        if self.gone.crowded > 0 {
            let crowded = count(self.gone.crowded);
            text.push_str(&format!(" For want of memory {crowded} later ones are, too."));
        }
        if self.damages > 0 {
            let damages = count(self.damages);
            text.push_str(&format!(" {damages} damaged parts were passed over."));
        }
        if let Some((name, ns)) = &self.slow {
            let took = time(*ns as f64 / 1e3);
            text.push_str(&format!(
                "\nIt was ended by a call of {name} that took {took} at least."
            ));
        }
        text
    }
}

/// Reads to the end of what writes the trace. `None`: there is none.
fn follow(
    to: &Path,
    length: Duration,
    mut alarm: Option<Alarm>,
    over: Arc<AtomicBool>,
) -> Result<Option<Landed>, Failure> {
    let from = all_of(to);
    let trouble = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::work(format!("{}: {error}", path.display()))
    };
    let Some(growing) = Growing::open(&from, over).map_err(|error| trouble(&from, &error))? else {
        return Ok(None);
    };
    let mut reader = Reader::new(growing).map_err(|error| trouble(&from, &error))?;
    let out = File::create(to).map_err(|error| trouble(to, &error))?;
    let mut out =
        Sink::new(BufWriter::new(out), reader.header()).map_err(|error| trouble(to, &error))?;
    let mut last = Last::new(reader.header(), length);
    let mut damages = 0;
    for item in reader.by_ref() {
        match item {
            Ok(record) => {
                alarm.iter_mut().for_each(|alarm| alarm.hear(&record, last.rate()));
                last.add(record, |record| out.add(record));
            }
            Err(_) => damages += 1,
        }
        if out.has_failed() {
            break;
        }
    }
    let gone = last.finish(|record| out.add(record));
    let (ending, read) = (reader.ending(), reader.offset());
    out.finish(&ending).map_err(|error| trouble(to, &error))?;
    Ok(Some(Landed { gone, damages, read, slow: alarm.and_then(|alarm| alarm.rung) }))
}

/// Waits for a slow call.
struct Alarm {
    until: SlowCall,
    bell: Bell,
    /// Functions that are meant, and what they are called.
    meant: HashSet<FunctionId>,
    names: Vec<(FunctionId, String)>,
    rung: Option<(String, u64)>,
}

impl Alarm {
    fn new(until: SlowCall, bell: Bell) -> Self {
        Self { until, bell, meant: HashSet::new(), names: Vec::new(), rung: None }
    }

    /// `rate` is known once two clocks have come, a tenth of a second after the beginning.
    fn hear(&mut self, record: &Record, rate: Option<TickRate>) {
        match record {
            Record::Function(function) => {
                let name = demangled(&function.name);
                let glob = std::slice::from_ref(&self.until.glob);
                if is_named(glob, &name, &function.name) && self.meant.insert(function.id) {
                    self.names.push((function.id, name));
                }
            }
            Record::Call(call) if self.rung.is_none() && self.is_meant(call) => {
                let Some(took) = rate.map(|rate| rate.ns(surely(call))) else { return };
                if u128::from(took) >= self.until.longer.as_nanos() {
                    let named = self.names.iter().find(|(id, _)| *id == call.function);
                    self.rung = named.map(|(_, name)| (name.clone(), took));
                    self.bell.ring();
                }
            }
            _ => {}
        }
    }

    /// A call that was under way when its thread was last looked at has not ended the recording: it may be older.
    fn is_meant(&self, call: &Call) -> bool {
        !call.flags.has(CallFlags::UNFINISHED) && self.meant.contains(&call.function)
    }
}

/// How long a call took at least, in ticks.
fn surely(call: &Call) -> u64 {
    let latest_start = call.start.saturating_add(call.start_slack.into());
    call.end.saturating_sub(call.end_slack.into()).saturating_sub(latest_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_call_is_a_function_and_a_time() {
        let expected = SlowCall { glob: "a->b*".into(), longer: Duration::from_millis(10) };
        assert_eq!(slow_call("a->b* > 10ms"), Ok(expected));
        for text in ["", "handle", ">10ms", "handle>", "handle>10", "handle>fast"] {
            assert!(slow_call(text).is_err(), "{text}");
        }
    }
}
