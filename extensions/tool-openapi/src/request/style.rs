//! The styles of parameters ([OpenAPI 3.1, section
//! 4.8.12.6](https://spec.openapis.org/oas/v3.1.1.html#style-examples)).
//!
//! Values are encoded one by one, and the delimiters of a style are added afterwards: no value contains a delimiter.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::value::RawValue;
use tool_runtime::ToolError;

use super::{
    In, Parameter,
    json::{Shape, scalar},
};

/// Everything but the unreserved characters ([RFC 3986, section
/// 2.3](https://www.rfc-editor.org/rfc/rfc3986#section-2.3)).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Everything but unreserved characters and the reserved ones that cannot end a parameter.
const MARKS: &AsciiSet = &RESERVED
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
    .remove(b',')
    .remove(b';')
    .remove(b'[')
    .remove(b']');

/// The style of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

impl Style {
    /// Returns the style `name` of parameters in `location`.
    pub(crate) fn read(name: &str, location: In) -> Option<Self> {
        Some(match (name, location) {
            ("simple", In::Path | In::Header) => Self::Simple,
            ("label", In::Path) => Self::Label,
            ("matrix", In::Path) => Self::Matrix,
            ("form", In::Query | In::Cookie | In::QueryString) | ("cookie", In::Cookie) => Self::Form,
            ("spaceDelimited", In::Query) => Self::SpaceDelimited,
            ("pipeDelimited", In::Query) => Self::PipeDelimited,
            ("deepObject", In::Query) => Self::DeepObject,
            _ => return None,
        })
    }
}

impl Parameter {
    fn shape<'t>(&self, value: &'t RawValue) -> Result<Shape<'t>, ToolError> {
        if self.is_json {
            return Ok(Shape::Scalar(Cow::Borrowed(value.get())));
        }
        Shape::of(value).map_err(|error| self.unfit(&format!("cannot be read: {error}")))
    }

    fn text<'t>(&self, value: &'t RawValue) -> Result<Cow<'t, str>, ToolError> {
        scalar(value).map_err(|error| self.unfit(&format!("cannot be read: {error}")))
    }

    fn encoded(&self, text: &str) -> String {
        utf8_percent_encode(text, if self.allow_reserved { MARKS } else { RESERVED }).to_string()
    }

    /// The members of an object, encoded, with `between` key and value.
    fn members(&self, members: &[(String, &RawValue)], between: char) -> Result<Vec<String>, ToolError> {
        let pair = |(key, value): &(String, &RawValue)| {
            let value = self.encoded(&self.text(value)?);
            Ok(format!("{}{between}{value}", self.encoded(key)))
        };
        members.iter().map(pair).collect()
    }

    /// The value in a path.
    pub(super) fn path(&self, value: &RawValue) -> Result<String, ToolError> {
        let shape = self.shape(value)?;
        let name = self.encoded(&self.name);
        let all = |items: &[Cow<'_, str>]| items.iter().map(|it| self.encoded(it)).collect::<Vec<_>>();
        Ok(match (self.style, shape) {
            (Style::Label, Shape::Scalar(text)) => format!(".{}", self.encoded(&text)),
            (Style::Label, Shape::List(items)) => {
                format!(".{}", all(&items).join(if self.explode { "." } else { "," }))
            }
            (Style::Label, Shape::Object(members)) => match self.explode {
                true => format!(".{}", self.members(&members, '=')?.join(".")),
                false => format!(".{}", self.members(&members, ',')?.join(",")),
            },
            (Style::Matrix, Shape::Scalar(text)) => format!(";{name}={}", self.encoded(&text)),
            (Style::Matrix, Shape::List(items)) => match self.explode {
                true => all(&items).iter().map(|it| format!(";{name}={it}")).collect(),
                false => format!(";{name}={}", all(&items).join(",")),
            },
            (Style::Matrix, Shape::Object(members)) => match self.explode {
                true => self.members(&members, '=')?.iter().map(|it| format!(";{it}")).collect(),
                false => format!(";{name}={}", self.members(&members, ',')?.join(",")),
            },
            (_, Shape::Scalar(text)) => self.encoded(&text),
            (_, Shape::List(items)) => all(&items).join(","),
            (_, Shape::Object(members)) => {
                self.members(&members, if self.explode { '=' } else { ',' })?.join(",")
            }
        })
    }

    /// The value in a header, which is not encoded; `None` for an empty list.
    pub(super) fn simple(&self, value: &RawValue) -> Result<Option<String>, ToolError> {
        Ok(Some(match self.shape(value)? {
            Shape::Scalar(text) => text.into_owned(),
            Shape::List(items) if items.is_empty() => return Ok(None),
            Shape::List(items) => items.join(","),
            Shape::Object(members) => {
                let between = if self.explode { '=' } else { ',' };
                let pair =
                    |(key, value): &(String, &RawValue)| Ok(format!("{key}{between}{}", self.text(value)?));
                members.iter().map(pair).collect::<Result<Vec<_>, ToolError>>()?.join(",")
            }
        }))
    }

    /// The value as `name=value` of a cookie.
    pub(super) fn cookie(&self, value: &RawValue) -> Result<Vec<String>, ToolError> {
        let mut query = String::new();
        self.add_query(&mut query, value)?;
        Ok(query.split('&').filter(|it| !it.is_empty()).map(str::to_owned).collect())
    }

    /// Adds the value to a query.
    pub(super) fn add_query(&self, query: &mut String, value: &RawValue) -> Result<(), ToolError> {
        let name = self.encoded(&self.name);
        let mut add = |pair: String| {
            if !query.is_empty() {
                query.push('&');
            }
            query.push_str(&pair);
        };
        let all = |items: &[Cow<'_, str>]| items.iter().map(|it| self.encoded(it)).collect::<Vec<_>>();
        let delimiter = match self.style {
            Style::SpaceDelimited => "%20",
            Style::PipeDelimited => "%7C",
            _ => ",",
        };
        match self.shape(value)? {
            Shape::Scalar(text) => add(format!("{name}={}", self.encoded(&text))),
            Shape::List(items) if self.explode || self.style == Style::DeepObject => {
                all(&items).into_iter().for_each(|it| add(format!("{name}={it}")));
            }
            Shape::List(items) if items.is_empty() => {}
            Shape::List(items) => add(format!("{name}={}", all(&items).join(delimiter))),
            Shape::Object(members) if self.style == Style::DeepObject => {
                self.add_deep(&mut add, &name, &members)?
            }
            Shape::Object(members) if self.explode => self.members(&members, '=')?.into_iter().for_each(add),
            Shape::Object(members) if members.is_empty() => {}
            Shape::Object(members) => {
                let mut parts = Vec::with_capacity(members.len() * 2);
                for (key, value) in &members {
                    parts.push(self.encoded(key));
                    parts.push(self.encoded(&self.text(value)?));
                }
                add(format!("{name}={}", parts.join(delimiter)));
            }
        }
        Ok(())
    }

    /// Adds `name[key]=value` of each member, also of nested ones, as most servers expect.
    fn add_deep(
        &self,
        add: &mut impl FnMut(String),
        name: &str,
        members: &[(String, &RawValue)],
    ) -> Result<(), ToolError> {
        for (key, value) in members {
            let name = format!("{name}%5B{}%5D", self.encoded(key));
            match self.shape(value)? {
                Shape::Scalar(text) => add(format!("{name}={}", self.encoded(&text))),
                Shape::List(items) => items.iter().for_each(|it| add(format!("{name}={}", self.encoded(it)))),
                Shape::Object(members) => self.add_deep(add, &name, &members)?,
            }
        }
        Ok(())
    }
}
