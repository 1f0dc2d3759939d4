//! What is measured, and in which order.

use crate::handler::Kind;
use crate::mechanism::Mechanism;
use crate::report::{Case, Load};
use crate::shape::Shape;
use clap::ValueEnum;

/// The thesis' numbers of queues (Fig. 5.2), and beyond.
const QUEUES: &[usize] = &[1, 2, 5, 10, 50, 100, 200, 500, 1_000, 4_096, 16_384, 65_536];
const SHORT_QUEUES: &[usize] = &[1, 100, 1_000];
/// Those of the figures with handlers (5.6 to 5.10).
const FIGURE_QUEUES: &[usize] = &[1, 10, 100, 200, 500, 1_000];
const HANDLERS: [Kind; 4] = [Kind::Lsh, Kind::Spooky, Kind::Stem, Kind::Knn];
/// What the thesis compares.
const COMPARED: [Mechanism; 3] = [Mechanism::Scan, Mechanism::Ready, Mechanism::Epoll];
/// Loads of Figs. 5.1 and 5.11, as parts of a peak.
const SHARES: [f64; 7] = [0.05, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9];
/// Queues of Fig. 5.11.
const LOADED_QUEUES: usize = 100;

/// What the command line chose.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) mechanisms: Vec<Mechanism>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) queues: Vec<usize>,
    pub(crate) handlers: Vec<Kind>,
    pub(crate) pollutes: bool,
    pub(crate) figures: bool,
    pub(crate) short: bool,
    /// The kernel has io_uring for us.
    pub(crate) uring: bool,
}

impl Chosen {
    /// Cases of a closed loop; those of the balanced shape at light load, too. Mechanisms of one case are neighbours, so
    /// that what disturbs one disturbs the others.
    pub(crate) fn cases(&self, descriptors: u64) -> Vec<Case> {
        let queues: &[usize] = match (&self.queues[..], self.short) {
            ([], true) => SHORT_QUEUES,
            ([], false) => QUEUES,
            (some, _) => some,
        };
        let mut shapes = chosen(&self.shapes);
        if self.short && self.shapes.is_empty() {
            shapes = vec![Shape::Fb, Shape::Sq];
        }
        let mechanisms = chosen(&self.mechanisms);
        let handlers =
            if self.handlers.is_empty() { vec![Kind::None] } else { self.handlers.clone() };
        let mut cases = product(&handlers, &[self.pollutes], queues, &shapes, &mechanisms);
        if self.figures {
            let shapes = Shape::value_variants();
            let thesis = product(&HANDLERS, &[false, true], FIGURE_QUEUES, shapes, &COMPARED);
            cases.extend(thesis);
        }
        cases.retain(|case| case.queues <= case.mechanism.queues_max(descriptors));
        cases.retain(|case| self.uring || !case.mechanism.needs_uring());
        cases
    }

    /// Open loops of Figs. 5.1 and 5.11.
    pub(crate) fn loads(&self) -> Vec<Load> {
        if !self.figures {
            return Vec::new();
        }
        let load = |mechanism, queues, handler, share| Load { mechanism, queues, handler, share };
        let alone = SHARES.map(|share| load(Mechanism::Epoll, 1, Kind::None, share));
        let mut loads = alone.to_vec();
        for handler in HANDLERS {
            for share in SHARES {
                loads.extend(COMPARED.map(|it| load(it, LOADED_QUEUES, handler, share)));
            }
        }
        loads
    }

    /// Every handler that some case has.
    pub(crate) fn handlers(&self) -> Vec<Kind> {
        Kind::value_variants()
            .iter()
            .copied()
            .filter(|kind| self.figures || *kind == Kind::None || self.handlers.contains(kind))
            .collect()
    }
}

fn product(
    handlers: &[Kind],
    pollution: &[bool],
    queues: &[usize],
    shapes: &[Shape],
    mechanisms: &[Mechanism],
) -> Vec<Case> {
    let mut cases = Vec::new();
    for &handler in handlers {
        for &pollutes in pollution {
            for &queues in queues {
                for &shape in shapes {
                    for &mechanism in mechanisms {
                        cases.push(Case { mechanism, queues, shape, handler, pollutes });
                    }
                }
            }
        }
    }
    cases
}

fn chosen<T: ValueEnum + Copy>(asked: &[T]) -> Vec<T> {
    if asked.is_empty() { T::value_variants().to_vec() } else { asked.to_vec() }
}
