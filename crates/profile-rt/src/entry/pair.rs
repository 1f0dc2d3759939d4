//! The two threads of a recording, be they the program's own or a recorder's beside it: one looks, the other writes.

use crate::entry::settings::Settings;
use crate::look::items::BATCHES_MAX;
use crate::look::scan::Costs;
use crate::look::scanner::{Scanner, Times};
use crate::memory::arena::Arena;
use crate::memory::lease::Term;
use crate::system::clock;
use crate::system::own_threads;
use crate::system::process;
use crate::system::subject::Subject;
use crate::write::output::Output;
use rustix::thread::set_current_timer_slack;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use tailwater_profile::record::Ticks;
use tailwater_profile::trace::{Header, Writer};

/// What is recorded, and where to.
pub(crate) struct Recording<'a> {
    arena: Arena,
    /// In which the lease is held.
    term: Term,
    subject: Subject,
    settings: &'a Settings,
    us: Ticks,
    writer: Writer<File>,
    began: Ticks,
}

/// Where the scanner has come to run.
pub(crate) struct Placed {
    /// What its looks cost there.
    pub(crate) costs: Costs,
    /// There is one core for the program and the scanner.
    pub(crate) shares_core: bool,
}

/// What a recording does on its threads beside looking and writing.
pub(crate) struct Around<P, W, O> {
    /// On the scanner's, first.
    pub(crate) place: P,
    /// On the output's, first; what it returns is dropped last.
    pub(crate) writes: W,
    /// On the scanner's, last.
    pub(crate) over: O,
}

pub(crate) struct Pair {
    scanner: JoinHandle<()>,
    output: JoinHandle<io::Result<()>>,
}

impl<'a> Recording<'a> {
    /// Begins a trace in `file`, which is new, of the process that has this number here.
    pub(crate) fn new(
        (arena, term): (Arena, Term),
        (pid, subject): (u32, Subject),
        file: File,
        settings: &'a Settings,
        us: Ticks,
    ) -> io::Result<Self> {
        let header = Header {
            architecture: std::env::consts::ARCH.into(),
            pid,
            program: subject.program(),
            build_id: subject.build_id(),
            clock: clock::read(),
        };
        let began = header.clock.ticks;
        let writer = Writer::new(file, &header)?;
        Ok(Self { arena, term, subject, settings, us, writer, began })
    }

    /// Starts both threads.
    pub(crate) fn start<G>(
        self,
        around: Around<
            impl FnOnce() -> Placed + Send + 'static,
            impl FnOnce() -> G + Send + 'static,
            impl FnOnce() + Send + 'static,
        >,
    ) -> io::Result<Pair> {
        let Self { arena, term, subject, settings, us, writer, began } = self;
        let Around { place, writes, over } = around;
        let Settings { budget, cpu, .. } = *settings;
        let output = Output::new(arena, term, writer, settings.filter.clone(), subject);
        let (to, from) = sync_channel(BATCHES_MAX);
        let (empty, emptied) = sync_channel(BATCHES_MAX);
        let write = move || {
            let _until_written = writes();
            output.run(&from, &empty)
        };
        let output = own_threads::start("tw-output", write)?;
        let scan = move || {
            let Placed { costs, shares_core } = place();
            // Or naps would be half as long again. Best effort.
            let _ = set_current_timer_slack(NonZeroU64::new(1));
            own_threads::take_short_turns();
            let times = Times { us, costs, budget, cpu, began, shares_core };
            Scanner::new(arena, term, times, to, emptied).run(process::stop());
            over();
        };
        // Where there is none, the output finds its channel closed, and ends.
        let scanner = own_threads::start("tw-scanner", scan)?;
        Ok(Pair { scanner, output })
    }
}

impl Pair {
    pub(crate) fn is_finished(&self) -> bool {
        self.scanner.is_finished() && self.output.is_finished()
    }

    /// Waits for both.
    pub(crate) fn join(self) -> io::Result<()> {
        let scanned = self.scanner.join();
        let written = self.output.join();
        scanned.map_err(|_| io::Error::other("the scanner panicked"))?;
        written.map_err(|_| io::Error::other("the output panicked"))?
    }

    /// Waits for what is written alone. For the scanner itself.
    pub(crate) fn join_output(self) -> io::Result<()> {
        self.output.join().unwrap_or(Ok(()))
    }
}
