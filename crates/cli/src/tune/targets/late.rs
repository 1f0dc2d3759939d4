//! A block whose generator was late.

use std::fmt;

/// How late it was, and what is known of the cause.
#[derive(Clone, Debug, Default)]
pub(in crate::tune) struct Late {
    /// In words.
    how: String,
    /// What its run named as the cause, or that of a late block before it.
    pub(in crate::tune) complaint: Option<String>,
    /// The complaint is of a block before it.
    is_earlier: bool,
}

impl Late {
    /// Of a block that complained of this, line by line. A warning is told before anything is measured, and is no cause.
    pub(in crate::tune) fn of(how: String, complaints: &[String]) -> Self {
        let complaint = complaints.iter().rfind(|line| !line.starts_with("warning: ")).cloned();
        Self { how, complaint, is_earlier: false }
    }

    /// The same, of a block that was made again since the last one was late: that may have named the cause.
    pub(in crate::tune) fn after(self, last: Self) -> Self {
        match self.complaint {
            Some(_) => self,
            None => Self { how: self.how, is_earlier: true, complaint: last.complaint },
        }
    }
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.how)?;
        match &self.complaint {
            Some(said) if self.is_earlier => {
                write!(f, "; of the cause the run of a late block before it says: {said}")
            }
            Some(said) => write!(f, "; of the cause its run says: {said}"),
            None => Ok(()),
        }
    }
}
