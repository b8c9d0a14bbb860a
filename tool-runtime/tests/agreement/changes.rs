//! Small mutations of instances, most of which violate the schema.

use serde_json::{Map, Value};

use super::{
    dice::Dice,
    instances::{Instances, NAMES},
    json::Json,
};

/// The suffix of an alias in fixtures.
pub(super) const OTHER_NAME: &str = "_too";

/// Changes one of the values in `instance`, an instance of `schema`.
pub(super) fn change(instance: &mut Json, schema: &Value, dice: &mut Dice) {
    let at = dice.below(instance.count());
    let value = instance.nth(at);
    if dice.chance(20) {
        *value = Instances { root: schema, dice }.anything(0);
        return;
    }
    match value {
        Json::Word(word) => *word = dice.pick(&["null", "true", "false"]),
        Json::Number(number) => *number = near(number, dice),
        Json::Text(text) => change_text(text, schema, dice),
        Json::List(items) => change_list(items, dice),
        Json::Object(properties) => change_object(properties, schema, dice),
    }
}

fn near(number: &str, dice: &mut Dice) -> String {
    let whole = number.parse::<i128>().unwrap_or(1);
    match dice.below(10) {
        0 | 1 => whole.saturating_add(1).to_string(),
        2 | 3 => whole.saturating_sub(1).to_string(),
        4 => format!("{whole}.0"),
        5 => format!("{whole}.5"),
        6 => format!("{whole}E0"),
        7 => whole.checked_neg().unwrap_or_default().to_string(),
        8 => {
            dice.pick(&["1e400", "-1e400", "1e-400", "1e39", "0.1", "-0", "-0.0", "1e19", "1e38"]).to_owned()
        }
        _ => dice
            .pick(&[
                "9007199254740993",
                "9007199254740993.0",
                "9223372036854775808",
                "18446744073709551616",
                "-9223372036854775809",
                "123456789012345678901234567890",
                "0.12345678901234567890123",
            ])
            .to_owned(),
    }
}

fn change_text(text: &mut String, schema: &Value, dice: &mut Dice) {
    match dice.below(6) {
        0 => drop(text.pop()),
        1 => text.clear(),
        2 => *text = dice.pick(&["0", "true", "null", "3.0"]).to_owned(),
        3 => *text = text.to_uppercase(),
        4 => text.push_str(&Instances { root: schema, dice }.text(&Map::new())),
        _ => text.push('x'),
    }
}

fn change_list(items: &mut Vec<Json>, dice: &mut Dice) {
    let Some(last) = items.last().cloned() else { return items.push(Json::Word("null")) };
    let at = dice.below(items.len());
    match dice.below(4) {
        0 => drop(items.remove(at)),
        1 => items.push(last),
        2 => items.insert(at, Json::Word("null")),
        _ => items[at] = last,
    }
}

fn change_object(properties: &mut Vec<(String, Json)>, schema: &Value, dice: &mut Dice) {
    let value = Instances { root: schema, dice }.anything(3);
    if properties.is_empty() || dice.chance(15) {
        let name = dice.pick(&NAMES).to_owned();
        return properties.push((name, value));
    }
    let at = dice.below(properties.len());
    let (name, first) = properties[at].clone();
    match dice.below(9) {
        0 => drop(properties.remove(at)),
        1 => properties.push((name, first)),
        2 => properties.push((name, value)),
        3 => properties.insert(0, (name + OTHER_NAME, first)),
        4 => properties[at].0 = name.to_uppercase(),
        5 => properties[at].0 = name + "s",
        6 => properties[at].0 = name + OTHER_NAME,
        _ => properties[at].1 = Json::Word("null"),
    }
}
