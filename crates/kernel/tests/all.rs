//! What the kernel tells: of this very process, and by what perf wrote.

mod here;
mod namespace;
mod perf;
