//! Locks and ready sets, as their users see them.

mod foreign;
mod ready;
mod tasks;
mod threads;
mod watched;
