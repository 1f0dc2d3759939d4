//! Models and decisions about how a service should run, as pure computation.
//!
//! [`accelerator`] says what an accelerator would bring before anybody buys or builds it. This crate reads no clock,
//! opens no file and changes no setting: programs hand it values and carry out what it says.

#![forbid(unsafe_code)]

pub mod accelerator;
