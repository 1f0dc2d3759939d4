//! Locks and ready sets, as their users see them.

mod asked;
mod foreign;
mod ready;
mod tasks;
mod threads;
mod watched;
