//! What is written, and how: widths, colours, tables.

use std::{
    env,
    io::{self, IsTerminal, Write},
};

use anstyle::{AnsiColor, Style};
use clap::builder::StyledStr;
use comfy_table::{
    Attribute, Cell, Color, ColumnConstraint, ContentArrangement, Table, Width, presets::NOTHING,
};

use crate::{Failure, harmless::harmless};

/// Where a program writes.
pub(crate) struct Terminal {
    width: usize,
    is_terminal: bool,
    colours: bool,
    error_colours: bool,
    error_is_terminal: bool,
    /// Whether a line can be written over.
    draws: bool,
}

/// How a word is to look.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Look {
    Plain,
    Heading,
    Name,
    Bad,
    Odd,
    Faint,
}

impl Look {
    fn style(self) -> Style {
        match self {
            Self::Heading => Style::new().bold().underline(),
            Self::Name => Style::new().bold(),
            Self::Plain => Style::new(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Odd => AnsiColor::Yellow.on_default(),
            Self::Faint => Style::new().dimmed(),
        }
    }

    fn cell(self, text: String) -> Cell {
        let cell = Cell::new(text);
        match self {
            Self::Plain => cell,
            Self::Heading => cell.add_attributes(vec![Attribute::Bold, Attribute::Underlined]),
            Self::Name => cell.add_attribute(Attribute::Bold),
            Self::Bad => cell.fg(Color::DarkRed),
            Self::Odd => cell.fg(Color::DarkYellow),
            Self::Faint => cell.add_attribute(Attribute::Dim),
        }
    }
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let draws = env::var_os("TERM").is_none_or(|term| term != "dumb");
        let coloured = !set("NO_COLOR") && draws;
        let columns = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let width = columns.or_else(terminal_width).unwrap_or(80).clamp(40, 1000);
        Self {
            width,
            is_terminal: io::stdout().is_terminal(),
            colours: coloured && io::stdout().is_terminal(),
            error_colours: coloured && io::stderr().is_terminal(),
            error_is_terminal: io::stderr().is_terminal(),
            draws,
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether results are for a person, and not for another program.
    pub(crate) fn is_read_by_a_person(&self) -> bool {
        self.is_terminal
    }

    /// Whether somebody watches what happens, on a terminal that bars can be drawn on.
    pub(crate) fn is_watched(&self) -> bool {
        self.error_is_terminal && self.draws
    }

    /// Whether somebody can be asked.
    pub(crate) fn can_ask(&self) -> bool {
        self.error_is_terminal && io::stdin().is_terminal()
    }

    /// Writes to the standard output: to a terminal, nothing that steers it.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let text = if self.is_terminal { harmless(text, self.colours) } else { text.into() };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Writes to the standard error; that nobody reads it is no reason to stop.
    pub(crate) fn tell(&self, text: &str) {
        let text = if self.error_is_terminal { harmless(text, self.error_colours) } else { text.into() };
        let mut out = io::stderr().lock();
        let _ = out.write_all(text.as_bytes());
        let _ = out.flush();
    }

    /// Says what went wrong.
    pub(crate) fn error(&self, message: &str) {
        if !message.is_empty() {
            let word = self.paint_error(Look::Bad, "error:");
            self.tell(&format!("{word} {}\n", message.trim_end()));
        }
    }

    /// Says what is worth knowing.
    pub(crate) fn note(&self, message: &str) {
        let word = self.paint_error(Look::Odd, "note:");
        self.tell(&format!("{word} {message}\n"));
    }

    /// `text` for the standard output.
    pub(crate) fn paint(&self, look: Look, text: &str) -> String {
        painted(self.colours, look, text)
    }

    /// `text` for the standard error.
    pub(crate) fn paint_error(&self, look: Look, text: &str) -> String {
        painted(self.error_colours, look, text)
    }

    /// What `clap` says, for the standard output.
    pub(crate) fn styled(&self, text: &StyledStr) -> String {
        if self.colours { text.ansi().to_string() } else { text.to_string() }
    }

    /// The same for the standard error.
    pub(crate) fn styled_error(&self, text: &StyledStr) -> String {
        if self.error_colours { text.ansi().to_string() } else { text.to_string() }
    }

    /// A table as wide as there is room, or less. Columns of names keep theirs whole; words are wrapped.
    pub(crate) fn table<const N: usize>(&self, header: [&str; N], rows: Vec<[(Look, String); N]>) -> String {
        let mut table = Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        if self.colours {
            table.enforce_styling()
        } else {
            table.force_no_tty()
        };
        table.style_text_only();
        // Two blanks stand after each column, and after the last there is no need of them.
        table.set_width(u16::try_from(self.width + 2).unwrap_or(u16::MAX));
        table.set_header(header.map(|name| Look::Heading.cell(name.to_owned())));
        for row in rows {
            table.add_row(row.map(|(look, text)| look.cell(text)));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        if let Some(first) = table.column_mut(0) {
            let most = u16::try_from(self.width / 2).unwrap_or(u16::MAX);
            first.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(most)));
        }
        table.trim_fmt() + "\n"
    }
}

/// Breaks lines between words, and begins what is broken with `indent`; lines that are broken already stay so.
pub(crate) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let text = paragraph.trim_start();
        let mut line = paragraph[..paragraph.len() - text.len()].to_owned();
        for (at, word) in text.split(' ').enumerate() {
            let wide = console::measure_text_width(&line) + 1 + console::measure_text_width(word);
            if at > 0 && wide > width {
                lines.push(std::mem::replace(&mut line, indent.to_owned()));
            } else if at > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines.join("\n")
}

fn painted(colours: bool, look: Look, text: &str) -> String {
    let style = look.style();
    if colours && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// As wide as whatever of the two is a terminal.
fn terminal_width() -> Option<usize> {
    let of = |term: console::Term| term.size_checked().map(|(_, columns)| usize::from(columns));
    of(console::Term::stdout()).or_else(|| of(console::Term::stderr()))
}
