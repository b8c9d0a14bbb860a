//! A JSON syntax tree that permits duplicate keys, `3.0` for 3, and unnecessary escapes.

use std::fmt::Write as _;

use serde_json::Value;

use super::dice::Dice;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    /// `null`, `true` or `false`.
    Word(&'static str),
    /// As it is written.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Word("null"),
            Value::Bool(value) => Self::Word(if *value { "true" } else { "false" }),
            Value::Number(number) => Self::Number(number.to_string()),
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(map) => {
                Self::Object(map.iter().map(|(name, it)| (name.clone(), it.into())).collect())
            }
        }
    }
}

impl Json {
    /// Writes the tree in one of many spellings.
    pub(super) fn written(&self, dice: &mut Dice) -> String {
        let mut text = String::new();
        self.write(&mut text, dice);
        text
    }

    fn write(&self, text: &mut String, dice: &mut Dice) {
        blank(text, dice);
        match self {
            Self::Word(word) => text.push_str(word),
            Self::Number(number) => text.push_str(number),
            Self::Text(string) => quote(string, text, dice),
            Self::List(items) => {
                text.push('[');
                for (at, item) in items.iter().enumerate() {
                    text.push_str(if at > 0 { "," } else { "" });
                    item.write(text, dice);
                }
                text.push(']');
            }
            Self::Object(properties) => {
                text.push('{');
                for (at, (name, value)) in properties.iter().enumerate() {
                    text.push_str(if at > 0 { "," } else { "" });
                    quote(name, text, dice);
                    text.push(':');
                    value.write(text, dice);
                }
                text.push('}');
            }
        }
        blank(text, dice);
    }

    /// Returns all values in the tree, including the root.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::List(items) => 1 + items.iter().map(Self::count).sum::<usize>(),
            Self::Object(properties) => 1 + properties.iter().map(|(_, it)| it.count()).sum::<usize>(),
            _ => 1,
        }
    }

    /// Returns the value with index `at`.
    pub(super) fn nth(&mut self, at: usize) -> &mut Self {
        let Some(mut at) = at.checked_sub(1) else { return self };
        let parts: Vec<&mut Self> = match self {
            Self::List(items) => items.iter_mut().collect(),
            Self::Object(properties) => properties.iter_mut().map(|(_, it)| it).collect(),
            _ => unreachable!("it has no parts"),
        };
        for part in parts {
            match part.count() {
                count if at < count => return part.nth(at),
                count => at -= count,
            }
        }
        unreachable!("there are fewer")
    }
}

fn blank(text: &mut String, dice: &mut Dice) {
    if dice.chance(4) {
        text.push_str(dice.pick(&[" ", "\n", "\t ", "\r\n"]));
    }
}

fn quote(string: &str, text: &mut String, dice: &mut Dice) {
    let escapes = dice.chance(8);
    text.push('"');
    for character in string.chars() {
        if escapes && dice.chance(30) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            let quoted = Value::from(character.to_string()).to_string();
            text.push_str(&quoted[1..quoted.len() - 1]);
        }
    }
    text.push('"');
}
