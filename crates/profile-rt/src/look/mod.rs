//! The thread that looks. `scan` thinks, without a clock or shared memory; `scanner` looks.

pub(crate) mod scan;
pub(crate) mod items;
pub(crate) mod scanner;
pub(crate) mod calibrate;
