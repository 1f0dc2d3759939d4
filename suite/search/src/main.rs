//! `tailwater-search`: a quick look at what the search server of the benchmark suite finds.

#![forbid(unsafe_code)]

use clap::Parser;
use std::io::{BufRead as _, IsTerminal as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tailwater_data::text::{Corpus, Source};
use tailwater_program::{concluded, explain, print};
use tailwater_search::{Hit, Index, Mode, Query};

/// Searches a text: best documents first, by BM25.
///
/// The index is that of the search server which the scenarios `search-*.toml` measure (docs/search.md),
/// built anew each time. Words are runs of letters and digits, in upper or lower case; word forms are
/// not brought together.
#[derive(Parser)]
#[command(name = "tailwater-search", version, after_help = EXAMPLES)]
struct Arguments {
    /// What to look for; without words, each line of standard input is a query.
    words: Vec<String>,

    /// The text: 'wordnet' (117,659 glosses; Debian's package wordnet-base), 'generated', a file whose
    /// paragraphs are the documents, or a folder whose files are.
    #[arg(long, value_name = "TEXT", default_value = "wordnet")]
    text: Source,

    /// Takes the first so many documents, or generates so many.
    #[arg(long, value_name = "NUMBER")]
    documents: Option<usize>,

    /// Parts of the index, 1 to 64, each half as large as the one before.
    #[arg(long, value_name = "NUMBER", default_value_t = 8,
          value_parser = clap::value_parser!(u8).range(1..=64))]
    segments: u8,

    /// Prints so many documents at most, 1 to 1000.
    #[arg(short = 'k', long, value_name = "NUMBER", default_value_t = 10)]
    hits: u16,

    /// Only documents with all of the words.
    #[arg(long)]
    all: bool,

    /// One JSON object a query.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  tailwater-search sailing boat
  tailwater-search --all -k 3 small grey bird
  tailwater-search --text docs/ queue delay
  tailwater-search --text generated --documents 1000 --json beba

Exit codes: 0 done (whether anything was found or not), 2 the text or the query is wrong.";

fn main() -> ExitCode {
    concluded("tailwater-search", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), String> {
    if !arguments.words.is_empty() {
        // A query that cannot be asked is better found before a second of indexing.
        query(arguments, &arguments.words.join(" "))?;
    }
    let corpus =
        Corpus::load(&arguments.text, arguments.documents).map_err(|why| why.to_string())?;
    let start = Instant::now();
    let mut index = Index::build(corpus.texts(), arguments.segments.into());
    explain(&format!(
        "{} documents, {} terms, indexed in {} ms",
        index.documents(),
        index.terms().len(),
        start.elapsed().as_millis()
    ));
    let mut search = |text: &str| {
        let query = query(arguments, text)?;
        let start = Instant::now();
        let hits = index.search_alone(&query);
        let took = start.elapsed();
        print(&if arguments.json {
            json(&query, &hits, &corpus, took)
        } else {
            table(&hits, &corpus, took)
        })
    };
    if !arguments.words.is_empty() {
        return search(&arguments.words.join(" "));
    }
    let typed = std::io::stdin().is_terminal();
    if typed {
        explain("One query a line; an empty line ends.");
    }
    for line in std::io::stdin().lock().lines() {
        match line.map_err(|error| format!("standard input: {error}"))? {
            line if line.trim().is_empty() && typed => break,
            line if line.trim().is_empty() => {}
            line => search(&line)?,
        }
    }
    Ok(())
}

fn query(arguments: &Arguments, text: &str) -> Result<Query, String> {
    let mode = if arguments.all { Mode::All } else { Mode::Any };
    Query::new(text, mode, arguments.hits).map_err(|why| why.to_string())
}

fn table(hits: &[Hit], corpus: &Corpus, took: Duration) -> String {
    let mut lines: String = hits
        .iter()
        .map(|hit| {
            let text = shortened(&corpus.documents[hit.document as usize]);
            format!("{:7.3}  {:>7}  {text}\n", hit.score, hit.document)
        })
        .collect();
    lines.push_str(&format!("{} found in {} µs", hits.len(), took.as_micros()));
    lines
}

/// The start of a text on one line.
fn shortened(text: &str) -> String {
    const CHARACTERS: usize = 120;
    let one_line: String =
        text.chars().take(CHARACTERS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if one_line.len() < text.len() { one_line + "…" } else { one_line }
}

fn json(query: &Query, hits: &[Hit], corpus: &Corpus, took: Duration) -> String {
    let hits: Vec<_> = hits
        .iter()
        .map(|hit| {
            let text = &corpus.documents[hit.document as usize];
            serde_json::json!({ "document": hit.document, "score": hit.score, "text": text })
        })
        .collect();
    let took_us = took.as_nanos() as f64 / 1e3;
    serde_json::json!({ "terms": query.terms(), "took_us": took_us, "hits": hits }).to_string()
}
