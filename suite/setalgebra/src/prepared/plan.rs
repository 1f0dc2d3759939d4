//! What is to be prepared, under which names it lies, and how it is made.

use super::Questions;
use crate::collection::{Builder, Collection, DOCUMENTS_MAX};
use crate::index::Shard;
use crate::oracle;
use crate::queries::Draw;
use std::fmt::Write as _;
use tailwater_data::text::generate::Text;
use tailwater_data::text::{self, Source, wordnet_name};
use tailwater_data::{Content, Folder, Header, Origin};
use tailwater_load::application::{Tell, Whose};
use tailwater_stats::result::DataUsed;

/// The generated text: longer documents than the default's, towards those of an encyclopedia.
pub const TEXT: Text = Text { length_median: 64.0, ..Text::GLOSSES };

/// More documents than this in all answers together are not kept: 256 MiB.
const ANSWERS_MAX: usize = 64 << 20;

/// Raised when what is made of the same settings changes; older files are made anew.
const INDEX: &str = "setalgebra index 1";
const QUESTIONS: &str = "setalgebra queries 2";

/// Every so many documents a caller hears how far it is.
const TOLD_EVERY: usize = 8_192;

/// What is prepared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum File {
    Index,
    Questions,
}

impl File {
    const fn kind(self) -> &'static str {
        match self {
            Self::Index => INDEX,
            Self::Questions => QUESTIONS,
        }
    }
}

/// Data that decide what leaves and generator have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The folder of prepared data.
    pub folder: Folder,
    /// Which text.
    pub source: Source,
    /// The first so many documents of it; `None`: all, or as many as [`TEXT`] says.
    pub documents: Option<usize>,
    /// Length of the stop list.
    pub stop: usize,
    /// How many leaves share the documents.
    pub leaves: u32,
    /// The queries.
    pub draw: Draw,
}

impl Plan {
    /// Makes what is not there of what these processes need, or was made of another state of the source. Says what a
    /// result must tell of it.
    ///
    /// # Errors
    /// A sentence for people; what `tell` returns.
    pub fn prepare(&self, whose: Whose<'_>, tell: Tell<'_>) -> Result<Vec<DataUsed>, String> {
        let needed: &[File] = match whose {
            Whose::All => &[File::Index, File::Questions],
            Whose::Tier(_) => &[File::Index],
            // The mid-tier asks its leaves for everything.
            Whose::Front => &[],
        };
        if needed.is_empty() {
            return Ok(Vec::new());
        }
        tell("looking at the data")?;
        let stamp = self.source.stamp().map_err(|why| why.to_string())?;
        let ready = |file: &File| self.folder.ready(&self.name_of(*file), file.kind(), &stamp);
        let mut there: Vec<Option<Header>> = needed.iter().map(ready).collect();
        if there.iter().any(Option::is_none) {
            let collection = self.collection(tell)?;
            let made = Made { plan: self, collection: &collection, stamp: &stamp, tell };
            for (file, there) in needed.iter().zip(&mut there) {
                *there = Some(there.take().map_or_else(|| made.file(*file), Ok)?);
            }
        }
        let used = |(file, there): (&File, Option<Header>)| Some(there?.used(self.name_of(*file)));
        Ok(needed.iter().zip(there).filter_map(used).collect())
    }

    /// Opens the index of a leaf.
    ///
    /// # Errors
    /// A sentence for people when it was not prepared, or is damaged.
    pub fn open_shard(&self, leaf: u32) -> Result<Shard, String> {
        let open = || {
            let mut data = self.folder.open(&self.index_name(), INDEX)?;
            let words = data.section(&words_of(leaf))?;
            let lists = data.section(&lists_of(leaf))?;
            let shard = Shard::of_bytes((leaf, self.leaves), words, &lists);
            shard.ok_or_else(|| data.damaged(format!("the index of leaf {leaf} is none")))
        };
        open().map_err(|why| why.to_string())
    }

    /// Opens the queries and their answers.
    ///
    /// # Errors
    /// As above.
    pub fn open_questions(&self) -> Result<Questions, String> {
        let mut data =
            self.folder.open(&self.questions_name(), QUESTIONS).map_err(|why| why.to_string())?;
        Questions::read(&mut data).map_err(|why| why.to_string())
    }

    /// The documents as numbers.
    ///
    /// # Errors
    /// When the text cannot be read, or has no documents or too many.
    pub fn collection(&self, tell: Tell<'_>) -> Result<Collection, String> {
        self.collection_with(tell, &mut |_| {})
    }

    /// The same; `keep` is given each text as it is read. Of generated documents there is none but their words.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn collection_with(
        &self,
        tell: Tell<'_>,
        keep: &mut dyn FnMut(&str),
    ) -> Result<Collection, String> {
        let collection = match &self.source {
            Source::Generated(seed) => {
                let text = Text { documents: self.documents.unwrap_or(TEXT.documents), ..TEXT };
                let made = |number: usize| {
                    tell(&format!("making documents, {number} of {}", text.documents))
                };
                Collection::generated(&text, *seed, &made)?
            }
            source => {
                let mut builder = Builder::default();
                let mut take = |text: &str| {
                    if builder.documents() % TOLD_EVERY == 0 {
                        tell(&format!("reading documents, {}", builder.documents()))?;
                    }
                    builder.push(text);
                    keep(text);
                    Ok(())
                };
                text::each(source, self.documents, &mut take).map_err(|why| why.to_string())?;
                builder.build()
            }
        };
        let (documents, leaves) = (collection.documents(), self.leaves);
        if documents > DOCUMENTS_MAX {
            return Err(format!("found {documents} documents; at most {DOCUMENTS_MAX} are needed"));
        }
        if documents < leaves as usize {
            return Err(format!(
                "found {documents} documents for {leaves} leaves; one for each leaf is needed at least: fewer leaves, or \
                 more documents (of a file each paragraph is one; --set text=lines:FILE makes each line one)"
            ));
        }
        Ok(collection)
    }

    fn name_of(&self, file: File) -> String {
        match file {
            File::Index => self.index_name(),
            File::Questions => self.questions_name(),
        }
    }

    fn index_name(&self) -> String {
        format!("{}-{}leaves", self.base_name(), self.leaves)
    }

    fn questions_name(&self) -> String {
        let Draw { queries, words, independent_percent, odd_percent, seed } = self.draw;
        let base = self.base_name();
        format!(
            "{base}-{queries}queries-{words}words-{independent_percent}independent-{odd_percent}odd-{seed}"
        )
    }

    /// What both depend on.
    fn base_name(&self) -> String {
        let mut name = format!("setalgebra/{}", self.source.name());
        if let Some(documents) = self.documents {
            let _ = write!(name, "-first{documents}");
        }
        let _ = write!(name, "-stop{}", self.stop);
        name
    }
}

fn words_of(leaf: u32) -> String {
    format!("words of leaf {leaf}")
}

fn lists_of(leaf: u32) -> String {
    format!("lists of leaf {leaf}")
}

/// Makes files of a collection.
struct Made<'a> {
    plan: &'a Plan,
    collection: &'a Collection,
    stamp: &'a str,
    tell: Tell<'a>,
}

impl Made<'_> {
    fn file(&self, file: File) -> Result<Header, String> {
        let name = self.plan.name_of(file);
        match file {
            File::Index => self.index(&name),
            File::Questions => self.questions(&name),
        }
    }

    fn index(&self, name: &str) -> Result<Header, String> {
        let Self { plan, collection, tell, .. } = self;
        let stop = collection.stop_list(plan.stop);
        let (mut sections, mut postings, mut bytes) = (Vec::new(), 0, 0);
        for leaf in 0..plan.leaves {
            tell(&format!("indexing for leaf {} of {}", leaf + 1, plan.leaves))?;
            let shard = Shard::build(collection, &stop, (leaf, plan.leaves));
            let shard = shard.map_err(|why| why.to_string())?;
            postings += shard.lists().postings();
            bytes += shard.lists().bytes();
            let (words, lists) = shard.to_bytes();
            sections.extend([(words_of(leaf), words), (lists_of(leaf), lists)]);
        }
        let about = format!(
            "{}, indexed for {} leaves without the {} commonest words: {postings} postings in {:.2} bytes each",
            self.about(),
            plan.leaves,
            stop.len(),
            bytes as f64 / postings.max(1) as f64
        );
        let content = Content::new(INDEX, self.origin(about));
        let add = |content: Content, (name, bytes)| content.with(name, bytes);
        self.write(name, &sections.into_iter().fold(content, add))
    }

    fn questions(&self, name: &str) -> Result<Header, String> {
        let Self { plan, collection, tell, .. } = self;
        tell("drawing queries")?;
        let queries = plan.draw.queries(collection, &collection.stop_list(plan.stop))?;
        let stop = oracle::stop_list(collection, plan.stop);
        let looked = |number: usize| {
            tell(&format!("finding the answers, document {number} of {}", collection.documents()))
        };
        let answers = oracle::answers(collection, &stop, &queries, ANSWERS_MAX, &looked)?;
        let mut questions = Questions::default();
        for (query, answer) in queries.iter().zip(&answers) {
            questions.push(query.iter().map(|&word| collection.word(word)), answer);
        }
        let about = format!(
            "{} queries of 1 to {} words of {}, {} without an answer, {:.1} documents in an answer on average; answers \
             found without an index",
            questions.count(),
            plan.draw.words,
            self.about(),
            questions.empty(),
            questions.documents() as f64 / questions.count().max(1) as f64
        );
        let content = Content::new(QUESTIONS, self.origin(about));
        self.write(name, &questions.fill(content))
    }

    fn about(&self) -> String {
        let documents = self.collection.documents();
        match &self.plan.source {
            Source::WordNet(folder) => format!("{documents} glosses of {}", wordnet_name(folder)),
            Source::Files(_) | Source::Lines(_) => format!("{documents} documents of your own"),
            Source::Generated(_) => {
                format!("{documents} generated documents (Zipf-Mandelbrot, topics)")
            }
        }
    }

    fn origin(&self, about: String) -> Origin {
        let source = &self.plan.source;
        let licence = source.licence();
        Origin { about, source: source.to_string(), licence, stamp: self.stamp.to_owned() }
    }

    fn write(&self, name: &str, content: &Content) -> Result<Header, String> {
        (self.tell)("writing")?;
        self.plan.folder.write(name, content).map_err(|why| why.to_string())
    }
}
