//! Messages about invalid command lines and inputs.

use std::io;

use tool_runtime::serde_json;

use super::{finish, program, weather, weather_with};

// Z19
#[test]
fn an_unknown_tool_is_answered_with_close_names() {
    let expected =
        "error: there is no tool `forcast`; did you mean `forecast`?\n\n`weather-cli list` lists all tools\n";
    assert_eq!(weather(["call", "forcast", "--city", "Oslo"]).failed(2), expected);
    assert_eq!(weather(["show", "forcast"]).failed(2), expected);
    assert_eq!(weather(["call", "--help", "forcast"]).failed(2), expected);
    let err = weather(["call", "zzzzzz"]).failed(2);
    assert!(err.starts_with("error: there is no tool `zzzzzz`\n"), "{err}");
}

#[test]
fn an_unknown_command_is_answered_with_close_names() {
    let err = weather(["lsit"]).failed(2);
    assert!(err.contains("'list'"), "{err}");
    // An alias of one letter explains nothing.
    for (written, command) in [("lst", "'list'"), ("cal", "'call'"), ("sho", "'show'"), ("rn", "'run'")] {
        let err = weather([written]).failed(2);
        assert!(err.contains(command), "{err}");
        assert!(!["'c'", "'s'", "'r'", "'ls'"].iter().any(|alias| err.contains(alias)), "{err}");
    }
    assert_eq!(weather([]).failed(2).lines().next(), Some("Asks the weather of a few cities."));
    assert!(weather(["call"]).failed(2).starts_with("error: the name of a tool is missing; "));
}

#[test]
fn an_unknown_flag_is_answered_with_close_names() {
    let err = weather(["call", "forecast", "--citi", "Oslo"]).failed(2);
    let first = "error: `forecast` has no flag `--citi`; did you mean `--city`?\n\nArgument ";
    assert!(err.starts_with(first) && err.contains("\n--days "), "{err}");
    let err = weather(["call", "cities", "--x=geheim", "-ygeheim"]).failed(2);
    let expected =
        "error: `cities` does not have these flags:\n\n  --x\n  -y\n\n`cities` has no arguments.\n";
    assert!(err.starts_with(expected), "{err}");
    // Without them, the flags would be values.
    let err = weather(["call", "forecast", "--city", "--wrong", "--days=3"]).failed(2);
    assert!(err.contains("`--wrong`; write a value that begins with a dash as"), "{err}");
}

#[test]
fn a_wrong_value_is_answered_with_what_is_allowed() {
    let err = weather(["call", "forecast", "--city", "Oslo", "--unit", "kelvin"]).failed(2);
    assert!(err.contains("invalid value 'kelvin' for '--unit <CHOICE>'"), "{err}");
    assert!(err.contains("[possible values: celsius, fahrenheit]"), "{err}");
    let err = weather(["call", "forecast", "--city", "Oslo", "--days", "15"]).failed(2);
    assert_eq!(err, "error: invalid value '15' for '--days <INTEGER>': expected an integer from 1 to 14\n");
    let err = weather(["call", "forecast", "--city", "Oslo", "--days", "2.5"]).failed(2);
    assert!(err.ends_with("expected an integer from 1 to 14\n"), "{err}");
    let err = weather(["call", "temperature", "--city", "Oslo", "--rounded=perhaps"]).failed(2);
    assert!(err.ends_with("expected true or false\n"), "{err}");
    let trip = |flag: &str, value: &str| {
        let others = [("--from.city", "Oslo"), ("--stops", r#"{"city": "Rome"}"#), ("--means", "train")];
        let others = others.into_iter().filter(|(name, _)| !name.starts_with(flag));
        let others = others.flat_map(|(name, value)| [name, value]);
        finish(program().args(["call", "plan_trip", flag, value]).args(others)).failed(2)
    };
    let err = trip("--stops", "Rome");
    assert_eq!(err, "error: invalid value 'Rome' for '--stops <JSON>': expected a JSON object\n");
    let err = trip("--stops", r#"[{"city": "Rome"}]"#);
    assert!(err.ends_with(": expected a JSON object; repeat the flag for each item\n"), "{err}");
    let err = trip("--from", "Oslo");
    assert!(
        err.ends_with(": expected a JSON object; its properties have flags that begin with `--from.`\n"),
        "{err}"
    );
}

// As JSON arguments are, in text and as JSON.
#[test]
fn all_violations_of_flags_are_reported_together() {
    let wrong = ["call", "forecast", "--days", "15", "--unit", "kelvin"];
    let err = weather(wrong).failed(2);
    assert!(err.starts_with("error: `forecast` does not accept these arguments; nothing was run\n"), "{err}");
    for pointer in ["/city: ", "/days: ", "/unit: "] {
        assert_eq!(err.matches(pointer).count(), 1, "{pointer} in {err}");
    }
    assert!(err.contains("--days <INTEGER>") && err.contains("--city <TEXT>"), "{err}");
    let ran = weather(["call", "--output", "json", "forecast", "--days", "15", "--unit", "kelvin"]);
    let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, result["error"]["violations"].as_array().unwrap().len()), (2, 3), "{result}");
}

#[test]
fn a_missing_member_is_reported_with_its_own_flag() {
    let trip =
        ["call", "plan_trip", "--from.nights", "2", "--stops", r#"{"city":"Rome"}"#, "--means", "train"];
    let err = weather(trip).failed(2);
    assert!(err.contains("--from.city <TEXT>"), "{err}");
    let trip = ["call", "plan_trip", "--stops", r#"{"city":"Rome"}"#, "--means", "train"];
    let err = weather(trip).failed(2);
    assert!(err.contains("--from.city <TEXT>"), "{err}");
}

#[test]
fn the_error_for_a_value_that_looks_like_a_flag_shows_the_syntax() {
    let err = weather(["call", "temperature", "--city", "-oslo"]).failed(2);
    let expected =
        "error: `temperature` has no flag `-o`; write a value that begins with a dash as `--city=-VALUE`\n";
    assert!(err.starts_with(expected), "{err}");
    let err = weather(["call", "temperature", "--city=-oslo"]).failed(1);
    assert_eq!(err, "error: `temperature`: there is no station in -oslo\n");
}

#[test]
fn the_error_for_a_boolean_without_its_sign_shows_the_syntax() {
    for value in ["false", "no"] {
        let err = weather(["call", "temperature", "--city", "Oslo", "--rounded", value]).failed(2);
        assert!(
            err.contains(&format!("  weather-cli call temperature --city Oslo --rounded={value}\n")),
            "{err}"
        );
    }
}

// The command that was probably meant is one that a shell reads as these words.
#[test]
fn words_without_flags_become_the_flags_of_the_parameters() {
    let meant = |arguments: &[&str]| {
        let err = finish(program().arg("call").args(arguments)).failed(2);
        let command = err.lines().find_map(|line| line.strip_prefix("  weather-cli call "));
        command.map(str::to_owned).ok_or(err)
    };
    let all: [(&[&str], &str); 10] = [
        (&["convert", "10", "celsius"], "convert --celsius 10 --to celsius"),
        (&["convert", "-10", "celsius"], "convert --celsius=-10 --to celsius"),
        (&["convert", "--to", "celsius", "10"], "convert --to celsius --celsius 10"),
        (
            &["--approve", "never", "convert", "10", "celsius"],
            "--approve never convert --celsius 10 --to celsius",
        ),
        (&["forecast", "Paris"], "forecast --city Paris"),
        (&["forecast", "New York"], "forecast --city 'New York'"),
        (&["forecast", "it's; rm -r $HOME"], "forecast --city 'it'\\''s; rm -r $HOME'"),
        (&["forecast", "Paris", "3"], "forecast --city Paris --days 3"),
        (&["forecast", "--", "Paris"], "forecast --city Paris"),
        (&["temperature", "--rounded", "false", "Oslo"], "temperature --rounded=false --city Oslo"),
    ];
    for (arguments, expected) in all {
        assert_eq!(meant(arguments).as_deref(), Ok(expected), "{arguments:?}");
    }
    let usage: [&[&str]; 6] = [
        &["convert", "celsius", "10"],
        &["convert", "10"],
        &["forecast", "Paris", "many"],
        &["forecast", "Par\u{1b}is"],
        &["forecast", "{\"city\": \"Paris\"}", "3"],
        &["send_report", "hello", "geheim"],
    ];
    for arguments in usage {
        let err = meant(arguments).unwrap_err();
        assert!(err.contains("\nUsage: weather-cli call ") && !err.contains("geheim"), "{err}");
    }
    assert_eq!(
        meant(&["cities", "x", "y"]).unwrap_err(),
        "error: `cities` has no arguments; nothing was run\n"
    );
    assert!(weather(["call", "forecast", "Paris", "--help"]).fine().starts_with("Forecasts the weather"));
}

#[test]
fn a_missing_argument_is_reported_with_its_flag() {
    let err = weather(["call", "temperature", "--rounded"]).failed(2);
    assert!(
        err.starts_with("error: `temperature` does not accept these arguments; nothing was run\n"),
        "{err}"
    );
    assert!(err.contains("/city: expected the property `city`, which is required"), "{err}");
    assert!(err.contains("    --city <TEXT> City name.\n"), "{err}");
    // Without arguments, no line is marked.
    assert!(!weather(["call", "temperature"]).failed(2).contains('^'));
}

#[test]
fn invalid_json_is_reported_with_its_line_and_column() {
    let err = weather_with("{\"city\": \"Oslo\",\n  \"days\": three}", ["call", "forecast", "-"]).failed(2);
    assert_eq!(
        err,
        "error: the arguments are not valid JSON: expected ident\n\n    \
         standard input:2:12: \"days\": three}\n                                  ^\n"
    );
    let err = weather(["call", "forecast", "--json", "Oslo"]).failed(2);
    assert!(
        err.starts_with("error: the arguments are not valid JSON: expected value\n\n    Oslo\n    ^\n"),
        "{err}"
    );
    let err = weather(["call", "forecast", "{\"city\":\té}"]).failed(2);
    assert!(err.ends_with("\n\n    {\"city\": é}\n             ^\n"), "{err}");
    let err = weather_with("{", ["call", "forecast", "-"]).failed(2);
    assert!(err.starts_with("error: the arguments are not valid JSON: EOF while parsing"), "{err}");
    for empty in ["", " \n"] {
        let err = weather_with(empty, ["call", "forecast", "-"]).failed(2);
        assert_eq!(err, "error: standard input is empty; it must contain a JSON object\n");
        assert_eq!(weather_with(empty, ["run"]).failed(2), "error: the response is empty\n");
    }
}

#[test]
fn arguments_that_are_given_twice_or_lose_precision_are_refused() {
    let err = weather(["call", "--json", "{}", "forecast", "{}"]).failed(2);
    assert_eq!(err, "error: the arguments are given twice as JSON\n");
    assert_eq!(weather(["call", "--json", "{}", "forecast", "--json", "{}"]).failed(2), err);
    let err = weather(["call", "forecast", r#"{"city": "Oslo", "city": "Rome"}"#, "--days", "1"]).failed(2);
    assert_eq!(err, "error: the arguments: the property `city` is duplicated\n");
    let err = weather(["call", "forecast", "--json", "[1]", "--days", "1"]).failed(2);
    assert_eq!(err, "error: flags require a JSON object as the other arguments\n");
    let err = weather(["call", "--json", "cities"]).failed(2);
    assert_eq!(err, "error: `--json` takes the arguments; `--output json` writes the result as JSON\n");
}

#[test]
fn a_missing_file_is_named() {
    let err = weather(["call", "forecast", "@/no/such/file"]).failed(2);
    assert!(err.starts_with("error: /no/such/file cannot be read: "), "{err}");
    let err = weather(["run", "--dialect", "mcp", "/no/such/file"]).failed(2);
    assert!(err.starts_with("error: /no/such/file cannot be read: "), "{err}");
}

// A message about other arguments does not repeat a secret.
#[test]
fn arguments_with_a_secret_are_not_shown() {
    let json = r#"{"text": "hi", "password": "hunter2"}"#;
    let err = weather_with(json, ["call", "send_report", "-"]).failed(2);
    assert!(err.contains("/text: expected at least 3 characters"), "{err}");
    assert!(!err.contains("hunter2"), "{err}");
    let err = weather(["call", "send_report", r#"{"password": "hunter2""#]).failed(2);
    assert_eq!(err, "error: the arguments are not valid JSON: EOF while parsing an object\n");
}

// Other programs of the machine, and the history of the shell, can read a command line.
#[test]
fn a_secret_on_the_command_line_is_refused_and_not_repeated() {
    let err = weather(["call", "send_report", "--text", "hello", "--password", "hunter2"]).failed(2);
    assert_eq!(
        err,
        "error: invalid value '***' for '--password <SOURCE>': a secret must not be part of the command line; \
         use env:NAME, @FILE, or - to enter it\n"
    );
    let json = r#"{"text": "hello", "password": "hunter2"}"#;
    for arguments in [["call", "send_report", json, "-"], ["call", "--json", json, "send_report"]] {
        let arguments = arguments.into_iter().filter(|it| *it != "-");
        let err = finish(program().args(arguments)).failed(2);
        assert!(
            err.starts_with("error: the secret `password` must not be part of the command line\n"),
            "{err}"
        );
        assert!(!err.contains("hunter2"), "{err}");
    }
}

#[test]
fn a_secret_under_an_alias_or_a_misspelt_name_is_refused() {
    let secret = "error: the secret `password` must not be part of the command line\n";
    let unknown = "error: `send_report` does not have one of the arguments; it may be a secret";
    for (name, expected) in [("passphrase", secret), ("pass\\u0077ord", secret), ("passwort", unknown)] {
        let json = format!(r#"{{"text": "hello", "{name}": "hunter2"}}"#);
        let twice = format!(r#"{{"text": "hello", "{name}": "hunter2", "{name}": null}}"#);
        let option = format!("--json={json}");
        for arguments in [["call", "send_report", &json], ["call", &option, "send_report"]] {
            let err = weather(arguments).failed(2);
            assert!(
                err.starts_with(expected) && !err.contains("hunter2") && !err.contains("passwort"),
                "{err}"
            );
        }
        let err = weather(["call", "send_report", &twice]).failed(2);
        assert!(err.contains("must not be part of the command line") && !err.contains("hunter2"), "{err}");
    }
    let json = r#"{"text": "hello", "passphrase": "hunter2"}"#;
    assert_eq!(
        weather_with(json, ["call", "send_report", "-"]).fine(),
        "5 characters and 0 forms were sent\n"
    );
    let err = weather(["call", "send_report", "--json", r#""hunter2""#]).failed(2);
    assert!(
        err.starts_with("error: the arguments may contain a secret") && !err.contains("hunter2"),
        "{err}"
    );
    // `null` is no secret.
    let json = r#"{"text": "hello", "password": null}"#;
    assert!(weather(["call", "send_report", json]).failed(2).contains("/password: expected a string"));
}

#[test]
fn each_violation_is_printed_once() {
    let trip = r#"{"from": {}, "stops": [], "means": "boat", "fast": true}"#;
    let err = weather(["call", "plan_trip", trip]).failed(2);
    for place in ["/from/city", "/stops", "/means", "/fast"] {
        assert_eq!(err.matches(&format!("  {place}: expected")).count(), 1, "{place}: {err}");
    }
    let err = weather(["call", "plan_trip", "--from.nights", "31"]).failed(2);
    assert_eq!(err.matches("/from/nights: expected at most 30, got 31\n").count(), 1, "{err}");
    for place in ["/from/city", "/stops", "/means"] {
        assert_eq!(err.matches(&format!("  {place}: expected")).count(), 1, "{place}: {err}");
    }
}

#[test]
fn a_closed_output_ends_the_program_without_a_message() {
    for arguments in [&["list"][..], &["--help"], &["completions", "bash"], &["call", "cities"]] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let ran = finish(program().args(arguments).stdout(writer));
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{arguments:?}");
    }
}
