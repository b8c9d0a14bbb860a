//! What the items of a stream become: an update each, and one output together.
//!
//! Whether that is a text, a list or a row of blocks follows from the type of the items, like all
//! that [`Of`](super::Of) decides; a stream without items gives an empty one of the same.

use std::{borrow::Cow, future::poll_fn, marker::PhantomData, pin::pin, sync::Arc};

use futures_core::Stream;
use serde_json::json;

use super::{
    Call, Tag,
    outcome::{Output, Settled},
};
use crate::{ToolError, ToolOutput, output};

/// One item as an output, and `K`: what all of them become.
pub struct Part<K> {
    output: ToolOutput,
    kind: PhantomData<fn() -> K>,
}

impl<K> From<ToolOutput> for Part<K> {
    fn from(output: ToolOutput) -> Self {
        Self { output, kind: PhantomData }
    }
}

/// What items become together.
pub trait Together: 'static {
    fn together(items: Vec<ToolOutput>) -> ToolOutput;
}

/// One text.
pub struct Texts;
/// One output with the blocks of all.
pub struct Outputs;
/// One list.
pub struct Values;

impl Together for Texts {
    fn together(items: Vec<ToolOutput>) -> ToolOutput {
        output::joined(&items)
    }
}

impl Together for Outputs {
    fn together(items: Vec<ToolOutput>) -> ToolOutput {
        output::appended(items)
    }
}

impl Together for Values {
    fn together(items: Vec<ToolOutput>) -> ToolOutput {
        output::listed(&items)
    }
}

/// A piece of a text. Not whatever is written as a JSON string: the names of an enum, or dates, are
/// values, which nobody would read without something between them.
pub trait Piece {
    fn into_text(self) -> String;
}

macro_rules! pieces {
    ($($piece:ty)*) => { $(
        impl Piece for $piece {
            fn into_text(self) -> String {
                self.into()
            }
        }
    )* };
}

pieces!(String &String &str Cow<'_, str> Box<str> char);

impl Piece for Arc<str> {
    fn into_text(self) -> String {
        (*self).into()
    }
}

/// The traits behind the decision, from the most particular to the most general.
pub(super) mod traits {
    #[allow(clippy::wildcard_imports, reason = "a part of the module above")]
    use super::*;

    /// What was split, and is a `Result` still.
    pub trait UnsettledPart<T> {
        fn part(self, item: T) -> Result<Part<Values>, ToolError>
        where
            T: Settled;
    }

    impl<T, E> UnsettledPart<Result<T, E>> for &&&&Tag<Result<T, E>> {
        fn part(self, _: Result<T, E>) -> Result<Part<Values>, ToolError> {
            Ok(ToolOutput::empty().into())
        }
    }

    impl<T, E> UnsettledPart<Option<Result<T, E>>> for &&&&Tag<Option<Result<T, E>>> {
        fn part(self, _: Option<Result<T, E>>) -> Result<Part<Values>, ToolError> {
            Ok(ToolOutput::empty().into())
        }
    }

    pub trait TextPart<T> {
        fn part(self, item: T) -> Result<Part<Texts>, ToolError>;
    }

    impl<T: Piece> TextPart<T> for &&&Tag<T> {
        fn part(self, item: T) -> Result<Part<Texts>, ToolError> {
            Ok(ToolOutput::from(item.into_text()).into())
        }
    }

    pub trait OutputPart<T> {
        fn part(self, item: T) -> Result<Part<Outputs>, ToolError>;
    }

    impl<T: Into<ToolOutput>> OutputPart<T> for &&Tag<T> {
        fn part(self, item: T) -> Result<Part<Outputs>, ToolError> {
            Ok(item.into().into())
        }
    }

    pub trait ValuePart<T> {
        fn part(self, item: T) -> Result<Part<Values>, ToolError>
        where
            T: Output;
    }

    impl<T> ValuePart<T> for &Tag<T> {
        fn part(self, item: T) -> Result<Part<Values>, ToolError>
        where
            T: Output,
        {
            ToolOutput::json(&item).map(Part::from)
        }
    }
}

/// Reports each item as an update, one at a time and as soon as there is room for it, and gives
/// them all.
pub(super) async fn collect<S, K>(
    stream: S,
    call: &Call<'_>,
    mut part: impl FnMut(S::Item) -> Result<Part<K>, ToolError> + Send,
) -> Result<ToolOutput, ToolError>
where
    S: Stream + Send,
    K: Together,
{
    let mut stream = pin!(stream);
    let mut items = Vec::new();
    let cx = call.context();
    // Converted at once: neither an item nor its error is held while something is awaited.
    while let Some(part) =
        poll_fn(|task| stream.as_mut().poll_next(task).map(|item| item.map(&mut part))).await
    {
        match part {
            Ok(Part { output, .. }) => {
                if cx.has_sink() {
                    cx.update(output.clone()).await;
                }
                items.push(output);
            }
            Err(error) => return Err(broken(error, &items)),
        }
    }
    Ok(K::together(items))
}

/// An error after `items`, which are kept for those who watch.
fn broken(error: ToolError, items: &[ToolOutput]) -> ToolError {
    let received = output::as_list(items);
    let details = match error.details() {
        Some(own) => json!({ "received": received, "details": own }),
        None => received,
    };
    error.with_details(details)
}

/// One item of a stream: any type that a tool may return, but for another stream.
#[doc(hidden)]
#[macro_export]
macro_rules! part {
    ($item:ident) => {
        match $crate::__private::Tag::of(&$item).split($item) {
            ::core::result::Result::Ok(item) => (&&&&$crate::__private::Tag::of(&item)).part(item),
            ::core::result::Result::Err(error) => {
                ::core::result::Result::Err((&&&&$crate::__private::Tag::of(&error)).error(error))
            }
        }
    };
}
