//! The reference as the manual page tailwater-scenario(5).

use super::{INTRODUCTION, SEE, TEMPLATE, WHOLE, example, title, variants};
use roff::{Roff, bold, roman};
use tailwater_workload::scenario::keys::tables;

pub(crate) fn manual() -> String {
    let mut page = Roff::new();
    let version = concat!("tailwater ", env!("CARGO_PKG_VERSION"));
    page.control("TH", ["tailwater-scenario", "5", "", version]);
    page.control("SH", ["NAME"]);
    page.text([roman("tailwater-scenario - experiments of tailwater, as files")]);
    page.control("SH", ["DESCRIPTION"]);
    page.text([roman(INTRODUCTION)]);
    for table in tables() {
        page.control("SH", [title(table)]);
        page.text([roman(table.meaning)]);
        for (name, meaning) in variants(table) {
            page.control("TP", []);
            page.text([bold(name)]);
            page.text([roman(meaning)]);
        }
        page.control("SS", ["Keys"]);
        for key in table.keys {
            page.control("TP", []);
            page.text([bold(key.name)]);
            page.text([roman(format!("{}; {}. {}", key.kind, table.absence(key), key.meaning))]);
            page.control("br", []);
            page.text([roman(example(key))]);
        }
    }
    page.control("SH", ["EXAMPLE"]);
    page.text([roman(WHOLE)]);
    page.control("nf", []);
    for line in TEMPLATE.lines() {
        page.text([roman(line)]);
    }
    page.control("fi", []);
    page.control("SH", ["SEE ALSO"]);
    page.text([roman(SEE)]);
    page.render()
}
