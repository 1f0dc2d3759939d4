//! Some records of a section, without the others.

use super::{Data, DataError, sums_of};
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};

/// Bytes that are read at once where records are shorter: a page, which the system reads in any case.
const PAGE: usize = 4_096;

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
        let mut at = self.start + self.named(name)?.start;
        let start = at;
        let trouble = |error| DataError::Io(self.path.clone(), error);
        let mut reader = BufReader::with_capacity(PAGE, &self.file);
        reader.seek(SeekFrom::Start(at)).map_err(trouble)?;
        let mut record = vec![0; record_bytes];
        for number in numbers {
            let sum = sums.get(number as usize);
            let sum =
                sum.ok_or_else(|| self.damaged(format!("its {name} have no record {number}")))?;
            let next = start + u64::from(number) * record_bytes as u64;
            // Keeps what is in the buffer, unlike an absolute seek.
            reader.seek_relative(next.cast_signed() - at.cast_signed()).map_err(trouble)?;
            reader.read_exact(&mut record).map_err(trouble)?;
            at = next + record_bytes as u64;
            if crc32fast::hash(&record) != *sum {
                let found = format!("record {number} of its {name} has not its sum");
                return Err(self.damaged(found));
            }
            each(&record);
        }
        Ok(())
    }
}
