//! Values that say who wrote them: key, epoch and number, and bytes that are a function of these.

use tailwater_core::Rng;

const HEAD_BYTES: usize = 12;

/// The epoch of what is there before anybody writes.
const BEGINNING: u32 = 0;

/// The value that a write of this number has: 12 to 1,000 bytes, mostly short, of a length that belongs to the key.
#[must_use]
pub fn value(key: u32, epoch: u32, number: u32) -> Vec<u8> {
    let of_key = Rng::from_seed(key.into()).exponential(100.0);
    let len = (HEAD_BYTES as f64 + of_key).min(1_000.0) as usize;
    let mut rng = Rng::from_seed(u64::from(epoch) << 32 | u64::from(number)).split("value");
    let mut value = [key, epoch, number].map(u32::to_le_bytes).concat();
    while value.len() < len {
        value.extend_from_slice(&rng.u64().to_le_bytes());
    }
    value.truncate(len);
    value
}

/// What a key has before anybody writes it, where it has something.
#[must_use]
pub fn initial(key: u32) -> Vec<u8> {
    value(key, BEGINNING, 0)
}

/// Whose value of this key it is: the epoch, `None` for the initial one, and the number of the write.
pub(super) fn writer_of(key: u32, found: &[u8]) -> Option<Option<(u32, u32)>> {
    let (head, _) = found.split_first_chunk::<HEAD_BYTES>()?;
    let words = head.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
    let [of, epoch, number] = words.collect::<Vec<_>>().try_into().ok()?;
    let is_whole = of == key && value(key, epoch, number) == found;
    is_whole.then_some(((epoch, number) != (BEGINNING, 0)).then_some((epoch, number)))
}

/// For people: what is found of a key.
#[must_use]
pub fn told(key: u32, found: Option<&[u8]>) -> String {
    match found.map(|found| writer_of(key, found)) {
        None => "nothing".into(),
        Some(None) => "no value of the key".into(),
        Some(Some(None)) => "what it had at first".into(),
        Some(Some(Some((epoch, number)))) => format!("write {number} of generator {epoch}"),
    }
}
