use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

/// One way of doing the work once; the answer is shown to the callback, so that it is neither
/// copied nor optimised away.
pub type Side = Box<dyn Fn(&mut dyn FnMut(&[u8]))>;

/// The same work in several ways.
pub struct Workload {
    /// What is done.
    pub name: &'static str,
    /// By hand, where there is a way.
    pub floor: Option<Side>,
    /// By hand, with the `jsonschema` crate for all that types do not check.
    pub validated: Option<Side>,
    /// By the framework.
    pub ours: Side,
}

impl Workload {
    /// Work that both sides do.
    pub fn new(
        name: &'static str,
        floor: impl Fn(&mut dyn FnMut(&[u8])) + 'static,
        ours: impl Fn(&mut dyn FnMut(&[u8])) + 'static,
    ) -> Self {
        Self { name, floor: Some(Box::new(floor)), validated: None, ours: Box::new(ours) }
    }

    /// With the same done by hand and checked by the `jsonschema` crate.
    #[must_use]
    pub fn validated(mut self, by_hand: impl Fn(&mut dyn FnMut(&[u8])) + 'static) -> Self {
        self.validated = Some(Box::new(by_hand));
        self
    }

    /// The side of that name.
    #[must_use]
    pub fn side(&self, name: &str) -> Option<&Side> {
        match name {
            "floor" => self.floor.as_ref(),
            "validated" => self.validated.as_ref(),
            _ => Some(&self.ours),
        }
    }

    /// Work that nobody does by hand.
    pub fn without_floor(name: &'static str, ours: impl Fn(&mut dyn FnMut(&[u8])) + 'static) -> Self {
        Self { name, floor: None, validated: None, ours: Box::new(ours) }
    }
}

/// The result of a future that waits for nothing, in the cheapest way there is: no runtime takes
/// part in what is measured.
pub fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
