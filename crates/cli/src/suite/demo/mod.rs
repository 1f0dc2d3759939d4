//! `tailwater suite demo`: search boxes over the services that answer words, each in its tiers.
//!
//! `asked` is a service as the page asks it, `site` the HTTP server with its bounds, `page` what it shows.

mod asked;
mod question;
mod page;
mod site;

use super::choice::Choice;
use crate::applications;
use crate::data_folder::DataFolder;
use crate::failure::{Failure, say};
use crate::run::Stand;
use crate::values::key_value;
use asked::Asked;
use clap::Args;
use site::Site;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tailwater_data::text::{WORDNET_PACKAGE, is_wordnet_in};
use tailwater_load::application::Inquiry;
use tailwater_program::interrupt::Interrupt;
use tailwater_workload::Scenario;

pub(super) const HELP: &str = "Examples:
  tailwater suite demo
  tailwater suite demo --listen 127.0.0.1:0
  tailwater suite demo --set hdsearch.vectors=glove.6B.50d.txt --set setalgebra.text=papers.txt

It prints the page's address once all tiers stand: http://127.0.0.1:7017/ unless --listen says another. HDSearch finds \
the words that are nearest to a word, Set Algebra the documents that hold all words. Each question goes through the \
mid-tier to four leaves, in processes of their own, and its answer is compared with what plain code finds; the page says \
so, and how long each tier took. http://127.0.0.1:7017/ask?of=hdsearch&q=violin answers in JSON. Without WordNet \
(tailwater data fetch wordnet) both have generated data. Ctrl-C ends all. The page is for one machine: it has no encryption \
and knows no users. A link on another site's page shows its question and asks nothing, \
where the browser says whence it comes: on a loopback address those of today do.";

#[derive(Args, Debug)]
pub(crate) struct DemoOptions {
    /// Where the page is served; of port 0 the system picks a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7017")]
    listen: SocketAddr,
    /// Changes a setting of a service; may be repeated. tailwater suite list names them.
    #[arg(long = "set", value_name = "SERVICE.KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    /// Instead of four leaves for each service.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    leaves: Option<u32>,
    #[command(flatten)]
    data: DataFolder,
}

/// The services that answer words, as commands and as people call them.
const SHOWN: [(&str, &str); 2] = [
    ("hdsearch", "HDSearch: what is nearest"),
    ("setalgebra", "Set Algebra: what holds all words"),
];

/// Words of WordNet: nearest among a twelfth of them.
const OF_WORDNET: [(&str, &str); 5] = [
    ("vectors", "wordnet"),
    ("index", "ivf"),
    ("lists", "400"),
    ("probes", "32"),
    ("recall_min", "0.3"),
];

/// So many generated points are made within seconds.
const OF_GENERATED: [(&str, &str); 1] = [("points", "20000")];

/// How often the processes are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(super) fn demo(options: &DemoOptions) -> Result<(), Failure> {
    options.set.iter().try_for_each(|(key, _)| owner(key).map(drop))?;
    // Before the work: an address that is taken would be found after a minute.
    let site = Site::bind(options.listen)?;
    let interrupt = Interrupt::watch()?;
    let mut stands = Vec::new();
    let mut asked = Vec::new();
    for (number, (name, title)) in (0..).zip(SHOWN) {
        let scenario = scenario(name, options)?;
        let stand = Stand::start(&scenario, &options.data, number, &interrupt)?;
        let inquiry = inquiry(&scenario, &stand, &interrupt)?;
        asked.push(Asked::new((name, title), inquiry, &stand)?);
        stands.push(stand);
    }
    let address = site.address();
    let serving = site.serve(asked)?;
    say(&format!(
        "http://{address}/ shows {}; Ctrl-C ends it",
        SHOWN.map(|(name, _)| name).join(" and ")
    ))?;
    loop {
        match interrupt.rest(LOOK_EVERY) {
            // The way in which it is meant to end.
            Err(Failure::Signal(..)) => return Ok(()),
            ended => ended?,
        }
        if let Some(why) = stands.iter_mut().find_map(Stand::trouble) {
            return Err(Failure::work(why));
        }
        if serving.is_finished() {
            return Err(Failure::work("the page's thread ended; it has said why"));
        }
    }
}

/// The service and the setting of "service.key".
fn owner(key: &str) -> Result<(&str, &str), Failure> {
    let found =
        key.split_once('.').filter(|(service, _)| SHOWN.iter().any(|(name, _)| name == service));
    found.ok_or_else(|| {
        let shown = SHOWN.map(|(name, _)| format!("{name}.KEY")).join(" or ");
        Failure::usage(format!("--set is given {key}; {shown} is needed"))
    })
}

/// On whichever cores there are: nothing is measured but the answers to one person.
fn scenario(name: &str, options: &DemoOptions) -> Result<Scenario, Failure> {
    let said = |(key, value): &(String, String)| {
        let (service, key) = owner(key).ok()?;
        (service == name).then(|| (key.to_owned(), value.clone()))
    };
    let said: Vec<_> = options.set.iter().filter_map(said).collect();
    let mut set: Vec<(String, String)> = Vec::new();
    if name == "hdsearch" && !said.iter().any(|(key, _)| key == "vectors") {
        let own: &[(&str, &str)] = match has_wordnet(&options.data.path()?) {
            true => &OF_WORDNET,
            false => &OF_GENERATED,
        };
        set.extend(own.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())));
    }
    set.extend(said);
    let mut scenario = Choice { service: name, set: &set, leaves: options.leaves }.scenario()?;
    scenario.server.cores.clear();
    scenario.tiers.iter_mut().for_each(|tier| tier.pin.clear());
    Ok(scenario)
}

fn has_wordnet(data: &Path) -> bool {
    is_wordnet_in(&WORDNET_PACKAGE.place(data))
}

/// What people may ask of the prepared data.
fn inquiry(
    scenario: &Scenario,
    stand: &Stand,
    interrupt: &Interrupt,
) -> Result<Box<dyn Inquiry>, Failure> {
    let application = applications::of(scenario, &stand.data).map_err(Failure::usage)?;
    let goes_on = |_: &str| match interrupt.signal() {
        Some(signal) => Err(Failure::signal(signal).to_string()),
        None => Ok(()),
    };
    let found = application.inquiry(&goes_on);
    if let Some(signal) = interrupt.signal() {
        return Err(Failure::signal(signal).and("its data were not read"));
    }
    found.map_err(Failure::work)?.ok_or_else(|| Failure::work("this service answers no words"))
}
