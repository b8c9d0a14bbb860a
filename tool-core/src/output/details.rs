//! Details of an output, which are made when they are first read.

use std::{
    fmt,
    sync::{Arc, LazyLock},
};

use serde_json::{Value, json};

use tool_schema::guard::{Guarded, catch};

/// The details of an output.
#[derive(Clone)]
pub(super) enum OutputDetails {
    Ready(Value),
    /// Shared by the copies of an output, so that they are made once.
    Later(Arc<LazyDetails>),
}

type LazyDetails = LazyLock<Value, Box<dyn FnOnce() -> Value + Send>>;

impl OutputDetails {
    pub(super) fn computed_when_read(make: impl FnOnce() -> Value + Send + 'static) -> Self {
        let mut make = Guarded::new(make);
        let made = move || {
            let made = make.take().map_or(Ok(Value::Null), catch);
            made.unwrap_or_else(|panic| json!({ "error": format!("the details {panic}") }))
        };
        Self::Later(Arc::new(LazyLock::new(Box::new(made))))
    }

    pub(super) fn value(&self) -> &Value {
        match self {
            Self::Ready(value) => value,
            Self::Later(later) => later,
        }
    }

    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Ready(value) => value,
            Self::Later(later) => Value::clone(&later),
        }
    }
}

impl PartialEq for OutputDetails {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl fmt::Debug for OutputDetails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

#[cfg(test)]
#[allow(clippy::panic, reason = "panics are what is tested")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::ToolOutput;

    #[test]
    fn details_are_made_once_for_all_copies_and_only_if_they_are_read() {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let made = || MADE.load(Ordering::Relaxed);
        let output =
            ToolOutput::from("a").with_details_from(|| json!(MADE.fetch_add(1, Ordering::Relaxed) + 7));
        let copy = output.clone();
        assert_eq!((output.text(), made()), ("a".into(), 0));
        assert_eq!(output.details(), Some(&json!(7)));
        assert_eq!((copy.details(), made()), (Some(&json!(7)), 1));
        assert_eq!(copy, ToolOutput::from("a").with_details(json!(7)));
        assert_eq!(json!(copy)["details"], json!(7));
        assert_eq!(
            format!("{:?}", OutputDetails::computed_when_read(|| json!([1]))),
            format!("{:?}", json!([1]))
        );
        drop(ToolOutput::from("b").with_details_from(|| json!(MADE.fetch_add(1, Ordering::Relaxed))));
        assert_eq!(made(), 1);
    }

    #[test]
    fn a_panic_becomes_details() {
        struct Explosive;
        impl Drop for Explosive {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        let output = ToolOutput::empty().with_details_from(|| panic!("boom"));
        assert_eq!(output.details(), Some(&json!({ "error": "the details panicked: boom" })));
        let explosive = Explosive;
        drop(ToolOutput::empty().with_details_from(move || {
            let _kept = &explosive;
            json!(1)
        }));
    }
}
