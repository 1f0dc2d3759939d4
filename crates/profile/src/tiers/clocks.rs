//! All traces' times on one axis: nanoseconds of the first trace's clock.

use super::offset::{Lead, Offset, Stamps};
use super::survey::Tier;
use crate::hash::Map;
use crate::record::{Clock, Ticks};
use serde::Serialize;

/// Two traces whose counter and clock go together so closely were recorded on one machine, in nanoseconds. On two machines
/// both would have to agree by chance.
const SAME_NS: u64 = 100_000;

/// How a trace's clock was brought to the first one's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// It is the first trace's.
    First,
    /// Both read one counter of one machine.
    SameCounter,
    /// From the times of the calls between them.
    Calls,
    /// No call joins it to the others: it is left out.
    Unknown,
}

/// What is known of a trace's clock.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClockRow {
    /// The trace.
    pub trace: String,
    /// How its clock was brought to the first one's.
    pub basis: Basis,
    /// Calls with another trace that both ends told of wholly, and that say how its clock goes.
    pub calls: u64,
    /// How far it is ahead of the first trace's clock, in nanoseconds: in the middle of its requests.
    pub ahead_ns: i64,
    /// How far the truth may be from that.
    pub error_ns: u64,
    /// How far the calls contradict it: zero where they do not.
    pub contradiction_ns: u64,
}

/// The axis.
pub(super) struct Axis {
    pub(super) rows: Vec<ClockRow>,
    places: Vec<Place>,
}

/// How a trace's ticks come to lie on the axis.
#[derive(Clone)]
enum Place {
    /// By the first trace's line from ticks to time.
    Counter,
    /// By its own line, less its lead over the trace whose place that is.
    Beside {
        base: usize,
        offset: Offset,
        is_client: bool,
    },
    Unknown,
}

impl Axis {
    pub(super) fn new(tiers: &[Tier]) -> Self {
        let offsets = offsets(tiers);
        let mut places: Vec<Option<Place>> = vec![None; tiers.len()];
        let mut order = vec![0];
        places[0] = Some(Place::Counter);
        let mut next = 0;
        while let Some(&base) = order.get(next) {
            next += 1;
            for (tier, place) in places.iter_mut().enumerate().filter(|(_, it)| it.is_none()) {
                *place = beside(tiers, &offsets, base, tier);
                order.extend(place.as_ref().map(|_| tier));
            }
        }
        let places = places.into_iter().map(|place| place.unwrap_or(Place::Unknown)).collect();
        let mut axis = Self { rows: Vec::new(), places };
        axis.rows = (0..tiers.len()).map(|tier| axis.row(tiers, &offsets, tier)).collect();
        axis
    }

    pub(super) fn knows(&self, tier: usize) -> bool {
        !matches!(self.places[tier], Place::Unknown)
    }

    /// How far a trace's clock is ahead of the axis at a time of its own, as far as is known.
    pub(super) fn lead_at(&self, tiers: &[Tier], tier: usize, ticks: Ticks) -> i64 {
        self.lead(tiers, tier, ticks).middle()
    }

    /// A time of a trace whose clock has this lead. One for a whole request: what is known changes from moment to moment, and
    /// lengths would with it.
    pub(super) fn at(&self, tiers: &[Tier], tier: usize, ticks: Ticks, lead: i64) -> i64 {
        match self.places[tier] {
            Place::Counter => raw(&tiers[0], ticks),
            _ => raw(&tiers[tier], ticks) - lead,
        }
    }

    /// How far a trace's clock is ahead of the axis at a time of its own.
    fn lead(&self, tiers: &[Tier], tier: usize, ticks: Ticks) -> Lead {
        match &self.places[tier] {
            Place::Counter | Place::Unknown => Lead::NONE,
            Place::Beside { base, offset, is_client } => {
                let own = raw(&tiers[tier], ticks);
                // By the client's clock, which differs by the lead itself: at its closest that is known well enough.
                let there = own - offset.closest().map_or(0, Lead::middle);
                let time = if *is_client { own } else { there };
                let lead = offset.at(time).unwrap_or(Lead::NONE);
                let lead = if *is_client { lead.turned() } else { lead };
                let by_base = base_ticks(&tiers[*base], own - lead.middle());
                lead.plus(self.lead(tiers, *base, by_base))
            }
        }
    }

    fn row(&self, tiers: &[Tier], offsets: &Offsets, tier: usize) -> ClockRow {
        let calls: u64 = offsets
            .iter()
            .filter(|(pair, _)| pair.0 == tier || pair.1 == tier)
            .map(|(_, one)| one.calls())
            .sum();
        let trace = tiers[tier].name.clone();
        let (basis, lead) = match &self.places[tier] {
            _ if tier == 0 => (Basis::First, Lead::NONE),
            Place::Counter => (Basis::SameCounter, Lead::NONE),
            Place::Unknown => (Basis::Unknown, Lead::NONE),
            Place::Beside { .. } => (Basis::Calls, self.lead(tiers, tier, middle(&tiers[tier]))),
        };
        let contradiction_ns = match &self.places[tier] {
            Place::Counter => offsets
                .iter()
                .filter(|(pair, _)| pair.0 == tier || pair.1 == tier)
                .filter(|(pair, _)| self.is_counter(pair.0) && self.is_counter(pair.1))
                .filter_map(|(_, offset)| offset.closest())
                .map(|lead| lead.least.max(-lead.most).max(0).unsigned_abs())
                .max()
                .unwrap_or(0),
            _ => (lead.least - lead.most).max(0).unsigned_abs(),
        };
        let (ahead_ns, error_ns) = (lead.middle(), lead.error());
        ClockRow { trace, basis, calls, ahead_ns, error_ns, contradiction_ns }
    }

    const fn is_counter(&self, tier: usize) -> bool {
        matches!(self.places.as_slice()[tier], Place::Counter)
    }
}

/// Of pairs of client and server.
type Offsets = Map<(usize, usize), Offset>;

/// How a trace without a place comes to one beside `base`, if it can.
fn beside(tiers: &[Tier], offsets: &Offsets, base: usize, tier: usize) -> Option<Place> {
    let is_same = base == 0 && is_same_counter(&tiers[0], &tiers[tier]);
    let found = [((base, tier), false), ((tier, base), true)]
        .into_iter()
        .filter_map(|(pair, is_client)| Some((offsets.get(&pair)?, is_client)))
        .max_by_key(|(offset, _)| offset.calls());
    match found {
        // The counters of one machine are believed; where calls contradict them, the row says by how much.
        _ if is_same => Some(Place::Counter),
        Some((offset, is_client)) => {
            Some(Place::Beside { base, offset: offset.clone(), is_client })
        }
        None => None,
    }
}

/// Both were recorded on one machine, since it was started: one's line from its counter to its clock also fits the other's.
fn is_same_counter(first: &Tier, other: &Tier) -> bool {
    let Clock { ticks, raw_ns, .. } = other.clocks.first();
    first.clocks.rate().measured && first.clocks.raw_ns(ticks).abs_diff(raw_ns) <= SAME_NS
}

/// What is known from the calls of each pair. Times of pairs that read one counter are on one line.
fn offsets(tiers: &[Tier]) -> Offsets {
    let mut sent = Map::default();
    for (tier, it) in tiers.iter().enumerate() {
        for leg in it.requests.iter().flat_map(|one| &one.legs) {
            sent.insert(leg.call, (tier, leg));
        }
    }
    let same: Vec<bool> = tiers.iter().map(|it| is_same_counter(&tiers[0], it)).collect();
    let line = |tier: usize| if same[tier] { &tiers[0] } else { &tiers[tier] };
    let mut stamps: Map<(usize, usize), Vec<Stamps>> = Map::default();
    for (server, it) in tiers.iter().enumerate() {
        for request in &it.requests {
            let Some((call, read)) = request.called else { continue };
            let Some(&(client, leg)) = sent.get(&call).filter(|(client, _)| *client != server)
            else {
                continue;
            };
            let Some(answered) = leg.answered else { continue };
            stamps.entry((client, server)).or_default().push(Stamps {
                sent: raw(line(client), leg.sent),
                read: raw(line(server), read),
                replied: raw(line(server), request.end),
                answered: raw(line(client), answered),
            });
        }
    }
    stamps.into_iter().map(|(pair, calls)| (pair, Offset::of(&calls))).collect()
}

fn raw(tier: &Tier, ticks: Ticks) -> i64 {
    tier.clocks.raw_ns(ticks) as i64
}

/// Ticks of a trace at a time of its own.
fn base_ticks(tier: &Tier, raw_ns: i64) -> Ticks {
    let first = tier.clocks.first();
    let after = (raw_ns - first.raw_ns as i64) as f64 / tier.clocks.rate().ns_per_tick;
    first.ticks.wrapping_add_signed(after as i64)
}

/// The middle of a trace's requests.
fn middle(tier: &Tier) -> Ticks {
    let first = tier.requests.iter().map(|one| one.start).min();
    let last = tier.requests.iter().map(|one| one.end).max();
    first.zip(last).map_or(0, |(first, last)| first + (last - first) / 2)
}
