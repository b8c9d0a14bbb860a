//! Calling one tool.

use serde_json::{Value, json};
use tool_runtime::serde_json;

use super::{finish, fixture, program, weather, weather_with};

// Z19
#[test]
fn a_tool_takes_json_arguments() {
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
fn flags_are_parsed_by_their_types() {
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
fn flags_override_json_and_inner_flags_override_outer_flags() {
    let trip = r#"{"from": {"city": "Oslo", "nights": 1}, "stops": [{"city": "Rome"}], "means": "train"}"#;
    let arguments =
        ["call", "--json", trip, "plan_trip", "--means", "bicycle", "--from", r#"{"city": "Bonn"}"#];
    let out = weather(arguments).fine();
    assert_eq!(out, "you: Bonn by bicycle, Rome (0 nights), if it is dry\n");
    let out =
        weather(["call", "plan_trip", trip, "--from.city", "Ulm", "--traveller", r#"{"name": "Bo"}"#]).fine();
    assert_eq!(out, "Bo: Ulm by train, Rome (0 nights), if it is dry\n");
    let no_traveller = trip.replace("}]", r#"}], "traveller": null"#);
    let out = weather(["call", "plan_trip", &no_traveller, "--traveller.name", "Bo"]).fine();
    assert_eq!(out, "Bo: Oslo by train, Rome (0 nights), if it is dry\n");
}

// After the name of the tool, a property takes precedence over an option of the program.
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
fn a_result_as_json_has_events_on_the_standard_error() {
    let ran = weather(["call", "--output", "json", "observe", "--city", "Oslo", "--hours", "1"]);
    assert_eq!(ran.code, 0);
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(result["content"], json!([{ "type": "text", "text": "Oslo, hour 1: 15 °C\n" }]));
    let events = ran.err.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let kinds: Vec<_> = events.map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["started", "progress", "updated", "finished"]);
    // The same for refused arguments.
    let ran = weather(["call", "observe", "--output", "json"]);
    assert_eq!((ran.code, ran.err.as_str()), (2, ""));
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(result["error"]["kind"], "invalid_arguments");
}

#[test]
fn progress_is_lines_in_a_pipe_and_streamed_text_is_written_once() {
    let ran = weather(["call", "observe", "--city", "Oslo", "--hours", "2"]);
    assert_eq!(ran.out, "Oslo, hour 1: 15 °C\nOslo, hour 2: 16 °C\n");
    assert_eq!(
        ran.err, "observe: 1 of 2 hour 1\nobserve: 2 of 2 hour 2\n",
        "the text of the stream is on the standard output only"
    );
}

// K10: the parts that arrived are shown, but are not a result.
#[test]
fn the_parts_of_a_failed_stream_are_on_the_standard_error() {
    let err = weather(["call", "observe", "--city", "Oslo", "--hours", "24"]).failed(1);
    assert_eq!(err.matches("Oslo, hour 1: 15 °C\n").count(), 1, "{err}");
    assert_eq!(err.matches("Oslo, hour 20: 14 °C\n").count(), 1, "{err}");
    assert!(err.ends_with("the station is closed\n"), "{err}");
}

// F: coerced values are reported.
#[test]
fn corrections_are_reported() {
    let ran = weather(["call", "forecast", r#"{"city": "Oslo", "days": "1"}"#]);
    assert_eq!((ran.code, ran.err.as_str()), (0, "note: /days: read \"1\" as 1\n"));
}

#[test]
fn a_failing_tool_exits_with_1() {
    let err = weather(["call", "temperature", "--city", "Rome"]).failed(1);
    assert_eq!(err, "error: `temperature`: there is no station in Rome\n");
}

#[test]
fn approval_is_given_by_the_option_or_refused_without_a_terminal() {
    let err = weather(["call", "remove_station", "--city", "Oslo"]).failed(3);
    assert!(err.contains("it requires approval, and stdin is not a terminal"), "{err}");
    assert!(
        err.ends_with("note: stdin is not a terminal, so that no question can be asked; `--approve always` approves the call\n"),
        "{err}"
    );
    let err = weather(["call", "--approve", "never", "remove_station", "--city", "Oslo"]).failed(3);
    assert!(err.contains("no call is approved (`--approve never`)"), "{err}");
    let err = weather(["call", "remove_station", "--city", "Oslo", "--approve", "read-only"]).failed(3);
    assert!(err.contains("only read-only tools may run"), "{err}");
    assert_eq!(weather(["call", "--approve", "read-only", "temperature", "--city", "Oslo"]).fine(), "9.5\n");
    let out = weather(["call", "--approve", "always", "remove_station", "--city", "Oslo"]).fine();
    assert_eq!(out, "the station in Oslo is gone\n");
    let err = weather(["call", "--approve", "maybe", "cities"]).failed(2);
    assert!(err.contains("[possible values: ask, never, read-only, always]"), "{err}");
}

/// A new, empty folder for the test `name`.
fn folder(name: &str) -> String {
    let folder = format!("{}/weather-{name}", env!("CARGO_TARGET_TMPDIR"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn images_are_described_or_saved_and_never_written_as_base64() {
    let image = "[image: image/bmp, 822 bytes; ";
    let hint = format!("Rain over Oslo:\n{image}`--save DIR/` saves it]\n");
    assert_eq!(weather(["call", "radar", "--city", "Oslo"]).fine(), hint);
    let folder = folder("images");
    let arguments = ["call", "radar", "--city", "Oslo", "--frames", "2", "--save", &folder];
    let file = |number: u8| format!("{folder}/radar-{number}.bmp");
    let saved = |one: u8, other: u8| {
        format!("Rain over Oslo:\n{image}saved as {}]\n{image}saved as {}]\n", file(one), file(other))
    };
    assert_eq!(weather(arguments).fine(), saved(1, 2));
    assert!(std::fs::read(file(1)).unwrap().starts_with(b"BM"));
    // The next results get the next numbers.
    assert_eq!(weather(arguments).fine(), saved(3, 4));
}

#[test]
fn an_existing_file_is_refused_before_the_call_unless_force_is_given() {
    let path = format!("{}/chart.bmp", folder("force"));
    let save = ["call", "radar", "--city", "Oslo", "--save", &path];
    assert!(weather(save).fine().ends_with(&format!("saved as {path}]\n")));
    std::fs::write(&path, "mine").unwrap();
    let err = weather(save).failed(2);
    assert_eq!(err, format!("error: {path} exists; name another file, or replace it with `--force`\n"));
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    weather(["call", "--force", "radar", "--city", "Oslo", "--save", &path]).fine();
    assert_eq!(std::fs::read(&path).unwrap().len(), 822);
    let err = weather(["call", "radar", "--city", "Oslo", "--force"]).failed(2);
    assert_eq!(err, "error: `--force` requires `--save`\n");
    let err = weather(["call", "radar", "--city", "Oslo", "--output", "json", "--save", &path]).failed(2);
    assert_eq!(err, "error: `--save` requires `--output text`\n");
}

// A pipe receives the whole list, and nothing else is written.
#[test]
fn streamed_values_are_one_list_in_a_pipe() {
    let list = "[{\"hour\":1,\"celsius\":15},{\"hour\":2,\"celsius\":16}]\n";
    assert_eq!(weather(["call", "measure", "--hours", "2"]).fine(), list);
}

#[test]
fn a_secret_comes_from_the_environment_a_file_or_the_standard_input() {
    let sent = "5 characters and 0 forms were sent\n";
    let call = ["call", "send_report", "--text", "hello", "--password"];
    let from = |source: &str| {
        let mut program = program();
        finish(program.args(call).arg(source).env("OFFICE_PASSWORD", "hunter2"))
    };
    assert_eq!(from("env:OFFICE_PASSWORD").fine(), sent);
    let path = format!("{}/password", folder("secret"));
    std::fs::write(&path, "hunter2\n").unwrap();
    assert_eq!(from(&format!("@{path}")).fine(), sent);
    let input = ["call", "send_report", "--text", "hello", "--password", "-"];
    assert_eq!(weather_with("hunter2\n", input).fine(), sent);
    let json = r#"{"text": "hello", "password": "hunter2"}"#;
    assert_eq!(weather_with(json, ["call", "send_report", "-"]).fine(), sent);
    // A source without a value.
    let err = from("env:NO_SUCH_VARIABLE").failed(2);
    assert_eq!(err, "error: the secret `password`: `NO_SUCH_VARIABLE`: environment variable not found\n");
    let err = weather_with("", input).failed(2);
    assert_eq!(err, "error: the secret `password` is missing: the standard input ended before it\n");
}
