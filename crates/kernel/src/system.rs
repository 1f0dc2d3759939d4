//! What the kernel counts of the whole machine, for everybody to read.

use std::collections::BTreeMap;

/// Counts since the machine started.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct System {
    /// Segments that TCP sent again, of all programs in this network namespace; `None` where that cannot be read.
    pub retransmissions: Option<u64>,
    /// Softirqs of all processors, by their kind as [`softirq_name`] has it; empty where they cannot be read.
    pub softirqs: BTreeMap<String, u64>,
}

/// Kinds of softirqs by their vectors (`include/linux/interrupt.h`).
const SOFTIRQS: [&str; 10] =
    ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];

/// What a softirq's vector is called.
#[must_use]
pub fn softirq_name(vector: u32) -> &'static str {
    SOFTIRQS.get(vector as usize).copied().unwrap_or("other")
}

impl System {
    /// Reads the counts.
    #[must_use]
    pub fn read() -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        Self {
            retransmissions: retransmissions(&read("/proc/net/snmp")),
            softirqs: softirqs(&read("/proc/softirqs")),
        }
    }

    /// What was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |name: &String| earlier.softirqs.get(name).copied().unwrap_or(0);
        let softirqs = self.softirqs.iter();
        let since =
            |(name, count): (&String, &u64)| (name.clone(), count.saturating_sub(before(name)));
        let again = self.retransmissions.zip(earlier.retransmissions);
        Self {
            retransmissions: again.map(|(now, before)| now.saturating_sub(before)),
            softirqs: softirqs.map(since).collect(),
        }
    }
}

/// `RetransSegs` of the two lines that begin with `Tcp:`: names, then numbers (proc_net(5)).
fn retransmissions(snmp: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let mut pairs = names.split_whitespace().zip(numbers.split_whitespace());
    let (_, number) = pairs.find(|(name, _)| *name == "RetransSegs")?;
    number.parse().ok()
}

/// `/proc/softirqs`: a line for each kind, with a number for each processor.
fn softirqs(text: &str) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let (name, numbers) = line.trim().split_once(':')?;
        let sum = numbers.split_whitespace().map(|one| one.parse::<u64>().unwrap_or(0)).sum();
        Some((name.to_lowercase(), sum))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_by_their_names() {
        let snmp = "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm OutSegs RetransSegs InErrs\nTcp: 1 900 17 0\n";
        assert_eq!(retransmissions(snmp), Some(17));
        // What cannot be read is not known, and no count of nothing.
        let unreadable = ["", "Udp: a\nUdp: 1\n", "Tcp: RetransSegs\nTcp: x\n"];
        assert!(unreadable.iter().all(|text| retransmissions(text).is_none()));
        let text = "       CPU0  CPU1\n  NET_TX:   3   4\n  NET_RX:  10  20\n";
        let expected = [("net_rx".to_owned(), 30), ("net_tx".to_owned(), 7)].into();
        assert_eq!(softirqs(text), expected);
    }

    #[test]
    fn what_was_not_known_at_one_end_is_not_known_between() {
        let at = |retransmissions| System { retransmissions, ..System::default() };
        assert_eq!(at(Some(9)).since(&at(Some(4))).retransmissions, Some(5));
        assert_eq!(at(Some(9)).since(&at(None)).retransmissions, None);
        assert_eq!(at(None).since(&at(Some(4))).retransmissions, None);
    }

    #[test]
    fn kinds_have_one_name_whoever_tells_of_them() {
        let now = System::read();
        assert!(now.softirqs.is_empty() || now.softirqs.contains_key(softirq_name(3)), "{now:?}");
        assert_eq!(
            (softirq_name(2), softirq_name(9), softirq_name(77)),
            ("net_tx", "rcu", "other")
        );
        let since = now.since(&now);
        assert!(since.softirqs.values().all(|count| *count == 0));
    }
}
