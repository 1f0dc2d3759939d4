//! The one thread that attacks, or burns as much CPU without sending anything.

use crate::attack::{Attack, Connection};
use crate::machine;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What the thread does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deed {
    /// Attacks.
    Attack(Attack),
    /// Computes for this share of the time.
    Burn(f64),
}

/// The running thread.
pub(crate) struct Attacker {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<f64, String>>,
}

/// Beside the generator; the server has core 0 alone.
const CORE: usize = 1;
/// One turn of a burner.
const PERIOD: Duration = Duration::from_millis(1);

impl Attacker {
    pub(crate) fn start(server: SocketAddr, deed: Deed) -> Result<Self, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("attacker".into())
            .spawn(move || act(server, deed, &stopped))
            .map_err(|error| error.to_string())?;
        Ok(Self { stop, thread })
    }

    /// Ends it; the share of a core that it used.
    pub(crate) fn stop(self) -> Result<f64, String> {
        self.stop.store(true, Relaxed);
        self.thread.join().map_err(|_| "the attacker panicked".to_owned())?
    }
}

fn act(server: SocketAddr, deed: Deed, stop: &AtomicBool) -> Result<f64, String> {
    machine::pin(CORE)?;
    let (began, cpu) = (Instant::now(), machine::cpu_of_this_thread());
    match deed {
        Deed::Attack(attack) => assail(server, attack, stop),
        Deed::Burn(share) => burn(share, stop),
    }
    let used = machine::cpu_of_this_thread().saturating_sub(cpu);
    Ok(used.as_secs_f64() / began.elapsed().as_secs_f64())
}

fn assail(server: SocketAddr, attack: Attack, stop: &AtomicBool) {
    let mut connections: Vec<Connection> =
        (0..attack.connections()).map(|_| Connection::new()).collect();
    while !stop.load(Relaxed) {
        for connection in &mut connections {
            connection.act(attack, server);
            if stop.load(Relaxed) {
                return;
            }
        }
        if attack.pauses() {
            std::thread::sleep(PERIOD);
        }
    }
}

fn burn(share: f64, stop: &AtomicBool) {
    let busy = PERIOD.mul_f64(share.clamp(0.0, 1.0));
    while !stop.load(Relaxed) {
        let began = Instant::now();
        while began.elapsed() < busy {
            std::hint::spin_loop();
        }
        if busy < PERIOD {
            std::thread::sleep(PERIOD - busy);
        }
    }
}
