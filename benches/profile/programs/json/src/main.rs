//! `json ROUNDS`: a document is parsed, walked and written by `serde_json`. Prints the answer and the
//! thread's CPU time in ns, without that for making the document.

#![forbid(unsafe_code)]

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

fn main() {
    let rounds = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1);
    let text = document().to_string();
    let start = cpu_ns();
    let mut hash = 0;
    for _ in 0..rounds {
        let parsed: Value = serde_json::from_str(&text).expect("we wrote it");
        hash = walk(&parsed, hash);
        hash = mix(hash, parsed.to_string().len() as u64);
    }
    println!("{hash:016x} {}", cpu_ns() - start);
}

fn document() -> Value {
    let row = |i: i32| {
        json!({
            "id": i,
            "name": format!("user {}", i64::from(i) * 7919 % 1000),
            "score": f64::from(i) * 0.25,
            "active": i % 3 == 0,
            "tags": [format!("a{}", i % 17), "tail", null],
            "place": { "x": i % 101, "y": -i },
        })
    };
    (0..2000).map(row).collect()
}

fn walk(node: &Value, hash: u64) -> u64 {
    match node {
        Value::Null | Value::Bool(_) => hash,
        Value::Number(number) => mix(hash, number.as_f64().unwrap_or(0.0).to_bits()),
        Value::String(text) => mix(hash, text.len() as u64),
        Value::Array(list) => list.iter().fold(hash, |hash, each| walk(each, hash)),
        Value::Object(map) => map.values().fold(hash, |hash, each| walk(each, hash)),
    }
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

fn cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
