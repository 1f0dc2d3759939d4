//! A program that is tried, and where what is made of it goes.

use crate::Result;
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct Trial {
    /// The program, built by `tailwater profile build`.
    #[arg(long)]
    pub(crate) program: PathBuf,
    /// The program's name and version, for the page.
    #[arg(long)]
    pub(crate) title: String,
    /// Where traces and data go; what lies there is replaced.
    #[arg(long)]
    pub(crate) folder: PathBuf,
    /// The result's file, of which pages draw their tables and blocks.
    #[arg(long)]
    pub(crate) out: PathBuf,
}

impl Trial {
    pub(crate) fn make_folder(&self) -> Result {
        std::fs::create_dir_all(&self.folder)
            .map_err(|error| format!("{}: {error}", self.folder.display()))
    }
}
