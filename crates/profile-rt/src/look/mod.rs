//! The threads that look. `scan` thinks, without a clock or shared memory; `scanner` looks.

pub(crate) mod scan;
pub(crate) mod items;
pub(crate) mod part;
pub(crate) mod scanner;
pub(crate) mod calibrate;
