//! The panic barrier, inside which code of the user runs and values of the user are dropped.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Runs `body`.
///
/// State that `body` left inconsistent is dropped with it and never observed.
///
/// # Errors
///
/// Returns the message of a panic.
#[inline]
pub fn caught<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(body)).map_err(message)
}

/// Drops `value` and contains a panic in its `Drop`; the program's panic hook has reported it.
pub fn discard<T>(value: T) {
    let _ = caught(|| drop(value));
}

#[cold]
fn message(payload: Box<dyn Any + Send>) -> String {
    let message = payload.downcast_ref::<&str>().map(|message| (*message).to_owned());
    let message = message.or_else(|| payload.downcast_ref::<String>().cloned());
    // The payload of a panic may itself panic when it is dropped.
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
    message.unwrap_or_default()
}

/// An owned value of the user, dropped by [`discard`].
#[derive(Debug, Clone)]
pub struct Guarded<T>(Option<T>);

impl<T> Guarded<T> {
    /// Guards `value`.
    #[inline]
    pub fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// Returns the value unless it was taken.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// Returns a mutable reference to the value unless it was taken.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }

    /// Guards `value` in place of none.
    #[inline]
    pub fn put(&mut self, value: T) {
        debug_assert!(self.0.is_none(), "a value would be dropped without a guard");
        self.0 = Some(value);
    }

    /// Takes the value; the caller must guard its drop.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        self.0.take()
    }
}

/// Creates an empty guard.
impl<T> Default for Guarded<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Drop for Guarded<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            discard(value);
        }
    }
}

#[cfg(test)]
#[allow(clippy::panic, reason = "panics are what is tested")]
mod tests {
    use super::*;

    struct Explosive;

    impl Drop for Explosive {
        fn drop(&mut self) {
            panic!("boom");
        }
    }

    #[test]
    fn a_panic_of_a_drop_ends_at_the_guard() {
        drop(Guarded::new(Explosive));
        discard(vec![Explosive]);
    }

    #[test]
    fn a_panic_whose_payload_panics_when_it_is_dropped_ends_at_the_barrier() {
        assert_eq!(caught(|| std::panic::panic_any(Explosive)), Err(String::new()));
        assert_eq!(caught(|| panic!("{}", 1)), Err("1".to_owned()));
    }
}
