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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    fn field(name: &str) -> FormField {
        FormField { name: name.into(), ..FormField::default() }
    }

    /// The pairs of a form as `name=value`.
    fn pairs(fields: &[FormField], value: &str) -> Result<Vec<String>, String> {
        let pairs = FormFields(fields.to_vec()).form_pairs(serde_json::from_str(value).unwrap())?;
        Ok(pairs.iter().map(QueryPair::cookie_text).collect())
    }

    #[test]
    fn a_property_is_written_by_its_value_or_its_encoding() {
        let styled = |explode: bool, reserved: bool| FormField {
            style: Some((ParameterStyle::Form, explode, reserved)),
            ..field("a")
        };
        let json = FormField { media_type: Some("application/json".into()), ..field("a") };
        let text = FormField { media_type: Some("text/plain".into()), ..field("a") };
        for (fields, value, expected) in [
            (vec![], r#"{"a": "x y", "b c": 1}"#, &["a=x%20y", "b%20c=1"][..]),
            (vec![], r#"{"a": [1, null, "x"], "b": null}"#, &["a=1", "a=x"]),
            (vec![], r#"{"a": {"b": 1}}"#, &["a=%7B%22b%22%3A%201%7D"]),
            (vec![field("a")], r#"{"a": {"b":1}}"#, &["a=%7B%22b%22%3A1%7D"]),
            (vec![text], r#"{"a": "x"}"#, &["a=x"]),
            (vec![json.clone()], r#"{"a": "x"}"#, &["a=%22x%22"]),
            (vec![json], r#"{"a": [1]}"#, &["a=%5B1%5D"]),
            (vec![styled(true, false)], r#"{"a": {"b": 1, "c": 2}}"#, &["b=1", "c=2"]),
            (vec![styled(true, false)], r#"{"a": {"a": 1}}"#, &["a=1"]),
            (vec![styled(false, false)], r#"{"a": {"b": 1}}"#, &["a=b,1"]),
            (vec![styled(false, false)], r#"{"a": [1, 2]}"#, &["a=1,2"]),
            (vec![styled(true, true)], r#"{"a": "/:x"}"#, &["a=/:x"]),
            (vec![styled(true, false)], r#"{"a": "/:x"}"#, &["a=%2F%3Ax"]),
            (vec![], "{}", &[]),
        ] {
            let expected: Vec<_> = expected.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(pairs(&fields, value), Ok(expected), "{value}");
        }
        let problem = "has the property `a` with the member `b`, which is the name of another property";
        assert_eq!(pairs(&[styled(true, false), field("b")], r#"{"a": {"b": 1}}"#), Err(problem.to_owned()));
        for value in ["3", "[]", "\"{}\""] {
            assert_eq!(pairs(&[], value), Err("is not an object, which a form is".to_owned()));
        }
    }
}
