//! Bytes of events to values, by the fields that `format` files tell.

use crate::event::{Context, Event, Left, LocalInterrupt, What};
use crate::format::{Field, Format};

/// A tracepoint that is understood.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Point {
    Switch,
    Waking,
    Wakeup,
    WakeupNew,
    Migrate,
    Fork,
    Rename,
    InterruptEntry,
    InterruptExit,
    SoftirqEntry,
    SoftirqExit,
    LocalEntry(LocalInterrupt),
    LocalExit(LocalInterrupt),
    Fault,
    Retransmission,
}

/// Where the fields of a tracepoint's events lie.
#[derive(Clone, Copy, Debug)]
struct Layout {
    point: Point,
    tid: Field,
    flags: Field,
    /// What the point tells beyond that, in the order of [`Point::fields`].
    fields: [Option<Field>; 5],
}

/// The layouts of all tracepoints that are recorded.
#[derive(Clone, Default, Debug)]
pub(crate) struct Layouts {
    /// By the tracepoint's number.
    known: Vec<(u16, Layout)>,
}

impl Point {
    /// The fields that [`Layouts::decode`] needs of it.
    const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Switch => &["prev_comm", "prev_state", "next_pid", "next_comm", "prev_pid"],
            Self::Waking | Self::Wakeup | Self::WakeupNew => &["pid", "target_cpu"],
            Self::Migrate => &["pid", "dest_cpu"],
            Self::Fork => &["child_pid"],
            Self::Rename => &["pid", "newcomm"],
            Self::InterruptEntry => &["irq"],
            Self::SoftirqEntry => &["vec"],
            Self::Fault => &["address"],
            Self::InterruptExit
            | Self::SoftirqExit
            | Self::LocalEntry(_)
            | Self::LocalExit(_)
            | Self::Retransmission => &[],
        }
    }
}

impl Layouts {
    /// Adds a tracepoint; an error names a field that is needed and not there.
    pub(crate) fn add(&mut self, point: Point, format: &Format) -> Result<(), String> {
        let mut fields = [None; 5];
        for (place, name) in fields.iter_mut().zip(point.fields()) {
            *place = Some(format.field(name)?);
        }
        let (tid, flags) = (format.field("common_pid")?, format.field("common_flags")?);
        self.known.push((format.id, Layout { point, tid, flags, fields }));
        self.known.sort_unstable_by_key(|(id, _)| *id);
        Ok(())
    }

    /// Forgets all tracepoints but these.
    pub(crate) fn keep(&mut self, points: &[Point]) {
        self.known.retain(|(_, layout)| points.contains(&layout.point));
    }

    /// Whether threads that are made are told of.
    pub(crate) fn tell_forks(&self) -> bool {
        self.known.iter().any(|(_, layout)| layout.point == Point::Fork)
    }

    /// The numbers of the tracepoints, that of switches first.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u16> + '_ {
        let of = |switch: bool| {
            let known = self.known.iter();
            known.filter(move |(_, layout)| (layout.point == Point::Switch) == switch)
        };
        of(true).chain(of(false)).map(|(id, _)| *id)
    }

    /// An event from its bytes; `None` where they are too short or of no tracepoint that is known.
    pub(crate) fn decode(&self, at_ns: u64, cpu: u32, bytes: &[u8]) -> Option<Event> {
        let id = u16::from_ne_bytes(*bytes.first_chunk()?);
        let at = self.known.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        let layout = &self.known[at].1;
        let tid = layout.tid.unsigned(bytes)?;
        Some(Event { at_ns, cpu, tid, what: layout.what(bytes)? })
    }
}

impl Layout {
    fn what(&self, bytes: &[u8]) -> Option<What> {
        let field = |nth: usize| self.fields[nth];
        let number = |nth: usize| field(nth)?.unsigned(bytes);
        Some(match self.point {
            Point::Switch => What::Switch {
                previous_name: field(0)?.name(bytes)?,
                left: Left::of_state(field(1)?.number(bytes)?),
                next: number(2)?,
                next_name: field(3)?.name(bytes)?,
            },
            Point::Waking => {
                let context = Context::of_flags(self.flags.unsigned(bytes)?);
                What::Waking { tid: number(0)?, cpu: number(1)?, context }
            }
            Point::Wakeup | Point::WakeupNew => What::Wakeup {
                tid: number(0)?,
                cpu: number(1)?,
                is_new: self.point == Point::WakeupNew,
            },
            Point::Migrate => What::Migrate { tid: number(0)?, cpu: number(1)? },
            Point::Fork => What::Fork { child: number(0)? },
            Point::Rename => What::Rename { tid: number(0)?, name: field(1)?.name(bytes)? },
            Point::InterruptEntry => What::InterruptEntry { line: number(0)? },
            Point::InterruptExit => What::InterruptExit,
            Point::SoftirqEntry => What::SoftirqEntry { vector: number(0)? },
            Point::SoftirqExit => What::SoftirqExit,
            Point::LocalEntry(kind) => What::LocalEntry(kind),
            Point::LocalExit(kind) => What::LocalExit(kind),
            Point::Fault => What::Fault { address: field(0)?.number(bytes)? as u64 },
            Point::Retransmission => What::Retransmission,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Name;

    /// Fields one after another, from 8 on; the common ones before them.
    fn format(id: u16, fields: &[(&str, usize)]) -> Format {
        let mut text = format!(
            "ID: {id}\nfield:unsigned short common_type; offset:0; size:2; signed:0;\n\
             field:unsigned char common_flags; offset:2; size:1; signed:0;\n\
             field:int common_pid; offset:4; size:4; signed:1;\n"
        );
        let mut offset = 8;
        for (name, size) in fields {
            text.push_str(&format!("field:t {name}; offset:{offset}; size:{size}; signed:1;\n"));
            offset += size;
        }
        Format::parse(&text).expect("a format")
    }

    fn bytes(id: u16, flags: u8, tid: i32, rest: &[&[u8]]) -> Vec<u8> {
        let mut bytes = id.to_ne_bytes().to_vec();
        bytes.extend([flags, 0]);
        bytes.extend(tid.to_ne_bytes());
        rest.iter().for_each(|part| bytes.extend_from_slice(part));
        bytes
    }

    #[test]
    fn a_switch_and_a_waking_in_an_interrupt_are_read() {
        let mut layouts = Layouts::default();
        let switch = [
            ("prev_comm", 16),
            ("prev_pid", 4),
            ("prev_state", 8),
            ("next_comm", 16),
            ("next_pid", 4),
        ];
        layouts.add(Point::Switch, &format(40, &switch)).expect("all fields");
        let waking = format(7, &[("pid", 4), ("target_cpu", 4)]);
        layouts.add(Point::Waking, &waking).expect("all fields");
        assert_eq!(layouts.ids().collect::<Vec<_>>(), [40, 7], "switches first");
        let names = [Name::new(b"one"), Name::new(b"two")];
        let padded = |name: &[u8]| [name, &[0; 16]].concat()[..16].to_vec();
        let (one, two) = (padded(b"one"), padded(b"two"));
        let (state, five) = (1i64.to_ne_bytes(), 5i32.to_ne_bytes());
        let told = bytes(40, 0, 4, &[&one, &4i32.to_ne_bytes(), &state, &two, &five]);
        let what = What::Switch {
            previous_name: names[0],
            left: Left::Asleep,
            next: 5,
            next_name: names[1],
        };
        let expected = Event { at_ns: 9, cpu: 1, tid: 4, what };
        assert_eq!(layouts.decode(9, 1, &told), Some(expected));
        let told = bytes(7, 0x08, 4, &[&five, &1i32.to_ne_bytes()]);
        let what = What::Waking { tid: 5, cpu: 1, context: Context::Interrupt };
        assert_eq!(layouts.decode(9, 0, &told), Some(Event { at_ns: 9, cpu: 0, tid: 4, what }));
        assert_eq!(layouts.decode(9, 0, &told[..10]), None, "cut");
        assert_eq!(layouts.decode(9, 0, &bytes(8, 0, 4, &[])), None, "no such point");
        layouts.keep(&[Point::Waking]);
        assert_eq!(layouts.ids().collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn a_kernel_without_a_field_is_told_of() {
        let error = Layouts::default().add(Point::Waking, &format(7, &[("pid", 4)]));
        assert!(error.expect_err("no target_cpu").contains("target_cpu"));
    }
}
