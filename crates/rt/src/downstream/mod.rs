//! Calls from handlers to the servers of the next tier, without another thread.
//!
//! [`TierConfig`] names the servers. Each thread that runs handlers, a loop or a worker, has connections of its
//! own to all of them, which wait in its own poller. A handler asks [`tier`] for its thread's, makes a [`Fan`] of
//! calls and awaits it. What waits then is the server's [`Completion`](tailwater_core::threads::Completion): the
//! handler, which the answers wake once it has what it needs, or its thread.
//!
//! `desk` is where handlers leave their calls, and where the thread finds them; `fan` is what a handler awaits, and
//! `state` what it shares with its calls, which leave in `notes` what their thread is to do. `stage` is the thread's part,
//! with one exchange for each shard, and `turns` gives it its turns.
//!
//! Where the model has a `crew`, its members make the calls as `errands`, each with a stage of its own. `post` is a
//! thread's way to the crew, `away` what the thread knows of the calls there, and `home` where it gets the outcomes.

mod away;
mod call;
mod config;
mod counts;
mod crew;
mod desk;
mod errand;
mod errands;
mod fan;
mod home;
mod notes;
mod part;
mod post;
mod room;
mod stage;
mod state;
mod turns;

pub use config::TierConfig;
pub(crate) use crew::Crew;
pub(crate) use desk::Desk;
pub(crate) use errands::Errands;
pub use fan::{CALLS_MAX, Fan};
pub(crate) use stage::is_downstream;
pub(crate) use turns::{Downstream, Hold, Trunk};

use crate::service::Request;
use crate::time::now;
use call::Terms;
use counts::Tallies;
use desk::Named;
use room::Room;
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::retry::HedgeCounts;
use tailwater_marks::Caller;
use turns::Turns;

/// What a call may take whose request has no deadline.
const DEADLINE: Duration = Duration::from_secs(10);

thread_local! {
    static DESK: RefCell<Option<(Rc<Desk>, Weak<Turns>)>> = const { RefCell::new(None) };
}

/// Makes a fresh desk the thread's own, with what takes the calls from it; called once by a loop or a worker.
fn install(desk: Rc<Desk>, turns: Weak<Turns>) {
    DESK.with(|slot| *slot.borrow_mut() = Some((desk, turns)));
}

/// The tier of this name ([`ServerConfig::tiers`](crate::ServerConfig::tiers)), with the connections of the
/// thread that runs the handler. `None` without such a tier, and outside a handler.
#[must_use]
pub fn tier(name: &str) -> Option<Tier> {
    // A thread that ends has none any more.
    let find = |(desk, turns): &(Rc<Desk>, Weak<Turns>)| Tier::find(desk, turns, name);
    DESK.try_with(|slot| slot.borrow().as_ref().and_then(find)).ok().flatten()
}

/// Servers that a handler may call. Belongs to the thread of the handler that asked for it.
#[derive(Clone)]
pub struct Tier {
    desk: Rc<Desk>,
    /// What takes the calls, which a fan may have to hold the thread for. They are gone once the thread has ended.
    turns: Weak<Turns>,
    /// The first of its shards among those of all tiers.
    first: usize,
    shards: usize,
    room: Rc<Room>,
    answers_max: usize,
    tallies: Arc<Tallies>,
}

impl Tier {
    fn find(desk: &Rc<Desk>, turns: &Weak<Turns>, name: &str) -> Option<Self> {
        let tier = desk.tier(name)?;
        let Named { first, shards, answers_max, .. } = *tier;
        let (room, tallies) = (tier.room.clone(), tier.tallies.clone());
        let (desk, turns) = (desk.clone(), turns.clone());
        Some(Self { desk, turns, first, shards, room, answers_max, tallies })
    }

    /// How many shards it has.
    #[must_use]
    pub const fn shards(&self) -> usize {
        self.shards
    }

    /// Why a server is not reached: of the first shard without a connection, what ended the last attempt or the
    /// connection before it. `None` while all stand, and before anything has failed. For people: calls wait and
    /// attempts go on meanwhile.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.desk.trouble(self.first..self.first + self.shards)
    }

    /// Whether a server of this shard, from 0, is not reached as far as is known: true from when a connection or an attempt
    /// has ended until the server has greeted. Without another replica a call would wait for that. Knows the connections of
    /// this thread alone, none of a crew's.
    ///
    /// # Panics
    /// When the tier has no such shard.
    #[must_use]
    pub fn has_trouble(&self, shard: usize) -> bool {
        assert!(shard < self.shards, "shard {shard} was asked for, of {}", self.shards);
        self.desk.has_trouble(self.first + shard)
    }

    /// Counts second tries that a handler makes itself, at servers of its own choice, beside those of
    /// [`TierConfig::hedge`]: [`Server::tiers`](crate::Server::tiers) tells both together.
    pub fn count_hedges(&self, more: HedgeCounts) {
        self.tallies.add(more, HedgeCounts::default());
    }

    /// Calls to be made on behalf of a request, whose deadline, priority and tenant they have. Without a
    /// deadline they have 10 s from now.
    pub fn fan(&self, request: &Request) -> Fan {
        let deadline = request.deadline.unwrap_or_else(|| now() + DEADLINE);
        let Request { priority, tenant, .. } = *request;
        let caller = Caller::present();
        let terms =
            Terms { deadline, priority, tenant, caller, reached_only: false, hedged: false };
        Fan::new(self.clone(), terms)
    }

    /// Holds the thread until a fan is done. If the thread may not be held for so long, the fan wakes the handler.
    fn hold(&self, is_done: impl Fn() -> bool) {
        if let Some(turns) = self.turns.upgrade() {
            turns.hold(&self.desk, is_done);
        }
    }
}
