//! Calling one tool.

use serde_json::{Value, json};
use tool_runtime::serde_json;

use super::{fixture, weather, weather_with};

// Z19
#[test]
fn a_tool_is_called_with_json() {
    assert_eq!(weather(["call", "convert", r#"{"celsius": 100, "to": "fahrenheit"}"#]).fine(), "212.0\n");
    assert_eq!(weather(["call", "--json", r#"{"city": "Oslo"}"#, "temperature"]).fine(), "9.5\n");
    assert_eq!(weather(["call", "temperature", "--json", r#"{"city": "Oslo"}"#]).fine(), "9.5\n");
}

#[test]
fn json_comes_from_the_standard_input_or_a_file() {
    assert_eq!(weather_with(r#"{"city": "Oslo"}"#, ["call", "temperature", "-"]).fine(), "9.5\n");
    assert_eq!(weather_with(r#"{"city": "Oslo"}"#, ["call", "--json", "-", "temperature"]).fine(), "9.5\n");
    let file = format!("@{}", fixture("forecast.json"));
    let days = weather(["call", "forecast", &file, "--days", "1"]).fine();
    assert_eq!(days, "[{\"day\":1,\"high\":10.0,\"rain\":0.6}]\n");
}

#[test]
fn flags_are_read_as_their_types() {
    let out = weather(["call", "forecast", "--city", "Cairo", "--days", "1", "--unit", "fahrenheit"]).fine();
    assert_eq!(
        serde_json::from_str::<Value>(&out).unwrap(),
        json!([{ "day": 1, "high": 88.7, "rain": 0.0 }])
    );
    assert_eq!(weather(["call", "temperature", "--city", "Oslo", "--rounded"]).fine(), "10.0\n");
    assert_eq!(weather(["call", "temperature", "--city", "Oslo", "--rounded=false"]).fine(), "9.5\n");
    assert_eq!(weather(["call", "convert", "--celsius", "-40", "--to", "fahrenheit"]).fine(), "-40.0\n");
    assert_eq!(weather(["call", "cities"]).fine(), "[\"Cairo\",\"Oslo\",\"Paris\",\"Reykjavik\"]\n");
}

#[test]
fn nested_values_are_written_by_path_and_lists_by_repetition() {
    let arguments = [
        "call",
        "plan_trip",
        "--from.city",
        "Oslo",
        "--stops",
        r#"{"city": "Rome", "nights": 2}"#,
        "--stops",
        r#"{"city": "Bari"}"#,
        "--means",
        "train",
        "--traveller.name",
        "Ada",
        "--traveller.contact.phone",
        "123",
        "--least-celsius",
        "12.5",
        "--tags",
        "sea",
        "--tags",
        "sun",
        "--rain_or_shine",
    ];
    assert_eq!(
        weather(arguments).fine(),
        "Ada (123): Oslo by train, Rome (2 nights), Bari (0 nights), from 12.5 °C, rain or shine #sea #sun\n"
    );
}

#[test]
fn flags_stand_over_json_and_inner_ones_over_outer_ones() {
    let trip = r#"{"from": {"city": "Oslo", "nights": 1}, "stops": [{"city": "Rome"}], "means": "train"}"#;
    let arguments =
        ["call", "--json", trip, "plan_trip", "--means", "bicycle", "--from", r#"{"city": "Bonn"}"#];
    let out = weather(arguments).fine();
    assert_eq!(out, "you: Bonn by bicycle, Rome (0 nights), if it is dry\n");
    let out =
        weather(["call", "plan_trip", trip, "--from.city", "Ulm", "--traveller", r#"{"name": "Bo"}"#]).fine();
    assert_eq!(out, "Bo: Ulm by train, Rome (0 nights), if it is dry\n");
    let nobody = trip.replace("}]", r#"}], "traveller": null"#);
    let out = weather(["call", "plan_trip", &nobody, "--traveller.name", "Bo"]).fine();
    assert_eq!(out, "Bo: Oslo by train, Rome (0 nights), if it is dry\n");
}

// Options of the program stand before the name; after it a property has its name to itself.
#[test]
fn properties_called_json_and_help_are_reached_by_their_flags() {
    let out = weather(["call", "settings", "--json", "compact", "--help"]).fine();
    assert_eq!(out, "json = Some(\"compact\"), help = true, titles = {}\n");
    let out =
        weather(["call", "--json", r#"{"titles": {"en": "Report"}}"#, "settings", "--json", "wide"]).fine();
    assert_eq!(out, "json = Some(\"wide\"), help = false, titles = {\"en\": \"Report\"}\n");
    let out = weather(["call", "settings", r#"{"json": "wide", "help": true}"#]).fine();
    assert_eq!(out, "json = Some(\"wide\"), help = true, titles = {}\n");
    assert!(weather(["call", "settings", "-h"]).fine().contains("--help[=<true|false>]"));
    assert!(weather(["call", "settings", "--output", "json", "--json", "x"]).out.contains("\"structured\""));
}

#[test]
fn a_result_for_programs_is_json_with_events_beside_it() {
    let ran = weather(["call", "--output", "json", "observe", "--city", "Oslo", "--hours", "1"]);
    assert_eq!(ran.code, 0);
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(result["content"], json!([{ "type": "text", "text": "Oslo, hour 1: 15 °C\n" }]));
    let events = ran.err.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let kinds: Vec<_> = events.map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["started", "progress", "updated", "finished"]);
    // What was refused, too.
    let ran = weather(["call", "observe", "--output", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (2, ""));
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(result["error"]["kind"], "invalid_arguments");
}

#[test]
fn progress_and_updates_are_lines_in_a_pipe() {
    let ran = weather(["call", "observe", "--city", "Oslo", "--hours", "2"]);
    assert_eq!(ran.out, "Oslo, hour 1: 15 °C\nOslo, hour 2: 16 °C\n");
    assert_eq!(
        ran.err,
        "observe: 1 of 2 hour 1\nobserve: Oslo, hour 1: 15 °C\n\
         observe: 2 of 2 hour 2\nobserve: Oslo, hour 2: 16 °C\n"
    );
}

// F: what was almost right is told of.
#[test]
fn corrections_are_told() {
    let ran = weather(["call", "forecast", r#"{"city": "Oslo", "days": "1"}"#]);
    assert_eq!((ran.code, ran.err.as_str()), (0, "note: /days: read \"1\" as 1\n"));
}

#[test]
fn a_tool_that_fails_ends_with_1() {
    let err = weather(["call", "temperature", "--city", "Rome"]).failed(1);
    assert_eq!(err, "error: `temperature`: there is no station in Rome\n");
}

#[test]
fn approval_is_asked_for_given_beforehand_or_refused() {
    let err = weather(["call", "remove_station", "--city", "Oslo"]).failed(3);
    assert!(err.contains("it requires approval, and there is no terminal to ask at"), "{err}");
    assert!(
        err.ends_with("note: there is no terminal to ask at; `--approve always` approves beforehand\n"),
        "{err}"
    );
    let err = weather(["call", "--approve", "never", "remove_station", "--city", "Oslo"]).failed(3);
    assert!(err.contains("nothing is approved (`--approve never`)"), "{err}");
    let err = weather(["call", "remove_station", "--city", "Oslo", "--approve", "read-only"]).failed(3);
    assert!(err.contains("only tools that say they read may run"), "{err}");
    assert_eq!(weather(["call", "--approve", "read-only", "temperature", "--city", "Oslo"]).fine(), "9.5\n");
    let out = weather(["call", "--approve", "always", "remove_station", "--city", "Oslo"]).fine();
    assert_eq!(out, "the station in Oslo is gone\n");
    let err = weather(["call", "--approve", "maybe", "cities"]).failed(2);
    assert!(err.contains("[possible values: ask, never, read-only, always]"), "{err}");
}
