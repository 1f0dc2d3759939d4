//! How each number is defined, and the rules that a run must keep.

/// A term and its meaning, for the page.
pub(crate) const TERMS: [(&str, &str); 15] = [
    (
        "capacity",
        "Plateau of a closed-loop sweep with the same binary, reception and connections, measured \
         again around every block of repetitions; its drift is (largest − smallest) ÷ median, the largest of all numbers of clients.",
    ),
    (
        "demand",
        "Requests that the schedule intends per second, ÷ capacity. The schedule is fixed before \
         the run and does not wait for answers.",
    ),
    ("SLO", "The latency that an answer must not exceed to count as in time."),
    ("throughput", "Answers per second, in time or late; rejects are not answers."),
    ("goodput", "Answers per second that came within the SLO."),
    (
        "bound",
        "Goodput of first-come-first-served admission that knows its backlog, takes every request for \
         an average one and sheds for nothing, for the same distribution, SLO, cores and demand: what \
         no controller can beat that does not know costs beforehand.",
    ),
    (
        "latency (p50, p99, p99.9)",
        "From the time at which a request was intended to be sent, not from when it was sent, to \
         its answer; over served requests only.",
    ),
    (
        "fates",
        "In time, late (or with a part missing, which a note tells), expired (given up at the \
         client before sending), shed (rejected by the server), lost (sent and never answered, or \
         never sent because the generator could not). The five add up to every intended request.",
    ),
    ("drops", "Requests shed ÷ requests received by the server; never above 100 %."),
    ("reject delay", "From sending a request to receiving its reject, median."),
    (
        "lag (lateness)",
        "How long after its intended time the load generator got to a request. It is the \
         generator's own fault, already part of latency, and bounds what a run can claim.",
    ),
    (
        "CPU per request",
        "CPU time of the server (busy time where it spins) ÷ requests it received.",
    ),
    (
        "median, bars and bands",
        "Numbers are medians over valid repetitions; bars and bands reach from the smallest to the \
         largest. Percentiles are never averaged.",
    ),
    (
        "!",
        "No repetition is valid: the numbers come from invalid runs and are no result. Pictures \
         leave such points out.",
    ),
    (
        "?",
        "In half of the repetitions or more, goodput exceeds the bound by more than 5 % and what chance explains. Allowed for \
         is demand that was drawn beyond what was asked for, and the bound is the one for known costs where that is higher. The \
         runs count all the same, since results never decide; notes name the cause.",
    ),
];

/// The rules, fixed before the runs.
pub(crate) const RULES: [&str; 6] = [
    "A run that sends less than 98 % of its schedule's requests is invalid.",
    "A run around which capacity changes by more than 20 % is invalid.",
    "A run whose server ends, loses connections or answers wrongly is invalid.",
    "A run is discarded and made again, twice at most, where the generator's lateness p99 exceeds half the SLO. The same \
     where the hypervisor takes more than 1 % of a core, or others take one from the server or the generator more than 200 \
     times a second. The third try is invalid then.",
    "No rule reads goodput or latency.",
    "Invalid and discarded runs are named, with the rule's reading.",
];

#[cfg(test)]
mod tests {
    use super::RULES;
    use tailwater_stats::Rules;

    /// The page named four of them, and none on capacity.
    #[test]
    fn the_usual_limits_are_those_that_runs_are_judged_by() {
        let Rules {
            offered_min,
            lateness_of_slo_max,
            steal_max,
            server_involuntary_max_per_s,
            load_involuntary_max_per_s,
            capacity_drift_max,
            ..
        } = Rules::default();
        let all = RULES.join(" ");
        for limit in [
            format!("less than {:.0} % of its schedule", 100.0 * offered_min),
            format!("changes by more than {:.0} %", 100.0 * capacity_drift_max),
            format!("more than {:.0} % of a core", 100.0 * steal_max),
            format!("more than {server_involuntary_max_per_s:.0} times a second"),
            format!("more than {load_involuntary_max_per_s:.0} times a second"),
        ] {
            assert!(all.contains(&limit), "{limit}");
        }
        assert!((lateness_of_slo_max - 0.5).abs() < f64::EPSILON && all.contains("half the SLO"));
    }
}
