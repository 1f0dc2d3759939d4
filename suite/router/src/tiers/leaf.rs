//! A leaf: a key-value store that holds the keys which are placed on it, and says whose memory answers.

use super::keys::{key_of, preloaded};
use super::life::{self, LIST, MEET, Meeting, NEEDED, OTHER};
use super::wire::BAD_REQUEST;
use crate::placement::Placement;
use crate::standing::Forget;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tailwater_keyvalue::locks::{Tasks, at_once};
use tailwater_keyvalue::rpc::{self, Overhead};
use tailwater_keyvalue::store::{Config, Put, Store, Stored, When};
use tailwater_load::application::Place;
use tailwater_rt::{Reply, Request, Router, Service as _};

/// The methods of leaf `number`, with all of its keys of the first so many stored, in so many bytes.
///
/// # Errors
/// A sentence for people when they do not fit.
pub fn router(
    placement: &Placement,
    number: u32,
    keys: u32,
    (memory, place): (usize, &Place),
) -> Result<Router, String> {
    let config = Config { memory, ..Config::default() };
    let store = Store::<Tasks>::new(config).map_err(|error| error.to_string())?;
    for key in 0..keys {
        let name = key_of(key);
        if !placement.of(&name).nodes().iter().any(|&node| u32::from(node) == number) {
            continue;
        }
        let (key, value) = (&name[..], &preloaded(key)[..]);
        // No request contends yet, so no wait suspends.
        let put = Put { key, value, flags: 0, expires: 0, when: When::Always };
        match at_once(store.put(put, 1)) {
            Ok(Stored::Stored) => {}
            other => return Err(format!("a key could not be stored: {other:?}")),
        }
    }
    let evictions = at_once(store.counts()).evictions;
    if evictions > 0 {
        return Err(format!(
            "{} MiB hold all but {evictions} of the keys of leaf {number}; raise server.settings.memory",
            memory >> 20
        ));
    }
    Ok(Leaf::new(store, Overhead { spinner: place.spinner, time: Duration::ZERO }).router())
}

/// Of a list: parts of the table that are looked at, and bytes of keys after which it ends. A part's keys come together.
const PARTS_AT_ONCE: usize = 512;
const LIST_BYTES: usize = 2_048;

/// Meetings in a row whose answers were not heard, after which a number in between is forgotten.
const OWN_MAX: usize = 16;

/// A store, and whose memory it is.
struct Leaf {
    store: Arc<Store<Tasks>>,
    methods: Router,
    incarnation: AtomicU64,
    /// Numbers that its memory has had since a request last named one, that one first. The answers of their meetings may not
    /// have been heard.
    own: Mutex<Vec<u64>>,
    draws: RandomState,
    drawn: AtomicU64,
}

impl Leaf {
    fn new(store: Store<Tasks>, overhead: Overhead) -> Self {
        let store = Arc::new(store);
        let methods = rpc::router(&store, overhead);
        // Two starts draw different numbers: the state is seeded by the system.
        let (draws, [incarnation, drawn]) = (RandomState::new(), Default::default());
        let own = Mutex::default();
        let leaf = Self { store, methods, incarnation, own, draws, drawn };
        leaf.begin_anew();
        leaf
    }

    /// Draws another incarnation; zero means none.
    // One thread asks a leaf; the numbers are atomic only so that it may be shared: Relaxed.
    fn begin_anew(&self) {
        let drawn = self.drawn.fetch_add(1, Relaxed);
        let number = self.draws.hash_one((std::process::id(), drawn)).max(1);
        self.incarnation.store(number, Relaxed);
        let mut own = self.own();
        if own.len() == OWN_MAX {
            // Of so many meetings none was heard. The first number is what the caller knows.
            own.remove(1);
        }
        own.push(number);
    }

    fn own(&self) -> MutexGuard<'_, Vec<u64>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request has named the number that it has now: no earlier one is asked for any more.
    fn is_named(&self) {
        let mut own = self.own();
        let now = own.len().saturating_sub(1);
        own.drain(..now);
    }

    fn router(self) -> Router {
        let leaf = Arc::new(self);
        let (of_meet, of_list) = (leaf.clone(), leaf.clone());
        let methods = [rpc::GET, rpc::SET, rpc::ADD];
        methods.iter().fold(
            Router::new()
                .route(MEET.0, move |request: Request| {
                    let leaf = of_meet.clone();
                    async move { leaf.meet(&request.payload).await }
                })
                .route(LIST.0, move |request: Request| {
                    let leaf = of_list.clone();
                    async move { leaf.list(&request.payload).await }
                }),
            |router, method| {
                let leaf = leaf.clone();
                router.route(method.0, move |request| {
                    let leaf = leaf.clone();
                    async move { leaf.carry_out(request).await }
                })
            },
        )
    }

    /// Carries out what is asked of this incarnation.
    async fn carry_out(&self, mut request: Request) -> Result<Reply, Reply> {
        let (asked, _) = life::read(&request.payload).ok_or_else(bad)?;
        let incarnation = self.incarnation.load(Relaxed);
        if asked != incarnation {
            return Ok(Reply::Response { status: OTHER, payload: life::of(incarnation, &[]) });
        }
        self.is_named();
        request.payload.drain(..size_of_val(&asked));
        // One thread asks the store, and none of its locks is held across a wait: this does not suspend, and so no
        // meeting comes between.
        match self.methods.call(request).await {
            Reply::Response { status, payload } => {
                Ok(Reply::Response { status, payload: life::of(incarnation, &payload) })
            }
            other => Ok(other),
        }
    }

    /// Tells keys, from a part of the table on.
    async fn list(&self, request: &[u8]) -> Result<Reply, Reply> {
        let (asked, rest) = life::read(request).ok_or_else(bad)?;
        let incarnation = self.incarnation.load(Relaxed);
        if asked != incarnation {
            return Ok(Reply::Response { status: OTHER, payload: life::of(incarnation, &[]) });
        }
        self.is_named();
        let part: [u8; 4] = rest.try_into().map_err(|_| bad())?;
        let (mut part, parts) = (u32::from_le_bytes(part) as usize, self.store.parts());
        let last = (part + PARTS_AT_ONCE).min(parts);
        let mut keys = Vec::new();
        while part < last && keys.len() < LIST_BYTES {
            self.store.visit(part, 1, |key| life::add_key(&mut keys, key)).await?;
            part += 1;
        }
        let next = if part < parts { part as u32 } else { 0 };
        Ok(Reply::ok(life::of(incarnation, &[&next.to_le_bytes()[..], &keys].concat())))
    }

    /// Forgets what the caller says that it missed, or all if the caller has known another. From then on it has another
    /// number, so that what was sent to it before is not carried out any more.
    async fn meet(&self, request: &[u8]) -> Result<Reply, Reply> {
        let Meeting { known, forget } = Meeting::read(request).ok_or_else(bad)?;
        let is_known = known == 0 || self.own().contains(&known);
        let is_kept = is_known && !forget.contains(&Forget::Everything);
        if !is_kept {
            self.store.flush();
            self.own().clear();
        }
        for forget in &forget {
            if let Forget::Key(key) = forget {
                self.store.delete(key, 1).await?;
            }
        }
        // Several may meet it first at the same time, and all hear one number.
        if known != 0 || !forget.is_empty() {
            self.begin_anew();
        }
        Ok(Reply::ok(life::met(self.incarnation.load(Relaxed), is_kept)))
    }
}

fn bad() -> Reply {
    Reply::failure(BAD_REQUEST, NEEDED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::MethodId;
    use tailwater_keyvalue::rpc::Message;
    use tailwater_load::Spinner;
    use tailwater_rt::PeerRef;

    fn leaf() -> Leaf {
        let store = Store::new(Config { memory: 8 << 20, ..Config::default() }).expect("a store");
        Leaf::new(store, Overhead { spinner: Spinner::of_speed(1.0), time: Duration::ZERO })
    }

    fn call(leaf: &Leaf, method: MethodId, incarnation: u64, content: &[u8]) -> (u16, Vec<u8>) {
        let mut bytes = rpc::request(0, method, |out| out.extend_from_slice(b"key"));
        bytes.extend_from_slice(content);
        let request = Request {
            method,
            payload: life::of(incarnation, &bytes),
            deadline: None,
            priority: 128,
            tenant: 0,
            peer: PeerRef::default(),
        };
        match at_once(leaf.carry_out(request)) {
            Ok(Reply::Response { status, payload }) => {
                let (told, rest) = life::read(&payload).expect("each answer says whose it is");
                assert_eq!(told, leaf.incarnation.load(Relaxed));
                (status, rest.to_vec())
            }
            other => panic!("{other:?}"),
        }
    }

    fn meet(leaf: &Leaf, known: u64, forget: Vec<Forget>) -> (u64, bool) {
        match at_once(leaf.meet(&Meeting { known, forget }.bytes())) {
            Ok(Reply::Response { status: 0, payload }) => {
                life::read_met(&payload).expect("an answer")
            }
            other => panic!("{other:?}"),
        }
    }

    fn value(leaf: &Leaf, incarnation: u64) -> Option<Vec<u8>> {
        let (status, answer) = call(leaf, rpc::GET, incarnation, &[]);
        let hit = Message::read(&answer).and_then(|hit| hit.content).filter(|_| status == 0);
        hit.map(|(_, value)| value.to_vec())
    }

    #[test]
    fn what_is_asked_of_another_incarnation_is_not_done() {
        let leaf = leaf();
        let (first, is_kept) = meet(&leaf, 0, vec![]);
        assert_eq!((meet(&leaf, 0, vec![]), is_kept), ((first, true), true), "all hear one number");
        assert_eq!(call(&leaf, rpc::SET, first, b"\0\0\0\0one").0, 0);
        let (second, is_kept) = meet(&leaf, first, vec![]);
        assert!(second != first && is_kept, "it is another from now on, and has what it had");
        assert_eq!(call(&leaf, rpc::SET, first, b"\0\0\0\0late").0, OTHER);
        assert_eq!(value(&leaf, second), Some(b"one".to_vec()));
        assert_eq!(value(&leaf, first), None);
    }

    #[test]
    fn a_leaf_forgets_what_it_is_told_to_and_all_where_another_was_known() {
        let leaf = leaf();
        let (first, _) = meet(&leaf, 0, vec![]);
        assert_eq!(call(&leaf, rpc::SET, first, b"\0\0\0\0one").0, 0);
        let (second, is_kept) = meet(&leaf, first, vec![Forget::of(Some(b"other"))]);
        assert_eq!((value(&leaf, second), is_kept), (Some(b"one".to_vec()), true));
        let (third, is_kept) = meet(&leaf, second, vec![Forget::of(Some(b"key"))]);
        assert_eq!((value(&leaf, third), is_kept), (None, true));
        for (known, forget) in [(1, vec![]), (0, vec![Forget::Everything])] {
            let (now, _) = meet(&leaf, leaf.incarnation.load(Relaxed), vec![]);
            assert_eq!(call(&leaf, rpc::SET, now, b"\0\0\0\0two").0, 0);
            let (next, is_kept) = meet(&leaf, known, forget);
            assert_eq!((value(&leaf, next), is_kept), (None, false), "it is another's memory");
        }
    }

    #[test]
    fn meetings_whose_answers_were_lost_do_not_empty_a_leaf() {
        let leaf = leaf();
        let (first, _) = meet(&leaf, 0, vec![]);
        assert_eq!(call(&leaf, rpc::SET, first, b"\0\0\0\0one").0, 0);
        assert!((0..2 * OWN_MAX).all(|_| meet(&leaf, first, vec![]).1));
        let (last, _) = meet(&leaf, first, vec![]);
        assert_eq!(value(&leaf, last), Some(b"one".to_vec()));
        // That request has named the last number: the first is another's from now on.
        assert!(!meet(&leaf, first, vec![]).1);
    }

    #[test]
    fn a_leaf_lists_each_key_once_and_only_to_those_who_know_it() {
        let leaf = leaf();
        let (known, _) = meet(&leaf, 0, vec![]);
        let mut wanted: Vec<Vec<u8>> = (0..500).map(key_of).collect();
        for key in &wanted {
            let put = Put { key, value: b"x", flags: 0, expires: 0, when: When::Always };
            at_once(leaf.store.put(put, 1)).expect("stored");
        }
        let list = |incarnation: u64, part: u32| match at_once(
            leaf.list(&life::of(incarnation, &part.to_le_bytes())),
        ) {
            Ok(Reply::Response { status, payload }) => (status, payload[8..].to_vec()),
            other => panic!("{other:?}"),
        };
        let (mut found, mut part) = (Vec::new(), 0);
        loop {
            let (status, bytes) = list(known, part);
            let (next, keys) = life::read_list(&bytes).expect("a list");
            assert_eq!(status, 0);
            found.extend(keys);
            part = next;
            if part == 0 {
                break;
            }
        }
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted);
        assert_eq!(list(known + 1, 0), (OTHER, vec![]));
        assert_eq!(list(known, u32::MAX), (0, vec![0; 4]), "beyond the end there is nothing");
    }

    #[test]
    fn each_start_is_another_incarnation() {
        let starts: std::collections::BTreeSet<u64> =
            (0..20).map(|_| leaf().incarnation.load(Relaxed)).collect();
        assert_eq!(starts.len(), 20);
    }
}
