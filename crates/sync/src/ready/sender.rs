//! The sending end of a queue together with its bell.

use super::{Doorbell, QueueId};
use std::fmt;
use std::sync::mpsc;

/// A sender that rings: after each item, and once more when it is dropped, so that the consumer sees that the
/// channel is closed.
///
/// The channel needs room for one item at least. With a capacity of 0, `send` would wait for a consumer that waits for the
/// ring, which comes after it: for ever.
///
/// ```
/// use std::sync::mpsc;
/// use tailwater_sync::ready::{ReadySet, VisitPolicy};
///
/// let (set, mut waiter) = ReadySet::new(100, VisitPolicy::RoundRobin)?;
/// let (sender, receiver) = mpsc::channel();
/// let sender = set.doorbell(42)?.with(sender);
///
/// sender.send("hello").expect("the receiver is there");
/// assert_eq!(waiter.take().map(|queue| queue.index()), Some(42));
/// assert_eq!(receiver.try_recv(), Ok("hello"));
///
/// drop(sender);
/// assert_eq!(waiter.take().map(|queue| queue.index()), Some(42));
/// assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Disconnected));
/// # Ok::<(), tailwater_sync::ready::Error>(())
/// ```
pub struct Ringing<S> {
    /// `None` only while it is dropped.
    sender: Option<S>,
    bell: Doorbell,
}

impl Doorbell {
    /// The sending end of this bell's queue, so that neither is used without the other.
    pub const fn with<S>(self, sender: S) -> Ringing<S> {
        Ringing { sender: Some(sender), bell: self }
    }
}

impl<S> Ringing<S> {
    /// The number of its queue.
    #[must_use]
    pub const fn queue(&self) -> QueueId {
        self.bell.queue()
    }

    /// Pushes in a way that has no method here, then rings.
    pub fn push<R>(&mut self, push: impl FnOnce(&mut S) -> R) -> R {
        let sender = self.sender.as_mut().expect("it is not dropped");
        self.bell.after(|| push(sender))
    }

    fn after<R>(&self, push: impl FnOnce(&S) -> R) -> R {
        self.bell.after(|| push(self.sender.as_ref().expect("it is not dropped")))
    }
}

/// `send` and `try_send` of a sender, by its own names and with its own errors. `capacity` is how it tells its own, where
/// it does.
macro_rules! sends {
    ($sender:ty, capacity $capacity:expr, $error:ty $(, $try_error:ty)?) => {
        impl<T> Ringing<$sender> {
            /// As the sender's own `send`, then rings.
            ///
            /// # Panics
            /// Where the channel says that its capacity is 0; a [`mpsc::sync_channel`] does not, and waits for ever.
            ///
            /// # Errors
            /// The sender's own.
            pub fn send(&self, item: T) -> Result<(), $error> {
                self.after(|sender| {
                    let capacity: fn(&$sender) -> Option<usize> = $capacity;
                    assert_ne!(
                        capacity(sender),
                        Some(0),
                        "found a channel of capacity 0 for {}; give it 1 or more, since the bell rings after the send",
                        self.queue()
                    );
                    sender.send(item)
                })
            }
            $(
                /// As the sender's own `try_send`, then rings.
                ///
                /// # Errors
                /// The sender's own.
                pub fn try_send(&self, item: T) -> Result<(), $try_error> {
                    self.after(|sender| sender.try_send(item))
                }
            )?
        }
    };
}

sends!(mpsc::Sender<T>, capacity | _ | None, mpsc::SendError<T>);
sends!(mpsc::SyncSender<T>, capacity | _ | None, mpsc::SendError<T>, mpsc::TrySendError<T>);
#[cfg(feature = "crossbeam-channel")]
sends!(
    crossbeam_channel::Sender<T>,
    capacity crossbeam_channel::Sender::capacity,
    crossbeam_channel::SendError<T>,
    crossbeam_channel::TrySendError<T>
);
#[cfg(feature = "flume")]
sends!(
    flume::Sender<T>,
    capacity flume::Sender::capacity,
    flume::SendError<T>,
    flume::TrySendError<T>
);

#[cfg(feature = "rtrb")]
impl<T> Ringing<rtrb::Producer<T>> {
    /// As the producer's own `push`, then rings.
    ///
    /// # Errors
    /// The producer's own: the ring is full.
    pub fn send(&mut self, item: T) -> Result<(), rtrb::PushError<T>> {
        self.push(|producer| producer.push(item))
    }
}

impl<S: Clone> Clone for Ringing<S> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone(), bell: self.bell.clone() }
    }
}

impl<S> Drop for Ringing<S> {
    fn drop(&mut self) {
        // First the sender: the ring says that the channel may be closed.
        let sender = self.sender.take();
        self.bell.after(|| drop(sender));
    }
}

impl<S> fmt::Debug for Ringing<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ringing").field("queue", &self.bell.queue()).finish_non_exhaustive()
    }
}
