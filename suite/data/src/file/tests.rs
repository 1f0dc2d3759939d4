//! Files that come back as they were written, and files that were changed since.

use super::*;
use std::fs;
use std::path::PathBuf;

/// A folder of the test's own, gone when it ends.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("tailwater-data-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("inner").join("x.data")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn origin() -> Origin {
    let text = |text: &str| text.to_owned();
    Origin { about: text("three"), source: text("a test"), licence: text("none"), stamp: text("1") }
}

fn written(place: &Place) -> Header {
    let content = Content::new("test", origin()).with("one", vec![1, 2, 3]).with("two", vec![]);
    content.with("three", vec![4; 70_000]).write(&place.file()).expect("written")
}

#[test]
fn what_is_written_comes_back() {
    let place = Place::new("back");
    let header = written(&place);
    let mut data = Data::open_as(&place.file(), "test").expect("opened");
    assert_eq!(data.header(), &header);
    assert_eq!(data.section("three").expect("there"), [4; 70_000]);
    assert_eq!(data.section("one").expect("there"), [1, 2, 3]);
    assert!(data.section("two").expect("there").is_empty());
    assert!(data.section("four").is_err());
    data.verify().expect("sound");
    assert_eq!(header.bytes(), 70_003);
    let left: Vec<_> = fs::read_dir(place.0.join("inner")).expect("a folder").collect();
    assert_eq!(left.len(), 1, "no draft is left");
}

#[test]
fn another_kind_is_refused() {
    let place = Place::new("kind");
    written(&place);
    let error = Data::open_as(&place.file(), "other").expect_err("refused").to_string();
    assert!(error.contains("\"test\" where \"other\" is needed"), "{error}");
}

#[test]
fn every_cut_and_every_changed_byte_is_found() {
    let place = Place::new("harm");
    written(&place);
    let whole = fs::read(place.file()).expect("read");
    let sound = |bytes: &[u8]| {
        fs::write(place.file(), bytes).expect("written");
        Data::open_as(&place.file(), "test").and_then(|mut data| data.verify())
    };
    for length in [0, 1, 20, 64, 300, whole.len() - 1] {
        assert!(sound(&whole[..length]).is_err(), "{length} bytes");
    }
    assert!(sound(&[&whole[..], &[0]].concat()).is_err(), "a byte more");
    let header = whole.len() - 70_003;
    for at in [header, header + 2, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        assert!(sound(&changed).is_err(), "byte {at}");
    }
    // Opening reads no section, and finds each change of what stands before them.
    for at in 0..header {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(place.file(), changed).expect("written");
        assert!(Data::open(&place.file()).is_err(), "byte {at}");
    }
    assert!(sound(&whole).is_ok());
}

/// A section is read without the others: it has a hash of its own.
#[test]
fn a_section_that_is_damaged_is_refused_and_the_others_are_not() {
    let place = Place::new("section");
    written(&place);
    let mut whole = fs::read(place.file()).expect("read");
    *whole.last_mut().expect("a byte") ^= 1;
    fs::write(place.file(), whole).expect("written");
    let mut data = Data::open(&place.file()).expect("its header is sound");
    assert_eq!(data.section("one").expect("sound"), [1, 2, 3]);
    let error = data.section("three").expect_err("damaged").to_string();
    assert!(error.contains("the SHA-256 of its three is not that of its header"), "{error}");
}

const RECORDS: u32 = 3_000;

/// Records of so many bytes, each full of its number.
fn with_records(place: &Place, record_bytes: usize) -> Data {
    let bytes = (0..RECORDS).flat_map(|number| vec![number as u8; record_bytes]).collect();
    let content = Content::new("test", origin()).with("one", vec![1, 2, 3]);
    let content = content.with_records("some", record_bytes, bytes);
    content.with("behind", vec![9; 5_000]).write(&place.file()).expect("written");
    Data::open(&place.file()).expect("opened")
}

fn read(data: &mut Data, record_bytes: usize, numbers: &[u32]) -> Result<Vec<Vec<u8>>, DataError> {
    let mut all = Vec::new();
    let numbers = numbers.iter().copied();
    data.read_records("some", record_bytes, numbers, |record| all.push(record.to_vec()))?;
    Ok(all)
}

#[test]
fn some_records_come_without_the_others() {
    let place = Place::new("records");
    // Shorter than a page, as long as one, and longer; none of them begins with one.
    for bytes in [1, 200, 4_096, 5_001] {
        let mut data = with_records(&place, bytes);
        assert_eq!(data.records("some", bytes).expect("whole"), RECORDS as usize);
        let every: Vec<u32> = (0..RECORDS).collect();
        let third: Vec<u32> = (1..RECORDS).step_by(3).collect();
        let mixed = [2_999, 0, 1, 1_500, 1_499, 1_499, 2_999];
        for numbers in [&every[..], &third, &mixed, &[]] {
            let wanted: Vec<Vec<u8>> =
                numbers.iter().map(|&number| vec![number as u8; bytes]).collect();
            assert_eq!(read(&mut data, bytes, numbers).expect("read"), wanted, "{bytes} bytes");
        }
        data.verify().expect("sound");
    }
}

#[test]
fn a_record_that_is_damaged_is_refused_where_it_is_read() {
    let place = Place::new("record");
    drop(with_records(&place, 200));
    let mut whole = fs::read(place.file()).expect("read");
    // Record 17, counted from the end of the file.
    let at = whole.len() - 5_000 - 200 * (RECORDS as usize - 17) + 3;
    whole[at] ^= 0x10;
    fs::write(place.file(), whole).expect("written");
    let mut data = Data::open(&place.file()).expect("its header is sound");
    assert!(read(&mut data, 200, &[16, 18]).is_ok());
    let error = read(&mut data, 200, &[16, 17]).expect_err("damaged").to_string();
    assert!(error.contains("record 17 of its some has not its sum"), "{error}");
}

#[test]
fn records_that_are_not_there_are_refused() {
    let place = Place::new("none");
    let mut data = with_records(&place, 200);
    assert!(data.records("some", 0).is_err());
    let error = data.records("some", 7).expect_err("no whole number").to_string();
    assert!(error.contains("600000 bytes, which are no whole number of 7"), "{error}");
    assert!(read(&mut data, 7, &[0]).is_err());
    let error = read(&mut data, 200, &[RECORDS]).expect_err("too large").to_string();
    assert!(error.contains("no record 3000"), "{error}");
    assert!(data.read_records("one", 1, [0], |_| ()).is_err(), "it has no sums");
}

#[test]
fn sections_that_lie_elsewhere_are_refused() {
    let place = Place::new("overlap");
    written(&place);
    let text = fs::read(place.file()).expect("read");
    let header = &text[..text.len() - 70_003];
    let text = String::from_utf8(header.to_vec()).expect("a header");
    let (_, json) = text.split_once('\n').expect("two lines");
    // As long as before, and the third section where the first is.
    let moved = json.replace("\"start\":3,\"bytes\":70000", "\"start\":0,\"bytes\":70003");
    assert_eq!(moved.len(), json.len());
    let line = write::first_line(moved.as_bytes());
    let bytes = [line.as_bytes(), moved.as_bytes(), &[0; 70_003]].concat();
    fs::write(place.file(), bytes).expect("written");
    let error = Data::open(&place.file()).expect_err("refused").to_string();
    assert!(error.contains("not what its header says"), "{error}");
}

#[test]
fn a_header_that_no_reader_takes_is_not_written() {
    let place = Place::new("long");
    let origin = Origin { stamp: "x".repeat(HEADER_BYTES_MAX), ..origin() };
    let error = Content::new("test", origin).write(&place.file()).expect_err("too long");
    assert!(matches!(error, DataError::HeaderTooLong(..)), "{error}");
    assert!(!place.file().exists());
}

/// As a process leaves it that is ended amid writing; another that writes still has a lock.
#[test]
fn drafts_that_nobody_writes_any_more_are_taken_away() {
    let place = Place::new("drafts");
    let folder = place.0.join("inner");
    fs::create_dir_all(&folder).expect("a folder");
    let [left, held] =
        ["x.00.00000000000000a0.part", "x.00000000000000a1.part"].map(|it| folder.join(it));
    // What others call so is not this program's to take away.
    let others = ["x.part", "film.part", "x.00000000000000A2.part", "x.a3.part", "x.part.data"];
    let others = others.map(|it| folder.join(it));
    for path in [&left, &held].into_iter().chain(&others) {
        fs::write(path, "half").expect("written");
    }
    let writer = fs::File::open(&held).expect("opened");
    writer.try_lock().expect("locked");
    written(&place);
    assert!(!left.exists() && held.exists());
    drop(writer);
    written(&place);
    assert!(!held.exists() && place.file().exists());
    assert!(others.iter().all(|path| path.exists()), "{others:?}");
}

/// Another process clears the folder when all is written, and the draft has not its name yet.
#[test]
fn a_draft_is_kept_until_it_has_its_name() {
    let place = Place::new("kept");
    written(&place);
    let mut draft = write::Draft::beside(&place.file()).expect("a draft");
    let content = Content::new("test", origin()).with("one", vec![5]);
    content.write_draft(&mut draft.file, b"{}").expect("written");
    write::clear_drafts(&place.0.join("inner"));
    draft.put_at(&place.file()).expect("it is there still");
    assert!(!draft.path.exists());
}

/// A process that has made a draft, and locks it only then, must not get the lock while another takes it away.
#[test]
fn a_draft_is_taken_away_under_its_lock() {
    let place = Place::new("lock");
    let draft = place.0.join("x.00000000000000a0.part");
    fs::write(&draft, "half").expect("written");
    let lock = write::lock_of_nobodys(&draft).expect("nobody's");
    assert!(write::lock_of_nobodys(&draft).is_none());
    drop(lock);
    assert!(write::lock_of_nobodys(&draft).is_some());
}

/// Each clears what it takes for left, and none takes away what another writes.
#[test]
fn many_that_write_the_same_file_at_once_do_not_hinder_each_other() {
    let place = Place::new("many");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..100).for_each(|_| drop(written(&place))));
        }
    });
    Data::open(&place.file()).and_then(|mut data| data.verify()).expect("sound");
    let left: Vec<_> = fs::read_dir(place.0.join("inner")).expect("a folder").collect();
    assert_eq!(left.len(), 1, "no draft is left");
}

#[test]
fn what_is_not_there_names_how_it_comes() {
    let error = Data::open("/nowhere/x.data".as_ref()).expect_err("not there").to_string();
    assert!(error.contains("tailwater data make"), "{error}");
}
