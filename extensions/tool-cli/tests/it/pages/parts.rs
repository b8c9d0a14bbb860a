//! Streams and events in a pipe.

use super::{Line, hold_lines};

// K10
#[test]
fn a_stream_is_written_once() {
    let texts = ["one/two", "one|two", "one/|two", "one|!", "one/|two/|!", "!", ""];
    let commands = texts.map(|text| ["call", "parts", "--text", text]);
    let mut lines: Vec<_> = commands.iter().map(|arguments| Line::new(arguments)).collect();
    let more: [&[&str]; 5] = [
        &["call", "values", "--most", "0"],
        &["call", "values", "--most", "2"],
        &["call", "values", "--most", "3"],
        &["call", "chatty"],
        &["call", "chatty", "--approve", "always"],
    ];
    lines.extend(more.map(Line::new));
    hold_lines("parts", &lines);
}

#[test]
fn events_beside_json_are_json() {
    let commands: [&[&str]; 3] = [
        &["call", "chatty", "--output", "json"],
        &["call", "parts", "--text", "a", "--output", "json"],
        &["call", "deliver", "--output", "json"],
    ];
    hold_lines("events", &commands.map(Line::new));
}
