//! Credits are conserved.

use super::Finding;
use super::ledger::Ledger;
use tailwater_control::Gauges;

/// At any time no more may count as issued than the sessions can know of; the one credit of an idle
/// session does not.
pub(crate) fn at_tick(ledger: &Ledger, gauges: &Gauges) -> Finding {
    if ledger.open {
        return None;
    }
    let (issued, held) = (counted(gauges), ledger.held);
    if issued > held {
        return Some(format!("{issued} credits count as issued, but sessions hold {held} at most"));
    }
    sessions(ledger, gauges)
}

/// With nothing pending, what is issued must be exactly the windows that the sessions know, however a
/// profile counts requests that are being served.
pub(crate) fn at_rest(ledger: &Ledger, gauges: &Gauges) -> Finding {
    if ledger.open || gauges.pool == 0 || ledger.pending() > 0 {
        return None;
    }
    let (issued, held) = (counted(gauges), ledger.held);
    if issued != held {
        return Some(format!(
            "at rest {issued} credits are issued, but sessions were told of {held}"
        ));
    }
    sessions(ledger, gauges)
}

fn counted(gauges: &Gauges) -> u64 {
    u64::from(gauges.issued) + u64::from(gauges.idle)
}

fn sessions(ledger: &Ledger, gauges: &Gauges) -> Finding {
    let (counted, registered) = (gauges.sessions, ledger.registered);
    (gauges.pool > 0 && counted != registered)
        .then(|| format!("{counted} sessions are counted, but {registered} are registered"))
}
