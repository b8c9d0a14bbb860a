//! Questions on a terminal.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    process::Stdio,
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{Desk, START, sessions};

impl Desk {
    /// Runs a command on a terminal, and presses `keys` at `question`; returns the exit code and the text on the terminal.
    fn answer(&self, arguments: &[&str], question: &str, keys: &str) -> (i32, String) {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let path = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let open = || Stdio::from(OpenOptions::new().read(true).write(true).open(&path).unwrap());
        let mut program = self.program(arguments);
        program.stdin(open()).stdout(open()).stderr(open());
        let mut screen = File::from(terminal);
        // Keys that were pressed before the question answer nothing.
        screen.write_all(b"y\n").unwrap();
        let mut child = program.spawn().unwrap();
        // The command keeps its ends of the terminal open otherwise.
        drop(program);
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains(question) {
            let mut byte = [0];
            assert_eq!(screen.read(&mut byte).unwrap_or(0), 1, "{}", String::from_utf8_lossy(&seen));
            seen.extend(byte);
        }
        screen.write_all(keys.as_bytes()).unwrap();
        // The end of a pseudo-terminal is an error.
        let _ = screen.read_to_end(&mut seen);
        let seen = String::from_utf8(seen).unwrap();
        (
            child.wait().unwrap().code().unwrap(),
            seen.split_once(START).map_or(seen.clone(), |(_, page)| page.to_owned()),
        )
    }
}

#[test]
fn a_deletion_is_asked_for_on_a_terminal() {
    let desk = Desk::with_sessions(&sessions());
    for keys in ["n\n", "\n", "yeah\n", "\u{4}"] {
        let (code, page) = desk.answer(&["delete", "sums"], "delete the session `sums`? [y/N] ", keys);
        assert!(code == 3 && page.contains("nothing was deleted"), "{keys:?} {code}: {page}");
    }
    let question = "delete all sessions of the app `shop` that were not changed for 36500d, and all but the last 0 of each user? [y/N] ";
    let (code, page) = desk.answer(&["prune", "--older-than", "36500d", "--keep", "0"], question, "no\n");
    assert!(code == 3 && page.contains("nothing was deleted"), "{code}: {page}");
    for (arguments, question, keys) in [
        (&["delete", "sums"][..], "delete the session `sums`? [y/N] ", "y\n"),
        (
            &["delete", "../\u{1b}[2J\u{202e}x"],
            "delete the session `../\\u{1b}[2J\\u{202e}x`? [y/N] ",
            "Yes\n",
        ),
        (
            &["delete", "--all", "--user", "u-7"],
            "delete all data of the user `u-7` in the app `shop`: sessions, state, notes? [y/N] ",
            "y\n",
        ),
    ] {
        let (code, page) = desk.answer(arguments, question, keys);
        assert!(code == 0 && page.contains("1 session deleted"), "{code}: {page}");
    }
}
