use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

/// One implementation of the work. It passes its answer to the callback, so that the answer is
/// neither copied nor optimised away.
pub type Side = Box<dyn Fn(&mut dyn FnMut(&[u8]))>;

/// The name of the side that is written by hand.
pub const FLOOR: &str = "floor";

/// The name of the side that is written by hand, with the `jsonschema` crate for constraints that types
/// do not check.
pub const VALIDATED: &str = "jsonschema";

/// The name of the side that uses the framework.
pub const OURS: &str = "ours";

/// The same work in several implementations.
pub struct Workload {
    /// The name of the work.
    pub name: &'static str,
    /// The implementations, each with its name, in the order in which they are measured and printed.
    pub sides: Vec<(&'static str, Side)>,
}

impl Workload {
    /// Creates a workload with a floor.
    pub fn new(
        name: &'static str,
        floor: impl Fn(&mut dyn FnMut(&[u8])) + 'static,
        ours: impl Fn(&mut dyn FnMut(&[u8])) + 'static,
    ) -> Self {
        Self { name, sides: vec![(FLOOR, Box::new(floor)), (OURS, Box::new(ours))] }
    }

    /// Creates a workload without a floor.
    pub fn without_floor(name: &'static str, ours: impl Fn(&mut dyn FnMut(&[u8])) + 'static) -> Self {
        Self { name, sides: vec![(OURS, Box::new(ours))] }
    }

    /// Adds a floor that validates with the `jsonschema` crate.
    #[must_use]
    pub fn validated(mut self, by_hand: impl Fn(&mut dyn FnMut(&[u8])) + 'static) -> Self {
        self.sides.push((VALIDATED, Box::new(by_hand)));
        self
    }

    /// Returns the side with the name `name`.
    #[must_use]
    pub fn side(&self, name: &str) -> Option<&Side> {
        self.sides.iter().find(|(other, _)| *other == name).map(|(_, side)| side)
    }
}

/// Returns the result of a future that is ready at once, without a runtime that would affect the
/// measurement.
pub fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
