//! A tracepoint's `format` file: which field lies where. Offsets differ between kernels, so none is written down here.

use crate::event::Name;

/// The fields of one tracepoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Format {
    /// The tracepoint's number: what its events begin with.
    pub(crate) id: u16,
    fields: Vec<(String, Field)>,
}

/// Where a field lies in an event's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    offset: usize,
    size: usize,
    is_signed: bool,
}

impl Format {
    /// Reads the text of a `format` file.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"));
        let id = id.and_then(|id| id.trim().parse().ok()).ok_or("found no ID below 65536")?;
        let fields: Vec<_> = text.lines().filter_map(|line| field(line.trim())).collect();
        if fields.is_empty() {
            return Err("found no field".into());
        }
        Ok(Self { id, fields })
    }

    /// The field of that name.
    pub(crate) fn field(&self, name: &str) -> Result<Field, String> {
        let found = self.fields.iter().find(|(field, _)| field == name);
        found.map(|(_, field)| *field).ok_or_else(|| format!("found no field {name}"))
    }
}

/// `field:pid_t pid; offset:24; size:4; signed:1;`, with tabs between the parts.
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.strip_prefix("field:")?.split(';').map(str::trim);
    let declared = parts.next()?;
    let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse::<usize>().ok();
    let (offset, size) = (number("offset:")?, number("size:")?);
    let is_signed = number("signed:")? == 1;
    // The name is the last word, before the length of an array.
    let name = declared.rsplit([' ', '*']).next()?.split('[').next()?;
    Some((name.to_owned(), Field { offset, size, is_signed }))
}

impl Field {
    /// The number in an event's bytes, in the machine's own order; `None` where the bytes end before it, or it is no
    /// number.
    pub(crate) fn number(self, bytes: &[u8]) -> Option<i64> {
        let bytes = bytes.get(self.offset..self.offset + self.size)?;
        Some(match (bytes, self.is_signed) {
            (&[a], false) => i64::from(a),
            (&[a], true) => i64::from(a as i8),
            (&[a, b], false) => i64::from(u16::from_ne_bytes([a, b])),
            (&[a, b], true) => i64::from(i16::from_ne_bytes([a, b])),
            (&[a, b, c, d], false) => i64::from(u32::from_ne_bytes([a, b, c, d])),
            (&[a, b, c, d], true) => i64::from(i32::from_ne_bytes([a, b, c, d])),
            _ => i64::from_ne_bytes(bytes.try_into().ok()?),
        })
    }

    /// The same as a number that is not negative, such as a thread's.
    pub(crate) fn unsigned(self, bytes: &[u8]) -> Option<u32> {
        u32::try_from(self.number(bytes)?).ok()
    }

    /// A name in a field of its own.
    pub(crate) fn name(self, bytes: &[u8]) -> Option<Name> {
        bytes.get(self.offset..self.offset + self.size).map(Name::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAKEUP: &str = "name: sched_wakeup\nID: 374\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:const void * skaddr;\toffset:24;\tsize:8;\tsigned:0;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\n\
        print fmt: \"comm=%s pid=%d\", REC->comm, REC->pid\n";

    #[test]
    fn fields_are_found_by_name_wherever_they_lie() {
        let format = Format::parse(WAKEUP).expect("a format");
        assert_eq!(format.id, 374);
        let mut bytes = vec![0u8; 40];
        bytes[4..8].copy_from_slice(&(-7i32).to_ne_bytes());
        bytes[8..12].copy_from_slice(b"work");
        bytes[24..32].copy_from_slice(&9u64.to_ne_bytes());
        bytes[32..40].copy_from_slice(&256i64.to_ne_bytes());
        let number = |name: &str| format.field(name).expect("a field").number(&bytes);
        assert_eq!(
            [number("common_pid"), number("skaddr"), number("prev_state")],
            [Some(-7), Some(9), Some(256)]
        );
        let comm = format.field("comm").expect("a field");
        assert_eq!(comm.name(&bytes).expect("a name").to_string(), "work");
        assert_eq!(format.field("common_pid").expect("a field").unsigned(&bytes), None);
        assert_eq!(comm.name(&bytes[..20]), None, "the bytes end before it");
        assert!(format.field("pid").expect_err("no such field").contains("pid"));
    }

    #[test]
    fn other_texts_are_no_formats() {
        for text in
            ["", "ID: x\n", "ID: 5\n", "ID: 70000\nfield:int a; offset:0; size:4; signed:1;"]
        {
            assert!(Format::parse(text).is_err(), "{text}");
        }
    }
}
