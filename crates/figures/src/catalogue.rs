//! Every figure there is, and the choice among them.

use crate::check;
use crate::data::Figure;
use crate::embedded::{FIGURES, File};
use crate::error::{DataError, Fault};
use std::fmt;
use tailwater_core::words::suggestion;

/// Every figure, paper by paper.
///
/// # Errors
/// The first file that is no figure, or names what does not exist.
pub fn catalogue() -> Result<Vec<Figure>, DataError> {
    let figures: Vec<Figure> = FIGURES.iter().map(read).collect::<Result<_, _>>()?;
    check::all(&figures)?;
    Ok(figures)
}

fn read(file: &File) -> Result<Figure, DataError> {
    let unreadable = |error: toml::de::Error| DataError {
        file: file.path.into(),
        part: String::new(),
        fault: Fault::NotAFigure(error.to_string()),
    };
    toml::from_str(file.text).map_err(unreadable)
}

/// A paper or figure that there is none of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unknown {
    /// What was asked for, and how the list of what is known begins.
    found: String,
    known: Vec<String>,
}

impl Unknown {
    fn paper(name: &str, known: Vec<String>) -> Self {
        let names: Vec<&str> = known.iter().map(String::as_str).collect();
        Self { found: format!("paper '{name}' is unknown; {}", suggestion(name, &names)), known }
    }

    /// Numbers are not misspelt: none is the nearest.
    fn figure(number: u32, known: Vec<String>) -> Self {
        Self { found: format!("figure {number} is unknown; known are"), known }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.found, self.known.join(", "))
    }
}

impl std::error::Error for Unknown {}

/// Those of one paper, or one of them; all without a paper.
///
/// # Errors
/// The paper or the number is unknown.
pub fn choose(
    figures: Vec<Figure>,
    paper: Option<&str>,
    number: Option<u32>,
) -> Result<Vec<Figure>, Unknown> {
    let mut papers: Vec<String> = figures.iter().map(|figure| figure.paper.clone()).collect();
    papers.dedup();
    let mut chosen = figures;
    if let Some(paper) = paper {
        chosen.retain(|figure| figure.paper == paper);
        if chosen.is_empty() {
            return Err(Unknown::paper(paper, papers));
        }
    }
    let Some(number) = number else {
        return Ok(chosen);
    };
    let known: Vec<String> = chosen.iter().map(|figure| figure.number.to_string()).collect();
    chosen.retain(|figure| figure.number == number);
    if chosen.is_empty() {
        return Err(Unknown::figure(number, known));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_figure_whose_names_exist() {
        let figures = catalogue().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(figures.len(), FIGURES.len());
        for (figure, file) in figures.iter().zip(FIGURES) {
            assert_eq!(format!("{}-{}", figure.paper, figure.number), file.name);
        }
    }

    #[test]
    fn an_unknown_quantity_is_named_with_its_line() {
        let text = "paper = \"p\"\nnumber = 1\ntitle = \"t\"\nscenarios = []\n\
                    [[panel]]\nname = \"n\"\ntitle = \"t\"\ndrawn = { over_time = \"hope\" }\n";
        let file = File { name: "p-1", path: "p-1.toml", text };
        let said = read(&file).expect_err("there is no hope").to_string();
        assert!(said.starts_with("p-1.toml: ") && said.contains("line 8"), "{said}");
        assert!(said.contains("hope") && said.contains("reject_delay"), "{said}");
    }

    #[test]
    fn a_choice_that_is_unknown_is_answered_with_what_is_known() {
        let all = || catalogue().expect("the files are right");
        let one = choose(all(), Some("breakwater"), Some(3)).expect("it is there");
        assert_eq!(one.iter().map(ToString::to_string).collect::<Vec<_>>(), ["breakwater 3"]);
        let said = choose(all(), Some("orca"), None).expect_err("there is none").to_string();
        assert_eq!(said, "paper 'orca' is unknown; known are breakwater, protego");
        let near = choose(all(), Some("protgo"), None).expect_err("there is none").to_string();
        assert!(near.contains("did you mean protego?"), "{near}");
        let said = choose(all(), Some("protego"), Some(1)).expect_err("there is none").to_string();
        assert!(said.starts_with("figure 1 is unknown; known are 3, 5, "), "{said}");
    }
}
