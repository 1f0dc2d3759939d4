//! Load on real sockets: open and closed loops, several replicas.

mod closed;
mod pace;
mod replicas;
