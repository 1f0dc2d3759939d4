//! tarpc over TCP with bincode, each request in a task of its own, as in tarpc's own examples.

use super::PeerArgs;
use crate::protocol::Call;
use bytes::Bytes;
use futures::StreamExt;
use tarpc::context::Context;
use tarpc::serde_transport::Transport;
use tarpc::server::{BaseChannel, Channel};
use tarpc::tokio_serde::formats::Bincode;

/// Serves until killed.
pub(crate) fn serve(args: &PeerArgs) -> Result<(), String> {
    super::run(args.listen, args.core, |listener| async move {
        loop {
            let (stream, _) =
                listener.accept().await.map_err(|error| format!("cannot accept: {error}"))?;
            stream.set_nodelay(true).map_err(|error| format!("cannot set TCP_NODELAY: {error}"))?;
            let channel = BaseChannel::with_defaults(Transport::from((stream, Bincode::default())));
            let answers = channel.execute(Echo.serve());
            tokio::spawn(answers.for_each(|answer| async {
                tokio::spawn(answer);
            }));
        }
    })
}

#[derive(Clone, Copy)]
struct Echo;

impl Call for Echo {
    async fn echo(self, _: Context, payload: Bytes) -> Bytes {
        payload
    }
}
