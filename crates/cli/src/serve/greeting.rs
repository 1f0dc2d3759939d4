//! What a server says once it listens: a line of JSON for programs, and at a terminal a sentence for people.

use crate::args::ServeOptions;
use crate::quoted::quoted;
use std::io::{self, IsTerminal as _, Write as _};
use tailwater_control::catalog;

/// The line goes to standard output, the sentence to standard error.
pub(super) fn greet(options: &ServeOptions, addresses: &[String]) -> io::Result<()> {
    let greeting = serde_json::json!({
        "listening": addresses[0], "nodes": addresses, "pid": std::process::id()
    });
    // Not by `say`, which ends the program at once and would leave a socket's file behind.
    writeln!(io::stdout(), "{greeting}")?;
    // A program that reads the line may have a terminal for its complaints.
    if io::stdout().is_terminal() && io::stderr().is_terminal() {
        let _ = writeln!(io::stderr(), "{}", sentence(options, addresses));
    }
    Ok(())
}

/// Where it listens, and what to type next.
fn sentence(options: &ServeOptions, addresses: &[String]) -> String {
    if let Some(tier) = &options.tier {
        let nodes = addresses.join(",");
        return format!(
            "Nodes of {tier} listen until Ctrl-C; give them to the server that calls them, by --downstream {tier}={nodes}"
        );
    }
    let mut load = format!("tailwater load --connect {} --rate 1000", quoted(&addresses[0]));
    let spec = options.controller.spec();
    if spec.name != catalog::DEFAULT {
        load += &format!(" --controller {}", spec.name);
    }
    // What came by standard input cannot be read again.
    if let Some(file) = options.scenario.as_ref().filter(|file| file.as_os_str() != "-") {
        load += &format!(" --scenario {}", quoted(&file.display().to_string()));
    }
    format!("Listening on {} until Ctrl-C; to load it, type elsewhere: {load}", addresses[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Verb};
    use clap::Parser as _;

    fn said(flags: &[&str], addresses: &[&str]) -> String {
        let words = ["tailwater", "serve"].iter().chain(flags);
        match Arguments::parse_from(words).verb {
            Verb::Serve(options) => {
                let addresses: Vec<String> = addresses.iter().map(|&it| it.to_owned()).collect();
                sentence(&options, &addresses)
            }
            _ => unreachable!("it was serve"),
        }
    }

    #[test]
    fn what_is_to_be_typed_fits_what_is_served() {
        let load = "type elsewhere: tailwater load --connect 127.0.0.1:7000 --rate 1000";
        let plain = said(&[], &["127.0.0.1:7000"]);
        assert!(plain.starts_with("Listening on 127.0.0.1:7000 until Ctrl-C;"), "{plain}");
        assert!(plain.ends_with(load), "{plain}");
        let flags = ["--controller", "none", "--scenario", "a.toml"];
        let described = said(&flags, &["127.0.0.1:7000"]);
        assert!(
            described.ends_with(&format!("{load} --controller none --scenario a.toml")),
            "{described}"
        );
        let flags = ["--scenario", "-", "--tier", "leaf"];
        let tier = said(&flags, &["127.0.0.1:1", "127.0.0.1:2"]);
        assert!(tier.ends_with("--downstream leaf=127.0.0.1:1,127.0.0.1:2"), "{tier}");
    }
}
