//! gRPC with tonic. What `tonic-build` would generate is written by hand, since that needs `protoc`.

use super::PeerArgs;
use crate::protocol::GRPC_PATH;
use bytes::Bytes;
use std::convert::Infallible;
use std::future::{Ready, ready};
use tonic::codegen::{Body, BoxFuture, Context, Poll, Service, StdError, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

/// Serves until killed.
pub(crate) fn serve(args: &PeerArgs) -> Result<(), String> {
    super::run(args.listen, args.core, |listener| async {
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        Server::builder()
            .add_service(Echo)
            .serve_with_incoming(incoming)
            .await
            .map_err(|error| format!("tonic stopped: {error}"))
    })
}

/// `message Payload { bytes body = 1; }`
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct Payload {
    #[prost(bytes = "bytes", tag = "1")]
    body: Bytes,
}

/// `service Echo { rpc Echo(Payload) returns (Payload); }`
#[derive(Clone, Copy)]
struct Echo;

impl NamedService for Echo {
    const NAME: &'static str = "transport.Echo";
}

impl<B> Service<http::Request<B>> for Echo
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
        if request.uri().path() != GRPC_PATH {
            return Box::pin(ready(Ok(
                Status::unimplemented("found another method than Echo").into_http()
            )));
        }
        Box::pin(async move {
            let mut grpc = Grpc::new(ProstCodec::default());
            Ok(grpc.unary(Self, request).await)
        })
    }
}

impl UnaryService<Payload> for Echo {
    type Response = Payload;
    type Future = Ready<Result<Response<Payload>, Status>>;

    fn call(&mut self, request: Request<Payload>) -> Self::Future {
        ready(Ok(Response::new(request.into_inner())))
    }
}
