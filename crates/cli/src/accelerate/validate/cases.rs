//! What can be validated: a kernel, its cells, and how the accelerator is reached.

use super::kernels::{Checksum, Cipher, Compression, Inference, Kernel};
use clap::ValueEnum;
use std::time::Duration;
use tailwater_tune::accelerator::validation::{Cell, software};
use tailwater_tune::accelerator::{Strategy, Threading};

/// Which accelerator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Which {
    /// Another core that takes 1/A of the host's time for a CRC-32, with a transfer of 1 µs: every design, three sizes,
    /// three speeds.
    Software,
    /// AES-128 in counter mode by the processor's instructions, against tables.
    Aes,
    /// Zstandard on another core, which is no faster.
    Zstd,
    /// The scores of a small neural network by a leaf, a process on another core, over TCP on loopback.
    Leaf,
}

/// One of them, ready to run.
pub(super) struct Accelerated {
    pub(super) kernel: Box<dyn Kernel>,
    pub(super) cells: Vec<Cell>,
    /// Time of a request without its kernel.
    pub(super) work: Duration,
    /// L that is added to the way between two cores.
    pub(super) latency: Duration,
}

impl Which {
    pub(super) fn prepare(self, short: bool) -> Accelerated {
        match self {
            Self::Software => Accelerated {
                kernel: Box::new(Checksum::new()),
                cells: software(short),
                work: Duration::from_micros(30),
                latency: Duration::from_micros(1),
            },
            Self::Aes => Accelerated {
                kernel: Box::new(Cipher::new()),
                cells: cells(
                    Strategy::OnChip,
                    &[Threading::Sync],
                    sizes(short, &[256, 1_024, 4_096, 16_384]),
                ),
                work: Duration::from_micros(30),
                latency: Duration::ZERO,
            },
            Self::Zstd => Accelerated {
                kernel: Box::new(Compression),
                cells: cells(
                    Strategy::OffChip,
                    &[Threading::Async, Threading::AsyncDistinct],
                    sizes(short, &[1_024, 4_096, 8_192]),
                ),
                // More than the longest offload takes: the accelerator must not be behind.
                work: Duration::from_micros(150),
                latency: Duration::ZERO,
            },
            Self::Leaf => Accelerated {
                kernel: Box::new(Inference::new()),
                cells: cells(
                    Strategy::Remote,
                    &[
                        Threading::Sync,
                        Threading::SyncOs,
                        Threading::Async,
                        Threading::AsyncDistinct,
                    ],
                    sizes(short, &[1_024, 2_048, 4_096]),
                ),
                work: Duration::from_micros(100),
                latency: Duration::ZERO,
            },
        }
    }

    /// What a person reads of it.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Software => "CRC-32 on a software accelerator, against a table",
            Self::Aes => "AES-128 by instructions, against tables",
            Self::Zstd => "Zstandard on another core",
            Self::Leaf => "Inference by a leaf over loopback",
        }
    }
}

/// The first size alone where it shall be short.
fn sizes(short: bool, all: &[u32]) -> &[u32] {
    if short { &all[..1] } else { all }
}

fn cells(strategy: Strategy, designs: &[Threading], sizes: &[u32]) -> Vec<Cell> {
    let cell = |threading| {
        move |&bytes: &u32| Cell {
            threading,
            strategy,
            bytes,
            acceleration: None,
            others_percent: 0,
        }
    };
    designs.iter().flat_map(|&threading| sizes.iter().map(cell(threading))).collect()
}
