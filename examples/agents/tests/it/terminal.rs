//! A pseudo-terminal, and complete outputs.

use std::{
    env,
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// A pseudo-terminal with a program.
pub(crate) struct Terminal {
    keyboard: File,
    screen: File,
    child: Child,
    seen: String,
}

impl Terminal {
    /// Starts `program` at a terminal of 80 columns.
    pub(crate) fn start(program: &mut Command) -> Self {
        let terminal: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        tcsetwinsize(&terminal, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let path = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let open = || Stdio::from(OpenOptions::new().read(true).write(true).open(&path).unwrap());
        let child = program.stdin(open()).stdout(open()).stderr(open()).spawn().unwrap();
        // The command keeps its ends of the terminal open otherwise.
        program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let screen = File::from(terminal);
        Self { keyboard: screen.try_clone().unwrap(), screen, child, seen: String::new() }
    }

    /// Waits for `text`, and enters `keys`.
    pub(crate) fn enter(&mut self, text: &str, keys: &str) {
        self.wait(text);
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for `text` after what was read before.
    pub(crate) fn wait(&mut self, text: &str) {
        let mut read = Vec::new();
        while !String::from_utf8_lossy(&read).contains(text) {
            let mut byte = [0];
            let count = self.screen.read(&mut byte).unwrap_or(0);
            assert_eq!(count, 1, "{}{}", self.seen, String::from_utf8_lossy(&read));
            read.extend(byte);
        }
        self.seen.push_str(&String::from_utf8(read).unwrap());
    }

    /// Interrupts the program, as Ctrl-C at a terminal that controls it.
    pub(crate) fn interrupt(&self) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    }

    /// Waits for the end of the program; returns everything that was shown, without styles, and the exit code.
    pub(crate) fn finish(mut self) -> (String, Option<i32>) {
        let mut rest = Vec::new();
        // The end of a pseudo-terminal is an error.
        let _ = self.screen.read_to_end(&mut rest);
        self.seen.push_str(&String::from_utf8(rest).unwrap());
        (plain(&self.seen.replace("\r\n", "\n")), self.child.wait().unwrap().code())
    }
}

/// `text` without escape sequences for styles.
fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// Compares `seen` with a file. `UPDATE=1` rewrites it, for review.
#[track_caller]
pub(crate) fn hold(name: &str, seen: &str) {
    let path = format!("{}/tests/it/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if env::var_os("UPDATE").is_some() {
        fs::create_dir_all(format!("{}/tests/it/golden", env!("CARGO_MANIFEST_DIR"))).unwrap();
        fs::write(&path, seen).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), seen, "{path}; UPDATE=1 rewrites it");
}
