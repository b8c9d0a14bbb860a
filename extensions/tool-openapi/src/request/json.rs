//! JSON values as text.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object, in their order, with their values as text.
pub(crate) struct Members<'t>(Vec<(Cow<'t, str>, &'t RawValue)>);

impl<'t> Members<'t> {
    /// Reads the text of an object.
    pub(crate) fn of(text: &'t str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the value of a member; `None` for `null`.
    pub(super) fn get(&self, name: &str) -> Option<&'t RawValue> {
        let found = self.0.iter().find(|(key, _)| key == name)?;
        Some(found.1).filter(|it| it.get() != "null")
    }

    /// Returns an error if this object, or one within it, has two members of one name: what was validated and permitted is not what
    /// every server reads.
    pub(super) fn check_unique_deeply(&self) -> Result<(), serde_json::Error> {
        if let Some(name) = self.repeated_name() {
            return Err(repeated_name_error(name));
        }
        let has_members = |value: &&RawValue| value.get().starts_with(['{', '[']);
        self.iter()
            .map(|(_, value)| value)
            .filter(has_members)
            .try_for_each(|value| check_unique_deeply(value.get()))
    }

    /// Returns a name that two members have.
    fn repeated_name(&self) -> Option<&str> {
        let mut seen = HashSet::with_capacity(self.0.len());
        self.iter().map(|(name, _)| name).find(|name| !seen.insert(*name))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'t RawValue)> {
        self.0.iter().map(|(key, value)| (&**key, *value))
    }
}

impl<'de: 't, 't> Deserialize<'de> for Members<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(map.size_hint().unwrap_or_default());
                while let Some((MemberName(key), value)) =
                    map.next_entry::<MemberName<'de>, &'de RawValue>()?
                {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

/// Returns an error if an object within `text` has two members of one name.
fn check_unique_deeply(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<UniqueNamesCheck>(text).map(drop)
}

fn repeated_name_error<E: serde::de::Error>(name: &str) -> E {
    E::custom(format_args!("the member `{name}` appears twice in one object"))
}

struct UniqueNamesCheck;

impl<'de> Deserialize<'de> for UniqueNamesCheck {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for UniqueNamesCheck {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while let Some(Self) = seq.next_element()? {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut names = HashSet::new();
        while let Some(MemberName(name)) = map.next_key::<MemberName<'de>>()? {
            if names.contains(&name) {
                return Err(repeated_name_error(&name));
            }
            names.insert(name);
            let Self = map.next_value()?;
        }
        Ok(self)
    }
}

/// A text that is borrowed where it has no escapes.
struct MemberName<'t>(Cow<'t, str>);

impl<'de: 't, 't> Deserialize<'de> for MemberName<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MemberNameVisitor;

        impl<'de> Visitor<'de> for MemberNameVisitor {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }

        deserializer.deserialize_str(MemberNameVisitor).map(Self)
    }
}

/// A value in the shapes that styles distinguish. Values inside lists and objects are texts: those of strings, and JSON of any other.
/// `null` inside them is not written, as in [RFC 6570, section 2.3](https://www.rfc-editor.org/rfc/rfc6570#section-2.3).
pub(super) enum ValueShape<'t> {
    Scalar(Cow<'t, str>),
    List(Vec<Cow<'t, str>>),
    Object(Vec<(String, &'t RawValue)>),
}

impl<'t> ValueShape<'t> {
    /// Returns the shape of a value that is not `null`.
    pub(super) fn of(value: &'t RawValue) -> Result<Self, serde_json::Error> {
        Ok(match value.get().as_bytes().first() {
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(value.get())?;
                let present = items.into_iter().filter(|it| it.get() != "null");
                Self::List(present.map(scalar_text).collect::<Result<_, _>>()?)
            }
            Some(b'{') => {
                let members = Members::of(value.get())?;
                let present = members.iter().filter(|(_, value)| value.get() != "null");
                Self::Object(present.map(|(key, value)| (key.to_owned(), value)).collect())
            }
            _ => Self::Scalar(scalar_text(value)?),
        })
    }
}

/// The text of a string, and the JSON of any other value.
pub(super) fn scalar_text(value: &RawValue) -> Result<Cow<'_, str>, serde_json::Error> {
    match value.get().starts_with('"') {
        true => serde_json::from_str::<MemberName<'_>>(value.get()).map(|MemberName(text)| text),
        false => Ok(Cow::Borrowed(value.get())),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::{Members, ValueShape};

    fn members(count: usize, last: &str) -> String {
        let members: Vec<_> =
            (0..count).map(|at| format!("\"m{at}\": 1")).chain([format!("\"{last}\": 2")]).collect();
        format!("{{{}}}", members.join(", "))
    }

    #[test]
    fn a_name_that_two_members_have_is_found() {
        for count in [1, 2, 7, 8, 9, 20] {
            let text = members(count, "other");
            assert!(Members::of(&text).unwrap().check_unique_deeply().is_ok(), "{text}");
            for twice in [0, count / 2, count - 1] {
                let text = members(count, &format!("m{twice}"));
                let error = Members::of(&text).unwrap().check_unique_deeply().unwrap_err().to_string();
                assert_eq!(error, format!("the member `m{twice}` appears twice in one object"), "{text}");
            }
        }
        for (text, name) in [
            (r#"{"a": {"b": 1, "\u0062": 2}}"#, "b"),
            (r#"{"a": [1, "x", null, true, 1.5, -1, [{"b": 1, "b": 2}]]}"#, "b"),
            (r#"{"a": 1, "\u0061": 2}"#, "a"),
        ] {
            let error = Members::of(text).unwrap().check_unique_deeply().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("the member `{name}` appears twice in one object")),
                "{error}"
            );
        }
        let text = r#"{"a": {"b": 1}, "c": [{"b": 1}, {"b": "a"}, -1, 1.5, null, true]}"#;
        assert!(Members::of(text).unwrap().check_unique_deeply().is_ok());
    }

    #[test]
    fn a_text_that_is_no_object_is_refused_with_what_is_expected() {
        let error = Members::of("3").map(drop).unwrap_err().to_string();
        assert_eq!(error, "invalid type: integer `3`, expected an object at line 1 column 1");
        let error = Members::of("{3: 1}").map(drop).unwrap_err().to_string();
        assert_eq!(error, "key must be a string at line 1 column 2");
    }

    #[test]
    fn a_member_is_found_by_its_decoded_name_unless_it_is_null() {
        let members = Members::of(r#"{"\u0061": 1, "b": null, "c": "null"}"#).unwrap();
        let text = |name| members.get(name).map(serde_json::value::RawValue::get);
        assert_eq!((text("a"), text("b"), text("c"), text("d")), (Some("1"), None, Some("\"null\""), None));
    }

    #[test]
    fn values_within_a_list_or_an_object_are_texts_without_null() {
        let shape = |text: &str| match ValueShape::of(serde_json::from_str(text).unwrap()).unwrap() {
            ValueShape::Scalar(text) => format!("scalar {text}"),
            ValueShape::List(items) => format!("list {}", items.join("|")),
            ValueShape::Object(members) => {
                let members: Vec<_> = members.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("object {}", members.join("|"))
            }
        };
        for (text, expected) in [
            (r#""a\u0062""#, "scalar ab"),
            ("1.10", "scalar 1.10"),
            ("true", "scalar true"),
            (r#"[1, "a", null, [2]]"#, "list 1|a|[2]"),
            (r#"{"a": "x", "b": null, "c": 1}"#, "object a=\"x\"|c=1"),
        ] {
            assert_eq!(shape(text), expected, "{text}");
        }
    }
}
