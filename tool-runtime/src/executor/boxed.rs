//! Futures outside of the frames of their callers.

use std::pin::Pin;

/// Boxes the future that `make` returns outside of the frame of the caller, which then holds a pointer alone: runs nest, and
/// without optimisation a frame has room for each future that it creates, several times.
pub(super) fn boxed<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}
