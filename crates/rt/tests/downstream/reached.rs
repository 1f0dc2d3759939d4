//! Leaves that are not reached: what a handler knows of them, and calls that do not wait for them.

use super::models::started;
use super::*;

/// The leaf with this number at an address where another was.
fn again(address: &Address, number: u8) -> Server {
    let config = ServerConfig { listen: address.clone(), ..ServerConfig::default() };
    let service = move |_: Request| async move { Reply::ok(vec![number]) };
    Server::start(config, controller().admission, boxed(service)).unwrap()
}

/// `a` if it was answered, `d` if it was not reached at once, `!` otherwise; and whether the shard is in trouble.
async fn reach(request: Request) -> Reply {
    let outcome = fan(&request).reached_only().call(0, NAME, "").await.remove(0);
    let letter = match outcome {
        Ok(_) => b'a',
        Err(CallError::Disconnected | CallError::Shed(_)) => b'd',
        Err(_) => b'!',
    };
    let has_trouble = tier("leaf").is_some_and(|tier| tier.has_trouble(0));
    Reply::ok(vec![letter, u8::from(has_trouble)])
}

fn ask(client: &Client) -> [u8; 2] {
    client.call(1, "").wait().unwrap().payload.try_into().unwrap()
}

#[test]
fn a_shard_is_in_trouble_from_when_it_is_lost_until_it_greets_again() {
    let port = Port::keep();
    let gone = leaf_at(&port, 0);
    let address = gone.address().clone();
    let (_server, client) = middle(with(tier_of(std::slice::from_ref(&gone))), reach);
    assert_eq!(ask(&client), [b'a', 0]);
    drop(gone);
    eventually("the shard is in trouble", || ask(&client) == [b'd', 1]);
    let _back = again(&address, 0);
    eventually("it is no more", || ask(&client) == [b'a', 0]);
}

/// Each call would take ten seconds otherwise.
#[test]
fn a_crew_does_not_wait_for_a_lost_connection_either() {
    for word in ["aib+1", "sib+1", "adb:1+1"] {
        let leaf = leaf(0);
        let config = started(word, 1, std::slice::from_ref(&leaf));
        let (_server, client) = middle(config, reach);
        assert_eq!(ask(&client)[0], b'a', "{word}");
        drop(leaf);
        for _ in 0..200 {
            assert_eq!(ask(&client)[0], b'd', "{word}");
        }
    }
}

#[test]
fn of_two_replicas_the_one_that_is_left_answers_and_without_either_nothing_waits() {
    let (first, second) = (leaf(0), leaf(1));
    let shards = vec![vec![channel(&first), channel(&second)]];
    let tier = TierConfig::replicated("leaf", shards).controller(&controller());
    let (_server, client) = middle(with(tier), reach);
    eventually("both are connected", || {
        let all = [&first, &second].map(|it| it.remaining().connections);
        ask(&client)[0] == b'a' && all == [1, 1]
    });
    drop(first);
    // One may be lost with the connection.
    let answers: Vec<_> = (0..50).map(|_| ask(&client)[0]).collect();
    assert!(answers[1..].iter().all(|answer| *answer == b'a'), "{answers:?}");
    drop(second);
    let answers: Vec<_> = (0..50).map(|_| ask(&client)).collect();
    assert!(answers[1..].iter().all(|answer| *answer == [b'd', 1]), "{answers:?}");
}
