//! What is to be prepared, under which names it lies, and how it is made.

use super::{Answers, Chosen, Made, answers, index, truth, vectors};
use crate::leaf::Leaf;
use crate::midtier::MidTier;
use crate::nearest::Found;
use crate::oracle::LookUp;
use crate::placement::{Order, Placement};
use crate::quality::Quality;
use crate::questions::{self, Questions};
use crate::vectors::{Kind, Set, Source, Wanted, shape};
use std::fmt::Write as _;
use tailwater_data::text;
use tailwater_data::{Content, DataError, Folder, Header, Origin};
use tailwater_load::application::{Tell, Whose};
use tailwater_stats::result::DataUsed;

const OTHER_POINTS: &str = "it has an index of other points";

/// Data that decide what mid-tier, leaves and generator have.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The folder of prepared data.
    pub folder: Folder,
    /// Points and queries.
    pub wanted: Wanted,
    /// The index.
    pub index: Chosen,
    /// How many neighbours are wanted.
    pub neighbours: u16,
    /// How many leaves share the points.
    pub leaves: u32,
    /// The least [`Questions::recall`] of answers that a run may use, 0 to 1.
    pub recall_min: f64,
}

impl Plan {
    /// Makes what is not there of what these processes need, or was made of another state of the source. Says what a
    /// result must tell of it.
    ///
    /// # Errors
    /// A sentence for people when something is missing or damaged, or when the answers are not good enough; what `tell`
    /// returns.
    pub fn prepare(&self, whose: Whose<'_>, tell: Tell<'_>) -> Result<Vec<DataUsed>, String> {
        tell("looking at the data")?;
        let stamp = self.stamp()?;
        let names =
            [self.vectors_name(), self.index_name(), self.truth_name(), self.answers_name()];
        let kinds = [vectors::KIND, index::KIND, truth::KIND, answers::KIND];
        // Each is made of those before it.
        let needed = match whose {
            Whose::Tier(_) => 1 + usize::from(self.index.has_order()),
            Whose::Front => 2,
            Whose::All => 4,
        };
        let ready = |at: usize| self.folder.ready(&names[at], kinds[at], &stamp);
        let mut there: Vec<Option<Header>> = (0..needed).map(ready).collect();
        if there.iter().any(Option::is_none) {
            let maker = Maker { plan: self, stamp: &stamp, tell };
            let set = maker.set(&mut there[0])?;
            maker.rest(&set, &mut there[1..])?;
        }
        // What was prepared for fewer leaves may be too few for these.
        let size = self
            .folder
            .open(&names[0], vectors::KIND)
            .and_then(|mut data| vectors::size(&mut data));
        let (points, _) = size.map_err(|error| error.to_string())?;
        self.check(points as usize)?;
        if whose == Whose::All {
            let mut data =
                self.folder.open(&names[3], answers::KIND).map_err(|why| why.to_string())?;
            self.is_good_enough(answers::recall(&mut data).map_err(|why| why.to_string())?)?;
        }
        Ok(names
            .into_iter()
            .zip(there.into_iter().flatten())
            .map(|(name, header)| header.used(name))
            .collect())
    }

    /// Opens the vectors of a leaf.
    ///
    /// # Errors
    /// A sentence for people when they were not prepared, or are damaged.
    pub fn open_leaf(&self, leaf: u32) -> Result<Leaf, String> {
        let open = || {
            let mut data = self.folder.open(&self.vectors_name(), vectors::KIND)?;
            let order = self.order(vectors::size(&mut data)?.0)?;
            vectors::leaf(&mut data, &order, (self.leaves, leaf as usize))
        };
        open().map_err(|error: DataError| error.to_string())
    }

    /// In which order so many points lie on leaves.
    fn order(&self, points: u32) -> Result<Order, DataError> {
        if !self.index.has_order() {
            return Ok(Order::as_given(points));
        }
        let mut data = self.folder.open(&self.index_name(), index::KIND)?;
        let order = index::order(&mut data)?;
        match order.points().len() == points as usize {
            true => Ok(order),
            false => Err(data.damaged(OTHER_POINTS.into())),
        }
    }

    /// Opens the index; no vector of a point is read.
    ///
    /// # Errors
    /// As above.
    pub fn open_midtier(&self) -> Result<MidTier, String> {
        let open = || {
            let mut data = self.folder.open(&self.vectors_name(), vectors::KIND)?;
            let (points, dimensions) = vectors::size(&mut data)?;
            let mut data = self.folder.open(&self.index_name(), index::KIND)?;
            let made = self.index.read(&mut data, dimensions)?;
            match made.points() == points as usize {
                true => Ok((made, points, dimensions)),
                false => Err(data.damaged(OTHER_POINTS.into())),
            }
        };
        let (made, points, dimensions) = open().map_err(|error: DataError| error.to_string())?;
        self.midtier(&made, points, dimensions)
    }

    /// Opens what an inquiry needs: the set, and what its index must find by definition.
    ///
    /// # Errors
    /// As above.
    pub fn open_look_up(&self) -> Result<(Set, Box<dyn LookUp>), String> {
        let open = || {
            let mut data = self.folder.open(&self.vectors_name(), vectors::KIND)?;
            let set = vectors::read(&mut data)?;
            let mut data = self.folder.open(&self.index_name(), index::KIND)?;
            let made = self.index.read(&mut data, set.points.rows().dimensions())?;
            Ok((set, made))
        };
        let (set, made) = open().map_err(|error: DataError| error.to_string())?;
        let look_up = self.index.look_up(&made, set.points.rows())?;
        Ok((set, look_up))
    }

    /// Opens the queries and their answers.
    ///
    /// # Errors
    /// As above, and when the answers are not good enough.
    pub fn open_answers(&self) -> Result<Answers, String> {
        let open = || Answers::read(&mut self.folder.open(&self.answers_name(), answers::KIND)?);
        let answers = open().map_err(|error: DataError| error.to_string())?;
        self.is_good_enough(answers.recall())?;
        Ok(answers)
    }

    /// An index may be as its definition says and find next to nothing: no comparison of answers would tell.
    fn is_good_enough(&self, recall: f64) -> Result<(), String> {
        if recall >= self.recall_min {
            return Ok(());
        }
        let mend = match self.index {
            Chosen::Lsh(_) => "more probes or tables, fewer bits",
            Chosen::Ivf(_) => "more probes, fewer lists",
        };
        Err(format!(
            "found a recall of {recall:.3} with {}; recall_min = {} is needed: {mend}, or a smaller recall_min",
            self.index.about(),
            self.recall_min
        ))
    }

    /// Each leaf must have something to answer from.
    fn check(&self, points: usize) -> Result<(), String> {
        let leaves = self.leaves;
        match points >= leaves as usize {
            true => Ok(()),
            false => Err(format!(
                "found {points} points for {leaves} leaves; one for each leaf is needed at least: fewer leaves, or more \
                 points"
            )),
        }
    }

    fn midtier(&self, made: &Made, points: u32, dimensions: usize) -> Result<MidTier, String> {
        let placement = Placement::new(points, self.leaves);
        Ok(MidTier::new(self.index.place(made, placement)?, placement, dimensions))
    }

    fn stamp(&self) -> Result<String, String> {
        match &self.wanted.source {
            Source::Generated(_) => Ok(format!("seed {}", self.wanted.seed)),
            Source::WordNet(folder) => stamp(&text::Source::WordNet(folder.clone())),
            Source::Text(path) => stamp(&text::Source::Files(path.clone())),
        }
    }

    fn vectors_name(&self) -> String {
        let Wanted { source, points, dimensions, queries, seed } = &self.wanted;
        let mut name = match source {
            Source::Generated(Kind::Words) => format!("hdsearch/words-{seed}"),
            Source::Generated(Kind::Images) => format!("hdsearch/images-{seed}"),
            Source::WordNet(folder) => {
                let name = text::Source::WordNet(folder.clone()).name();
                format!("hdsearch/{name}-words-{seed}")
            }
            Source::Text(path) => format!("hdsearch/{}", text::Source::Files(path.clone()).name()),
        };
        for (value, word) in
            [(points, "points"), (dimensions, "dimensions"), (&Some(*queries), "queries")]
        {
            if let Some(value) = value {
                let _ = write!(name, "-{value}{word}");
            }
        }
        name
    }

    fn index_name(&self) -> String {
        format!("{}-{}-seed{}", self.vectors_name(), self.index.name(), self.wanted.seed)
    }

    fn truth_name(&self) -> String {
        format!("{}-truth", self.vectors_name())
    }

    fn answers_name(&self) -> String {
        format!("{}-{}probes-{}neighbours", self.index_name(), self.index.probes(), self.neighbours)
    }
}

fn stamp(source: &text::Source) -> Result<String, String> {
    source.stamp().map_err(|error| error.to_string())
}

/// Makes files.
struct Maker<'a> {
    plan: &'a Plan,
    stamp: &'a str,
    tell: Tell<'a>,
}

impl Maker<'_> {
    /// Reads the set, or makes it.
    fn set(&self, there: &mut Option<Header>) -> Result<Set, String> {
        let Plan { folder, wanted, .. } = self.plan;
        let name = self.plan.vectors_name();
        if there.is_some() {
            (self.tell)("reading vectors")?;
            let set =
                folder.open(&name, vectors::KIND).and_then(|mut data| vectors::read(&mut data));
            return set.map_err(|error| error.to_string());
        }
        let set = wanted.make(&|what, done, all| match all {
            0 => (self.tell)(&format!("{what}, {done}")),
            _ => (self.tell)(&format!("{what}, {done} of {all}")),
        })?;
        // Before the long work.
        self.plan.check(set.points.rows().count())?;
        let queries = set.queries.rows().count();
        let about = format!("{}, {queries} queries beside them", wanted.about(&set));
        let content = vectors::fill(&set, Content::new(vectors::KIND, self.origin(about)));
        *there = Some(self.write(&name, &content)?);
        Ok(set)
    }

    /// The index, and truth and answers where they are needed.
    fn rest(&self, set: &Set, there: &mut [Option<Header>]) -> Result<(), String> {
        let [index, of_load @ ..] = there else { return Ok(()) };
        let made = self.index(set, index)?;
        let [truth, answers] = of_load else { return Ok(()) };
        let known = self.truth(set, truth)?;
        if answers.is_none() {
            *answers = Some(self.answers(set, &known, &made)?);
        }
        Ok(())
    }

    fn index(&self, set: &Set, there: &mut Option<Header>) -> Result<Made, String> {
        let Plan { folder, index, wanted, .. } = self.plan;
        let (name, points) = (self.plan.index_name(), set.points.rows());
        if there.is_some() {
            let made = folder
                .open(&name, index::KIND)
                .and_then(|mut data| index.read(&mut data, points.dimensions()));
            return made.map_err(|error| error.to_string());
        }
        (self.tell)("making the index")?;
        let made = index.make(points, wanted.seed)?;
        let about = format!("index of {}: {}", wanted.about(set), index.about());
        *there =
            Some(self.write(&name, &made.fill(Content::new(index::KIND, self.origin(about))))?);
        Ok(made)
    }

    /// Reads the true neighbours, or finds them.
    fn truth(&self, set: &Set, there: &mut Option<Header>) -> Result<Vec<Vec<Found>>, String> {
        let (name, points) = (self.plan.truth_name(), set.points.rows());
        let queries = set.queries.rows().count();
        if there.is_some() {
            let open = self.plan.folder.open(&name, truth::KIND);
            let read = open.and_then(|mut data| truth::read(&mut data, (queries, points.count())));
            return read.map_err(|error| error.to_string());
        }
        let found = questions::truth(set, truth::NEIGHBOURS, |done| {
            (self.tell)(&format!("finding the true neighbours, query {done} of {queries}"))
        })?;
        let measured =
            shape(points, set.queries.rows(), &found).map_or_else(String::new, |shape| {
                format!(
                    ": intrinsic dimension {:.1}, relative contrast {:.2}",
                    shape.dimension, shape.contrast
                )
            });
        let about = format!(
            "true neighbours of {queries} queries among {}{measured}",
            self.plan.wanted.about(set)
        );
        let content = truth::fill(&found, Content::new(truth::KIND, self.origin(about)));
        *there = Some(self.write(&name, &content)?);
        Ok(found)
    }

    fn answers(&self, set: &Set, truth: &[Vec<Found>], made: &Made) -> Result<Header, String> {
        let (plan, points) = (self.plan, set.points.rows());
        (self.tell)("looking up by definition")?;
        let look_up = plan.index.look_up(made, points)?;
        let queries = set.queries.rows().count();
        let questions = Questions::prepare(set, &*look_up, plan.neighbours, |done| {
            (self.tell)(&format!("finding the answers, query {done} of {queries}"))
        })?;
        let Quality { recall_1, recall_10, cosine, candidates } =
            Quality::mean(&questions.qualities(truth));
        let about = format!(
            "{queries} queries for {} neighbours, {}: recall@1 {recall_1:.3}, recall@10 {recall_10:.3}, cosine \
             {cosine:.3}, {candidates:.0} candidates a query ({:.2} % of the points); answers by plain code",
            plan.neighbours,
            plan.index.about(),
            100.0 * candidates / points.count() as f64
        );
        let content = Content::new(answers::KIND, self.origin(about));
        self.write(&plan.answers_name(), &Answers::of(&questions, truth).fill(content))
    }

    fn origin(&self, about: String) -> Origin {
        let wanted = &self.plan.wanted;
        let licence = match &wanted.source {
            Source::Generated(_) => "none needed".into(),
            Source::WordNet(folder) => text::Source::WordNet(folder.clone()).licence(),
            Source::Text(_) => "the text's own, which tailwater does not know".into(),
        };
        Origin { about, source: wanted.from(), licence, stamp: self.stamp.to_owned() }
    }

    fn write(&self, name: &str, content: &Content) -> Result<Header, String> {
        (self.tell)("writing")?;
        self.plan.folder.write(name, content).map_err(|error| error.to_string())
    }
}
