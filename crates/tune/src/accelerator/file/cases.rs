//! One case of a file.

use super::ReadFile;
use super::item::{Item, Said};
use super::keys::{QUEUE_KEYS, STATED, STATED_KEYS};
use super::units;
use crate::accelerator::design::{STRATEGIES, THREADINGS};
use crate::accelerator::input::End;
use crate::accelerator::queue::{QUEUES, SERVERS_MAX};
use crate::accelerator::sizes::{ROW_MAX, SIZES_MAX, work_share_at_least};
use crate::accelerator::{
    Amount, Case, Design, Input, Inputs, Queue, Selection, Sizes, Stated, Threading, Weighting,
};
use toml::de::DeValue;

/// Offloads in a batch, and hosts that share an accelerator.
const SHARING_MAX: u32 = 1_000_000;
/// β.
const BETA: (f64, f64) = (0.1, 4.0);
/// The unit of time: a millisecond to a week.
const UNIT_NS: (f64, f64) = (1e6, 604_800e9);
/// Percentages of a publication.
const PERCENT: (f64, f64) = (-100.0, 1e6);

/// A sound case; `None` only after a problem.
pub(super) fn read(name: &str, said: &Said<'_>, file: ReadFile<'_>) -> Option<Case> {
    let design = design(said);
    let beta = said.item("beta").and_then(|item| item.number(BETA)).unwrap_or(1.0);
    let sizes = said.item("g").and_then(|item| sizes(&item, beta, file));
    let clock = clock(said);
    let elapsed = elapsed(said, clock);
    let inputs = inputs(said, clock, elapsed);
    is_complete(said);
    let design = design?;
    let case = Case {
        name: name.into(),
        design,
        inputs,
        sizes,
        queue: said.item("Q").and_then(|item| queue(&item)),
        selection: choice(said, "offload", &SELECTIONS, Selection::Lucrative),
        weighting: choice(said, "profile", &WEIGHTINGS, Weighting::Work),
        beta,
        batch: whole(said, "batch"),
        hosts: whole(said, "hosts"),
        elapsed,
        stated: said.item(STATED).and_then(|item| stated(&item)),
    };
    fits_together(said, &case);
    if !said.is_sound() {
        return None;
    }
    let case = with_share(said, case)?;
    match case.outcome(&case.central()) {
        Ok(_) => Some(case),
        Err(why) => {
            said.problem(format!("{name}: {why}"));
            None
        }
    }
}

const SELECTIONS: [(&str, Selection); 2] =
    [("lucrative", Selection::Lucrative), ("all", Selection::All)];
const WEIGHTINGS: [(&str, Weighting); 2] =
    [("default", Weighting::Work), ("paper", Weighting::Number)];

fn choice<T: Copy>(said: &Said<'_>, key: &'static str, known: &[(&str, T)], default: T) -> T {
    said.item(key).and_then(|item| item.choice(known)).unwrap_or(default)
}

fn whole(said: &Said<'_>, key: &'static str) -> u32 {
    said.item(key).and_then(|item| item.whole(SHARING_MAX)).unwrap_or(1)
}

fn design(said: &Said<'_>) -> Option<Design> {
    let threading = said.needed("design").and_then(|item| item.choice(&THREADINGS));
    let strategy = said.needed("strategy").and_then(|item| item.choice(&STRATEGIES));
    let acknowledged = said.item("acknowledged").and_then(|item| item.truth()).unwrap_or(true);
    Some(Design { threading: threading?, strategy: strategy?, acknowledged })
}

/// GHz.
fn clock(said: &Said<'_>) -> Option<f64> {
    let item = said.item("clock")?;
    let text = item.text()?;
    units::ghz(&text).map_err(|why| item.problem(why)).ok()
}

/// Cycles of the clock in the unit of time.
fn elapsed(said: &Said<'_>, clock_ghz: Option<f64>) -> Option<f64> {
    let unit_ns = match said.item("unit") {
        Some(item) => item.time_ns(UNIT_NS)?,
        None => 1e9,
    };
    clock_ghz.map(|ghz| ghz * unit_ns)
}

/// Every input that is said, and a unit of the clock for C where that is not.
fn inputs(said: &Said<'_>, clock: Option<f64>, elapsed: Option<f64>) -> Inputs {
    let mut inputs = Inputs::default();
    for input in Input::ALL {
        let Some(item) = said.item(input.name()) else { continue };
        // A table in Q may be a model of the queue; `from` and `values` are those of an uncertain number.
        if input == Input::Queueing && is_model(&item) {
            continue;
        }
        let read = |item: &Item<'_>| match input.is_cycles() {
            true => item.cycles(input.limits(), clock),
            false => item.number(input.limits()),
        };
        if let Some(amount) = item.amount(read) {
            inputs.set(input, amount);
        }
    }
    if let (None, Some(cycles)) = (said.item(Input::HostCycles.name()), elapsed) {
        inputs.set(Input::HostCycles, Amount::Exactly(cycles));
    }
    inputs
}

fn is_model(item: &Item<'_>) -> bool {
    matches!(item.value, DeValue::Table(table) if table.contains_key("model"))
}

fn queue(item: &Item<'_>) -> Option<Queue> {
    if !is_model(item) {
        return None;
    }
    let part = item.table(&QUEUE_KEYS)?;
    let [mm1, md1, mg1, mmc] = QUEUES;
    let servers = part("servers").map(|item| item.whole(SERVERS_MAX));
    let variation = part("variation").map(|item| item.number((0.0, 1e6)));
    let known = [
        (mm1, Queue::MM1),
        (md1, Queue::MD1),
        (mg1, Queue::MG1(variation.flatten())),
        (mmc, Queue::MMc(servers.flatten().unwrap_or(1))),
    ];
    let queue = part("model")?.choice(&known)?;
    if servers.is_some() != matches!(queue, Queue::MMc(_)) {
        item.problem("has servers for M/M/c, and for M/M/c alone: name how many there are, or leave servers out");
    }
    if variation.is_some() && !matches!(queue, Queue::MG1(_)) {
        item.problem("has a variation that its model does not take; leave it out, or use M/G/1");
    }
    Some(queue)
}

/// Rows of a list, or of a file.
fn sizes(item: &Item<'_>, beta: f64, file: ReadFile<'_>) -> Option<Sizes> {
    let rows = match item.value {
        DeValue::String(_) => {
            let name = item.text()?;
            let rows = file(&name).and_then(|text| units::rows(&text));
            rows.map_err(|why| item.problem(format_args!("is \"{name}\": {why}"))).ok()?
        }
        _ => item.entries(SIZES_MAX)?.iter().map(row).collect::<Option<Vec<_>>>()?,
    };
    Sizes::new(rows, beta).map_err(|why| item.problem(format_args!("has no use: {why}"))).ok()
}

fn row(item: &Item<'_>) -> Option<(f64, f64)> {
    let pair = item.entries(2)?;
    let number = |at: usize| pair.get(at).and_then(|item| item.number((0.0, ROW_MAX)));
    match (pair.len(), number(0), number(1)) {
        (2, Some(bytes), Some(count)) => Some((bytes, count)),
        (2, _, _) => None,
        _ => {
            item.problem(
                "has a row of one number; bytes and offloads are needed, such as [512, 1200]",
            );
            None
        }
    }
}

fn stated(item: &Item<'_>) -> Option<Stated> {
    let part = item.table(&STATED_KEYS)?;
    let percent = |key: &str| part(key).and_then(|item| item.number(PERCENT));
    Some(Stated {
        speedup: percent("speedup"),
        latency: percent("latency"),
        measured: percent("measured"),
        source: part("source").and_then(|item| item.text()).unwrap_or_default(),
    })
}

/// Notes what must not be said together, and what must.
fn is_complete(said: &Said<'_>) {
    let has = |key| said.item(key).is_some();
    let clash =
        |key: &str, why: &str| said.problem(format!("{key} contradicts {why}; leave one out"));
    if has("g") {
        for key in ["n", "n_all", "share"].into_iter().filter(|key| has(key)) {
            clash(key, "g, from which it follows");
        }
        if has("alpha") == has("Cb") {
            said.problem("with g, one of alpha and Cb is needed; the other follows".into());
        }
    } else {
        for key in ["alpha", "n"] {
            said.needed(key);
        }
        if has("offload") {
            said.problem("offload chooses among sizes; add g, or leave it out".into());
        }
    }
    if has("n_all") && has("share") {
        clash("share", "n_all, from which it follows");
    }
    if !has("C") && !has("clock") {
        said.problem(
            "C is missing; it is needed, for example C = \"2.3e9 cycles\", or a clock".into(),
        );
    }
}

/// Notes what the design or the queue lacks.
fn fits_together(said: &Said<'_>, case: &Case) {
    if case.batch > 1 && !case.design.can_batch() {
        let name = case.design.threading.name();
        said.problem(format!(
            "batch needs a design of async; a thread of {name} has one offload only"
        ));
    }
    if case.queue == Some(Queue::MG1(None)) && case.sizes.is_none() {
        said.problem("Q with M/G/1 needs a variation, or sizes in g".into());
    }
    if case.elapsed.is_none() && (case.queue.is_some() || case.batch > 1) {
        said.problem(
            "clock is missing; a queue and a batch need it, for example clock = \"2.3GHz\": C says how busy the host is, \
             on all its cores, and not how long"
                .into(),
        );
    }
    let waits = case.design.threading == Threading::Sync || case.queue.is_some();
    if waits && said.item("A").is_none() {
        said.problem("A is missing; it is needed where threads wait or a queue is modelled".into());
    }
}

/// With what is known of the work that n of n_all offloads carry.
fn with_share(said: &Said<'_>, case: Case) -> Option<Case> {
    let Some(item) = said.item("n_all") else { return Some(case) };
    let made = case.inputs.get(Input::Offloads)?;
    let (fewest, most) = made.ends();
    let all = item.number((most.max(1.0), Input::Offloads.limits().1))?;
    let share = match case.weighting {
        Weighting::Number => Amount::Exactly(made.central() / all),
        Weighting::Work => by_work(&case, all, fewest / all),
    };
    let mut case = case;
    case.inputs.set(Input::Share, share);
    Some(case)
}

/// Between the least that the larger offloads can carry, and all.
///
/// Whatever the truth is, the offloads left out are below the highest break-even that the inputs leave open: that of the
/// dearest and slowest accelerator with the longest queue. The mean that they are held against is the smallest.
fn by_work(case: &Case, all: f64, of_all: f64) -> Amount {
    let dearest = case.inputs.extremes(|input| {
        if matches!(input, Input::Offloads | Input::Acceleration) { End::Low } else { End::High }
    });
    let smallest = case.inputs.extremes(|_| End::Low);
    let cycles = smallest.get(Input::KernelShare).zip(smallest.get(Input::HostCycles));
    let mean = cycles.map_or(0.0, |(alpha, host)| alpha * host / all);
    let threshold = case.outcome(&dearest).map(|outcome| outcome.break_even_cycles);
    // Without a steady state nothing bounds what is left out.
    let least = threshold.map_or(of_all, |threshold| work_share_at_least(of_all, threshold, mean));
    if least < 1.0 { Amount::Between(least, 1.0) } else { Amount::Exactly(1.0) }
}
