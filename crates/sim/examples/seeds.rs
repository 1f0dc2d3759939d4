//! Plays worlds drawn at random until a rule breaks: `seeds COUNT [FIRST]`, or `seeds --seed SEED` for
//! one of them. `seeds --switching SEED` is one whose nodes change their threading models all the time, and `seeds
//! --responding SEED` the same with responders. `--forking` behind either has fork and join in synchronous models.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::process::ExitCode;
use tailwater_sim::swarm::Case;

const USAGE: &str = "usage: seeds COUNT [FIRST] | seeds --seed SEED | seeds --switching SEED | seeds --responding SEED, \
                     and --forking behind any";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (args, forks) = match &args[..] {
        [args @ .., "--forking"] => (args, true),
        args => (args, false),
    };
    let number = |text: &str| text.parse::<u64>().ok();
    let range = match args[..] {
        ["--seed" | "--switching" | "--responding", seed] => number(seed).map(|seed| (1, seed)),
        [count] => number(count).map(|count| (count, 1)),
        [count, first] => number(count).zip(number(first)),
        _ => None,
    };
    let Some((count, first)) = range else {
        eprintln!("found {args:?}; {USAGE}");
        return ExitCode::from(2);
    };
    let draw = match args[0] {
        "--switching" => Case::switching,
        "--responding" => Case::responding,
        _ => Case::drawn,
    };
    let drawn = |seed| if forks { draw(seed).forking() } else { draw(seed) };
    if count == 1 {
        println!("{:#?}", drawn(first));
    }
    let (mut events, mut requests, mut broken) = (0_u64, 0_u64, 0_u64);
    for seed in first..first.saturating_add(count) {
        match drawn(seed).run() {
            Ok((run, trace)) => {
                events += trace.events;
                requests += run.fates.total();
            }
            Err(found) => {
                broken += 1;
                eprintln!("{found}");
            }
        }
    }
    println!("{count} seeds from {first}: {requests} requests, {events} events, {broken} broken");
    ExitCode::from(u8::from(broken > 0))
}
