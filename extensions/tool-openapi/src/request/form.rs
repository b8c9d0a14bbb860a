//! Forms: the properties of an object as named values.

use serde_json::value::RawValue;

use super::{
    json::{Members, scalar_text},
    style::{ParameterEncoding, ParameterStyle, QueryPair},
};

/// The properties of a form of which the document says how they are written. Others are written by their values.
#[derive(Debug, Clone, Default)]
pub(crate) struct FormFields(pub(crate) Vec<FormField>);

/// A property of a form.
#[derive(Debug, Clone, Default)]
pub(crate) struct FormField {
    pub(crate) name: Box<str>,
    /// The style, `explode` and `allowReserved`.
    pub(crate) style: Option<(ParameterStyle, bool, bool)>,
    pub(crate) media_type: Option<Box<str>>,
    /// The value is the content of a file, or of several.
    pub(crate) is_file: bool,
    /// Headers of its part.
    pub(crate) headers: Vec<(Box<str>, Box<str>)>,
}

impl FormFields {
    /// The size in memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let of = |it: &FormField| {
            let headers: usize = it.headers.iter().map(|(name, value)| 32 + name.len() + value.len()).sum();
            size_of::<FormField>() + it.name.len() + it.media_type.as_ref().map_or(0, |it| it.len()) + headers
        };
        self.0.iter().map(of).sum()
    }

    pub(super) fn get(&self, name: &str) -> Option<&FormField> {
        self.0.iter().find(|it| *it.name == *name)
    }

    /// The pairs of `application/x-www-form-urlencoded`.
    ///
    /// Without a style, a list is one pair for each item, and an object is JSON.
    pub(super) fn form_pairs(&self, value: &RawValue) -> Result<Vec<QueryPair>, String> {
        let unreadable = |error: serde_json::Error| format!("cannot be read: {error}");
        if !value.get().starts_with('{') {
            return Err("is not an object, which a form is".to_owned());
        }
        let members = Members::of(value.get()).map_err(unreadable)?;
        let mut pairs = Vec::new();
        for (name, value) in members.iter().filter(|(_, it)| it.get() != "null") {
            let field = self.get(name);
            let (style, explode, allow_reserved) =
                field.and_then(|it| it.style).unwrap_or((ParameterStyle::Form, true, false));
            let is_json =
                field.and_then(|it| it.media_type.as_deref()).is_some_and(crate::media_type::is_json);
            let is_plain_object = field.is_none_or(|it| it.style.is_none()) && value.get().starts_with('{');
            let encoding = ParameterEncoding::of_form_field(name, style, explode, allow_reserved);
            let encoding = if is_json || is_plain_object { encoding.as_json() } else { encoding };
            let new = encoding
                .query_pairs(value)
                .map_err(|problem| format!("has the property `{name}`, which {problem}"))?;
            // The members of an object in a form are other properties of it.
            if let Some(member) = new
                .iter()
                .filter_map(|it| it.member.as_deref())
                .find(|it| self.is_other_declared_field(it, name))
            {
                return Err(format!(
                    "has the property `{name}` with the member `{member}`, which is the name of another property"
                ));
            }
            pairs.extend(new);
        }
        Ok(pairs)
    }

    fn is_other_declared_field(&self, member: &str, of: &str) -> bool {
        member != of && self.get(member).is_some()
    }
}

/// The text of a value in a part or a form: a string as it is, any other value as JSON.
pub(super) fn part_text(value: &RawValue) -> Result<String, String> {
    scalar_text(value).map(|it| it.into_owned()).map_err(|error| format!("cannot be read: {error}"))
}
