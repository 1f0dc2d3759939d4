//! Search against plain reading, and over sockets.

mod oracle;
mod piped;
mod server;
mod wordnet;
