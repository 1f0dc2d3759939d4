//! Some records of a section, without the others.

use super::{Data, DataError, sums_of};
use std::os::unix::fs::FileExt as _;

/// Records with less than a page between them are read together: each page of what is read has a part of one of them.
const PAGE: u64 = 4_096;

/// Most bytes that are read at once, unless one record is longer: few calls of the system, in what a cache of the second
/// level holds.
const READ_MAX: u64 = 1 << 18;

impl Data {
    /// How many records of so many bytes a section has.
    ///
    /// # Errors
    /// When there is none of this name, or it is no whole number of records.
    pub fn records(&self, name: &str, record_bytes: usize) -> Result<usize, DataError> {
        let bytes = self.named(name)?.bytes;
        match bytes.checked_rem(record_bytes as u64) {
            Some(0) => Ok((bytes / record_bytes as u64) as usize),
            _ => Err(self.damaged(format!(
                "its {name} have {bytes} bytes, which are no whole number of {record_bytes}"
            ))),
        }
    }

    /// Reads the records of these numbers, one after another, and of the others no more than shares a page with them.
    /// Each is compared with its sum. One flipped bit is always found; of larger damage, one in four thousand million
    /// passes.
    ///
    /// # Errors
    /// As [`Self::records`]; a number that is not there; a record that cannot be read, or has not its sum.
    pub fn read_records(
        &mut self,
        name: &str,
        record_bytes: usize,
        numbers: impl IntoIterator<Item = u32>,
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), DataError> {
        self.records(name, record_bytes)?;
        let sums = self.numbers(&sums_of(name))?;
        let start = self.start + self.named(name)?.start;
        let bytes_of = |records: u32| u64::from(records) * record_bytes as u64;
        let mut numbers = numbers.into_iter().peekable();
        let (mut near, mut bytes) = (Vec::<u32>::new(), Vec::<u8>::new());
        while let Some(first) = numbers.next() {
            near.clear();
            near.push(first);
            let mut last = first;
            let is_near = |last: u32, next: u32| {
                next > last
                    && bytes_of(next - last - 1) < PAGE
                    && bytes_of(next - first) + record_bytes as u64 <= READ_MAX
            };
            while let Some(next) = numbers.next_if(|&next| is_near(last, next)) {
                near.push(next);
                last = next;
            }
            if let Some(number) = near.iter().find(|&&number| number as usize >= sums.len()) {
                return Err(self.damaged(format!("its {name} have no record {number}")));
            }
            bytes.resize(bytes_of(last - first) as usize + record_bytes, 0);
            let trouble = |error| DataError::Io(self.path.clone(), error);
            self.file.read_exact_at(&mut bytes, start + bytes_of(first)).map_err(trouble)?;
            for &number in &near {
                let record = &bytes[bytes_of(number - first) as usize..][..record_bytes];
                if crc32fast::hash(record) != sums[number as usize] {
                    let found = format!("record {number} of its {name} has not its sum");
                    return Err(self.damaged(found));
                }
                each(record);
            }
        }
        Ok(())
    }
}
