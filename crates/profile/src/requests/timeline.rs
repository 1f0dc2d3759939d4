//! One request's time as consecutive intervals, each in a single state.

use super::Request;
use super::assemble::What;
use super::kept::Scene;
use crate::record::{ThreadId, Ticks, Wait};

/// An interval of a request's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) from: Ticks,
    pub(crate) to: Ticks,
    pub(crate) doing: Activity,
}

/// The state of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Activity {
    /// A thread worked for it. Of several the one that came first.
    Running(ThreadId),
    /// All threads that worked for it waited; this is the wait of the first.
    Waiting(Wait),
    /// It stood in a queue.
    Queued,
    /// It was handed over, as the program said, and nobody had taken it up: a future between two polls.
    Pending,
    /// The scanner was away, or no mark says.
    Unknown,
}

/// Cuts the whole time of a request: the pieces follow one another without hole or overlap.
pub(crate) fn pieces(request: &Request, scene: &Scene) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    let edges = edges(request, scene);
    let mut parts = request.parts.iter().peekable();
    let mut current = Vec::new();
    for pair in edges.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        current.retain(|part: &&super::assemble::Part| part.to > from);
        while let Some(part) = parts.next_if(|part| part.from <= from) {
            if part.to > from {
                current.push(part);
            }
        }
        let doing = activity(current.iter().map(|part| part.what), from, scene);
        match out.last_mut().filter(|last| last.doing == doing) {
            Some(last) => last.to = to,
            None => out.push(Piece { from, to, doing }),
        }
    }
    out
}

/// All times at which something may change, the request's start and end among them.
fn edges(request: &Request, scene: &Scene) -> Vec<Ticks> {
    let mut edges = vec![request.start, request.end];
    for part in &request.parts {
        edges.extend([part.from, part.to]);
        let What::Work(thread) = part.what else { continue };
        if let Some(waits) = scene.waits.get(&thread) {
            edges.extend(waits.within(part.from, part.to).flat_map(|span| [span.from, span.to]));
        }
        let own = scene.gaps.get(&thread).into_iter().chain([&scene.blind]);
        for gaps in own {
            edges.extend(gaps.within(part.from, part.to).flat_map(|span| [span.from, span.to]));
        }
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// What was so at a time: work counts before waiting, waiting before gaps, all of these before
/// queues. Waits are recorded by the threads themselves, so a gap of the scanner hides none.
fn activity(parts: impl Iterator<Item = What> + Clone, at: Ticks, scene: &Scene) -> Activity {
    let (mut waiting, mut unseen) = (None, false);
    for what in parts.clone() {
        let What::Work(thread) = what else { continue };
        let blind = || {
            let own = scene.gaps.get(&thread).and_then(|gaps| gaps.at(at));
            own.or_else(|| scene.blind.at(at)).is_some()
        };
        match scene.waits.get(&thread).and_then(|waits| waits.at(at)) {
            Some(wait) => waiting = waiting.or(Some(*wait)),
            None if blind() => unseen = true,
            None => return Activity::Running(thread),
        }
    }
    let has = |wanted: fn(What) -> bool| parts.clone().any(wanted);
    match waiting {
        // Another thread may have run meanwhile, unseen.
        _ if unseen => Activity::Unknown,
        Some(wait) => Activity::Waiting(wait),
        None if has(|what| matches!(what, What::Queue(_))) => Activity::Queued,
        None if has(|what| what == What::Block) => Activity::Pending,
        None => Activity::Unknown,
    }
}
