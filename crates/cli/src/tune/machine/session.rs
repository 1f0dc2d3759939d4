//! Turning knobs, with everything put back at the end.

use super::root::Root;
use super::store::{self, Stored};
use super::{lock, place};
use crate::failure::Failure;
use std::collections::BTreeMap;
use std::fs::File;
use tailwater_tune::journal::{Entry, Journal, Place, Standing};
use tailwater_tune::knobs::{self, Form, Lever};

/// Knobs that are turned. What they were is put back when it ends or is dropped, also by a panic.
pub(in crate::tune) struct Session {
    root: Root,
    journal: Journal,
    /// Entries of earlier sessions whose files are another network namespace's. They stay on disk.
    elsewhere: Vec<Entry>,
    /// Of each file that was written, what it said afterwards.
    last: BTreeMap<String, String>,
    /// Whether something else has written to a file meanwhile.
    is_over: bool,
    /// Held until everything is put back.
    _lock: File,
}

/// What putting back came to.
#[derive(Default, Debug)]
pub(in crate::tune) struct Restored {
    /// Files that say again what they said before.
    pub(in crate::tune) done: Vec<String>,
    /// Files that others have written since, whose value is kept.
    pub(in crate::tune) kept: Vec<String>,
    /// Files that could not be put back, and why.
    pub(in crate::tune) failed: Vec<String>,
    /// Files that cannot be reached from here, and why.
    pub(in crate::tune) elsewhere: Vec<String>,
}

impl Session {
    /// Takes the lock, and puts back what an earlier session has left. `told` hears of that. It comes before knobs are
    /// read: what is left turned is not what they are. Nothing is written before [`Session::intend`].
    ///
    /// # Errors
    /// When another session is under way, or what is left cannot be put back. What is left in another network namespace
    /// is told only: its files are none that this session turns, and the namespace may have ended.
    pub(in crate::tune) fn begin(root: &Root, told: &mut dyn FnMut(&str)) -> Result<Self, Failure> {
        let lock = lock::take(root)?;
        let left = leftover(root)?;
        let restored = left.restored;
        for line in restored.done.iter().chain(&restored.kept).chain(&restored.elsewhere) {
            told(&format!("left by an earlier tailwater tune: {line}"));
        }
        if let Some(damage) = left.damage {
            return Err(Failure::work(damage));
        }
        if !restored.failed.is_empty() {
            let why = restored.failed.join("; ");
            return Err(Failure::work(format!(
                "an earlier tailwater tune left knobs turned that cannot be put back: {why}; mend this and type: tailwater tune undo, \
                 or, where a file is gone for good, remove {}",
                store::shown(root)
            )));
        }
        let journal = Journal { place: place::here(root), entries: Vec::new() };
        let (root, elsewhere) = (root.clone(), left.elsewhere);
        Ok(Self { root, journal, elsewhere, last: BTreeMap::new(), is_over: false, _lock: lock })
    }

    /// Notes on disk what files say, before any of them is written. `values` are all that will be written.
    ///
    /// # Errors
    /// When a file cannot be read, or the journal not be written, or not be read again for its length; nothing was
    /// turned then.
    pub(in crate::tune) fn intend(
        &mut self,
        knob: &str,
        paths: &[String],
        values: &[String],
    ) -> Result<(), Failure> {
        let form = form(knob)?;
        // What is not on disk must not be turned: it becomes the session's once it is there.
        let mut journal = self.journal.clone();
        let entries = &mut journal.entries;
        for path in paths {
            if let Some(entry) = entries.iter_mut().find(|entry| entry.path == *path) {
                let new = values.iter().filter(|value| !entry.ours.contains(value));
                let new: Vec<String> = new.cloned().collect();
                entry.ours.extend(new);
                continue;
            }
            let old = self.root.value(path, form).map_err(Failure::work)?;
            let (knob, path) = (knob.to_owned(), path.clone());
            entries.push(Entry { knob, path, old, ours: values.to_vec(), place: None });
        }
        store::write(&self.root, &with(&journal, &self.elsewhere))?;
        self.journal = journal;
        Ok(())
    }

    /// Writes a value to a file of a knob and reads it back.
    ///
    /// # Errors
    /// When others have written the file meanwhile, or the kernel did not take the value.
    pub(in crate::tune) fn set(&mut self, path: &str, value: &str) -> Result<(), Failure> {
        let entry = self.journal.entries.iter().find(|entry| entry.path == path);
        let known = entry
            .is_some_and(|entry| entry.old == value || entry.ours.iter().any(|of| of == value));
        let Some(entry) = entry.filter(|_| known).cloned() else {
            return Err(Failure::work(format!(
                "{path}: {value} is not in the journal; it is not set"
            )));
        };
        let form = form(&entry.knob)?;
        self.check_file(path)?;
        let written = self.root.write(path, value);
        let found = self.root.value(path, form);
        // Also after a failure: the kernel keeps what came before the wrong part.
        if let Ok(found) = &found
            && (written.is_ok() || entry.is_ours(found))
        {
            self.last.insert(path.to_owned(), found.clone());
        }
        written.map_err(Failure::work)?;
        let found = found.map_err(Failure::work)?;
        if found != value {
            return Err(Failure::work(format!(
                "{}: {value} was written and {found} is read back: the kernel did not take it",
                self.root.join(path).display()
            )));
        }
        Ok(())
    }

    /// Whether every file still says what was last written to it.
    ///
    /// # Errors
    /// With the first that does not. Its value is kept from then on.
    pub(in crate::tune) fn check(&mut self) -> Result<(), Failure> {
        let paths: Vec<String> = self.last.keys().cloned().collect();
        paths.iter().try_for_each(|path| self.check_file(path))
    }

    /// Whether something else has written to a file, so that nothing more can be compared.
    pub(in crate::tune) const fn is_over(&self) -> bool {
        self.is_over
    }

    fn check_file(&mut self, path: &str) -> Result<(), Failure> {
        let entry = self.journal.entries.iter().find(|entry| entry.path == path);
        let Some(entry) = entry else { return Ok(()) };
        let old = &entry.old;
        let expected = self.last.get(path).unwrap_or(old);
        let found = self.root.value(path, form(&entry.knob)?).map_err(Failure::work)?;
        if found == *expected {
            return Ok(());
        }
        let why = format!(
            "{}: something else has written {found} where {expected} was set; its value is kept, it was {old} before the \
             test, and the test is over",
            self.root.join(path).display()
        );
        self.is_over = true;
        self.journal.entries.retain(|entry| entry.path != path);
        self.last.remove(path);
        store::keep(&self.root, &with(&self.journal, &self.elsewhere))?;
        Err(Failure::work(why))
    }

    /// Puts everything back.
    ///
    /// # Errors
    /// When something cannot be put back. The journal stays, and `tailwater tune undo` tries again.
    pub(in crate::tune) fn end(mut self) -> Result<Vec<String>, Failure> {
        let restored = self.restore();
        if restored.failed.is_empty() {
            return Ok(restored.kept);
        }
        let why = restored.failed.join("; ");
        Err(Failure::work(format!("{why}; mend this and type: tailwater tune undo")))
    }

    fn restore(&mut self) -> Restored {
        let entries = std::mem::take(&mut self.journal.entries);
        let last = std::mem::take(&mut self.last);
        // Once more, after `end`: what could not be put back stays on disk.
        if entries.is_empty() {
            return Restored::default();
        }
        let journal = with(&Journal { entries, ..self.journal.clone() }, &self.elsewhere);
        put_back(&self.root, journal, &last).0
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Restored { kept, failed, .. } = self.restore();
        for line in &kept {
            crate::tune::tell(line);
        }
        for line in &failed {
            crate::tune::tell(&format!("{line}; mend this and type: tailwater tune undo"));
        }
    }
}

/// A journal with what is to stay in it.
fn with(journal: &Journal, elsewhere: &[Entry]) -> Journal {
    let entries = elsewhere.iter().chain(&journal.entries).cloned().collect();
    Journal { place: journal.place.clone(), entries }
}

/// What an earlier session left.
pub(super) struct Leftover {
    pub(super) restored: Restored,
    /// What stays in the journal, as it cannot be reached from here.
    elsewhere: Vec<Entry>,
    /// What is wrong with the journal, and what to do.
    pub(super) damage: Option<String>,
}

/// Puts back what the journal on disk says, as far as it can be read. The lock must be held.
fn leftover(root: &Root) -> Result<Leftover, Failure> {
    let none = BTreeMap::new();
    match store::read(root)? {
        Stored::Nothing => {
            // Of one that was killed before its journal was there. Nothing was turned then, so this may fail.
            let _ = store::keep(root, &Journal::default());
            Ok(Leftover { restored: Restored::default(), elsewhere: Vec::new(), damage: None })
        }
        Stored::Whole(journal) => {
            let (restored, mut remaining) = put_back(root, journal, &none);
            remaining.retain(|entry| entry.place.is_some());
            Ok(Leftover { restored, elsewhere: remaining, damage: None })
        }
        Stored::Broken(damaged) => {
            let readable = damaged.readable.len();
            let (restored, done) = match &damaged.place {
                Some(place) => {
                    let restored = restore_each(root, place, &damaged.readable, &none).0;
                    let done = of_readable(&restored, readable);
                    (restored, done)
                }
                None => (
                    Restored::default(),
                    "Nothing of it was put back, as it does not say on which start of the machine, and in which \
                     network namespace, knobs were turned"
                        .into(),
                ),
            };
            let damage = format!(
                "{} is damaged: {damaged}. {done}. Look what the others say, put those knobs back by hand, and remove \
                 the file",
                store::shown(root)
            );
            Ok(Leftover { restored, elsewhere: Vec::new(), damage: Some(damage) })
        }
    }
}

/// What came of the entries that can be read of a damaged journal: the file is the only record of what was not put back.
fn of_readable(restored: &Restored, readable: usize) -> String {
    let left: Vec<&str> =
        restored.failed.iter().chain(&restored.elsewhere).map(String::as_str).collect();
    if left.is_empty() {
        return format!("The {readable} entries that can be read were put back or kept");
    }
    let put = readable - left.len().min(readable);
    format!(
        "Of the {readable} entries that can be read {put} were put back or kept, and these were not: {}",
        left.join("; ")
    )
}

/// The same for `tailwater tune undo`.
///
/// # Errors
/// When another session is under way, something cannot be put back, or the journal is damaged.
pub(in crate::tune) fn undo(root: &Root) -> Result<(Restored, Option<String>), Failure> {
    if matches!(store::read(root)?, Stored::Nothing) && !store::has_folder(root) {
        return Ok((Restored::default(), None));
    }
    let _lock = lock::take(root)?;
    leftover(root).map(|left| (left.restored, left.damage))
}

/// Puts files back, the last first, and keeps the journal of those that could not be.
fn put_back(
    root: &Root,
    journal: Journal,
    last: &BTreeMap<String, String>,
) -> (Restored, Vec<Entry>) {
    let Journal { place, entries } = journal;
    let (mut restored, entries) = restore_each(root, &place, &entries, last);
    let remaining = Journal { place, entries };
    if let Err(error) = store::keep(root, &remaining) {
        restored.failed.push(error.to_string());
    }
    (restored, remaining.entries)
}

/// What came of each, and the entries that are still to be put back.
fn restore_each(
    root: &Root,
    place: &Place,
    entries: &[Entry],
    last: &BTreeMap<String, String>,
) -> (Restored, Vec<Entry>) {
    let (mut restored, mut remaining) = (Restored::default(), Vec::new());
    let now = place::here(root);
    for entry in entries.iter().rev() {
        let place = entry.place.as_ref().unwrap_or(place);
        let outcome = match place.standing(&now, &entry.path) {
            // What this session has written is of its own entries only.
            Standing::Here => {
                let last = last.get(&entry.path).filter(|_| entry.place.is_none());
                restore_one(root, entry, last)
            }
            Standing::Restarted => Ok(Outcome::Kept(format!(
                "{}: the machine has started anew since it was turned, so it says what that has set",
                root.join(&entry.path).display()
            ))),
            Standing::Elsewhere => {
                restored.elsewhere.push(elsewhere(root, place, entry));
                remaining.insert(0, Entry { place: Some(place.clone()), ..entry.clone() });
                continue;
            }
        };
        match outcome {
            Ok(Outcome::Unchanged) => {}
            Ok(Outcome::Back(line)) => restored.done.push(line),
            Ok(Outcome::Kept(line)) => restored.kept.push(line),
            Err(why) => {
                restored.failed.push(why);
                remaining.insert(0, entry.clone());
            }
        }
    }
    (restored, remaining)
}

/// Why an entry of another network namespace is left alone.
fn elsewhere(root: &Root, place: &Place, entry: &Entry) -> String {
    format!(
        "{}: it was turned in the network namespace {}, and here it is another file; type tailwater tune undo there, as \
         by nsenter --net=/proc/PID/ns/net with a process of that namespace; if it has ended, nothing is left to put back \
         there",
        root.join(&entry.path).display(),
        place.network.as_deref().unwrap_or("that is not known")
    )
}

enum Outcome {
    Unchanged,
    Back(String),
    Kept(String),
}

fn restore_one(root: &Root, entry: &Entry, last: Option<&String>) -> Result<Outcome, String> {
    let Entry { knob, path, old, .. } = entry;
    let form = form(knob).map_err(|failure| failure.to_string())?;
    let shown = root.join(path);
    let text = root.read(path).map_err(|error| format!("{}: {error}", shown.display()))?;
    // The kernel never says nothing: only a file that stands for one can be empty, where a write was cut off.
    let found = if text.trim().is_empty() { None } else { Some(root.value(path, form)?) };
    match found {
        Some(found) if found == *old => return Ok(Outcome::Unchanged),
        Some(found) if last != Some(&found) && !entry.is_ours(&found) => {
            return Ok(Outcome::Kept(format!(
                "{}: something else has written {found}, which is kept; it was {old} before",
                shown.display()
            )));
        }
        _ => {}
    }
    root.write(path, old)?;
    match root.value(path, form)? {
        found if found == *old => Ok(Outcome::Back(format!("{}: {old} again", shown.display()))),
        found => Err(format!(
            "{}: {old} was written and {found} is read back: the kernel did not take it",
            shown.display()
        )),
    }
}

/// The form of a knob's files.
fn form(knob: &str) -> Result<Form, Failure> {
    match knobs::find(knob).map(|knob| knob.lever) {
        Some(Lever::Files { form, .. }) => Ok(form),
        _ => Err(Failure::work(format!("{knob} is no knob that is a file"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::PathBuf;
    use tailwater_tune::journal::{BYTES_MAX, ENTRIES_MAX};

    const PATH: &str = "/proc/sys/vm/swappiness";

    /// A folder that stands for a machine; removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("tailwater-session-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(path.join("proc/sys/vm")).expect("a folder of the test's own");
            fs::write(path.join(&PATH[1..]), "60\n").expect("a file in it");
            Self(path)
        }

        fn root(&self) -> Root {
            Root::new(&self.0).expect("it is there")
        }

        fn says(&self) -> String {
            fs::read_to_string(self.0.join(&PATH[1..])).expect("it is there")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn begun(folder: &Folder) -> Session {
        let mut session = Session::begin(&folder.root(), &mut |_| {}).expect("nothing is left");
        let values = ["10", "60"].map(String::from);
        session.intend("swappiness", &[PATH.into()], &values).expect("it can be noted");
        session
    }

    #[test]
    fn a_panic_puts_everything_back() {
        let folder = Folder::new("panic");
        let mut session = begun(&folder);
        let turned = AssertUnwindSafe(move || {
            session.set(PATH, "10").expect("it can be set");
            panic!("on purpose");
        });
        assert!(catch_unwind(turned).is_err());
        assert_eq!(folder.says(), "60\n");
        assert!(matches!(store::read(&folder.root()), Ok(Stored::Nothing)));
    }

    #[test]
    fn only_what_is_in_the_journal_is_written() {
        let folder = Folder::new("journal");
        let mut session = begun(&folder);
        assert!(
            session.set(PATH, "11").is_err() && session.set("/proc/sys/vm/other", "10").is_err()
        );
        assert_eq!(folder.says(), "60\n");
        session.set(PATH, "10").expect("this is");
        assert!(session.end().expect("it can be put back").is_empty());
        assert_eq!(folder.says(), "60\n");
    }

    #[test]
    fn what_cannot_be_put_back_stays_in_the_journal_until_it_can() {
        let folder = Folder::new("stays");
        let mut session = begun(&folder);
        session.set(PATH, "10").expect("it can be set");
        let file = folder.0.join(&PATH[1..]);
        fs::rename(&file, folder.0.join("away")).expect("in the test's folder");
        let error = session.end().expect_err("the file is gone").to_string();
        assert!(error.contains("tailwater tune undo"), "{error}");
        fs::rename(folder.0.join("away"), &file).expect("in the test's folder");
        assert_eq!(folder.says(), "10\n");
        let (restored, damage) = undo(&folder.root()).expect("it can be put back now");
        assert_eq!((restored.done.len(), damage), (1, None));
        assert_eq!(folder.says(), "60\n");
    }

    #[test]
    fn a_write_that_was_cut_off_is_put_back() {
        let folder = Folder::new("cut-off");
        let mut session = begun(&folder);
        session.set(PATH, "10").expect("it can be set");
        fs::write(folder.0.join(&PATH[1..]), "").expect("in the test's folder");
        assert!(session.end().expect("it can be put back").is_empty());
        assert_eq!(folder.says(), "60\n");
    }

    /// The text of a journal whose place is another one.
    fn moved(folder: &Folder, entry: Entry, change: impl Fn(&mut Place)) -> Journal {
        let mut place = place::here(&folder.root());
        change(&mut place);
        Journal { place, entries: vec![entry] }
    }

    #[test]
    fn after_a_start_of_the_machine_nothing_is_put_back() {
        let folder = Folder::new("restarted");
        let boot = folder.0.join("proc/sys/kernel/random");
        fs::create_dir_all(&boot).expect("in the test's folder");
        fs::write(boot.join("boot_id"), "one\n").expect("in the test's folder");
        let mut session = begun(&folder);
        session.set(PATH, "10").expect("it can be set");
        let entry = session.journal.entries[0].clone();
        drop(session);
        let journal = moved(&folder, entry, |_| {});
        assert_eq!(journal.place.boot.as_deref(), Some("one"));
        store::write(&folder.root(), &journal).expect("as of one that was killed");
        fs::write(boot.join("boot_id"), "two\n").expect("in the test's folder");
        // The new start has this value of its own accord.
        fs::write(folder.0.join(&PATH[1..]), "10\n").expect("in the test's folder");
        let (restored, damage) = undo(&folder.root()).expect("it can be read");
        assert!(damage.is_none() && restored.done.is_empty() && restored.failed.is_empty());
        assert!(restored.kept[0].contains("has started anew"), "{:?}", restored.kept);
        assert_eq!(folder.says(), "10\n");
        assert!(matches!(store::read(&folder.root()), Ok(Stored::Nothing)));
    }

    #[test]
    fn files_of_another_network_namespace_are_left_alone_and_stay_in_the_journal() {
        let folder = Folder::new("namespace");
        let path = "/proc/sys/net/core/netdev_budget";
        fs::create_dir_all(folder.0.join("proc/sys/net/core")).expect("in the test's folder");
        fs::write(folder.0.join(&path[1..]), "600\n").expect("in the test's folder");
        let entry = Entry {
            knob: "netdev-budget".into(),
            path: path.into(),
            old: "300".into(),
            ours: vec!["600".into()],
            place: None,
        };
        let there = |place: &mut Place| place.network = Some("net:[1]".into());
        let journal = moved(&folder, entry.clone(), there);
        store::write(&folder.root(), &journal).expect("as of one that was killed");
        let (restored, _) = undo(&folder.root()).expect("it can be read");
        assert!(restored.elsewhere[0].contains("namespace net:[1]"), "{:?}", restored.elsewhere);
        let read = || fs::read_to_string(folder.0.join(&path[1..])).expect("it is there");
        assert_eq!(read(), "600\n");
        let stored = || match store::read(&folder.root()) {
            Ok(Stored::Whole(journal)) => journal.entries,
            _ => panic!("a whole journal"),
        };
        let left = Entry { place: Some(journal.place.clone()), ..entry.clone() };
        // The namespace may have ended, so no session is kept from its work, on the file of the same path here either.
        for turns in [false, true, true] {
            let mut told: Vec<String> = Vec::new();
            let mut session = Session::begin(&folder.root(), &mut |line| told.push(line.into()))
                .expect("nothing of this place is left");
            assert!(matches!(&told[..], [line] if line.contains("nsenter")), "{told:?}");
            if turns {
                let paths = [path.to_owned()];
                session.intend("netdev-budget", &paths, &["900".into()]).expect("it can be noted");
                assert_eq!(stored().len(), 2);
                session.set(path, "900").expect("it can be set");
            }
            assert!(session.end().expect("its own can be put back").is_empty());
            assert_eq!((read(), stored()), ("600\n".to_owned(), vec![left.clone()]));
        }
        // From the namespace itself it is put back.
        let journal = moved(&folder, entry, |_| {});
        store::write(&folder.root(), &journal).expect("in the test's folder");
        assert_eq!(undo(&folder.root()).expect("it can be put back").0.done.len(), 1);
        assert_eq!(read(), "300\n");
    }

    #[test]
    fn a_journal_that_would_be_too_long_to_read_is_not_written() {
        let folder = Folder::new("long");
        let mut session = Session::begin(&folder.root(), &mut |_| {}).expect("nothing is left");
        let (paths, values) = ([PATH.to_owned()], vec!["1".repeat(BYTES_MAX)]);
        let refused = session.intend("swappiness", &paths, &values).expect_err("it is too long");
        assert!(refused.to_string().contains("fewer knobs or values"), "{refused}");
        assert!(matches!(store::read(&folder.root()), Ok(Stored::Nothing)));
        assert!(session.set(PATH, &values[0]).is_err(), "what is not noted is not turned");
        session.intend("swappiness", &paths, &["10".into()]).expect("this is short");
        assert!(matches!(store::read(&folder.root()), Ok(Stored::Whole(_))));
        let many = vec![session.journal.entries[0].clone(); ENTRIES_MAX + 1];
        let many = Journal { entries: many, ..session.journal.clone() };
        assert!(store::write(&folder.root(), &many).is_err());
        assert!(
            matches!(store::read(&folder.root()), Ok(Stored::Whole(it)) if it.entries.len() == 1)
        );
    }

    #[test]
    fn while_one_session_lasts_no_other_begins() {
        let folder = Folder::new("lock");
        let session = begun(&folder);
        let second = Session::begin(&folder.root(), &mut |_| {}).err().expect("the first lasts");
        let own = format!("(process {})", std::process::id());
        // Also where no knob is a file.
        assert!(second.to_string().contains(&own), "{second}");
        drop(session);
        assert!(Session::begin(&folder.root(), &mut |_| {}).is_ok());
    }
}
