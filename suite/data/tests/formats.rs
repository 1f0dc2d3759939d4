//! The form of prepared data: a change of what is made needs a new number in its kind, or a process would open what another
//! means otherwise. `formats.txt` has a line of each kind, with the hashes of what is made of the same small sources.

use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tailwater_data::{Checked, Folder, Header};
use tailwater_load::application::{Kind, Whose};
use tailwater_workload::Scenario;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/formats.txt");

const TEXT: &str =
    "the small boat\n\nthe sail of the boat\n\na sail, a boat\n\nthe boat has a sail\n";
const RATINGS: &str = "a,x,4\na,y,3.5\nb,x,2\nb,z,5\nc,y,1\nc,z,4.5\nd,x,3\nd,w,2\n";

/// A folder of the test's own, gone when it ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("tailwater-formats-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("text").to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn make(kind: &Kind, data: &Path, settings: &[(&str, &str)]) {
    let text = format!(
        "slo = \"1s\"\nclients.count = 1\ndemand.of_capacity = 1.0\ncontroller = {{ name = \"none\" }}\n\
         tier = [{{ name = \"leaf\", nodes = 2, application = true }}]\nserver.application = \"{}\"\n",
        kind.name
    );
    let scenario = Scenario::parse("x.toml", &text).expect("a scenario");
    let said: Vec<_> =
        settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let (server, tiers) = (&scenario.server, &scenario.tiers[..]);
    let of = (&server.paths[..], tiers);
    let made = kind.make(&said, server.service.clone(), (server.work, false), of, data);
    made.expect("made").prepare(Whose::All, &|_| Ok(())).expect("prepared");
}

/// Of names, lengths and bytes of its sections: a reader finds these by name.
fn hash(header: &Header) -> String {
    let sections: Vec<_> =
        header.sections.iter().map(|it| (&it.name, it.bytes, &it.sha256)).collect();
    let hash = Sha256::digest(format!("{sections:?}"));
    hash.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Each kind and the hashes of what was made of it, with every part of each form in use.
fn found() -> BTreeMap<String, Vec<String>> {
    let scratch = Scratch::new();
    let (text, ratings) = (scratch.file("text", TEXT), scratch.file("ratings.csv", RATINGS));
    let data = scratch.0.join("data");
    let set = [("text", &text[..]), ("stop", "1"), ("queries", "20")];
    make(&tailwater_setalgebra::application::KIND, &data, &set);
    for index in ["lsh", "ivf"] {
        let words = [("points", "200"), ("dimensions", "6"), ("queries", "4"), ("index", index)];
        let sizes = [("bits", "4"), ("tables", "2"), ("lists", "5"), ("probes", "2")];
        make(&tailwater_hdsearch::application::KIND, &data, &[words, sizes].concat());
    }
    for sharding in ["users", "lines"] {
        let of = [("ratings", &ratings[..]), ("sharding", sharding), ("among", "everyone")];
        let sizes = [("queries", "5"), ("rank", "3"), ("sweeps", "2"), ("held_out", "20")];
        make(&tailwater_recommend::application::KIND, &data, &[&of[..], &sizes].concat());
    }
    let mut kinds = BTreeMap::<String, Vec<String>>::new();
    for (file, checked) in Folder::new(&data).check().expect("it can be read") {
        let Checked::Sound(header) = checked else { panic!("{}: {checked:?}", file.display()) };
        let hash = hash(&header);
        kinds.entry(header.kind).or_default().push(hash);
    }
    // The folder's name is in those of files.
    kinds.values_mut().for_each(|hashes| hashes.sort());
    kinds
}

#[test]
fn a_form_that_changes_has_a_new_number() {
    const WRITE: &str = "TAILWATER_FORMATS=write cargo test -p tailwater-data --test formats";
    let found = found();
    let line = |(kind, hashes): (&String, &Vec<String>)| format!("{kind}: {}\n", hashes.join(" "));
    let text: String = found.iter().map(line).collect();
    let known = std::fs::read_to_string(FILE).unwrap_or_default();
    for (kind, hashes) in &found {
        let before = known.lines().find_map(|line| line.strip_prefix(&format!("{kind}: ")));
        let is_same = before.is_none_or(|before| before == hashes.join(" "));
        assert!(
            is_same,
            "what is made as \"{kind}\" has changed: raise the number in its constant, then type {WRITE}"
        );
    }
    if std::env::var_os("TAILWATER_FORMATS").is_some_and(|value| value == "write") {
        std::fs::write(FILE, &text).expect("it can be written");
        return;
    }
    assert_eq!(known, text, "a kind is new or gone: type {WRITE}");
}
