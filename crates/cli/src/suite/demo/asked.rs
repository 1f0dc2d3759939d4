//! A service as the page asks it: a question through the mid-tier, and what every tier counted meanwhile.

use crate::failure::Failure;
use crate::run::Stand;
use serde::Serialize;
use std::time::{Duration, Instant};
use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_core::MethodId;
use tailwater_load::application::{Finding, Inquiry};
use tailwater_rt::Address;
use tailwater_rt::client::{CallOptions, ChannelConfig, Client};
use tailwater_rt::counts::Counts;

/// A service whose tiers stand.
pub(super) struct Asked {
    pub(super) name: &'static str,
    /// What it is, in words for people.
    pub(super) title: &'static str,
    /// What there is to be found, and where it is from.
    pub(super) about: String,
    pub(super) examples: Vec<String>,
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
    pub(super) rows: Vec<Finding>,
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

/// A person does not wait longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// No longer question is read.
pub(super) const QUESTION_CHARS_MAX: usize = 300;

impl Asked {
    /// By its name and title.
    pub(super) fn new(
        (name, title): (&'static str, &'static str),
        inquiry: Box<dyn Inquiry>,
        stand: &Stand,
    ) -> Result<Self, Failure> {
        let front = Client::connect(address(stand.address())?).map_err(Failure::work)?;
        // Beside admission, as counts are told even where everything is shed.
        let open =
            Spec::named("none").build(&Site::one_loop(PATIENCE, 0)).map_err(Failure::work)?;
        let nodes = stand.nodes().into_iter().map(|(name, at)| {
            let config = ChannelConfig::new(address(&at)?);
            let client = Client::connect_with(config, &open).map_err(Failure::work)?;
            Ok(Node { name, client })
        });
        Ok(Self {
            name,
            title,
            about: inquiry.about(),
            examples: inquiry.examples(),
            inquiry,
            front,
            nodes: nodes.collect::<Result<_, Failure>>()?,
            tag: 0,
        })
    }

    /// Asks, and has the oracle look at the answer.
    ///
    /// # Errors
    /// A sentence for the person who asked.
    pub(super) async fn ask(&mut self, text: &str) -> Result<Told, String> {
        if text.chars().count() > QUESTION_CHARS_MAX {
            return Err(format!(
                "found more than {QUESTION_CHARS_MAX} characters; fewer are needed"
            ));
        }
        self.tag += 1;
        let ask = self.inquiry.ask(text, self.tag)?;
        let before = self.counts().await;
        let asked = Instant::now();
        let called = self.front.call_with(ask.method.0, ask.payload, patient()).await;
        let whole = asked.elapsed();
        let answer = called.map_err(|why| format!("the mid-tier gave no answer: {why}"))?;
        let after = self.counts().await;
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
        let mut found = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let answer = node.client.call_with(MethodId::INTROSPECT.0, "", patient()).await;
            found.push(answer.ok().and_then(|answer| Counts::parse(&answer.payload).ok()));
        }
        found
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

fn patient() -> CallOptions {
    CallOptions { deadline: PATIENCE, ..CallOptions::default() }
}

fn address(text: &str) -> Result<Address, Failure> {
    text.parse().map_err(|why| Failure::work(format!("{text}: {why}")))
}

fn micros(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e7).round() / 10.0
}
