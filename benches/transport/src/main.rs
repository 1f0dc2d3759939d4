//! `transport`: what an echo of 64 bytes costs a server. Tailwater, a bare epoll loop, tonic and tarpc are measured
//! in one interleaved run.
//!
//! Without a subcommand it is the experiment ([`compare`]); it starts itself again as the servers
//! ([`raw`], [`peers`]) and as the generator ([`drive`]), which may be used by hand as well.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod compare;
mod drive;
mod fan;
mod host;
mod patience;
mod payload;
mod peers;
mod poller;
mod protocol;
mod raw;
mod ready;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Server CPU per request of a 64-byte echo: tailwater, a raw epoll loop, tonic, tarpc.
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
    /// Serve tailwater's frames from a bare epoll loop.
    Raw(raw::RawArgs),
    /// Serve gRPC with tonic.
    Tonic(peers::PeerArgs),
    /// Serve tarpc.
    Tarpc(peers::PeerArgs),
    /// Serve tailwater's frames from a bare epoll loop that asks four leaves for each request.
    FanRaw(fan::FanArgs),
    /// The same with tailwater.
    FanTailwater(fan::FanArgs),
    /// The same in gRPC with tonic.
    FanTonic(fan::FanArgs),
    /// Load a server and print what it cost as JSON.
    Drive(drive::DriveArgs),
    /// Run a program that ends when we do.
    #[command(hide = true)]
    Leash(compare::LeashArgs),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.part {
        None => compare::main(&args.compare),
        Some(Part::Raw(raw)) => raw::serve(raw),
        Some(Part::Tonic(peer)) => peers::tonic::serve(peer),
        Some(Part::Tarpc(peer)) => peers::tarpc::serve(peer),
        Some(Part::FanRaw(fan)) => fan::raw::serve(fan),
        Some(Part::FanTailwater(fan)) => fan::tailwater::serve(fan),
        Some(Part::FanTonic(fan)) => fan::tonic::serve(fan),
        Some(Part::Drive(drive)) => drive::main(drive),
        Some(Part::Leash(leash)) => compare::leash(leash),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("transport: {error}");
            ExitCode::FAILURE
        }
    }
}
