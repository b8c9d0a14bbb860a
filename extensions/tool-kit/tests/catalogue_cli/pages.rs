//! Pages of the commands on the catalogue of the program.

use std::fs;

use super::{folder, hold, hold_lines, transcript};

// U21 U22
#[test]
fn all_items_are_listed_with_their_kind_and_origin() {
    hold_lines(
        "list_all",
        &[&["list"], &["list", "--all"], &["list", "--all", "--json"], &["list", "--help"]],
    );
}

#[test]
fn each_command_has_a_page_of_help() {
    hold_lines(
        "help",
        &[
            &["--help"],
            &["prompts", "--help"],
            &["prompts", "render", "--help"],
            &["resources", "--help"],
            &["resources", "read", "--help"],
            &["resources", "watch", "--help"],
            &["connect", "--help"],
            &["serve", "--help"],
        ],
    );
}

// U22 U32 U36
#[test]
fn prompts_are_listed_and_shown() {
    hold_lines(
        "prompts",
        &[
            &["prompts", "list"],
            &["prompts", "list", "--json"],
            &["prompts", "show", "explain"],
            &["prompts", "show", "greet"],
            &["prompts", "show", "branch.greet"],
            &["prompts", "show", "hostile"],
            &["prompts", "show", "--json", "explain"],
        ],
    );
}

// U17 U19 U32 U35
#[test]
fn a_prompt_is_rendered_or_the_mistake_is_named() {
    let mut all: Vec<String> = Vec::new();
    let lines: [(&[&str], &str); 13] = [
        (&["prompts", "render", "explain", r#"{"topic": "tides"}"#], ""),
        (&["prompts", "render", "explain", "-"], r#"{"topic": "a\nb"}"#),
        (&["prompts", "render", "greet", "Ada"], ""),
        (&["prompts", "render", "branch.greet", "5"], ""),
        (&["prompts", "render", "hostile", "--json"], ""),
        (&["prompts", "render", "--json", "explain", r#"{"topic": "tides"}"#], ""),
        (&["prompts", "render", "explain"], ""),
        (&["prompts", "render", "explain", r#"{"topic": 1, "style": "loud"}"#], ""),
        (&["prompts", "render", "explain", "tides \u{1b}[31m"], ""),
        (&["prompts", "render", "greet"], ""),
        (&["prompts", "render", "explian"], ""),
        (&["prompts", "render", "a b"], ""),
        (&["prompts"], ""),
    ];
    for (arguments, input) in lines {
        all.push(transcript(arguments, input).replace('\u{1b}', "<ESC>"));
    }
    hold("render", &all.join("\n"));
}

// U17 U22 U38 U40
#[test]
fn resources_are_listed_read_and_saved() {
    for file in ["logo.png", "notes.txt"] {
        let _ = fs::remove_file(folder().join(file));
    }
    hold_lines(
        "resources",
        &[
            &["resources", "list"],
            &["resources", "list", "--json"],
            &["resources", "read", "NOTES://Today"],
            &["resources", "read", "hours://week#branch"],
            &["resources", "read", "--json", "notes://today"],
            &["resources", "read", "data:logo"],
            &["resources", "read", "--save", "logo.png", "data:logo"],
            &["resources", "read", "--save", "logo.png", "data:logo"],
            &["resources", "read", "--save", "logo.png", "--force", "notes://today"],
            &["resources", "read", "broken:1"],
            &["resources", "read", "notes://tomorrow"],
            &["resources", "read", "explain"],
            &["resources", "read", "--force", "notes://today"],
        ],
    );
    assert_eq!(fs::read_to_string(folder().join("logo.png")).unwrap(), "Buy milk.\n");
}

// U21 U36 U38
#[test]
fn annotated_functions_are_prompts_and_resources_of_the_program() {
    hold_lines(
        "functions",
        &[
            &["prompts", "show", "recommend"],
            &["prompts", "render", "recommend", r#"{"taste": "wit"}"#],
            &["prompts", "render", "recommend", r#"{"tast": "wit"}"#],
            &["resources", "read", "books://all"],
            &["resources", "read", "books://Emma"],
            &["resources", "read", "books://Walden"],
        ],
    );
}

// U43
#[test]
fn changes_of_watched_resources_are_written() {
    hold_lines(
        "watch",
        &[
            &["resources", "watch", "--count", "2", "hours://week#branch"],
            &["resources", "watch", "--json", "--count", "2", "hours://week#branch", "notes://today"],
            &["resources", "watch", "notes://tomorrow"],
        ],
    );
}
