//! `tailwater tune` on a folder that stands for /sys, /proc and /run. No knob of this machine is turned.

#[path = "../common/mod.rs"]
mod common;

mod machine;
mod catalogue;
mod comparing;
mod restoring;
mod searching;
mod deferring;
mod programs;
mod driving;
