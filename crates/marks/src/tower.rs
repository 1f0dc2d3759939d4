//! Middleware: each call of a service is a request.

use crate::{Mark, Marked};
use std::task::{Context, Poll};
use tower_layer::Layer;
use tower_service::Service;

/// Marks every call of a service, as `Router::layer(MarkLayer)` in axum or `ServiceBuilder::layer(MarkLayer)` in tower.
///
/// A request lasts from the call to the end of the service's future: the head of an answer. A body that is
/// streamed afterwards is not a part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MarkLayer;

/// A service whose calls are marked.
#[derive(Clone, Copy, Debug)]
pub struct MarkService<S> {
    inner: S,
}

impl<S> Layer<S> for MarkLayer {
    type Service = MarkService<S>;

    fn layer(&self, inner: S) -> MarkService<S> {
        MarkService { inner }
    }
}

impl<R, S: Service<R>> Service<R> for MarkService<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Marked<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let mut mark = Mark::new();
        // The service may do its work here, and return a future that is ready.
        mark.works();
        let future = self.inner.call(request);
        mark.waits();
        Marked::with(mark, future)
    }
}
