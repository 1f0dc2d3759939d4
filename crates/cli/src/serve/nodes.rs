//! The nodes of an application that one process serves, with what they need loaded.

use std::ops::Range;
use std::thread;
use tailwater_figures::spread;
use tailwater_load::Application;
use tailwater_load::application::{Node, Place};
use tailwater_rt::Router;

/// The methods of each of these nodes of a tier, in their order. As many nodes load at a time as there are cores.
///
/// # Errors
/// That of the first node which has one.
pub(super) fn routers(
    application: &dyn Application,
    tier: &str,
    nodes: Range<u32>,
    place: &Place,
) -> Result<Vec<Router>, String> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let nodes: Vec<u32> = nodes.collect();
    spread(cores, &nodes, |&number| application.node(Node { tier, number }, place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use tailwater_load::Spinner;
    use tailwater_load::application::{Ask, Order};

    /// Remembers which nodes were loaded; those from `bad` on cannot be.
    struct Nodes {
        bad: u32,
        loaded: Mutex<Vec<u32>>,
    }

    impl Application for Nodes {
        fn router(&self, _place: &Place) -> Result<Router, String> {
            Err("it has no front".into())
        }

        fn node(&self, at: Node<'_>, _place: &Place) -> Result<Router, String> {
            self.loaded.lock().expect("no panic").push(at.number);
            let is_good = at.number < self.bad;
            is_good.then(Router::new).ok_or_else(|| format!("{} {} is bad", at.tier, at.number))
        }

        fn ask(&self, order: &Order) -> Ask {
            unreachable!("nothing asks: {order:?}")
        }

        fn is_answer(&self, _status: u16, _payload: &[u8], _tag: u32) -> bool {
            false
        }
    }

    /// How many routers there are of nodes 3 to 39, and which nodes were loaded.
    fn loaded(bad: u32) -> (Result<usize, String>, Vec<u32>) {
        let nodes = Nodes { bad, loaded: Mutex::default() };
        let spinner = Spinner::of_speed(1.0);
        let place = Place { loops: 1, workers: 0, crew: 0, locks: None, spinner };
        let found = routers(&nodes, "leaf", 3..40, &place).map(|routers| routers.len());
        let mut loaded = nodes.loaded.into_inner().expect("no panic");
        loaded.sort_unstable();
        (found, loaded)
    }

    #[test]
    fn each_node_is_loaded_once() {
        assert_eq!(loaded(40), (Ok(37), (3..40).collect()));
    }

    #[test]
    fn the_first_error_is_told() {
        let (found, loaded) = loaded(17);
        assert_eq!(found, Err("leaf 17 is bad".into()));
        assert!(loaded.contains(&17));
    }
}
