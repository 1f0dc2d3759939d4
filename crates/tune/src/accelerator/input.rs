//! The names of the model's inputs, and what is known of each.

use super::amount::Amount;

/// A parameter of the thesis' Table 6.5, or one that follows from how offloads are chosen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Input {
    /// C.
    HostCycles,
    /// α of all offloads, lucrative or not.
    KernelShare,
    /// n, where sizes are not known.
    Offloads,
    /// The share of the kernel's work that these n offloads carry.
    Share,
    /// o₀.
    Setup,
    /// Q, where no queueing model says it.
    Queueing,
    /// L.
    Transfer,
    /// o₁.
    Switch,
    /// A.
    Acceleration,
    /// C_b.
    CyclesPerByte,
}

/// How many there are.
const COUNT: usize = 10;

impl Input {
    /// All, in the order of Table 6.5 as far as it has them.
    pub const ALL: [Self; COUNT] = [
        Self::HostCycles,
        Self::KernelShare,
        Self::Offloads,
        Self::Share,
        Self::Setup,
        Self::Queueing,
        Self::Transfer,
        Self::Switch,
        Self::Acceleration,
        Self::CyclesPerByte,
    ];

    /// As files have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HostCycles => "C",
            Self::KernelShare => "alpha",
            Self::Offloads => "n",
            Self::Share => "share",
            Self::Setup => "o0",
            Self::Queueing => "Q",
            Self::Transfer => "L",
            Self::Switch => "o1",
            Self::Acceleration => "A",
            Self::CyclesPerByte => "Cb",
        }
    }

    /// Whether it is a number of cycles.
    #[must_use]
    pub const fn is_cycles(self) -> bool {
        matches!(
            self,
            Self::HostCycles
                | Self::Setup
                | Self::Queueing
                | Self::Transfer
                | Self::Switch
                | Self::CyclesPerByte
        )
    }

    /// The smallest and the largest value that it may have.
    #[must_use]
    pub const fn limits(self) -> (f64, f64) {
        match self {
            Self::HostCycles => (1e3, 1e15),
            // At 1 nothing would be left for the host, and the gain would be infinite.
            Self::KernelShare => (0.0, 0.999),
            Self::Offloads => (0.0, 1e12),
            Self::Share => (0.0, 1.0),
            Self::Setup | Self::Queueing | Self::Transfer | Self::Switch => (0.0, 1e13),
            Self::Acceleration => (1e-3, f64::INFINITY),
            Self::CyclesPerByte => (1e-6, 1e9),
        }
    }
}

/// What is known of each input; nothing of most.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Inputs([Option<Amount>; COUNT]);

impl Inputs {
    /// Says what is known.
    pub fn set(&mut self, input: Input, amount: Amount) {
        self.0[input as usize] = Some(amount);
    }

    /// What is known.
    #[must_use]
    pub const fn get(&self, input: Input) -> Option<&Amount> {
        self.0[input as usize].as_ref()
    }

    /// The smallest or the largest that each which is known may be.
    pub fn extremes(&self, end: impl Fn(Input) -> End) -> Values {
        Values(std::array::from_fn(|at| {
            let (low, high) = self.0[at].as_ref()?.ends();
            Some(if end(Input::ALL[at]) == End::Low { low } else { high })
        }))
    }

    /// One number for each that is known.
    pub fn values(&self, mut number: impl FnMut(&Amount) -> f64) -> Values {
        Values(std::array::from_fn(|at| self.0[at].as_ref().map(&mut number)))
    }
}

/// One end of what an input may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The smallest.
    Low,
    /// The largest.
    High,
}

/// A number for each input that is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Values([Option<f64>; COUNT]);

impl Values {
    /// The number.
    #[must_use]
    pub const fn get(&self, input: Input) -> Option<f64> {
        self.0[input as usize]
    }

    /// The same with another number.
    #[must_use]
    pub const fn with(mut self, input: Input, value: f64) -> Self {
        self.0[input as usize] = Some(value);
        self
    }
}
