//! The store behind tailwater's RPC: GET, SET, ADD and DELETE as methods.
//!
//! A request is `tag: u32, method: u8, key length: u8, key`, little-endian, and for SET and ADD `flags: u32,
//! value`. Its answer repeats the first five bytes; a hit repeats the whole and adds `flags: u32, value`,
//! so that an answer can be checked by itself.

use crate::locks::Tasks;
use crate::store::{Failure, KEY_MAX, Put, Store, Stored, When};
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::MethodId;
use tailwater_load::Spinner;
use tailwater_rt::time::now;
use tailwater_rt::{Reply, Request, Router};

/// Looks a key up.
pub const GET: MethodId = MethodId(1);
/// Stores a value.
pub const SET: MethodId = MethodId(2);
/// Removes a key.
pub const DELETE: MethodId = MethodId(3);
/// Stores a value where the key is not there.
pub const ADD: MethodId = MethodId(4);

/// Status: the key is not there.
pub const MISS: u16 = 1;
/// Status: neither memory nor anything to evict for it was found.
pub const OUT_OF_MEMORY: u16 = 2;
/// Status: ADD found the key.
pub const THERE: u16 = 3;
/// Status: the request is malformed, or its value too long.
pub const MALFORMED: u16 = 400;

const HEAD_BYTES: usize = 5;

/// Appends the beginning of a request: all of it but flags and value. `key` writes the key.
pub fn request(tag: u32, method: MethodId, key: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend_from_slice(&tag.to_le_bytes());
    bytes.extend_from_slice(&[method.0.to_le_bytes()[0], 0]);
    key(&mut bytes);
    let len = u8::try_from(bytes.len() - HEAD_BYTES - 1).unwrap_or(u8::MAX);
    bytes[HEAD_BYTES] = len;
    bytes
}

/// A request, or the answer that is a hit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// The caller's.
    pub tag: u32,
    /// Which method.
    pub method: u16,
    /// The key.
    pub key: &'a [u8],
    /// Flags and value, where the message has them.
    pub content: Option<(u32, &'a [u8])>,
}

impl<'a> Message<'a> {
    /// Reads one; `None` if it is none.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (tag, rest) = bytes.split_first_chunk()?;
        let (&[method, len], rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_at_checked(usize::from(len))?;
        let content = match rest {
            [] => None,
            rest => {
                let (flags, value) = rest.split_first_chunk()?;
                Some((u32::from_le_bytes(*flags), value))
            }
        };
        let is_key = (1..=KEY_MAX).contains(&key.len());
        let message =
            Self { tag: u32::from_le_bytes(*tag), method: u16::from(method), key, content };
        is_key.then_some(message)
    }
}

/// What every request computes before it looks into the store. It stands for the work that a server does for a
/// request beside the store's. The store alone would be faster than what loads it.
#[derive(Clone, Copy, Debug)]
pub struct Overhead {
    /// Computes.
    pub spinner: Spinner,
    /// For how long; zero: nothing.
    pub time: Duration,
}

/// The methods over a store.
#[must_use]
pub fn router(store: &Arc<Store<Tasks>>, overhead: Overhead) -> Router {
    let [of_get, of_set, of_add, of_delete] = [(); 4].map(|()| store.clone());
    Router::new()
        .route(GET.0, move |request| get(of_get.clone(), overhead.payload(request)))
        .route(SET.0, move |request| put(of_set.clone(), overhead.payload(request), When::Always))
        .route(ADD.0, move |request| put(of_add.clone(), overhead.payload(request), When::Absent))
        .route(DELETE.0, move |request| delete(of_delete.clone(), overhead.payload(request)))
}

impl Overhead {
    /// The request's payload, once the time has been computed.
    fn payload(self, request: Request) -> Vec<u8> {
        self.spinner.spin(self.time);
        request.payload
    }
}

async fn get(store: Arc<Store<Tasks>>, request: Vec<u8>) -> Result<Reply, Reply> {
    let key = Message::read(&request).ok_or_else(malformed)?.key;
    let mut answer = Vec::new();
    let hit = store.get(key, seconds(), |found| {
        answer.reserve_exact(request.len() + 4 + found.value.len());
        answer.extend_from_slice(&request);
        answer.extend_from_slice(&found.flags.to_le_bytes());
        answer.extend_from_slice(found.value);
    });
    match hit.await? {
        Some(()) => Ok(Reply::ok(answer)),
        None => Ok(short(MISS, request)),
    }
}

async fn put(store: Arc<Store<Tasks>>, request: Vec<u8>, when: When) -> Result<Reply, Reply> {
    let Some(Message { key, content: Some((flags, value)), .. }) = Message::read(&request) else {
        return Err(malformed());
    };
    let put = Put { key, value, flags, expires: 0, when };
    match store.put(put, seconds()).await {
        Ok(Stored::NotStored) => Ok(short(THERE, request)),
        Ok(_) => Ok(short(0, request)),
        Err(Failure::Refused(refused)) => Err(refused.into()),
        Err(Failure::TooLarge) => Err(malformed()),
        Err(Failure::OutOfMemory | Failure::TooBusy) => Ok(short(OUT_OF_MEMORY, request)),
    }
}

async fn delete(store: Arc<Store<Tasks>>, request: Vec<u8>) -> Result<Reply, Reply> {
    let key = Message::read(&request).ok_or_else(malformed)?.key;
    let deleted = store.delete(key, seconds()).await?;
    Ok(short(if deleted { 0 } else { MISS }, request))
}

/// The answer that is the request's head, in its buffer.
fn short(status: u16, mut request: Vec<u8>) -> Reply {
    request.truncate(HEAD_BYTES);
    Reply::Response { status, payload: request }
}

fn malformed() -> Reply {
    Reply::failure(
        MALFORMED,
        "tag, method, key length, key are needed; for SET and ADD, flags and value too",
    )
}

/// The store's clock: never zero, which means never.
fn seconds() -> u32 {
    let since_boot = now().as_nanos() / 1_000_000_000;
    u32::try_from(since_boot).unwrap_or(u32::MAX).saturating_add(1)
}
