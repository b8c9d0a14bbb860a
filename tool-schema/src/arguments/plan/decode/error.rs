use std::{any::type_name, fmt};

use serde::de;

use crate::{json::Fault, pointer::push_step};

/// The reason why a text was not decoded, and the location.
///
/// It contains only what is known while decoding; the expected value is determined when the error is reported.
#[derive(Debug)]
pub struct DecodeError(Box<DecodeErrorData>);

#[derive(Debug)]
struct DecodeErrorData {
    why: DecodeErrorKind,
    /// The steps to the location, innermost first.
    path: Vec<String>,
    /// `true` if the type accepts no value of this JSON type.
    is_wrong_type: bool,
    key: Option<RefusedKey>,
}

/// The type of a map key that refused the name of a property.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RefusedKey {
    /// A type that accepts no string.
    Type(&'static str),
    /// An enum with these variants. `needs_content` is `true` if the name is a variant that is more than a name.
    Variant { key: &'static str, variants: &'static [&'static str], needs_content: bool },
}

/// The reason why a text was not decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::arguments) enum DecodeErrorKind {
    /// The plan does not admit the value, or admits it only in another spelling.
    Refused,
    /// The text is not JSON.
    Syntax,
    /// The text is nested too deeply.
    TooDeep,
    /// The type rejects the value, for this reason.
    Undecodable(String),
}

impl DecodeError {
    #[cold]
    pub(super) fn new(why: DecodeErrorKind) -> Self {
        Self(Box::new(DecodeErrorData { why, path: Vec::new(), is_wrong_type: false, key: None }))
    }

    #[cold]
    pub(super) fn refused() -> Self {
        Self::new(DecodeErrorKind::Refused)
    }

    /// Adds `step` to the location.
    #[cold]
    pub(super) fn with_location_step(mut self, step: String) -> Self {
        self.0.path.push(step);
        self
    }

    pub(in crate::arguments) fn kind(&self) -> &DecodeErrorKind {
        &self.0.why
    }

    /// Records that a key of type `K`, which is not a scalar, refused a name.
    #[cold]
    pub(super) fn with_refused_key_type<K>(mut self) -> Self {
        self.0.key = self.0.is_wrong_type.then(|| RefusedKey::Type(type_name::<K>()));
        self
    }

    /// Records that an enum `K` with these variants refused a name.
    #[cold]
    pub(super) fn with_refused_enum_key<K>(mut self, variants: &'static [&'static str]) -> Self {
        let needs_content = self.0.is_wrong_type;
        self.0.key = Some(RefusedKey::Variant { key: type_name::<K>(), variants, needs_content });
        self
    }

    /// Returns the type of the key that refused a name.
    pub(crate) fn refused_key(&self) -> Option<RefusedKey> {
        self.0.key
    }

    /// Returns the location as a JSON pointer.
    pub(crate) fn pointer(&self) -> String {
        let mut pointer = String::new();
        self.0.path.iter().rev().for_each(|step| push_step(&mut pointer, step));
        pointer
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.why {
            DecodeErrorKind::Refused => f.write_str("a value that the schema refuses"),
            DecodeErrorKind::Syntax => f.write_str("not JSON"),
            DecodeErrorKind::TooDeep => f.write_str("nested too deeply"),
            DecodeErrorKind::Undecodable(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(DecodeErrorKind::Undecodable(message.to_string()))
    }

    #[cold]
    fn invalid_type(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let mut error = Self::custom(format_args!("invalid type: {unexpected}, expected {expected}"));
        error.0.is_wrong_type = true;
        error
    }
}

impl From<Fault> for DecodeError {
    #[cold]
    fn from(fault: Fault) -> Self {
        Self::new(match fault {
            Fault::Syntax => DecodeErrorKind::Syntax,
            Fault::TooDeep => DecodeErrorKind::TooDeep,
        })
    }
}
