//! `tailwater-recommend`: how good the recommender's predictions are, on ratings that it has not seen.

#![forbid(unsafe_code)]

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tailwater_program::{concluded, explain, print};
use tailwater_recommend::average::Averaged;
use tailwater_recommend::evaluate::Errors;
use tailwater_recommend::factors::Fit;
use tailwater_recommend::model::{Among, Model, Query, Rule};
use tailwater_recommend::ratings::{Generated, Named, Rating, Ratings, Split, open_csv, read_csv};
use tailwater_recommend::similarity::Similarity;

/// Holds out some ratings, learns from the rest, and prints how far each predictor is from what was held out.
///
/// The recommender is that of the benchmark suite (docs/recommend.md): factors by non-negative factorisation of
/// the known cells, and the users nearest in their space. Beside it stand four others: the mean; the biases of users
/// and items; the factors alone; the thesis' average of the predictions of leaves that know slices.
#[derive(Parser)]
#[command(name = "tailwater-recommend", version, after_help = EXAMPLES, max_term_width = 100)]
struct Arguments {
    /// Ratings, a line each: user,item,rating; commas, tabs, semicolons or '::' between them
    #[arg(long, value_name = "FILE", conflicts_with = "generated")]
    from: Option<PathBuf>,

    /// Generate about so many ratings instead, 1,000 to 100,000,000
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000,
          value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    generated: u64,

    /// Numbers for each user and item, 1 to 128; the published code takes 5
    #[arg(long, value_name = "NUMBER", default_value_t = Fit::default().rank)]
    rank: usize,

    /// How often all factors are improved
    #[arg(long, value_name = "NUMBER", default_value_t = Fit::default().sweeps)]
    sweeps: usize,

    /// How strongly factors are drawn to those that predict the mean: as by so many ratings, above 0
    #[arg(long, value_name = "NUMBER", default_value_t = Fit::default().regularisation)]
    regularisation: f32,

    /// Most neighbours of a prediction, 1 to 1,000; the published code takes 5
    #[arg(long, value_name = "NUMBER", default_value_t = Rule::default().neighbours as u64,
          value_parser = clap::value_parser!(u64).range(1..=1_000))]
    neighbours: u64,

    /// What makes users alike
    #[arg(long, value_name = "WORD", default_value = "pearson", value_parser = Similarity::ALL.map(|(word, _)| word))]
    similarity: String,

    /// Leaves of the thesis' way to shard, 1 to 256
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=256))]
    slices: u64,

    /// Share of the ratings that is held out, above 0 and below 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = share)]
    held_out: f64,

    /// Decides what is generated, what is held out, and where factors begin
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Write the ratings that are learnt from, and those held out, as seen.csv and held-out.csv to this folder, for
    /// other programs
    #[arg(long, value_name = "FOLDER")]
    split_to: Option<PathBuf>,

    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  tailwater-recommend
  tailwater-recommend --from ratings.csv --rank 32
  tailwater-recommend --from ratings.csv --split-to out/split --json

Exit codes: 0 done, 2 the ratings or the settings are wrong.";

fn main() -> ExitCode {
    concluded("tailwater-recommend", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let rule = rule(arguments);
    let ratings = match &arguments.from {
        Some(path) => read(path)?,
        None => generate(arguments),
    };
    explain(&format!(
        "{} ratings of {} items by {} users, mean {:.2}; {}",
        ratings.ratings.all().len(),
        ratings.ratings.items(),
        ratings.ratings.users(),
        ratings.ratings.mean(),
        arguments.from.as_ref().map_or("generated".into(), |path| path.display().to_string()),
    ));
    let split = Split::of(&ratings.ratings, arguments.held_out, arguments.seed);
    if let Some(folder) = &arguments.split_to {
        write_split(folder, &ratings, &split)?;
    }
    let rows = judge(arguments, &split, rule)?;
    print(&if arguments.json {
        json(arguments, &ratings.ratings, &split, &rows)
    } else {
        table(&rows)
    })
}

fn rule(arguments: &Arguments) -> Rule {
    let (rank, sweeps, seed) = (arguments.rank, arguments.sweeps, arguments.seed);
    let fit = Fit { rank, sweeps, regularisation: arguments.regularisation, seed };
    let known = Similarity::ALL.iter().find(|(word, _)| *word == arguments.similarity);
    let similarity = known.expect("the parser knows the words").1;
    let neighbours = usize::try_from(arguments.neighbours).expect("a thousand at most");
    Rule { fit, similarity, among: Among::Raters, neighbours }
}

/// A predictor's name and its errors.
type Row = (&'static str, Errors);

fn judge(arguments: &Arguments, split: &Split, rule: Rule) -> Result<Vec<Row>, String> {
    let bar = bar(rule.fit.sweeps as u64, "sweep {pos} of {len}");
    let seen = Arc::new(split.seen.clone());
    let learnt = Model::learn(seen, rule, |done| {
        bar.set_position(done as u64);
        Ok(())
    });
    bar.finish_and_clear();
    let learnt = learnt.map_err(|error| error.to_string())?;
    let everyone = learnt.with(rule.similarity, Among::Everyone, rule.neighbours).whole();
    let raters = learnt.whole();
    let slices = usize::try_from(arguments.slices).expect("256 at most");
    let averaged = Averaged::learn(&split.seen, slices, Rule { among: Among::Everyone, ..rule })
        .map_err(|error| error.to_string())?;
    let (mean, [low, high]) = (split.seen.mean(), split.seen.bounds());
    let clamped = |value: f64| value.clamp(low.into(), high.into());
    let known = |value: Option<f32>| f64::from(value.expect("each user has seen ratings"));
    let (biases, factors) = (learnt.biases(), learnt.factors());
    let predictors: [(&str, &dyn Fn(Query) -> f64); 6] = [
        ("mean", &|_| mean),
        ("biases", &|it| clamped(biases.predict(it.user, it.item))),
        ("factors", &|it| clamped(factors.product(it.user, it.item))),
        ("neighbours among raters", &|it| known(raters.predict(it))),
        ("neighbours among everyone", &|it| known(everyone.predict(it))),
        ("average of slices (thesis)", &|it| averaged.predict(it).into()),
    ];
    let none = "nothing was held out; a larger --held-out is needed";
    let errors = |(name, predict): (&'static str, &dyn Fn(Query) -> f64)| {
        Ok((name, Errors::of(&split.held_out, predict).ok_or(none)?))
    };
    predictors.into_iter().map(errors).collect()
}

fn table(rows: &[Row]) -> String {
    let line = |(name, errors): &Row| format!("{name:28}{:8.4}{:8.4}\n", errors.rmse, errors.mae);
    let held_out = rows.first().map_or(0, |(_, errors)| errors.count);
    let heading = format!("{:28}{:>8}{:>8}\n", "predictor", "RMSE", "MAE");
    let lines: String = rows.iter().map(line).collect();
    format!("{heading}{lines}{held_out} ratings were held out")
}

fn json(arguments: &Arguments, all: &Ratings, split: &Split, rows: &[Row]) -> String {
    let row = |(name, errors): &Row| serde_json::json!({ "predictor": name, "rmse": errors.rmse, "mae": errors.mae });
    let rows: Vec<_> = rows.iter().map(row).collect();
    serde_json::json!({
        "from": arguments.from,
        "seed": arguments.seed,
        "users": all.users(),
        "items": all.items(),
        "ratings": all.all().len(),
        "held_out": split.held_out.len(),
        "rank": arguments.rank,
        "sweeps": arguments.sweeps,
        "regularisation": arguments.regularisation,
        "neighbours": arguments.neighbours,
        "similarity": arguments.similarity,
        "slices": arguments.slices,
        "predictors": rows,
    })
    .to_string()
}

fn read(path: &Path) -> Result<Named, String> {
    let of_file = |error: &dyn std::fmt::Display| format!("--from {}: {error}", path.display());
    let (file, bytes) = open_csv(path).map_err(|error| of_file(&error))?;
    let bar = bar(bytes, "read {bytes} of {total_bytes}");
    let named = read_csv(BufReader::new(file), |read| {
        bar.set_position(read);
        Ok(())
    });
    bar.finish_and_clear();
    named.map_err(|error| of_file(&error))
}

fn generate(arguments: &Arguments) -> Named {
    let number = usize::try_from(arguments.generated).expect("in range");
    let ratings = Generated { ratings: number, ..Generated::default() }.make(arguments.seed);
    let names = |count: usize| (0..count).map(|number| number.to_string()).collect();
    Named { users: names(ratings.users()), items: names(ratings.items()), ratings }
}

/// Both files whole, or an error that names the one that is not.
fn write_split(folder: &Path, named: &Named, split: &Split) -> Result<(), String> {
    let failed =
        |path: &Path, error: std::io::Error| format!("--split-to: {}: {error}", path.display());
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (name, ratings) in [("seen.csv", split.seen.all()), ("held-out.csv", &split.held_out)] {
        let path = folder.join(name);
        write_csv(&path, named, ratings).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

fn write_csv(path: &Path, named: &Named, ratings: &[Rating]) -> std::io::Result<()> {
    let unfinished = path.with_extension("csv.part");
    let mut writer = csv::Writer::from_writer(BufWriter::new(File::create(&unfinished)?));
    writer.write_record(["user", "item", "rating"])?;
    for rating in ratings {
        let (user, item) = (rating.user as usize, rating.item as usize);
        writer.write_record([&named.users[user], &named.items[item], &rating.value.to_string()])?;
    }
    writer.into_inner().map_err(csv::IntoInnerError::into_error)?.flush()?;
    std::fs::rename(unfinished, path)
}

/// Drawn on a terminal only.
fn bar(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("a template of this program");
    ProgressBar::new(length).with_style(style)
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "a number above 0 and below 1 is needed".into())
}
