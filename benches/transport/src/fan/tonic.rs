//! gRPC with tonic: its own client for each leaf, on the runtime of the server.

use super::{FanArgs, LEAVES};
use crate::peers::tonic::Payload;
use crate::protocol::GRPC_PATH;
use futures::future::join_all;
use std::convert::Infallible;
use tonic::client::Grpc as Client;
use tonic::codegen::{Body, BoxFuture, Context, Poll, Service, StdError, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

/// Serves until killed.
pub(crate) fn serve(args: &FanArgs) -> Result<(), String> {
    let leaf = args.leaf;
    crate::peers::run(args.listen, args.core, |listener| async move {
        let endpoint = Endpoint::from_shared(format!("http://{leaf}"));
        let endpoint = endpoint.map_err(|error| error.to_string())?.tcp_nodelay(true);
        // Lazily: each channel is a connection of its own.
        let leaves = (0..LEAVES).map(|_| endpoint.connect_lazy()).collect();
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        Server::builder()
            .add_service(Fan { leaves })
            .serve_with_incoming(incoming)
            .await
            .map_err(|error| format!("tonic stopped: {error}"))
    })
}

#[derive(Clone)]
struct Fan {
    leaves: Vec<Channel>,
}

impl NamedService for Fan {
    const NAME: &'static str = "transport.Echo";
}

impl<B> Service<http::Request<B>> for Fan
where
    B: Body + Send + 'static,
    B::Error: Into<StdError> + Send + 'static,
{
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let fan = self.clone();
        Box::pin(async move {
            let mut grpc = Grpc::new(ProstCodec::default());
            Ok(grpc.unary(fan, request).await)
        })
    }
}

impl UnaryService<Payload> for Fan {
    type Response = Payload;
    type Future = BoxFuture<Response<Payload>, Status>;

    fn call(&mut self, request: Request<Payload>) -> Self::Future {
        let leaves = self.leaves.clone();
        Box::pin(async move {
            let payload = request.into_inner();
            let answers = join_all(leaves.into_iter().map(|leaf| ask(leaf, payload.clone()))).await;
            for answer in answers {
                if answer? != payload {
                    return Err(Status::internal("a leaf gave another answer"));
                }
            }
            Ok(Response::new(payload))
        })
    }
}

async fn ask(leaf: Channel, payload: Payload) -> Result<Payload, Status> {
    let mut client = Client::new(leaf);
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let path = http::uri::PathAndQuery::from_static(GRPC_PATH);
    let codec = ProstCodec::<Payload, Payload>::default();
    Ok(client.unary(Request::new(payload), path, codec).await?.into_inner())
}
