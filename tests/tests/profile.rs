//! Programs that are recorded, and what the trace and the reports say of them. One records at a time.

mod profiled;

mod profile_attach;
mod profile_children;
mod profile_clocked;
mod profile_ends;
mod profile_fibers;
mod profile_kernel;
mod profile_lines;
mod profile_measure;
mod profile_places;
mod profile_record;
mod profile_report;
mod profile_timeline;
