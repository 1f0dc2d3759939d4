//! A service as the page asks it: a question through the mid-tier, and what every tier counted meanwhile.

use crate::failure::Failure;
use crate::run::Stand;
use serde::Serialize;
use std::time::{Duration, Instant};
use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_core::MethodId;
use tailwater_load::application::{Inquiry, ShownRow};
use tailwater_rt::Address;
use tailwater_rt::client::{CallOptions, ChannelConfig, Client};
use tailwater_rt::counts::Counts;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// A service whose tiers stand.
pub(super) struct Asked {
    pub(super) name: &'static str,
    /// What it is, in words for people.
    pub(super) title: &'static str,
    /// What there is to be found, and where it is from.
    pub(super) about: String,
    pub(super) examples: Vec<String>,
    /// For one question at a time: so counts of the nodes are of that question alone.
    tiers: Mutex<Tiers>,
}

/// What a question needs.
struct Tiers {
    inquiry: Box<dyn Inquiry>,
    front: Client,
    nodes: Vec<Node>,
    /// Tells answers apart.
    tag: u64,
}

struct Node {
    name: String,
    client: Client,
}

/// What came of a question.
#[derive(Debug, Serialize)]
pub(super) struct Told {
    /// Why there is no answer, or what the oracle has against it.
    pub(super) wrong: Option<String>,
    pub(super) summary: String,
    pub(super) rows: Vec<ShownRow>,
    /// From the page's process and back.
    pub(super) whole_us: f64,
    /// At the mid-tier, from the request's arrival to the answer, its leaves included.
    pub(super) midtier_us: f64,
    pub(super) nodes: Vec<NodeTold>,
    /// How long the oracle took.
    pub(super) oracle_us: f64,
}

/// What a node counted.
#[derive(Debug, Serialize)]
pub(super) struct NodeTold {
    pub(super) name: String,
    /// Requests that it got; `None` where it did not tell.
    pub(super) requests: Option<u64>,
    /// Time in its handlers.
    pub(super) handlers_us: Option<f64>,
}

/// A person does not wait longer for the mid-tier.
const PATIENCE: Duration = Duration::from_secs(5);

/// For the counts of all nodes, before a question and after it. A node that is well tells at once.
const COUNTS_PATIENCE: Duration = Duration::from_millis(500);

/// For the questions of others. With the times above it is less than a connection may last.
const TURN_PATIENCE: Duration = Duration::from_secs(20);

/// No longer question is read.
pub(super) const QUESTION_CHARS_MAX: usize = 300;

impl Asked {
    /// By its name and title.
    pub(super) fn new(
        (name, title): (&'static str, &'static str),
        inquiry: Box<dyn Inquiry>,
        stand: &Stand,
    ) -> Result<Self, Failure> {
        let front = Client::connect(address(&stand.address())?).map_err(Failure::work)?;
        // Beside admission, as counts are told even where everything is shed.
        let open =
            Spec::named("none").build(&Site::one_loop(PATIENCE, 0)).map_err(Failure::work)?;
        let nodes = stand.nodes().into_iter().map(|(name, at)| {
            let config = ChannelConfig::new(address(&at)?);
            let client = Client::connect_with(config, &open).map_err(Failure::work)?;
            Ok(Node { name, client })
        });
        let nodes = nodes.collect::<Result<_, Failure>>()?;
        let (about, examples) = (inquiry.about(), inquiry.examples());
        let tiers = Mutex::new(Tiers { inquiry, front, nodes, tag: 0 });
        Ok(Self { name, title, about, examples, tiers })
    }

    /// Asks, and has the oracle look at the answer.
    ///
    /// # Errors
    /// A sentence for the person who asked.
    pub(super) async fn ask(&self, text: &str) -> Result<Told, String> {
        if text.chars().count() > QUESTION_CHARS_MAX {
            return Err(format!(
                "found more than {QUESTION_CHARS_MAX} characters; fewer are needed"
            ));
        }
        let Ok(mut tiers) = timeout(TURN_PATIENCE, self.tiers.lock()).await else {
            return Err("found too many questions before this one; ask again".into());
        };
        tiers.ask(text).await
    }
}

impl Tiers {
    async fn ask(&mut self, text: &str) -> Result<Told, String> {
        self.tag += 1;
        let ask = self.inquiry.ask(text, self.tag)?;
        let before = self.counts().await;
        let asked = Instant::now();
        let called = self.front.call_with(ask.method.0, ask.payload, within(PATIENCE)).await;
        let whole = asked.elapsed();
        let after = self.counts().await;
        let no_answer = |why| format!("the mid-tier gave no answer: {why}{}", self.silent(&after));
        let answer = called.map_err(no_answer)?;
        let looked = Instant::now();
        let findings = self.inquiry.read(text, self.tag, (answer.status, &answer.payload));
        let nodes = self.nodes.iter().zip(before.into_iter().zip(after));
        Ok(Told {
            wrong: findings.wrong,
            summary: findings.summary,
            rows: findings.rows,
            whole_us: micros(whole),
            midtier_us: micros(answer.sojourn),
            nodes: nodes.map(|(node, counts)| node.told(counts)).collect(),
            oracle_us: micros(looked.elapsed()),
        })
    }

    async fn counts(&self) -> Vec<Option<Counts>> {
        let call = |node: &Node| {
            node.client.call_with(MethodId::INTROSPECT.0, "", within(COUNTS_PATIENCE))
        };
        // All are on their way before the first is awaited: so the patience is that of one.
        let calls: Vec<_> = self.nodes.iter().map(call).collect();
        let mut found = Vec::with_capacity(calls.len());
        for call in calls {
            found.push(call.await.ok().and_then(|answer| Counts::parse(&answer.payload).ok()));
        }
        found
    }

    /// Which nodes did not tell, as the end of a sentence; empty where all did.
    fn silent(&self, counts: &[Option<Counts>]) -> String {
        let silent = self.nodes.iter().zip(counts).filter(|(_, counts)| counts.is_none());
        let names: Vec<&str> = silent.map(|(node, _)| &*node.name).collect();
        match names.is_empty() {
            true => String::new(),
            false => format!("; no counts came from {}", names.join(", ")),
        }
    }
}

impl Node {
    fn told(&self, (before, after): (Option<Counts>, Option<Counts>)) -> NodeTold {
        let since = after.zip(before).map(|(after, before)| after.since(&before).totals);
        NodeTold {
            name: self.name.clone(),
            requests: since.as_ref().map(|it| it.served),
            handlers_us: since.map(|it| micros(Duration::from_nanos(it.handler_ns))),
        }
    }
}

fn within(deadline: Duration) -> CallOptions {
    CallOptions { deadline, ..CallOptions::default() }
}

fn address(text: &str) -> Result<Address, Failure> {
    text.parse().map_err(|why| Failure::work(format!("{text}: {why}")))
}

fn micros(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e7).round() / 10.0
}
