//! Why results are not put together.

use std::fmt;

/// Why results are not the parts of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MergeError {
    /// There are none.
    Nothing,
    /// One is no shard, nor a load, by its number among the arguments, from 0.
    NoShard(usize),
    /// One was made from another scenario, with other flags or by another tailwater than the first.
    Foreign(usize),
    /// One does not hold the runs that its mark promises.
    Damaged(usize),
    /// A shard is there twice.
    Twice(u32),
    /// Shards are missing, out of so many.
    Missing(Vec<u32>, u32),
    /// A shard ended before all its runs took place, and why.
    CutShort(u32, String),
    /// One of several loads is none, by its number among the arguments.
    NoLoad(usize),
    /// This of one load is not as in the first.
    OtherLoad(usize, String),
    /// One has this seed, which one before it has.
    SameSeed(usize, u64),
    /// One has more of this than can be added up.
    TooMany(usize, &'static str),
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("there is no result to merge"),
            Self::NoShard(_) => {
                f.write_str(
                    "this is no shard, nor one load with answers; what run --shard I/N or load --rate --json told is needed, nothing \
                     merged",
                )
            }
            Self::Foreign(_) => f.write_str(
                "this shard was made from another scenario, with other flags or by another program file than the first \
                 one; run it again as the others were, with one copied file",
            ),
            Self::Damaged(_) => f.write_str(
                "this shard does not hold the runs that it should; run it again, and do not edit it",
            ),
            Self::Twice(index) => write!(f, "shard {index} is given twice; each is needed once"),
            Self::Missing(indices, of) => {
                let words: Vec<String> = indices.iter().map(u32::to_string).collect();
                let noun = if indices.len() == 1 { "shard" } else { "shards" };
                write!(f, "{noun} {} of 0 to {} missing; run them", words.join(", "), of - 1)
            }
            Self::CutShort(index, why) => {
                write!(f, "shard {index} was cut short ({why}); run it again")
            }
            Self::NoLoad(_) => f.write_str(
                "this is not one load with answers, as the first one is; what load --rate --json told is needed, nothing merged",
            ),
            Self::OtherLoad(_, what) => {
                write!(f, "this load has another {what} than the first one; load as the others did")
            }
            Self::SameSeed(_, seed) => write!(
                f,
                "this load has the seed {seed}, as one before it: both asked the same at the same times; give each a --seed \
                 of its own"
            ),
            Self::TooMany(_, what) => write!(
                f,
                "this load has more {what} than any has, and they cannot be added up; load again, and do not edit what is told"
            ),
        }
    }
}

impl std::error::Error for MergeError {}
