//! What a measurement needs beside Rust: looked for before anything is built, since memcached's turn comes last.

use crate::{Args, PARTS, Part, Result};
use machine::command::{Needed, OF_MEMCACHED, OF_PASS, look_for};

/// An error that names all that is missing for what was asked for.
pub(crate) fn look(args: &Args) -> Result {
    look_for(&of(args))
}

fn of(args: &Args) -> Vec<Needed> {
    let is_memcached = |part: &Part| matches!(part, Part::Memcached | Part::Traces);
    let mut needed = OF_PASS.to_vec();
    // A short pass leaves memcached out.
    if !args.short && PARTS.iter().any(|part| args.chooses(*part) && is_memcached(part)) {
        needed.extend(OF_MEMCACHED);
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    /// A missing header of memcached's was told after six other parts.
    #[test]
    fn memcached_needs_more_where_it_is_measured() {
        let names = |line: &str| -> Vec<&'static str> {
            let args = Args::try_parse_from(line.split(' ')).unwrap();
            of(&args).iter().map(|it| it.name).collect()
        };
        for line in ["profile", "profile --only traces", "profile --only memcached --build-only"] {
            let found = names(line);
            assert!(found.contains(&"clang++-22") && found.contains(&"event.h"), "{line}");
        }
        for line in ["profile --short", "profile --only calls"] {
            let found = names(line);
            assert!(found.contains(&"clang++-22") && !found.contains(&"event.h"), "{line}");
        }
    }
}
