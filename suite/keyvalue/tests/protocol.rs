//! The text protocol: conversations word for word, in pieces of every size, and nonsense.

use proptest::prelude::*;
use tailwater_keyvalue::locks::Threads;
use tailwater_keyvalue::memcached::{Flow, Front};
use tailwater_keyvalue::store::{Config, Store};

fn front() -> Front<Threads> {
    Front::new(Store::new(Config { memory: 8 << 20, ..Config::default() }).expect("a store"), None)
}

/// What is answered to `input`, received in pieces of `size` bytes.
fn converse(front: &Front<Threads>, input: &[u8], size: usize) -> Vec<u8> {
    let (mut session, mut answers) = (front.session(), Vec::new());
    for piece in input.chunks(size) {
        session.receive(piece);
        loop {
            let flow = session.proceed(front);
            assert!(session.output().len() < 3 << 20, "answers are handed out in parts");
            answers.extend_from_slice(session.output());
            session.sent();
            match flow {
                Flow::Send => {}
                Flow::Receive => break,
                Flow::Close => return answers,
            }
        }
    }
    answers
}

/// Each line of the script is sent with its line's end; what is behind `=>` is the answer.
fn script(script: &str) {
    let lines = || script.lines().map(str::trim).filter(|line| !line.is_empty());
    let side =
        |line: &str, at: usize| line.split("=>").nth(at).unwrap_or_default().trim().to_owned();
    let crlf = |text: String| text.replace("\\r\\n", "\r\n") + "\r\n";
    let input: String = lines().map(|line| crlf(side(line, 0))).collect();
    let answers = lines().map(|line| side(line, 1)).filter(|answer| !answer.is_empty());
    let answers: String = answers.map(crlf).collect();
    for size in [1, 2, 3, 7, input.len()] {
        let found = converse(&front(), input.as_bytes(), size);
        assert_eq!(String::from_utf8_lossy(&found), answers, "in pieces of {size}");
    }
}

#[test]
fn storing_and_reading() {
    script(
        r"
        get a => END
        set a 5 0 3\r\nabc => STORED
        get a => VALUE a 5 3\r\nabc\r\nEND
        get a b a => VALUE a 5 3\r\nabc\r\nVALUE a 5 3\r\nabc\r\nEND
        gets a => VALUE a 5 3 1\r\nabc\r\nEND
        add a 0 0 1\r\nx => NOT_STORED
        replace a 6 0 4\r\n\r\n\r\n => STORED
        get a => VALUE a 6 4\r\n\r\n\r\n\r\nEND
        replace b 0 0 1\r\nx => NOT_STORED
        add b 0 0 0\r\n => STORED
        get b => VALUE b 0 0\r\n\r\nEND
        append b 9 9 2\r\nyz => STORED
        prepend b 9 9 1\r\nx => STORED
        append c 0 0 1\r\nx => NOT_STORED
        get b => VALUE b 0 3\r\nxyz\r\nEND
        delete b => DELETED
        delete b => NOT_FOUND
        delete a 0 => DELETED
        ",
    );
}

#[test]
fn compare_and_swap() {
    script(
        r"
        cas a 0 0 1 1\r\nx => NOT_FOUND
        set a 0 0 1\r\nx => STORED
        gets a => VALUE a 0 1 1\r\nx\r\nEND
        cas a 0 0 1 1\r\ny => STORED
        cas a 0 0 1 1\r\nz => EXISTS
        cas a 0 0 1 x\r\nz => CLIENT_ERROR bad command line format
        get a => VALUE a 0 1\r\ny\r\nEND
        ",
    );
}

#[test]
fn numbers() {
    script(
        r"
        incr n 1 => NOT_FOUND
        set n 3 0 2\r\n10 => STORED
        incr n 5 => 15
        decr n 20 => 0
        incr n 18446744073709551615 => 18446744073709551615
        incr n 2 => 1
        incr n -1 => CLIENT_ERROR invalid numeric delta argument
        get n => VALUE n 3 1\r\n1\r\nEND
        set n 0 0 1\r\nx => STORED
        decr n 1 => CLIENT_ERROR cannot increment or decrement non-numeric value
        ",
    );
}

#[test]
fn times() {
    script(
        r"
        set gone 0 -1 1\r\nx => STORED
        get gone => END
        set past 0 1000000000 1\r\nx => STORED
        get past => END
        set kept 0 4000000000 1\r\nx => STORED
        touch kept 100 => TOUCHED
        get kept => VALUE kept 0 1\r\nx\r\nEND
        touch none 100 => NOT_FOUND
        touch kept -1 => TOUCHED
        get kept => END
        set a 0 0 1\r\nx => STORED
        flush_all => OK
        get a => END
        set a 0 0 1\r\nx => STORED
        flush_all 100 => OK
        get a => VALUE a 0 1\r\nx\r\nEND
        ",
    );
}

#[test]
fn silence_is_kept_where_it_is_asked_for() {
    script(
        r"
        set a 0 0 1 noreply\r\n5
        add a 0 0 1 noreply\r\nx
        incr a 1 noreply
        append a 0 0 1 noreply\r\n0
        touch a 0 noreply
        get a => VALUE a 0 2\r\n60\r\nEND
        delete a noreply
        delete a 0 noreply
        get a => END
        flush_all noreply
        flush_all 0 noreply
        verbosity noreply
        verbosity 1 noreply
        verbosity 1 => OK
        ",
    );
}

#[test]
fn errors_do_not_disturb_what_follows() {
    script(
        r"
        => ERROR
        nonsense => ERROR
        GET a => ERROR
        get => ERROR
        set a 0 0 1\r\nx => STORED
        set a 0 0 1\r\nxyz => CLIENT_ERROR bad data chunk
        set a 0 0 3\r\nx\r\nget a => CLIENT_ERROR bad data chunk\r\nVALUE a 0 1\r\nx\r\nEND
        set a x 0 8\r\nquit\r\nab => CLIENT_ERROR bad command line format
        set a 4294967296 0 1\r\nx => CLIENT_ERROR bad command line format
        set a 0 0 1 x\r\nx => CLIENT_ERROR bad command line format
        touch a x => CLIENT_ERROR invalid exptime argument
        stats nothing => CLIENT_ERROR unknown topic; slabs, settings and locks are known
        get a => VALUE a 0 1\r\nx\r\nEND
        quit
        get a
        ",
    );
}

#[test]
fn limits_are_exact() {
    let front = front();
    let set = |key: usize, value: usize| {
        let line = format!("set {} 0 0 {value}\r\n", "k".repeat(key));
        let input = [line.as_bytes(), &vec![b'v'; value], b"\r\nversion\r\n"].concat();
        let answer = String::from_utf8(converse(&front, &input, 16 << 10)).expect("text");
        let (first, rest) = answer.split_once("\r\n").expect("a line");
        assert!(rest.starts_with("VERSION "), "{rest} follows {first}");
        first.to_owned()
    };
    assert_eq!(set(250, 1 << 20), "STORED");
    assert_eq!(set(251, 1), "CLIENT_ERROR bad command line format");
    assert_eq!(set(1, (1 << 20) + 1), "SERVER_ERROR object too large for cache");
    // Tools ask for all of their keys at once.
    let many = [&b"get"[..], &b" missing".repeat(100_000), b"\r\n"].concat();
    assert_eq!(converse(&front, &many, 16 << 10), b"END\r\n");
    let long = vec![b'k'; 1 << 20];
    assert_eq!(converse(&front, &long, 1_000), b"CLIENT_ERROR line too long\r\n");
}

#[test]
fn a_failed_set_leaves_no_old_value() {
    let front = front();
    assert_eq!(converse(&front, b"set a 0 0 1\r\nx\r\n", 99), b"STORED\r\n");
    let large = [b"set a 0 0 2000000\r\n", &vec![0; 2_000_002][..], b"get a\r\n"].concat();
    let answer = converse(&front, &large, 10_000);
    assert_eq!(answer, b"SERVER_ERROR object too large for cache\r\nEND\r\n");
}

#[test]
fn memory_that_is_full_is_said_so() {
    let front = front();
    let value = vec![0; 60_000];
    for key in 0..150 {
        let line = format!("set {key} 0 0 60000\r\n");
        let input = [line.as_bytes(), &value, b"\r\n"].concat();
        assert_eq!(converse(&front, &input, 1 << 17), b"STORED\r\n");
    }
    let large = [b"set a 0 0 1000000\r\n", &vec![0; 1_000_000][..], b"\r\n"].concat();
    let answer = converse(&front, &large, 1 << 20);
    assert_eq!(answer, b"SERVER_ERROR out of memory storing object\r\n");
}

/// A few bytes of input must not make gigabytes of output.
#[test]
fn a_get_of_many_large_values_comes_in_parts() {
    for verb in ["get", "gets"] {
        for end in ["\n", "\r\n"] {
            let front = front();
            let value = vec![b'v'; 1 << 20];
            converse(&front, &[b"set a 0 0 1048576\r\n", &value[..], b"\r\n"].concat(), 1 << 20);
            let input = format!("{verb} {}{end}version\r\n", ["a"; 20].join(" "));
            let answer = converse(&front, input.as_bytes(), 1 << 10);
            assert!(answer.len() > 20 << 20);
            let text = String::from_utf8(answer).expect("text");
            assert_eq!(text.matches("VALUE a 0 1048576").count(), 20);
            assert_eq!(text.matches("END\r\nVERSION ").count(), 1);
            assert!(!text.contains("ERROR"));
        }
    }
}

/// An update reads and stores, but is neither a `get` nor a `cas`.
#[test]
fn updates_count_neither_as_get_nor_as_cas() {
    let front = front();
    converse(
        &front,
        b"set a 0 0 1\r\n1\r\nincr a 1\r\ndecr a 1\r\nappend a 0 0 1\r\n0\r\nincr b 1\r\n",
        99,
    );
    let stats = String::from_utf8(converse(&front, b"stats\r\n", 99)).expect("text");
    for name in ["cmd_get", "get_hits", "get_misses", "cas_hits", "cas_badval", "cas_misses"] {
        assert!(stats.contains(&format!("STAT {name} 0\r\n")), "{name} counts in {stats}");
    }
}

#[test]
fn statistics_count() {
    let front = front();
    converse(
        &front,
        b"set a 0 0 1\r\nx\r\nget a\r\nget b\r\ndelete a\r\nset b 0 0 3\r\nabc\r\n",
        99,
    );
    let stats = String::from_utf8(converse(&front, b"stats\r\n", 99)).expect("text");
    for expected in
        ["get_hits 1", "get_misses 1", "cmd_set 2", "delete_hits 1", "curr_items 1", "bytes 4"]
    {
        assert!(stats.contains(&format!("STAT {expected}\r\n")), "{expected} is not in {stats}");
    }
    let slabs = String::from_utf8(converse(&front, b"stats slabs\r\n", 99)).expect("text");
    assert!(slabs.contains("STAT 1:used_chunks 1\r\n") && slabs.ends_with("END\r\n"), "{slabs}");
    let locks = String::from_utf8(converse(&front, b"stats locks\r\n", 99)).expect("text");
    assert!(locks.contains("STAT slabs:refused ") && locks.contains("STAT item:"), "{locks}");
}

fn words() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "get",
        "gets",
        "set",
        "add",
        "cas",
        "append",
        "delete",
        "incr",
        "touch",
        "flush_all",
        "stats",
        "noreply",
        "key",
        "k",
        "0",
        "1",
        "2",
        "-1",
        "1048577",
        "99999999999999999999",
        "\r\n",
        "\n",
        "\r",
        "\r\nx\r\n",
        "",
    ]);
    prop::collection::vec(word, 0..60).prop_map(|words| words.join(" ").into_bytes())
}

fn nonsense() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..400);
    prop_oneof![
        bytes,
        words(),
        (words(), prop::collection::vec(any::<u8>(), 0..50)).prop_map(|(mut a, b)| {
            a.extend(b);
            a
        })
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    /// However the bytes are cut into pieces, the answers are the same; and nothing panics.
    #[test]
    fn pieces_do_not_matter(input in nonsense(), size in 1..50_usize) {
        // Answers of `stats` say how late it is.
        prop_assume!(!input.windows(5).any(|word| word == b"stats"));
        let whole = converse(&front_small(), &input, input.len().max(1));
        prop_assert_eq!(converse(&front_small(), &input, size), whole);
    }

    /// After nonsense and the end of its line, or of its value, the server serves the next.
    #[test]
    fn nonsense_ends(input in nonsense()) {
        let front = front_small();
        let mut session = front.session();
        let lines = [&[b'x'; 999][..], b"\n"].concat().repeat(1_100);
        for piece in [&input[..], &lines[..]] {
            session.receive(piece);
            loop {
                session.sent();
                match session.proceed(&front) {
                    Flow::Send => {}
                    Flow::Receive => break,
                    Flow::Close => return Ok(()),
                }
            }
        }
        session.receive(b"\r\nversion\r\n");
        session.sent();
        prop_assert_eq!(session.proceed(&front), Flow::Receive);
        prop_assert!(session.output().windows(8).any(|word| word == b"VERSION "));
    }
}

fn front_small() -> Front<Threads> {
    let config = Config { memory: 4 << 20, hash_power: Some(4), ..Config::default() };
    Front::new(Store::new(config).expect("a store"), None)
}
