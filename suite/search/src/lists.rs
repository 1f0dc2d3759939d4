//! Lists of bytes, one behind the other.

use tailwater_data::numbers::bytes_of_u32;
use tailwater_data::{Content, Data, DataError};

/// Numbered from zero.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
}

impl Lists {
    /// Adds the list that this appends.
    pub(crate) fn push(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        append(&mut self.bytes);
        // A gibibyte of text, the most that is loaded, gives no more than 2.5 GiB of one of its lists.
        self.ends.push(u32::try_from(self.bytes.len()).expect("less than 4 GiB"));
    }

    /// How many there are.
    pub(crate) const fn count(&self) -> usize {
        self.ends.len()
    }

    /// The list of this number, which must be there.
    pub(crate) fn get(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |former| self.ends[former] as usize);
        &self.bytes[start..self.ends[number] as usize]
    }

    /// As two sections of a file.
    pub(crate) fn fill(self, name: &str, content: Content) -> Content {
        content.with(ends_of(name), bytes_of_u32(&self.ends)).with(name, self.bytes)
    }

    /// From a file.
    pub(crate) fn read(name: &str, data: &mut Data) -> Result<Self, DataError> {
        let lists = Self { ends: data.numbers(&ends_of(name))?, bytes: data.section(name)? };
        let covered = lists.ends.last().map_or(0, |&end| end as usize);
        if lists.ends.is_sorted() && covered == lists.bytes.len() {
            return Ok(lists);
        }
        Err(data.damaged(format!("its {name} do not end where it says")))
    }
}

fn ends_of(name: &str) -> String {
    format!("ends of {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_is_what_was_pushed() {
        let mut lists = Lists::default();
        for list in [&[1, 2][..], &[], &[3]] {
            lists.push(|bytes| bytes.extend_from_slice(list));
        }
        assert_eq!(lists.count(), 3);
        assert_eq!([lists.get(0), lists.get(1), lists.get(2)], [&[1, 2][..], &[], &[3]]);
    }
}
