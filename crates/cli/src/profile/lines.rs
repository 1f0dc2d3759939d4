//! At which lines threads were, from the samples beside a trace.

use super::companion::Companion;
use super::reading::near;
use super::symbols::Symbols;
use std::path::Path;
use tailwater_profile::kernel::Stretch;
use tailwater_profile::sampled::{Addresses, SampleCoverage, Sampled, Samples};
use tailwater_profile::trace::Header;
use tailwater_report::count;

/// Lines told of a function or a call.
const LINES_MAX: usize = 5;

/// The samples beside a trace, if there are any.
pub(super) fn beside(trace: &Path, header: &Header) -> Option<Samples> {
    let file = Companion::Lines.open(trace, header)?;
    let mut samples = Samples::default();
    file.read(|item| match item {
        Ok(record) => samples.add(record),
        Err(_) => samples.damaged(),
    });
    Some(samples.sorted())
}

/// What was sampled in calls or requests.
pub(super) struct InRows {
    /// Of each row; nothing where there are no samples.
    addresses: Vec<Addresses>,
    coverage: Option<SampleCoverage>,
}

impl InRows {
    /// Finds what was sampled while threads worked for rows: `stretches` has these times of each.
    pub(super) fn find<'a>(
        trace: &Path,
        header: &Header,
        stretches: impl Iterator<Item = &'a Vec<Stretch>>,
    ) -> Self {
        let samples = beside(trace, header);
        let addresses = match &samples {
            Some(samples) => stretches.map(|stretches| within(samples, stretches)).collect(),
            None => vec![],
        };
        Self { addresses, coverage: samples.as_ref().map(Samples::coverage) }
    }

    /// Fills in the lines of the same rows, where there are samples.
    pub(super) fn name<'a>(
        &self,
        rows: impl Iterator<Item = &'a mut Option<Sampled>>,
        symbols: &mut Symbols<'_>,
    ) {
        for (row, addresses) in rows.zip(&self.addresses) {
            *row = Some(named(addresses, symbols));
        }
    }

    /// What is not in the samples.
    pub(super) const fn coverage(&self) -> Option<SampleCoverage> {
        self.coverage
    }
}

fn within(samples: &Samples, stretches: &[Stretch]) -> Addresses {
    let mut addresses = Addresses::default();
    for Stretch { tid, from_ns, to_ns } in stretches {
        addresses.add(samples.between(*tid, *from_ns, *to_ns));
    }
    addresses
}

/// As lines.
pub(super) fn named(addresses: &Addresses, symbols: &mut Symbols<'_>) -> Sampled {
    addresses.named(|address| symbols.instruction(address))
}

/// Each with its share, most first.
pub(super) fn told(sampled: &Sampled) -> impl Iterator<Item = String> + '_ {
    sampled.lines.iter().take(LINES_MAX).map(|one| {
        let share = one.samples as f64 / sampled.samples as f64 * 100.0;
        format!("{share:3.0} % {}", near(&one.line))
    })
}

/// The same of one call or request.
pub(super) fn story(sampled: Option<&Sampled>) -> String {
    let Some(sampled) = sampled.filter(|sampled| sampled.samples > 0) else { return String::new() };
    let head = format!("  {} of where it ran:\n", samples(sampled));
    told(sampled).fold(head, |text, line| format!("{text}    {line}\n"))
}

/// How many there are, in words.
pub(super) fn samples(sampled: &Sampled) -> String {
    match sampled.samples {
        0 => "no sample".to_owned(),
        1 => "1 sample".to_owned(),
        samples => format!("{} samples", count(samples)),
    }
}

/// What is not in the samples, in a sentence.
pub(super) fn lacking(coverage: Option<SampleCoverage>) -> String {
    let Some(coverage) = coverage else { return String::new() };
    let what = [
        (coverage.lost, "samples were lost at most, those of other programs included"),
        (coverage.left_out, "samples were left out for want of room"),
        (coverage.damaged_parts, "parts of the file of samples are damaged"),
    ];
    let told = what.iter().filter(|(number, _)| *number > 0);
    let mut text: String =
        told.map(|(number, what)| format!("\n{} {what}.", count(*number))).collect();
    if coverage.outside_kernel {
        text.push_str("\nSamples leave out what threads did in the kernel.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_profile::sampled::Line;

    #[test]
    fn lines_are_told_with_their_shares() {
        let line = |line: &str, samples| Line { line: line.into(), samples };
        let lines = vec![line("/a.c:7", 30), line("/a.c:9", 1)];
        let sampled = Sampled { samples: 31, lines };
        let text = story(Some(&sampled));
        assert_eq!(text, "  31 samples of where it ran:\n     97 % /a.c:7\n      3 % /a.c:9\n");
        assert_eq!(story(Some(&Sampled::default())), "");
        let coverage = SampleCoverage { lost: 1_000, ..SampleCoverage::default() };
        assert!(lacking(Some(coverage)).starts_with("\n1,000 samples were lost at most"));
        let coverage = SampleCoverage { outside_kernel: true, ..SampleCoverage::default() };
        assert!(lacking(Some(coverage)).contains("in the kernel"));
        assert_eq!(lacking(Some(SampleCoverage::default())) + &lacking(None), "");
    }
}
