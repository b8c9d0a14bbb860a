//! Conversion of the items of a stream: each becomes an update, and all of them one output.
//!
//! The type of the items determines, by [`TypeProbe`](super::TypeProbe), if the output is a text, a list or a sequence of blocks;
//! an empty stream results in an empty output of the same kind.

use std::{borrow::Cow, future::poll_fn, pin::pin, sync::Arc};

use futures_core::Stream;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Tag,
    outcome::{Output, Settled},
};
use crate::{ErrorKind, Merge, ToolContext, ToolError, ToolOutput, merge::MergeNode, output};

/// One item as an output, and as a part of the combined output `K`.
pub struct Part<K> {
    output: ToolOutput,
    part: K,
}

impl<K: Default> From<ToolOutput> for Part<K> {
    fn from(output: ToolOutput) -> Self {
        Self { output, part: K::default() }
    }
}

impl TryFrom<ToolOutput> for Part<Merged> {
    type Error = ToolError;

    fn try_from(output: ToolOutput) -> Result<Self, ToolError> {
        let part = match output.is_final() {
            true => Some(Value::Null),
            false => output::value_of_only_part(&output),
        };
        let part = part.map(|value| Merged(value.into())).ok_or_else(|| {
            let message = "the items of its stream cannot be merged: blocks of content have no value";
            ToolError::new(ErrorKind::InvalidOutput, message)
        })?;
        Ok(Self { output, part })
    }
}

/// The combination of all items.
pub trait Together: Sized + Send {
    /// Combines this part with the next one.
    fn followed_by(self, next: Self) -> Result<Self, ToolError> {
        Ok(next)
    }

    /// Returns the output; `whole` is `None` only if there are no items.
    fn together(whole: Option<Self>, items: Vec<ToolOutput>) -> Result<ToolOutput, ToolError>;
}

/// One text.
#[derive(Default)]
pub struct Texts;
/// One output with all blocks.
#[derive(Default)]
pub struct Outputs;
/// One list.
#[derive(Default)]
pub struct Values;
/// One value, merged by the rules of [`MergeNode`].
pub struct Merged(MergeNode);
/// One value, merged by its `Merge` implementation.
pub struct CustomMerged<T>(T);

impl Together for Texts {
    fn together(_: Option<Self>, items: Vec<ToolOutput>) -> Result<ToolOutput, ToolError> {
        Ok(output::join_texts(&items))
    }
}

impl Together for Outputs {
    fn together(_: Option<Self>, items: Vec<ToolOutput>) -> Result<ToolOutput, ToolError> {
        Ok(output::append_blocks(items))
    }
}

impl Together for Values {
    fn together(_: Option<Self>, items: Vec<ToolOutput>) -> Result<ToolOutput, ToolError> {
        Ok(output::join_values_to_list(&items))
    }
}

impl Together for Merged {
    fn followed_by(self, next: Self) -> Result<Self, ToolError> {
        self.0.merge_with(next.0).map(Self)
    }

    fn together(whole: Option<Self>, items: Vec<ToolOutput>) -> Result<ToolOutput, ToolError> {
        // Outputs without a value have other content.
        let is_empty = items.iter().all(ToolOutput::is_empty);
        let whole = match whole {
            Some(whole) if !is_empty => ToolOutput::json(&Value::from(whole.0))?,
            _ => ToolOutput::empty(),
        };
        Ok(output::with_extras_of(items, whole))
    }
}

impl<T: Merge + Serialize> Together for CustomMerged<T> {
    fn followed_by(self, next: Self) -> Result<Self, ToolError> {
        self.0.merge(next.0).map(Self)
    }

    fn together(whole: Option<Self>, _: Vec<ToolOutput>) -> Result<ToolOutput, ToolError> {
        whole.map_or_else(|| Ok(ToolOutput::empty()), |whole| ToolOutput::json(&whole.0))
    }
}

/// A piece of a text. Other types that serialise as strings, such as enums or dates, are values and would not be
/// readable when concatenated.
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

/// The traits that select the conversion, from the most specific to the most general.
pub(super) mod traits {
    #[allow(clippy::wildcard_imports, reason = "a part of the module above")]
    use super::*;

    /// An item that is still a `Result` after splitting.
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

    // The same for merged items.

    /// An item that is still a `Result` after splitting.
    pub trait UnsettledMerge<T> {
        fn merge_part(self, item: T) -> Result<Part<Texts>, ToolError>
        where
            T: Settled;
    }

    impl<T, E> UnsettledMerge<Result<T, E>> for &&&&&Tag<Result<T, E>> {
        fn merge_part(self, _: Result<T, E>) -> Result<Part<Texts>, ToolError> {
            Ok(ToolOutput::empty().into())
        }
    }

    impl<T, E> UnsettledMerge<Option<Result<T, E>>> for &&&&&Tag<Option<Result<T, E>>> {
        fn merge_part(self, _: Option<Result<T, E>>) -> Result<Part<Texts>, ToolError> {
            Ok(ToolOutput::empty().into())
        }
    }

    pub trait OwnMerge<T> {
        fn merge_part(self, item: T) -> Result<Part<CustomMerged<T>>, ToolError>
        where
            T: Output;
    }

    impl<T: Merge> OwnMerge<T> for &&&&Tag<T> {
        fn merge_part(self, item: T) -> Result<Part<CustomMerged<T>>, ToolError>
        where
            T: Output,
        {
            ToolOutput::json(&item).map(|output| Part { output, part: CustomMerged(item) })
        }
    }

    pub trait TextMerge<T> {
        fn merge_part(self, item: T) -> Result<Part<Texts>, ToolError>;
    }

    impl<T: Piece> TextMerge<T> for &&&Tag<T> {
        fn merge_part(self, item: T) -> Result<Part<Texts>, ToolError> {
            Ok(ToolOutput::from(item.into_text()).into())
        }
    }

    pub trait OutputMerge<T> {
        fn merge_part(self, item: T) -> Result<Part<Merged>, ToolError>;
    }

    impl<T: Into<ToolOutput>> OutputMerge<T> for &&Tag<T> {
        fn merge_part(self, item: T) -> Result<Part<Merged>, ToolError> {
            Part::try_from(item.into())
        }
    }

    pub trait ValueMerge<T> {
        fn merge_part(self, item: T) -> Result<Part<Merged>, ToolError>
        where
            T: Output;
    }

    impl<T> ValueMerge<T> for &Tag<T> {
        fn merge_part(self, item: T) -> Result<Part<Merged>, ToolError>
        where
            T: Output,
        {
            Ok(Part { output: ToolOutput::json(&item)?, part: Merged(MergeNode::new(&item)?) })
        }
    }
}

/// Reports each item as an update, one at a time as soon as there is room for it, and returns all of them.
pub(crate) async fn report_and_collect_items<S, K>(
    stream: S,
    cx: &ToolContext,
    mut convert: impl FnMut(S::Item) -> Result<Part<K>, ToolError> + Send,
) -> Result<ToolOutput, ToolError>
where
    S: Stream + Send,
    K: Together,
{
    let mut stream = pin!(stream);
    let (mut items, mut whole) = (Vec::new(), None::<K>);
    cx.mark_as_streaming();
    // Converted at once, so that neither an item nor its error is held across an await.
    while let Some(part) =
        poll_fn(|task| stream.as_mut().poll_next(task).map(|item| item.map(&mut convert))).await
    {
        let Part { output, part } = match part {
            Ok(part) => part,
            Err(error) => return Err(with_received_items(error, &items)),
        };
        if output.is_final() {
            return Ok(output::replace_items_by_last(items, output));
        }
        if cx.has_sink() {
            cx.update(output.clone()).await;
        }
        items.push(output);
        whole = Some(match whole {
            Some(whole) => K::followed_by(whole, part).map_err(|error| with_received_items(error, &items))?,
            None => part,
        });
    }
    K::together(whole, items)
}

/// Returns the error after `items`, which are kept in its details.
fn with_received_items(error: ToolError, items: &[ToolOutput]) -> ToolError {
    let received = output::values_as_list(items);
    let details = match error.details() {
        Some(own) => json!({ "received": received, "details": own }),
        None => received,
    };
    error.with_details(details)
}

/// Converts one item of a stream: any type that a tool may return, except another stream.
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

/// Converts one item of a merged stream.
#[doc(hidden)]
#[macro_export]
macro_rules! merged_part {
    ($item:ident) => {
        match $crate::__private::Tag::of(&$item).split($item) {
            ::core::result::Result::Ok(item) => (&&&&&$crate::__private::Tag::of(&item)).merge_part(item),
            ::core::result::Result::Err(error) => {
                ::core::result::Result::Err((&&&&$crate::__private::Tag::of(&error)).error(error))
            }
        }
    };
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn merged_items_without_any_content_are_an_empty_output_with_their_other_parts() {
        let whole = |value: Value, items: Vec<ToolOutput>| {
            Merged::together(Some(Merged(value.into())), items).unwrap()
        };
        let noted = ToolOutput::empty().with_details(json!(1));
        let empty = whole(Value::Null, vec![ToolOutput::empty(), noted.clone()]);
        assert_eq!((empty.is_empty(), empty.details()), (true, Some(&json!(1))));
        let null = whole(Value::Null, vec![ToolOutput::json(&Value::Null).unwrap(), noted.clone()]);
        assert_eq!((null.structured(), null.details()), (Some(Value::Null), Some(&json!(1))));
        let one =
            whole(json!({ "a": 1 }), vec![noted.clone(), ToolOutput::json(&json!({ "a": 1 })).unwrap()]);
        assert_eq!((one.structured(), one.details()), (Some(json!({ "a": 1 })), Some(&json!(1))));
        assert!(Merged::together(None, Vec::new()).unwrap().is_empty());
    }

    #[test]
    fn details_of_an_error_keep_the_items_before_it() {
        let items = [ToolOutput::from("a"), ToolOutput::from("b")];
        let received = |error| with_received_items(error, &items).details().cloned().unwrap();
        assert_eq!(received(ToolError::failed("x")), output::values_as_list(&items));
        let own = received(ToolError::failed("x").with_details(json!(7)));
        assert_eq!(own, json!({ "received": output::values_as_list(&items), "details": 7 }));
    }
}
