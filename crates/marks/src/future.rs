//! A future that is work for a request.

use crate::Mark;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// A future of which each poll is work for one request, on whichever thread that is.
    ///
    /// The request is answered when the future is ready, or when it is dropped before. What the functions within wait for
    /// between two polls counts as *pending*, and `tailwater profile requests` names the functions in which it ran.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Marked<F> {
        mark: Option<Mark>,
        #[pin]
        future: F,
    }
}

impl<F> Marked<F> {
    /// A request that begins at the first poll.
    pub fn new(future: F) -> Self {
        Self::with(Mark::new(), future)
    }

    /// A request that was marked before: it may have been queued, or worked for.
    pub fn with(mark: Mark, future: F) -> Self {
        Self { mark: Some(mark), future }
    }
}

impl<F: Future> Future for Marked<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let it = self.project();
        if let Some(mark) = it.mark.as_mut() {
            mark.works();
        }
        let polled = it.future.poll(context);
        match polled {
            // The answer: here, not when its owner drops the future.
            Poll::Ready(_) => *it.mark = None,
            Poll::Pending => {
                if let Some(mark) = it.mark.as_mut() {
                    mark.waits();
                }
            }
        }
        polled
    }
}
