//! Generation of instances of a schema.
//!
//! Instances are at the limits of the schema, so that most small mutations violate it.

use serde_json::{Map, Value};

use super::{dice::Dice, json::Json};

/// The depth from which on optional properties are left out.
const DEEP: usize = 5;

/// Texts with characters of one to four bytes, and with characters that must be escaped.
const CHARACTERS: [char; 10] = ['a', 'b', 'Z', '0', 'é', '😀', '"', '\\', '/', '~'];

/// Names of unknown properties.
pub(super) const NAMES: [&str; 7] = ["k", "k/2", "~k", "ké", "", "\"", "zz"];

/// Generates instances of the schemas in a document.
pub(super) struct Instances<'s, 'd> {
    pub(super) root: &'s Value,
    pub(super) dice: &'d mut Dice,
}

impl<'s> Instances<'s, '_> {
    /// Returns a value that should be an instance of `schema`.
    pub(super) fn of(&mut self, schema: &'s Value, depth: usize) -> Json {
        let Some(schema) = schema.as_object().filter(|it| !it.is_empty()) else {
            return self.anything(depth);
        };
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return self.of(self.referred(reference), depth);
        }
        if let Some(only) = schema.get("const") {
            return only.into();
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            return (&values[self.dice.below(values.len())]).into();
        }
        if schema.get("type").is_some_and(|name| name != "object") {
            return self.typed(schema, depth);
        }
        let mut parts = Vec::new();
        for key in ["oneOf", "anyOf"] {
            if let Some(Value::Array(branches)) = schema.get(key) {
                parts.push(self.branch(branches, depth));
            }
        }
        if let Some(Value::Array(all)) = schema.get("allOf") {
            parts.extend(all);
        }
        let own = if parts.is_empty() || schema.contains_key("properties") {
            Some(self.typed(schema, depth))
        } else {
            None
        };
        let parts: Vec<_> = own.into_iter().chain(parts.into_iter().map(|it| self.of(it, depth))).collect();
        joined(parts)
    }

    fn referred(&self, reference: &str) -> &'s Value {
        let pointer = reference.trim_start_matches('#');
        self.root.pointer(pointer).unwrap_or_else(|| panic!("`{reference}` leads nowhere"))
    }

    /// Returns one of `branches`; at a large depth one that is not nested.
    fn branch(&mut self, branches: &'s [Value], depth: usize) -> &'s Value {
        let all: Vec<_> = branches.iter().collect();
        let shallow: Vec<_> = all.iter().copied().filter(|it| !it.to_string().contains("$ref")).collect();
        self.dice.pick(if depth > DEEP && !shallow.is_empty() { &shallow } else { &all })
    }

    fn typed(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Json {
        let name = match schema.get("type") {
            Some(Value::Array(names)) => names[self.dice.below(names.len())].as_str(),
            Some(name) => name.as_str(),
            None if schema.contains_key("properties") => Some("object"),
            None => None,
        };
        match name {
            Some("null") => Json::Word("null"),
            Some("boolean") => Json::Word(self.dice.pick(&["true", "false"])),
            Some("integer") => self.integer(schema),
            Some("number") => self.number(schema),
            Some("string") => Json::Text(self.text(schema)),
            Some("array") => self.list(schema, depth),
            Some("object") => self.object(schema, depth),
            _ => self.anything(depth),
        }
    }

    /// Any value.
    pub(super) fn anything(&mut self, depth: usize) -> Json {
        let kinds = if depth > DEEP { 4 } else { 6 };
        match self.dice.below(kinds) {
            0 => Json::Word(self.dice.pick(&["null", "true", "false"])),
            1 => Json::Number(self.dice.pick(&["0", "-1", "7", "1.5", "1e2", "-0", "3.0"]).to_owned()),
            2 | 3 => Json::Text(self.text(&Map::new())),
            4 => Json::List((0..self.dice.below(3)).map(|_| self.anything(depth + 2)).collect()),
            _ => {
                let names = NAMES.iter().take(self.dice.below(3));
                Json::Object(names.map(|name| ((*name).to_owned(), self.anything(depth + 2))).collect())
            }
        }
    }

    fn integer(&mut self, schema: &Map<String, Value>) -> Json {
        let bound = |key: &str| schema.get(key).and_then(whole);
        let (low, high) = (bound("minimum").unwrap_or(i128::MIN), bound("maximum").unwrap_or(i128::MAX));
        let near = [low, high, low.saturating_add(1), high.saturating_sub(1), 0, 1, -1, 7, 100, 1 << 53];
        let by = schema.get("multipleOf").and_then(whole).unwrap_or(1);
        let multiples = near.iter().map(|it| it - it % by).filter(|it| (low..=high).contains(it));
        let multiples: Vec<_> = multiples.collect();
        let chosen = self.dice.pick(&multiples);
        Json::Number(match self.dice.below(12) {
            0 => format!("{chosen}.0"),
            1 => format!("{chosen}e0"),
            2 => format!("{chosen}0E-1"),
            3 if chosen == 0 => "-0".to_owned(),
            _ => chosen.to_string(),
        })
    }

    fn number(&mut self, schema: &Map<String, Value>) -> Json {
        if let Some(by) = schema.get("multipleOf") {
            // A decimal such as 0.3, which no float represents exactly.
            let tenths = by.as_f64().unwrap_or(1.0) * 10.0;
            let times = self.dice.below(9) as f64 * tenths;
            return Json::Number(format!("{}.{}", (times / 10.0).trunc(), (times % 10.0).round()));
        }
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let low = bound("minimum").or(bound("exclusiveMinimum").map(|it| it + 0.5)).unwrap_or(-1e30);
        let high = bound("maximum").or(bound("exclusiveMaximum").map(|it| it - 0.5)).unwrap_or(1e30);
        let near =
            [low, high, 0.0, -0.0, 0.1, 1.5, -2.25, 1e-7, (low + high) / 2.0, 0.300_000_000_000_000_04];
        let near: Vec<_> = near.into_iter().filter(|it| (low..=high).contains(it)).collect();
        let chosen = self.dice.pick(&near);
        Json::Number(if self.dice.chance(20) {
            format!("{chosen:e}")
        } else {
            Value::from(chosen).to_string()
        })
    }

    pub(super) fn text(&mut self, schema: &Map<String, Value>) -> String {
        let samples = schema.get("pattern").or(schema.get("format")).and_then(Value::as_str).map(samples);
        if let Some(samples) = samples {
            return self.dice.pick(samples).to_owned();
        }
        let (least, most) = counts(schema, "minLength", "maxLength");
        let length = self.length(least, most);
        (0..length).map(|_| self.dice.pick(&CHARACTERS)).collect()
    }

    /// Returns an allowed length, mostly one of the limits.
    fn length(&mut self, least: usize, most: usize) -> usize {
        let most = most.min(least + 3);
        match self.dice.below(3) {
            0 => least,
            1 => most,
            _ => least + self.dice.below(most - least + 1),
        }
    }

    fn list(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Json {
        let (least, most) = counts(schema, "minItems", "maxItems");
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let rest = schema.get("items").unwrap_or(&Value::Bool(true));
        let most = if *rest == false { first.len() } else { most };
        let length = if depth > DEEP { least } else { self.length(least, most.max(least)) };
        let mut items = Vec::new();
        for at in 0..length {
            let item = self.of(first.get(at).unwrap_or(rest), depth + 1);
            if schema.get("uniqueItems") != Some(&Value::Bool(true)) || !items.contains(&item) {
                items.push(item);
            }
        }
        Json::List(items)
    }

    fn object(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Json {
        let named = |key: &str| schema.get(key).and_then(Value::as_object).into_iter().flatten();
        let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut properties = Vec::new();
        for (name, property) in named("properties") {
            let is_required = required.iter().any(|it| it.as_str() == Some(name));
            if is_required || (depth <= DEEP && self.dice.chance(60)) {
                properties.push((name.clone(), self.of(property, depth + 1)));
            }
        }
        let is_deep = depth > DEEP;
        for (pattern, property) in named("patternProperties").filter(|_| !is_deep) {
            for name in samples(pattern).iter().take(self.dice.below(4)) {
                properties.push(((*name).to_owned(), self.of(property, depth + 1)));
            }
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => {}
            Some(rest) if !is_deep => {
                for name in NAMES.iter().take(self.dice.below(4)) {
                    properties.push(((*name).to_owned(), self.of(rest, depth + 1)));
                }
            }
            None if !is_deep && self.dice.chance(20) => {
                properties.push((self.dice.pick(&NAMES).to_string(), self.anything(depth + 1)));
            }
            _ => {}
        }
        if self.dice.chance(20) {
            properties.reverse();
        }
        Json::Object(properties)
    }
}

/// Merges objects into one object; returns the first of other values.
fn joined(parts: Vec<Json>) -> Json {
    let mut all: Vec<(String, Json)> = Vec::new();
    for part in parts {
        let Json::Object(properties) = part else { return part };
        for (name, value) in properties {
            if !all.iter().any(|(known, _)| *known == name) {
                all.push((name, value));
            }
        }
    }
    Json::Object(all)
}

fn whole(number: &Value) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or(number.as_u64().map(i128::from))
        .or(number.as_f64().map(|it| it as i128))
}

fn counts(schema: &Map<String, Value>, least: &str, most: &str) -> (usize, usize) {
    let count = |key: &str| schema.get(key).and_then(Value::as_u64).map(|it| it as usize);
    (count(least).unwrap_or(0), count(most).unwrap_or(usize::MAX))
}

/// Texts for a pattern or a format: most, but not all, match it and decode to the type.
fn samples(pattern: &str) -> &'static [&'static str] {
    match pattern {
        r"^(0|[1-9]\d*)$" => &["0", "7", "255", "65535"],
        r"^(0|-?[1-9]\d*)$" => &["0", "-1", "127", "-128"],
        "^[a-z]{2,3}$" => &["ab", "xyz", "zz"],
        "^[0-9]{1,2}$" => &["0", "42", "07"],
        "^v[0-9]" => &["v1", "v9.0", "v10 é"],
        "é" => &["é", "café", "é\n"],
        "ipv4" => &["127.0.0.1", "0.0.0.0", "255.255.255.255", "1.2.3"],
        "ipv6" => &["::1", "fe80::1", "2001:db8::8:800:200c:417a", "1.2.3.4"],
        "ip" => &["127.0.0.1", "::1", "localhost"],
        "date" => &["2024-02-29", "1999-12-31", "2023-02-29"],
        "time" | "partial-time" => &["12:30:00", "23:59:59.5", "24:00:01"],
        "date-time" => &["2024-02-29T12:00:00Z", "2024-02-29T12:00:00+01:00", "2024-02-29"],
        "partial-date-time" => &["2024-02-29T12:00:00", "2024-02-29T12:00:00.25", "2024-02-29T25:00:00"],
        "duration" => &["PT1H", "P1DT2H", "an hour"],
        "uuid" => &["67e55044-10b1-426f-9247-bb680e5fe0c8", "67e5504410b1426f9247bb680e5fe0c8", "67e5"],
        "uri" => &["https://a.example/b?c", "urn:x:y", "no scheme"],
        other => panic!("what fits `{other}`?"),
    }
}
