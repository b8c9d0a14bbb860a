//! Rules as they are written in a configuration.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Map, Number, Value};

use super::{
    InvalidRule, Matcher, NumberPattern, PathPattern, Rule, UrlPattern, Verdict, matcher::Kind,
    text::TextPattern,
};

impl FromStr for Rule {
    type Err = InvalidRule;

    /// Parses `allow PATTERN`, `ask PATTERN` or `deny PATTERN`.
    fn from_str(text: &str) -> Result<Self, InvalidRule> {
        match text.trim().split_once(' ').map(|(word, pattern)| (word, pattern.trim())) {
            Some(("allow", pattern)) => Ok(Self::allow(pattern)),
            Some(("ask", pattern)) => Ok(Self::ask(pattern)),
            Some(("deny", pattern)) => Ok(Self::deny(pattern)),
            _ => Err(InvalidRule(format!("expected `allow`, `ask` or `deny` and a pattern, got {text:?}"))),
        }
    }
}

/// A rule as an object.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    #[serde(skip_serializing_if = "Option::is_none")]
    allow: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deny: Option<String>,
    #[serde(rename = "where", default, skip_serializing_if = "ArgumentMatchers::is_empty")]
    arguments: ArgumentMatchers,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Matchers by JSON pointer: one, or a list of matchers that must all match.
#[derive(Default)]
struct ArgumentMatchers(BTreeMap<String, Vec<Matcher>>);

impl ArgumentMatchers {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for ArgumentMatchers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(pointer, matchers)| match matchers.as_slice() {
            [only] => (pointer, only.to_value()),
            several => (pointer, several.iter().map(Matcher::to_value).collect()),
        }))
    }
}

impl<'de> Deserialize<'de> for ArgumentMatchers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pointers;

        impl<'de> Visitor<'de> for Pointers {
            type Value = ArgumentMatchers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of JSON pointers and matchers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ArgumentMatchers, A::Error> {
                let mut all = BTreeMap::new();
                while let Some((pointer, matchers)) = map.next_entry::<String, Value>()? {
                    let matchers = match matchers {
                        Value::Array(several) if !several.is_empty() => several,
                        one => vec![one],
                    };
                    let read = |matcher| {
                        Matcher::from_value(matcher).map_err(|InvalidRule(why)| format!("`{pointer}`: {why}"))
                    };
                    let matchers: Result<Vec<_>, _> = matchers.into_iter().map(read).collect();
                    let matchers = matchers.map_err(A::Error::custom)?;
                    if all.contains_key(&pointer) {
                        return Err(A::Error::custom(format!("`{pointer}` is given twice; write a list")));
                    }
                    all.insert(pointer, matchers);
                }
                Ok(ArgumentMatchers(all))
            }
        }

        deserializer.deserialize_map(Pointers)
    }
}

impl Matcher {
    fn to_value(&self) -> Value {
        let mut members = Map::new();
        match &self.0 {
            Kind::Text(TextPattern(text)) => return Value::from(text.as_str()),
            Kind::Url(pattern) => drop(members.insert("url".to_owned(), pattern.as_str().into())),
            Kind::Number(pattern) => drop(members.insert("number".to_owned(), pattern.as_str().into())),
            Kind::Path(pattern) => {
                members.insert("path".to_owned(), pattern.as_str().into());
                let (base, ignore_case) = pattern.options();
                members.extend(base.map(|base| ("base".to_owned(), base.into())));
                members.extend(ignore_case.map(|ignore_case| ("ignoreCase".to_owned(), ignore_case.into())));
            }
        }
        Value::Object(members)
    }

    fn from_value(value: Value) -> Result<Self, InvalidRule> {
        /// The members of a matcher object.
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "camelCase")]
        struct Object {
            path: Option<String>,
            url: Option<String>,
            number: Option<Value>,
            base: Option<String>,
            ignore_case: Option<bool>,
        }
        let object = match value {
            Value::String(text) => return Ok(Self::from(text)),
            Value::Object(members) => members,
            other => {
                let message =
                    format!("expected a text, or an object with `path`, `url` or `number`, got {other}");
                return Err(InvalidRule(message));
            }
        };
        let object: Result<Object, serde_json::Error> = Object::deserialize(object.into_deserializer());
        match object.map_err(|error| InvalidRule(error.to_string()))? {
            Object { path: Some(path), url: None, number: None, base, ignore_case } => {
                PathPattern::compiled(&path, base.as_deref(), ignore_case).map(Self::from)
            }
            Object { path: None, url: Some(url), number: None, base: None, ignore_case: None } => {
                UrlPattern::new(&url).map(Self::from)
            }
            Object { path: None, url: None, number: Some(number), base: None, ignore_case: None } => {
                match number {
                    Value::String(text) => NumberPattern::new(&text).map(Self::from),
                    Value::Number(number) => integer_pattern(&number).map(Self::from),
                    other => {
                        Err(InvalidRule(format!("expected a number or a text with comparisons, got {other}")))
                    }
                }
            }
            _ => Err(InvalidRule(
                "an object must have one of `path` (with `base` and `ignoreCase`), `url` and `number`"
                    .to_owned(),
            )),
        }
    }
}

/// Creates the pattern of a number that is not a text: only integers are exact after deserialization.
fn integer_pattern(number: &Number) -> Result<NumberPattern, InvalidRule> {
    match number.is_f64() {
        true => Err(InvalidRule(format!("write the number as a text, so that it stays exact: \"{number}\""))),
        false => NumberPattern::new(&number.to_string()),
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pattern = |verdict| (self.verdict == verdict).then(|| self.calls.to_string());
        let (allow, ask, deny) = (pattern(Verdict::Allow), pattern(Verdict::Ask), pattern(Verdict::Deny));
        let arguments = ArgumentMatchers(self.arguments.clone());
        Wire { allow, ask, deny, arguments, reason: self.reason.clone() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Not `untagged`, which would hide the reason why an object is not a rule.
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Rule;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rule: a text such as `deny bash`, or an object")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Rule, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Rule, A::Error> {
                let wire = Wire::deserialize(MapAccessDeserializer::new(map))?;
                let rule = match (wire.allow, wire.ask, wire.deny) {
                    (Some(pattern), None, None) => Rule::allow(&pattern),
                    (None, Some(pattern), None) => Rule::ask(&pattern),
                    (None, None, Some(pattern)) => Rule::deny(&pattern),
                    _ => {
                        return Err(A::Error::custom(
                            "a rule must have exactly one of `allow`, `ask` and `deny`",
                        ));
                    }
                };
                Ok(Rule { reason: wire.reason, arguments: wire.arguments.0, ..rule })
            }
        }

        deserializer.deserialize_any(Either)
    }
}
