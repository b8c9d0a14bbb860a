//! JSON from a provider, as a text or as a value.

use serde::de::IgnoredAny;
use serde_json::{Value, value::RawValue};
use tool_core::internals::ExactValue;

use super::DialectError;

/// JSON from a provider: a text (`str`, `String`, [`RawValue`]) or a [`Value`].
///
/// Numbers of a text keep their digits, in arguments and in the assistant message. A [`Value`] stores numbers
/// with a fraction, an exponent or more than 64 bits as `f64`.
pub trait Json: sealed::Json {}

impl<T: sealed::Json + ?Sized> Json for T {}

mod sealed {
    use super::{DialectError, ExactValue};

    pub trait Json {
        fn to_exact(&self) -> Result<ExactValue<'_>, DialectError>;

        /// Returns `true` for a text of a stream that is not an event: the `[DONE]` at the end of some streams, `null`, `{}` and
        /// a blank text, and the comment of a [keep-alive](https://html.spec.whatwg.org/multipage/server-sent-events.html#authoring-notes),
        /// which some servers send as data.
        fn is_no_event(&self) -> bool {
            false
        }
    }
}

impl sealed::Json for Value {
    fn to_exact(&self) -> Result<ExactValue<'_>, DialectError> {
        ExactValue::of(self).ok_or_else(|| invalid_json("a value that is nested too deeply".to_owned()))
    }
}

impl sealed::Json for str {
    fn to_exact(&self) -> Result<ExactValue<'_>, DialectError> {
        ExactValue::read(self).ok_or_else(|| {
            let why = serde_json::from_str::<IgnoredAny>(self).err();
            let why = why.map_or_else(|| "it is nested too deeply".to_owned(), |error| error.to_string());
            invalid_json(format!("a text that is not JSON ({why})"))
        })
    }

    fn is_no_event(&self) -> bool {
        let text = self.trim();
        matches!(text, "" | "[DONE]" | "null" | "{}") || text.starts_with(':')
    }
}

impl sealed::Json for String {
    fn to_exact(&self) -> Result<ExactValue<'_>, DialectError> {
        self.as_str().to_exact()
    }

    fn is_no_event(&self) -> bool {
        self.as_str().is_no_event()
    }
}

impl sealed::Json for RawValue {
    fn to_exact(&self) -> Result<ExactValue<'_>, DialectError> {
        self.get().to_exact()
    }
}

impl<T: sealed::Json + ?Sized> sealed::Json for &T {
    fn to_exact(&self) -> Result<ExactValue<'_>, DialectError> {
        (**self).to_exact()
    }

    fn is_no_event(&self) -> bool {
        (**self).is_no_event()
    }
}

impl<T: sealed::Json + ?Sized> sealed::Json for Box<T> {
    fn to_exact(&self) -> Result<ExactValue<'_>, DialectError> {
        (**self).to_exact()
    }

    fn is_no_event(&self) -> bool {
        (**self).is_no_event()
    }
}

fn invalid_json(got: String) -> DialectError {
    DialectError { pointer: String::new(), expected: "JSON".to_owned(), got }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::sealed::Json as _;

    #[test]
    fn some_texts_of_streams_are_no_events() {
        for text in ["", " \n", "[DONE]", " [DONE] ", "null", "{}", ": keep-alive", " :"] {
            assert!(
                text.is_no_event() && text.to_owned().is_no_event() && Box::new(text).is_no_event(),
                "{text:?}"
            );
        }
        for text in ["[]", "DONE", "{ }", "0", "{\"a\":1}", "nul"] {
            assert!(!text.is_no_event() && !text.to_owned().is_no_event(), "{text:?}");
        }
        assert!(!json!({}).is_no_event() && !json!(null).is_no_event());
    }

    #[test]
    fn what_is_not_json_or_too_deep_is_an_error() {
        let error = |text: &str| text.to_exact().map(drop).map_err(|error| error.to_string());
        assert_eq!(error("{\"a\":1.50}"), Ok(()));
        let expected = "the root: expected JSON, got a text that is not JSON (";
        assert!(error("{").is_err_and(|error| error.starts_with(expected)));
        let deep = format!("{}{}", "[".repeat(129), "]".repeat(129));
        assert_eq!(error(&deep), Err(format!("{expected}it is nested too deeply)")));
        let deep = (0..129).fold(json!(1), |value, _| json!([value]));
        let error = deep.to_exact().map(drop).map_err(|error| error.to_string());
        assert_eq!(error, Err("the root: expected JSON, got a value that is nested too deeply".to_owned()));
        let kept = "1.50".to_owned().to_exact().map(|value| value.to_string());
        assert_eq!(kept, Ok("1.50".to_owned()));
    }
}
