//! Pages about definitions: `list`, `show`, `lint`, `export`, `pin`, `check`, `completions`.

use std::fs;

use serde_json::Value;
use tool_runtime::{ToolDefinition, ToolName, pin::Pins, prelude::json, schema::InputSchema};

use super::{Line, file, folder, hold, hold_lines};

// A07, Z19
#[test]
fn a_list_has_names_titles_and_hints() {
    let list = Line::new(&["list"]);
    let json = Line::new(&["list", "--json"]).transcript();
    hold_lines("list", &[list, list.columns(60), Line::new(&["ls"]).columns(200), list.columns(1)]);
    assert!(
        json.contains("\"name\": \"hints\"") && json.contains("\"title\": \"Hints of a tool\""),
        "{json}"
    );
    let alias = Line::new(&["ls", "--json"]).transcript();
    assert_eq!(alias.split_once('\n').unwrap().1, json.split_once('\n').unwrap().1);
}

#[test]
fn items_of_all_kinds_are_listed_with_their_origin() {
    hold_lines("list_all", &[Line::new(&["list", "--all"]), Line::new(&["empty", "list", "--all"])]);
    let json = Line::new(&["list", "--all", "--json"]).transcript();
    let items: Vec<Value> = serde_json::from_str(json.split_once('\n').unwrap().1).unwrap();
    let recipe = items.iter().find(|item| item["kind"] == "recipe").unwrap();
    assert_eq!((&recipe["key"], &recipe["origin"]), (&json!("cake"), &json!("grandmother")));
    let tool = items.iter().find(|item| item["key"] == "hints").unwrap();
    assert_eq!((&tool["title"], &tool["definition"]["name"]), (&json!("Hints of a tool"), &json!("hints")));
}

// Z19
#[test]
fn a_tool_is_shown_with_all_parts_of_its_definition() {
    let names = [
        "hints", "wipe", "block", "bake", "many", "cakes", "price", "names", "deliver", "login", "parts",
        "far_away",
    ];
    let all = names.map(|name| ["show", name]);
    let mut lines: Vec<_> = all.iter().map(|arguments| Line::new(arguments)).collect();
    lines.push(Line::new(&["s", "bake"]).columns(60));
    hold_lines("show", &lines);
}

// D, Z19
#[test]
fn a_definition_is_written_in_a_dialect() {
    hold_lines(
        "show_json",
        &[
            Line::new(&["show", "price", "--json"]),
            Line::new(&["show", "price", "--dialect", "anthropic"]),
            Line::new(&["show", "wipe", "--dialect", "openai-chat-strict"]),
            Line::new(&["show", "bake", "--dialect", "gemini-strict"]),
            Line::new(&["show", "wipe", "--dialect", "openai-chat", "--json"]),
            Line::new(&["export"]),
            Line::new(&["export", "--dialect", "morse"]),
        ],
    );
}

#[test]
fn an_unknown_tool_is_answered_with_close_names() {
    hold_lines(
        "unknown_tools",
        &[
            Line::new(&["show", "hint"]),
            Line::new(&["show", "part"]),
            Line::new(&["call", "cake"]),
            Line::new(&["call", "help"]),
            Line::new(&["show", "zzzzzz\u{7}"]),
            Line::new(&["empty", "show", "hint\u{7}"]),
            Line::new(&["empty", "call", "hint"]),
            Line::new(&["empty", "list"]),
            Line::new(&["empty", "list", "--json"]),
            Line::new(&["empty", "lint"]),
            Line::new(&["empty"]),
            Line::new(&["empty", "run"]),
            Line::new(&["words", "run=zzz"]),
        ],
    );
}

#[test]
fn lint_lists_what_is_not_hidden_and_fails_by_what_is_denied() {
    let lines = [
        Line::new(&["lint", "--dialect", "mcp"]),
        Line::new(&[
            "few",
            "lint",
            "--dialect",
            "openai-chat-strict",
            "--dialect",
            "anthropic-strict",
            "--show",
            "note",
        ])
        .columns(60),
        Line::new(&["few", "lint", "--show", "note"]),
        Line::new(&["lint", "--dialect", "openai-chat-strict", "--dialect", "anthropic-strict"]),
        Line::new(&["lint", "--show", "error"]),
        Line::new(&["lint", "--show", "error", "--deny", "warning", "--dialect", "anthropic"]),
        Line::new(&["few", "lint", "--show", "error", "--deny", "warning", "--dialect", "anthropic"]),
        Line::new(&["few", "lint", "--show", "error", "--deny", "note", "--dialect", "anthropic-strict"]),
        Line::new(&["few", "lint", "--show", "note", "--dialect", "anthropic-strict", "--json"]),
        Line::new(&["lint", "--show", "all"]),
    ];
    hold_lines("lint", &lines);
}

#[test]
fn pins_are_written_and_compared() {
    let pins = Line::new(&["pin", "-"]).transcript();
    let pins = pins.split_once('\n').unwrap().1;
    file("changed.json", &changed_pins());
    file("empty.json", " \n");
    file("other.json", "{}");
    file("edited.json", &pins.replace("Wipes the tables.", "Wipes the floor."));
    let _ = fs::remove_file(folder().join("new.json"));
    fs::write(folder().join("bytes.json"), [0xff]).unwrap();
    let _ = fs::create_dir(folder().join("folder"));
    hold_lines(
        "pins",
        &[
            Line::new(&["pin", "new.json"]),
            Line::new(&["check", "new.json"]),
            Line::new(&["check", "--json", "new.json"]),
            Line::new(&["check", "-"]).input(pins).short(),
            Line::new(&["few", "check", "changed.json"]),
            Line::new(&["few", "check", "--json", "changed.json"]),
            Line::new(&["few", "pin", "-"]),
            Line::new(&["empty", "check", "changed.json"]),
            Line::new(&["check", "edited.json"]),
            Line::new(&["check", "other.json"]),
            Line::new(&["check", "absent.json"]),
            Line::new(&["pin", "empty.json"]),
            Line::new(&["pin", "edited.json"]),
            Line::new(&["pin", "other.json"]),
            Line::new(&["pin", "bytes.json"]),
            Line::new(&["pin", "folder"]),
            Line::new(&["pin"]),
            Line::new(&["check"]),
        ],
    );
    for name in ["new.json", "empty.json", "edited.json"] {
        assert_eq!(fs::read_to_string(folder().join(name)).unwrap(), pins, "{name}");
    }
    assert_eq!(fs::read_to_string(folder().join("other.json")).unwrap(), "{}");
}

/// Pins of `few` with another definition of `values`, without `parts`, and with a tool that is gone.
pub(super) fn changed_pins() -> String {
    let definition = |name, description: &'static str| {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        ToolDefinition::new(ToolName::new(name).unwrap(), description, schema)
    };
    Pins::of_definitions([&definition("values", "Counts."), &definition("gone", "Is gone.")]).to_json()
}

#[test]
fn completions_have_each_command_tool_and_flag() {
    let lines = |shell, is_held: fn(&str) -> bool| {
        let script = Line::new(&["completions", shell]).transcript();
        let held: Vec<_> = script.lines().map(str::trim).filter(|line| is_held(line)).collect();
        held.join("\n") + "\n"
    };
    let bash = lines("bash", |line| line.starts_with("opts=\"-h --") || line.starts_with("complete -F"));
    let mut values = lines("bash", |line| line.contains("compgen -W"));
    values = values
        .lines()
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .map(|it| format!("{it}\n"))
        .collect();
    let fish = lines("fish", |line| line.contains("-l eggs") || line.contains("a \"bake"));
    let zsh = lines("zsh", |line| line.contains("--eggs") || line.contains("bake") || line.starts_with('#'));
    hold("completions", &[bash, values, fish, zsh].join("\n"));
    hold_lines("completions_usage", &[Line::new(&["completions"]), Line::new(&["completions", "tcsh"])]);
}
