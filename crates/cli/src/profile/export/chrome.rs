//! Events of the Chrome trace format.
//!
//! "Trace Event Format", Google, 2016: times are in microseconds.

use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Write};

/// One event of the format.
#[derive(Serialize)]
pub(super) struct Event<'a> {
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) cat: &'a str,
    pub(super) ph: &'a str,
    pub(super) ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) dur: Option<f64>,
    pub(super) pid: u32,
    pub(super) tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<usize>,
    /// Of a point in time: that it is its thread's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) s: Option<&'a str>,
    pub(super) args: Value,
}

/// Writes events one after another.
pub(super) struct Events<'a, W: Write> {
    to: &'a mut W,
    pid: u32,
    is_first: bool,
}

/// Exact to a nanosecond for 52 days.
pub(super) fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

impl<'t, W: Write> Events<'t, W> {
    /// Of the process of this number.
    pub(super) const fn new(to: &'t mut W, pid: u32) -> Self {
        Self { to, pid, is_first: true }
    }

    /// An event of that kind at that time, of which nothing else is told.
    pub(super) fn at<'a>(&self, ph: &'a str, tid: u32, at_ns: u64) -> Event<'a> {
        let (pid, ts) = (self.pid, us(at_ns));
        Event { name: "", cat: "", ph, ts, dur: None, pid, tid, id: None, s: None, args: json!({}) }
    }

    pub(super) fn put(&mut self, event: Event<'_>) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            self.to.write_all(b",\n")?;
        }
        serde_json::to_writer(&mut *self.to, &event)?;
        Ok(())
    }
}
