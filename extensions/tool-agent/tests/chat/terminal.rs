//! `chat` on a terminal: prompts, and the keys of a person.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    process::{Command, Stdio},
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use super::{BROKEN, HELLO, SUM, program_of, script};

/// The text on a terminal without carriage returns, and the exit code. `keys` are texts to wait for, each with the keys that are then pressed.
fn screen(arguments: &[&str], variables: &[(&str, &str)], keys: &[(&str, &str)]) -> (String, Option<i32>) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    tcsetwinsize(&terminal, Winsize { ws_row: 24, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let path = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let open = || Stdio::from(OpenOptions::new().read(true).write(true).open(&path).unwrap());
    let variables = [&[("TERM", "dumb")], variables].concat();
    let mut program = program_of(Command::new(std::env::current_exe().unwrap()), arguments, &variables);
    program.env_remove("COLUMNS").stdin(open()).stdout(open()).stderr(open());
    let mut screen = File::from(terminal);
    let mut child = program.spawn().unwrap();
    // The command keeps its ends of the terminal open otherwise.
    drop(program);
    let mut seen = Vec::new();
    for (text, keys) in keys {
        let start = seen.len();
        while !String::from_utf8_lossy(&seen[start..]).contains(text) {
            let mut byte = [0];
            assert_eq!(screen.read(&mut byte).unwrap_or(0), 1, "{}", String::from_utf8_lossy(&seen));
            seen.extend(byte);
        }
        screen.write_all(keys.as_bytes()).unwrap();
    }
    // The end of a pseudo-terminal is an error.
    let _ = screen.read_to_end(&mut seen);
    let seen = String::from_utf8(seen).unwrap().replace('\r', "");
    let (_, seen) = seen.split_once("running 1 test\n").unwrap();
    (seen.to_owned(), child.wait().unwrap().code())
}

#[test]
fn a_conversation_at_a_terminal_has_prompts_and_its_failures_are_no_exit_code() {
    let path = script("terminal", &[SUM, HELLO, BROKEN]);
    let (seen, code) = screen(
        &["--script", &path],
        &[],
        &[("> ", "Hi.\n"), ("Hello.", ""), ("> ", "Again.\n"), ("> ", "/exit\n")],
    );
    let expected = format!(
        "model: script {path}; type a message, /help or /exit\n\
         > Hi.\nabout to call sum: {{\"a\":2,\"b\":3}}\nsum: 5\nHello.\n\
         > Again.\nerror: the model failed: it broke\n\
         > /exit\n"
    );
    assert_eq!((seen, code), (expected, Some(0)));
}

#[test]
fn the_end_of_the_input_of_a_terminal_ends_the_line_of_the_prompt() {
    let path = script("terminal-end", &[HELLO]);
    let (seen, code) = screen(&["--script", &path], &[], &[("> ", "\u{4}")]);
    let expected = format!("model: script {path}; type a message, /help or /exit\n> \n");
    assert_eq!((seen, code), (expected, Some(0)));
}

#[cfg(feature = "chat-store")]
#[test]
fn a_terminal_shows_whether_the_session_is_new_or_continues() {
    let folder = super::file("terminal-data-folder-of-the-user");
    let _ = std::fs::remove_dir_all(&folder);
    let variables = [("XDG_DATA_HOME", folder.as_str())];
    let path = script("terminal-session", &[HELLO]);
    let arguments = ["--script", path.as_str(), "--session", "a"];
    for description in ["`a` is new", "`a` continues after 3 entries"] {
        let keys = [("> ", "Hi.\n"), ("Hello.", ""), ("> ", "/exit\n")];
        let (seen, code) = screen(&arguments, &variables, &keys);
        let expected = format!(
            "model: script {path}; type a message, /help or /exit\nsession: {description}\n> Hi.\nHello.\n> /exit\n"
        );
        assert_eq!((seen, code), (expected, Some(0)));
    }
    std::fs::remove_dir_all(folder).unwrap();
}
