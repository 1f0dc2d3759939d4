//! How a service's threads use an accelerator, and which costs they then pay.

/// What a thread does after it has handed over an offload (thesis §6.2.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Threading {
    /// It waits, and its core with it.
    Sync,
    /// It waits, and its core runs another thread: there are more threads than cores.
    SyncOs,
    /// It goes on, and takes the response itself.
    Async,
    /// It goes on, and another thread takes the response.
    AsyncDistinct,
    /// It goes on, and no response comes back, as when an encrypted request is sent on.
    AsyncNoResponse,
}

/// The names of threading designs in files and tables.
pub const THREADINGS: [(&str, Threading); 5] = [
    ("sync", Threading::Sync),
    ("sync-os", Threading::SyncOs),
    ("async", Threading::Async),
    ("async-distinct", Threading::AsyncDistinct),
    ("async-no-response", Threading::AsyncNoResponse),
];

/// Where the accelerator is (thesis §6.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// On the die, such as an instruction: nanoseconds away.
    OnChip,
    /// Behind an interface such as PCIe: microseconds away.
    OffChip,
    /// Behind the network: milliseconds away.
    Remote,
}

/// The names of strategies in files and tables.
pub const STRATEGIES: [(&str, Strategy); 3] =
    [("on-chip", Strategy::OnChip), ("off-chip", Strategy::OffChip), ("remote", Strategy::Remote)];

/// One way to use one kind of accelerator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Design {
    /// What threads do.
    pub threading: Threading,
    /// Where the accelerator is.
    pub strategy: Strategy,
    /// Whether the device driver waits until the accelerator has the data before another thread runs. It matters
    /// where the response comes to another thread than the one that offloads (thesis §6.2.4).
    pub acknowledged: bool,
}

/// Which costs enter an equation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Terms {
    /// The accelerator's own cycles, αC/A.
    pub kernel: bool,
    /// L + Q of each offload.
    pub transfer: bool,
    /// The wait for a batch to fill. The thesis has no batches; a host goes on meanwhile, a request does not.
    pub filling: bool,
    /// How many o₁ each offload costs.
    pub switches: f64,
}

impl Design {
    /// What the host's cycles go to: of equations 6.1, 6.3 and 6.6.
    #[must_use]
    pub fn of_throughput(self) -> Terms {
        // L + Q is zero for the host when the driver does not wait, or when the accelerator is remote.
        let waits_for_driver = self.acknowledged && self.strategy != Strategy::Remote;
        let (kernel, transfer, switches) = match self.threading {
            Threading::Sync => (true, true, 0.0),
            Threading::SyncOs => (false, waits_for_driver, 2.0),
            Threading::AsyncDistinct => (false, waits_for_driver, 1.0),
            Threading::Async | Threading::AsyncNoResponse => (false, true, 0.0),
        };
        Terms { kernel, transfer, filling: false, switches }
    }

    /// What a request waits for: of equations 6.1, 6.5 and 6.8.
    #[must_use]
    pub fn of_latency(self) -> Terms {
        let (kernel, switches) = match self.threading {
            Threading::Sync | Threading::Async => (true, 0.0),
            Threading::SyncOs | Threading::AsyncDistinct => (true, 1.0),
            // Equation 6.8 off the chip, 6.6 where the accelerator is remote: its time is then another service's.
            Threading::AsyncNoResponse => (self.strategy != Strategy::Remote, 0.0),
        };
        Terms { kernel, transfer: true, filling: true, switches }
    }

    /// Whether offloads can be handed over several at a time: a thread that waits has only one.
    #[must_use]
    pub fn can_batch(self) -> bool {
        !matches!(self.threading, Threading::Sync | Threading::SyncOs)
    }
}

impl Threading {
    /// As in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        named(&THREADINGS, self)
    }
}

impl Strategy {
    /// As in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        named(&STRATEGIES, self)
    }
}

fn named<T: Copy + PartialEq>(known: &[(&'static str, T)], wanted: T) -> &'static str {
    let found = known.iter().find(|(_, value)| *value == wanted);
    found.map_or_else(|| unreachable!("every value has a name"), |(name, _)| name)
}
