//! What a trace holds: the records that a scanner and the runtime's event rings produce, and those of the kernel.

mod counters;
mod state;

pub use counters::{COUNTERS_MAX, Counter, Counters, CountersError, Counts};
pub(crate) use state::softirq;
pub use state::{
    After, Did, Interrupting, Interruption, OCCUPANTS_MAX, Occupant, ThreadState, WaitedBehind,
    Waker,
};

/// A reading of the processor's time stamp counter. [`Clock`] turns it into time.
pub type Ticks = u64;

/// Numbers the threads of a trace, densely, about in the order of first appearance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadId(pub u32);

/// Numbers the functions of a trace, densely. Names come in [`Record::Function`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FunctionId(pub u32);

/// One fact.
#[derive(Clone, PartialEq, Debug)]
pub enum Record {
    /// Names a function; comes before the first record that uses it.
    Function(Function),
    /// Names a thread; comes before the first record that uses it.
    Thread(Thread),
    /// Two clocks read together.
    Clock(Clock),
    /// Names a mapped program or library, so that addresses can be turned into lines.
    Module(Module),
    /// Something measured of the whole recording.
    Figure(Figure),
    /// An invocation that has ended (or, flagged, was live when recording ended).
    Call(Call),
    /// What was counted in a call; comes right after it, but for names and clocks.
    Counted(Counted),
    /// A wait for a lock or a condition.
    Wait(Wait),
    /// A lock that was held, without a wait before.
    Hold(Hold),
    /// A request's mark.
    Mark(Mark),
    /// A request and its call to or from another process.
    Hop(Hop),
    /// The scanner did not look during this span: calls that began or ended in it are flagged.
    Gap(Gap),
    /// Something could not be recorded.
    Loss(Loss),
    /// How often the scanner looked.
    Looks(Looks),
    /// What a thread did in a span of time, as the kernel tells it.
    State(ThreadState),
    /// What took its core from a thread for a moment, as the kernel tells it.
    Interruption(Interruption),
    /// Where a thread was at one moment.
    Sample(Sample),
}

/// A descriptor of the instrumented program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its number.
    pub id: FunctionId,
    /// Address of its first instruction in the recorded process.
    pub address: u64,
    /// Mangled.
    pub name: String,
    /// Source file as compiled; may be empty.
    pub file: String,
    /// Line of the definition; zero when unknown.
    pub line: u32,
}

/// Added to the host's number of a thread outside the PID namespace of who recorded.
pub const OUTSIDE: u32 = 1 << 31;

/// A thread of the recorded process, or one that had a core or woke a thread meanwhile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Its number.
    pub id: ThreadId,
    /// The kernel's number, as who recorded knew it; the host's and [`OUTSIDE`] where there is no such number.
    pub tid: u32,
    /// As set with `pthread_setname_np`; may be empty.
    pub name: String,
}

/// A program or shared library in the recorded process's memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    /// First address of the mapping.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// What to subtract from an address to get the file's own virtual address (the load bias).
    pub bias: u64,
    /// Path of the file.
    pub path: String,
    /// The GNU build id; empty where there is none.
    pub build_id: Vec<u8>,
}

/// One reading of both clocks; two or more of them give the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    /// Time stamp counter.
    pub ticks: Ticks,
    /// `CLOCK_MONOTONIC_RAW`, in nanoseconds.
    pub raw_ns: u64,
    /// `CLOCK_REALTIME`, in nanoseconds since 1970.
    pub real_ns: u64,
}

/// An invocation: started in `start ± start_slack`, ended in `end ± end_slack`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// Whose.
    pub thread: ThreadId,
    /// What.
    pub function: FunctionId,
    /// The instrumented frame below it, if any.
    pub parent: Option<FunctionId>,
    /// Instrumented frames below it.
    pub depth: u32,
    /// The thread's counter when the frame was pushed: names the invocation.
    pub generation: u64,
    /// Middle of the interval that holds the start.
    pub start: Ticks,
    /// Half the width of that interval.
    pub start_slack: u32,
    /// Middle of the interval that holds the end.
    pub end: Ticks,
    /// Half the width of that interval.
    pub end_slack: u32,
    /// See [`CallFlags`].
    pub flags: CallFlags,
    /// The low 16 bits of the return address: where `parent` goes on, unless other code lies between the two.
    /// Zero when unknown.
    pub site: u16,
}

impl Call {
    /// How long it took, as one number: from the middle of its start to that of its end.
    ///
    /// A call begins and ends within the windows of the one around it, so lengths of callees fit into their caller's.
    /// Middles of a duration's bounds do not: a bound below zero is cut off there, and the middle is then too large.
    #[must_use]
    pub const fn length(&self) -> Ticks {
        self.end.saturating_sub(self.start)
    }
}

/// What a thread counted in a call that it clocked, from before its start to after its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    /// Whose.
    pub thread: ThreadId,
    /// The call's function.
    pub function: FunctionId,
    /// As of the call.
    pub generation: u64,
    /// The middle of the interval that holds the call's start.
    pub start: Ticks,
    /// The same of its end.
    pub end: Ticks,
    /// How much.
    pub counts: Counts,
}

/// What is special about a call, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallFlags(pub u8);

impl CallFlags {
    /// It began or ended in a [`Gap`]: that time's slack is as wide as the gap.
    pub const GAP: u8 = 1;
    /// Seen only in a torn scan whose valid prefix was kept.
    pub const SALVAGED: u8 = 2;
    /// It was live when recording ended: the end is the end of the recording.
    pub const UNFINISHED: u8 = 4;
    /// It was live before recording began: the start is the start of the recording.
    pub const STARTED_BEFORE: u8 = 8;
    /// The program measured it itself, by reading the counter in the function: all its calls are told of, but for
    /// [`LossKind::Clocked`].
    pub const CLOCKED: u8 = 32;

    /// Whether a bit is set.
    #[must_use]
    pub const fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

/// Where a function goes on after a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// Address of the function's first instruction in the recorded process.
    pub function: u64,
    /// The low 16 bits of the address after the call.
    pub site: u16,
}

/// What was waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum WaitKind {
    /// A mutex.
    Mutex = 0,
    /// A reader-writer lock, for reading.
    Read = 1,
    /// A reader-writer lock, for writing.
    Write = 2,
    /// A condition variable (the wait for the signal; taking its mutex back is a wait of its own).
    Condition = 3,
    /// Another thread's end.
    Join = 4,
}

impl WaitKind {
    /// Whether a lock was waited for, which the thread has then unless it gave up. Waits for a signal or for a thread's end take nothing.
    #[must_use]
    pub const fn is_of_lock(self) -> bool {
        matches!(self, Self::Mutex | Self::Read | Self::Write)
    }
}

/// A wait that was longer than the recorder's threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The thread that waited.
    pub thread: ThreadId,
    /// For what.
    pub kind: WaitKind,
    /// The lock's address.
    pub object: u64,
    /// When the wait began.
    pub start: Ticks,
    /// When it was over.
    pub end: Ticks,
    /// When the lock was let go again; equals `end` where that is unknown or meaningless.
    pub released: Ticks,
    /// The thread that held the lock when the wait began, where known.
    pub holder: Option<ThreadId>,
    /// The innermost instrumented function of the waiter, where known.
    pub function: Option<FunctionId>,
    /// The innermost instrumented function of the holder when it took the lock, where known.
    pub holder_function: Option<FunctionId>,
    /// The low 16 bits of the address at which that function went on with the lock; zero when unknown.
    pub holder_site: u16,
    /// Return address of the wait in the recorded process; zero when unknown.
    pub site: u64,
}

/// How long a thread held a lock that it had got at once, or after a wait too short to be recorded. What is held after a recorded
/// wait is that wait's: from [`Wait::end`] to [`Wait::released`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// Which had it.
    pub thread: ThreadId,
    /// As what it was taken: [`WaitKind::Mutex`], [`WaitKind::Read`] or [`WaitKind::Write`].
    pub kind: WaitKind,
    /// Address of the lock.
    pub object: u64,
    /// When it was taken.
    pub start: Ticks,
    /// When it was let go.
    pub end: Ticks,
    /// The innermost instrumented function that took it, where known.
    pub function: Option<FunctionId>,
    /// Return address of the call that took it, in the recorded process; zero when unknown.
    pub site: u64,
}

/// What happened to a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum MarkKind {
    /// This thread begins (or goes on) to work for it.
    Start = 0,
    /// This thread stops working for it for now; the request goes on.
    Block = 1,
    /// This thread's part of it is done.
    End = 2,
    /// The whole request is done.
    EndAll = 3,
    /// It entered a queue, at the mark's time.
    Enqueue = 4,
    /// Of no request: work of so many bytes begins, which [`Mark::request`] has.
    Size = 5,
}

/// A request's mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Where.
    pub thread: ThreadId,
    /// Which request, by the program's own number; of [`MarkKind::Size`] the bytes.
    pub request: u64,
    /// What happened.
    pub kind: MarkKind,
    /// When.
    pub at: Ticks,
}

/// What a request has to do with a call between processes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum HopKind {
    /// It is this call, which another process has made: read at this time, or before.
    Called = 0,
    /// It makes this call: the kernel has it at this time, or later.
    Sent = 1,
    /// The call's answer was read at this time, or before.
    Answered = 2,
    /// Of no call: it was taken from a queue, whose address [`Hop::call`] has, when its thread began to work for it.
    Dequeued = 3,
}

/// A request and its call to or from another process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// Where it was told.
    pub thread: ThreadId,
    /// Which request, by the program's own number.
    pub request: u64,
    /// What it has to do with the call.
    pub kind: HopKind,
    /// The call's name, which both ends know; of [`HopKind::Dequeued`] the queue's address.
    pub call: u64,
    /// When.
    pub at: Ticks,
}

/// Where a thread was at one moment: what the kernel saw when a clock of the thread's time on a core had run down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Whose.
    pub thread: ThreadId,
    /// When.
    pub at: Ticks,
    /// The address of the instruction that came next.
    pub address: u64,
}

/// An absence of the scanner that is longer than this is a [`Gap`], in microseconds. The naps that it takes on purpose are none.
pub const AWAY_US: u64 = 2;

/// A time in which the scanner did not look at a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// The thread that it did not look at; `None`: any.
    pub thread: Option<ThreadId>,
    /// Last look before.
    pub start: Ticks,
    /// First look after.
    pub end: Ticks,
}

/// Looks of the scanner at a thread that found out all its frames, since the last such record: those that came
/// about the same time after the last before them. The paper's granularity (LDB, NSDI 2024, §6.1) is the mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Looks {
    /// At whom.
    pub thread: ThreadId,
    /// None came later after the one before, in ticks; a trace rounds it up as it does slacks.
    pub within: u32,
    /// How many.
    pub count: u64,
    /// Ticks between each and the one before, together.
    pub ticks: u64,
}

/// What kind of thing was lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum LossKind {
    /// Invocations that ended before they were walked (from the generations: an upper bound).
    Calls = 0,
    /// Waits that found their ring full.
    Waits = 1,
    /// Marks that found their ring full.
    Marks = 2,
    /// Frames beyond the shadow stack's end.
    Overflow = 3,
    /// Threads beyond the bound.
    Threads = 4,
    /// Looks at frames that no one stack can have: fibers that nobody announced. Their calls may be told with a
    /// wrong function, caller or end.
    Mixed = 5,
    /// Children of `fork`. What each did at first is not recorded; one that lived on has a trace of its own.
    Children = 6,
    /// Events of the kernel. The states that they would have told are unknown.
    Events = 7,
    /// Calls of clocked functions that found their ring full, or were too deep within each other.
    Clocked = 8,
}

/// Something that holds for the whole recording: in the kernel's file, in a trace of which a part is kept, or in one without
/// scanner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Figure {
    /// What.
    pub what: Measured,
    /// How much.
    pub value: u64,
}

/// What was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measured {
    /// How often a CPU quota stopped the program's control groups meanwhile.
    Throttlings = 0,
    /// How long the first touch of a page took when the recording began, in nanoseconds.
    FirstTouchNs = 1,
    /// Requests in all, of which the trace has the slowest: here and below, where a part is kept.
    Requests = 2,
    /// All that took at least so long are in it, in nanoseconds.
    RequestsAboveNs = 3,
    /// Of these, requests of which something came too late to be kept.
    RequestsIncomplete = 4,
    /// The median of all requests, in nanoseconds.
    RequestsP50Ns = 5,
    /// One in a hundred of all is longer.
    RequestsP99Ns = 6,
    /// One in a thousand.
    RequestsP999Ns = 7,
    /// One in ten thousand.
    RequestsP9999Ns = 8,
    /// No scanner looked, where it is 1: of calls, those of functions that time themselves are told alone.
    Unscanned = 9,
    /// Samples leave out what threads did in the kernel, where it is 1: in the file of samples.
    OutsideKernel = 10,
    /// Locks that were held for so many ticks are told, also without a wait. Without it they are not.
    HoldTicks = 11,
    /// From what a thread did to the first look that finds it, at most, in ticks: bounds of scanned calls allow for it. One of each
    /// scanner. Without it they do not.
    SeenLateTicks = 12,
    /// From one sample of a thread that has a core all the time to the next, in nanoseconds: in the file of samples.
    SampledEveryNs = 13,
}

/// Something could not be recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loss {
    /// Whose; `None`: of all.
    pub thread: Option<ThreadId>,
    /// Of what kind.
    pub kind: LossKind,
    /// How many since the last such record.
    pub count: u64,
}
