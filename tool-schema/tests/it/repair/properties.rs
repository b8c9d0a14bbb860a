//! Property tests of repair, for any text and for any spelling of an object.

use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    sample::{Index, select},
    test_runner::Config,
};
use serde_json::{Value, json};
use tool_schema::{RepairOutcome, recover};

use super::object;

/// The default number of cases; `PROPTEST_CASES` overrides it.
fn config() -> Config {
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { Config::default().cases } else { 500 };
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// Checks the properties of any text.
fn is_sound(text: &str) -> Result<(), TestCaseError> {
    let recovery = recover(text);
    match &recovery {
        RepairOutcome::Strict(same) => prop_assert_eq!(*same, text),
        RepairOutcome::Invalid { text: same, .. } => prop_assert_eq!(*same, text),
        RepairOutcome::Repaired { text: read, .. } | RepairOutcome::Partial { text: read, .. } => {
            object(read);
            prop_assert_eq!(recover(read), RepairOutcome::Strict(read));
        }
        other => prop_assert!(false, "{:?}", other),
    }
    prop_assert_eq!(recovery.note().is_none(), matches!(recovery, RepairOutcome::Strict(_)));
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text_has_an_outcome(text in any::<String>(), nearly in vec(fragment(), 0..24)) {
        is_sound(&text)?;
        is_sound(&nearly.concat())?;
        is_sound(&format!("{{{}}}", nearly.concat()))?;
    }

    // F18
    #[test]
    fn json_is_strict(value in value(), is_pretty: bool) {
        let text = if is_pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.unwrap();
        prop_assert_eq!(recover(&text), RepairOutcome::Strict(&text));
    }

    // F19
    #[test]
    fn an_object_has_the_same_value_in_every_style(value in arguments(), style in style()) {
        let text = style.write(&value);
        let recovery = recover(&text);
        prop_assert!(matches!(recovery, RepairOutcome::Repaired { .. } | RepairOutcome::Strict(_)), "{} {:?}", text, recovery);
        prop_assert_eq!(Value::Object(object(recovery.text())), value, "{}", text);
    }

    // F19
    #[test]
    fn a_missing_punctuation_mark_does_not_change_the_value(value in plain(), is_pretty: bool, at: Index) {
        let lines = format!("{value:#}");
        let text = if is_pretty { lines } else { lines.split_whitespace().collect::<Vec<_>>().join(" ") };
        let marks: Vec<_> = text.match_indices([',', ':', '"']).map(|(place, _)| place).collect();
        let mut broken = text;
        broken.remove(*at.get(&marks));
        if let RepairOutcome::Repaired { text: read, .. } = recover(&broken) {
            prop_assert_eq!(Value::Object(object(&read)), value, "{}", broken);
        }
    }

    // F19
    #[test]
    fn quotes_within_a_value_do_not_hide_other_entries(texts in vec("[ab ,.(}\n\"]{0,8}", 1..4)) {
        let names = ["a", "b", "c"];
        let pairs: Vec<_> = names.iter().zip(&texts).map(|(name, text)| format!("\"{name}\": \"{text}\"")).collect();
        let written = format!("{{{}}}", pairs.join(", "));
        if let RepairOutcome::Repaired { text: read, .. } = recover(&written) {
            let values: Vec<_> = object(&read).into_values().collect();
            prop_assert_eq!(values, texts, "{}", written);
        }
    }

    // F21
    #[test]
    fn a_prefix_is_partial_and_part_of_the_value(value in arguments(), at: Index) {
        let text = value.to_string();
        let ends: Vec<_> = text.char_indices().map(|(end, _)| end).skip(1).collect();
        let cut_off = &text[..*at.get(&ends)];
        let recovery = recover(cut_off);
        prop_assert!(matches!(recovery, RepairOutcome::Partial { .. }), "{} {:?}", cut_off, recovery);
        let read = Value::Object(object(recovery.text()));
        prop_assert!(is_part(&read, &value), "{} {}", cut_off, read);
    }

    #[test]
    fn one_wrong_character_has_an_outcome(value in arguments(), at: Index, wrong in fragment()) {
        let text = value.to_string();
        let places: Vec<_> = text.char_indices().map(|(place, _)| place).collect();
        let (before, after) = text.split_at(*at.get(&places));
        is_sound(&format!("{before}{wrong}{after}"))?;
        is_sound(&format!("{before}{}", &after[after.chars().next().map_or(0, char::len_utf8)..]))?;
    }
}

/// Returns `true` if `part` is a truncation of `whole`.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().zip(whole).all(|((name, part), (other, whole))| name == other && is_part(part, whole))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.iter().zip(whole).all(|(part, whole)| is_part(part, whole))
        }
        (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
        (Value::Number(_), Value::Number(_)) => true,
        _ => part == whole,
    }
}

fn value() -> impl Strategy<Value = Value> {
    let text =
        prop_oneof![any::<String>(), "[a-z ',:/#]{0,8}", vec(fragment(), 0..4).prop_map(|it| it.concat()),];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[a-z_]{1,6}|[ -~]{0,6}", inner, 0..4).prop_map(|it| json!(it)),
        ]
    })
}

/// Generates values without punctuation in their strings.
fn plain() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<u8>().prop_map(Value::from),
        "[a-z]{0,3}( [a-z])?".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map("[a-z]{0,2}", inner, 0..4).prop_map(|it| json!(it)),
        ]
    });
    btree_map("[a-z]{0,2}", value, 1..4).prop_map(|it| json!(it))
}

fn arguments() -> impl Strategy<Value = Value> {
    btree_map("[a-z_]{1,6}|[ -~]{0,6}", value(), 0..5).prop_map(|it| json!(it))
}

/// The pieces of texts that are almost JSON.
fn fragment() -> impl Strategy<Value = &'static str> {
    select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "'", "\\", "`", "```", "“", "”", "(", ")", ";", " ", "\n", "//",
        "/*", "*/", "# ", "...", "+", "-", ".", "0", "12", "1e", "\\u00", "\\ud83d", "\\\"", "\\n", "\\d",
        "true", "Non", "NaN", "a", "b c", "é", "\u{0}", "json\n",
    ])
}

/// A non-JSON style of writing an object.
#[derive(Debug, Clone)]
struct Style {
    quote: char,
    bare_keys: bool,
    python: bool,
    comma: &'static str,
    trailing: &'static str,
    blank: &'static str,
    around: (&'static str, &'static str),
}

fn style() -> impl Strategy<Value = Style> {
    let around = select(vec![
        ("", ""),
        ("```json\n", "\n```"),
        ("```", ""),
        ("I call this tool: ", "\nThat is all."),
        ("run(", ");"),
        ("// call\n", "}"),
    ]);
    (
        select(vec!['"', '\'', '“', '‘', '`']),
        any::<bool>(),
        any::<bool>(),
        select(vec![",", "\n", ",\n", " , // x\n", " /* , */,"]),
        select(vec!["", ",", " ,\n", ", ..."]),
        select(vec!["", " ", "\n\t", "/* \" */", " # it's\n", "\u{a0}"]),
        around,
    )
        .prop_map(|(quote, bare_keys, python, comma, trailing, blank, around)| Style {
            quote,
            bare_keys,
            python,
            comma,
            trailing,
            blank,
            around,
        })
}

impl Style {
    fn write(&self, value: &Value) -> String {
        let (before, after) = self.around;
        format!("{before}{}{after}", self.value(value))
    }

    fn value(&self, value: &Value) -> String {
        let blank = self.blank;
        match value {
            Value::Null if self.python => "None".to_owned(),
            Value::Bool(true) if self.python => "True".to_owned(),
            Value::Bool(false) if self.python => "False".to_owned(),
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|it| self.value(it)).collect();
                format!("[{blank}{}]", self.entries(&items))
            }
            Value::Object(map) => {
                let is_bare = |key: &str| {
                    self.bare_keys
                        && !key.is_empty()
                        && key.chars().all(|it| it.is_alphanumeric() || it == '_')
                };
                let key = |key: &String| if is_bare(key) { key.clone() } else { self.string(key) };
                let pair = |(name, value)| format!("{}{blank}:{blank}{}", key(name), self.value(value));
                let pairs: Vec<_> = map.iter().map(pair).collect();
                format!("{{{blank}{}}}", self.entries(&pairs))
            }
            _ => value.to_string(),
        }
    }

    fn entries(&self, entries: &[String]) -> String {
        let trailing = if entries.is_empty() { "" } else { self.trailing };
        format!("{}{}{trailing}", entries.join(self.comma), self.blank)
    }

    fn string(&self, text: &str) -> String {
        let close = match self.quote {
            '“' => '”',
            '‘' => '’',
            same => same,
        };
        let escaped = serde_json::to_string(text).unwrap();
        let mut written = String::from(self.quote);
        for c in escaped[1..escaped.len() - 1].chars() {
            let needs_escape = match self.quote {
                '“' => matches!(c, '“' | '”'),
                '‘' | '`' => matches!(c, '`' | '´' | '‘' | '’' | '\''),
                quote => c == quote && quote != '"',
            };
            if needs_escape {
                written.push('\\');
            }
            written.push(c);
        }
        written.push(close);
        written
    }
}
