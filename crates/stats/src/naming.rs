//! What a run is called wherever it is named, and the numbers in that as people read them.

use crate::result::AskedRun;
use std::fmt;

/// What stands where there is no number.
pub const NOTHING: &str = "–";

/// What tells a run from others of its experiment, such as `none at 0.5×, 100 clients, SLO 400 µs, repetition 2`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RunName<'a> {
    /// As in [`AskedRun`].
    pub controller: &'a str,
    /// As in [`AskedRun`].
    pub profile: &'a str,
    /// As in [`AskedRun`]; 0 where no capacity is known.
    pub demand_ratio: f64,
    /// As in [`AskedRun`].
    pub clients: u32,
    /// As in [`AskedRun`].
    pub slo_us: f64,
    /// As in [`AskedRun`].
    pub repetition: u32,
}

impl<'a> RunName<'a> {
    /// That of a run, by what it was asked for.
    #[must_use]
    pub fn of(asked: &'a AskedRun) -> Self {
        Self {
            controller: &asked.controller,
            profile: &asked.profile,
            demand_ratio: asked.demand_ratio,
            clients: asked.clients,
            slo_us: asked.slo_us,
            repetition: asked.repetition,
        }
    }
}

impl fmt::Display for RunName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&label(self.controller, self.profile))?;
        // A load by hand knows no capacity that its demand could be a multiple of.
        if self.demand_ratio > 0.0 {
            write!(f, " at {}", demand(self.demand_ratio))?;
        }
        write!(f, ", {}, repetition {}", setting(self.clients, self.slo_us), self.repetition)
    }
}

/// A controller with its profile.
#[must_use]
pub fn label(controller: &str, profile: &str) -> String {
    if profile.is_empty() || profile == controller {
        controller.to_owned()
    } else {
        format!("{controller} ({profile})")
    }
}

/// Clients and an objective in microseconds, such as `100 clients, SLO 400 µs`.
#[must_use]
pub fn setting(clients: u32, slo_us: f64) -> String {
    let noun = if clients == 1 { "client" } else { "clients" };
    format!("{} {noun}, SLO {}", count(u64::from(clients)), round_time(slo_us))
}

/// Two decimals show nothing of a demand below this.
const DEMAND_MIN: f64 = 0.005;

/// Demand as a multiple of capacity, such as `2.0×` or `0.94×`; very small ones have two digits, as `0.00067×`.
#[must_use]
pub fn demand(ratio: f64) -> String {
    if !ratio.is_finite() {
        return NOTHING.to_owned();
    }
    if ratio > 0.0 && ratio < DEMAND_MIN {
        // Results tell millionths.
        let decimals = (1.0 - ratio.log10().floor()).min(7.0) as usize;
        return format!("{ratio:.decimals$}×");
    }
    let two = format!("{ratio:.2}");
    format!("{}×", two.strip_suffix('0').unwrap_or(&two))
}

/// A time given in microseconds, in µs, ms or s, without trailing zeros: for round numbers on axes and in settings.
#[must_use]
pub fn round_time(us: f64) -> String {
    if !us.is_finite() {
        return NOTHING.to_owned();
    }
    let (scaled, unit) = time_unit(us);
    format!("{} {unit}", plain(scaled))
}

/// A time given in microseconds in the unit that fits it, and the name of that.
#[must_use]
pub fn time_unit(us: f64) -> (f64, &'static str) {
    let size = us.abs();
    if size < 999.5 {
        (us, "µs")
    } else if size < 999_500.0 {
        (us / 1e3, "ms")
    } else {
        (us / 1e6, "s")
    }
}

/// A count with commas between thousands.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// At most three decimals, no trailing zeros.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_called_by_what_tells_it_from_others() {
        let run = AskedRun {
            controller: "law".into(),
            profile: "paper".into(),
            clients: 1_000,
            slo_us: 1_500.0,
            demand_ratio: 0.5,
            repetition: 2,
            ..AskedRun::default()
        };
        let called = RunName::of(&run).to_string();
        assert_eq!(called, "law (paper) at 0.5×, 1,000 clients, SLO 1.5 ms, repetition 2");
        let by_hand = RunName { profile: "", demand_ratio: 0.0, clients: 1, ..RunName::of(&run) };
        assert_eq!(by_hand.to_string(), "law, 1 client, SLO 1.5 ms, repetition 2");
    }
}
