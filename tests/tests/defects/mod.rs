//! Each defect that a hostile reading of the runtime and of the protocol found, as a test that names
//! the behaviour.

mod support;

mod abandoned;
mod busy_loop;
mod cancel;
mod codel;
mod config;
mod credit;
mod dead_loop;
mod deadline;
mod drain;
mod echo;
mod first_call;
mod flood;
mod handles;
mod lies;
mod readers;
mod registration;
mod rogue;
mod silent;
mod trickle;
mod turned_away;
mod unix_path;
