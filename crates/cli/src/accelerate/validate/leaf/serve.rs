//! The leaf's end: all connections in turn, without a wait, until the host's end.

use super::super::accelerator::Stamp;
use super::super::kernels::Hand;
use super::frame::{self, HEAD, INPUT_MAX};
use crate::hand_over::cpu_time;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Rounds between two looks at the control connection: each is a system call that offloads would wait for.
const CONTROL_EVERY: u64 = 64;
/// Room for what a connection has sent: more stays in the socket.
const ROOM: usize = 2 * (HEAD + INPUT_MAX);
/// Bytes of a stamp.
pub(super) const STAMP: usize = 32;

/// A host thread's connection.
struct Lane {
    stream: TcpStream,
    room: Vec<u8>,
    filled: usize,
}

/// Serves until the control connection ends. Each byte that comes there asks for a stamp.
pub(in super::super) fn serve(
    control: TcpStream,
    lanes: Vec<TcpStream>,
    mut hand: Hand<'_>,
) -> io::Result<()> {
    for stream in lanes.iter().chain([&control]) {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
    }
    let lane = |stream| Lane { stream, room: vec![0; ROOM], filled: 0 };
    let mut lanes: Vec<Lane> = lanes.into_iter().map(lane).collect();
    let (began, mut total) = (Instant::now(), Stamp::default());
    for round in 0_u64.. {
        for lane in &mut lanes {
            lane.turn(&mut hand, &mut total)?;
        }
        if !round.is_multiple_of(CONTROL_EVERY) {
            continue;
        }
        match there((&control).read(&mut [0]))? {
            None => {}
            Some(0) => break,
            Some(_) => {
                (total.wall, total.cpu) = (began.elapsed(), cpu_time());
                (&control).write_all(&told(&total))?;
            }
        }
    }
    Ok(())
}

impl Lane {
    /// Takes what has come, and answers each offload that is whole.
    fn turn(&mut self, hand: &mut Hand<'_>, total: &mut Stamp) -> io::Result<()> {
        // Zero: the host has closed it, and will close the control connection.
        let Some(read @ 1..) = there(self.stream.read(&mut self.room[self.filled..]))? else {
            return Ok(());
        };
        self.filled += read;
        let mut done = 0;
        while let Some(come) = frame::first(&self.room[done..self.filled])? {
            let began = Instant::now();
            let answer = if come.is_empty { 0 } else { hand(come.input) };
            total.service += began.elapsed();
            total.served += 1;
            done += HEAD + come.input.len();
            // As many answers as a host leaves open fit into a socket.
            self.stream.write_all(&answer.to_le_bytes())?;
        }
        self.room.copy_within(done..self.filled, 0);
        self.filled -= done;
        Ok(())
    }
}

/// How many bytes were read, if any could be.
fn there(read: io::Result<usize>) -> io::Result<Option<usize>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            // The host was killed.
            io::ErrorKind::ConnectionReset => Ok(Some(0)),
            _ => Err(error),
        },
    }
}

/// A stamp as it is sent. A leaf has no silent offloads.
fn told(stamp: &Stamp) -> [u8; STAMP] {
    let ns = |time: Duration| time.as_nanos() as u64;
    let numbers = [ns(stamp.wall), ns(stamp.cpu), stamp.served, ns(stamp.service)];
    let mut bytes = [0; STAMP];
    for (eight, number) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
        *eight = number.to_le_bytes();
    }
    bytes
}

/// The stamp that was sent.
pub(super) fn heard(bytes: &[u8; STAMP]) -> Stamp {
    let at = |nth: usize| u64::from_le_bytes(bytes.as_chunks::<8>().0[nth]);
    let ns = |nth| Duration::from_nanos(at(nth));
    Stamp { wall: ns(0), cpu: ns(1), served: at(2), service: ns(3), wrong: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_heard_as_it_was_told() {
        let ms = Duration::from_millis;
        let stamp = Stamp { wall: ms(5), cpu: ms(4), served: 7, service: ms(3), wrong: 0 };
        assert_eq!(heard(&told(&stamp)), stamp);
    }
}
