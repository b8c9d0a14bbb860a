//! JSON values as text.

use std::{borrow::Cow, fmt};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object, in their order, with their values as text.
pub(super) struct Members<'t>(Vec<(Cow<'t, str>, &'t RawValue)>);

impl<'t> Members<'t> {
    /// Reads the text of an object.
    pub(super) fn of(text: &'t str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the value of a member; `None` for `null`.
    pub(super) fn get(&self, name: &str) -> Option<&'t RawValue> {
        let found = self.0.iter().find(|(key, _)| key == name)?;
        Some(found.1).filter(|it| it.get() != "null")
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'t RawValue)> {
        self.0.iter().map(|(key, value)| (&**key, *value))
    }
}

impl<'de: 't, 't> Deserialize<'de> for Members<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;

        impl<'de> Visitor<'de> for Of {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(map.size_hint().unwrap_or(0));
                while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Of)
    }
}

/// A text that is borrowed where it has no escapes.
struct Key<'t>(Cow<'t, str>);

impl<'de: 't, 't> Deserialize<'de> for Key<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;

        impl<'de> Visitor<'de> for Of {
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

        deserializer.deserialize_str(Of).map(Self)
    }
}

/// A value in the shapes that styles distinguish. Values inside lists and objects are texts: those of strings, and JSON of any other.
pub(super) enum Shape<'t> {
    Scalar(Cow<'t, str>),
    List(Vec<Cow<'t, str>>),
    Object(Vec<(String, &'t RawValue)>),
}

impl<'t> Shape<'t> {
    /// Returns the shape of a value that is not `null`.
    pub(super) fn of(value: &'t RawValue) -> Result<Self, serde_json::Error> {
        Ok(match value.get().as_bytes().first() {
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(value.get())?;
                Self::List(items.into_iter().map(scalar).collect::<Result<_, _>>()?)
            }
            Some(b'{') => {
                let members = Members::of(value.get())?;
                let present = members.iter().filter(|(_, value)| value.get() != "null");
                Self::Object(present.map(|(key, value)| (key.to_owned(), value)).collect())
            }
            _ => Self::Scalar(scalar(value)?),
        })
    }
}

/// The text of a string, and the JSON of any other value.
pub(super) fn scalar(value: &RawValue) -> Result<Cow<'_, str>, serde_json::Error> {
    match value.get().starts_with('"') {
        true => serde_json::from_str::<Key<'_>>(value.get()).map(|Key(text)| text),
        false => Ok(Cow::Borrowed(value.get())),
    }
}
