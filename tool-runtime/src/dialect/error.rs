//! Access to a provider's JSON, with errors that contain the location.

use std::fmt;

use serde_json::Value;
use tool_core::internals::ExactValue;

use super::{
    location_path::{LocationPath, Step},
    partial_calls::is_name,
};

/// A response, event or request that does not have the provider's format.
///
/// Invalid JSON arguments of a call are not such an error: the validation of the call reports them to the
/// model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DialectError {
    /// The location, as a JSON pointer.
    pub pointer: String,
    /// The expected content.
    pub expected: String,
    /// The kind of the actual content, without the content itself.
    pub got: String,
}

impl fmt::Display for DialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, expected, got } = self;
        let place = if pointer.is_empty() { "the root" } else { pointer };
        write!(f, "{place}: expected {expected}, got {got}")
    }
}

impl DialectError {
    /// Creates an error at `pointer` in the body of a request.
    pub(super) fn of_body(body: &Value, pointer: &str, expected: &str) -> Self {
        let kind = match body.pointer(pointer) {
            None => kind_name(None),
            Some(Value::Array(_)) => kind_name(Some(&ExactValue::List(Vec::new()))),
            Some(Value::Object(_)) => kind_name(Some(&ExactValue::Object(Vec::new()))),
            Some(scalar) => kind_name(ExactValue::of(scalar).as_ref()),
        };
        Self { pointer: pointer.to_owned(), expected: expected.to_owned(), got: kind.to_owned() }
    }

    /// Moves the error below `pointer`.
    pub(super) fn with_pointer_prefix(mut self, pointer: &str) -> Self {
        self.pointer.insert_str(0, pointer);
        self
    }
}

impl std::error::Error for DialectError {}

/// A location in a response, with its value, if present.
#[derive(Debug, Clone)]
pub(super) struct JsonLocation<'v> {
    value: Option<&'v ExactValue<'v>>,
    path: LocationPath<'v>,
}

impl<'v> JsonLocation<'v> {
    pub(super) fn root(value: &'v ExactValue<'v>) -> Self {
        Self { value: Some(value), path: LocationPath::ROOT }
    }

    /// Returns the value; `None` for `null`.
    pub(super) fn value(&self) -> Option<&'v ExactValue<'v>> {
        self.value.filter(|value| !value.is_null())
    }

    /// Returns a copy of the value; `null` if absent.
    pub(super) fn to_owned(&self) -> ExactValue<'static> {
        self.value.cloned().map_or(ExactValue::Null, ExactValue::into_owned)
    }

    /// The members of an object, in their order.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'v str, Self)> {
        let members = match self.value {
            Some(ExactValue::Object(members)) => members.as_slice(),
            _ => &[],
        };
        members.iter().map(|(name, value)| {
            (&**name, Self { value: Some(value), path: self.path.with(Step::Name(name)) })
        })
    }

    /// Returns the same location with another value.
    pub(super) fn with_value<'w>(&self, value: &'w ExactValue<'w>) -> JsonLocation<'w>
    where
        'v: 'w,
    {
        JsonLocation { value: Some(value), path: self.path.clone() }
    }

    pub(super) fn field(&self, name: &'static str) -> Self {
        Self { value: self.value.and_then(|value| value.get(name)), path: self.path.with(Step::Name(name)) }
    }

    /// The items of a list.
    pub(super) fn expect_items(&self) -> Result<Vec<Self>, DialectError> {
        let Some(ExactValue::List(items)) = self.value else { return Err(self.error("a list")) };
        let item = |(at, value)| Self { value: Some(value), path: self.path.with(Step::Index(at)) };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// Returns the items of a list that may be absent.
    pub(super) fn optional_items(&self) -> Result<Vec<Self>, DialectError> {
        if self.value().is_none() { Ok(Vec::new()) } else { self.expect_items() }
    }

    /// Returns the text, if the value is a text.
    pub(super) fn as_text(&self) -> Option<&'v str> {
        self.value?.as_str()
    }

    pub(super) fn has_text(&self, text: &str) -> bool {
        self.as_text() == Some(text)
    }

    pub(super) fn expect_text(&self) -> Result<&'v str, DialectError> {
        self.as_text().ok_or_else(|| self.error("a text"))
    }

    /// Returns the text, which may be absent.
    pub(super) fn optional_text(&self) -> Result<Option<&'v str>, DialectError> {
        self.value().map(|_| self.expect_text()).transpose()
    }

    /// Returns a name: a text that is not empty.
    pub(super) fn expect_name(&self) -> Result<&'v str, DialectError> {
        self.as_text().filter(|name| !name.is_empty()).ok_or_else(|| self.error("a name"))
    }

    /// Returns the name of a call. An empty text means nothing, and so does `null` as a text, which some servers send
    /// in every part but the first.
    pub(super) fn as_call_name(&self) -> Option<&'v str> {
        self.as_text().filter(|name| is_name(name))
    }

    /// Returns the id of a call. An empty text means nothing, and so does `null` as a text; a number is its text.
    pub(super) fn as_call_id(&self) -> Option<&'v str> {
        match self.value()? {
            ExactValue::Number(id) => Some(id),
            _ => self.as_call_name(),
        }
    }

    pub(super) fn expect_number(&self) -> Result<u64, DialectError> {
        self.value.and_then(ExactValue::as_u64).ok_or_else(|| self.error("a whole number"))
    }

    pub(super) fn expect_object(&self) -> Result<&Self, DialectError> {
        match self.value {
            Some(ExactValue::Object(_)) => Ok(self),
            _ => Err(self.error("an object")),
        }
    }

    /// Creates an error: something else was expected here.
    pub(super) fn error(&self, expected: &str) -> DialectError {
        self.error_with(expected, kind_name(self.value))
    }

    pub(super) fn error_with(&self, expected: &str, got: impl Into<String>) -> DialectError {
        DialectError { pointer: self.path.to_string(), expected: expected.to_owned(), got: got.into() }
    }

    /// Creates the error for an error of the provider.
    pub(super) fn provider_failure(&self) -> DialectError {
        let message = self.field("message");
        let text = message.as_text().or(self.as_text()).unwrap_or("no message");
        self.error_with("calls", format!("an error of the provider: {text}"))
    }
}

fn kind_name(value: Option<&ExactValue<'_>>) -> &'static str {
    match value {
        None => "nothing",
        Some(ExactValue::Null) => "null",
        Some(ExactValue::Bool(_)) => "a boolean",
        Some(ExactValue::Number(_)) => "a number",
        Some(ExactValue::String(text)) if text.is_empty() => "an empty text",
        Some(ExactValue::String(_)) => "a text",
        Some(ExactValue::List(_)) => "a list",
        Some(ExactValue::Object(_)) => "an object",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_location_gives_its_value_or_an_error_with_its_place() {
        let value = ExactValue::read(
            r#"{"n":7,"t":"x","e":"","z":null,"l":[1,null],"o":{"a":true},"f":1.5,"w":"null"}"#,
        );
        let value = value.unwrap();
        let root = JsonLocation::root(&value);
        let at = |name: &'static str| root.field(name);
        let text = |error: DialectError| error.to_string();
        assert_eq!(at("n").expect_number(), Ok(7));
        for (name, got) in [
            ("f", "a number"),
            ("t", "a text"),
            ("z", "null"),
            ("x", "nothing"),
            ("l", "a list"),
            ("o", "an object"),
        ] {
            let error = text(at(name).expect_number().unwrap_err());
            assert_eq!(error, format!("/{name}: expected a whole number, got {got}"));
        }
        assert_eq!(at("t").expect_text(), Ok("x"));
        assert_eq!(text(at("e").expect_name().unwrap_err()), "/e: expected a name, got an empty text");
        assert_eq!(at("t").expect_name(), Ok("x"));
        assert_eq!(
            (at("t").optional_text(), at("z").optional_text(), at("x").optional_text()),
            (Ok(Some("x")), Ok(None), Ok(None))
        );
        assert_eq!(text(at("n").optional_text().unwrap_err()), "/n: expected a text, got a number");
        assert_eq!(
            (at("l").expect_items().map(|it| it.len()), at("z").optional_items().map(|it| it.len())),
            (Ok(2), Ok(0))
        );
        assert_eq!(text(at("z").expect_items().unwrap_err()), "/z: expected a list, got null");
        assert_eq!(text(at("t").optional_items().unwrap_err()), "/t: expected a list, got a text");
        let items = at("l").expect_items().unwrap();
        assert_eq!(text(items[1].expect_text().unwrap_err()), "/l/1: expected a text, got null");
        assert!(at("o").expect_object().is_ok() && root.expect_object().is_ok());
        assert_eq!(
            text(at("o").field("a").expect_object().unwrap_err()),
            "/o/a: expected an object, got a boolean"
        );
        let members: Vec<_> =
            at("o").members().map(|(name, member)| format!("{name} {}", member.error("x"))).collect();
        assert_eq!(members, ["a /o/a: expected x, got a boolean"]);
        assert_eq!((at("l").members().count(), at("x").members().count()), (0, 0));
        assert!(at("t").has_text("x") && !at("t").has_text("y") && !at("n").has_text("7"));
        for (name, id, call_name) in [
            ("n", Some("7"), None),
            ("t", Some("x"), Some("x")),
            ("e", None, None),
            ("w", None, None),
            ("z", None, None),
            ("o", None, None),
        ] {
            assert_eq!((at(name).as_call_id(), at(name).as_call_name()), (id, call_name), "{name}");
        }
        assert_eq!(
            (at("z").value().is_none(), at("z").to_owned().is_null(), at("x").to_owned().is_null()),
            (true, true, true)
        );
    }

    #[test]
    fn an_error_of_a_body_names_the_kind_of_what_it_got() {
        let body = json!({ "a": [], "b": {}, "c": 1, "d": "", "e": null, "f": true });
        for (pointer, got) in [
            ("", "an object"),
            ("/a", "a list"),
            ("/b", "an object"),
            ("/c", "a number"),
            ("/d", "an empty text"),
            ("/e", "null"),
            ("/f", "a boolean"),
            ("/x", "nothing"),
        ] {
            let error = DialectError::of_body(&body, pointer, "a tool");
            let place = if pointer.is_empty() { "the root" } else { pointer };
            assert_eq!(error.to_string(), format!("{place}: expected a tool, got {got}"));
            assert_eq!(error.with_pointer_prefix("/in").pointer, format!("/in{pointer}"));
        }
    }

    #[test]
    fn a_failure_of_the_provider_has_its_message() {
        for (error, message) in [
            (r#"{"message":"busy"}"#, "busy"),
            (r#""busy""#, "busy"),
            (r#"{"code":7}"#, "no message"),
            ("7", "no message"),
        ] {
            let value = ExactValue::read(error).unwrap();
            let failure = JsonLocation::root(&value).provider_failure().to_string();
            assert_eq!(failure, format!("the root: expected calls, got an error of the provider: {message}"));
        }
    }
}
