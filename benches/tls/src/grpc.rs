//! gRPC with tonic. What `tonic-build` would generate is written by hand, since that needs `protoc`.

use bytes::Bytes;
use std::convert::Infallible;
use std::future::{Ready, ready};
use tonic::client::Grpc as Client;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{Body, BoxFuture, Context, Poll, Service, StdError, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::Channel;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

const PATH: &str = "/tls.Echo/Echo";

/// `message Payload { bytes body = 1; }`
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct Payload {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) body: Bytes,
}

/// `service Echo { rpc Echo(Payload) returns (Payload); }`
#[derive(Clone, Copy)]
pub(crate) struct Echo;

impl NamedService for Echo {
    const NAME: &'static str = "tls.Echo";
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
        if request.uri().path() != PATH {
            let unknown = Status::unimplemented("found another method than Echo");
            return Box::pin(ready(Ok(unknown.into_http())));
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

/// One call.
pub(crate) async fn call(channel: Channel, body: Bytes) -> Result<Bytes, String> {
    let mut client = Client::new(channel);
    client.ready().await.map_err(|error| format!("tonic is not ready: {error}"))?;
    let path = PathAndQuery::from_static(PATH);
    let request = Request::new(Payload { body });
    let answer: Result<Response<Payload>, Status> =
        client.unary(request, path, ProstCodec::default()).await;
    answer.map(|answer| answer.into_inner().body).map_err(|status| format!("tonic: {status}"))
}
