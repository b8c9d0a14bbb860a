//! The researcher at a terminal, by its script.

use std::process::Command;

use super::terminal::{Terminal, hold};

// Z08
#[test]
fn the_researcher_searches_notes_and_the_web_and_calculates_without_a_network() {
    for (answer, expected) in [("y\n", "102 km/h"), ("n\n", "rejected by the user")] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_researcher"));
        program.env("TERM", "xterm").env_remove("MODEL").env_remove("SEARXNG");
        // No proxy answers for the engine of the program.
        program
            .env_remove("http_proxy")
            .env_remove("HTTP_PROXY")
            .env_remove("all_proxy")
            .env_remove("ALL_PROXY");
        let mut researcher = Terminal::start(&mut program);
        researcher.enter("[y/N] ", answer);
        let (seen, code) = researcher.finish();
        assert_eq!(code, Some(0), "{seen}");
        assert!(seen.contains(expected), "{seen}");
        if answer == "y\n" {
            hold("researcher", &seen);
        }
    }
}
