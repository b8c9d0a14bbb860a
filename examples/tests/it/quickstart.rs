//! Tests of the output of `quickstart`, compared with its input and its data.

use std::{collections::BTreeMap, env, fs, path::PathBuf, process::Command};

use tool_runtime::serde_json::{self, Value, json};

fn run(arguments: &[&str]) -> String {
    // The program must find its files from any working directory.
    let output = Command::new(env!("CARGO_BIN_EXE_quickstart"))
        .args(arguments)
        .current_dir(env::temp_dir())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{}: {errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

fn file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("quickstart").join(name);
    fs::read_to_string(path).unwrap()
}

/// Returns the ids and names of the calls of `response.json`, in order.
fn calls() -> Vec<(String, String)> {
    let response: Value = serde_json::from_str(&file("response.json")).unwrap();
    let calls = response["choices"][0]["message"]["tool_calls"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    calls.iter().map(|call| (text(&call["id"]), text(&call["function"]["name"]))).collect()
}

/// Returns the ids and contents of the printed messages, in order.
fn messages() -> Vec<(String, String)> {
    let output = run(&[]);
    let lines = output.lines().filter(|line| line.starts_with(r#"{"role":"tool""#));
    let message = |line: &str| {
        let message: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| message[key].as_str().unwrap().to_owned();
        assert_eq!(message.as_object().unwrap().len(), 3);
        (text("tool_call_id"), text("content"))
    };
    lines.map(message).collect()
}

/// Returns the content of the message for the `nth` call of the tool `name`.
fn content(name: &str, nth: usize) -> String {
    let at = calls().iter().enumerate().filter(|(_, call)| call.1 == name).nth(nth).unwrap().0;
    messages().swap_remove(at).1
}

fn value(name: &str) -> Value {
    serde_json::from_str(&content(name, 0)).unwrap()
}

fn rows(name: &str) -> Vec<Vec<String>> {
    file(name).lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn every_call_has_exactly_one_message_in_order() {
    let asked: Vec<_> = calls().into_iter().map(|(id, _)| id).collect();
    let answered: Vec<_> = messages().into_iter().map(|(id, _)| id).collect();
    assert_eq!(asked.len(), 8);
    assert_eq!(answered, asked);
}

#[test]
fn definitions_have_the_format_of_the_api() {
    let definitions: Vec<Value> = serde_json::from_str(&run(&["--definitions"])).unwrap();
    assert_eq!(definitions.len(), 7);
    for definition in &definitions {
        assert_eq!(definition["type"], "function");
        let function = &definition["function"];
        assert!(function["name"].is_string() && function["description"].is_string(), "{function}");
        assert_eq!(function["parameters"]["type"], "object", "{function}");
        assert_eq!(function["parameters"]["additionalProperties"], false, "{function}");
    }
    let convert = definitions.iter().find(|it| it["function"]["name"] == "convert_temperature").unwrap();
    let parameters = &convert["function"]["parameters"];
    assert_eq!(parameters["required"], json!(["value", "from"]));
    assert_eq!(parameters["properties"]["decimals"]["maximum"], 6);
    assert_eq!(parameters["properties"]["to"]["default"], "celsius");
}

#[test]
fn both_invalid_fields_are_reported_at_once() {
    let feedback = content("convert_temperature", 1);
    for part in ["/value", "\"warm\"", "/from", "\"celcius\"", "fahrenheit", "Nothing was executed"] {
        assert!(feedback.contains(part), "{part:?} is not in {feedback:?}");
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_similar_name() {
    let feedback = content("find_station", 0);
    assert!(feedback.contains("find_station\n") && feedback.contains("`find_stations`"), "{feedback}");
}

#[test]
fn sums_of_rain_agree_with_the_table() {
    // Tenths of a millimetre, so that the sums are exact.
    let mut expected = BTreeMap::new();
    for row in rows("data/observations.csv") {
        *expected.entry(row[0].clone()).or_insert(0_u32) += row[4].replace('.', "").parse::<u32>().unwrap();
    }
    let expected: BTreeMap<_, _> =
        expected.into_iter().map(|(station, tenths)| (station, f64::from(tenths) / 10.0)).collect();
    assert_eq!(value("summarize_column"), json!(expected));
}

#[test]
fn the_warmest_stations_of_spain_come_first() {
    let found = value("find_stations");
    let names: Vec<_> = found.as_array().unwrap().iter().map(|station| &station["name"]).collect();
    let mut expected: Vec<_> =
        rows("data/stations.csv").into_iter().filter(|row| row[2] == "Spain").collect();
    expected.sort_by_key(|row| std::cmp::Reverse(row[7].replace('.', "").parse::<u32>().unwrap()));
    let expected: Vec<_> = expected.iter().take(3).map(|row| &row[1]).collect();
    assert_eq!(names, expected);
}

#[test]
fn results_have_the_expected_numbers() {
    assert_eq!(content("convert_temperature", 0), r#"{"value":93.4,"scale":"fahrenheit"}"#);
    let comparison = value("compare_stations");
    // The distance on a map, within two kilometres.
    assert!((161.0..=165.0).contains(&comparison["distance_km"].as_f64().unwrap()), "{comparison}");
    assert_eq!(comparison["higher_by_m"], -153.0);
    assert_eq!(comparison["warmer_in_july_by_c"], 3.5);
    assert_eq!(value("count_words"), json!({ "words": 14, "different": 11, "most_frequent": ["in"] }));
}

#[test]
fn the_items_of_a_stream_are_shown_before_its_result() {
    let found = value("search_bulletin");
    let bulletin = file("data/bulletin.txt");
    let expected: Vec<_> = (1..)
        .zip(bulletin.lines())
        .filter(|(_, text)| text.contains("thunder"))
        .map(|(line, text): (usize, _)| json!({ "line": line, "text": text }))
        .collect();
    assert_eq!(found, json!(expected));
    assert_eq!(run(&[]).lines().filter(|line| line.trim_start().starts_with('…')).count(), expected.len());
}
