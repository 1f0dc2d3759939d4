//! Changes that depend on what is stored: read, compute, store if nobody came between.

use super::{Failure, Found, Put, Store, Stored, When};
use crate::locks::Locks;

/// After so many interruptions an update gives up. Each means that another one succeeded.
const ATTEMPTS: usize = 1_000;

/// What became of adding to a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// The new number.
    Is(u64),
    /// There is no such item.
    NotFound,
    /// What is stored is no decimal number of 64 bits.
    NotANumber,
}

impl<L: Locks> Store<L> {
    /// Puts `value` behind the stored one, or before it. False on a miss.
    ///
    /// # Errors
    /// [`Failure`]; then nothing has changed.
    pub async fn extend(
        &self,
        key: &[u8],
        value: &[u8],
        before: bool,
        now: u32,
    ) -> Result<bool, Failure> {
        let joined = |found: Found<'_>| {
            let parts = if before { [value, found.value] } else { [found.value, value] };
            Ok::<_, ()>(parts.concat())
        };
        Ok(self.update(key, now, joined).await?.is_some())
    }

    /// Adds to a decimal number, wrapping round at 64 bits, or subtracts from it down to zero.
    ///
    /// # Errors
    /// [`Failure`]; then nothing has changed.
    pub async fn add(
        &self,
        key: &[u8],
        delta: u64,
        up: bool,
        now: u32,
    ) -> Result<Arithmetic, Failure> {
        let mut result = 0;
        let counted = |found: Found<'_>| {
            let number = decimal(found.value).ok_or(())?;
            result = if up { number.wrapping_add(delta) } else { number.saturating_sub(delta) };
            Ok(result.to_string().into_bytes())
        };
        Ok(match self.update(key, now, counted).await? {
            None => Arithmetic::NotFound,
            Some(Err(())) => Arithmetic::NotANumber,
            Some(Ok(())) => Arithmetic::Is(result),
        })
    }

    /// `None` on a miss, `Err` where `change` refuses.
    async fn update<E>(
        &self,
        key: &[u8],
        now: u32,
        mut change: impl FnMut(Found<'_>) -> Result<Vec<u8>, E>,
    ) -> Result<Option<Result<(), E>>, Failure> {
        for _ in 0..ATTEMPTS {
            let read = |found: Found<'_>| (found.flags, found.expires, found.cas, change(found));
            let Some((flags, expires, cas, value)) =
                self.look_up(key, now, read, |_, _| {}).await?
            else {
                return Ok(None);
            };
            let value = match value {
                Ok(value) => value,
                Err(error) => return Ok(Some(Err(error))),
            };
            let put = Put { key, value: &value, flags, expires, when: When::Same(cas) };
            match self.put(put, now).await? {
                Stored::Stored => return Ok(Some(Ok(()))),
                Stored::NotFound => return Ok(None),
                Stored::Changed | Stored::NotStored => {}
            }
        }
        Err(Failure::TooBusy)
    }
}

/// Digits only: `parse` alone would take a sign.
fn decimal(text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text).ok()?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}
