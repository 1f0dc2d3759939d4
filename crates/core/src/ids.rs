//! Identifiers, each its own type so that they cannot be mixed up.

/// One client's registration at one shard of a server; dense, so it can index a `Vec`.
///
/// Valid from `on_open` to `on_close`, then reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionId(pub u32);

impl SessionId {
    /// As an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A request's number, chosen by the client, unique among its requests in flight on a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RequestId(pub u64);

/// Which method a request calls. Numbers from `0xff00` up belong to tailwater itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MethodId(pub u16);

impl MethodId {
    /// The first of the method numbers that tailwater keeps for itself.
    pub const RESERVED_FROM: u16 = 0xff00;
    /// Answers with the server's counters as JSON; bypasses admission.
    pub const INTROSPECT: Self = Self(0xff00);

    /// Whether the number belongs to tailwater itself.
    #[must_use]
    pub const fn is_reserved(self) -> bool {
        self.0 >= Self::RESERVED_FROM
    }
}

/// Requests of one method; they cost alike. Below [`Class::COUNT`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Class(u8);

impl Class {
    /// How many there are, so that whoever keeps something for each has a bound.
    pub const COUNT: usize = 64;

    /// The class of a method: each of the numbers up to 62 is one of its own, all others share the last.
    /// A client that makes numbers up makes no class.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "below 64")]
    pub const fn of(method: MethodId) -> Self {
        let last = Self::COUNT as u16 - 1;
        Self(if method.0 < last { method.0 } else { last } as u8)
    }

    /// As an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
