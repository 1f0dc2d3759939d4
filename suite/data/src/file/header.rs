//! What a file says of itself.

use serde::{Deserialize, Serialize};
use tailwater_stats::result::DataUsed;

/// Where data come from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// For people: which set, how many, and what was done to it.
    pub about: String,
    /// Where it was taken from: files, a package, or the generator with its seed.
    pub source: String,
    /// Under which terms the source may be used.
    pub licence: String,
    /// What the source was when it was read, such as sizes and times of its files. Data whose source has another stamp
    /// by now are made anew.
    pub stamp: String,
}

/// A part of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Section {
    /// What it is called.
    pub name: String,
    /// Its first byte, counted from the end of the header.
    pub start: u64,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// What stands at the beginning of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// What kind of data: which program reads them, and in which form.
    pub kind: String,
    /// Where they come from.
    pub origin: Origin,
    /// Its parts, one behind the other.
    pub sections: Vec<Section>,
    /// Of all sections together, in hexadecimal digits.
    pub sha256: String,
}

impl Header {
    /// Bytes of all sections.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sections.iter().map(|section| section.bytes).sum()
    }

    /// As results name it, under the name that its file has in the folder.
    #[must_use]
    pub fn used(&self, name: String) -> DataUsed {
        let Origin { about, source, licence, .. } = self.origin.clone();
        DataUsed { name, about, source, licence, sha256: self.sha256.clone(), bytes: self.bytes() }
    }
}
