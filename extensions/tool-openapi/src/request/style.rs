//! The styles of parameters ([OpenAPI 3.2, "Style
//! Examples"](https://spec.openapis.org/oas/v3.2.0.html#style-examples)).
//!
//! Values are encoded one by one, and the delimiters of a style are added afterwards: no value contains a delimiter. A value that has
//! no encoding, as in a header, is refused if it has the delimiter.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::value::RawValue;

use super::{
    ParameterLocation, RequestParameter,
    json::{ValueShape, scalar_text},
};

/// Everything but the unreserved characters ([RFC 3986, section
/// 2.3](https://www.rfc-editor.org/rfc/rfc3986#section-2.3)).
pub(super) const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Everything but unreserved characters and the reserved ones that cannot end an item of a list.
const ITEM_MARKS: &AsciiSet = &RESERVED
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b';')
    .remove(b'[')
    .remove(b']');

/// The same, for a value that is no list.
const MARKS: &AsciiSet = &ITEM_MARKS.remove(b',');

/// The same within a segment of a path.
const SEGMENT_MARKS: &AsciiSet = &MARKS.add(b'/').add(b'?');
const SEGMENT_ITEM_MARKS: &AsciiSet = &ITEM_MARKS.add(b'/').add(b'?');

/// The style of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterStyle {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
    /// Values as they are (version 3.2).
    Cookie,
}

impl ParameterStyle {
    /// Returns the style `name` of parameters in `location`.
    pub(crate) fn of_name(name: &str, location: ParameterLocation) -> Option<Self> {
        Some(match (name, location) {
            ("simple", ParameterLocation::Path | ParameterLocation::Header) => Self::Simple,
            ("label", ParameterLocation::Path) => Self::Label,
            ("matrix", ParameterLocation::Path) => Self::Matrix,
            (
                "form",
                ParameterLocation::Query | ParameterLocation::Cookie | ParameterLocation::QueryString,
            ) => Self::Form,
            ("cookie", ParameterLocation::Cookie) => Self::Cookie,
            ("spaceDelimited", ParameterLocation::Query) => Self::SpaceDelimited,
            ("pipeDelimited", ParameterLocation::Query) => Self::PipeDelimited,
            ("deepObject", ParameterLocation::Query) => Self::DeepObject,
            _ => return None,
        })
    }
}

/// The characters of a value that are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EscapedChars {
    Reserved,
    /// `allowReserved`: only what would end the value.
    Delimiters,
    /// The same within a segment of a path.
    SegmentDelimiters,
    /// None; a value that needs it is refused.
    Nothing,
}

/// The name of a parameter, and how its value is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParameterEncoding<'p> {
    name: &'p str,
    style: ParameterStyle,
    explode: bool,
    is_json: bool,
    escaped: EscapedChars,
}

/// A name and its value, encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueryPair {
    pub(super) name: String,
    pub(super) value: String,
    /// The name as it is read by the server, if it comes from an object and not from the document.
    pub(super) member: Option<String>,
}

impl QueryPair {
    /// Adds the pair to a query or a form.
    pub(super) fn append_to_query(&self, query: &mut String) {
        append_pair(query, &self.name);
        query.push('=');
        query.push_str(&self.value);
    }

    /// The pair in a cookie.
    pub(super) fn cookie_text(&self) -> String {
        [&*self.name, "=", &self.value].concat()
    }
}

impl RequestParameter {
    pub(super) fn parameter_encoding(&self) -> ParameterEncoding<'_> {
        let escaped = match (self.location, self.allow_reserved) {
            (ParameterLocation::Path, true) => EscapedChars::SegmentDelimiters,
            (_, true) => EscapedChars::Delimiters,
            (_, false) if self.style == ParameterStyle::Cookie => EscapedChars::Nothing,
            (_, false) => EscapedChars::Reserved,
        };
        let Self { name, style, explode, is_json, .. } = self;
        ParameterEncoding { name, style: *style, explode: *explode, is_json: *is_json, escaped }
    }
}

impl<'p> ParameterEncoding<'p> {
    /// A property of a form.
    pub(super) fn of_form_field(
        name: &'p str,
        style: ParameterStyle,
        explode: bool,
        allow_reserved: bool,
    ) -> Self {
        let escaped = if allow_reserved { EscapedChars::Delimiters } else { EscapedChars::Reserved };
        Self { name, style, explode, is_json: false, escaped }
    }

    /// The same, with the value as JSON.
    pub(super) fn as_json(self) -> Self {
        Self { is_json: true, ..self }
    }

    fn value_shape<'t>(&self, value: &'t RawValue) -> Result<ValueShape<'t>, String> {
        if self.is_json {
            return Ok(ValueShape::Scalar(Cow::Borrowed(value.get())));
        }
        ValueShape::of(value).map_err(|error| format!("cannot be read: {error}"))
    }

    fn encode_text(&self, text: &str, in_list: bool) -> Result<String, String> {
        let set = match (self.escaped, in_list) {
            (EscapedChars::Reserved, _) => RESERVED,
            (EscapedChars::Delimiters, false) => MARKS,
            (EscapedChars::Delimiters, true) => ITEM_MARKS,
            (EscapedChars::SegmentDelimiters, false) => SEGMENT_MARKS,
            (EscapedChars::SegmentDelimiters, true) => SEGMENT_ITEM_MARKS,
            // https://www.rfc-editor.org/rfc/rfc6265#section-4.1.1
            (EscapedChars::Nothing, _) => {
                let is_octet = |it: u8| it.is_ascii_graphic() && !b"\",;\\".contains(&it);
                return match text.bytes().all(is_octet) {
                    true => Ok(text.to_owned()),
                    false => {
                        Err("has a value with white space, a quote, `,`, `;`, `\\` or a character beyond \
                                  ASCII, which a cookie cannot have"
                            .to_owned())
                    }
                };
            }
        };
        Ok(percent_encode(text, set))
    }

    fn encode_items(&self, items: &[Cow<'_, str>]) -> Result<Vec<String>, String> {
        items.iter().map(|it| self.encode_text(it, true)).collect()
    }

    /// The members of an object, encoded, with `between` key and value.
    fn encode_members(&self, members: &[(String, &RawValue)], between: char) -> Result<Vec<String>, String> {
        let pair = |(key, value): &(String, &RawValue)| {
            let value = self.encode_text(&read_scalar(value)?, true)?;
            Ok(format!("{}{between}{value}", utf8_percent_encode(key, RESERVED)))
        };
        members.iter().map(pair).collect()
    }

    /// The value in a path; empty for an empty list or object.
    pub(super) fn path_text(&self, value: &RawValue) -> Result<String, String> {
        let name = utf8_percent_encode(self.name, RESERVED);
        let (shape, explode) = (self.value_shape(value)?, self.explode);
        let between = if explode { '=' } else { ',' };
        Ok(match (self.style, shape) {
            (_, ValueShape::List(items)) if items.is_empty() => String::new(),
            (_, ValueShape::Object(members)) if members.is_empty() => String::new(),
            (ParameterStyle::Label, ValueShape::Scalar(text)) => {
                format!(".{}", self.encode_text(&text, false)?)
            }
            (ParameterStyle::Label, ValueShape::List(items)) => {
                format!(".{}", self.encode_items(&items)?.join(if explode { "." } else { "," }))
            }
            (ParameterStyle::Label, ValueShape::Object(members)) => {
                format!(".{}", self.encode_members(&members, between)?.join(if explode { "." } else { "," }))
            }
            (ParameterStyle::Matrix, ValueShape::Scalar(text)) if text.is_empty() => format!(";{name}"),
            (ParameterStyle::Matrix, ValueShape::Scalar(text)) => {
                format!(";{name}={}", self.encode_text(&text, false)?)
            }
            (ParameterStyle::Matrix, ValueShape::List(items)) => match explode {
                true => self.encode_items(&items)?.iter().map(|it| format!(";{name}={it}")).collect(),
                false => format!(";{name}={}", self.encode_items(&items)?.join(",")),
            },
            (ParameterStyle::Matrix, ValueShape::Object(members)) => match explode {
                true => self.encode_members(&members, '=')?.iter().map(|it| format!(";{it}")).collect(),
                false => format!(";{name}={}", self.encode_members(&members, ',')?.join(",")),
            },
            (_, ValueShape::Scalar(text)) => self.encode_text(&text, false)?,
            (_, ValueShape::List(items)) => self.encode_items(&items)?.join(","),
            (_, ValueShape::Object(members)) => self.encode_members(&members, between)?.join(","),
        })
    }

    /// The value in a header, which is not encoded; `None` for an empty list or object.
    pub(super) fn header_text(&self, value: &RawValue) -> Result<Option<String>, String> {
        let part = |text: &str, also: &str| match text.contains(|it| it == ',' || also.contains(it)) {
            false => Ok(text.to_owned()),
            true if also.is_empty() => {
                Err("has an item with `,`, which separates the items in a header".to_owned())
            }
            true => Err(format!("has a name with `,` or `{also}`, which separate the members in a header")),
        };
        let text = match self.value_shape(value)? {
            ValueShape::Scalar(text) => text.into_owned(),
            ValueShape::List(items) if items.is_empty() => return Ok(None),
            ValueShape::Object(members) if members.is_empty() => return Ok(None),
            ValueShape::List(items) => {
                items.iter().map(|it| part(it, "")).collect::<Result<Vec<_>, String>>()?.join(",")
            }
            ValueShape::Object(members) => {
                let (between, also) = if self.explode { ('=', "=") } else { (',', "") };
                let pair = |(key, value): &(String, &RawValue)| {
                    Ok(format!("{}{between}{}", part(key, also)?, part(&read_scalar(value)?, "")?))
                };
                members.iter().map(pair).collect::<Result<Vec<_>, String>>()?.join(",")
            }
        };
        match text.trim_matches([' ', '\t']) == text {
            true => Ok(Some(text)),
            false => Err("begins or ends with white space, which HTTP removes from headers".to_owned()),
        }
    }

    /// The value as pairs of a query, a form or cookies; none for an empty list or object.
    pub(super) fn query_pairs(&self, value: &RawValue) -> Result<Vec<QueryPair>, String> {
        let name = match self.escaped {
            EscapedChars::Nothing => self.name.to_owned(),
            _ => percent_encode(self.name, RESERVED),
        };
        let pair = |value: String| QueryPair { name: name.clone(), value, member: None };
        let delimiter = match self.style {
            ParameterStyle::SpaceDelimited => "%20",
            ParameterStyle::PipeDelimited => "%7C",
            _ => ",",
        };
        Ok(match self.value_shape(value)? {
            ValueShape::Scalar(text) => vec![pair(self.encode_text(&text, false)?)],
            ValueShape::List(items) if items.is_empty() => Vec::new(),
            ValueShape::Object(members) if members.is_empty() => Vec::new(),
            ValueShape::List(items) if self.explode || self.style == ParameterStyle::DeepObject => items
                .iter()
                .map(|it| Ok(pair(self.encode_text(it, false)?)))
                .collect::<Result<_, String>>()?,
            ValueShape::List(items) => vec![pair(self.encode_items(&items)?.join(delimiter))],
            ValueShape::Object(members) if self.style == ParameterStyle::DeepObject => {
                let mut pairs = Vec::new();
                self.add_deep_object_pairs(&mut pairs, self.name, &members)?;
                pairs
            }
            ValueShape::Object(members) if self.explode => {
                let of = |(key, value): &(String, &RawValue)| {
                    let name = match self.escaped {
                        EscapedChars::Nothing if key.contains('=') => {
                            return Err(format!("has the name `{key}`, and `=` ends the name of a cookie"));
                        }
                        EscapedChars::Nothing => self.encode_text(key, true)?,
                        _ => percent_encode(key, RESERVED),
                    };
                    Ok(QueryPair {
                        name,
                        value: self.encode_text(&read_scalar(value)?, false)?,
                        member: Some(key.clone()),
                    })
                };
                members.iter().map(of).collect::<Result<_, String>>()?
            }
            ValueShape::Object(members) => {
                let mut parts = Vec::new();
                for (key, value) in &members {
                    parts.push(self.encode_text(key, true)?);
                    parts.push(self.encode_text(&read_scalar(value)?, true)?);
                }
                vec![pair(parts.join(delimiter))]
            }
        })
    }

    /// Adds `name[key]=value` of each member, also of nested ones, as most servers expect.
    fn add_deep_object_pairs(
        &self,
        pairs: &mut Vec<QueryPair>,
        name: &str,
        members: &[(String, &RawValue)],
    ) -> Result<(), String> {
        for (key, value) in members {
            // Servers would read a member of a member, which was not validated as such.
            if key.contains(['[', ']']) {
                return Err(format!("has the member `{key}`, and brackets separate the names of members"));
            }
            let name = format!("{name}[{key}]");
            let pair = |text: &str| {
                let encoded = percent_encode(&name, RESERVED);
                let value = self.encode_text(text, false)?;
                Ok::<_, String>(QueryPair { name: encoded, value, member: Some(name.clone()) })
            };
            match self.value_shape(value)? {
                ValueShape::Scalar(text) => pairs.push(pair(&text)?),
                ValueShape::List(items) => {
                    for item in &items {
                        pairs.push(pair(item)?);
                    }
                }
                ValueShape::Object(members) => self.add_deep_object_pairs(pairs, &name, &members)?,
            }
        }
        Ok(())
    }
}

/// Adds a part to a query or a form.
pub(super) fn append_pair(query: &mut String, part: &str) {
    if !query.is_empty() {
        query.push('&');
    }
    query.push_str(part);
}

fn percent_encode(text: &str, set: &'static AsciiSet) -> String {
    Cow::from(utf8_percent_encode(text, set)).into_owned()
}

fn read_scalar(value: &RawValue) -> Result<Cow<'_, str>, String> {
    scalar_text(value).map_err(|error| format!("cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{ParameterLocation, ParameterStyle};

    #[test]
    fn a_style_exists_in_its_locations_only() {
        use ParameterLocation::{Cookie, Header, Path, Query, QueryString};
        let locations = [Path, Query, QueryString, Header, Cookie];
        for (name, style, known) in [
            ("simple", ParameterStyle::Simple, &[Path, Header][..]),
            ("label", ParameterStyle::Label, &[Path]),
            ("matrix", ParameterStyle::Matrix, &[Path]),
            ("form", ParameterStyle::Form, &[Query, QueryString, Cookie]),
            ("cookie", ParameterStyle::Cookie, &[Cookie]),
            ("spaceDelimited", ParameterStyle::SpaceDelimited, &[Query]),
            ("pipeDelimited", ParameterStyle::PipeDelimited, &[Query]),
            ("deepObject", ParameterStyle::DeepObject, &[Query]),
            ("tabDelimited", ParameterStyle::Simple, &[]),
        ] {
            for location in locations {
                let expected = known.contains(&location).then_some(style);
                assert_eq!(ParameterStyle::of_name(name, location), expected, "{name} {location:?}");
            }
        }
    }
}
