//! What a scenario's word for a lock's rule means.

use tailwater_control::asqm::{Asqm, Policy};
use tailwater_workload::scenario::LockPolicy;

/// The rule that a scenario names, for simulated and for real locks.
#[must_use]
pub const fn policy_of(said: LockPolicy) -> Policy {
    match said {
        LockPolicy::Off | LockPolicy::Plain => Policy::Plain,
        LockPolicy::Try => Policy::Try,
        LockPolicy::Timed(after) => Policy::Timed(after),
        LockPolicy::Asqm => Policy::Asqm(Asqm::DEFAULT),
        LockPolicy::AsqmPaper => Policy::Asqm(Asqm::PAPER),
        LockPolicy::AsqmArtifact => Policy::Asqm(Asqm::ARTIFACT),
    }
}
