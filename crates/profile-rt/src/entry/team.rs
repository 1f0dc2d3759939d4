//! The threads of a recording, be they the program's own or a recorder's beside it: some look, one writes.

use crate::entry::settings::Settings;
use crate::look::calibrate::Calibration;
use crate::look::items::{Inlet, Item, Outlet, way};
use crate::look::part::Part;
use crate::look::scanner::{Scanner, Times};
use crate::memory::arena::Arena;
use crate::memory::lease::Term;
use crate::system::clock;
use crate::system::own_threads;
use crate::system::process;
use crate::system::subject::Subject;
use crate::write::output::Output;
use crate::write::trace_file::Programs;
use rustix::thread::set_current_timer_slack;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::thread::JoinHandle;
use tailwater_profile::record::{Figure, Measured, Record, Ticks};
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
    programs: Programs,
    began: Ticks,
}

/// Where a scanner has come to run.
pub(crate) struct Placed {
    /// What its looks cost there, and how late they see.
    pub(crate) calibration: Calibration,
    /// There is one core for the program and the scanner.
    pub(crate) shares_core: bool,
}

/// What a recording does on its threads beside looking and writing.
pub(crate) struct Around<P, W, O> {
    /// On each scanner's, by its number, first.
    pub(crate) place: P,
    /// On the output's, first; what it returns is dropped last. Nothing is written where it fails.
    pub(crate) writes: W,
    /// On that of the scanner that ends last, last.
    pub(crate) over: O,
}

pub(crate) struct Team {
    scanners: Vec<JoinHandle<()>>,
    output: JoinHandle<io::Result<()>>,
}

impl<'a> Recording<'a> {
    /// Begins a trace in a new file, of the process that has this number here.
    pub(crate) fn new(
        (arena, term): (Arena, Term),
        (pid, subject): (u32, Subject),
        create: impl FnOnce() -> io::Result<(File, Programs)>,
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
        // Last, and the header at once: whoever runs beside may close the file and open its own in that place.
        let (file, programs) = create()?;
        let mut writer = Writer::new(file, &header)?;
        if !settings.looks {
            writer.write(&Record::Figure(Figure { what: Measured::Unscanned, value: 1 }))?;
        }
        let holds = settings.hold_ticks(us);
        if holds > 0 {
            let (what, value) = (Measured::HoldTicks, holds.into());
            writer.write(&Record::Figure(Figure { what, value }))?;
        }
        Ok(Self { arena, term, subject, settings, us, writer, programs, began })
    }

    /// The descriptor of the trace in the thread that began it.
    pub(crate) fn programs(&self) -> Programs {
        self.programs
    }

    /// Starts all threads.
    pub(crate) fn start<G>(
        self,
        around: Around<
            impl Fn(usize) -> Placed + Clone + Send + 'static,
            impl FnOnce() -> io::Result<G> + Send + 'static,
            impl Fn() + Clone + Send + 'static,
        >,
    ) -> io::Result<Team> {
        let Self { arena, term, subject, settings, us, writer, began, .. } = self;
        let Around { place, writes, over } = around;
        let Settings { budget, scanners, looks, .. } = *settings;
        let task = Task { arena, term, us, budget, cpu: settings.cpu_each(), began, looks };
        let output = Output::new(arena, term, writer, settings.filter.clone(), subject);
        let output = if looks { output } else { output.unscanned(began) };
        let (outlets, inlets): (Vec<Outlet>, Vec<_>) = (0..scanners).map(|_| way()).unzip();
        let output = own_threads::start("tw-output", move || write(output, inlets, writes))?;
        let at_work = Arc::new(AtomicUsize::new(scanners));
        let mut team = Team { scanners: Vec::new(), output };
        let mut failed = None;
        for (nth, (part, outlet)) in Part::of_each(scanners).into_iter().zip(outlets).enumerate() {
            let (place, over, at_work) = (place.clone(), over.clone(), at_work.clone());
            let scan = move || {
                task.scan(part, place(nth), outlet);
                if at_work.fetch_sub(1, AcqRel) == 1 {
                    over();
                }
            };
            match own_threads::start("tw-scanner", scan) {
                Ok(scanner) => team.scanners.push(scanner),
                Err(error) => {
                    // The ways of those that never began are dropped by it, or the output would wait for them.
                    failed = Some(error);
                    break;
                }
            }
        }
        let Some(error) = failed else { return Ok(team) };
        process::stop().store(true, Relaxed);
        // They are through before another recording begins, which would have them go on.
        let _ = team.join();
        Err(error)
    }
}

/// What each scanner of a recording is told.
#[derive(Clone, Copy)]
struct Task {
    arena: Arena,
    term: Term,
    us: Ticks,
    budget: u64,
    cpu: u64,
    began: Ticks,
    looks: bool,
}

impl Task {
    /// Looks at its part of the threads until the recording stops.
    fn scan(self, part: Part, placed: Placed, outlet: Outlet) {
        let Self { arena, term, us, budget, cpu, began, looks } = self;
        let Placed { calibration, shares_core } = placed;
        // Or naps would be half as long again. Best effort.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        own_threads::take_short_turns();
        if looks {
            let (what, value) = (Measured::SeenLateTicks, calibration.delay);
            // If the output is gone, so is the file.
            let _ = outlet.to.send(vec![Item::Figure(Figure { what, value })]);
        }
        let times = Times { us, calibration, budget, cpu, began, shares_core, looks };
        Scanner::new((arena, term), part, times, outlet).run(process::stop());
    }
}

/// Writes what scanners hand over. What `writes` gives is dropped last.
fn write<G>(
    output: Output<File>,
    inlets: Vec<Inlet>,
    writes: impl FnOnce() -> io::Result<G>,
) -> io::Result<()> {
    let _until_written = match writes() {
        Ok(until_written) => until_written,
        Err(error) => {
            // Not dropped: its descriptor may be the program's by now.
            std::mem::forget(output);
            process::end();
            return Err(error);
        }
    };
    output.run(inlets)
}

impl Team {
    pub(crate) fn is_finished(&self) -> bool {
        self.scanners.iter().all(JoinHandle::is_finished) && self.output.is_finished()
    }

    /// Waits for all.
    pub(crate) fn join(self) -> io::Result<()> {
        let scanned: Vec<_> = self.scanners.into_iter().map(JoinHandle::join).collect();
        let written = self.output.join();
        let scanned = scanned.into_iter().collect::<Result<(), _>>();
        scanned.map_err(|_| io::Error::other("a scanner panicked"))?;
        written.map_err(|_| io::Error::other("the output panicked"))?
    }

    /// Waits for what is written alone. For the last scanner itself.
    pub(crate) fn join_output(self) -> io::Result<()> {
        self.output.join().unwrap_or(Ok(()))
    }
}
