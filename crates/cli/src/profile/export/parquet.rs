//! Parquet: a row for each call, with the bounds of its beginning and its end.

use super::{ExportOptions, trouble};
use crate::failure::Failure;
use crate::profile::footer::footer;
use crate::profile::reading::{Trace, near};
use parquet::basic::Encoding;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;
use tailwater_profile::calls::{Calls, Row, Rows};
use tailwater_profile::record::{FunctionId, Record, ThreadId};
use tailwater_profile::trace::Header;
use tailwater_report::count;

/// Times are nanoseconds since the recording began. Where a bound is missing, none is known.
const SCHEMA: &str = "message call {
  required int32 thread_id (INTEGER(32, false));
  optional int32 tid (INTEGER(32, false));
  required binary thread (STRING);
  required binary function (STRING);
  optional binary file (STRING);
  optional int32 line (INTEGER(32, false));
  required int32 depth (INTEGER(32, false));
  optional int64 begin_min_ns;
  optional int64 begin_max_ns;
  optional int64 end_min_ns;
  optional int64 end_max_ns;
  optional int64 request (INTEGER(64, false));
}";
/// Neighbours differ by little.
const TIMES: [&str; 4] = ["begin_min_ns", "begin_max_ns", "end_min_ns", "end_max_ns"];

/// Rows held until they are written: 15 MB. A file has at most 2¹⁵ such groups.
const GROUP: usize = 1 << 17;

/// Reads the trace twice, and tells what is not in the table.
pub(super) fn export(
    trace: Trace,
    options: &ExportOptions,
    to: &mut (impl Write + Send),
) -> Result<String, Failure> {
    let header = trace.header().clone();
    let mut calls = Calls::new(&header);
    let ending = trace.read(|item| match item {
        Ok(record) => calls.add(record),
        Err(error) => calls.damaged(error),
    });
    let rows = calls.finish(&ending);
    let again = Trace::open(&options.trace)?;
    let written = filled(again, &rows, &header, to).map_err(|error| trouble(options, &error))?;
    let footer = footer(rows.records, rows.rate(), &rows.quality);
    Ok(format!("{} calls.\n{footer}", count(written)))
}

/// How many rows were written.
fn filled(
    trace: Trace,
    rows: &Rows,
    header: &Header,
    to: &mut (impl Write + Send),
) -> io::Result<u64> {
    let mut table = Table::new(rows, header, to)?;
    let mut added = Ok(());
    trace.read(|item| {
        // Damage was counted in the first reading.
        if let (Ok(Record::Call(call)), Ok(())) = (item, &added) {
            added = table.add(&rows.row(call));
        }
    });
    added?;
    table.finish()
}

/// A table in the making.
struct Table<'a, W: Write + Send> {
    rows: &'a Rows,
    writer: SerializedFileWriter<W>,
    group: Group,
    words: Words,
    count: u64,
}

/// Rows that are not written yet.
#[derive(Default)]
struct Group {
    len: usize,
    thread_id: Column<i32>,
    tid: Column<i32>,
    thread: Column<ByteArray>,
    function: Column<ByteArray>,
    file: Column<ByteArray>,
    line: Column<i32>,
    depth: Column<i32>,
    times: [Column<i64>; 4],
    request: Column<i64>,
}

/// The values that there are, and for each row whether it has one.
#[derive(Default)]
struct Column<T> {
    values: Vec<T>,
    levels: Vec<i16>,
}

/// Names that many rows share.
#[derive(Default)]
struct Words {
    threads: HashMap<ThreadId, ByteArray>,
    /// With the file where that is known.
    functions: HashMap<FunctionId, (ByteArray, Option<ByteArray>)>,
}

impl<'a, W: Write + Send> Table<'a, W> {
    fn new(rows: &'a Rows, header: &Header, to: W) -> io::Result<Self> {
        let schema = Arc::new(parse_message_type(SCHEMA).map_err(said)?);
        let writer = SerializedFileWriter::new(to, schema, properties(header)).map_err(said)?;
        let (group, words) = (Group::default(), Words::default());
        Ok(Self { rows, writer, group, words, count: 0 })
    }

    /// Takes the next call.
    fn add(&mut self, row: &Row<'_>) -> io::Result<()> {
        let names = self.rows.names();
        let thread = self.words.threads.entry(row.thread);
        let thread = thread.or_insert_with(|| text(&names.of_thread(row.thread)));
        let described = || {
            let file = row.described.map(|function| &function.file).filter(|file| !file.is_empty());
            (text(&names.of(row.function)), file.map(|file| text(file)))
        };
        let (function, file) = self.words.functions.entry(row.function).or_insert_with(described);
        let line = row.described.map(|function| function.line).filter(|line| *line > 0);
        let group = &mut self.group;
        group.thread_id.push(Some(row.thread.0.cast_signed()));
        group.tid.push(row.tid.map(u32::cast_signed));
        group.thread.push(Some(thread.clone()));
        group.function.push(Some(function.clone()));
        group.file.push(file.clone());
        group.line.push(line.map(u32::cast_signed));
        group.depth.push(Some(row.depth.cast_signed()));
        let times = row.began_ns.into_iter().chain(row.ended_ns);
        for (column, time) in group.times.iter_mut().zip(times) {
            column.push(time.map(u64::cast_signed));
        }
        group.request.push(row.request.map(u64::cast_signed));
        group.len += 1;
        self.count += 1;
        if group.len == GROUP { self.flush() } else { Ok(()) }
    }

    /// Writes what is left, and the file's end. How many rows it has.
    fn finish(mut self) -> io::Result<u64> {
        if self.group.len > 0 {
            self.flush()?;
        }
        self.writer.close().map_err(said)?;
        Ok(self.count)
    }

    fn flush(&mut self) -> io::Result<()> {
        let group = std::mem::take(&mut self.group);
        let mut to = self.writer.next_row_group().map_err(said)?;
        group.write(&mut to).map_err(said)?;
        to.close().map_err(said)?;
        Ok(())
    }
}

impl Group {
    /// In the order of the schema.
    fn write<W: Write + Send>(
        self,
        to: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        self.thread_id.write::<Int32Type, W>(to)?;
        self.tid.write::<Int32Type, W>(to)?;
        self.thread.write::<ByteArrayType, W>(to)?;
        self.function.write::<ByteArrayType, W>(to)?;
        self.file.write::<ByteArrayType, W>(to)?;
        self.line.write::<Int32Type, W>(to)?;
        self.depth.write::<Int32Type, W>(to)?;
        self.times.into_iter().try_for_each(|column| column.write::<Int64Type, W>(to))?;
        self.request.write::<Int64Type, W>(to)
    }
}

impl<T> Column<T> {
    fn push(&mut self, value: Option<T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    fn write<D: DataType<T = T>, W: Write + Send>(
        self,
        to: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let missing = || ParquetError::General("the schema has too few columns".into());
        let mut column = to.next_column()?.ok_or_else(missing)?;
        // Of a column that each row has the levels are not looked at.
        column.typed::<D>().write_batch(&self.values, Some(&self.levels), None)?;
        column.close()
    }
}

fn properties(header: &Header) -> WriterPropertiesPtr {
    let clock = header.clock;
    let about = [
        ("tailwater.program", near(&header.program).to_owned()),
        ("tailwater.pid", header.pid.to_string()),
        // When the recording began: by this clock, and in nanoseconds since 1970.
        ("tailwater.monotonic_raw_ns", clock.raw_ns.to_string()),
        ("tailwater.unix_ns", clock.real_ns.to_string()),
    ];
    let about = about.map(|(key, value)| KeyValue::new(key.to_owned(), value));
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("tailwater ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(about.to_vec()));
    for time in TIMES {
        let column = ColumnPath::from(time);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    Arc::new(properties.build())
}

fn text(text: &str) -> ByteArray {
    ByteArray::from(text)
}

/// What the file system said, where it was that.
fn said(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}
