//! What is to be prepared, under which names it lies, and how it is made.

use super::learnt::{self, Learnt};
use super::parts::{self, Of, fill_profiles, fill_shard, read_profiles, read_shard};
use super::{Answers, answers};
use crate::average::Slice;
use crate::baseline::Biases;
use crate::evaluate::Errors;
use crate::leaf::Leaf;
use crate::midtier::{MidTier, Part};
use crate::model::{Among, Query, Rule};
use crate::oracle::{Oracle, averaged};
use crate::queries;
use crate::ratings::{Generated, Ratings, Split, open_csv, read_csv};
use crate::similarity::Similarity;
use std::fmt;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use tailwater_data::numbers::{bytes_of_f32, f32_of_bytes};
use tailwater_data::text;
use tailwater_data::{Content, DataError, Folder, Header, Origin};
use tailwater_load::application::{Tell, Whose};
use tailwater_stats::result::DataUsed;

/// Where ratings come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// About so many, from the plan's seed.
    Generated(usize),
    /// A file of `user,item,rating`.
    File(PathBuf),
}

/// How leaves share the work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharding {
    /// By user: answers do not depend on the number of leaves.
    Users,
    /// By line, as published: each leaf learns from a slice, and predictions are averaged.
    Lines,
}

impl Sharding {
    /// Every one, with the word for it.
    pub const ALL: [(&str, Self); 2] = [("users", Self::Users), ("lines", Self::Lines)];
}

/// Data that decide what mid-tier, leaves and generator have.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The folder of prepared data.
    pub folder: Folder,
    /// Which ratings.
    pub source: Source,
    /// Of a hundred ratings, so many are held out, by which predictions are judged.
    pub held_out_percent: u32,
    /// How ratings are predicted.
    pub rule: Rule,
    /// How leaves share the work.
    pub sharding: Sharding,
    /// How many leaves there are.
    pub leaves: u32,
    /// How many queries.
    pub queries: usize,
}

/// The mean of all ratings, by line.
const MEAN: &str = "mean";

impl Plan {
    /// Makes what is not there of what these processes need, or was made of another state of the source. Says what a
    /// result must tell of it.
    ///
    /// # Errors
    /// A sentence for people; what `tell` returns.
    pub fn prepare(&self, whose: Whose<'_>, tell: Tell<'_>) -> Result<Vec<DataUsed>, String> {
        tell("looking at the data")?;
        let stamp = self.stamp()?;
        let names = [self.model_name(), self.parts_name(), self.answers_name()];
        let kinds = [learnt::KIND, parts::KIND, answers::KIND];
        // Servers open parts alone; a result tells of all.
        let needed = if whose == Whose::All { 0..3 } else { 1..2 };
        let ready = |at: usize| self.folder.ready(&names[at], kinds[at], &stamp);
        let mut there = [0, 1, 2].map(|at| needed.contains(&at).then(|| ready(at)).flatten());
        if needed.clone().any(|at| there[at].is_none()) {
            let maker = Maker { plan: self, stamp: &stamp, tell };
            there[0] = there[0].take().or_else(|| ready(0));
            let learnt = maker.learnt(&mut there[0])?;
            if there[1].is_none() {
                there[1] = Some(maker.parts(&learnt)?);
            }
            if there[2].is_none() && needed.contains(&2) {
                there[2] = Some(maker.answers(&learnt)?);
            }
        }
        let all = names.into_iter().zip(there).skip(needed.start).take(needed.len());
        Ok(all.filter_map(|(name, header)| Some(header?.used(name))).collect())
    }

    /// Opens the part of the mid-tier.
    ///
    /// # Errors
    /// A sentence for people when it was not prepared, or is damaged.
    pub fn open_midtier(&self) -> Result<MidTier, String> {
        let open = || {
            let mut data = self.folder.open(&self.parts_name(), parts::KIND)?;
            let part = match self.sharding {
                Sharding::Users => Part::Users(read_profiles(&mut data, Of::MidTier, self.rule)?),
                Sharding::Lines => match f32_of_bytes(&data.section(MEAN)?).as_deref() {
                    Some(&[mean]) => Part::Lines { mean },
                    _ => return Err(data.damaged("it has no mean".into())),
                },
            };
            Ok(MidTier { part, leaves: self.leaves })
        };
        open().map_err(|error: DataError| error.to_string())
    }

    /// Opens the part of a leaf.
    ///
    /// # Errors
    /// As above.
    pub fn open_leaf(&self, leaf: u32) -> Result<Leaf, String> {
        let (of, rule) = (Of::Leaf(leaf), self.rule);
        let open = || {
            let mut data = self.folder.open(&self.parts_name(), parts::KIND)?;
            Ok(match self.sharding {
                Sharding::Users => {
                    Leaf::Users(read_shard(&mut data, of, rule, (leaf, self.leaves))?)
                }
                Sharding::Lines => {
                    let profiles = read_profiles(&mut data, of, rule)?;
                    Leaf::Lines(Slice::new(profiles, read_shard(&mut data, of, rule, (0, 1))?))
                }
            })
        };
        open().map_err(|error: DataError| error.to_string())
    }

    /// Opens the queries and their answers.
    ///
    /// # Errors
    /// As above.
    pub fn open_answers(&self) -> Result<Answers, String> {
        let open = || Answers::read(&mut self.folder.open(&self.answers_name(), answers::KIND)?);
        open().map_err(|error: DataError| error.to_string())
    }

    /// How many slices are learnt from; `None`: all ratings at once.
    fn slices(&self) -> Option<u32> {
        (self.sharding == Sharding::Lines).then_some(self.leaves)
    }

    fn stamp(&self) -> Result<String, String> {
        match &self.source {
            Source::Generated(_) => Ok(format!("seed {}", self.rule.fit.seed)),
            Source::File(path) => {
                let stamp = text::Source::Files(path.clone()).stamp();
                stamp.map_err(|error| error.to_string())
            }
        }
    }

    fn model_name(&self) -> String {
        let fit = self.rule.fit;
        let source = match &self.source {
            Source::Generated(number) => format!("generated-{number}"),
            Source::File(path) => text::Source::Files(path.clone()).name(),
        };
        let slices = self.slices().map_or_else(String::new, |slices| format!("-{slices}slices"));
        format!(
            "recommend/{source}-heldout{}-rank{}-{}sweeps-weight{}-seed{}{slices}",
            self.held_out_percent, fit.rank, fit.sweeps, fit.regularisation, fit.seed
        )
    }

    /// What decides neighbours, but for their number.
    fn alike_name(&self) -> String {
        let Rule { similarity, among, .. } = self.rule;
        let similarity = Similarity::ALL.iter().find(|(_, it)| *it == similarity);
        let among = Among::ALL.iter().find(|(_, it)| *it == among);
        let words = similarity.zip(among).map(|((one, _), (other, _))| format!("{one}-{other}"));
        format!("{}-{}", self.model_name(), words.unwrap_or_default())
    }

    fn parts_name(&self) -> String {
        format!("{}-{}leaves", self.alike_name(), self.leaves)
    }

    fn answers_name(&self) -> String {
        let (alike, neighbours) = (self.alike_name(), self.rule.neighbours);
        format!("{alike}-{neighbours}neighbours-{}queries", self.queries)
    }

    /// Each leaf must have something to answer from.
    fn check(&self, seen: &Ratings) -> Result<(), String> {
        let (found, what) = match self.sharding {
            Sharding::Users => (seen.users(), "users"),
            Sharding::Lines => (seen.all().len(), "ratings to learn from"),
        };
        if found >= self.leaves as usize {
            return Ok(());
        }
        Err(format!(
            "found {found} {what} for {} leaves; one for each leaf is needed at least: fewer leaves, or more ratings",
            self.leaves
        ))
    }
}

/// Makes files.
struct Maker<'a> {
    plan: &'a Plan,
    stamp: &'a str,
    tell: Tell<'a>,
}

impl Maker<'_> {
    fn learnt(&self, there: &mut Option<Header>) -> Result<Learnt, String> {
        let (plan, name) = (self.plan, self.plan.model_name());
        if there.is_some() {
            let learnt = plan
                .folder
                .open(&name, learnt::KIND)
                .and_then(|mut data| Learnt::read(&mut data, plan.rule, plan.slices()))
                .map_err(|error| error.to_string())?;
            plan.check(&learnt.split.seen)?;
            return Ok(learnt);
        }
        let ratings = self.ratings()?;
        let (fit, all) = (plan.rule.fit, ratings.all().len());
        let split = Split::of(&ratings, f64::from(plan.held_out_percent) / 100.0, fit.seed);
        plan.check(&split.seen)?;
        let learnt = Learnt::of(split, plan.rule, plan.slices(), |model, sweep| {
            let slice = plan
                .slices()
                .map_or_else(String::new, |slices| format!(", slice {} of {slices}", model + 1));
            (self.tell)(&format!("learning, sweep {sweep} of {}{slice}", fit.sweeps))
        })?;
        let about = format!(
            "{all} ratings of {} items by {} users, {} held out; {} factors for each, found in {} sweeps{}",
            ratings.items(),
            ratings.users(),
            learnt.split.held_out.len(),
            fit.rank,
            fit.sweeps,
            plan.slices().map_or_else(String::new, |slices| format!(" in each of {slices} slices"))
        );
        let content = learnt.fill(Content::new(learnt::KIND, self.origin(about)));
        *there = Some(self.write(&name, &content)?);
        Ok(learnt)
    }

    fn ratings(&self) -> Result<Ratings, String> {
        match &self.plan.source {
            Source::Generated(number) => {
                (self.tell)("making ratings")?;
                let generated = Generated { ratings: *number, ..Generated::default() };
                Ok(generated.make(self.plan.rule.fit.seed))
            }
            Source::File(path) => self.read(path),
        }
    }

    fn read(&self, path: &Path) -> Result<Ratings, String> {
        let of_file = |why: &dyn fmt::Display| format!("{}: {why}", path.display());
        let (file, bytes) = open_csv(path).map_err(|error| of_file(&error))?;
        let told = |read: u64| (self.tell)(&format!("reading ratings, byte {read} of {bytes}"));
        let named = read_csv(BufReader::new(file), told).map_err(|error| of_file(&error))?;
        Ok(named.ratings)
    }

    fn parts(&self, learnt: &Learnt) -> Result<Header, String> {
        let plan = self.plan;
        (self.tell)("dividing what was learnt")?;
        let about = format!(
            "{}, {} of {}",
            match plan.sharding {
                Sharding::Users => format!("users on {} leaves", plan.leaves),
                Sharding::Lines => format!("slices of lines on {} leaves", plan.leaves),
            },
            learnt.split.seen.users(),
            self.about()
        );
        let mut content = Content::new(parts::KIND, self.origin(about));
        match plan.sharding {
            Sharding::Users => {
                for model in &learnt.models {
                    content = fill_profiles(content, Of::MidTier, &model.profiles());
                    for leaf in 0..plan.leaves {
                        let shard = model.shard(leaf, plan.leaves);
                        content = fill_shard(content, Of::Leaf(leaf), &shard);
                    }
                }
            }
            Sharding::Lines => {
                let mean = learnt.split.seen.mean() as f32;
                content = content.with(MEAN, bytes_of_f32(&[mean]));
                for (leaf, model) in (0..).zip(&learnt.models) {
                    content = fill_profiles(content, Of::Leaf(leaf), &model.profiles());
                    content = fill_shard(content, Of::Leaf(leaf), &model.shard(0, 1));
                }
            }
        }
        self.write(&plan.parts_name(), &content)
    }

    fn answers(&self, learnt: &Learnt) -> Result<Header, String> {
        let (plan, Split { seen, held_out }) = (self.plan, &learnt.split);
        (self.tell)("drawing queries")?;
        let queries = queries::draw(seen, plan.queries, plan.rule.fit.seed)
            .map_err(|error| error.to_string())?;
        let oracles: Vec<Oracle<'_>> = learnt.models.iter().map(Oracle::of).collect();
        let expected = |query: Query| match (plan.sharding, &oracles[..]) {
            (Sharding::Users, [oracle]) => oracle.predict(query),
            (_, slices) => averaged(slices, seen, query),
        };
        let mut answers = Vec::with_capacity(queries.len());
        for query in &queries {
            self.told("finding the answers", answers.len(), queries.len())?;
            answers.push((*query, expected(*query)));
        }
        let answers = Answers::new(answers).ok_or("no query was asked for")?;
        let mut predicted = Vec::with_capacity(held_out.len());
        for rating in held_out {
            self.told("predicting what was held out", predicted.len(), held_out.len())?;
            predicted.push(f64::from(expected(Query { user: rating.user, item: rating.item })));
        }
        let about = format!(
            "{} queries of empty cells of {}; {}; answers by comparing every user",
            answers.count(),
            self.about(),
            quality(learnt, &predicted)
        );
        let content = answers.fill(Content::new(answers::KIND, self.origin(about)));
        self.write(&plan.answers_name(), &content)
    }

    fn told(&self, what: &str, done: usize, of: usize) -> Result<(), String> {
        (self.tell)(&format!("{what}, {done} of {of}"))
    }

    /// Which ratings, for people.
    fn about(&self) -> String {
        match &self.plan.source {
            Source::Generated(number) => format!("about {number} generated ratings"),
            Source::File(_) => "ratings of your own".into(),
        }
    }

    fn origin(&self, about: String) -> Origin {
        let (source, licence) = match &self.plan.source {
            Source::Generated(_) => {
                (format!("generated from seed {}", self.plan.rule.fit.seed), "none needed")
            }
            Source::File(path) => {
                (path.display().to_string(), "the file's own, which tailwater does not know")
            }
        };
        Origin { about, source, licence: licence.into(), stamp: self.stamp.to_owned() }
    }

    fn write(&self, name: &str, content: &Content) -> Result<Header, String> {
        (self.tell)("writing")?;
        self.plan.folder.write(name, content).map_err(|error| error.to_string())
    }
}

/// How far predictions are from what was held out, beside those that need no neighbours.
fn quality(learnt: &Learnt, predicted: &[f64]) -> String {
    let Split { seen, held_out } = &learnt.split;
    let (mean, biases, [low, high]) = (seen.mean(), Biases::fit(seen), seen.bounds());
    let of = |predict: &dyn Fn(Query) -> f64| Errors::of(held_out, predict);
    // In the order in which they were held out.
    let next = std::cell::Cell::new(0);
    let of_predicted = of(&|_| predicted[next.replace(next.get() + 1)]);
    let of_biases =
        of(&|query| biases.predict(query.user, query.item).clamp(low.into(), high.into()));
    match (of_predicted, of_biases, of(&|_| mean)) {
        (Some(ours), Some(biases), Some(mean)) => format!(
            "RMSE {:.4} on {} ratings held out (biases alone {:.4}, the mean {:.4})",
            ours.rmse, ours.count, biases.rmse, mean.rmse
        ),
        _ => "nothing was held out".into(),
    }
}
