//! Models, comparisons and the files that they come from.

mod check;

mod ab;
mod corpus;
mod equations;
mod files;
mod properties;
mod screening;
mod thesis;
mod validation;
