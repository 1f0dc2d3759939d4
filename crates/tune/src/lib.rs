//! Models and decisions about how a service should run, as pure computation.
//!
//! [`accelerator`] says what an accelerator would bring before anybody buys or builds it. [`knobs`] lists what can be
//! set on a machine and how; [`journal`] holds what it was before. [`ab`] compares two settings of knobs, and
//! [`factorial`] chooses the settings that tell which of many knobs matter. This crate reads no clock, opens no file and
//! changes no setting: programs hand it values and carry out what it says.

#![forbid(unsafe_code)]

pub mod accelerator;
pub mod knobs;
pub mod journal;
pub mod ab;
pub mod factorial;
