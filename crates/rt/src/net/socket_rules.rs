//! What a server's TCP sockets are set to beside what all have.

use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::sockopt;
use tailwater_control::ConfigError;

/// Where a server's configuration has them.
const PLACE: &str = "sockets";

/// Options of TCP sockets of a server; by default the machine's own. They mean nothing to Unix sockets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SocketRules {
    /// What a client sends is acknowledged at once, and not with the next answer (`TCP_QUICKACK`). The kernel forgets
    /// it at each answer, so that it costs a system call for each read.
    pub quick_ack: bool,
    /// Bytes that a socket holds of what it sends, as a constant; by default the kernel adapts them. Less than a burst of
    /// answers makes loops wait for clients; more delays what is sent last.
    pub send_buffer: Option<usize>,
    /// The same of what it receives. Less than a burst of requests slows clients down.
    pub receive_buffer: Option<usize>,
    /// The law by which it sends, by the kernel's name.
    pub congestion_control: Option<String>,
}

impl SocketRules {
    /// Bytes that the kernel takes: it doubles the number, as an `int`.
    pub const BUFFER_MAX: usize = (i32::MAX / 2) as usize;

    /// Why the kernel would not take it, if so.
    ///
    /// # Errors
    /// The field.
    pub fn check(&self) -> Result<(), ConfigError> {
        let buffers = [("send_buffer", self.send_buffer), ("receive_buffer", self.receive_buffer)];
        for (name, bytes) in buffers {
            if let Some(bytes) = bytes.filter(|bytes| !(1..=Self::BUFFER_MAX).contains(bytes)) {
                let needed = format!("a number from 1 to {}", Self::BUFFER_MAX);
                return Err(ConfigError::new(name, bytes, needed).at(PLACE));
            }
        }
        match &self.congestion_control {
            Some(law) if law.is_empty() || law.len() > 15 => {
                let found = format!("{law:?}");
                let needed = "a name such as cubic";
                Err(ConfigError::new("congestion_control", found, needed).at(PLACE))
            }
            _ => Ok(()),
        }
    }

    /// For a listening TCP socket and all that it accepts from then on.
    ///
    /// # Errors
    /// When the kernel does not take a value, or takes another.
    pub(super) fn set(&self, socket: &impl AsFd) -> Result<(), ConfigError> {
        if let Some(bytes) = self.send_buffer {
            let refused = refused("send_buffer", bytes);
            sockopt::set_socket_send_buffer_size(socket, bytes).map_err(refused)?;
            let found = sockopt::socket_send_buffer_size(socket).map_err(refused)?;
            taken(("send_buffer", "wmem_max"), bytes, found)?;
        }
        if let Some(bytes) = self.receive_buffer {
            let refused = refused("receive_buffer", bytes);
            sockopt::set_socket_recv_buffer_size(socket, bytes).map_err(refused)?;
            let found = sockopt::socket_recv_buffer_size(socket).map_err(refused)?;
            taken(("receive_buffer", "rmem_max"), bytes, found)?;
        }
        match &self.congestion_control {
            Some(law) => sockopt::set_tcp_congestion(socket, law).map_err(|errno| {
                // Of what is there, some is for root alone.
                let list = if errno == Errno::PERM { "allowed" } else { "available" };
                let needed =
                    format!("one that /proc/sys/net/ipv4/tcp_{list}_congestion_control lists");
                let found = format!("{law}, for which the kernel says: {errno}");
                ConfigError::new("congestion_control", found, needed).at(PLACE)
            }),
            None => Ok(()),
        }
    }
}

fn refused(name: &'static str, bytes: usize) -> impl Fn(Errno) -> ConfigError + Copy {
    move |errno| {
        let found = format!("{bytes}, for which the kernel says: {errno}");
        ConfigError::new(name, found, "another number of bytes").at(PLACE)
    }
}

/// The kernel doubles the number for its own bookkeeping, and cuts it off at a limit without a word (socket(7)). It has a
/// least size, too, which is more than was asked for.
fn taken(
    (name, limit): (&'static str, &str),
    bytes: usize,
    found: usize,
) -> Result<(), ConfigError> {
    if found >= 2 * bytes {
        return Ok(());
    }
    let found = format!("{bytes}, and the kernel gave {}", found / 2);
    let needed = format!("less, or a larger /proc/sys/net/core/{limit},");
    Err(ConfigError::new(name, found, needed).at(PLACE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_would_not_take_is_refused_by_name() {
        let zero = SocketRules { send_buffer: Some(0), ..SocketRules::default() };
        let large = SocketRules { receive_buffer: Some(usize::MAX), ..SocketRules::default() };
        let unnamed =
            SocketRules { congestion_control: Some(String::new()), ..SocketRules::default() };
        for (rules, name) in
            [(zero, "send_buffer"), (large, "receive_buffer"), (unnamed, "congestion_control")]
        {
            let why = rules.check().unwrap_err().to_string();
            assert!(why.contains(name) && why.contains("is needed"), "{why}");
        }
        assert_eq!(SocketRules::default().check(), Ok(()));
    }

    #[test]
    fn a_buffer_that_was_cut_off_is_no_success() {
        assert_eq!(taken(("send_buffer", "wmem_max"), 4_096, 8_192), Ok(()));
        let why = taken(("send_buffer", "wmem_max"), 4_096, 8_191).unwrap_err().to_string();
        assert!(why.contains("the kernel gave 4095") && why.contains("wmem_max"), "{why}");
    }
}
