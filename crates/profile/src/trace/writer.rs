//! Records to a file, block by block.

use super::block::{ANY_THREAD, FRAME_LEN, Frame, Kind, MAGIC, PREAMBLE_LEN};
use super::crc::crc32c;
use super::index::{BlockRun, Index};
use super::shape::Memory;
use super::{BLOCK_BYTES, Header, PAYLOAD_MAX, VERSION, encode};
use crate::record::{Record, ThreadId, Ticks};
use std::io::{self, Write};

/// Writes a trace. Appends only, so `out` may be a pipe.
///
/// It holds two blocks and an index of bounded size, under 1 MB in all, taken when it is made: no
/// record allocates. What was not flushed when the process dies is lost, at most [`BLOCK_BYTES`] of
/// each kind; all blocks written before can be read.
pub struct Writer<W: Write> {
    sink: Sink<W>,
    tables: Block,
    events: Block,
    memory: Memory,
    finished: bool,
}

impl<W: Write> Writer<W> {
    /// Begins a trace.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn new(mut out: W, header: &Header) -> io::Result<Self> {
        let mut preamble = [0; PREAMBLE_LEN];
        preamble[..8].copy_from_slice(&MAGIC);
        preamble[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out.write_all(&preamble)?;
        let offset = PREAMBLE_LEN as u64;
        let mut sink = Sink { out, offset, sequence: 0, index: Index::with_room() };
        let mut block = Block::new(Kind::Header);
        header.encode(&mut block.bytes);
        block.records = 1;
        sink.write(&mut block)?;
        Ok(Self {
            sink,
            tables: Block::new(Kind::Tables),
            events: Block::new(Kind::Events),
            memory: Memory::new(),
            finished: false,
        })
    }

    /// Adds a record; a function, thread or module comes before what uses it.
    ///
    /// # Errors
    ///
    /// Those of `out`. The block it was writing is then lost, and readers learn so from the gap in
    /// the blocks' sequence; later records are taken as if nothing had happened.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        if encode::entry(&mut self.tables.bytes, record) {
            self.tables.records += 1;
            return if self.tables.is_full() { self.sink.write(&mut self.tables) } else { Ok(()) };
        }
        encode::event(&mut self.events.bytes, &mut self.memory, record);
        self.events.count(record);
        if self.events.is_full() { self.write_blocks() } else { Ok(()) }
    }

    /// Writes what is held back and flushes `out`.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_blocks()?;
        self.sink.out.flush()
    }

    /// Ends the trace with its index. A second call does nothing; records written later are read as
    /// found after the end.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.finished {
            return Ok(());
        }
        self.finished = true;
        self.write_blocks()?;
        let mut block = Block::new(Kind::Index);
        self.sink.index.encode(&mut block.bytes);
        block.records = 1;
        self.sink.write(&mut block)?;
        self.sink.out.flush()
    }

    /// Bytes written so far.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.sink.offset
    }

    /// Where blocks go.
    pub const fn get_ref(&self) -> &W {
        &self.sink.out
    }

    /// Where blocks go. Bytes written to it by others are passed over by readers, with an error.
    pub const fn get_mut(&mut self) -> &mut W {
        &mut self.sink.out
    }

    /// Names go first, since the events use them.
    fn write_blocks(&mut self) -> io::Result<()> {
        self.memory = Memory::new();
        let tables = self.sink.write(&mut self.tables);
        let events = self.sink.write(&mut self.events);
        tables.and(events)
    }
}

/// A block in the making.
struct Block {
    kind: Kind,
    /// Room for the frame, then the payload.
    bytes: Vec<u8>,
    records: u32,
    thread: Option<u32>,
    span: Option<(Ticks, Ticks)>,
}

impl Block {
    fn new(kind: Kind) -> Self {
        let mut bytes = Vec::with_capacity(FRAME_LEN + PAYLOAD_MAX);
        bytes.resize(FRAME_LEN, 0);
        Self { kind, bytes, records: 0, thread: None, span: None }
    }

    const fn is_full(&self) -> bool {
        self.bytes.len() >= FRAME_LEN + BLOCK_BYTES
    }

    /// Notes what the frame will say of the record.
    fn count(&mut self, record: &Record) {
        self.records += 1;
        let (thread, span) = about(record);
        let thread = thread.map_or(ANY_THREAD, |id| id.0);
        let one = *self.thread.get_or_insert(thread) == thread;
        self.thread = Some(if one { thread } else { ANY_THREAD });
        if let Some((first, last)) = span {
            let (earliest, latest) = self.span.get_or_insert((first, last));
            *earliest = first.min(*earliest);
            *latest = last.max(*latest);
        }
    }

    fn clear(&mut self) {
        self.bytes.truncate(FRAME_LEN);
        (self.records, self.thread, self.span) = (0, None, None);
    }
}

/// The thread and the time that a record names.
fn about(record: &Record) -> (Option<ThreadId>, Option<(Ticks, Ticks)>) {
    match record {
        Record::Call(call) => (Some(call.thread), Some((call.start, call.end))),
        Record::Wait(wait) => (Some(wait.thread), Some((wait.start, wait.end.max(wait.released)))),
        Record::Hold(hold) => (Some(hold.thread), Some((hold.start, hold.end))),
        Record::Counted(one) => (Some(one.thread), Some((one.start, one.end))),
        Record::Mark(mark) => (Some(mark.thread), Some((mark.at, mark.at))),
        Record::Hop(hop) => (Some(hop.thread), Some((hop.at, hop.at))),
        Record::Gap(gap) => (gap.thread, Some((gap.start, gap.end))),
        Record::Loss(loss) => (loss.thread, None),
        Record::Looks(looks) => (Some(looks.thread), None),
        Record::State(state) => (Some(state.thread), Some((state.start, state.end))),
        Record::Interruption(one) => (Some(one.thread), Some((one.start, one.end))),
        Record::Sample(sample) => (Some(sample.thread), Some((sample.at, sample.at))),
        Record::Function(_)
        | Record::Thread(_)
        | Record::Clock(_)
        | Record::Module(_)
        | Record::Figure(_) => (None, None),
    }
}

/// Where blocks go.
struct Sink<W> {
    out: W,
    offset: u64,
    sequence: u32,
    index: Index,
}

impl<W: Write> Sink<W> {
    /// Writes a block, unless it is empty, and empties it.
    fn write(&mut self, block: &mut Block) -> io::Result<()> {
        if block.records == 0 {
            return Ok(());
        }
        let payload = &block.bytes[FRAME_LEN..];
        let frame = Frame {
            kind: block.kind,
            len: payload.len() as u32,
            records: block.records,
            thread: block.thread.unwrap_or(ANY_THREAD),
            sequence: self.sequence,
            span: block.span.unwrap_or_default(),
            payload_crc: crc32c(payload),
        };
        block.bytes[..FRAME_LEN].copy_from_slice(&frame.encode());
        let written = self.out.write_all(&block.bytes);
        if matches!(block.kind, Kind::Tables | Kind::Events) {
            let (first, last) = frame.span;
            let records = u64::from(frame.records);
            self.index.note(BlockRun { offset: self.offset, blocks: 1, records, first, last });
        }
        // A block that failed counts too: its number is what readers miss.
        self.sequence = self.sequence.wrapping_add(1);
        self.offset += block.bytes.len() as u64;
        block.clear();
        written
    }
}

impl<W: Write> Drop for Writer<W> {
    /// Writes what is held back, as far as that goes; whoever wants to know calls
    /// [`Writer::finish`].
    fn drop(&mut self) {
        let _ = self.flush();
    }
}
