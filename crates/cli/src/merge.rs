//! `tailwater merge`: one result out of the shards that several machines simulated, or of their loads on one server.

use crate::args::MergeOptions;
use crate::failure::Failure;
use crate::folder::{Folder, RESULT};
use crate::run::Conclusion;
use crate::run::output::{deliver, for_people, read};
use crate::terminal;
use std::path::Path;
use tailwater_experiment::MergeError;
use tailwater_report::table;
use tailwater_stats::result::Experiment;

pub(crate) fn merge(options: &MergeOptions) -> Result<(), Failure> {
    refuse_own_folders(options)?;
    let shards: Vec<_> =
        options.shards.iter().map(|shard| read(shard)).collect::<Result<_, _>>()?;
    let whole = tailwater_experiment::merge(shards).map_err(|error| refused(options, &error))?;
    let out = options.out.as_deref().map(Folder::prepare_for_result).transpose()?;
    out.as_ref().map_or(Ok(()), |folder| folder.refuse_less(&whole))?;
    let text = serde_json::to_string_pretty(&whole).map_err(Failure::work)?;
    let out = out.as_ref().map(|folder| (folder, options.pictures.look()));
    // As one program that ran everything would end.
    let conclusion = Conclusion {
        counts: whole.runs.iter().any(|run| run.verdict.valid),
        wrong_answers: whole.runs.iter().map(|run| run.answers.wrong).sum(),
    };
    // Of loads there is nothing to compare, and no summary.
    let is_load = whole.runs.iter().any(|run| !run.latency_counts_ns.is_empty());
    let tell: &dyn Fn(&Experiment) -> String = match is_load {
        true => &|whole| table(whole, terminal::style()).trim_end().to_owned(),
        false => &for_people,
    };
    deliver((&whole, &text), tell, options.json, out)?;
    conclusion.verdict(whole.short)
}

/// The whole would take the place of one of its parts, and the others could not be merged again.
fn refuse_own_folders(options: &MergeOptions) -> Result<(), Failure> {
    let Some(out) = &options.out else { return Ok(()) };
    match options.shards.iter().find(|shard| lies_in(shard, out)) {
        None => Ok(()),
        Some(shard) => Err(Failure::usage(format!(
            "--out is {}, where the result {} lies, which is to be merged; give another folder",
            out.display(),
            shard.display()
        ))),
    }
}

/// Whether a result, which its folder may stand for, is the one that lies in this folder.
fn lies_in(result: &Path, folder: &Path) -> bool {
    let file = if result.is_dir() { result.join(RESULT) } else { result.to_owned() };
    let known = [file, folder.join(RESULT)].map(|path| path.canonicalize().ok());
    known[0].is_some() && known[0] == known[1]
}

/// Names the file where one is to blame.
fn refused(options: &MergeOptions, error: &MergeError) -> Failure {
    match error {
        MergeError::NoShard(at)
        | MergeError::Foreign(at)
        | MergeError::Damaged(at)
        | MergeError::NoLoad(at)
        | MergeError::OtherLoad(at, _)
        | MergeError::SameSeed(at, _)
        | MergeError::TooMany(at, _) => {
            Failure::usage(format!("{}: {error}", options.shards[*at].display()))
        }
        _ => Failure::usage(error),
    }
}
