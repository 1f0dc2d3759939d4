//! What files may say, what they must not, and what is asked of a case.

use proptest::prelude::*;
use tailwater_tune::accelerator::file::keys::{KEYS, TOP};
use tailwater_tune::accelerator::{Amount, Answer, Case, Input, Queue, Study, file};

const SOUND: &str = r#"
design = "sync"
strategy = "off-chip"
C = "2e9 cycles"
alpha = 0.2
n = 10000
L = "2000 cycles"
A = 10
"#;

fn parse(text: &str) -> Result<Vec<Case>, String> {
    let read = |name: &str| match name {
        "sizes.csv" => Ok("bytes,offloads\n64,1000\n4096,1000\n".to_owned()),
        "huge.csv" => Ok("1e200,1\n64,1000\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let parsed = file::parse("file.toml", text, &read);
    parsed.map(|described| described.cases).map_err(|error| error.to_string())
}

fn only(text: &str) -> Case {
    parse(text).unwrap_or_else(|error| panic!("{error}")).remove(0)
}

fn error(text: &str) -> String {
    parse(text).expect_err("something is wrong with it")
}

fn study(text: &str, need: Option<f64>) -> Study {
    Study::of(&only(text), need, 1).expect("an outcome")
}

#[test]
fn a_case_overrides_what_holds_for_all() {
    let cases = parse(&format!(
        "{SOUND}[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\ndesign = \"async\"\nL = \"0 cycles\"\n"
    ))
    .unwrap();
    let transfer = |case: &Case| case.inputs.get(Input::Transfer).map(Amount::central);
    assert_eq!(cases.iter().map(transfer).collect::<Vec<_>>(), [Some(2_000.0), Some(0.0)]);
    assert_eq!(cases[1].design.threading.name(), "async");
}

#[test]
fn errors_name_the_key_its_line_and_the_mend() {
    for (found, replaced, parts) in [
        ("L = \"2000 cycles\"", "L = \"1us\"", &["7:5: L is \"1us\", a time", "add clock"][..]),
        ("L = \"2000 cycles\"", "L = 2000", &["7:5: L is 2000; a cost such as \"2300 cycles\""]),
        ("A = 10", "AA = 1", &["unknown key AA; known are", "A is missing"]),
        ("alpha = 0.2", "alhpa = 0.2", &["unknown key alhpa; did you mean alpha? Known are"]),
        ("A = 10", "A = \"fast\"", &["A is \"fast\"; a number from 0.001 to \"infinite\""]),
        ("alpha = 0.2", "alpha = 20", &["alpha is 20; a number from 0 to 0.999 is needed"]),
        ("alpha = 0.2", "", &["alpha is missing", "alpha = 0.15"]),
        ("n = 10000", "n = 10000\nn_all = 5", &["n_all is 5; a number from 10000 "]),
        ("n = 10000", "n = 10000\nbatch = 4", &["batch needs a design of async"]),
        ("n = 10000", "n = 10000\noffload = \"all\"", &["offload chooses among sizes; add g"]),
        ("n = 10000", "n = 10000\ng = [[64, 1]]", &["n contradicts g"]),
        ("design = \"sync\"", "design = \"sink\"", &["design is \"sink\"; did you mean sync?"]),
        ("C = \"2e9 cycles\"", "", &["C is missing", "or a clock"]),
        ("A = 10", "", &["A is missing"]),
        ("A = 10", "A = { from = 3, to = 2 }", &["A.to is 2; more than from is needed"]),
        ("A = 10", "A = { values = [1], weights = [1, 2] }", &["as many weights as values"]),
        ("A = 10", "A = 10\nQ = { model = \"M/M/9\" }", &["Q.model is \"M/M/9\"", "M/D/1"]),
        ("A = 10", "A = 10\nQ = { model = \"M/G/1\" }", &["M/G/1 needs a variation"]),
        ("A = 10", "A = 10\nQ = { model = \"M/M/c\" }", &["servers for M/M/c"]),
        (
            "A = 10",
            "A = 10\nclock = \"2GHz\"\nQ = { model = \"M/D/1\" }\nhosts = 100",
            &["busy 200 % of the time"],
        ),
        ("A = 10", "A = 10\nQ = { model = \"M/D/1\" }", &["clock is missing; a queue and a batch"]),
        ("design = \"sync\"", "design = \"async\"\nbatch = 4", &["clock is missing"]),
        ("A = 10", "A = 10\nunit = \"1us\"", &["unit is \"1us\"; a time from 1ms"]),
        ("A = 10", "A = 10\nunit = 1", &["unit is 1; a time from 1ms to"]),
        (
            "A = 10",
            "A = { values = [4, \"infinite\"], weights = [1, 1] }",
            &["is \"infinite\"; a finite number; \"infinite\" can stand alone only"],
        ),
        (
            "A = 10",
            "A = { from = 4, to = \"infinite\" }",
            &["A.to is \"infinite\"; a finite number"],
        ),
        ("A = 10", "A = { values = [4, inf], weights = [1, 0] }", &["a finite number"]),
        ("A = 10", "A = ", &["this is not TOML"]),
        ("A = 10", "A = 0x10", &["A is 0x10; a number from 0.001 to"]),
        ("A = 10", "A = 10\nhosts = 0x0", &["hosts is 0x0; a whole number from 1 to 1000000"]),
        ("\"sync\"", "1", &["design is 1; one of sync, ", " in quotes is needed"]),
    ] {
        let told = error(&SOUND.replace(found, replaced));
        assert!(told.starts_with("file.toml:"), "{told}");
        assert!(parts.iter().all(|part| told.contains(part)), "{replaced}: {told}");
    }
}

/// As in scenarios; `0x10` was read as 10, and told as such.
#[test]
fn whole_numbers_have_the_base_that_they_are_written_in() {
    let hosts = |said: &str| only(&format!("{SOUND}hosts = {said}\n")).hosts;
    assert_eq!((hosts("16"), hosts("0x10"), hosts("0b101")), (16, 16, 5));
}

#[test]
fn every_problem_is_told_at_once_and_each_once() {
    let text = SOUND.replace("A = 10", "A = -1").replace("n = 10000", "n = -1");
    let told = error(&format!("{text}[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\n"));
    assert_eq!(told.lines().count(), 2, "{told}");
}

#[test]
fn sizes_come_from_a_file_or_a_list_and_only_those_that_pay_are_made() {
    let text = SOUND.replace("n = 10000", "g = \"sizes.csv\"");
    let listed = SOUND.replace("n = 10000", "g = [[64, 1000], [4096, 1000]]");
    assert_eq!(study(&text, None), study(&listed, None));
    // C_b is 0.2·2e9/4,160,000 = 96 cycles: 64 bytes are 6,154 cycles, and 2,000·10/9 are lost.
    let all = study(&text, None).outcome;
    assert_eq!((all.offload.count, all.offload.from_bytes), (2_000.0, Some(64.0)));
    let dear = study(&text.replace("2000 cycles", "9000 cycles"), None).outcome;
    assert_eq!((dear.offload.count, dear.offload.from_bytes), (1_000.0, Some(4_096.0)));
    let forced = text.replace("2000 cycles", "9000 cycles") + "offload = \"all\"\n";
    assert!(study(&forced, None).outcome.speedup < dear.speedup);
    assert!(error(&text.replace("sizes.csv", "gone.csv")).contains("no such file"));
    // In a file as in a list.
    let told = error(&(text.replace("sizes.csv", "huge.csv") + "beta = 2\n"));
    assert!(told.contains("1e200 bytes found; a size from 1e-9 to 1e15"), "{told}");
    assert!(error(&listed.replace("[64,", "[1e200,")).contains("g is 1e200; a number from 0 to"));
}

/// `null` says that nothing is known.
#[test]
fn programs_read_that_no_offload_pays_as_people_do() {
    let json = |text: &str| serde_json::to_value(study(text, None)).expect("JSON");
    let slower = SOUND.replace("A = 10", "A = 0.5");
    let of_number = json(&slower);
    assert_eq!(
        (&of_number["break_even_cycles"], &of_number["break_even_bytes"]),
        (&"infinite".into(), &().into())
    );
    let sized = json(&slower.replace("n = 10000", "g = \"sizes.csv\""));
    for key in ["break_even_cycles", "break_even_bytes", "latency_break_even_bytes"] {
        assert_eq!(sized[key], "infinite", "{key}");
    }
    let pays = json(&SOUND.replace("n = 10000", "g = \"sizes.csv\""));
    assert!(pays["break_even_cycles"].is_f64() && pays["break_even_bytes"].is_f64(), "{pays}");
}

#[test]
fn counting_offloads_as_the_thesis_does_gives_less() {
    let text =
        SOUND.replace("n = 10000", "g = \"sizes.csv\"").replace("2000 cycles", "9000 cycles");
    let ours = study(&text, None).outcome;
    let paper = study(&format!("{text}profile = \"paper\"\n"), None).outcome;
    assert!((paper.offload.kernel_share - 0.1).abs() < 1e-12, "half of all offloads");
    assert!(ours.offload.kernel_share > 0.19 && ours.speedup > paper.speedup);
}

#[test]
fn a_queue_makes_its_own_wait() {
    let text = format!("{SOUND}clock = \"2GHz\"\nQ = {{ model = \"M/M/1\" }}\nhosts = 25\n");
    let case = only(&text);
    assert_eq!(case.queue, Some(Queue::MM1));
    // αC/(A·n) = 4,000 cycles of service, busy 0.2·25/10 = half of the time: a wait of one service.
    let found = case.outcome(&case.central()).unwrap();
    assert!((found.offload.queueing - 4_000.0).abs() < 1e-6, "{found:?}");
    assert_eq!(found.offload.utilisation, Some(0.5));
}

/// A host of sixteen cores: 16 times the cycles and the offloads of one, in the same second.
#[test]
fn cores_beyond_the_first_load_the_accelerator_too() {
    let text = format!("{SOUND}clock = \"2GHz\"\nQ = {{ model = \"M/M/1\" }}\n");
    let many = text.replace("2e9 cycles", "32e9 cycles").replace("n = 10000", "n = 160000");
    let busy = |text: &str| study(text, None).outcome.offload.utilisation.unwrap();
    assert!((busy(&text) - 0.02).abs() < 1e-12 && (busy(&many) - 0.32).abs() < 1e-12);
    // Half as busy a host, and a unit of time of two seconds with twice the counts.
    assert!((busy(&text.replace("2e9 cycles", "1e9 cycles")) - 0.01).abs() < 1e-12);
    let longer = text.replace("2e9 cycles", "4e9 cycles").replace("n = 10000", "n = 20000");
    assert!((busy(&format!("{longer}unit = \"2s\"\n")) - 0.02).abs() < 1e-12);
    let told = error(&format!("{many}hosts = 4\n"));
    assert!(told.contains("busy 128 % of the time"), "{told}");
    let second = SOUND.replace("C = \"2e9 cycles\"", "clock = \"2GHz\"\nunit = \"3s\"");
    let cycles = only(&second).inputs.get(Input::HostCycles).map(Amount::central);
    assert_eq!(cycles, Some(6e9), "C is a unit of the clock");
}

/// The finding's numbers: the size that just paid for its own wait kept 3,000 larger ones waiting.
#[test]
fn a_faster_accelerator_does_not_lower_the_gain_by_a_size_that_hinders_others() {
    let text = |a: f64| {
        let sizes = "g = [[10000, 500], [3000, 500], [300, 1000]]";
        let queue = "clock = \"2GHz\"\nQ = { model = \"M/M/1\" }\nhosts = 80\n";
        let text = SOUND.replace("alpha = 0.2", "alpha = 0.4").replace("n = 10000", sizes);
        let text =
            text.replace("2000 cycles", "1000 cycles").replace("A = 10", &format!("A = {a}"));
        text + queue
    };
    let gains: Vec<f64> = (0..40)
        .map(|step| study(&text(30.5 + f64::from(step) * 0.1), None).outcome.speedup)
        .collect();
    assert!(gains.is_sorted(), "{gains:?}");
    assert!(gains[0] > 1.3, "{gains:?}");
    let needs = study(&text(31.0), Some(1.34)).needs.unwrap();
    let Answer::Value(a) = needs.acceleration else { panic!("{needs:?}") };
    assert!(study(&text(a + 1.9), None).outcome.speedup >= 1.34);
}

#[test]
fn batches_share_their_set_up_and_wait_to_fill() {
    let text = SOUND.replace("\"sync\"", "\"async\"") + "o0 = \"4000 cycles\"\n";
    let one = study(&text, None).outcome;
    let text = format!("{text}clock = \"2GHz\"\n");
    let eight = study(&format!("{text}batch = 8\nhosts = 100\n"), None).outcome;
    let saved = 1.0 / one.speedup - 1.0 / eight.speedup;
    assert!((saved - 10_000.0 / 2e9 * 4_000.0 * 7.0 / 8.0).abs() < 1e-12, "{saved}");
    let waited = 1.0 / eight.latency.unwrap() + saved - 1.0 / one.latency.unwrap();
    assert!((waited - 3.5 / 100.0).abs() < 1e-12, "{waited}");
    // Cores beyond the first fill batches as fast as hosts do.
    let cores = text.replace("2e9 cycles", "200e9 cycles").replace("n = 10000", "n = 1000000");
    let cores = study(&format!("{cores}batch = 8\n"), None).outcome;
    assert!((cores.latency.unwrap() - eight.latency.unwrap()).abs() < 1e-12, "{cores:?}");
}

#[test]
fn an_offload_that_waits_for_its_batch_lowers_latency_later() {
    let text = SOUND.replace("\"sync\"", "\"async\"") + "clock = \"2GHz\"\nCb = \"1 cycles\"\n";
    let from = |text: &str| study(text, None).outcome.latency_break_even_bytes.unwrap();
    // 3.5 gaps of 2e9/10,000/10 cycles, divided by 1 − 1/A.
    let waited = from(&format!("{text}batch = 8\nhosts = 10\n")) - from(&text);
    assert!((waited - 3.5 * 20_000.0 / 0.9).abs() < 1e-6, "{waited}");
}

#[test]
fn a_bound_from_numbers_alone_holds_for_the_dearest_accelerator_that_is_left_open() {
    let base =
        SOUND.replace("n = 10000", "n = 10000\nn_all = 20000").replace("\"sync\"", "\"async\"");
    let least = |text: &str| {
        only(text).inputs.get(Input::Share).and_then(Amount::range).expect("an interval").0
    };
    // The others have 2,000 cycles at most, of a mean of 0.2·2e9/20,000.
    assert!((least(&base) - (1.0 - 0.5 * 2_000.0 / 20_000.0)).abs() < 1e-12);
    for (known, left_open, dearest) in [
        (
            "L = \"2000 cycles\"",
            "L = { from = \"1000 cycles\", to = \"3000 cycles\" }",
            3_000.0 / 20_000.0,
        ),
        ("alpha = 0.2", "alpha = { from = 0.1, to = 0.3 }", 2_000.0 / 10_000.0),
        (
            "C = \"2e9 cycles\"",
            "C = { values = [\"1e9 cycles\", \"3e9 cycles\"], weights = [1, 99] }",
            2_000.0 / 10_000.0,
        ),
    ] {
        let found = least(&base.replace(known, left_open));
        assert!((found - (1.0 - 0.5 * dearest)).abs() < 1e-12, "{left_open}: {found}");
    }
    let slow = base.replace("\"async\"", "\"sync\"").replace("A = 10", "A = { from = 2, to = 18 }");
    assert!((least(&slow) - (1.0 - 0.5 * 4_000.0 / 20_000.0)).abs() < 1e-12);
    // An accelerator that may be no faster at all bounds nothing but the number.
    let useless =
        base.replace("\"async\"", "\"sync\"").replace("A = 10", "A = { from = 1, to = 19 }");
    assert!((least(&useless) - 0.5).abs() < 1e-12);
    let few = base.replace("n = 10000", "n = { from = 5000, to = 15000 }");
    assert!((least(&few) - (1.0 - 0.75 * 2_000.0 / 20_000.0)).abs() < 1e-12);
    assert!(error(&few.replace("20000", "14000")).contains("n_all is 14000; a number from 15000"));
}

/// Of all draws some overload the queue, some have too large a kernel, and some lose.
#[test]
fn shares_of_draws_are_of_all_of_them() {
    let text = SOUND
        .replace("A = 10", "A = { values = [0.5, 10], weights = [1, 1] }\nclock = \"2GHz\"")
        .replace("C = \"2e9 cycles\"", "C = \"2e9 cycles\"\nQ = { model = \"M/M/1\" }\nhosts = 4");
    // Busy 0.2·4/0.5 = 160 % in half of them.
    let spread = study(&text, None).spread.expect("A is uncertain");
    assert!((spread.unstable - 0.5).abs() < 0.02 && spread.oversized == 0.0, "{spread:?}");
    assert!(spread.slower == 0.0 && (spread.answered() - 0.5).abs() < 0.02, "{spread:?}");
    let sized = "design = \"sync\"\nstrategy = \"off-chip\"\nC = \"2e9 cycles\"\nA = 10\n\
                 g = [[1000, 1000000]]\noffload = \"all\"\n\
                 Cb = { values = [\"0.1 cycles\", \"1 cycles\", \"3 cycles\"], weights = [1, 2, 1] }\nL = \"500 cycles\"\n";
    // 5, 50 and 150 % of C; an offload of 100 cycles costs 500.
    let spread = study(sized, None).spread.expect("Cb is uncertain");
    assert!((spread.oversized - 0.25).abs() < 0.02 && spread.unstable == 0.0, "{spread:?}");
    assert!(
        (spread.slower - 0.25).abs() < 0.02,
        "a quarter of all, a third of the rest: {spread:?}"
    );
}

#[test]
fn uncertain_inputs_leave_an_interval_and_the_widest_comes_first() {
    let text = SOUND.replace("A = 10", "A = { from = 2, to = 20 }");
    let found = study(&text, None);
    let spread = found.spread.expect("A is uncertain");
    assert!(spread.p5 < spread.p50 && spread.p50 < spread.p95, "{spread:?}");
    assert!((spread.p50 - found.outcome.speedup).abs() < 0.01);
    assert_eq!((found.tornado[0].input, found.tornado[0].assumed), (Input::Acceleration, false));
    assert!(found.tornado.iter().any(|bar| bar.input == Input::Transfer && bar.assumed));
    assert_eq!(study(&text, None), found, "the seed decides the draws");
    assert!(study(SOUND, None).spread.is_none());
}

#[test]
fn a_wanted_gain_is_answered_and_each_answer_does_it_just_so() {
    let needs = study(SOUND, Some(1.21)).needs.unwrap();
    assert!(!needs.met, "{needs:?}");
    let value = |answer: Answer| match answer {
        Answer::Value(value) => value,
        other => panic!("{other:?}"),
    };
    let speedup = |text: &str| study(text, None).outcome.speedup;
    let with_a = SOUND.replace("A = 10", &format!("A = {}", value(needs.acceleration)));
    assert!((speedup(&with_a) - 1.21).abs() < 1e-6);
    let transfer = format!("L = \"{} cycles\"", value(needs.transfer));
    assert!((speedup(&SOUND.replace("L = \"2000 cycles\"", &transfer)) - 1.21).abs() < 1e-6);
    let fewer = format!("n = {}", 10_000.0 / value(needs.size_factor));
    assert!((speedup(&SOUND.replace("n = 10000", &fewer)) - 1.21).abs() < 1e-6);
}

#[test]
fn what_cannot_be_had_or_does_not_matter_is_said_so() {
    let beyond = study(SOUND, Some(1.3)).needs.unwrap();
    let never = (Answer::Never, Answer::Never, Answer::Never);
    assert_eq!((beyond.acceleration, beyond.transfer, beyond.size_factor), never);
    let easy = study(&SOUND.replace("\"sync\"", "\"async\""), Some(1.1)).needs.unwrap();
    assert!(easy.met && easy.acceleration == Answer::Always, "{easy:?}");
}

#[test]
fn the_guide_has_every_key_as_it_is_declared() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/accelerator.md");
    let guide = std::fs::read_to_string(guide).expect("the guide is there");
    for key in TOP.iter().chain(&KEYS) {
        let row =
            format!("| `{}` | `{}` | {} | {} |", key.name, key.example, key.default, key.meaning);
        assert!(guide.contains(&row), "docs/accelerator.md lacks the line\n{row}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(
        from in 0..SOUND.len(),
        to in 0..SOUND.len(),
        inserted in "[-0-9a-zA-Z\"=.{}\\[\\], \n]{0,16}",
    ) {
        let (from, to) = (from.min(to), from.max(to));
        let text = format!("{}{inserted}{}", &SOUND[..from], &SOUND[to..]);
        for case in parse(&text).unwrap_or_default() {
            prop_assert!(Study::of(&case, Some(1.05), 1).is_ok());
        }
    }
}
