//! `tailwater man`: pages of the manual, from the verbs and flags, and from the keys of scenario files.

use crate::args::{Arguments, ManualOptions};
use crate::failure::{Failure, say};
use crate::keys;
use crate::quoted::quoted;
use clap::{Command, CommandFactory as _};
use std::fs;
use std::path::Path;

pub(crate) fn manual(options: &ManualOptions) -> Result<(), Failure> {
    let mut command = Arguments::command();
    command.build();
    if let Some(folder) = &options.all {
        return write_all(folder, &command);
    }
    // As `man` calls its page.
    let of_page = |said: &str| said.strip_prefix("tailwater-").unwrap_or(said).to_owned();
    let said = options.verb.as_deref().filter(|said| *said != "tailwater").map(of_page);
    let asked = match said.as_deref() {
        None => &command,
        Some("scenario") => return say(keys::manual().trim_end()),
        Some(verb) => command.find_subcommand(verb).ok_or_else(|| {
            let told = command.get_subcommands().filter(is_told);
            let known: Vec<_> = told.map(Command::get_name).collect();
            let known = known.join(", ");
            Failure::usage(format!("'{verb}' found, a verb or scenario is needed: one of {known}"))
        })?,
    };
    let verb = said.iter().map(|verb| format!("-{verb}"));
    let name = std::iter::once("tailwater".to_owned()).chain(verb).collect::<String>();
    say(String::from_utf8_lossy(&rendered(name, asked)?).trim_end())
}

fn write_all(folder: &Path, command: &Command) -> Result<(), Failure> {
    let mut pages = vec![("man5/tailwater-scenario.5".to_owned(), keys::manual().into_bytes())];
    below("tailwater".to_owned(), command, &mut pages)?;
    let trouble = |error: std::io::Error| {
        Failure::usage(format!("{}: {error}; give another folder by --all", folder.display()))
    };
    for section in ["man1", "man5"] {
        fs::create_dir_all(folder.join(section)).map_err(trouble)?;
    }
    for (name, page) in &pages {
        fs::write(folder.join(name), page).map_err(trouble)?;
    }
    let root = folder.canonicalize().map_err(trouble)?;
    say(&format!(
        "{} pages are written. To read them, type:\n\n  export MANPATH={}\n  man 5 tailwater-scenario",
        pages.len(),
        quoted(&format!("{}:", root.display()))
    ))
}

/// Whether people are told of a verb. `help` has no page.
fn is_told(verb: &&Command) -> bool {
    !verb.is_hide_set() && verb.get_name() != "help"
}

/// A verb's page, and those of the verbs below it.
fn below(
    name: String,
    command: &Command,
    pages: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), Failure> {
    for verb in command.get_subcommands().filter(is_told) {
        below(format!("{name}-{}", verb.get_name()), verb, pages)?;
    }
    pages.push((format!("man1/{name}.1"), rendered(name, command)?));
    Ok(())
}

/// In roff.
fn rendered(name: String, command: &Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let page_of = clap_mangen::Man::new(command.clone()).title(name);
    page_of.render(&mut page).map_err(|error| Failure::work(format!("manual page: {error}")))?;
    Ok(page)
}
