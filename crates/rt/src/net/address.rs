//! Where servers listen.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Where a server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// `127.0.0.1:7000` or `[::1]:7000`; port 0 takes a free one.
    Tcp(SocketAddr),
    /// `localhost:7000` or `search.internal:7000`. A server resolves it when it starts, a client with each
    /// attempt to connect.
    Name(String, u16),
    /// `unix:/path/to/socket`. While a server listens there, `/path/to/socket.lock` lies beside it.
    Unix(PathBuf),
}

/// A text that is no address. Its author acts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressError {
    found: String,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let examples = "127.0.0.1:7000, localhost:7000 or unix:/run/my.sock";
        write!(f, "'{}' found, an address such as {examples} is needed", self.found)
    }
}

impl std::error::Error for AddressError {}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(path.into()));
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Tcp(address));
        }
        named(text).ok_or_else(|| AddressError { found: text.to_owned() })
    }
}

/// A host name and a port. What looks like a mistyped number is none, so that nothing is asked of the
/// network for it.
fn named(text: &str) -> Option<Address> {
    let (host, port) = text.rsplit_once(':')?;
    let port = port.parse().ok()?;
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(letter);
    let labels = host.strip_suffix('.').unwrap_or(host).split('.');
    let last = labels.clone().next_back()?;
    let fits = host.len() <= 253
        && labels.clone().all(label)
        && last.bytes().any(|byte| byte.is_ascii_alphabetic());
    fits.then(|| Address::Name(host.to_owned(), port))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Name(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn addresses_names_and_paths_are_told_apart_and_come_out_as_they_went_in() {
        let parse = |text: &str| text.parse::<Address>();
        assert_eq!(parse("[::1]:7000"), Ok(Address::Tcp("[::1]:7000".parse().unwrap())));
        assert_eq!(parse("localhost:0"), Ok(Address::Name("localhost".into(), 0)));
        assert_eq!(parse("unix:/run/a:b"), Ok(Address::Unix("/run/a:b".into())));
        for text in ["127.0.0.1:7000", "[::1]:1", "a-b_c.example.org.:65535", "unix:x"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_named() {
        let long = format!("{}:1", "a.".repeat(127));
        for text in [
            "",
            ":1",
            "localhost",
            "localhost:",
            "localhost:70000",
            "127.0.0.1",
            "127.0.0.1.5:1",
            "256.0.0.1:1",
            "::1:7000",
            "a..b:1",
            "a b:1",
            "a/b:1",
            ".:1",
            &long,
        ] {
            let message = text.parse::<Address>().unwrap_err().to_string();
            assert!(message.contains(&format!("'{text}' found")), "{message}");
        }
    }
}
