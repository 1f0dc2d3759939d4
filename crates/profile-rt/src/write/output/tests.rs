use super::*;
use crate::look::items::way;
use crate::look::scan::Window;
use crate::memory::abi::What;
use crate::memory::state::Phase;
use crate::memory::unawaited::UNIT;
use crate::write::names::tests::{address, desc};
use tailwater_profile::record::{Gap, MarkKind, WaitKind};
use tailwater_profile::trace::{Header, Reader};

fn output(arena: Arena, term: Term) -> Output<Vec<u8>> {
    let header = Header {
        architecture: String::new(),
        pid: 1,
        program: String::new(),
        build_id: vec![],
        clock: clock::read(),
    };
    let writer = Writer::new(Vec::new(), &header).expect("memory");
    Output::new(arena, term, writer, Filter::default(), Subject::Own)
}

fn pushes_a_mark(arena: Arena, slot: usize) {
    assert!(Event::Mark { kind: MarkKind::Start, request: 7, at: 9 }.push(arena.ring(slot)));
}

/// Marks that are taken out of the ring of a slot by this output.
fn taken(output: &mut Output<Vec<u8>>, arena: Arena, slot: usize, by: Term) -> usize {
    output.empty_rings();
    let left = std::iter::from_fn(|| Event::pop(arena.ring(slot), by)).count();
    1 - left
}

#[test]
fn a_recorder_that_stood_still_leaves_all_to_the_next() {
    let arena = Arena::create().expect("address space");
    let (id, slot) = (ThreadId(0), 0);
    let state = &arena.slot(slot).context.state;
    state.begin(arena.term());
    arena.header().slots_used.store(1, Relaxed);
    let first = arena.begin_term(|| true).expect("it has the lease");
    state.adopt(first).expect("it is there");
    let mut stood_still = output(arena, first);
    stood_still.came(id, slot, 0);
    pushes_a_mark(arena, slot);
    assert_eq!(taken(&mut stood_still, arena, slot, first), 1, "it has the lease");

    let next = arena.begin_term(|| true).expect("it has the lease");
    pushes_a_mark(arena, slot);
    assert_eq!(taken(&mut stood_still, arena, slot, next), 0);
    // Of a slot that the next recorder did not find, and has adopted since.
    stood_still.came(ThreadId(1), 1, 0);
    arena.ring(1).adopt(next);
    pushes_a_mark(arena, 1);
    assert_eq!(taken(&mut stood_still, arena, 1, next), 0);
    arena.header().watch.born.add();
    state.adopt(next).expect("it is there");
    state.end();
    let unloads = &arena.header().unloads;
    let posted = unloads.post(&(0..32), 1, arena.term()).expect("room");
    let closing = unloads.take(next).expect("one waits");
    stood_still.every_second();
    stood_still.went(id, slot);
    stood_still.take(Item::Unload { place: closing.place, descs: (0, 32), at: 1 });
    assert_eq!(arena.header().watch.born.take(next), 1);
    assert_eq!(state.phase(), Phase::Ended);
    assert!(!unloads.is_done(&posted));
}

#[test]
fn a_library_goes_when_all_scanners_have_looked_for_it() {
    let arena = Arena::create().expect("address space");
    let term = arena.begin_term(|| true).expect("it has the lease");
    let mut output = output(arena, term);
    output.scanners = 2;
    let unloads = &arena.header().unloads;
    let posted = [(0..32), (32..64)].map(|descs| unloads.post(&descs, 1, term).expect("room"));
    let places = [(); 2].map(|()| unloads.take(term).expect("two wait").place);
    let is_done = || posted.each_ref().map(|posted| unloads.is_done(posted));
    for (place, done) in [(0, [false; 2]), (1, [false; 2]), (0, [true, false]), (1, [true; 2])] {
        output.take(Item::Unload { place: places[place], descs: (0, 32), at: 1 });
        assert_eq!(is_done(), done);
    }
}

#[test]
fn where_one_scanner_is_dead_the_others_stop_and_what_they_told_is_written() {
    let arena = Arena::create().expect("address space");
    let term = arena.begin_term(|| true).expect("it has the lease");
    let [(dead, first), (lives, second)] = [way(), way()];
    drop(dead);
    let scanner = std::thread::spawn(move || {
        while !process::stop().load(Relaxed) {
            std::thread::sleep(NAP);
        }
        let gap = Gap { thread: None, start: 7, end: 9 };
        lives.to.send(vec![Item::Gap(gap)]).expect("it is read");
    });
    output(arena, term).run(vec![first, second]).expect("memory");
    scanner.join().expect("it was told to stop");
}

#[test]
fn what_is_named_once_the_next_recorder_has_begun_is_lost() {
    let arena = Arena::create().expect("address space");
    let term = arena.begin_term(|| true).expect("it has the lease");
    let mut output = output(arena, term);
    let mut place = desc(c"alpha", 0);
    let first = address(&place);
    let what = What { desc: first, ..What::default() };
    let tell = |output: &mut Output<Vec<u8>>, at| {
        let window = Window { from: at, to: at };
        let (start, end) = (window, window);
        let call = Ended { what, parent: 0, depth: 0, generation: at, start, end, flags: 0 };
        output.call(ThreadId(0), call);
        output.wait(
            ThreadId(0),
            &Waited {
                kind: WaitKind::Mutex,
                object: 7,
                start: at - 1,
                end: at,
                released: at,
                holder: 0,
                function: first,
                held_in: what,
                site: 0,
            },
        );
    };
    tell(&mut output, 10);
    // Another library lies there, and the next recorder was told of that.
    arena.begin_term(|| true).expect("it has the lease");
    let unawaited = &arena.header().unloads.unawaited;
    unawaited.leave(&(first..first + 1), 30 * UNIT, || arena.term());
    place = desc(c"beta", 0);
    std::hint::black_box(&place);
    tell(&mut output, 40);
    output.writer.finish().expect("memory");
    let read = Reader::new(output.writer.get_ref().as_slice()).expect("a header");
    let records: Vec<Record> = read.map(|item| item.expect("sound")).collect();
    let [Record::Function(alpha), Record::Call(_), Record::Wait(_), lost @ ..] = &records[..]
    else {
        panic!("{records:?}");
    };
    assert_eq!(alpha.name, "alpha");
    let lost_one = |kind| Record::Loss(Loss { thread: Some(ThreadId(0)), kind, count: 1 });
    assert_eq!(lost, [LossKind::Calls, LossKind::Waits].map(lost_one));
}

#[test]
fn a_library_that_went_unawaited_keeps_what_was_read_and_takes_no_other_ones_names() {
    let arena = Arena::create().expect("address space");
    let term = arena.begin_term(|| true).expect("it has the lease");
    let mut output = output(arena, term);
    let mut place = [desc(c"alpha", 0), desc(c"beta", 0)];
    let [first, second] = [address(&place[0]), address(&place[1])];
    let descs = first..second + 1;
    let id = |output: &mut Output<Vec<u8>>, desc, at: Ticks| {
        output.function(desc, at * UNIT).expect("a descriptor").id
    };
    let alpha = id(&mut output, first, 10);
    let leave = |at: Ticks| arena.header().unloads.unawaited.leave(&descs, at * UNIT, || term);
    leave(20);
    leave(30);
    place = [desc(c"gamma", 0), desc(c"delta", 0)];
    std::hint::black_box(&place);
    assert_eq!(id(&mut output, first, 20), alpha);
    let lost = id(&mut output, second, 20);
    assert_eq!(id(&mut output, first, 30), lost, "of the second library");
    let gamma = id(&mut output, first, 31);
    assert!(gamma != alpha && gamma != lost);
    // The first one had a place.
    let descs = (descs.start, descs.end);
    output.take(Item::Unload { place: 0, descs, at: 20 * UNIT });
    let found = [20, 30, 31].map(|at| id(&mut output, first, at));
    assert_eq!(found, [alpha, lost, gamma]);
    leave(50);
    let found = [30, 40, 50].map(|at| id(&mut output, first, at));
    assert_eq!(found, [lost; 3]);
}
