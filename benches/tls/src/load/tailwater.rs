//! Through tailwater's channels, all on one poller.

use super::{Outcome, Watch, payload};
use crate::peer::Case;
use std::time::{Duration, Instant};
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_core::MethodId;
use tailwater_rt::Address;
use tailwater_rt::client::{Caller, Channel, ChannelConfig, End, NewCall};
use tailwater_rt::net::tls::{Roots, TlsClient};
use tailwater_rt::poll::{Poller, Readiness};
use tailwater_rt::time::now;

/// A connection that does not stand by then never will.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(
    case: Case,
    port: u16,
    root: Option<&str>,
    mut watch: Watch,
) -> Result<Outcome, String> {
    let mut fleet = Fleet::connect(case, port, root)?;
    watch.begin();
    for index in 0..case.connections {
        for _ in 0..case.outstanding {
            fleet.call(index);
        }
        fleet.channels[index].drive(now(), &fleet.poller);
    }
    while fleet.turn(&mut watch)? {}
    watch.end()
}

struct Fleet {
    poller: Poller,
    channels: Vec<Channel>,
    /// By token, which is the call's number.
    next: u64,
    sent: std::collections::HashMap<u64, Instant>,
    ready: Vec<Readiness>,
    scratch: Vec<u8>,
}

impl Fleet {
    fn connect(case: Case, port: u16, root: Option<&str>) -> Result<Self, String> {
        let controller: Controller = Spec::named("none")
            .build(&Site::one_loop(Duration::from_secs(1), 0))
            .map_err(|error| error.to_string())?;
        let mut config = ChannelConfig::new(Address::Tcp(([127, 0, 0, 1], port).into()));
        if let Some(root) = root {
            let tls = Roots::from_pem(root.as_bytes())
                .and_then(|roots| TlsClient::new(roots, None)?.with_server_name("localhost"));
            config.tls = Some(tls.map_err(|error| error.to_string())?);
        }
        let channel = |key| Channel::new(config.clone(), key, controller.client(key));
        let mut fleet = Self {
            poller: Poller::new().map_err(|error| error.to_string())?,
            channels: (0..case.connections as u64).map(channel).collect(),
            next: 0,
            sent: std::collections::HashMap::new(),
            ready: Vec::new(),
            scratch: vec![0; 64 << 10],
        };
        fleet.await_all()?;
        Ok(fleet)
    }

    fn await_all(&mut self) -> Result<(), String> {
        let began = Instant::now();
        while !self.channels.iter().all(Channel::is_up) {
            if began.elapsed() > PATIENCE {
                let why = self.channels.iter().find_map(Channel::failure);
                let why = why.map_or("the server does not answer".into(), ToString::to_string);
                return Err(format!("cannot connect: {why}"));
            }
            for channel in &mut self.channels {
                channel.drive(now(), &self.poller);
            }
            self.wait(Some(Duration::from_millis(1)));
        }
        Ok(())
    }

    fn call(&mut self, index: usize) {
        let number = self.next;
        self.next += 1;
        self.sent.insert(number, Instant::now());
        let call = NewCall {
            method: MethodId(1),
            payload: payload(number).to_vec().into(),
            deadline: None,
            priority: 128,
            tenant: 0,
            caller: Caller::NONE,
        };
        self.channels[index].submit(now(), number, call);
    }

    /// Lets every channel go on of which the poller tells.
    fn wait(&mut self, timeout: Option<Duration>) -> Vec<usize> {
        self.poller.wait(timeout, &mut self.ready);
        let mut served = Vec::new();
        for readiness in self.ready.drain(..) {
            let index = readiness.key as usize;
            self.channels[index].on_ready(now(), &self.poller, readiness, &mut self.scratch);
            served.push(index);
        }
        served
    }

    /// Waits for answers, and calls anew for each. False when the window is over.
    fn turn(&mut self, watch: &mut Watch) -> Result<bool, String> {
        for index in self.wait(Some(Duration::from_millis(100))) {
            while let Some(event) = self.channels[index].poll_event() {
                let End::Response { status: 0, payload, .. } = event.end else {
                    return Err(format!("a call ended otherwise than needed: {:?}", event.end));
                };
                let sent = self.sent.remove(&event.token).ok_or("a call was answered twice")?;
                if !watch.answered(sent, event.token, &payload)? {
                    return Ok(false);
                }
                self.call(index);
            }
            self.channels[index].drive(now(), &self.poller);
        }
        Ok(true)
    }
}
