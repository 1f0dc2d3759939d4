//! Waits for thousands of channels at once: what <https://github.com/crossbeam-rs/crossbeam/issues/588> asks for.
//!
//! A `select` looks at every channel for each message. A ready set names the channels with messages, so a
//! message costs the same among ten channels as among ten thousand. It needs the feature `crossbeam-channel`; channels of
//! the standard library need none.

#![expect(clippy::print_stdout, reason = "a program for people")]

use crossbeam_channel::TryRecvError;
use tailwater::ready::{Error, ReadySet, VisitPolicy};

const CHANNELS: usize = 10_000;
const MESSAGES: usize = 200_000;

fn main() -> Result<(), Error> {
    let (set, mut waiter) = ReadySet::new(CHANNELS, VisitPolicy::RoundRobin)?;

    // Each sender goes with the bell of its channel. Those of std, flume and rtrb are wrapped alike.
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for queue in 0..CHANNELS {
        let (sender, receiver) = crossbeam_channel::unbounded();
        senders.push(set.doorbell(queue)?.with(sender));
        receivers.push(receiver);
    }
    let producer = std::thread::spawn(move || {
        for number in 0..MESSAGES {
            let to = number.wrapping_mul(7_919) % CHANNELS;
            senders[to].send(number).expect("its receiver is there");
        }
        // Here all senders end, and each rings for the last time.
    });

    let (mut sum, mut closed) = (0, 0);
    while closed < CHANNELS {
        let queue = waiter.wait();
        // To its end, since the bell may have rung once for many messages.
        closed += loop {
            match receivers[queue.index()].try_recv() {
                Ok(number) => sum += number,
                Err(TryRecvError::Empty) => break 0,
                Err(TryRecvError::Disconnected) => {
                    // Not visited any more, even if a bell is left.
                    set.remove(queue)?;
                    break 1;
                }
            }
        };
    }
    producer.join().expect("the producer has sent everything");
    assert_eq!(sum, MESSAGES * (MESSAGES - 1) / 2, "a message was lost");

    let stats = set.stats();
    println!("{MESSAGES} messages through {CHANNELS} channels, all of which are closed");
    println!("{} visits, {} sleeps, {} wake-ups", stats.visits, stats.sleeps, stats.wakes);
    Ok(())
}
