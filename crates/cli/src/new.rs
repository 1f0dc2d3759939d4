//! `tailwater new`: a scenario file to begin with.

use crate::args::NewOptions;
use crate::failure::{Failure, say};
use crate::keys::TEMPLATE;
use crate::quoted::quoted;
use std::fs;
use std::io::{ErrorKind, Write as _};

pub(crate) fn new(options: &NewOptions) -> Result<(), Failure> {
    let mut file = options.name.clone();
    if file.extension().is_none_or(|ending| ending != "toml") {
        let mut name = file.into_os_string();
        name.push(".toml");
        file = name.into();
    }
    let shown = file.display();
    let trouble = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::usage(format!(
            "{shown} is there already and stays as it is; give another name"
        )),
        ErrorKind::NotFound => Failure::usage(format!(
            "{shown}: its folder is not there; make that first, or give another name"
        )),
        _ => Failure::usage(format!(
            "{shown}: {error}; give a name in a folder that can be written to"
        )),
    };
    let mut written = fs::File::create_new(&file).map_err(trouble)?;
    written.write_all(TEMPLATE.as_bytes()).map_err(|error| {
        // A part of it would be in the way of the next try.
        let _ = fs::remove_file(&file);
        Failure::work(format!("{shown}: {error}"))
    })?;
    let typed = quoted(&shown.to_string());
    say(&format!(
        "Written: {shown}\nNext: change it; tailwater check {typed}; tailwater run {typed} --on sim"
    ))
}
