//! The answers of a fan are bounded.

use super::*;
use tailwater_rt::client::Answer;

/// What a fan to three shards brings whose answers may have this many bytes together: each has its number and so many more.
fn outcomes(answers_max: usize, more: usize, ask: fn(Fan) -> Fan) -> Vec<u8> {
    let leaves = [0, 1, 2].map(leaf);
    let service = move |request: Request| async move {
        match request.method.0 {
            WARM => warm(&request).await,
            _ => {
                let found = ask(fan(&request).call_all(NAME, vec![7; more])).await;
                Reply::ok(found.iter().map(letter).collect::<Vec<_>>())
            }
        }
    };
    let (_server, client) = middle(with(tier_of(&leaves).answers_max(answers_max)), service);
    connected(&client);
    let mut found = client.call(1, "").wait().unwrap().payload;
    // Which of them comes last is open.
    found.sort_unstable();
    found
}

fn letter(outcome: &Result<Answer, CallError>) -> u8 {
    match outcome {
        Ok(_) => b'a',
        Err(CallError::AnswersTooLong { most }) => {
            let error = outcome.as_ref().unwrap_err().to_string();
            let said = format!("longer than the {most} bytes that one may have; raise answers_max");
            assert!(error.contains(&said), "{error}");
            b'x'
        }
        Err(_) => b'?',
    }
}

#[test]
fn answers_beyond_the_bound_are_not_kept_and_the_others_are() {
    assert_eq!(outcomes(303, 100, |fan| fan), b"aaa");
    assert_eq!(outcomes(302, 100, |fan| fan), b"aax");
    assert_eq!(outcomes(101, 100, |fan| fan), b"axx");
    assert_eq!(outcomes(100, 100, |fan| fan), b"xxx");
}

/// One that is too long is no answer: the fan is not done by it.
#[test]
fn an_answer_that_is_not_kept_is_none_that_is_enough() {
    assert_eq!(outcomes(100, 100, |fan| fan.enough(1)), b"xxx");
    assert!(outcomes(100, 100, Fan::fail_fast).contains(&b'x'));
}
