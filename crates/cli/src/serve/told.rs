//! What a server is told while it serves, a line each on standard input: `model adb:4`, and by `run` also `speed 0.25`.

use super::End;
use crate::failure::Failure;
use std::io::BufRead as _;
use std::sync::mpsc::SyncSender;
use tailwater_load::Throttle;
use tailwater_rt::Model;

/// Follows the lines from now on. Models go to `tell`; of a line that says nothing of that kind `complain` hears.
pub(super) fn follow(
    throttle: &'static Throttle,
    tell: SyncSender<End>,
    complain: impl Fn(&str) + Send + 'static,
) -> Result<(), Failure> {
    let follow = move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            match Told::of(&line) {
                Ok(None) => {}
                Ok(Some(Told::Speed(share))) => throttle.set(share),
                // The server has ended if it cannot be told.
                Ok(Some(Told::Model(model))) => drop(tell.send(End::Model(model))),
                Err(why) => complain(&why),
            }
        }
    };
    let thread = std::thread::Builder::new().name("tailwater-told".into());
    thread.spawn(follow).map(drop).map_err(Failure::work)
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Told {
    /// Handlers compute at this share of their speed.
    Speed(f64),
    /// New requests are served by this model.
    Model(Model),
}

impl Told {
    /// Nothing of an empty line.
    fn of(line: &str) -> Result<Option<Self>, String> {
        let line = line.trim();
        let needed = || format!("'{line}' found, a line such as model adb:4 is needed");
        let (what, value) = match line.split_once(' ') {
            _ if line.is_empty() => return Ok(None),
            Some(words) => words,
            None => return Err(needed()),
        };
        let value = value.trim();
        match what {
            "speed" => {
                let share = value.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
                share.map(|share| Some(Self::Speed(share))).ok_or_else(needed)
            }
            "model" => value.parse().map(|model| Some(Self::Model(model))).map_err(|_| needed()),
            _ => Err(needed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_speed_or_a_model_or_a_complaint() {
        assert_eq!(Told::of(" speed 0.25 "), Ok(Some(Told::Speed(0.25))));
        let model = "adb:4".parse().expect("a model");
        assert_eq!(Told::of("model adb:4"), Ok(Some(Told::Model(model))));
        assert_eq!(Told::of("  "), Ok(None));
        for wrong in ["speed 0", "speed 2", "speed NaN", "speed", "model xyz", "gear 3", "adb:4"] {
            let said = Told::of(wrong).expect_err(wrong);
            assert!(said.starts_with(&format!("'{wrong}' found")), "{said}");
        }
    }
}
