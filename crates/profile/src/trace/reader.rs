//! A file to records, with whatever is sound in it.

use super::block::{FRAME_LEN, Frame, Kind, MAGIC, MARKER, PREAMBLE_LEN};
use super::crc::crc32c;
use super::error::{TraceError, Trouble};
use super::shape::Memory;
use super::varint::Cursor;
use super::{Header, Index, PAYLOAD_MAX, VERSION, decode};
use crate::record::Record;
use std::io::{self, Read};

/// Reads a trace from its beginning, in 1 MB of memory whatever the input.
///
/// It yields records, and an error for each damaged part, after which it goes on with the next sound
/// block. After the last item [`Reader::ending`] says how the file ended.
pub struct Reader<R> {
    input: Input<R>,
    header: Header,
    block: Option<Open>,
    payload: Vec<u8>,
    memory: Memory,
    sequence: u32,
    index: Option<Index>,
    cut: bool,
    failed: bool,
    records: u64,
}

/// How a trace ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// As it should, with an index.
    Finished(Index),
    /// Between two blocks: the recorder did not come to its end. What it held back is lost.
    Unfinished,
    /// Within a block or unreadably; an error said where.
    Cut,
}

impl<R: Read> Reader<R> {
    /// Reads as far as the header.
    ///
    /// # Errors
    ///
    /// When `input` cannot be read or does not begin as a trace of this version does.
    pub fn new(input: R) -> Result<Self, TraceError> {
        let mut input = Input::new(input);
        check_preamble(&mut input)?;
        let start = input.offset;
        let bad = |trouble| TraceError { offset: start, skipped: 0, records: 0, trouble };
        let frame = input.frame()?.filter(|frame| frame.kind == Kind::Header);
        let frame = frame.ok_or_else(|| bad(Trouble::NoHeader))?;
        let mut payload = Vec::with_capacity(PAYLOAD_MAX);
        if !input.payload(&frame, &mut payload)? || crc32c(&payload) != frame.payload_crc {
            return Err(bad(Trouble::NoHeader));
        }
        let header = Header::decode(&mut Cursor::new(&payload, 0)).map_err(bad)?;
        Ok(Self {
            input,
            header,
            block: None,
            payload,
            memory: Memory::new(),
            sequence: frame.sequence.wrapping_add(1),
            index: None,
            cut: false,
            failed: false,
            records: 0,
        })
    }

    /// Where the trace comes from.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Where bytes come from.
    pub const fn get_ref(&self) -> &R {
        &self.input.input
    }

    /// Bytes read so far, for a progress bar.
    pub const fn offset(&self) -> u64 {
        self.input.offset
    }

    /// Records yielded so far.
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// How the trace ended, as far as has been read.
    pub fn ending(&self) -> Ending {
        match &self.index {
            Some(index) if !self.cut => Ending::Finished(index.clone()),
            _ if self.cut || self.failed => Ending::Cut,
            _ => Ending::Unfinished,
        }
    }

    /// The next record of the block at hand.
    fn record(&mut self) -> Option<Result<Record, TraceError>> {
        let open = self.block.as_mut()?;
        let mut cursor = Cursor::new(&self.payload, open.at);
        if open.left == 0 {
            let left = (self.payload.len() - open.at) as u64;
            let offset = open.start + (FRAME_LEN + open.at) as u64;
            self.block = None;
            let trouble = Trouble::LeftOver(left);
            return (left > 0).then_some(Err(TraceError {
                offset,
                skipped: left,
                records: 0,
                trouble,
            }));
        }
        let record = match open.kind {
            Kind::Tables => decode::entry(&mut cursor),
            _ => decode::event(&mut cursor, &mut self.memory),
        };
        match record {
            Ok(record) => {
                (open.at, open.left) = (cursor.at(), open.left - 1);
                self.records += 1;
                Some(Ok(record))
            }
            Err(trouble) => {
                let offset = open.start + (FRAME_LEN + open.at) as u64;
                let skipped = (self.payload.len() - open.at) as u64;
                let records = u64::from(open.left);
                self.block = None;
                Some(Err(TraceError { offset, skipped, records, trouble }))
            }
        }
    }

    /// Opens the next block; `None` at the end.
    fn advance(&mut self) -> Option<Result<(), TraceError>> {
        let start = self.input.offset;
        let frame = match self.input.frame() {
            Err(error) => return Some(Err(self.fail(error))),
            Ok(Some(frame)) => frame,
            Ok(None) => return self.resume(start),
        };
        let whole = match self.input.payload(&frame, &mut self.payload) {
            Err(error) => return Some(Err(self.fail(error))),
            Ok(whole) => whole,
        };
        let error = |skipped, records, trouble| {
            Some(Err(TraceError { offset: start, skipped, records, trouble }))
        };
        let size = (FRAME_LEN + self.payload.len()) as u64;
        let follows = std::mem::replace(&mut self.sequence, frame.sequence.wrapping_add(1));
        let announced = match frame.kind {
            Kind::Tables | Kind::Events => u64::from(frame.records),
            Kind::Header | Kind::Index => 0,
        };
        if !whole {
            self.cut = true;
            let needed = (FRAME_LEN as u64) + u64::from(frame.len);
            return error(size, announced, Trouble::Cut { found: size, needed });
        }
        let found = crc32c(&self.payload);
        if found != frame.payload_crc {
            let needed = frame.payload_crc;
            return error(size, announced, Trouble::Checksum { found, needed });
        }
        let late = self.index.is_some();
        if let Err(trouble) = self.open(&frame, start) {
            return error(size, announced, trouble);
        }
        if late {
            return error(0, 0, Trouble::AfterEnd);
        }
        if follows != frame.sequence {
            return error(0, 0, Trouble::Missing { found: frame.sequence, needed: follows });
        }
        Some(Ok(()))
    }

    fn open(&mut self, frame: &Frame, start: u64) -> Result<(), Trouble> {
        match frame.kind {
            Kind::Tables | Kind::Events => {
                self.memory = Memory::new();
                self.block = Some(Open { kind: frame.kind, start, at: 0, left: frame.records });
            }
            Kind::Index => {
                let mut cursor = Cursor::new(&self.payload, 0);
                self.index = Some(Index::decode(&mut cursor)?);
            }
            Kind::Header => return Err(Trouble::NoBlock),
        }
        Ok(())
    }

    /// Looks for the next frame behind bytes that are none, or notices the end.
    fn resume(&mut self, start: u64) -> Option<Result<(), TraceError>> {
        if let Err(error) = self.input.seek_frame() {
            return Some(Err(self.fail(error)));
        }
        let skipped = self.input.offset - start;
        if skipped == 0 {
            return None;
        }
        self.cut |= self.input.is_at_end();
        let short = self.input.is_at_end() && skipped < FRAME_LEN as u64;
        let trouble = if short {
            Trouble::Cut { found: skipped, needed: FRAME_LEN as u64 }
        } else {
            Trouble::NoBlock
        };
        Some(Err(TraceError { offset: start, skipped, records: 0, trouble }))
    }

    fn fail(&mut self, error: TraceError) -> TraceError {
        self.failed = true;
        error
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.failed {
                return None;
            }
            if let Some(item) = self.record() {
                return Some(item);
            }
            if let Err(error) = self.advance()? {
                return Some(Err(error));
            }
        }
    }
}

/// A block being read.
struct Open {
    kind: Kind,
    /// Where its frame begins in the file.
    start: u64,
    /// Bytes of payload done.
    at: usize,
    /// Records to come.
    left: u32,
}

fn check_preamble<R: Read>(input: &mut Input<R>) -> Result<(), TraceError> {
    let bad = |trouble| TraceError { offset: 0, skipped: 0, records: 0, trouble };
    let bytes = input.ahead(PREAMBLE_LEN)?;
    if bytes.len() < PREAMBLE_LEN || bytes[..8] != MAGIC || bytes[12..] != [0; 4] {
        return Err(bad(Trouble::NotATrace));
    }
    let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    if !(1..=VERSION).contains(&version) {
        return Err(bad(Trouble::Version(version)));
    }
    input.consume(PREAMBLE_LEN);
    Ok(())
}

/// Bytes of the file, a window at a time.
struct Input<R> {
    input: R,
    window: Vec<u8>,
    at: usize,
    ended: bool,
    /// Where the next byte lies in the file.
    offset: u64,
}

/// Bytes asked of the input at once; at least a block.
const WINDOW: usize = 512 * 1024;

impl<R: Read> Input<R> {
    fn new(input: R) -> Self {
        Self { input, window: Vec::with_capacity(WINDOW), at: 0, ended: false, offset: 0 }
    }

    /// The next bytes, `wanted` of them unless the file ends before. It asks for no more than that takes: what still grows may
    /// have no more for a long time.
    fn ahead(&mut self, wanted: usize) -> Result<&[u8], TraceError> {
        debug_assert!(wanted <= WINDOW);
        while self.window.len() - self.at < wanted && !self.ended {
            self.fill().map_err(|error| TraceError {
                offset: self.offset,
                skipped: 0,
                records: 0,
                trouble: Trouble::Io(error.to_string()),
            })?;
        }
        let available = (self.window.len() - self.at).min(wanted);
        Ok(&self.window[self.at..self.at + available])
    }

    /// Reads once, as much as there is and finds room.
    fn fill(&mut self) -> io::Result<()> {
        self.window.drain(..self.at);
        self.at = 0;
        let held = self.window.len();
        self.window.resize(WINDOW, 0);
        let read = self.input.read(&mut self.window[held..]);
        self.window.truncate(held + read.as_ref().copied().unwrap_or(0));
        match read {
            Ok(bytes) => self.ended = bytes == 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn consume(&mut self, bytes: usize) {
        self.at += bytes;
        self.offset += bytes as u64;
    }

    fn is_at_end(&self) -> bool {
        self.ended && self.at == self.window.len()
    }

    /// Takes the frame that begins here; `None`, taking nothing, where there is none.
    fn frame(&mut self) -> Result<Option<Frame>, TraceError> {
        let frame = self.ahead(FRAME_LEN)?.first_chunk().and_then(Frame::decode);
        if frame.is_some() {
            self.consume(FRAME_LEN);
        }
        Ok(frame)
    }

    /// Takes a payload into `payload`; `false` where the file ends before it does.
    fn payload(&mut self, frame: &Frame, payload: &mut Vec<u8>) -> Result<bool, TraceError> {
        let wanted = frame.len as usize;
        let bytes = self.ahead(wanted)?;
        payload.clear();
        payload.extend_from_slice(bytes);
        self.consume(payload.len());
        Ok(payload.len() == wanted)
    }

    /// Goes on to the next sound frame, or to the end. Each byte is looked at a bounded number of
    /// times, since a frame must pass its own checksum before its length is believed.
    fn seek_frame(&mut self) -> Result<(), TraceError> {
        loop {
            let bytes = self.ahead(WINDOW / 2)?;
            if bytes.is_empty() {
                return Ok(());
            }
            let found = bytes.windows(FRAME_LEN).position(|bytes| {
                bytes.starts_with(&MARKER) && bytes.first_chunk().and_then(Frame::decode).is_some()
            });
            let len = bytes.len();
            let at_end = self.ended && self.window.len() - self.at == len;
            match found {
                Some(at) => {
                    self.consume(at);
                    return Ok(());
                }
                None if at_end => self.consume(len),
                // A frame may lie across the edge of what was looked at.
                None => self.consume(len - (FRAME_LEN - 1)),
            }
        }
    }
}
