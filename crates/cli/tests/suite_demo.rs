//! `tailwater suite demo`: the page of real tiers, asked by an HTTP client.

use crate::common::{Folder, TAILWATER, children};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

/// Few data, so that preparing takes a moment in a build for tests.
const SMALL: [&str; 14] = [
    "--set",
    "hdsearch.vectors=words",
    "--set",
    "hdsearch.points=2000",
    "--set",
    "hdsearch.queries=50",
    "--set",
    "hdsearch.bits=6",
    "--set",
    "setalgebra.text=generated",
    "--set",
    "setalgebra.documents=1000",
    "--leaves",
    "3",
];

/// The program while its page is there; ended when dropped.
struct Demo {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Demo {
    fn start(folder: &Folder) -> Self {
        let mut command = Command::new(TAILWATER);
        command.args(["suite", "demo", "--listen", "127.0.0.1:0"]).args(SMALL);
        command.env("TAILWATER_DATA", &folder.0).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        let address = line.strip_prefix("http://").and_then(|rest| rest.split_once("/ shows"));
        let address = address.unwrap_or_else(|| panic!("no address: {line:?}")).0;
        Self { child, stdout, address: address.parse().expect("an address") }
    }

    /// Sends these bytes, and reads all that comes back.
    fn exchange(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        // A server that refuses may close before all is written.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, target: &str) -> String {
        let host = self.address;
        self.exchange(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
    }

    fn json(&self, target: &str) -> Value {
        let answer = self.get(target);
        let body = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no body: {answer}")).1;
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    /// What is told of a question where all tiers told their counts, for which a page waits half a second: on a full machine
    /// the first tries may do without.
    fn asked(&self, target: &str) -> Value {
        let told = (0..TRIES).map(|_| self.json(target)).find(has_counts);
        told.unwrap_or_else(|| panic!("{target} is never answered with all counts"))
    }

    /// The first that the page has of a service: of=SERVICE&q=WORDS.
    fn example(&self, service: &str) -> String {
        let page = self.get("/");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        let link = page.split(&format!("/?of={service}&amp;q=")).nth(1);
        let words = link.and_then(|rest| rest.split('#').next());
        format!("of={service}&q={}", words.expect("an example"))
    }

    fn signal(&self, name: &str) {
        assert!(kill(name, &self.child.id().to_string()));
    }
}

fn kill(signal: &str, pid: &str) -> bool {
    let sent = Command::new("kill").args([&format!("-{signal}"), pid]).status();
    sent.expect("there is kill").success()
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How often a question is asked at most.
const TRIES: u32 = 20;

fn has_counts(told: &Value) -> bool {
    told["nodes"].as_array().is_some_and(|nodes| nodes.iter().all(|it| it["requests"].is_u64()))
}

/// What holds of every answer: the oracle agrees, and all three leaves were asked by the mid-tier.
fn is_sound(told: &Value, leaf_requests: u64) {
    assert_eq!(told["wrong"], Value::Null, "{told}");
    let (whole, midtier) = (told["whole_us"].as_f64(), told["midtier_us"].as_f64());
    assert!(midtier > Some(0.0) && whole > midtier, "{told}");
    let nodes = told["nodes"].as_array().expect("nodes");
    let names: Vec<_> = nodes.iter().map(|node| node["name"].as_str()).collect();
    assert_eq!(names, [Some("leaf 0"), Some("leaf 1"), Some("leaf 2")]);
    let requests: u64 = nodes.iter().filter_map(|node| node["requests"].as_u64()).sum();
    assert!(requests >= leaf_requests && requests <= 3, "{told}");
    let asked = nodes.iter().filter(|node| node["requests"] == 1);
    assert!(asked.clone().all(|node| node["handlers_us"].as_f64() > Some(0.0)), "{told}");
}

#[test]
fn questions_are_answered_by_real_tiers_and_the_oracle_agrees() {
    let folder = Folder::new("suite-demo");
    let mut demo = Demo::start(&folder);
    let told = demo.asked("/ask?of=hdsearch&q=17");
    is_sound(&told, 1);
    let rows = told["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 10);
    assert_eq!(rows[0]["name"], "point 17");
    assert_eq!(rows[0]["measure"], "distance 0.000");

    // An example of the page's own finds documents, and each of them has both words.
    let example = demo.example("setalgebra");
    let words = example.split_once("&q=").expect("words").1;
    let told = demo.asked(&format!("/ask?{example}"));
    is_sound(&told, 3);
    let rows = told["rows"].as_array().expect("rows");
    assert!(!rows.is_empty(), "{told}");
    let has = |row: &Value, word: &str| {
        row["text"].as_str().is_some_and(|text| text.split(' ').any(|other| other == word))
    };
    // Of a long document only the first words are shown.
    assert!(rows.iter().any(|row| words.split('+').all(|word| has(row, word))), "{told}");

    let page = demo.get(&format!("/?{example}"));
    assert!(
        page.contains("<span class=\"good\">Right</span>") && page.contains("leaf 2"),
        "{page}"
    );

    demo.signal("INT");
    let status = demo.child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0));
    let mut rest = String::new();
    demo.stdout.read_to_string(&mut rest).expect("the end of it");
    assert_eq!(rest, "", "no process holds the other end, and no more is said");
}

#[test]
fn what_cannot_be_asked_is_refused_and_says_why() {
    let folder = Folder::new("suite-demo-refused");
    let demo = Demo::start(&folder);
    let why = |target: &str| demo.json(target)["error"].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        why("/ask?of=hdsearch&q=2000"),
        "found no point 2000; a number from 0 to 1999 is needed"
    );
    assert_eq!(why("/ask?of=setalgebra&q=%2C"), "found no term; letters or digits are needed");
    assert_eq!(why("/ask?of=setalgebra"), "found no question; of=SERVICE and q=WORDS are needed");
    assert!(why(&format!("/ask?of=setalgebra&q={}", "a".repeat(301))).contains("300 characters"));
    let none = demo.json("/ask?of=setalgebra&q=nowordofthem");
    assert_eq!((&none["wrong"], &none["rows"]), (&Value::Null, &Value::Array(Vec::new())));

    // Markup of a stranger's stays text.
    let page = demo.get("/?of=hdsearch&q=%3Cscript%3E%22");
    assert!(page.contains("&lt;script&gt;&quot;") && !page.contains("<script>"), "{page}");
    assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");

    let status =
        |request: &str| demo.exchange(request.as_bytes()).lines().next().map(str::to_owned);
    let host = demo.address;
    let of = |code: &str| Some(format!("HTTP/1.1 {code}"));
    assert_eq!(status("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), of("403 Forbidden"));
    let of_site = |target: &str, site: &str| {
        status(&format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: {site}\r\n\r\n"))
    };
    assert_eq!(of_site("/ask?of=hdsearch&q=1", "cross-site"), of("403 Forbidden"));
    assert_eq!(of_site("/ask?of=hdsearch&q=1", "same-origin"), of("200 OK"));
    assert_eq!(of_site("/ask?of=hdsearch&q=1", "same-site"), of("403 Forbidden"));
    assert_eq!(of_site("/", "cross-site"), of("200 OK"));
    // A link on another site's page shows the question, and asks nothing.
    let led = |site: &str| {
        let target = "/?of=hdsearch&q=17";
        let head =
            format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: {site}\r\n\r\n");
        demo.exchange(head.as_bytes())
    };
    let (page, own) = (led("cross-site"), led("none"));
    assert!(page.contains("and was not asked"), "{page}");
    assert!(page.contains("value=\"17\"") && !page.contains("distance 0.000"), "{page}");
    assert!(own.contains("distance 0.000"), "{own}");
    let post = format!("POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9999999999\r\n\r\n");
    assert_eq!(status(&post), of("405 Method Not Allowed"));
    assert_eq!(status(&format!("GET /x HTTP/1.1\r\nHost: {host}\r\n\r\n")), of("404 Not Found"));
    let long = format!("GET /?q={} HTTP/1.1\r\nHost: {host}\r\n\r\n", "a".repeat(1 << 20));
    let refused = status(&long);
    assert!(refused.as_deref().is_none_or(|line| !line.contains("200")), "{refused:?}");
    let many = "x: y\r\n".repeat(100);
    let refused = status(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n{many}\r\n"));
    assert!(refused.as_deref().is_none_or(|line| !line.contains("200")), "{refused:?}");
    assert!(demo.get("/").starts_with("HTTP/1.1 200 OK"), "it is still there");
}

/// A process that stands still until this is dropped.
struct Stopped(String);

impl Drop for Stopped {
    fn drop(&mut self) {
        // Else it would not see that its parent has ended.
        kill("CONT", &self.0);
    }
}

#[test]
fn a_tier_that_stands_still_is_named_and_holds_up_nothing_else() {
    let folder = Folder::new("suite-demo-stopped");
    let demo = Demo::start(&folder);
    let questions = [demo.example("hdsearch"), demo.example("setalgebra")];
    let children = children(demo.child.id());
    // Of one service; which one does not matter.
    let leaves = children.iter().find(|(_, words)| words.contains("--tier leaf"));
    let stopped = Stopped(leaves.expect("leaves").0.to_string());
    assert!(kill("STOP", &stopped.0));
    // Of the service that is held up never all counts are told.
    let is_well = |told: &Value| has_counts(told) && told["wrong"].is_null();
    let ask = || questions.each_ref().map(|question| demo.json(&format!("/ask?{question}")));
    let told = (0..TRIES).map(|_| ask()).find(|told| told.iter().any(is_well));
    let [one, other] = told.expect("one of them is well");
    assert!(demo.get("/").starts_with("HTTP/1.1 200 OK"));
    let (held, well) = if is_well(&one) { (other, one) } else { (one, other) };
    is_sound(&well, 1);
    match held["error"].as_str() {
        Some(why) => assert!(why.ends_with("no counts came from leaf 0, leaf 1, leaf 2"), "{why}"),
        None => {
            let nodes = held["nodes"].as_array().expect("nodes");
            assert!(nodes.iter().all(|node| node["requests"].is_null()), "{held}");
            assert!(held["wrong"].is_string(), "{held}");
        }
    }
}

#[test]
fn settings_of_services_that_are_not_shown_are_refused_before_anything_starts() {
    let demo = |arguments: &[&str]| -> Output {
        let mut command = Command::new(TAILWATER);
        command.args(["suite", "demo"]).args(arguments);
        command.output().expect("the program starts")
    };
    let output = demo(&["--set", "router.replicas=2"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("hdsearch.KEY or setalgebra.KEY is needed"), "{said}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let output = demo(&["--listen", &address]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("--listen 127.0.0.1:0 takes a free port"), "{said}");
}
