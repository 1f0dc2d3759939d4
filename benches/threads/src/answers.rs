//! Each model answers the same requests.

use crate::Verdict;
use crate::catalogue::{KINDS, model};
use crate::front::{Failure, Front, check, payload};
use crate::report::{Answered, Answers, Report};
use machine::Origin;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const PART: &str = "answers";

/// Requests under way at once.
const IN_FLIGHT: usize = 64;

pub(crate) fn run(report: &mut Report, requests: usize) -> Verdict {
    println!("answers: {requests} requests to each model, {IN_FLIGHT} at a time");
    report.begin(PART);
    let origin = Origin::now();
    let front = Front::start(model("aib"), requests)?;
    let mut models = Vec::new();
    for word in KINDS {
        front.forget();
        front.server.set_model(model(word))?;
        let began = Instant::now();
        let right = ask(&front, requests, Duration::MAX)?;
        let rate = right as f64 / began.elapsed().as_secs_f64();
        let (none, more) = front.miscarried();
        println!(
            "  {word:<8} {right} right answers, {none} not carried out, {more} twice, {rate:.0}/s"
        );
        if (right, none, more) != (requests, 0, 0) {
            return Err(format!("{word}: a request was not carried out once").into());
        }
        let model = word.to_owned();
        models.push(Answered { model, right, not_carried_out: none, carried_out_twice: more });
    }
    let found = format!("{requests} right answers of each of {} models", models.len());
    report.judge(PART, "every model answers alike, each request once", found, true);
    report.answers = Some(Answers { origin, requests, models });
    Ok(())
}

/// Asks numbers from 0 until there are no more, or `longest` is over. How many.
pub(crate) fn ask(front: &Front, requests: usize, longest: Duration) -> Result<usize, Failure> {
    let (began, mut calls) = (Instant::now(), VecDeque::new());
    let mut asked = 0;
    while asked < requests && began.elapsed() < longest {
        if calls.len() == IN_FLIGHT
            && let Some((number, call)) = calls.pop_front()
        {
            take(number, call)?;
        }
        calls.push_back((asked, front.client.call(1, payload(asked))));
        asked += 1;
    }
    calls.into_iter().try_for_each(|(number, call)| take(number, call))?;
    Ok(asked)
}

fn take(number: usize, call: tailwater::CallFuture) -> Result<(), Failure> {
    Ok(check(number, call.wait())?)
}
