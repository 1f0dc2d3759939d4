//! Client and server end to end: frames, credits, limits, defects, servers that restart, TLS.

#[cfg(feature = "tls")]
mod tls;

mod bad_frames;
mod credits;
mod crowded;
mod defects;
mod due_timers;
mod ends;
mod limits;
mod replicas;
mod restart;
mod rolling;
mod silent_servers;
mod stalls;
#[cfg(feature = "tls")]
mod tls_calls;
#[cfg(feature = "tls")]
mod tls_streams;
mod vanishing;
