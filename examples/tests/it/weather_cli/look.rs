//! Commands without calls.

use std::process::Command;

use serde_json::Value;
use tool_runtime::serde_json;

use super::{finish, fixture, program, weather};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

// Z19
#[test]
fn a_list_as_json_contains_the_definitions() {
    let tools = json(&weather(["list", "--json"]).fine());
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "alarms",
            "cities",
            "convert",
            "forecast",
            "measure",
            "observe",
            "plan_trip",
            "radar",
            "remove_station",
            "send_report",
            "set_alarm",
            "settings",
            "temperature",
            "wait_for_rain",
        ]
    );
    assert_eq!(tools[3]["inputSchema"]["properties"]["days"]["maximum"], 14);
}

// Z19
#[test]
fn a_schema_is_printed_as_json_and_in_a_dialect() {
    let canonical = json(&weather(["show", "forecast", "--json"]).fine());
    assert_eq!(canonical["inputSchema"]["required"], serde_json::json!(["city"]));
    let strict = json(&weather(["show", "forecast", "--dialect", "openai-chat-strict"]).fine());
    assert_eq!(strict[0]["function"]["parameters"]["required"], serde_json::json!(["city", "days", "unit"]));
    let ran = weather(["show", "settings", "--dialect", "gemini-schema"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.starts_with("error: `settings`: the tool is left out"), "{}", ran.err);
}

// A04
#[test]
fn an_export_contains_all_tools_in_the_dialect() {
    let tools = json(&weather(["export", "--dialect", "anthropic"]).fine());
    assert_eq!(tools.as_array().unwrap().len(), 14);
    assert_eq!(tools[3]["input_schema"]["properties"]["city"]["type"], "string");
    let ran = weather(["export", "--dialect", "gemini-schema"]);
    assert_eq!(ran.code, 1);
    assert_eq!(json(&ran.out)[0]["functionDeclarations"].as_array().unwrap().len(), 13);
    assert!(ran.err.contains("`settings`: the tool is left out"), "{}", ran.err);
    let err = weather(["export"]).failed(2);
    assert!(err.contains("--dialect <DIALECT>"), "{err}");
    let err = weather(["export", "--dialect", "gemin"]).failed(2);
    assert!(err.contains("[possible values: openai-chat, ") && err.contains("exists: 'gemini'"), "{err}");
}

#[test]
fn the_exit_code_of_lint_is_by_severity() {
    assert_eq!(weather(["lint"]).code, 1);
    assert_eq!(weather(["lint", "--dialect", "anthropic"]).code, 0);
    assert_eq!(weather(["lint", "--dialect", "openai-chat-strict"]).code, 0);
    assert_eq!(weather(["lint", "--dialect", "openai-chat-strict", "--deny", "warning"]).code, 1);
    assert_eq!(weather(["lint", "--dialect", "mcp", "--deny", "warning"]).code, 0);
    let found = json(&weather(["lint", "--json", "--show", "error"]).out);
    assert_eq!(found[0]["tool"], "settings");
    assert_eq!(found[0]["severity"], "error");
    assert_eq!(found.as_array().unwrap().len(), 1);
}

// Z19
#[test]
fn commands_without_calls_need_no_values() {
    let offline = |arguments: &[&str]| finish(program().env("WEATHER_OFFLINE", "1").args(arguments));
    for arguments in [
        &["list"][..],
        &["show", "forecast"],
        &["lint", "--dialect", "mcp"],
        &["export", "--dialect", "mcp"],
        &["completions", "fish"],
        &["call", "forecast", "--help"],
    ] {
        assert_eq!(offline(arguments).code, 0, "{arguments:?}");
    }
    // Invalid arguments are refused before values are provided.
    assert_eq!(offline(&["call", "temperature"]).code, 2);
    let ran = offline(&["call", "cities"]);
    assert_eq!(ran.code, 4);
    assert_eq!(ran.err, "error: the values of the tools cannot be provided: the stations are offline\n");
}

/// The completions of bash for the last of `words`.
fn offered(words: &str, count: usize) -> Vec<String> {
    let script = "source <(\"$1\" completions bash); read -ra COMP_WORDS <<< \"$2\"; COMP_CWORD=$3; \
                  function=$(complete -p weather-cli | sed 's/.*-F \\([^ ]*\\).*/\\1/'); \
                  $function weather-cli \"${COMP_WORDS[$3]}\" \"${COMP_WORDS[$3 - 1]}\"; echo \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    let program = env!("CARGO_BIN_EXE_weather-cli");
    let output = bash.args(["-c", script, "bash", program, words, &count.to_string()]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split_whitespace().map(str::to_owned).collect()
}

#[test]
fn commands_have_short_aliases() {
    assert_eq!(weather(["ls"]).fine(), weather(["list"]).fine());
    assert_eq!(weather(["s", "forecast"]).fine(), weather(["show", "forecast"]).fine());
    assert_eq!(weather(["c", "temperature", "--city", "Oslo"]).fine(), "9.5\n");
    let run = ["r", &fixture("openai_chat.sse")];
    assert_eq!(weather(run).fine(), weather(["run", &fixture("openai_chat.sse")]).fine());
}

#[test]
fn bash_completes_commands_tools_flags_and_their_values() {
    assert_eq!(offered("weather-cli li", 1), ["list", "lint"]);
    assert_eq!(offered("weather-cli call fore", 2), ["forecast"]);
    assert_eq!(offered("weather-cli show fore", 2), ["forecast"]);
    assert_eq!(offered("weather-cli call forecast --u", 3), ["--unit"]);
    assert_eq!(offered("weather-cli call forecast --unit fa", 4), ["fahrenheit"]);
}

#[test]
fn scripts_for_zsh_and_fish_contain_tools_and_flags() {
    for shell in ["zsh", "fish"] {
        let script = weather(["completions", shell]).fine();
        for word in ["forecast", "unit", "fahrenheit", "traveller.contact.phone"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let err = weather(["completions", "tcsh"]).failed(2);
    assert!(err.contains("[possible values: bash, zsh, fish]"), "{err}");
}

#[test]
fn a_name_of_a_narrow_table_is_not_broken_and_0_columns_are_ignored() {
    let shown = finish(program().env("COLUMNS", "40").args(["show", "plan_trip"])).fine();
    assert!(shown.lines().any(|line| line.starts_with("--from.nights ")), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 40), "{shown}");
    let list = |columns| finish(program().env("COLUMNS", columns).arg("list")).fine();
    assert_eq!(list("0"), list("80"));
}

// Each command ends with the exit code of its result.
#[test]
fn a_closed_output_ends_a_command_without_a_message() {
    for arguments in
        ["--help", "list", "show plan_trip", "lint", "export --dialect mcp", "pin -", "call cities"]
    {
        let mut child = program().args(arguments.split(' ')).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.stderr.is_empty(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments}: {}", output.status);
    }
}
