//! `tls`: what TLS costs an echo of 64 bytes, in tailwater and in tonic, measured in one interleaved run.
//!
//! Without a subcommand it is the experiment ([`compare`]) and the generator ([`load`]); it starts itself
//! again as the servers ([`serve`]).

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod certificates;
mod compare;
mod grpc;
mod host;
mod load;
mod peer;
mod run;
mod serve;
mod server;
mod table;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Server CPU per request and round trips of a 64-byte echo, with TLS and without: tailwater, tonic.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Args {
    #[command(subcommand)]
    part: Option<Part>,
    #[command(flatten)]
    compare: compare::CompareArgs,
}

#[derive(Subcommand)]
enum Part {
    /// Serve until standard input ends; what the experiment starts.
    #[command(hide = true)]
    Serve(serve::ServeArgs),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.part {
        None => compare::main(&args.compare),
        Some(Part::Serve(serve)) => serve::main(serve),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tls: {error}");
            ExitCode::FAILURE
        }
    }
}
