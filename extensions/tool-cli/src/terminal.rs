//! The outputs of the program: width, colours, and escaping.

use std::{
    env,
    io::{self, IsTerminal, Write},
    sync::Arc,
};

use tool_runtime::policy::Escape;

use crate::{
    Failure,
    keyboard::Keyboard,
    page::{Page, TextStyle},
    sanitize::{escaped_and_indented, escaped_line},
    stderr::SharedStderr,
};

/// The width without `COLUMNS` and without a terminal, in columns.
const DEFAULT_COLUMNS: usize = 80;

/// The least width, in columns: words of messages and flags fit into it.
const MIN_COLUMNS: usize = 40;

/// The greatest width, in columns.
const MAX_COLUMNS: usize = 1000;

/// The standard output and the standard error.
#[derive(Clone)]
pub(crate) struct Terminal {
    width: usize,
    /// Set where the width is the terminal's, or given by `COLUMNS`.
    has_width: bool,
    is_terminal: bool,
    colours: bool,
    error_colours: bool,
    error_is_terminal: bool,
    /// `true` if bars can be drawn.
    draws: bool,
    stderr: Arc<SharedStderr>,
    keyboard: Arc<Keyboard>,
}

/// The terminal for questions.
pub(crate) struct Screen {
    /// An empty page for the terminal.
    pub(crate) page: Page,
    pub(crate) stderr: Arc<SharedStderr>,
    pub(crate) keyboard: Arc<Keyboard>,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let draws = env::var_os("TERM").is_none_or(|term| term != "dumb");
        let coloured = !set("NO_COLOR") && draws;
        let columns = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let columns = columns.filter(|columns| *columns > 0);
        let width = columns.or_else(terminal_width).unwrap_or(DEFAULT_COLUMNS);
        let is_terminal = io::stdout().is_terminal();
        Self {
            width: width.clamp(MIN_COLUMNS, MAX_COLUMNS),
            has_width: columns.is_some() || is_terminal,
            is_terminal,
            colours: coloured && is_terminal,
            error_colours: coloured && io::stderr().is_terminal(),
            error_is_terminal: io::stderr().is_terminal(),
            draws,
            stderr: Arc::default(),
            keyboard: Arc::default(),
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Returns `true` if the standard output is a terminal.
    pub(crate) fn is_read_by_a_person(&self) -> bool {
        self.is_terminal
    }

    /// Returns `true` if the standard error is a terminal that bars can be drawn on.
    pub(crate) fn can_draw_bars(&self) -> bool {
        self.error_is_terminal && self.draws
    }

    pub(crate) fn has_terminal_for_errors(&self) -> bool {
        self.error_is_terminal
    }

    /// The terminal for questions; `None` unless the standard input and the standard error are terminals.
    pub(crate) fn question_screen(&self) -> Option<Screen> {
        let screen = || Screen {
            page: self.error_page(),
            stderr: Arc::clone(&self.stderr),
            keyboard: Arc::clone(&self.keyboard),
        };
        self.can_ask().then(screen)
    }

    /// Returns `true` if the standard input and the standard error are terminals.
    pub(crate) fn can_ask(&self) -> bool {
        self.error_is_terminal && io::stdin().is_terminal()
    }

    /// The standard input, by lines.
    pub(crate) fn keyboard(&self) -> &Arc<Keyboard> {
        &self.keyboard
    }

    /// The standard error, shared with questions.
    pub(crate) fn stderr(&self) -> &Arc<SharedStderr> {
        &self.stderr
    }

    /// An empty page for the standard output.
    pub(crate) fn page(&self) -> Page {
        let page = Page::new(self.colours, self.width);
        // In a pipe, where no width is given, names are copied by programs.
        if self.has_width { page } else { page.with_whole_names() }
    }

    /// An empty page for the standard error.
    pub(crate) fn error_page(&self) -> Page {
        Page::new(self.error_colours, self.width)
    }

    /// Writes to the standard output.
    pub(crate) fn print_page(&self, page: &Page) -> Result<(), Failure> {
        write_to_stdout(page.as_str())
    }

    /// Writes a text to the standard output: escaped on a terminal, unchanged in a pipe.
    pub(crate) fn print_text(&self, text: &str) -> Result<(), Failure> {
        if self.is_terminal { write_to_stdout(&Escape::LINES.text(text)) } else { write_to_stdout(text) }
    }

    /// Writes JSON to the standard output, with invisible characters as escapes. On a terminal, the number of characters
    /// takes the place of long base64.
    pub(crate) fn print_json(&self, json: &str) -> Result<(), Failure> {
        let json = Escape::json(json);
        if self.is_terminal { write_to_stdout(&without_base64(&json)) } else { write_to_stdout(&json) }
    }

    /// Writes to the standard error. A failure is ignored.
    pub(crate) fn write_error_page(&self, page: &Page) {
        self.stderr.write_or_hold_back(page.as_str());
    }

    /// Writes `text` to the standard error, after a label such as the name of a tool.
    pub(crate) fn write_labelled_error_text(&self, label: &str, text: &str) {
        let label = format!("{}:", escaped_line(label));
        self.write_error_page(self.error_page().add_message(TextStyle::Dim, &label, text));
    }

    /// Writes JSON to the standard error.
    pub(crate) fn write_error_json(&self, json: &str) {
        self.stderr.write_or_hold_back(&(Escape::json(json) + "\n"));
    }

    /// Writes an error. Text of others in `message` must be [`escaped_and_indented`] by the caller.
    pub(crate) fn report_error(&self, message: &str) {
        if !message.is_empty() {
            self.write_error_page(self.error_page().add_message(TextStyle::Error, "error:", message));
        }
    }

    /// Writes an error with a message that may contain any text.
    pub(crate) fn report_error_with_any_text(&self, message: &str) {
        self.report_error(&escaped_and_indented(message));
    }

    /// Writes a note.
    pub(crate) fn report_note(&self, message: &str) {
        self.write_error_page(self.error_page().add_message(
            TextStyle::Warning,
            "note:",
            &escaped_and_indented(message),
        ));
    }
}

fn write_to_stdout(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// The limit of base64 that is shown on a terminal, in characters.
const MAX_BASE64_CHARS: usize = 256;

/// `json` with a note in place of each string that is longer than [`MAX_BASE64_CHARS`] and looks like base64.
fn without_base64(json: &str) -> String {
    let is_base64 = |text: &str| {
        text.len() > MAX_BASE64_CHARS
            && text
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || matches!(it, b'+' | b'/' | b'-' | b'_' | b'='))
    };
    // No character of base64 is escaped in JSON: a quotation mark ends the string.
    let parts = json.split('"').map(|part| match is_base64(part) {
        true => format!("[{} characters of base64; write the output to a file]", part.len()),
        false => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("\"")
}

/// The width of the standard output, or else of the standard error, if it is a terminal.
fn terminal_width() -> Option<usize> {
    let of = |term: console::Term| term.size_checked().map(|(_, columns)| usize::from(columns));
    of(console::Term::stdout()).or_else(|| of(console::Term::stderr()))
}

#[cfg(test)]
mod tests {
    use super::{MAX_BASE64_CHARS, without_base64};

    #[test]
    fn long_base64_is_replaced_and_other_text_stays() {
        let data = "iVBORw0KGgo+/".repeat(100);
        let words = "words with blanks ".repeat(100);
        let json = format!("{{\"a\": \"{data}==\", \"b\": \"{words}\", \"c\": \"short\", \"d\\\"\": 1}}");
        let note = "[1302 characters of base64; write the output to a file]";
        assert_eq!(without_base64(&json), json.replace(&format!("{data}=="), note));
    }

    #[test]
    fn base64_is_replaced_above_the_limit() {
        let json = |count: usize, end: &str| format!("[\"{}{end}\"]", "a".repeat(count));
        let note = |count: usize| format!("[\"[{count} characters of base64; write the output to a file]\"]");
        assert_eq!(without_base64(&json(MAX_BASE64_CHARS, "")), json(MAX_BASE64_CHARS, ""));
        for end in ["a", "+", "/", "-", "_", "="] {
            assert_eq!(without_base64(&json(MAX_BASE64_CHARS, end)), note(MAX_BASE64_CHARS + 1), "{end}");
        }
        for end in [" ", ".", "é"] {
            assert_eq!(without_base64(&json(MAX_BASE64_CHARS, end)), json(MAX_BASE64_CHARS, end), "{end}");
        }
    }
}
