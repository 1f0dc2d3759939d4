//! What must be said beside the numbers: which runs do not count, and why.

use crate::model::Group;
use tailwater_stats::naming::RunName;
use tailwater_stats::result::{AskedRun, DataUsed, Experiment, Run, RunVerdict};

/// A remark on runs that do not count.
pub(crate) struct Note {
    /// `invalid`, `doubtful`, `partial`, `replicas` or `discarded`.
    pub(crate) kind: &'static str,
    /// Which run.
    pub(crate) what: String,
    /// The rule and its reading.
    pub(crate) why: String,
}

/// Said wherever a configuration has no valid repetition.
pub(crate) const NO_VALID: &str =
    "! no valid repetition: these numbers come from invalid runs and are no result";

/// Said wherever the share of the bound of a configuration is in doubt.
pub(crate) const DOUBTFUL: &str =
    "? goodput exceeds the bound by more than chance explains: notes on doubtful runs say why";

/// Every invalid run, then valid ones whose shares are in doubt, then those with partial answers. Behind them are those that
/// lost replicas or could not compare them, and every discarded one.
pub(crate) fn notes(experiment: &Experiment) -> Vec<Note> {
    let invalid = experiment.runs.iter().filter(|run| !run.verdict.valid).map(|run| Note {
        kind: "invalid",
        what: name(&run.asked),
        why: reasons(&run.verdict),
    });
    let discarded = experiment.discarded.iter().map(|discard| Note {
        kind: "discarded",
        what: discard.what.clone(),
        why: discard.why.clone(),
    });
    let valid = experiment.runs.iter().filter(|run| run.verdict.valid);
    let doubtful = valid.filter_map(|run| {
        Some(Note { kind: "doubtful", what: name(&run.asked), why: run.verdict.in_doubt.clone()? })
    });
    let partial = experiment.runs.iter().filter(|run| run.answers.partial > 0).map(|run| Note {
        kind: "partial",
        what: name(&run.asked),
        why: format!(
            "{} of {} answers lacked a part; they count as late, and are no goodput",
            run.answers.partial,
            run.fates.ok.saturating_add(run.fates.late)
        ),
    });
    let replicas = experiment.runs.iter().filter(|run| run.replicas.lost > 0).map(|run| Note {
        kind: "replicas",
        what: name(&run.asked),
        why: format!(
            "replicas were lost {} times, and came back {} times",
            run.replicas.lost, run.replicas.returned
        ),
    });
    let untold = experiment.runs.iter().filter_map(|run| {
        let compared = run.replicas.compared.as_ref().filter(|compared| compared.untold > 0)?;
        let why = format!(
            "after the run too few replicas could be asked to compare {} of {} keys",
            compared.untold, compared.keys
        );
        Some(Note { kind: "replicas", what: name(&run.asked), why })
    });
    let of_replicas = replicas.chain(untold);
    invalid.chain(doubtful).chain(partial).chain(of_replicas).chain(discarded).collect()
}

/// What mends runs that the generator spoiled; nothing where it kept up.
pub(crate) fn advice(experiment: &Experiment) -> Option<&'static str> {
    let sockets = experiment.driver != "sim";
    let rules = experiment.rules.clone().unwrap_or_default();
    let is_bottleneck = |run: &Run| {
        // A generator that lags behind is late most of the time; one in a hundred is a stall of the machine.
        let late = run.generator.lateness_p95_us > rules.lateness_of_slo_max * run.asked.slo_us;
        // One request in a hundred: chance leaves none unsent.
        late || run.unsent > run.fates.total() / 100
    };
    let spoiled = experiment.runs.iter().filter(|run| !run.verdict.valid);
    (sockets && spoiled.into_iter().any(is_bottleneck)).then_some(BOTTLENECK)
}

/// What must be known of the arrivals before any latency is read; nothing of most.
pub(crate) fn caution(experiment: &Experiment) -> Option<&'static str> {
    experiment.arrivals.contains("metronome").then_some(
        "The arrivals metronome are those of a published generator: nearly equal gaps, and on sockets latency from the \
         time of sending. They hide the tail that the arrivals poisson show.",
    )
}

/// What the server's application worked on, a sentence for each set of data.
pub(crate) fn data(experiment: &Experiment) -> Vec<String> {
    let sentence = |used: &DataUsed| {
        let DataUsed { about, source, licence, sha256, .. } = used;
        let digits: String = sha256.chars().take(DIGITS).collect();
        format!("Data: {about}. Source: {source}; licence: {licence}; SHA-256 {digits}….")
    };
    experiment.data.iter().map(sentence).collect()
}

/// As many digits of a hash as tell files apart; the JSON has all.
const DIGITS: usize = 16;

/// See [`advice`].
const BOTTLENECK: &str = "The load generator was the bottleneck: give it cores of its own by clients.cores, \
    more threads by clients.threads, or ask for less.";

/// Whether some number of the group comes from invalid runs.
pub(crate) fn has_unsound(group: &Group<'_>) -> bool {
    group.lines.iter().flat_map(|line| &line.points).any(|point| point.valid == 0)
}

/// Whether some number of the group exceeds what nothing can beat.
pub(crate) fn has_doubtful(group: &Group<'_>) -> bool {
    group.lines.iter().flat_map(|line| &line.points).any(|point| point.doubt().is_some())
}

/// Why a run is invalid, in one line.
pub(crate) fn reasons(verdict: &RunVerdict) -> String {
    if verdict.invalid_because.is_empty() {
        "no reason was recorded".to_owned()
    } else {
        verdict.invalid_because.join("; ")
    }
}

fn name(asked: &AskedRun) -> String {
    RunName::of(asked).to_string()
}
